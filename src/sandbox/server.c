/*
 * The library that makes a Python interpreter a zygote. It is loaded by ctypes from
 * adapters/warm/python.py, with the parts of the sandbox that run inside; it uses libc
 * and, by name, functions of CPython's stable interface, 3.9 and later.
 *
 * exitpath_serve() is called with no more Python to run in the server. In each command's
 * process a fresh thread state takes the place of that which called it: so there is no
 * Python frame below the command's first one, as in a new interpreter. The command is
 * run by the functions that python(1) itself uses, and ends the process.
 */
#include "sandbox/server.h"
#include "sandbox/exec.h"
#include "sandbox/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/close_range.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PYTHON __attribute__((weak, visibility("default")))
#define EXPORTED __attribute__((visibility("default")))

/* CPython, headers in Include. Objects are pointers to something. */
struct flags {
	int flags, minor;
};
enum {
	IGNORE_COOKIE = 0x0800, /* PyCF_IGNORE_COOKIE */
	FILE_INPUT = 257,	/* Py_file_input */
	PRINT_RAW = 1,		/* Py_PRINT_RAW */
};

PYTHON void PyOS_BeforeFork(void);
PYTHON void PyOS_AfterFork_Child(void);
PYTHON void *PyInterpreterState_Get(void);
PYTHON void *PyThreadState_Swap(void *state);
PYTHON void *PyThreadState_New(void *interpreter);
PYTHON void PyThreadState_Delete(void *state);
PYTHON void *PyRun_FileExFlags(FILE *file, const char *name, int start, void *globals,
			       void *locals, int close, struct flags *flags);
PYTHON void *PyRun_StringFlags(const char *code, int start, void *globals, void *locals,
			       struct flags *flags);
PYTHON void *PyImport_AddModule(const char *name);
PYTHON void *PyImport_ImportModule(const char *name);
PYTHON void *PyModule_GetDict(void *module);
PYTHON int PyDict_DelItemString(void *dict, const char *key);
PYTHON void *PyObject_CallMethod(void *object, const char *name, const char *format, ...);
PYTHON void *PyObject_GetAttrString(void *object, const char *name);
PYTHON int PyObject_IsInstance(void *object, void *type);
PYTHON void *PyUnicode_DecodeFSDefault(const char *s);
PYTHON long PyLong_AsLong(void *object);
PYTHON int PyFile_WriteObject(void *object, void *file, int flags);
PYTHON void *PySys_GetObject(const char *name);
PYTHON void PySys_WriteStderr(const char *format, ...);
PYTHON int PySys_AddAuditHook(int (*hook)(const char *event, void *args, void *data),
			      void *data);
PYTHON void PyErr_Print(void);
PYTHON void PyErr_Clear(void);
PYTHON int PyErr_ExceptionMatches(void *type);
PYTHON void PyErr_Fetch(void **type, void **value, void **traceback);
PYTHON void PyErr_NormalizeException(void **type, void **value, void **traceback);
PYTHON int Py_FinalizeEx(void);
PYTHON extern void *PyExc_KeyboardInterrupt, *PyExc_SystemExit;
PYTHON extern char PyLong_Type[], _Py_NoneStruct[];

/* The interpreter's part: what is to be done with a command; makes sys.argv and the
 * rest, unless it is SERVER_ANEW. */
typedef int (*prepare_fn)(int argc, char **argv);

static struct {
	prepare_fn prepare;
	int first; /* the interpreter and its options in argv */
	int minor; /* of 3.MINOR */
	unsigned long long loads;
	jmp_buf own_stack, init_stack;
	const struct message_request *request;
} server;

static struct {
	bool armed;
	int status;
} ending;

static int read_loads(struct dl_phdr_info *info, size_t size, void *ret)
{
	(void)size;
	*(unsigned long long *)ret = info->dlpi_adds;
	return 1;
}

/* How many libraries were ever loaded. */
static unsigned long long loads(void)
{
	unsigned long long n = 0;

	dl_iterate_phdr(read_loads, &n);
	return n;
}

/* What the destructors of the server's own libraries would do is seen by nobody. */
static _Noreturn void leave(int status)
{
	if (loads() != server.loads)
		exit(status);
	fflush(NULL);
	_exit(status);
}

