/* SPDX-License-Identifier: MIT */
/*
 * archive/import/import: add archives to a builder. See <dwarfs/archive.h>.
 *
 * A feed supplies the bytes of an archive, libarchive parses the entries, and each is
 * added to the builder as an item. At the end, the end marker of the archive and the
 * targets of its hard links must exist.
 */
#include <string.h>

#include "archive/import/import.h"
#include "archive/reserve.h"
#include "os/file_io.h"

#define DEFAULT_SPOOL "/tmp"

/* -- the handle ------------------------------------------------------------------ */

int dwarfs_archive_import_new(dwarfs_builder *builder, dwarfs_archive_import **import_out,
			      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !import_out)
		return dw_fail_null(err, "builder and import_out");

	auto_free dwarfs_archive_import *import = dw_calloc(1, sizeof(*import));
	int ret;

	if (!import)
		return dw_fail_nomem(err);
	if ((ret = dw_libarchive_new(&import->la, err)) < 0)
		return ret;
	import->builder = builder;
	*import_out = dw_steal(import);
	return 0;
}

void dwarfs_archive_import_free(dwarfs_archive_import *import)
{
	if (!import)
		return;
	dw_buffer_free(&import->prefix);
	dw_free(import->spool);
	dw_libarchive_free(import->la);
	dw_free(import);
}

int dwarfs_archive_import_set_format(dwarfs_archive_import *import, const char *format,
				     dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(import);

	if (!import || !format)
		return dw_fail_null(err, "import and format");
	return dw_archive_format_find(import->la, format, &import->format, err);
}

void dwarfs_archive_import_set_strip_components(dwarfs_archive_import *import,
						uint32_t count)
{
	if (!import)
		return;
	import->strip = count;
}

int dwarfs_archive_import_set_prefix(dwarfs_archive_import *import, const char *prefix,
				     dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(import);

	if (!import || !prefix)
		return dw_fail_null(err, "import and prefix");

	auto_buffer struct buffer names = { 0 };
	const int64_t count = dw_import_append_names(prefix, 0, &names, err);

	if (count < 0)
		return dw_explain(err, (int)count, "prefix '%s'", prefix);
	dw_buffer_free(&import->prefix);
	import->prefix = names;
	names = (struct buffer){ 0 };
	return 0;
}

void dwarfs_archive_import_set_whiteouts(dwarfs_archive_import *import, bool obey)
{
	if (!import)
		return;
	import->whiteouts = obey;
}

int dwarfs_archive_import_set_spool(dwarfs_archive_import *import, const char *directory,
				    dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(import);

	if (!import)
		return dw_fail_null(err, "import");

	char *copy = directory ? dw_strdup(directory) : NULL;

	if (directory && !copy)
		return dw_fail_nomem(err);
	dw_free(import->spool);
	import->spool = copy;
	return 0;
}

void dwarfs_archive_import_set_task(dwarfs_archive_import *import,
				    const dwarfs_task *task)
{
	if (!import)
		return;
	import->task = task;
}

void dwarfs_archive_import_set_continue_on_error(dwarfs_archive_import *import,
						 bool go_on)
{
	if (!import)
		return;
	import->continue_on_error = go_on;
}

void dwarfs_archive_import_set_report(dwarfs_archive_import *import,
				      dwarfs_import_report_fn report, void *user)
{
	if (!import)
		return;
	import->report = report;
	import->report_user = user;
}

bool dwarfs_archive_import_is_complete(const dwarfs_archive_import *import)
{
	if (!import)
		return false;
	return import->is_complete;
}

uint64_t dwarfs_archive_import_failures(const dwarfs_archive_import *import)
{
	if (!import)
		return 0;
	return import->failures;
}

uint64_t dwarfs_archive_import_warnings(const dwarfs_archive_import *import)
{
	if (!import)
		return 0;
	return import->warnings;
}

/* -- interface to the other files ------------------------------------------------ */

