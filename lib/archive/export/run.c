/* SPDX-License-Identifier: MIT */
/*
 * archive/export/run: write an image as an archive.
 *
 * Selects the entries (select.c), visits them in windows (read_window.c), and for each
 * entry opens its contents, converts its attributes, writes the header, then the
 * contents. The output of libarchive is written to the file or descriptor.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/export/export.h"
#include "archive/reserve.h"
#include "base/context.h"

/* The last minor version of the format in which attributes belong to entries. */
#define LAST_WITH_ENTRY_ATTRIBUTES 2

#define LEAST_WINDOW (UINT64_C(1) << 20)
#define MOST_WINDOW  (UINT64_C(64) << 20)

/* -- failures ------------------------------------------------------------------------ */

int dw_export_fail(struct export_run *run, dwarfs_error **err)
{
	run->is_broken = true;
	if (run->failed)
		return dw_error_copy(err, dwarfs_error_code(run->failed), run->failed);
	return dw_export_fail_text(run->la, run->archive, err);
}

static void report_entry(const struct export_run *run, int what, const char *path,
			 const char *why)
{
	if (run->export->report)
		run->export->report(what, path, why, run->export->report_user);
}

/* libarchive does in some of its messages. */
static bool names(const char *message, const char *path)
{
	const size_t length = strlen(path);

	return strncmp(message, path, length) == 0 && message[length] == ':';
}

int dw_export_lose(struct export_run *run, int what, const char *path, int code,
		   dwarfs_error *why, dwarfs_error **err)
{
	if (dw_is_fatal(code)) {
		dw_error_copy(err, code, why);
		dwarfs_error_free(why);
		return code;
	}
	report_entry(run, what, path, dwarfs_error_message(why));
	if (!names(dwarfs_error_message(why), path))
		dw_explain(&why, code, "%s", path);
	dw_error_at_path(&why, code, path);
	run->export->failures++;
	if (run->export->continue_on_error)
		dw_log(dwarfs_image_context(run->image), DWARFS_LOG_ERROR, "%s",
		       dwarfs_error_message(why));
	else
		run->is_left = true;
	if (run->first_code != 0) {
		dwarfs_error_free(why);
		return 0;
	}
	run->first_code = code;
	run->first = why;
	return 0;
}

/* -- one entry ----------------------------------------------------------------------- */

/* Returns 0, with *why if libarchive warns; an error that ends the run; or a positive
 * number if the entry was not written. */
static int write_header(struct export_run *run, dwarfs_error **why, dwarfs_error **err)
{
	int ret, code;

	dw_locale_resume(&run->locale);
	ret = run->la->write_header(run->archive, run->entry);
	dw_locale_pause(&run->locale);
	if (ret == ARCHIVE_OK)
		return 0;
	if (run->failed || ret == ARCHIVE_FATAL)
		return dw_export_fail(run, err);
	if (ret == ARCHIVE_WARN && !run->format->warns_only &&
	    dw_export_is_about_name(run))
		return 0;
	code = dw_export_explain(run, why);
	if (code == 0)
		code = dw_export_fail_text(run->la, run->archive, why);
	if (dw_is_fatal(code))
		return dw_fail_nomem(err);
	return ret == ARCHIVE_WARN && !run->format->warns_only ? 0 : -code;
}

static int finish_entry(struct export_run *run, dwarfs_error **err)
{
	int ret;

	dw_locale_resume(&run->locale);
	ret = run->la->write_finish_entry(run->archive);
	dw_locale_pause(&run->locale);
	return ret < ARCHIVE_WARN ? dw_export_fail(run, err) : 0;
}

/* The format lacks a property of the entry, which was left out. */
static void note(struct export_run *run, const char *path, const char *reduced)
{
	if (reduced)
		report_entry(run, DWARFS_EXPORT_REDUCED, path, reduced);
}

/* Remember the first name of a file that has more. */
static int store_first_path(struct export_run *run, const char *path, dwarfs_error **err)
{
	const uint32_t inode = dwarfs_stat_inode(run->stat).number;

	if (!run->first_paths || run->selection.names[inode] < 2 ||
	    run->first_paths[inode])
		return 0;
	run->first_paths[inode] = dw_strdup(path);
	return run->first_paths[inode] ? 0 : dw_fail_nomem(err);
}

/* Write the contents after the header. */
static int write_contents(struct export_run *run, const char *path,
			  struct export_contents *contents, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	bool is_cut;
	int ret, finished;

	run->is_in_file = true;
	ret = dw_export_contents_write(run, contents, &is_cut, &why);
	if (ret < 0 && !is_cut)
		return dw_error_copy(err, ret, why);
	if (ret < 0 && !run->export->continue_on_error)
		return dw_export_lose(run, DWARFS_EXPORT_CUT, path, ret, dw_steal(why),
				      err);
	/* Missing contents become zeros. */
	if ((finished = finish_entry(run, err)) < 0)
		return finished;
	run->is_in_file = false;
	if (ret < 0)
		return dw_export_lose(run, DWARFS_EXPORT_CUT, path, ret, dw_steal(why),
				      err);
	return store_first_path(run, path, err);
}

