/* devices DIRECTORY: makes device nodes there, and opens those that the machine has. */
#include "hostile.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int can_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const paths[] = {
		"/dev/mem",
		"/dev/kmem",
		"/dev/port",
		"/dev/kmsg",
		"/dev/kvm",
		"/dev/vda",
		"/dev/sda",
		"/dev/fuse",
		"/dev/net/tun",
		"/dev/loop-control",
		"/dev/sda1",
		"/dev/nvme0n1",
		"/dev/vsock",
		"/dev/vhost-vsock",
		"/dev/tty0",
		"/dev/console",
		"/dev/mapper/control",
		"/dev/userfaultfd",
		"/dev/ptp0",
		"/dev/hpet",
		"/dev/rtc0",
		"/dev/watchdog",
		"/dev/uinput",
		"/dev/dri/card0",
	};
	char path[4200];

	if (argc < 2)
		return 2;
	snprintf(path, sizeof(path), "%s/hostile-kmsg", argv[1]);
	report("mknod of kmsg", mknod(path, S_IFCHR | 0600, makedev(1, 11)));
	report("a node of its own", can_open(path));
	unlink(path);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		report(paths[i], can_open(paths[i]));
	return 0;
}
