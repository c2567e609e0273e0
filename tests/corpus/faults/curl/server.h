/* Connections of libcurl without a network: each is one end of a socketpair, and a thread with neither
 * memory nor calls of the class net serves the other. */
#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void serve(int fd, int nth); /* of the driver; closes fd */

static struct connection {
	pthread_t thread;
	int fd, nth;
} connections[8];
static int nconnections;

static void *serving(void *ctx)
{
	struct connection *c = ctx;

	serve(c->fd, c->nth);
	return NULL;
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct connection *c = &connections[nconnections];
	int ends[2];

	if (nconnections == 8 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return CURL_SOCKET_BAD;
	c->fd = ends[1];
	c->nth = nconnections;
	if (pthread_create(&c->thread, NULL, serving, c)) {
		close(ends[0]);
		close(ends[1]);
		return CURL_SOCKET_BAD;
	}
	nconnections++;
	return ends[0];
}

static int is_connected(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static CURL *new_transfer(const char *url)
{
	CURL *easy = curl_easy_init();

	signal(SIGPIPE, SIG_IGN); /* of the server, when a transfer has been given up */
	if (!easy)
		return NULL;
	if (curl_easy_setopt(easy, CURLOPT_URL, url) ||
	    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket) ||
	    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, is_connected) ||
	    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L)) {
		curl_easy_cleanup(easy);
		return NULL;
	}
	return easy;
}

static void wait_for_servers(void)
{
	for (int i = 0; i < nconnections; i++)
		pthread_join(connections[i].thread, NULL);
}

static void say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		return;
}

/* A line, or what ends with an empty one; 0: closed. */
static int hear(int fd, char *line, int size, const char *end)
{
	int n = 0;

	while (n < size - 1 && read(fd, line + n, 1) == 1) {
		line[++n] = '\0';
		if (n >= (int)strlen(end) && !strcmp(line + n - strlen(end), end))
			return n;
	}
	return 0;
}

static void serve_http(int fd)
{
	char request[4096];

	while (hear(fd, request, sizeof(request), "\r\n\r\n"))
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi\n");
	close(fd);
}