/* The header, then the contents. */
static int write_opened(struct export_run *run, const char *path, const char *first,
			struct export_contents *contents, dwarfs_error **err)
{
	const char *reduced = NULL, *stripped = NULL;
	auto_error dwarfs_error *lost = NULL;
	dwarfs_error *why = NULL;
	int ret;

	ret = dw_export_describe(run, path, first, &reduced, &why);
	if (ret == 0) {
		ret = dw_export_attributes(run, &stripped, &lost);
		if (ret == DWARFS_ERR_CORRUPT || ret == DWARFS_ERR_CHECKSUM)
			ret = 0; /* the contents are not affected */
		else
			why = dw_steal(lost);
	}
	if (ret < 0)
		return dw_export_lose(run, DWARFS_EXPORT_LEFT_OUT, path, ret, why, err);
	if ((ret = write_header(run, &why, err)) > 0)
		return dw_export_lose(run, DWARFS_EXPORT_LEFT_OUT, path, -ret, why, err);
	if (ret == 0 && why)
		ret = dw_export_lose(run, DWARFS_EXPORT_ALTERED, path,
				     dwarfs_error_code(why), why, err);
	if (ret < 0 || run->is_left)
		return ret;
	dw_export_tell_altered(run, path, lost);
	note(run, path, reduced);
	note(run, path, stripped);
	run->lost_xattrs += stripped != NULL;
	return write_contents(run, path, contents, err);
}

static int write_file_entry(struct export_run *run, const char *path, dwarfs_error **err)
{
	const uint32_t inode = dwarfs_stat_inode(run->stat).number;
	const char *first = run->first_paths ? run->first_paths[inode] : NULL;
	struct export_contents contents = { 0 };
	dwarfs_error *why = NULL;
	int ret = 0;

	if (!first && !run->is_list)
		ret = dw_export_contents_open(run, &contents, &why);
	if (ret < 0)
		ret = dw_export_lose(run, DWARFS_EXPORT_LEFT_OUT, path, ret, why, err);
	else
		ret = write_opened(run, path, first, &contents, err);
	dw_export_contents_release(&contents);
	return ret;
}

static int write_item(struct export_run *run, const struct export_item *item,
		      const char *path, dwarfs_error **err)
{
	struct export_contents none = { 0 };
	int ret;

	if (run->is_left || (item->entry.number == 0 && !run->format->root))
		return 0;
	if ((ret = dwarfs_entry_stat(run->image, item->entry, run->stat, err)) < 0)
		return ret;
	run->progress.path = path;
	ret = item->is_file ? write_file_entry(run, path, err)
			    : write_opened(run, path, NULL, &none, err);
	run->progress.path = NULL;
	run->progress.items_done++;
	return ret;
}

/* -- the archive --------------------------------------------------------------------- */

/* Receives the output of libarchive. */
ssize_t dw_export_take(struct archive *archive, void *user, const void *data,
		       size_t bytes)
{
	struct export_run *run = user;
	int ret;

	if (run->failed)
		return -1;
	dw_locale_pause(&run->locale);
	ret = dw_sink_write(run->output, data, bytes, &run->progress, &run->failed);
	dw_locale_resume(&run->locale);
	if (ret == 0)
		return (ssize_t)bytes;
	run->la->set_error(archive, EIO, "the output takes no more");
	return -1;
}

static int open_archive(struct export_run *run, const char *filters, dwarfs_error **err)
{
	int ret;

	if ((ret = dw_archive_reserve(err)) < 0)
		return ret;
	if (run->format->holes && run->selection.holes > EXPORT_MOST_HOLES)
		return dw_export_relay_open(run, filters, err);
	run->archive = run->la->write_new();
	run->entry = run->archive ? run->la->entry_new2(run->archive) : NULL;
	if (!run->entry)
		return dw_fail_nomem(err);
	if ((ret = dw_export_format_apply(run->la, run->archive, run->format, filters,
					  run->export->options,
					  run->selection.has_odd_xattrs, err)) < 0)
		return ret;
	/* Of one that is put together at the end, this is not freed in every case. */
	run->la->write_set_bytes_per_block(run->archive,
					   run->format->late ? 0 : EXPORT_OUTPUT_BYTES);
	run->la->write_set_bytes_in_last_block(run->archive, 1);
	if (run->la->write_open2(run->archive, run, NULL, dw_export_take, NULL, NULL) <
	    ARCHIVE_WARN)
		return dw_export_fail(run, err);
	return 0;
}

static int close_archive(struct export_run *run, dwarfs_error **err)
{
	int ret;

	dw_locale_resume(&run->locale);
	ret = run->la->write_close(run->archive);
	dw_locale_pause(&run->locale);
	if (ret < ARCHIVE_WARN || run->failed)
		return dw_export_fail(run, err);
	return run->relay ? dw_export_relay_close(run, err) : 0;
}

