/* In place of Samba's ntlm_auth: one answer to "YR". Linked statically, so that no call of its own is
 * made to fail. */
#include <unistd.h>

int main(void)
{
	char line[256];

	while (read(0, line, sizeof(line)) > 0)
		if (write(1, "YR TlRMTVNTUAABAAAA\n", 20) < 0)
			return 1;
	return 0;
}
