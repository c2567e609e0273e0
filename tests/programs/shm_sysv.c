/* A System V shared memory segment that is not removed; prints its id. */
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#include "trap.h"

int main(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);

	if (id < 0)
		return 2;
	if (LEAKS)
		printf("%d\n", id);
	else
		shmctl(id, IPC_RMID, NULL);
	return 0;
}
