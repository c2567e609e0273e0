/* A request whose first answer to NTLM comes from a helper program. */
#include "server.h"

static void serve(int fd, int nth)
{
	serve_http(fd);
}

int main(void)
{
	CURL *easy = NULL;
	int failed = curl_global_init(CURL_GLOBAL_DEFAULT) != 0;

	if (!failed)
		easy = new_transfer("http://127.0.0.1/");
	failed |= !easy || curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_NTLM_WB) ||
		  curl_easy_setopt(easy, CURLOPT_USERPWD, "user:") || curl_easy_perform(easy);
	curl_easy_cleanup(easy);
	curl_global_cleanup();
	wait_for_servers();
	if (failed)
		fputs("failed\n", stderr);
	return failed;
}
