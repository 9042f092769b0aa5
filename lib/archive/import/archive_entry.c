/* SPDX-License-Identifier: MIT */
/*
 * archive/import/archive_entry: add one entry of an archive to a builder.
 *
 * Contents are passed on piece by piece, as libarchive decompresses them; the range
 * between two pieces is a hole.
 */
#include <string.h>

#include "archive/import/import.h"

#define WHITEOUT     ".wh."
#define WHITEOUT_ALL ".wh..wh..opq"
#define WHITEOUT_OWN ".wh..wh." /* private attributes of union file systems */

/* -- contents -------------------------------------------------------------------- */

static int fail_contents(struct import_job *job, int got, dwarfs_error **err)
{
	int ret = dw_feed_failure(&job->feed, err);

	if (ret < 0 || got == ARCHIVE_FATAL)
		job->is_broken = true;
	return ret < 0 ? ret : dw_archive_fail(job->la, job->archive, err);
}

uint64_t dw_import_end_offset(const struct import_job *job, la_int64_t offset)
{
	bool is_xar = (job->la->format(job->archive) & ARCHIVE_FORMAT_BASE_MASK) ==
		      ARCHIVE_FORMAT_XAR;

	return is_xar ? 0 : (uint64_t)offset;
}

/* A hole at the end and missing data look the same. */
static int check_contents_end(const struct import_job *job, uint64_t end,
			      dwarfs_error **err)
{
	if (end < job->end)
		end = job->end;
	if (job->size == UINT64_MAX || end >= job->size)
		return 0;
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "has %" PRIu64 " bytes of contents, not %" PRIu64, end, job->size);
}

static int read_piece(const void **data_out, size_t *bytes_out, uint64_t *offset_out,
		      dwarfs_error **err, void *user)
{
	struct import_job *job = user;
	const void *data = NULL;
	la_int64_t offset = 0;
	size_t bytes = 0;
	const int got = job->la->read_data_block(job->archive, &data, &bytes, &offset);

	if (got != ARCHIVE_OK && got != ARCHIVE_EOF)
		return fail_contents(job, got, err);
	if (offset < 0 || offset > INT64_MAX - (int64_t)bytes)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "has contents at an invalid offset");
	if (got == ARCHIVE_EOF)
		return check_contents_end(job, dw_import_end_offset(job, offset), err);
	job->end = (uint64_t)offset + bytes;
	*data_out = data;
	*bytes_out = bytes;
	*offset_out = (uint64_t)offset;
	return 1;
}

int dw_import_set_contents(struct import_job *job, dwarfs_item *item, dwarfs_error **err)
{
	job->end = 0;
	job->size = UINT64_MAX;
	if (job->la->entry_size_is_set(job->entry)) {
		const la_int64_t size = job->la->entry_size(job->entry);

		if (size < 0)
			return dw_fail(err, DWARFS_ERR_CORRUPT, "has a negative size");
		job->size = (uint64_t)size;
	}
	if (job->la->entry_is_data_encrypted(job->entry))
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED, "is encrypted");
	return dwarfs_item_set_reader(item, job->size, read_piece, job, err);
}

/* -- whiteouts ------------------------------------------------------------------- */

static int remove_older(struct import_job *job, bool contents_only, dwarfs_error **err)
{
	int ret = dwarfs_builder_remove_older(job->import->builder,
					      (const char *)job->path.data,
					      job->path.size, contents_only, err);

	/* Nothing there that could be hidden. */
	if (ret == DWARFS_ERR_NOT_FOUND || ret == DWARFS_ERR_NOT_DIR) {
		if (err)
			dwarfs_error_free(dw_steal(*err));
		return 0;
	}
	return ret;
}