int dw_import_add(struct import_job *job, const struct buffer *path,
		  const dwarfs_item *item, dwarfs_error **err)
{
	dwarfs_builder *builder = job->import->builder;
	const char *text = (const char *)path->data;
	/* Entries of an earlier layer may be replaced. */
	const bool of_layer = job->import->whiteouts;
	const size_t bytes = path->size;
	const uint64_t count = dwarfs_builder_count_below(builder, text, bytes, of_layer);
	auto_free char *copy = NULL;
	int ret;

	if (count > 0 && !(copy = dw_strndup(text, bytes)))
		return dw_fail_nomem(err);
	ret = dwarfs_builder_add_item(builder, text, bytes, item, err);
	/* They are still there if the entry was left out or renamed. */
	if (ret == 0 && count > 0 &&
	    dwarfs_builder_count_below(builder, copy, bytes, of_layer) == 0)
		dw_import_tell_replaced(job, copy, count);
	return ret < 0 ? ret : dw_import_note_lost(job, path, false, err);
}

/* -- one archive ----------------------------------------------------------------- */

static int fail_header(struct import_job *job, dwarfs_error **err)
{
	int ret = dw_feed_failure(&job->feed, err);

	return ret < 0 ? ret : dw_archive_fail(job->la, job->archive, err);
}

static bool is_of(const struct import_job *job, int format)
{
	return (job->la->format(job->archive) & ARCHIVE_FORMAT_BASE_MASK) == format;
}

/* Warnings about names mean that they are not UTF-8; they are still complete. */
static void pass_on_warning(struct import_job *job)
{
	const char *said = job->la->error_string(job->archive);

	job->shown = job->la->entry_pathname(job->entry);
	if (said && !strstr(said, "can't be converted") &&
	    !strstr(said, "cannot be converted"))
		dw_import_warn(job, "%s", said);
}

/* The directory at the end of a zip cannot be read through compression. */
static void warn_of_lost_directory(struct import_job *job)
{
	if (!is_of(job, ARCHIVE_FORMAT_ZIP) || job->la->filter_count(job->archive) <= 1)
		return;
	job->shown = job->la->entry_pathname(job->entry);
	dw_import_warn(job, "the first of a compressed zip, of which modes and symbolic "
			    "links cannot be read");
}

static int read_entries(struct import_job *job, dwarfs_error **err)
{
	int got, ret;

	while ((got = job->la->read_next_header(job->archive, &job->entry)) !=
	       ARCHIVE_EOF) {
		if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
			return fail_header(job, err);
		if (got == ARCHIVE_WARN)
			pass_on_warning(job);
		job->is_cpio = is_of(job, ARCHIVE_FORMAT_CPIO);
		if (job->progress.items_done == 0)
			warn_of_lost_directory(job);
		if ((ret = dw_import_entry(job, err)) < 0)
			return ret;
		job->progress.items_done++;
	}
	job->shown = NULL;
	return dw_import_add_late(job, err);
}

/* libarchive takes the end of the bytes for that of a tar, wherever they end. */
int dw_import_check_end(struct import_job *job, dwarfs_error **err)
{
	const uint64_t last = (uint64_t)job->la->read_header_position(job->archive);
	const uint64_t end = (uint64_t)job->la->filter_bytes(job->archive, 0);
	int ret;

	if ((ret = dw_feed_verify_rest(&job->feed, err)) < 0)
		return ret;
	if (!is_of(job, ARCHIVE_FORMAT_TAR))
		return 0;
	if (end > last && (job->la->filter_count(job->archive) > 1 ||
			   !dw_feed_ends_abruptly(&job->feed, end)))
		return 0;
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "ends without an end marker: it was cut off, or never finished");
}

/* A stream is first copied to disk if it must be read from its end. */
static int spill_if_needed(struct import_job *job, dwarfs_error **err)
{
	const dwarfs_archive_import *import = job->import;
	int ret = import->format ? dw_archive_format_wants_seek(import->format)
				 : dw_feed_wants_seek(&job->feed, err);

	if (ret <= 0)
		return ret;
	return dw_feed_spill(&job->feed, import->spool ? import->spool : DEFAULT_SPOOL,
			     err);
}

static int new_archive(struct import_job *job, dwarfs_error **err)
{
	int ret;

	job->la->read_free(job->archive);
	job->archive = NULL;
	if ((ret = dw_archive_reserve(err)) < 0)
		return ret;
	if (!(job->archive = job->la->read_new()))
		return dw_fail_nomem(err);
	if ((ret = dw_archive_format_enable(job->la, job->archive, job->import->format,
					    err)) < 0)
		return ret;
	if (dw_feed_open(&job->feed, job->la, job->archive) != ARCHIVE_OK)
		return fail_header(job, err);
	return 0;
}