/*
 * Py_FinalizeEx() raises this event when all that a program can see of it is over, and
 * only memory is left to be given back: in a fork that means copying it first. Who could
 * not be heard on the way (a full disk behind stdout, say) changes the status.
 */
static int on_audit(const char *event, void *args, void *data)
{
	(void)args;
	(void)data;
	if (ending.armed && !strcmp(event, "sys.unraisablehook"))
		ending.armed = false;
	if (ending.armed && !strcmp(event, "cpython.PyInterpreterState_Clear"))
		leave(ending.status);
	return 0;
}

static _Noreturn void end(int status, bool interrupted)
{
	ending.status = status;
	ending.armed = !interrupted && PySys_AddAuditHook(on_audit, NULL) == 0;
	if (Py_FinalizeEx() < 0)
		status = 120;
	if (interrupted) {
		signal(SIGINT, SIG_DFL);
		kill(getpid(), SIGINT);
		status = SIGINT + 128;
	}
	exit(status);
}

/* As CPython's handle_system_exit(): the status that the exception asks for. */
static int system_exit(void)
{
	void *type, *value, *traceback, *code;

	fflush(stdout);
	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	code = value ? PyObject_GetAttrString(value, "code") : NULL;
	if (code)
		value = code;
	if (!value || value == _Py_NoneStruct)
		return 0;
	if (PyObject_IsInstance(value, PyLong_Type) == 1)
		return (int)PyLong_AsLong(value);
	PyErr_Clear();
	PyFile_WriteObject(value, PySys_GetObject("stderr"), PRINT_RAW);
	PySys_WriteStderr("\n");
	return 1;
}

/* main: of __main__, where a FILE is no more when it ended without sys.exit(). */
static _Noreturn void end_by_exception(void *main)
{
	bool interrupted;

	if (PyErr_ExceptionMatches(PyExc_SystemExit))
		end(system_exit(), false);
	interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
	PyErr_Print();
	if (main) {
		PyDict_DelItemString(main, "__file__");
		PyDict_DelItemString(main, "__cached__");
		PyErr_Clear();
	}
	end(1, interrupted);
}

static _Noreturn void run_module(const char *name)
{
	void *runpy = PyImport_ImportModule("runpy");
	void *text = runpy ? PyUnicode_DecodeFSDefault(name) : NULL;

	if (text && PyObject_CallMethod(runpy, "_run_module_as_main", "Oi", text, 1))
		end(0, false);
	end_by_exception(NULL);
}

static _Noreturn void run_code(void *main, const char *text)
{
	struct flags flags = {IGNORE_COOKIE, server.minor};
	size_t len = strlen(text);
	char *code = malloc(len + 2);

	if (!code)
		_exit(1);
	memcpy(code, text, len); /* python(1) adds a newline */
	memcpy(code + len, "\n", 2);
	if (PyRun_StringFlags(code, FILE_INPUT, main, main, &flags))
		end(0, false);
	end_by_exception(NULL);
}

/* Errors of it are told when the interpreter ends. */
static void flush(const char *stream)
{
	void *file = PySys_GetObject(stream);

	if (file && !PyObject_CallMethod(file, "flush", NULL))
		PyErr_Clear();
}

/* As CPython makes __file__ of a FILE. */
static const char *absolute(const char *name)
{
	char *at, cwd[PATH_MAX];
	size_t len;

	if (*name == '/' || !getcwd(cwd, sizeof(cwd)))
		return name;
	if (name[0] == '.' && name[1] == '/')
		name += 2;
	len = strlen(cwd) + strlen(name) + 2;
	at = malloc(len);
	if (!at)
		return name;
	snprintf(at, len, "%s/%s", cwd, name);
	return at;
}

static _Noreturn void run_file(void *main, FILE *file, const char *name)
{
	struct flags flags = {0, server.minor};
	void *value;

	name = absolute(name);
	value = PyRun_FileExFlags(file, name, FILE_INPUT, main, main, 1, &flags);
	if (!value)
		end_by_exception(main);
	flush("stderr");
	flush("stdout");
	PyDict_DelItemString(main, "__file__");
	PyDict_DelItemString(main, "__cached__");
	PyErr_Clear();
	end(0, false);
}

