#include <stdio.h>
#include <string.h>

#include "base/version.h"

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("exitpath " EXITPATH_VERSION);
		return 0;
	}
	fputs("usage: exitpath --version\n", stderr);
	return 2;
}
