/* An item that already carries a name replaces another: its old name must be freed. */
#include <stddef.h>

#include "cJSON.h"

int main(void)
{
	cJSON *first = cJSON_CreateObject();
	cJSON *second = cJSON_CreateObject();
	cJSON *moved = cJSON_CreateString("value");
	int lost;

	cJSON_AddNumberToObject(first, "here", 1);
	cJSON_AddNumberToObject(second, "there", 2);
	cJSON_ReplaceItemInObject(first, "here", moved);
	cJSON_ReplaceItemInObject(second, "there",
				  cJSON_DetachItemFromObject(first, "here"));
	lost = cJSON_GetObjectItem(second, "there") != moved;
	cJSON_Delete(first);
	cJSON_Delete(second);
	return lost;
}
