/* A name that cannot be resolved, on a port whose HTTPS record has a name of its own. That it is not resolved is
 * what the test is about; no server is asked. */
#include <curl/curl.h>
#include <stdio.h>

int main(void)
{
	CURL *easy = NULL;
	CURLcode rc = CURLE_FAILED_INIT;

	if (!curl_global_init(CURL_GLOBAL_DEFAULT))
		easy = curl_easy_init();
	if (easy && !curl_easy_setopt(easy, CURLOPT_URL, "http://host.invalid:8080/") &&
	    !curl_easy_setopt(easy, CURLOPT_DNS_SERVERS, "127.0.0.1:9") &&
	    !curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 3000L))
		rc = curl_easy_perform(easy);
	curl_easy_cleanup(easy);
	curl_global_cleanup();
	if (rc == CURLE_COULDNT_RESOLVE_HOST || rc == CURLE_OPERATION_TIMEDOUT)
		return 0;
	fprintf(stderr, "failed: %d\n", (int)rc);
	return 1;
}
