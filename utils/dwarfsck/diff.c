/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/diff: compare two images, directories or archives.
 *
 * Prints a line for each difference: "- path" and "+ path" for entries that only one side
 * has, "! path: word: A -> B" for others. Exit status as of cmp(1).
 */
#include "dwarfsck/dwarfsck.h"

#include <string.h>
#include <unistd.h>

#include "common/progress.h"

#define TROUBLE 2

/* Maximum bytes shown of attribute values that are not text. */
#define MOST_BYTES_SHOWN ((size_t)64)

static bool is_text(const char *value, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		if (value[i] < ' ' || value[i] > '~')
			return false;
	return true;
}

static void print_xattr(const char *value, size_t bytes)
{
	size_t i;

	if (is_text(value, bytes)) {
		printf("\"%s\"", value);
		return;
	}
	fputs("0x", stdout);
	for (i = 0; i < bytes && i < MOST_BYTES_SHOWN; i++)
		printf("%02x", (unsigned char)value[i]);
	if (i < bytes)
		printf("... (%zu bytes)", bytes);
}

static void print_side_value(const dwarfs_difference *difference,
			     enum dwarfs_compare_side side)
{
	size_t bytes;
	const char *value = dwarfs_difference_value(difference, side, &bytes);

	if (!value)
		fputs("none", stdout);
	else if (dwarfs_difference_kind(difference) == DWARFS_DIFFERENCE_XATTR)
		print_xattr(value, bytes);
	else
		print_name(value);
}

static void print_path(const dwarfs_difference *difference)
{
	const char *path = dwarfs_difference_path(difference);

	print_name(*path ? path : ".");
}

static void print_change(const dwarfs_difference *difference)
{
	const enum dwarfs_compare_kind kind = dwarfs_difference_kind(difference);

	fputs("! ", stdout);
	print_path(difference);
	printf(": %s", dwarfs_difference_word(kind));
	if (kind == DWARFS_DIFFERENCE_XATTR) {
		putchar(' ');
		print_name(dwarfs_difference_name(difference));
	}
	if (kind != DWARFS_DIFFERENCE_CONTENTS) {
		fputs(": ", stdout);
		print_side_value(difference, DWARFS_COMPARE_A);
		fputs(" -> ", stdout);
		print_side_value(difference, DWARFS_COMPARE_B);
	}
	end_line();
}

static void print_trouble(const struct settings *s, const dwarfs_difference *difference)
{
	const char *const names[2] = { s->input, s->input_b };
	int side;

	for (side = DWARFS_COMPARE_A; side <= DWARFS_COMPARE_B; side++) {
		const char *why = dwarfs_difference_value(difference, side, NULL);

		if (why)
			tool_error("%s: '%s': %s", names[side],
				   dwarfs_difference_path(difference), why);
	}
}

/* A dwarfs_difference_fn. */
static int print_difference(const dwarfs_difference *difference, dwarfs_error **err,
			    void *user)
{
	const struct settings *s = user;

	switch (dwarfs_difference_kind(difference)) {
	case DWARFS_DIFFERENCE_TROUBLE:
		print_trouble(s, difference);
		return 0;
	case DWARFS_DIFFERENCE_ONLY_A:
	case DWARFS_DIFFERENCE_ONLY_B:
		if (s->quiet)
			return 0;
		fputs(dwarfs_difference_value(difference, DWARFS_COMPARE_A, NULL) ? "- "
										  : "+ ",
		      stdout);
		print_path(difference);
		end_line();
		return 0;
	default:
		if (!s->quiet)
			print_change(difference);
		return 0;
	}
}

static int set_side(dwarfs_compare *compare, enum dwarfs_compare_side side,
		    const char *path, const dwarfs_image_options *options)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_io) *io = NULL;
	int ret;

	if (strcmp(path, "-") != 0)
		ret = dwarfs_compare_set_path(compare, side, path, options, &err);
	else if ((ret = dwarfs_io_from_stream(STDIN_FILENO, &io, &err)) == 0 &&
		 (ret = dwarfs_io_set_name(io, "standard input", &err)) == 0)
		ret = dwarfs_compare_set_archive(compare, side, io, &err);
	if (ret == 0)
		return 0;
	tool_fail(err, NULL);
	return TROUBLE;
}

static int set_up_compare(dwarfs_compare *compare, const struct settings *s)
{
	auto_handle(dwarfs_image_options) *options = image_options_new(s);
	int kind;

	if (!options)
		return TROUBLE;
	for (kind = 0; kind < DWARFS_DIFFERENCE_TROUBLE; kind++)
		if (s->ignored & 1u << kind)
			dwarfs_compare_ignore(compare, kind, NULL);
	if (s->resolution_ns)
		dwarfs_compare_set_time_resolution(compare, s->resolution_ns, NULL);
	if (set_side(compare, DWARFS_COMPARE_A, s->input, options) ||
	    set_side(compare, DWARFS_COMPARE_B, s->input_b, options))
		return TROUBLE;
	return 0;
}

static int compare_them(dwarfs_compare *compare, const struct settings *s)
{
	const bool show = !s->quiet && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	auto_progress struct progress *progress =
		progress_new(show ? PROGRESS_AUTO : PROGRESS_NONE);
	auto_handle(dwarfs_task) *task = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	uint64_t count;

	if (!progress)
		return TROUBLE;
	if (dwarfs_task_new(&task, &err) < 0) {
		tool_fail(err, NULL);
		return TROUBLE;
	}
	dwarfs_task_set_progress(task, progress_show, progress);
	dwarfs_compare_set_task(compare, task);
	if (dwarfs_compare_run(compare, print_difference, (void *)s, &count, &err) < 0) {
		tool_fail(err, NULL);
		return TROUBLE;
	}
	if (s->verbose)
		tool_log(DWARFS_LOG_INFO, "entries: %llu and %llu; differences: %llu",
			 (unsigned long long)dwarfs_compare_entries(compare, 0),
			 (unsigned long long)dwarfs_compare_entries(compare, 1),
			 (unsigned long long)count);
	if (dwarfs_compare_count(compare, DWARFS_DIFFERENCE_TROUBLE) > 0)
		return TROUBLE;
	return count > 0;
}

int print_differences(const struct settings *s)
{
	auto_handle(dwarfs_context) *context =
		tool_context_new(s->workers, s->cache_bytes);
	auto_handle(dwarfs_compare) *compare = NULL;
	auto_handle(dwarfs_error) *err = NULL;

	if (!context)
		return TROUBLE;
	if (dwarfs_compare_new(context, &compare, &err) < 0) {
		tool_fail(err, NULL);
		return TROUBLE;
	}
	if (set_up_compare(compare, s))
		return TROUBLE;
	return compare_them(compare, s);
}
