/* Text that outgrows its first buffer, so that it is reallocated on every way there is.
 */
#include "cJSON.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	cJSON *list = cJSON_CreateArray();
	char *text = NULL;

	for (int i = 0; list && i < 40; i++) {
		cJSON *item = cJSON_CreateString("a string of some length");

		if (!item)
			break;
		cJSON_AddItemToArray(list, item);
	}
	if (list && cJSON_GetArraySize(list) == 40)
		text = cJSON_Print(list);
	cJSON_Delete(list);
	if (!text)
		fputs("out of memory\n", stderr);
	free(text);
	return !text;
}
