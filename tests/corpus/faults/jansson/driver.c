/* A document that is written to a file: whoever calls is told when that fails. */
#include <jansson.h>
#include <stdio.h>

int main(void)
{
	json_t *j = json_object();
	int rc = j ? json_object_set_new(j, "answer", json_integer(42)) : -1;

	if (rc == 0)
		rc = json_dump_file(j, "out.json", 0);
	json_decref(j);
	if (rc < 0)
		fputs("failed\n", stderr);
	return rc < 0;
}
