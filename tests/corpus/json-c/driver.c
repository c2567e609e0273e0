/* A string grows, is emptied and grows again: the buffer in between must be freed. */
#include <string.h>

#include "json_object.h"

int main(void)
{
	struct json_object *obj = json_object_new_string("data");
	int lost;

	json_object_set_string(obj, "longer than what the object has room for");
	json_object_set_string(obj, "");
	json_object_set_string(obj, "longer than the empty string");
	lost = strcmp(json_object_get_string(obj), "longer than the empty string") != 0;
	json_object_put(obj);
	return lost;
}
