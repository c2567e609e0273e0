#include "detect/lsan_report.h"

#include "base/fs.h"
#include "base/mem.h"
#include "detect/lsan_parse.h"
#include "detect/report_file.h"

#include <fcntl.h>
#include <string.h>

enum { REPORT_CAP = 4 << 20 /* bytes; as much as is kept */ };

static void add_frame(struct buf *out, const char *number, const struct raw_frame *f)
{
	buf_addf(out, "    #%s %s", number, f->function ? f->function : "?");
	if (f->module)
		buf_addf(out, " (%s+0x%llx)", f->module, (unsigned long long)f->offset);
	if (f->file)
		buf_addf(out, " %s", f->file);
	if (f->file && f->line)
		buf_addf(out, ":%u", f->line);
	buf_addc(out, '\n');
}

static void add_line(struct buf *out, const char *line, struct symbols *symbols)
{
	const struct symbol_place *places;
	struct raw_frame f = {0};
	char number[LSAN_FRAME_NUMBER];
	size_t n = 0;

	if (!lsan_frame_parse(line, &f, number)) {
		buf_addf(out, "%s\n", line);
		return;
	}
	if (!f.function && f.module && f.offset)
		n = symbols_find(symbols, f.module, f.offset, &places);
	for (size_t i = 0; i < n; i++) {
		struct raw_frame named = f;

		named.function = places[i].function;
		named.file = places[i].file;
		named.line = places[i].line;
		add_frame(out, number, &named);
	}
	if (!n)
		add_frame(out, number, &f);
	raw_frame_release(&f);
}

/* The program under test may have put something in its place. */
static int write_new(const char *path, const struct buf *b)
{
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	if (write_all(fd, b->data, b->len) == 0)
		return 0;
	unlink(path);
	return -1;
}

int lsan_report_write(const char *path, const char *path_named, struct symbols *symbols)
{
	CLEANUP(buf) struct buf text = {0};
	CLEANUP(buf) struct buf out = {0};

	if (read_regular(path, REPORT_CAP, &text) < 0 || !text.len)
		return -1;
	for (char *line = text.data, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		add_line(&out, line, symbols);
	}
	return write_new(path_named, &out);
}
