/*
 * What rewritten C files begin with. No header is included, and the functions of libc go
 * by names of our own, so that nothing that the file declares can be at odds with it.
 * The path is in the text: tests clear the environment.
 */
#include "instrument/branches.h"
#include "instrument/mutants_c.h"

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

static void add_map(const char *path, struct buf *out)
{
	buf_adds(out, "#ifndef EXITPATH_PROBES\n#define EXITPATH_PROBES\n"
		      "extern int ep_open_(const char *, int, ...) __asm__(\"open\");\n"
		      "extern int ep_close_(int) __asm__(\"close\");\n"
		      "extern void *ep_mmap_(void *, unsigned long, int, int, int, long)"
		      " __asm__(\"mmap\");\n"
		      "#define EP_ONE_ __attribute__((weak, visibility(\"hidden\")))\n"
		      "#define EP_FILE_ ");
	probes_c_quote(path, out);
	buf_addc(out, '\n');
}

void probes_c_branches(const char *path, uint32_t outcomes, struct buf *out)
{
	add_map(path, out);
	buf_addf(out,
		 "EP_ONE_ unsigned char ep_before_[%u];\n"
		 "EP_ONE_ unsigned char *ep_hits_ = ep_before_;\n"
		 "static __thread int ep_chosen_ __attribute__((unused));\n",
		 outcomes + 1);
	buf_addf(out,
		 "__attribute__((constructor(101), unused)) static void "
		 "ep_start_(void)\n{\n\tint fd;\n\tvoid *p;\n"
		 "\tif (ep_hits_ != ep_before_ || (fd = ep_open_(EP_FILE_, "
		 "2 | 02000000)) < 0)\n\t\treturn;\n"
		 "\tp = ep_mmap_(0, %u, 3, 1, fd, 0);\n\tep_close_(fd);\n"
		 "\tif (p != (void *)-1)\n\t\tep_hits_ = (unsigned char *)p;\n}\n",
		 outcomes + 1);
	buf_adds(out,
		 "__attribute__((unused)) static __inline int ep_b_(unsigned n, int v)\n"
		 "{\n\tep_hits_[v ? n : n + 1] = 1;\n\treturn v;\n}\n"
		 "__attribute__((unused)) static __inline void ep_case_(unsigned n)\n"
		 "{\n\tif (ep_chosen_) {\n\t\tep_chosen_ = 0;\n\t\tep_hits_[n] = 1;\n"
		 "\t}\n}\n#endif\n#line 1\n");
}

/*
 * ep_state_[n]: 0 as ever, 1 tell when it is reached, 2 it is in force. Once a mutant was
 * reached it costs the load of a byte. The library that forks is there or not.
 */
static const char mutants_code[] =
	"extern int exitpath_mutant(unsigned, unsigned char *) __attribute__((weak));\n"
	"EP_ONE_ unsigned char *ep_map_;\n"
	"EP_ONE_ unsigned char ep_state_[EP_N_ + 1];\n"
	"__attribute__((constructor(101), unused)) static void ep_start_(void)\n{\n"
	"\tint fd;\n\tunsigned i, mode;\n\tvoid *p;\n"
	"\tif (ep_map_ || (fd = ep_open_(EP_FILE_, 2 | 02000000)) < 0)\n\t\treturn;\n"
	"\tp = ep_mmap_(0, EP_SIZE_, 3, 1, fd, 0);\n\tep_close_(fd);\n"
	"\tif (p == (void *)-1)\n\t\treturn;\n"
	"\tep_map_ = (unsigned char *)p;\n\tmode = ((unsigned *)p)[1];\n"
	"\tif (mode == 2 && ((unsigned *)p)[2] < EP_N_)\n"
	"\t\tep_state_[((unsigned *)p)[2]] = 2;\n"
	"\tif (mode == 1 || mode == 3)\n\t\tfor (i = 0; i < EP_N_; i++)\n"
	"\t\t\tep_state_[i] = ep_map_[EP_WANTED_ + i];\n}\n"
	"EP_ONE_ __attribute__((noinline, cold)) int ep_reach_(unsigned n)\n{\n"
	"\tif (ep_state_[n] == 2)\n\t\treturn 1;\n\tep_state_[n] = 0;\n"
	"\tep_map_[EP_WANTED_ + EP_N_ + n] = 1;\n"
	"\treturn exitpath_mutant ? exitpath_mutant(n, ep_state_) : 0;\n}\n"
	"__attribute__((unused)) static __inline int ep_m_(unsigned n)\n{\n"
	"\treturn __builtin_expect(ep_state_[n], 0) ? ep_reach_(n) : 0;\n}\n#endif\n";

void probes_c_mutants(const char *path, uint32_t n, uint32_t wanted_at, const char *name,
		      bool quiet, struct buf *out)
{
	add_map(path, out);
	buf_addf(out, "#define EP_N_ %uu\n#define EP_WANTED_ %uu\n#define EP_SIZE_ %uu\n",
		 n, wanted_at, wanted_at + 2 * n);
	buf_adds(out, mutants_code);
	/* The 3: as in a header of the system. */
	buf_adds(out, quiet ? "# 1 " : "#line 1 ");
	probes_c_quote(name, out);
	buf_adds(out, quiet ? " 3\n" : "\n");
}
