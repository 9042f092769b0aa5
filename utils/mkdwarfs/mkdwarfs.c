/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/mkdwarfs: pack a directory or archives into an image.
 *
 * Configures a builder, runs it with a progress display, and prints a summary. Exits with
 * 0, with 1 when no image was made, or with 2 when one was made but some input could not
 * be read.
 */
#include "mkdwarfs/mkdwarfs.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static int explain_run_failure(const struct settings *s, const dwarfs_error *err)
{
	switch (dwarfs_error_code(err)) {
	case DWARFS_ERR_EXISTS:
		if (s->force) /* another process is writing it, or has written it */
			return tool_fail(err, NULL);
		return tool_error(
			"output file already exists: '%s' (--force replaces it)",
			s->output);
	case DWARFS_ERR_CANCELLED:
		return tool_error("interrupted: no image was made");
	case DWARFS_ERR_INVALID:
	case DWARFS_ERR_LIMIT:
		return tool_fail(err, NULL);
	default:
		/* Where it happened, unless the message says so itself. */
		if (!s->output)
			return tool_fail(err, NULL);
		if (strcmp(s->output, "-") == 0)
			return tool_fail(err, "standard output");
		if (strstr(dwarfs_error_message(err), s->output) ||
		    dwarfs_error_path(err))
			return tool_fail(err, NULL);
		return tool_fail(err, "'%s'", s->output);
	}
}

static int open_output(const struct settings *s, dwarfs_sink **sink_out,
		       dwarfs_error **err)
{
	const bool is_stdout = s->output && strcmp(s->output, "-") == 0;

	if (s->dry_run)
		return dwarfs_sink_to_nothing(is_stdout ? NULL : s->output, s->force,
					      sink_out, err);
	return is_stdout ? dwarfs_sink_from_fd(STDOUT_FILENO, sink_out, err)
			 : dwarfs_sink_open(s->output, s->force, sink_out, err);
}

static int run_to(dwarfs_builder *builder, const struct settings *s, struct watch *watch,
		  dwarfs_sink *sink)
{
	auto_handle(dwarfs_error) *err = NULL;
	int ret = 0, code = 0;

	if (is_rewrite(s))
		code = rewrite_image(s, builder, watch, sink);
	else
		ret = dwarfs_builder_write(builder, sink, &err);
	dwarfs_task_set_progress(watch->task, NULL, NULL);
	progress_free(watch->progress);
	watch->progress = NULL;
	return ret < 0 ? explain_run_failure(s, err) : code;
}

/* The output is opened first: an image that replaces one of its inputs must be made of what is
 * there now. */
static int write_image(dwarfs_builder *builder, const struct settings *s,
		       struct watch *watch)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_sink) *sink = NULL;

	if (open_output(s, &sink, &err) < 0)
		return explain_run_failure(s, err);
	dwarfs_sink_set_sync(sink, !s->no_sync);
	if (!is_rewrite(s) && input_apply(s, builder, watch))
		return 1;
	return run_to(builder, s, watch, sink);
}

/* The rest of a run, in which signals are caught. */
static int fill_and_write(dwarfs_builder *builder, const struct settings *s,
			  struct watch *watch)
{
	if (!s->debug_filter)
		return write_image(builder, s, watch);
	return input_apply(s, builder, watch) ? 1 : filter_show(s, builder);
}

static int watched(dwarfs_builder *builder, const struct settings *s, struct watch *watch)
{
	auto_handle(dwarfs_error) *err = NULL;
	int code;

	if (dwarfs_task_new(&watch->task, &err) < 0)
		return tool_fail(err, NULL);
	if (!s->debug_filter && !(watch->progress = progress_new(s->progress_mode))) {
		dwarfs_task_free(watch->task);
		return 1;
	}
	if (watch->progress)
		dwarfs_task_set_progress(watch->task, progress_show, watch->progress);
	dwarfs_builder_set_task(builder, watch->task);
	tool_catch_signals(watch->task);
	code = fill_and_write(builder, s, watch);
	tool_catch_signals(NULL);
	dwarfs_builder_set_task(builder, NULL);
	dwarfs_task_free(watch->task);
	progress_free(watch->progress);
	return code;
}

static int make_image(const struct settings *s, char **argv)
{
	auto_handle(dwarfs_context) *context = tool_context_new(s->workers, TOOL_DEFAULT);
	auto_handle(dwarfs_builder) *builder = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	const uint64_t start = tool_now_ns();
	struct watch watch = { 0 };
	uint64_t errors;
	int code;

	if (!context)
		return 1;
	if (dwarfs_builder_new(context, &builder, &err) < 0)
		return tool_fail(err, NULL);
	if (settings_apply(s, argv, builder))
		return 1;
	code = watched(builder, s, &watch);
	if (code || s->debug_filter)
		return code;

	summarize(builder, s, tool_now_ns() - start);
	if (watch.failures)
		tool_error("%" PRIu64
			   " entr%s of archives could not be stored, and %s left out",
			   watch.failures, watch.failures == 1 ? "y" : "ies",
			   watch.failures == 1 ? "was" : "were");
	errors = dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS) + watch.warnings +
		 watch.failures;
	if (errors) {
		tool_error("filesystem created with %" PRIu64 " error%s", errors,
			   errors == 1 ? "" : "s");
		return 2;
	}
	return 0;
}

static int run_mkdwarfs(const struct settings *s, char **argv)
{
	if (s->output && strcmp(s->output, "-") == 0 && isatty(STDOUT_FILENO) &&
	    !s->force && !s->debug_filter && !s->dry_run)
		return tool_error(
			"standard output is a terminal: use -o FILE, or --force to write "
			"the image to it");
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
		code = run_mkdwarfs(&settings, argv);
	}
	settings_free(&settings);
	return code;
}
