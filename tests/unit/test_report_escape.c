#include "harness.h"

#include "base/mem.h"
#include "report/escape.h"
#include "report/series.h"

#include <string.h>

static void nothing_hidden_gets_through(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{NULL, ""},
		{"", ""},
		{"plain \xc3\xa9 \xe2\x96\x88", "plain \xc3\xa9 \xe2\x96\x88"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
		{"a\nb\tc\r", "a\\nb\\tc\\x0d"},
		{"\033[31mred\033[0m", "\\x1b[31mred\\x1b[0m"},
		{"\x7f", "\\x7f"},
		{"\xc2\x9b", "\\u{9b}"},	    /* CSI as one character */
		{"\xe2\x80\xae", "\\u{202e}"},	    /* right-to-left override */
		{"\xe2\x80\x8b", "\\u{200b}"},	    /* zero width space */
		{"\xe2\x80\xa8", "\\u{2028}"},	    /* line separator */
		{"\xef\xbb\xbf", "\\u{feff}"},	    /* byte order mark */
		{"\xf3\xa0\x81\x81", "\\u{e0041}"}, /* tag letter */
		{"\xff\xfe", "\\xff\\xfe"},
		{"\xc3", "\\xc3"}, /* cut short */
		{"\xe2\x96", "\\xe2\\x96"},
		{"\xc0\xaf", "\\xc0\\xaf"}, /* overlong */
		{"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogate */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *got = escaped(cases[i].in);

		assert_string_equal(got, cases[i].out);
	}
}

static void commands_keep_their_lines(void **state)
{
	CLEANUP(buf) struct buf out = {0};

	(void)state;
	escape_lines(&out, "sh -c 'a\n\tb'\r");
	assert_string_equal(buf_str(&out), "sh -c 'a\n\tb'\\x0d");
}

static void text_is_wrapped_at_words(void **state)
{
	static const struct {
		const char *in, *indent;
		size_t hang, width;
		const char *out;
	} cases[] = {
		{"", "  ", 0, 10, ""},
		{"   ", "  ", 0, 10, ""},
		{"a", "", 0, 10, "a\n"},
		{"a b c", "", 0, 3, "a b\nc\n"},
		{"a  b", "", 0, 10, "a b\n"},
		{"aaaa bbbb", "  ", 0, 8, "  aaaa\n  bbbb\n"},
		{"n: aaaa bbbb", "  ", 3, 9, "  n: aaaa\n     bbbb\n"},
		{"averylongword b", " ", 2, 5, " averylongword\n   b\n"},
		{"\xc3\xa9\xc3\xa9 \xc3\xa9", "", 0, 4, "\xc3\xa9\xc3\xa9 \xc3\xa9\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf) struct buf out = {0};

		wrap_text(&out, cases[i].in, cases[i].indent, cases[i].hang,
			  cases[i].width);
		assert_string_equal(buf_str(&out), cases[i].out);
	}
}

static void series_fit_a_line(void **state)
{
	uint64_t units[1000] = {0};
	CLEANUP(buf) struct buf plain = {0}, runs = {0}, bars = {0}, long_bars = {0};

	(void)state;
	units[1] = 1;
	units[2] = 7;
	units[3] = UINT64_MAX;
	series_plain(&plain, units, 3);
	assert_string_equal(buf_str(&plain), "0 1 7");
	series_plain(&runs, units, 1000);
	assert_string_equal(buf_str(&runs),
			    "0 x1, 1 x1, 7 x1, 18446744073709551615 x1, 0 x996");
	buf_clear(&runs);
	for (size_t i = 0; i < 1000; i++)
		units[i] = i % 2;
	series_plain(&runs, units, 1000);
	assert_string_equal(buf_str(&runs), "0 x1, 1 x1, 0 x1, 1 x1, 0 x1, 1 x1, 0 x1, "
					    "1 x1, ...");
	series_bars(&bars, (const uint64_t[]){0, 1, 50, 100}, 4, 100);
	assert_string_equal(buf_str(&bars), "▁▂▅█");
	series_bars(&long_bars, units, 1000, 1);
	assert_int_equal(text_columns(buf_str(&long_bars)), SERIES_COLUMNS);
	buf_clear(&plain);
	series_plain(&plain, NULL, 3);
	assert_string_equal(buf_str(&plain), "0 0 0");
	buf_clear(&plain);
	series_bars(&plain, NULL, 0, 0);
	assert_int_equal(plain.len, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		HARNESS_TEST(nothing_hidden_gets_through),
		HARNESS_TEST(commands_keep_their_lines),
		HARNESS_TEST(text_is_wrapped_at_words),
		HARNESS_TEST(series_fit_a_line),
	};

	return HARNESS_RUN(tests);
}
