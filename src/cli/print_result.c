#include "cli/print_result.h"

#include "cli/cmd.h"
#include "cli/terminal.h"

#include "base/fs.h"
#include "base/mem.h"
#include "report/report.h"

#include <unistd.h>

static const char *wanted_format(void)
{
	return common.format ? common.format : common.json ? "json" : "text";
}

int format_result(const struct result *r, const char *format, struct buf *ret,
		  struct err *err)
{
	const struct report_format *f = report_format_find(format);
	const struct report_opts opts = {
		.color = terminal_color(STDOUT_FILENO),
		.verbose = common.verbose,
		.width = terminal_width(STDOUT_FILENO),
	};

	if (!f) {
		CLEANUP(strv) struct strv names = {0};
		CLEANUP_FREE char *all = NULL;

		for (size_t i = 0; report_formats[i]; i++)
			strv_add(&names, report_formats[i]->name);
		all = strv_join(&names, ", ");
		err_set(err, ERR_USAGE, "there is no format `%s`", format);
		err_hint(err, "formats are: %s", all);
		return -1;
	}
	if (r)
		f->write(r, &opts, ret);
	return 0;
}

int check_format(struct err *err)
{
	return format_result(NULL, wanted_format(), NULL, err);
}

int print_result(const struct result *r)
{
	CLEANUP(buf) struct buf text = {0};
	struct err err = {0};

	if (format_result(r, wanted_format(), &text, &err) < 0)
		return command_fail(&err);
	return command_print(buf_str(&text));
}

int write_packet(const struct result *r, const char *dir, struct err *err)
{
	static const struct {
		const char *format, *file;
	} files[] = {{"packet", "packet.md"}, {"packet-json", "packet.json"}};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CLEANUP(buf) struct buf text = {0};
		CLEANUP_FREE char *path = path_join(dir, files[i].file);

		if (format_result(r, files[i].format, &text, err) < 0 ||
		    write_file(path, buf_str(&text), text.len, err) < 0)
			return -1;
	}
	return 0;
}
