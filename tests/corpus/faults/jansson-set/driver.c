/* A value is set, and belongs to the object whether that works or not. */
#include <jansson.h>
#include <stdio.h>

int main(void)
{
	json_t *j = json_object();
	json_t *value = j ? json_string("forty-two") : NULL;
	int rc = value ? json_object_set_new(j, "answer", value) : -1;

	json_decref(j);
	if (rc < 0)
		fputs("failed\n", stderr);
	return rc < 0;
}
