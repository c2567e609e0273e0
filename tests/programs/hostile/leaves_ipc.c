/* leaves_ipc NAME: leaves POSIX and SysV shared memory, semaphores and message queues,
 * and files in /tmp, /var/tmp and /dev/shm, each with NAME or its SysV key (the number).
 */
#include "hostile.h"
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

static void made(const char *what, int failed)
{
	printf("%s: %s\n", what, failed ? strerrorname_np(errno) : "made");
}

static int touch(const char *directory, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s%s-file", directory, name);
	return open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "/hostile";
	int key = argc > 2 ? atoi(argv[2]) : 4711;

	made("shm_open", shm_open(name, O_CREAT | O_RDWR, 0600) < 0);
	made("sem_open", sem_open(name, O_CREAT, 0600, 1) == SEM_FAILED);
	made("mq_open", mq_open(name, O_CREAT | O_RDWR, 0600, NULL) < 0);
	made("shmget", shmget(key, 4096, IPC_CREAT | 0600) < 0);
	made("semget", semget(key, 1, IPC_CREAT | 0600) < 0);
	made("msgget", msgget(key, IPC_CREAT | 0600) < 0);
	made("/tmp", touch("/tmp", name) < 0);
	made("/var/tmp", touch("/var/tmp", name) < 0);
	made("/dev/shm", touch("/dev/shm", name) < 0);
	return 0;
}
