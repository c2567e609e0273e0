/* How the server in an interpreter is begun (server.c). Internal to sandbox. */
#ifndef EXITPATH_SANDBOX_SERVER_H
#define EXITPATH_SANDBOX_SERVER_H

/* Descriptors that it begins with; adapters/warm/python.py knows these numbers. */
enum {
	SERVER_OUTPUT = 1, /* and 2: a file, to see whether anything is written */
	SERVER_SOCKET = 3,
	SERVER_PLAN,	/* struct plan */
	SERVER_LIBRARY, /* this library */
};

/* What becomes of a command, as the interpreter's own part says. */
enum server_form {
	SERVER_ANEW, /* a new interpreter is to run it */
	SERVER_FILE,
	SERVER_MODULE,
	SERVER_CODE,
};

#endif
