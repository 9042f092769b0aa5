/* SPDX-License-Identifier: MIT */
/*
 * common/progress: a live display of a long operation on stderr.
 *
 * Shows the snapshots of the library as a line that is redrawn in place, or as lines at
 * intervals. Depends only on the phase, bytes and items of the operation.
 */
#include "common/progress.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SECOND 1000000000ull

enum {
	LINE_ROOM = 1024,
	MAX_BAR = 30,
	MIN_BAR = 6,
	RATE_SECONDS = 30,
};

struct progress {
	int mode;
	struct tool_live live;
	char line[LINE_ROOM];  /* drawn now; "" for nothing */
	uint64_t next_line_ns; /* simple mode: when the next line is due */
	int phase;
	uint64_t phase_ns;  /* when the phase began */
	uint64_t sample_ns; /* when the rate was last measured, and at how many bytes */
	uint64_t sample_bytes;
	double rate; /* bytes per second, smoothed */
};

int progress_parse_mode(const char *text, int *mode_out)
{
	static const char *const names[] = { "none", "simple", "ascii", "unicode" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*mode_out = PROGRESS_NONE + (int)i;
			return 0;
		}
	}
	return tool_error(
		"invalid progress mode '%s' for --progress: use none, simple, ascii or unicode",
		text);
}

static void clear_line(void *user)
{
	const struct progress *progress = user;

	if (*progress->line)
		fputs("\r\033[K", stderr);
}

static void draw_line(void *user)
{
	const struct progress *progress = user;

	if (*progress->line) {
		fputs(progress->line, stderr);
		fflush(stderr);
	}
}

static int choose_mode(int mode)
{
	if (tool_log_level() < DWARFS_LOG_INFO && mode == PROGRESS_AUTO)
		return PROGRESS_NONE;
	if (mode != PROGRESS_AUTO)
		return mode;
	if (!isatty(STDERR_FILENO))
		return PROGRESS_SIMPLE;
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? PROGRESS_UNICODE
							  : PROGRESS_ASCII;
}

struct progress *progress_new(int mode)
{
	struct progress *progress = calloc(1, sizeof(*progress));

	if (!progress) {
		tool_error("out of memory");
		return NULL;
	}
	progress->mode = choose_mode(mode);
	progress->next_line_ns = SECOND;
	progress->phase = -1;
	if (progress->mode == PROGRESS_ASCII || progress->mode == PROGRESS_UNICODE) {
		progress->live = (struct tool_live){ clear_line, draw_line, progress };
		tool_set_live(&progress->live);
	}
	return progress;
}

void progress_free(struct progress *progress)
{
	if (!progress)
		return;
	if (progress->live.clear) {
		tool_set_live(NULL);
		clear_line(progress);
		fflush(stderr);
	}
	free(progress);
}

/*
 * The rate is the average since the phase began, later that of about the last half
 * minute: blocks are large and finish in bursts.
 */
static void measure_rate(struct progress *progress, const dwarfs_progress *state)
{
	const uint64_t now = dwarfs_progress_number(state, DWARFS_PROGRESS_ELAPSED_NS);
	const uint64_t bytes = dwarfs_progress_number(state, DWARFS_PROGRESS_DONE_BYTES);
	double seconds;
	double window;

	if (progress->phase != (int)dwarfs_progress_phase(state)) {
		progress->phase = (int)dwarfs_progress_phase(state);
		progress->phase_ns = now;
		progress->sample_ns = now;
		progress->sample_bytes = bytes;
		progress->rate = 0;
		return;
	}
	if (now < progress->sample_ns + SECOND / 2 || bytes < progress->sample_bytes)
		return;

	seconds = (double)(now - progress->sample_ns) / 1e9;
	window = (double)(now - progress->phase_ns) / 1e9;
	if (window > RATE_SECONDS)
		window = RATE_SECONDS;
	progress->rate +=
		((double)(bytes - progress->sample_bytes) / seconds - progress->rate) *
		(seconds < window ? seconds / window : 1);
	progress->sample_ns = now;
	progress->sample_bytes = bytes;
}

/* Bytes where there are any, else items: the share that is done, 0 to 1, or -1. */
static double fraction_done(const dwarfs_progress *state)
{
	uint64_t done = dwarfs_progress_number(state, DWARFS_PROGRESS_DONE_BYTES);
	uint64_t total = dwarfs_progress_number(state, DWARFS_PROGRESS_TOTAL_BYTES);

	if (dwarfs_progress_phase(state) == DWARFS_PHASE_SCAN)
		return -1;
	if (total == 0) {
		done = dwarfs_progress_number(state, DWARFS_PROGRESS_DONE_ITEMS);
		total = dwarfs_progress_number(state, DWARFS_PROGRESS_TOTAL_ITEMS);
	}
	if (total == 0)
		return -1;
	return done < total ? (double)done / (double)total : 1;
}