/* The filter of the stored bytes, or ARCHIVE_FILTER_NONE; the last one is the feed. */
static int first_filter(const struct import_job *job)
{
	const int count = job->la->filter_count(job->archive);

	return count > 1 ? job->la->filter_code(job->archive, count - 2)
			 : ARCHIVE_FILTER_NONE;
}

/* The locale must be set before the first name is read, and depends on the format. */
static int find_locale(struct import_job *job, dwarfs_error **err)
{
	int filter, ret;
	bool is_tar;

	if ((ret = dw_locale_enter(&job->locale, err)) < 0)
		return ret;
	dw_feed_begin_trial(&job->feed);
	if ((ret = new_archive(job, err)) < 0)
		return ret;
	job->la->read_next_header(job->archive, &job->entry);
	is_tar = is_of(job, ARCHIVE_FORMAT_TAR);
	filter = first_filter(job);
	job->la->read_free(dw_steal(job->archive));
	dw_feed_end_trial(&job->feed);
	if ((ret = dw_feed_verify(&job->feed, filter, err)) < 0)
		return ret;
	if (!is_tar)
		return 0;
	dw_locale_leave(&job->locale);
	return dw_locale_enter_plain(&job->locale, err);
}

int dw_import_open(struct import_job *job, dwarfs_error **err)
{
	int ret;

	if (!job->feed.can_seek && (ret = spill_if_needed(job, err)) < 0)
		return ret;
	if ((ret = find_locale(job, err)) < 0)
		return ret;
	return new_archive(job, err);
}

static int read_archive(struct import_job *job, dwarfs_error **err)
{
	dwarfs_builder *builder = job->import->builder;
	int ret;

	if ((ret = dw_progress_enter(&job->progress, DWARFS_PHASE_IMPORT, err)) < 0)
		return ret;
	if ((ret = dwarfs_builder_begin_layer(builder, err)) < 0 ||
	    (ret = dw_import_open(job, err)) < 0 || (ret = read_entries(job, err)) < 0 ||
	    (ret = dw_import_check_end(job, err)) < 0 ||
	    (ret = dw_import_check_links(job, err)) < 0)
		return ret;
	job->import->is_complete = true;
	job->progress.items_total = job->progress.items_done;
	dw_locale_pause(&job->locale);
	dw_progress_done(&job->progress);
	return job->first_code ? dw_error_copy(err, job->first_code, job->first) : 0;
}

static void begin_import(struct import_job *job, dwarfs_archive_import *import)
{
	*job = (struct import_job){ .import = import, .la = import->la };
	import->is_complete = false;
	job->feed.progress = &job->progress;
	job->feed.locale = &job->locale;
	dw_progress_start(&job->progress, import->task);
}

static int end_import(struct import_job *job, int ret)
{
	dw_import_free_late(job);
	dw_free(dw_steal(job->lost));
	job->la->read_free(job->archive);
	dw_locale_leave(&job->locale);
	dw_feed_release(&job->feed);
	dw_buffer_free(&job->path);
	dwarfs_error_free(job->first);
	return ret;
}

int dwarfs_archive_import_io(dwarfs_archive_import *import, dwarfs_io *io,
			     dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(import);

	struct import_job job;
	int ret;

	if (!import || !io)
		return dw_fail_null(err, "import and source");
	begin_import(&job, import);
	if ((ret = dw_feed_new(&job.feed, io, err)) == 0)
		ret = read_archive(&job, err);
	if (ret < 0 && ret != DWARFS_ERR_CANCELLED && dwarfs_io_name(io))
		dw_explain(err, ret, "'%s'", dwarfs_io_name(io));
	return end_import(&job, ret);
}

int dwarfs_archive_import_path(dwarfs_archive_import *import, const char *path,
			       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(import);

	auto_io dwarfs_io *io = NULL;
	auto_fd int fd = -1;
	int ret;

	if (!import || !path)
		return dw_fail_null(err, "import and path");
	import->is_complete = false;
	if ((ret = dw_fd_open_read(path, &fd, err)) < 0 ||
	    (ret = dwarfs_io_from_stream(fd, &io, err)) < 0 ||
	    (ret = dwarfs_io_set_name(io, path, err)) < 0)
		return ret;
	return dwarfs_archive_import_io(import, io, err);
}
