/* A transfer that is driven by its sockets, as event loops do it. */
#include "server.h"

#include <poll.h>

static struct pollfd watched = {.fd = -1};

static void serve(int fd, int nth)
{
	serve_http(fd);
}

static int watch(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket)
{
	watched.fd = what == CURL_POLL_REMOVE ? -1 : fd;
	watched.events = (what & CURL_POLL_IN ? POLLIN : 0) | (what & CURL_POLL_OUT ? POLLOUT : 0);
	return 0;
}

static int transfer(CURLM *multi)
{
	CURLMsg *message;
	int running = 1, left;

	curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
	for (int i = 0; running && i < 200; i++) {
		int n = poll(&watched, watched.fd >= 0, 10);
		int mask = watched.revents & POLLOUT ? CURL_CSELECT_OUT : CURL_CSELECT_IN;

		if (curl_multi_socket_action(multi, n > 0 ? watched.fd : CURL_SOCKET_TIMEOUT, n > 0 ? mask : 0,
					     &running))
			return 1;
	}
	message = curl_multi_info_read(multi, &left);
	return running || !message || message->data.result;
}

int main(void)
{
	CURLM *multi = NULL;
	CURL *easy = NULL;
	int failed = curl_global_init(CURL_GLOBAL_DEFAULT) != 0;

	if (!failed)
		multi = curl_multi_init();
	if (multi)
		easy = new_transfer("http://127.0.0.1/");
	failed |= !easy || curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch) ||
		  curl_multi_add_handle(multi, easy) || transfer(multi);
	if (easy)
		curl_multi_remove_handle(multi, easy);
	curl_easy_cleanup(easy);
	if (multi)
		curl_multi_cleanup(multi);
	curl_global_cleanup();
	wait_for_servers();
	if (failed)
		fputs("failed\n", stderr);
	return failed;
}
