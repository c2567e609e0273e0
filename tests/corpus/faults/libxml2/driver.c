/* A document is written into a buffer of the caller, who frees it. */
#include <libxml/parser.h>
#include <libxml/tree.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
	static char text[8192] = "<a>";
	xmlBufferPtr buffer;
	xmlDocPtr doc;
	int n = -1;

	memset(text + 3, 'x', sizeof(text) - 8);
	strcpy(text + sizeof(text) - 5, "</a>");
	doc = xmlReadMemory(text, (int)strlen(text), NULL, NULL,
			    XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	buffer = xmlBufferCreate();
	if (doc && buffer)
		n = xmlNodeDump(buffer, doc, xmlDocGetRootElement(doc), 0, 0);
	xmlBufferFree(buffer);
	xmlFreeDoc(doc);
	xmlCleanupParser();
	if (n < 0)
		fputs("failed\n", stderr);
	return n < 0;
}