static void append_format(char *text, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void append_format(char *text, size_t room, const char *format, ...)
{
	const size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, room - used, format, arguments);
	va_end(arguments);
}

/*
 * The remaining time in nanoseconds; UINT64_MAX if unknown. The estimate of the library
 * is preferred, since it accounts for bytes that are read but not compressed yet.
 */
static uint64_t time_left(const struct progress *progress, const dwarfs_progress *state)
{
	const uint64_t done = dwarfs_progress_number(state, DWARFS_PROGRESS_DONE_BYTES);
	const uint64_t total = dwarfs_progress_number(state, DWARFS_PROGRESS_TOTAL_BYTES);
	const uint64_t known =
		dwarfs_progress_number(state, DWARFS_PROGRESS_REMAINING_NS);
	const int phase = dwarfs_progress_phase(state);

	if (known != UINT64_MAX ||
	    (phase != DWARFS_PHASE_CHECK && phase != DWARFS_PHASE_EXTRACT))
		return known;
	if (total <= done || progress->rate <= 0)
		return UINT64_MAX;
	return (uint64_t)((double)(total - done) * 1e9 / progress->rate);
}

/* The state of the operation as text: share, rate, remaining time. */
static void describe_progress(const struct progress *progress,
			      const dwarfs_progress *state, char *text, size_t room)
{
	const uint64_t done = dwarfs_progress_number(state, DWARFS_PROGRESS_DONE_BYTES);
	const uint64_t total = dwarfs_progress_number(state, DWARFS_PROGRESS_TOTAL_BYTES);
	const uint64_t out = dwarfs_progress_number(state, DWARFS_PROGRESS_WRITTEN_BYTES);
	const uint64_t saved = dwarfs_progress_number(state, DWARFS_PROGRESS_SAVED_BYTES);
	const uint64_t left = time_left(progress, state);
	const uint64_t files = dwarfs_progress_number(state, DWARFS_PROGRESS_DONE_ITEMS);
	const double share = fraction_done(state);
	char number[TOOL_TEXT_ROOM];

	*text = '\0';
	if (share >= 0)
		append_format(text, room, "%5.1f%%", 100 * share);
	if (dwarfs_progress_phase(state) == DWARFS_PHASE_SCAN)
		append_format(text, room, "%" PRIu64 " file%s, %s", files,
			      tool_plural(files),
			      tool_format_bytes(done > total ? done : total, number));
	/* Before the first block is compressed there is no rate. */
	if (dwarfs_progress_phase(state) == DWARFS_PHASE_WRITE && progress->rate < 1)
		append_format(
			text, room, "  %s read",
			tool_format_bytes(
				dwarfs_progress_number(state, DWARFS_PROGRESS_READ_BYTES),
				number));
	else if (share >= 0 && progress->rate > 0)
		append_format(text, room, "  %s/s",
			      tool_format_bytes((uint64_t)progress->rate, number));
	if (out > 0 && done > 0)
		append_format(text, room, "  ratio %.2f", (double)done / (double)out);
	if (saved > 0)
		append_format(text, room, "  %s saved", tool_format_bytes(saved, number));
	if (left != UINT64_MAX)
		append_format(text, room, "  %s left",
			      tool_format_duration(left, number));
}

/* And the amount, if it fits. */
static void describe_amount(const dwarfs_progress *state, char *text, size_t room)
{
	const uint64_t items = dwarfs_progress_number(state, DWARFS_PROGRESS_TOTAL_ITEMS);
	const uint64_t bytes = dwarfs_progress_number(state, DWARFS_PROGRESS_TOTAL_BYTES);
	char a[TOOL_TEXT_ROOM];
	char b[TOOL_TEXT_ROOM];

	*text = '\0';
	if (dwarfs_progress_phase(state) == DWARFS_PHASE_SCAN)
		return;
	if (bytes > 0)
		append_format(
			text, room, "  %s of %s",
			tool_format_bytes(
				dwarfs_progress_number(state, DWARFS_PROGRESS_DONE_BYTES),
				a),
			tool_format_bytes(bytes, b));
	else if (items > 0)
		append_format(text, room, "  %" PRIu64 " of %" PRIu64,
			      dwarfs_progress_number(state, DWARFS_PROGRESS_DONE_ITEMS),
			      items);
}