/*
 * The frames of the old state are those of the server, below us on the stack: they are
 * never returned to. PyGILState takes the first state that is made when it has none,
 * which must be ours. From 3.13 on the interpreter is ended by its first state, whose
 * memory is used again while there is no other; 3.11.2 fails then, hence one in between.
 */
static void new_thread_state(void)
{
	void *interpreter = PyInterpreterState_Get();
	void *between = server.minor < 13 ? PyThreadState_New(interpreter) : NULL;
	void *old = PyThreadState_Swap(NULL);

	PyThreadState_Delete(old);
	PyThreadState_Swap(PyThreadState_New(interpreter));
	if (between)
		PyThreadState_Delete(between);
}

/* As exec would. */
static void close_all_but(int fd)
{
	if (fd > SERVER_SOCKET)
		close_range(SERVER_SOCKET, (unsigned)fd - 1, 0);
	close_range(fd < SERVER_SOCKET ? SERVER_SOCKET : (unsigned)fd + 1, ~0U, 0);
}

/* In the command's process, on the stack that the server had. Returns when the command
 * is to be run anew. */
static void run_command(const struct message_request *req)
{
	int argc = (int)req->head.argc, form;
	const char *what;
	FILE *file = NULL;
	void *main;

	PyOS_AfterFork_Child();
	form = server.prepare(argc, req->argv);
	if (form == SERVER_ANEW || argc <= server.first)
		return;
	what = req->argv[server.first + (form == SERVER_FILE ? 0 : 1)];
	if (form == SERVER_FILE) {
		file = fopen(what, "rbe");
		if (!file)
			return;
	}
	close_all_but(file ? fileno(file) : -1);
	new_thread_state();
	main = PyModule_GetDict(PyImport_AddModule("__main__"));
	if (form == SERVER_FILE)
		run_file(main, file, what);
	else if (form == SERVER_MODULE)
		run_module(what);
	else
		run_code(main, what);
}

/* init has a small stack of its own, and so had its child: the command shall have that
 * of a process. The server has not left the frame of exitpath_serve(). */
static void run_child(const struct message_request *req)
{
	if (setjmp(server.init_stack) == 0) {
		server.request = req;
		longjmp(server.own_stack, 1);
	}
}

static void ready(const char *step, int errnum)
{
	struct message_ready r = {.errnum = errnum};

	snprintf(r.step, sizeof(r.step), "%s", step);
	message_send(SERVER_SOCKET, &r, sizeof(r), NULL, 0);
}

/* Why there can be no server in this interpreter. */
EXPORTED void exitpath_refuse(const char *why);
void exitpath_refuse(const char *why)
{
	ready(why, 0);
}

EXPORTED void exitpath_serve(prepare_fn prepare, int first, int minor);
void exitpath_serve(prepare_fn prepare, int first, int minor)
{
	const struct plan *p =
		mmap(NULL, sizeof(*p), PROT_READ, MAP_PRIVATE, SERVER_PLAN, 0);
	sigset_t all;

	if (p == MAP_FAILED) {
		ready("plan", errno);
		return;
	}
	if (!PyInterpreterState_Get || !PyRun_FileExFlags || !PyRun_StringFlags ||
	    !PySys_AddAuditHook) {
		ready("an interpreter of another kind", 0);
		return;
	}
	server.prepare = prepare;
	server.first = first;
	server.minor = minor;
	server.loads = loads();
	close(SERVER_PLAN);
	close(SERVER_LIBRARY);
	fcntl(SERVER_SOCKET, F_SETFD, FD_CLOEXEC);
	/* For init, as any zygote. The command gets its own. */
	reset_signals();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* Once for all forks: there is nothing of Python between them. */
	PyOS_BeforeFork();
	if (setjmp(server.own_stack) != 0) { /* a command's process */
		run_command(server.request);
		longjmp(server.init_stack, 1);
	}
	ready("", 0);
	inner_serve(p, SERVER_SOCKET, run_child);
}
