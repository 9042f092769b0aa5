/* SPDX-License-Identifier: MIT */
/*
 * dwarfsextract/archive: write an image as an archive, to a file or to standard output.
 */
#include "dwarfsextract/archive.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TOOL_DEFINE_AUTO(dwarfs_archive_export, dwarfs_archive_export)

static bool is_stdout(const struct archive_settings *settings)
{
	return !settings->output || strcmp(settings->output, "-") == 0;
}

int archive_parse_order(const char *text, bool *tree_order_out)
{
	*tree_order_out = strcmp(text, "tree") == 0;
	if (*tree_order_out || strcmp(text, "data") == 0)
		return 0;
	return tool_error("invalid order '%s' for --archive-order: data or tree", text);
}

/* The output must not be the input. */
static int check_output(const struct archive_settings *settings)
{
	if (tool_is_same_file(settings->output, settings->input))
		return tool_error("'%s' is the image itself", settings->output);
	return 0;
}

int archive_check(const struct archive_settings *settings)
{
	if (!is_stdout(settings))
		return check_output(settings);
	if (settings->percent)
		return tool_error("cannot use --stdout-progress with --output=-");
	if (strcmp(settings->format, "auto") == 0)
		return tool_error("--format=auto needs the name of a file, by --output");
	if (isatty(STDOUT_FILENO))
		return tool_error("refusing to write an archive to a terminal");
	return 0;
}

static int configure_export(const struct archive_settings *settings,
			    dwarfs_archive_export *out, dwarfs_error **err)
{
	size_t i;
	int ret;

	if ((ret = dwarfs_archive_export_set_format(out, settings->format, err)) < 0 ||
	    (ret = dwarfs_archive_export_set_filters(out, settings->filters, err)) < 0 ||
	    (ret = dwarfs_archive_export_set_options(out, settings->options, err)) < 0)
		return ret;
	for (i = 0; i < settings->pattern_count; i++)
		if ((ret = dwarfs_archive_export_add_pattern(out, settings->patterns[i],
							     err)) < 0)
			return ret;
	dwarfs_archive_export_set_skip_devices(out, settings->skip_devices);
	dwarfs_archive_export_set_skip_specials(out, settings->skip_specials);
	dwarfs_archive_export_set_xattrs(out, !settings->no_xattrs);
	dwarfs_archive_export_set_continue_on_error(out, settings->continue_on_error);
	dwarfs_archive_export_set_allow_huge_holes(out, settings->allow_huge_holes);
	if (settings->uid_given)
		dwarfs_archive_export_set_uid(out, settings->uid);
	if (settings->gid_given)
		dwarfs_archive_export_set_gid(out, settings->gid);
	return dwarfs_archive_export_set_order(
		out, settings->tree_order ? DWARFS_WALK_TREE : DWARFS_WALK_DATA, err);
}

/* Report altered entries; missing entries are errors anyway. */
static void report_reduced(enum dwarfs_export_report what, const char *path,
			   const char *why, void *user)
{
	if (what == DWARFS_EXPORT_REDUCED)
		tool_log(DWARFS_LOG_VERBOSE, "%s: %s", path, why);
}

int archive_write(const struct archive_settings *settings, const dwarfs_image *image,
		  const dwarfs_task *task, struct progress **display)
{
	auto_handle(dwarfs_archive_export) *out = NULL;
	auto_handle(dwarfs_sink) *sink = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	uint64_t failures;
	int ret;

	if (dwarfs_archive_export_new(image, &out, &err) < 0 ||
	    configure_export(settings, out, &err) < 0)
		return tool_fail(err, NULL);
	dwarfs_archive_export_set_report(out, report_reduced, NULL);
	dwarfs_archive_export_set_task(out, task);

	ret = is_stdout(settings) ? dwarfs_sink_from_fd(STDOUT_FILENO, &sink, &err)
				  : dwarfs_sink_open(settings->output, true, &sink, &err);
	dwarfs_sink_set_sync(sink, !settings->no_sync);
	if (ret == 0)
		ret = dwarfs_archive_export_write(out, sink, &err);
	progress_free(*display);
	*display = NULL;
	if (ret == 0)
		return 0;
	if (!dwarfs_archive_export_is_complete(out))
		return tool_fail(err, "extraction aborted");
	failures = dwarfs_archive_export_failures(out);
	return tool_error("extraction finished with %llu error%s",
			  (unsigned long long)failures, failures == 1 ? "" : "s");
}