/* Apply a whiteout: 1 if the entry is one, 0 if not. */
static int obey_whiteout(struct import_job *job, dwarfs_error **err)
{
	const char *path = (const char *)job->path.data;
	const char *slash = strrchr(path, '/');
	char *name = (char *)job->path.data + (slash ? slash + 1 - path : 0);
	const size_t skip = strlen(WHITEOUT);
	const bool is_all = strcmp(name, WHITEOUT_ALL) == 0;
	int ret;

	if (strncmp(name, WHITEOUT, skip) != 0)
		return 0;
	if (!is_all && strncmp(name, WHITEOUT_OWN, strlen(WHITEOUT_OWN)) == 0)
		return 1;
	if (!is_all && !name[skip])
		return dw_fail(err, DWARFS_ERR_CORRUPT, "is a whiteout of nothing");
	if (is_all) {
		job->path.size -= strlen(name) + (slash != NULL);
		job->path.data[job->path.size] = '\0';
	} else {
		memmove(name, name + skip, strlen(name + skip) + 1);
		job->path.size -= skip;
	}
	ret = remove_older(job, is_all, err);
	return ret < 0 ? ret : 1;
}

/* -- an entry -------------------------------------------------------------------- */

/* A file with several names whose contents follow with a later one. */
static bool has_late_contents(const struct import_job *job)
{
	return job->is_cpio && job->la->entry_filetype(job->entry) == AE_IFREG &&
	       job->la->entry_nlink(job->entry) > 1 &&
	       job->la->entry_size(job->entry) == 0;
}

static int add_entry_item(struct import_job *job, dwarfs_error **err)
{
	dwarfs_item *item = NULL;
	int ret;

	if ((ret = dw_import_item(job, &item, err)) < 0)
		return ret;
	if (job->la->entry_filetype(job->entry) == AE_IFREG)
		ret = dw_import_set_contents(job, item, err);
	if (ret == 0 && job->la->entry_filetype(job->entry) == AE_IFDIR)
		ret = dwarfs_builder_add_item(job->import->builder,
					      (const char *)job->path.data,
					      job->path.size, item, err);
	else if (ret == 0)
		ret = dw_import_add(job, &job->path, item, err);
	dwarfs_item_free(item);
	return ret;
}

/* Add an entry whose path is in the image. */
static int take_named(struct import_job *job, const char *target, dwarfs_error **err)
{
	int ret;

	if (job->import->whiteouts && (ret = obey_whiteout(job, err)) != 0)
		return ret < 0 ? ret : 0;
	if (target)
		return dw_import_link(job, target, err);
	if (has_late_contents(job))
		return dw_import_defer(job, true, err);
	return add_entry_item(job, err);
}

/* named: whether its path is in the image. If not, contents that postponed entries need
 * are still read. */
static int take_archive_entry(struct import_job *job, bool named, dwarfs_error **err)
{
	const char *target = job->la->entry_hardlink(job->entry);
	struct late_file *late;

	/* In some cpio archives all directories have the same inode number. */
	if (job->la->entry_filetype(job->entry) == AE_IFDIR)
		target = NULL;
	if (target && (late = dw_import_find_late(job, target)))
		return dw_import_link_late(job, late, named, err);
	if (named)
		return take_named(job, target, err);
	return !target && has_late_contents(job) ? dw_import_defer(job, false, err) : 0;
}

static int lose(struct import_job *job, int code, dwarfs_error *why, dwarfs_error **err)
{
	return dw_import_lose(job, job->shown ? job->shown : "", code, why, err);
}

int dw_import_entry(struct import_job *job, dwarfs_error **err)
{
	dwarfs_error *why = NULL;
	int named, ret;

	job->shown = job->la->entry_pathname(job->entry);
	if (!job->shown) {
		ret = dw_fail(&why, DWARFS_ERR_CORRUPT,
			      "number %" PRIu64 " has no name that can be read",
			      job->progress.items_done + 1);
		return lose(job, ret, why, err);
	}
	named = dw_import_path(job->import, job->shown, &job->path, &why);
	if (named < 0 && (ret = lose(job, named, dw_steal(why), err)) < 0)
		return ret;
	if ((ret = take_archive_entry(job, named > 0, &why)) == 0)
		return 0;
	if ((ret = lose(job, ret, why, err)) < 0 || named <= 0)
		return ret;
	return dw_import_note_lost(job, &job->path, true, err);
}
