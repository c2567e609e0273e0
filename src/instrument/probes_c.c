/*
 * What rewritten C files begin with. No header is included, and the functions of libc go
 * by names of our own, so that nothing that the file declares can be at odds with it.
 * The path is in the text: tests clear the environment.
 */
#include "instrument/branches.h"

void probes_c_quote(const char *text, struct buf *out)
{
	buf_addc(out, '"');
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\' || c < ' ' || c > '~' || c == '?')
			buf_addf(out, "\\%03o", c);
		else
			buf_addc(out, *p);
	}
	buf_addc(out, '"');
}

void probes_c_branches(const char *path, uint32_t outcomes, struct buf *out)
{
	buf_adds(out, "#ifndef EXITPATH_PROBES\n#define EXITPATH_PROBES\n"
		      "extern int ep_open_(const char *, int, ...) __asm__(\"open\");\n"
		      "extern int ep_close_(int) __asm__(\"close\");\n"
		      "extern void *ep_mmap_(void *, unsigned long, int, int, int, long)"
		      " __asm__(\"mmap\");\n"
		      "#define EP_ONE_ __attribute__((weak, visibility(\"hidden\")))\n");
	buf_addf(out,
		 "EP_ONE_ unsigned char ep_before_[%u];\n"
		 "EP_ONE_ unsigned char *ep_hits_ = ep_before_;\n"
		 "static __thread int ep_chosen_ __attribute__((unused));\n",
		 outcomes + 1);
	buf_adds(out, "__attribute__((constructor(101), unused)) static void "
		      "ep_start_(void)\n{\n\tint fd;\n\tvoid *p;\n"
		      "\tif (ep_hits_ != ep_before_ || (fd = ep_open_(");
	probes_c_quote(path, out);
	buf_addf(out,
		 ", 2 | 02000000)) < 0)\n\t\treturn;\n"
		 "\tp = ep_mmap_(0, %u, 3, 1, fd, 0);\n\tep_close_(fd);\n"
		 "\tif (p != (void *)-1)\n\t\tep_hits_ = (unsigned char *)p;\n}\n",
		 outcomes + 1);
	buf_adds(out,
		 "__attribute__((unused)) static inline int ep_b_(unsigned n, int v)\n"
		 "{\n\tep_hits_[v ? n : n + 1] = 1;\n\treturn v;\n}\n"
		 "__attribute__((unused)) static inline void ep_case_(unsigned n)\n"
		 "{\n\tif (ep_chosen_) {\n\t\tep_chosen_ = 0;\n\t\tep_hits_[n] = 1;\n"
		 "\t}\n}\n#endif\n#line 1\n");
}
