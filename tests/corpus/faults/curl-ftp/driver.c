/* Files of an FTP server by a pattern: what the server says after a transfer may not arrive. */
#include "server.h"

static int data = -1;	   /* the server's end of the latest data connection */
static int passive; /* the next connection is one */

/* The end of the transfer is said when the client has closed its end: always in the same order. */
static void send_data(int fd, const char *text)
{
	char c;

	for (int i = 0; data < 0 && i < 2000; i++)
		usleep(1000);
	say(fd, "150 here\r\n");
	say(data, text);
	shutdown(data, SHUT_WR);
	while (read(data, &c, 1) > 0)
		;
	close(data);
	data = -1;
	say(fd, "226 done\r\n");
}

static void serve(int fd, int nth)
{
	static const char *const answers[][2] = {
		{"USER", "331 go on\r\n"}, {"PASS", "230 in\r\n"},
		{"PWD", "257 \"/\"\r\n"},  {"PASV", "227 Passive (127,0,0,1,3,231)\r\n"},
		{"TYPE", "200 ok\r\n"},	   {"SIZE", "213 3\r\n"},
		{"QUIT", "221 bye\r\n"},
	};
	char line[512];

	if (passive) {
		passive = 0;
		data = fd;
		return;
	}
	say(fd, "220 hello\r\n");
	while (hear(fd, line, sizeof(line), "\r\n")) {
		const char *answer = "500 what?\r\n";

		for (int i = 0; i < 7; i++)
			if (!strncmp(line, answers[i][0], strlen(answers[i][0])))
				answer = answers[i][1];
		passive |= !strncmp(line, "PASV", 4);
		if (!strncmp(line, "LIST", 4))
			send_data(fd, "-rw-r--r-- 1 user group 3 Jan 01 2020 file\r\n");
		else if (!strncmp(line, "RETR", 4))
			send_data(fd, "hi\n");
		else
			say(fd, answer);
	}
	close(fd);
	if (data >= 0)
		close(data);
}

int main(void)
{
	CURL *easy = NULL;
	int failed = curl_global_init(CURL_GLOBAL_DEFAULT) != 0;

	if (!failed)
		easy = new_transfer("ftp://127.0.0.1/*");
	failed |= !easy || curl_easy_setopt(easy, CURLOPT_FTP_RESPONSE_TIMEOUT, 2L) ||
		  curl_easy_setopt(easy, CURLOPT_WILDCARDMATCH, 1L) ||
		  curl_easy_setopt(easy, CURLOPT_FTP_USE_EPSV, 0L) ||
		  curl_easy_setopt(easy, CURLOPT_FTP_SKIP_PASV_IP, 0L) || curl_easy_perform(easy);
	curl_easy_cleanup(easy);
	curl_global_cleanup();
	wait_for_servers();
	if (failed)
		fputs("failed\n", stderr);
	return failed;
}