static void append_bar(char *text, size_t room, double share, size_t width, bool unicode)
{
	static const char *const eighths[] = { "",
					       "\xe2\x96\x8f",
					       "\xe2\x96\x8e",
					       "\xe2\x96\x8d",
					       "\xe2\x96\x8c",
					       "\xe2\x96\x8b",
					       "\xe2\x96\x8a",
					       "\xe2\x96\x89" };
	const size_t steps = unicode ? 8 : 1;
	const size_t filled = (size_t)(share * (double)(width * steps));
	size_t i;

	append_format(text, room, "[");
	for (i = 0; i < width; i++) {
		if (i < filled / steps)
			append_format(text, room, "%s", unicode ? "\xe2\x96\x88" : "#");
		else if (i == filled / steps && filled % steps)
			append_format(text, room, "%s", eighths[filled % steps]);
		else
			append_format(text, room, "%s", unicode ? " " : "-");
	}
	append_format(text, room, "] ");
}

/* A path for a terminal: its end, in at most width columns, without control characters.
 */
static void append_path(char *text, size_t room, const char *path, size_t width)
{
	size_t length = strlen(path);

	if (width < 8)
		return;
	append_format(text, room, "  ");
	width -= 2;
	if (length > width) {
		append_format(text, room, "...");
		path += length - (width - 3);
	}
	for (; *path; path++)
		append_format(text, room, "%c",
			      *path >= ' ' && *path <= '~' ? *path : '?');
}

static size_t terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
		return 80;
	return size.ws_col < 200 ? size.ws_col : 200;
}

/* The bar fills the remaining width; the amount and the path are shown if they fit.
 */
static void compose(const struct progress *progress, const dwarfs_progress *state,
		    char *line, size_t room, size_t width)
{
	const char *path = dwarfs_progress_path(state);
	const double share = fraction_done(state);
	char words[256];
	char amount[128];
	size_t used;
	size_t bar = 0;

	snprintf(line, room, "%-9s ", dwarfs_phase_name(dwarfs_progress_phase(state)));
	describe_progress(progress, state, words, sizeof(words));
	describe_amount(state, amount, sizeof(amount));
	used = strlen(line) + strlen(words);
	if (used > width) {
		words[width > strlen(line) ? width - strlen(line) : 0] = '\0';
		used = width;
	}
	if (share >= 0 && used + MIN_BAR + 3 <= width) {
		bar = width - used - 3;
		bar = bar > MAX_BAR ? MAX_BAR : bar;
		append_bar(line, room, share, bar, progress->mode == PROGRESS_UNICODE);
		used += bar + 3;
	}
	append_format(line, room, "%s", words);
	if (used + strlen(amount) <= width) {
		append_format(line, room, "%s", amount);
		used += strlen(amount);
	}
	if (path)
		append_path(line, room, path, width - used);
}

static void show_live(struct progress *progress, const dwarfs_progress *state)
{
	char line[LINE_ROOM];

	/* A terminal shows ^C at the end of the line, which must not go on to the next. */
	compose(progress, state, line, sizeof(line), terminal_width() - 3);
	tool_lock();
	clear_line(progress);
	memcpy(progress->line, line, sizeof(line));
	draw_line(progress);
	tool_unlock();
}

/* Until the next line: seldom in a run that takes long, but more often near its end. */
static uint64_t pause_ns(const struct progress *progress, const dwarfs_progress *state)
{
	const uint64_t left = time_left(progress, state);
	uint64_t pause = dwarfs_progress_number(state, DWARFS_PROGRESS_ELAPSED_NS) / 12;

	if (left != UINT64_MAX && pause > left / 6)
		pause = left / 6;
	return pause > SECOND ? pause : SECOND;
}

static void show_simple(struct progress *progress, const dwarfs_progress *state)
{
	const uint64_t now = dwarfs_progress_number(state, DWARFS_PROGRESS_ELAPSED_NS);
	char words[256];
	char amount[128];

	if (now < progress->next_line_ns)
		return;
	progress->next_line_ns = now + pause_ns(progress, state);
	describe_progress(progress, state, words, sizeof(words));
	describe_amount(state, amount, sizeof(amount));
	tool_log(DWARFS_LOG_INFO, "%s %s%s",
		 dwarfs_phase_name(dwarfs_progress_phase(state)), words, amount);
}

int progress_show(const dwarfs_progress *state, dwarfs_error **err, void *user)
{
	struct progress *progress = user;

	if (!progress || progress->mode == PROGRESS_NONE ||
	    dwarfs_progress_phase(state) == DWARFS_PHASE_DONE)
		return 0;

	measure_rate(progress, state);
	if (progress->mode == PROGRESS_SIMPLE)
		show_simple(progress, state);
	else
		show_live(progress, state);
	return 0;
}
