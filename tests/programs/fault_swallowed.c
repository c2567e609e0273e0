/* fsync, fwrite and fclose are not asked whether they worked. FIXED: they are. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int save(const char *path)
{
	static const char text[] = "all that was earned this year\n";
	FILE *f = fopen(path, "w");
	int bad;

	if (!f)
		return -1;
	bad = fwrite(text, 1, strlen(text), f) < strlen(text);
	bad |= fflush(f);
	bad |= fsync(fileno(f));
	bad |= fclose(f);
#ifdef FIXED
	return bad ? -1 : 0;
#else
	(void)bad;
	return 0;
#endif
}

int main(void)
{
	if (save("saved.txt") < 0) {
		perror("saved.txt");
		return 1;
	}
	return 0;
}
