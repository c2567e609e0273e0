/* Splitting by an empty separator is refused: the token array must be freed first. */
#include <stddef.h>

#include "sds.h"

int main(void)
{
	char line[] = "a,b,c";
	char sep[] = ",";
	int count = 0;
	sds *tokens = sdssplitlen(line, sizeof(line) - 1, sep, 1, &count);

	if (!tokens || count != 3)
		return 1;
	sdsfreesplitres(tokens, count);
	return sdssplitlen(line, sizeof(line) - 1, sep, 0, &count) != NULL;
}
