/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs: pack a directory into an image.
 *
 * Gives the settings to a builder, shows its progress, and says what came out. Exits with
 * 0, with 1 when no image was made, or with 2 when one was made but something was not
 * readable.
 */
#include "mkdwarfs.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int explain_failure(const struct settings *s, const dwarfs_error *err)
{
	switch (dwarfs_error_code(err)) {
	case DWARFS_ERR_EXISTS:
		return tool_error(
			"output file already exists: '%s' (--force replaces it)",
			s->output);
	case DWARFS_ERR_CANCELLED:
		return tool_error("interrupted, no image was made");
	case DWARFS_ERR_INVALID:
	case DWARFS_ERR_LIMIT:
		return tool_fail(err, NULL);
	default:
		/* Where it happened, unless the message says so itself. */
		if (strcmp(s->output, "-") == 0)
			return tool_fail(err, "standard output");
		if (strstr(dwarfs_error_message(err), s->output) ||
		    dwarfs_error_path(err))
			return tool_fail(err, NULL);
		return tool_fail(err, "'%s'", s->output);
	}
}

static int write_image(dwarfs_builder *builder, const struct settings *s)
{
	auto_handle(dwarfs_cancel) *cancel = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	auto_progress struct progress *progress = NULL;
	int ret;

	if (dwarfs_cancel_new(&cancel, &err) < 0)
		return tool_fail(err, NULL);
	if (!(progress = progress_new(s->progress_mode)))
		return 1;
	dwarfs_builder_set_progress(builder, progress_show, progress);
	dwarfs_builder_set_cancel(builder, cancel);

	tool_catch_signals(cancel);
	if (strcmp(s->output, "-") == 0)
		ret = dwarfs_builder_write_fd(builder, STDOUT_FILENO, &err);
	else
		ret = dwarfs_builder_write_path(builder, s->output, s->force, &err);
	tool_catch_signals(NULL);

	dwarfs_builder_set_cancel(builder, NULL);
	dwarfs_builder_set_progress(builder, NULL, NULL);
	if (ret < 0) {
		progress_free(progress);
		progress = NULL;
		return explain_failure(s, err);
	}
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int make_image(const struct settings *s, char **argv)
{
	auto_handle(dwarfs_context) *context = tool_context_new(s->workers, TOOL_DEFAULT);
	auto_handle(dwarfs_builder) *builder = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	const uint64_t start = now_ns();
	uint64_t errors;

	if (!context)
		return 1;
	if (dwarfs_builder_new(context, &builder, &err) < 0)
		return tool_fail(err, NULL);
	if (settings_apply(s, argv, builder) || input_apply(s, builder))
		return 1;
	if (s->debug_filter)
		return filter_show(s, builder);
	if (write_image(builder, s))
		return 1;

	summarize(builder, now_ns() - start);
	errors = dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS);
	if (errors) {
		tool_error("filesystem created with %" PRIu64 " error%s", errors,
			   errors == 1 ? "" : "s");
		return 2;
	}
	return 0;
}

static int run(const struct settings *s, char **argv)
{
	if (s->output && strcmp(s->output, "-") == 0 && isatty(STDOUT_FILENO) &&
	    !s->force && !s->debug_filter)
		return tool_error(
			"an image is not for a terminal (--force writes it there)");
	return make_image(s, argv);
}

int main(int argc, char **argv)
{
	struct settings settings;
	int code;

	tool_start("mkdwarfs");
	switch (settings_parse(&settings, argc, argv)) {
	case SETTINGS_DONE:
		code = tool_finish(0);
		break;
	case SETTINGS_BAD:
		code = 1;
		break;
	default:
		code = run(&settings, argv);
	}
	settings_free(&settings);
	return code;
}
