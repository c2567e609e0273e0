/* Attributes of a control group that may be missing are read and written. */
#include "config.h"
#undef CONFIG_ISOLATE_CGROUP_ROOT
#define CONFIG_ISOLATE_CGROUP_ROOT "cgroot" /* a directory of ours, as the set-up made it */
#define main isolate_main
#include "isolate.c"
#undef main

int main(void)
{
	char buf[CG_BUFSIZE];

	strcpy(cg_name, "box-0");
	if (!cg_read(CG_MEMORY, "?memory.max_usage_in_bytes", buf))
		fputs("cannot tell the memory\n", stderr);
	return 0;
}
