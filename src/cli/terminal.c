#include "cli/terminal.h"

#include "base/buf.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Base and candidate may be measured side by side: what each of them is at. */
struct phase {
	char text[128];
	uint64_t start;
};

static struct {
	bool live;  /* stderr is a terminal whose last line may be rewritten */
	bool shown; /* a line stands there */
	struct phase phases[2];
	unsigned newest;
} line;

bool terminal_color(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && term && *term && strcmp(term, "dumb");
}

/* 0: not known. */
static unsigned columns(int fd)
{
	struct winsize w = {0};

	return ioctl(fd, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

unsigned terminal_width(int fd)
{
	unsigned n = columns(fd);

	return n >= 40 ? n : 80; /* in less, nothing could be read */
}

void progress_clear(void)
{
	if (line.shown)
		fputs("\r\033[K", stderr);
	line.shown = false;
}

static void add_eta(struct buf *b, const struct progress_event *e, uint64_t start)
{
	uint64_t spent = clock_us() - start;

	if (!e->done || !e->total || spent < 1000000)
		return;
	buf_addf(b, "  about %llu s left",
		 (unsigned long long)(spent / e->done * (e->total - e->done) / 1000000 +
				      1));
}

/* The phase that the event belongs to; one that begins takes the older one's place. */
static struct phase *phase_of(const char *text, bool begins)
{
	struct phase *p = &line.phases[line.newest];

	if (strcmp(p->text, text) != 0) {
		line.newest = !line.newest;
		p = &line.phases[line.newest];
	}
	if (begins || strcmp(p->text, text) != 0) {
		snprintf(p->text, sizeof(p->text), "%s", text);
		p->start = clock_us();
	}
	return p;
}

static void rewrite(const struct phase *p, const struct progress_event *e)
{
	unsigned width = columns(STDERR_FILENO);
	CLEANUP(buf) struct buf b = {0};

	buf_adds(&b, p->text);
	if (e->total)
		buf_addf(&b, "  %zu/%zu", e->done + 1, e->total);
	add_eta(&b, e, p->start);
	/* A line that wraps could not be taken back. */
	fprintf(stderr, "\r\033[K%.*s", (int)(width ? width : 80) - 1, buf_str(&b));
	fflush(stderr);
	line.shown = true;
}

static void update(void *ctx, const struct progress_event *e)
{
	char text[sizeof(line.phases[0].text)];
	const struct phase *p;

	(void)ctx;
	snprintf(text, sizeof(text), "%s: %s%s%s", e->target, e->what,
		 e->detail ? ", " : "", e->detail ? e->detail : "");
	p = phase_of(text, e->done == 0);
	if (line.live)
		rewrite(p, e);
	else if (e->done == 0 && e->total)
		fprintf(stderr, "exitpath: %s, %zu runs\n", text, e->total);
	else if (e->done == 0)
		fprintf(stderr, "exitpath: %s\n", text);
}

const struct progress *progress_line(bool quiet)
{
	static const struct progress shown = {update, NULL}, silent = {NULL, NULL};

	line.live = terminal_color(STDERR_FILENO);
	return quiet ? &silent : &shown;
}
