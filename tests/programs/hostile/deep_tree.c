/* deep_tree DIRECTORY DEPTH: directories within directories, longer than any path. */
#include "hostile.h"
#include <sys/stat.h>

int main(int argc, char **argv)
{
	int depth = argc > 2 ? atoi(argv[2]) : 0, made = 0;

	if (argc < 2 || chdir(argv[1]))
		return 2;
	while (made < depth && mkdir("hostile-directory", 0700) == 0 &&
	       chdir("hostile-directory") == 0)
		made++;
	printf("%d deep\n", made);
	return 0;
}