/* -- the run ------------------------------------------------------------------------- */

static bool keeps_links(const struct export_run *run)
{
	return (run->format->links == LINKS_BY_PATH ||
		run->format->links == LINKS_ONCE) &&
	       dwarfs_image_format_minor(run->image) > LAST_WITH_ENTRY_ATTRIBUTES;
}

static int open_run(struct export_run *run, dwarfs_error **err)
{
	size_t inodes = dwarfs_image_inode_count(run->image);
	uint64_t window = dw_context_cache_bytes(dwarfs_image_context(run->image)) / 8;
	int ret;

	run->window_bytes = window < LEAST_WINDOW  ? LEAST_WINDOW
			    : window > MOST_WINDOW ? MOST_WINDOW
						   : window;
	if (run->format->joliet)
		run->joliet_units = dw_export_joliet_units(run->export->options);
	run->buffer = dw_malloc(EXPORT_BUFFER_BYTES);
	run->zeros = dw_calloc(EXPORT_BUFFER_BYTES, 1);
	if (!run->buffer || !run->zeros)
		return dw_fail_nomem(err);
	run->keeps_links = keeps_links(run);
	run->is_list = run->format->list && !run->export->options;
	if (run->keeps_links &&
	    !(run->first_paths = dw_calloc(inodes, sizeof(*run->first_paths))))
		return dw_fail_nomem(err);
	if ((ret = dwarfs_stat_new(&run->stat, err)) < 0)
		return ret;
	return dw_progress_enter(&run->progress, DWARFS_PHASE_SCAN, err);
}

/* Free an archive that is abandoned. Its remaining output is discarded; libarchive
 * releases its buffer only when it is closed. But closing also pads the current file,
 * which takes long if the format uses a temporary file. */
static void discard_archive(struct export_run *run)
{
	if (!run->failed)
		dw_fail(&run->failed, DWARFS_ERR_CANCELLED, "the archive is abandoned");
	if ((run->is_broken || run->is_in_file) && run->format->late)
		run->la->write_fail(run->archive);
	else
		run->la->write_close(run->archive);
}

static void close_run(struct export_run *run, bool is_complete)
{
	size_t inodes = dwarfs_image_inode_count(run->image);

	if (run->archive && !is_complete)
		discard_archive(run);
	run->la->entry_free(run->entry);
	run->la->write_free(run->archive);
	dw_export_relay_free(run, is_complete);
	dw_locale_leave(&run->locale);
	for (size_t i = 0; run->first_paths && i < inodes; i++)
		dw_free(run->first_paths[i]);
	dw_free(run->first_paths);
	dw_export_select_release(&run->selection);
	dwarfs_stat_free(run->stat);
	dw_free(run->buffer);
	dw_free(run->zeros);
	dwarfs_error_free(run->failed);
	dwarfs_error_free(run->first);
}

static void warn_about_losses(const struct export_run *run)
{
	dwarfs_context *context = dwarfs_image_context(run->image);

	if (run->lost_xattrs > 0)
		dw_log(context, DWARFS_LOG_WARN,
		       "extended attributes of %" PRIu64
		       " entries are not in the archive: its format has none",
		       run->lost_xattrs);
}

static int write_archive(struct export_run *run, const char *filters, bool *is_complete,
			 dwarfs_error **err)
{
	int ret;

	if ((ret = open_run(run, err)) < 0 || (ret = dw_export_select(run, err)) < 0)
		return ret;
	if (run->is_left)
		return dw_error_copy(err, run->first_code, run->first);
	if ((ret = dw_locale_enter(&run->locale, err)) < 0)
		return ret;
	ret = open_archive(run, filters, err);
	dw_locale_pause(&run->locale);
	if (ret < 0 ||
	    (ret = dw_progress_enter(&run->progress, DWARFS_PHASE_EXTRACT, err)) < 0 ||
	    (ret = dw_export_windows(run, write_item, err)) < 0)
		return ret;
	if (!run->is_left) {
		if ((ret = close_archive(run, err)) < 0)
			return ret;
		*is_complete = true;
		warn_about_losses(run);
	}
	if (run->first_code < 0) {
		dw_error_copy(err, run->first_code, run->first);
		return run->first_code;
	}
	dw_progress_done(&run->progress);
	return 0;
}

int dw_export_run(struct dwarfs_archive_export *export, dwarfs_sink *output,
		  const struct export_format *format, const char *filters,
		  bool *is_complete_out, dwarfs_error **err)
{
	struct export_run run = {
		.export = export,
		.la = export->la,
		.image = export->image,
		.format = format,
		.output = output,
	};
	int ret;

	dw_progress_start(&run.progress, export->task);
	ret = write_archive(&run, filters, is_complete_out, err);
	close_run(&run, *is_complete_out);
	return ret;
}
