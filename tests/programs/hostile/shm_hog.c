/* shm_hog memfd|sysv|anonymous MIB: as hog, in memory that belongs to no process: memfd,
 * SysV, shared mapping.
 */
#include "hostile.h"
#include <sys/mman.h>
#include <sys/shm.h>

static char *get(const char *kind, size_t size)
{
	int fd;

	if (strcmp(kind, "sysv") == 0) {
		int id = shmget(IPC_PRIVATE, size, 0600);
		char *at = id < 0 ? MAP_FAILED : shmat(id, NULL, 0);

		shmctl(id, IPC_RMID, NULL);
		return at;
	}
	if (strcmp(kind, "anonymous") == 0)
		return mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fd = memfd_create("hostile", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		return MAP_FAILED;
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

int main(int argc, char **argv)
{
	size_t size = (size_t)(argc > 2 ? atoi(argv[2]) : 1) << 20;
	char *at;

	if (argc < 2)
		return 2;
	at = get(argv[1], size);
	if (at == MAP_FAILED) {
		report(argv[1], 1);
		return 1;
	}
	/* Page for page, and let go of again: no process is large. */
	for (size_t i = 0; i < size; i += 1 << 20) {
		memset(at + i, 1, 1 << 20);
		madvise(at + i, 1 << 20, MADV_DONTNEED);
	}
	report(argv[1], 0);
	return 0;
}
