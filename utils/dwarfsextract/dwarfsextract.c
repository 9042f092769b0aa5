/* SPDX-License-Identifier: MIT */
/*
 * dwarfsextract/dwarfsextract: extract an image to a directory or an archive.
 *
 * Exits with 0 when everything was written, and with 1 otherwise.
 */
#include "common/progress.h"
#include "dwarfsextract/dwarfsextract.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The progress displays of the extraction. */
struct watch {
	struct progress *display; /* may be NULL */
	struct times *times;	  /* may be NULL */
	bool percent;		  /* print the share that is done on stdout */
	int printed;		  /* the share printed last, -1 for none */
};

static int percent_done(const dwarfs_progress *state)
{
	uint64_t done = dwarfs_progress_number(state, DWARFS_PROGRESS_DONE_BYTES);
	uint64_t total = dwarfs_progress_number(state, DWARFS_PROGRESS_TOTAL_BYTES);

	if (dwarfs_progress_phase(state) == DWARFS_PHASE_DONE)
		return 100;
	if (total == 0 || done >= total)
		return total == 0 ? 0 : 99;
	return (int)((double)done / (double)total * 100.0);
}

static int show(const dwarfs_progress *state, dwarfs_error **err, void *user)
{
	struct watch *watch = user;
	int share = percent_done(state);

	times_see(watch->times, dwarfs_progress_phase(state));
	if (watch->percent && share != watch->printed) {
		printf("\r%3d%%%s", share, share == 100 ? "\n" : "");
		fflush(stdout);
		watch->printed = share;
	}
	return watch->display ? progress_show(state, err, watch->display) : 0;
}

static dwarfs_image *open_image_to_extract(const struct settings *settings,
					   struct times *times)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_context) *context = NULL;
	auto_handle(dwarfs_image_options) *how = NULL;
	dwarfs_image *image;

	context = tool_context_new(settings->workers, settings->cache_bytes);
	if (!context)
		return NULL;
	if (dwarfs_image_options_new(&how, &err) < 0 ||
	    times_watch(times, context, &err) < 0) {
		tool_fail(err, NULL);
		return NULL;
	}
	dwarfs_image_options_set_offset(how, settings->offset);
	if (settings->no_check)
		dwarfs_image_options_set_verify(how, DWARFS_VERIFY_NO_BLOCKS);
	if (dwarfs_image_open(context, settings->input, how, &image, &err) < 0) {
		tool_fail(err, NULL);
		return NULL;
	}
	return image;
}

static int configure_extraction(const struct settings *settings, dwarfs_extract *extract,
				dwarfs_error **err)
{
	size_t i;
	int ret;

	for (i = 0; i < settings->patterns.count; i++)
		if ((ret = dwarfs_extract_add_pattern(
			     extract, settings->patterns.items[i], err)) < 0)
			return ret;
	dwarfs_extract_set_skip_devices(extract, settings->skip_devices);
	dwarfs_extract_set_skip_specials(extract, settings->skip_specials);
	dwarfs_extract_set_continue_on_error(extract, settings->continue_on_error);
	dwarfs_extract_set_xattrs(extract, !settings->no_xattrs);
	if (settings->owners_given)
		dwarfs_extract_set_owners(extract, settings->owners);
	if (settings->uid_given)
		dwarfs_extract_set_uid(extract, settings->uid);
	if (settings->gid_given)
		dwarfs_extract_set_gid(extract, settings->gid);
	return dwarfs_extract_set_writers(extract, (uint32_t)settings->writers, err);
}

static int extract_image(const struct settings *settings, const dwarfs_image *image,
			 const dwarfs_task *task, struct watch *watch)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_extract) *extract = NULL;
	uint64_t failures, damaged;
	int ret;

	if (dwarfs_extract_new(image, &extract, &err) < 0 ||
	    configure_extraction(settings, extract, &err) < 0)
		return tool_fail(err, NULL);
	dwarfs_extract_set_task(extract, task);

	ret = dwarfs_extract_to_directory(
		extract, settings->output ? settings->output : ".", &err);
	progress_free(watch->display);
	watch->display = NULL;
	if (ret == 0)
		return 0;
	failures = dwarfs_extract_failures(extract);
	damaged = dwarfs_extract_damaged(extract);
	if (failures == 0 && damaged > 0 && ret != DWARFS_ERR_CANCELLED)
		return tool_error(
			"%s: everything was extracted, but damaged attributes have "
			"defaults, and damaged devices are left out (see the warnings)",
			settings->input);
	if (ret == DWARFS_ERR_CANCELLED || !settings->continue_on_error || failures == 0)
		return tool_fail(err, "extraction aborted");
	return tool_error("extraction finished with %llu error%s",
			  (unsigned long long)failures, failures == 1 ? "" : "s");
}

static struct archive_settings archive_of(const struct settings *settings)
{
	return (struct archive_settings){
		.input = settings->input,
		.format = settings->format,
		.filters = settings->filters,
		.options = settings->format_options,
		.output = settings->output,
		.patterns = settings->patterns.items,
		.pattern_count = settings->patterns.count,
		.tree_order = settings->tree_order,
		.skip_devices = settings->skip_devices,
		.skip_specials = settings->skip_specials,
		.no_xattrs = settings->no_xattrs,
		.continue_on_error = settings->continue_on_error,
		.no_sync = settings->no_sync,
		.allow_huge_holes = settings->allow_huge_holes,
		.uid_given = settings->uid_given,
		.gid_given = settings->gid_given,
		.uid = settings->uid,
		.gid = settings->gid,
		.percent = settings->stdout_progress,
	};
}

/* With the image open. */
static int write_it(const struct settings *settings, const dwarfs_image *image,
		    struct watch *watch)
{
	struct archive_settings archive = archive_of(settings);
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_task) *task = NULL;
	int code;

	if (dwarfs_task_new(&task, &err) < 0)
		return tool_fail(err, NULL);
	tool_catch_signals(task);
	watch->percent = settings->stdout_progress;
	if (isatty(STDERR_FILENO) && !watch->percent)
		watch->display = progress_new(PROGRESS_AUTO);
	if (watch->display || watch->percent || watch->times)
		dwarfs_task_set_progress(task, show, watch);
	code = settings->format ? archive_write(&archive, image, task, &watch->display)
				: extract_image(settings, image, task, watch);
	tool_catch_signals(NULL);
	return code;
}

static int run_extraction(const struct settings *settings)
{
	struct archive_settings archive = archive_of(settings);
	auto_handle(dwarfs_image) *image = NULL;
	struct watch watch = { .printed = -1 };
	int code;

	if ((settings->format && archive_check(&archive)) ||
	    times_new(settings, &watch.times))
		return 1;
	image = open_image_to_extract(settings, watch.times);
	code = image ? write_it(settings, image, &watch) : 1;
	if (image && times_tell(watch.times, dwarfs_image_context(image)))
		code = 1;
	times_free(watch.times);
	return code;
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.offset = DWARFS_OFFSET_AUTO,
		.cache_bytes = TOOL_DEFAULT,
		.workers = TOOL_DEFAULT,
	};
	int code = 1;

	tool_start("dwarfsextract");
	if (argc <= 1) {
		settings_print_usage();
		return tool_finish(0);
	}
	if (settings_parse(argc, argv, &settings) == 0)
		code = settings.done ? 0 : run_extraction(&settings);
	tool_list_free(&settings.patterns);
	return settings.done || code == 0 ? tool_finish(code) : code;
}
