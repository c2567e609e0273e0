#include "cli/terminal.h"

#include "base/buf.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct {
	bool live;	/* stderr is a terminal that can be rewritten */
	bool shown;	/* a line stands there */
	char last[128]; /* phase that was printed last, off a terminal */
	uint64_t start; /* of the phase */
} line;

bool terminal_color(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && term && *term && strcmp(term, "dumb");
}

unsigned terminal_width(int fd)
{
	struct winsize w = {0};

	return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col >= 40 ? w.ws_col : 80;
}

void progress_clear(void)
{
	if (line.shown)
		fputs("\r\033[K", stderr);
	line.shown = false;
}

static void add_eta(struct buf *b, const struct progress_event *e)
{
	uint64_t spent = clock_us() - line.start;

	if (!e->done || !e->total || spent < 1000000)
		return;
	buf_addf(b, "  about %llu s left",
		 (unsigned long long)(spent / e->done * (e->total - e->done) / 1000000 +
				      1));
}

static void update(void *ctx, const struct progress_event *e)
{
	char phase[sizeof(line.last)];
	CLEANUP(buf) struct buf b = {0};

	(void)ctx;
	snprintf(phase, sizeof(phase), "%s: %s%s%s", e->target, e->what,
		 e->detail ? ", " : "", e->detail ? e->detail : "");
	if (strcmp(phase, line.last)) {
		snprintf(line.last, sizeof(line.last), "%s", phase);
		line.start = clock_us();
		if (!line.live) {
			fprintf(stderr, "exitpath: %s", phase);
			if (e->total)
				fprintf(stderr, ", %zu runs", e->total);
			fputc('\n', stderr);
		}
	}
	if (!line.live)
		return;
	buf_adds(&b, phase);
	if (e->total)
		buf_addf(&b, "  %zu/%zu", e->done + 1, e->total);
	add_eta(&b, e);
	fprintf(stderr, "\r\033[K%.*s", (int)terminal_width(STDERR_FILENO) - 1,
		buf_str(&b));
	fflush(stderr);
	line.shown = true;
}

const struct progress *progress_line(bool quiet)
{
	static const struct progress shown = {update, NULL}, silent = {NULL, NULL};

	line.live = terminal_color(STDERR_FILENO) ||
		    (isatty(STDERR_FILENO) && getenv("TERM") &&
		     strcmp(getenv("TERM"), "dumb"));
	return quiet ? &silent : &shown;
}
