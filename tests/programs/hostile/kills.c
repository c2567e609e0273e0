/*
 * kills HOST-PID-NAMESPACE all|group|init|parent|near: kills its supervisor and whoever
 * it can see, and lives (but with group) to say so. "all": kill(-1), "init": each signal
 * to pid 1, "near": all pids up to its own plus 100.
 */
#include "hostile.h"
#include <signal.h>
#include <sys/syscall.h>

static int shoot(const char *whom)
{
	siginfo_t info = {.si_code = SI_QUEUE};
	int shots = 0;

	if (strcmp(whom, "all") == 0)
		return kill(-1, SIGKILL);
	if (strcmp(whom, "group") == 0)
		return kill(0, SIGKILL);
	if (strcmp(whom, "parent") == 0)
		return kill(getppid(), SIGKILL);
	if (strcmp(whom, "init") == 0)
		for (int s = 1; s < NSIG; s++) {
			shots += kill(1, s) == 0;
			info.si_signo = s;
			shots += syscall(SYS_rt_sigqueueinfo, 1, s, &info) == 0;
			shots += syscall(SYS_tgkill, 1, 1, s) == 0;
		}
	else
		for (pid_t pid = 1; pid < getpid() + 100; pid++)
			if (pid != getpid())
				shots += kill(pid, SIGKILL) == 0;
	return shots ? 0 : -1;
}

int main(int argc, char **argv)
{
	int failed;

	if (argc < 3)
		return 2;
	need_own_pid_namespace(argv[1]);
	failed = shoot(argv[2]);
	printf("shot %s: %s\n", argv[2], failed ? strerrorname_np(errno) : "yes");
	fflush(stdout);
	usleep(100000);
	puts("contained: still there");
	return 7;
}
