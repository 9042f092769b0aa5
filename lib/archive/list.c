/* SPDX-License-Identifier: MIT */
/*
 * archive/list: read an archive from start to end.
 *
 * Reads from a descriptor and passes entries, attributes and contents to callbacks.
 */
#include <string.h>

#include "archive/import/import.h"
#include "archive/list.h"

struct list {
	const struct archive_list_fns *fns;
	void *user;
	struct import_job job; /* of an import that adds nothing */
	dwarfs_archive_import import;
	struct buffer link, value;
};

static int fail_list(struct list *list, dwarfs_error **err)
{
	int ret = dw_feed_failure(&list->job.feed, err);

	return ret < 0 ? ret : dw_archive_fail(list->job.la, list->job.archive, err);
}

/* -- contents ------------------------------------------------------------------------ */

static int read_contents(struct list *list, dwarfs_error **err)
{
	struct archive *archive = list->job.archive;
	struct archive_entry *entry = list->job.entry;
	uint64_t size = 0, end;
	int ret;

	for (;;) {
		const void *data = NULL;
		la_int64_t offset = 0;
		size_t bytes = 0;
		const int got =
			list->job.la->read_data_block(archive, &data, &bytes, &offset);

		if (got != ARCHIVE_OK && got != ARCHIVE_EOF)
			return fail_list(list, err);
		if (offset < 0 || offset > INT64_MAX - (int64_t)bytes)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "has contents at an invalid offset");
		end = got == ARCHIVE_EOF ? dw_import_end_offset(&list->job, offset)
					 : (uint64_t)offset + bytes;
		if (end > size)
			size = end;
		if (got == ARCHIVE_EOF)
			break;
		if ((ret = list->fns->data(list->user, data, bytes, (uint64_t)offset,
					   err)) < 0)
			return ret;
	}
	/* A hole at the end and missing data look the same. */
	if (list->job.la->entry_size_is_set(entry) &&
	    list->job.la->entry_size(entry) > 0 &&
	    (uint64_t)list->job.la->entry_size(entry) > size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "has %" PRIu64 " bytes of contents, not %" PRId64, size,
			       (int64_t)list->job.la->entry_size(entry));
	return list->fns->end(list->user, size, err);
}

/* -- attributes ---------------------------------------------------------------------- */

static int give_acl(struct list *list, int type, const char *name, dwarfs_error **err)
{
	int ret = dw_import_acl_value(&list->job, type, &list->value, err);

	if (ret < 0 || list->value.size == 0)
		return ret;
	return list->fns->xattr(list->user, name, list->value.data, list->value.size,
				err);
}

static bool has_xattr(const struct import_job *job, const char *wanted)
{
	const char *name;
	const void *value;
	size_t bytes;

	job->la->entry_xattr_reset(job->entry);
	while (job->la->entry_xattr_next(job->entry, &name, &value, &bytes) == ARCHIVE_OK)
		if (name && strcmp(name, wanted) == 0)
			return true;
	return false;
}

/* An attribute that is spelled out counts more than a list. */
static int give_acls(struct list *list, dwarfs_error **err)
{
	static const struct {
		int type;
		const char *name;
	} acls[] = {
		{ ARCHIVE_ENTRY_ACL_TYPE_ACCESS, "system.posix_acl_access" },
		{ ARCHIVE_ENTRY_ACL_TYPE_DEFAULT, "system.posix_acl_default" },
	};
	const int types = list->job.la->entry_acl_types(list->job.entry);

	for (size_t i = 0; i < sizeof(acls) / sizeof(*acls); i++) {
		int ret;

		if (!(types & acls[i].type) || (types & ARCHIVE_ENTRY_ACL_TYPE_NFS4) ||
		    has_xattr(&list->job, acls[i].name))
			continue;
		if ((ret = give_acl(list, acls[i].type, acls[i].name, err)) < 0)
			return ret;
	}
	return 0;
}

static int give_xattrs(struct list *list, dwarfs_error **err)
{
	auto_free struct import_xattr *xattrs = NULL;
	size_t count, nameless;
	int ret;

	if ((ret = give_acls(list, err)) < 0 ||
	    (ret = dw_import_xattrs(&list->job, &xattrs, &count, &nameless, err)) < 0)
		return ret;
	for (size_t i = 0; i < count; i++) {
		ret = list->fns->xattr(list->user, xattrs[i].name, xattrs[i].value,
				       xattrs[i].bytes, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* -- an entry ------------------------------------------------------------------------ */

static struct archive_listed listed_from_entry(struct list *list)
{
	struct archive_entry *entry = list->job.entry;
	const struct import_time time =
		dw_import_time(&list->job, list->job.la->entry_mtime(entry),
			       list->job.la->entry_mtime_nsec(entry));
	struct archive_listed listed = {
		.path = (const char *)list->job.path.data,
		.path_bytes = list->job.path.size,
		.mode = list->job.la->entry_filetype(entry) | dw_import_mode(&list->job),
		.uid = (uint32_t)list->job.la->entry_uid(entry),
		.gid = (uint32_t)list->job.la->entry_gid(entry),
		.has_time = list->job.la->entry_mtime_is_set(entry) != 0,
		.seconds = time.seconds,
		.nanoseconds = time.nanoseconds,
	};
	uint64_t major, minor;

	dw_import_device(&list->job, &major, &minor);
	listed.major = (uint32_t)major;
	listed.minor = (uint32_t)minor;
	if (list->job.la->entry_filetype(entry) == AE_IFLNK)
		listed.target = list->job.la->entry_symlink(entry);
	return listed;
}

static int pass_entry(struct list *list, dwarfs_error **err)
{
	struct archive_entry *entry = list->job.entry;
	const char *link = list->job.la->entry_hardlink(entry);
	struct archive_listed listed;
	int64_t count;
	int ret;

	list->job.path.size = list->link.size = 0;
	count = dw_import_append_names(list->job.shown, 0, &list->job.path, err);
	if (count < 0)
		return (int)count;
	listed = listed_from_entry(list);
	if (link && list->job.la->entry_filetype(entry) != AE_IFDIR) {
		if ((count = dw_import_append_names(link, 0, &list->link, err)) < 0)
			return (int)count;
		listed.hard_link = (const char *)list->link.data;
		listed.mode = AE_IFREG | (listed.mode & 07777);
	}
	if ((ret = list->fns->entry(list->user, &listed, err)) < 0 ||
	    (ret = give_xattrs(list, err)) < 0)
		return ret;
	if (!link && list->job.la->entry_filetype(entry) != AE_IFREG)
		return 0;
	if (list->job.la->entry_is_data_encrypted(entry))
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED, "is encrypted");
	return read_contents(list, err);
}

/* -- the archive --------------------------------------------------------------------- */

/* 1, 0 at the end, or an error. */
static int next_list_entry(struct list *list, dwarfs_error **err)
{
	const int got =
		list->job.la->read_next_header(list->job.archive, &list->job.entry);

	if (got == ARCHIVE_EOF)
		return 0;
	if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
		return fail_list(list, err);
	list->job.shown = list->job.la->entry_pathname(list->job.entry);
	if (!list->job.shown)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "an entry has no name that can be read");
	return 1;
}

static int read_archive_entries(struct list *list, dwarfs_error **err)
{
	int ret;

	while ((ret = next_list_entry(list, err)) > 0) {
		if ((ret = pass_entry(list, err)) < 0)
			return dw_explain(err, ret, "entry '%s'", list->job.shown);
	}
	return ret < 0 ? ret : dw_import_check_end(&list->job, err);
}

static int begin_list(struct list *list, dwarfs_io *io, struct dwarfs_progress *progress,
		      dwarfs_error **err)
{
	list->job.import = &list->import;
	list->job.feed.progress = progress;
	list->job.feed.locale = &list->job.locale;
	return dw_feed_new(&list->job.feed, io, err);
}

static void end_list(struct list *list)
{
	list->job.la->read_free(list->job.archive);
	dw_libarchive_free(list->job.la);
	dw_locale_leave(&list->job.locale);
	dw_feed_release(&list->job.feed);
	dw_buffer_free(&list->job.path);
	dw_buffer_free(&list->link);
	dw_buffer_free(&list->value);
}

int dw_archive_list(dwarfs_io *io, const struct archive_list_fns *fns, void *user,
		    struct dwarfs_progress *progress, dwarfs_error **err)
{
	struct list list = { .fns = fns, .user = user };
	int ret = dw_libarchive_new(&list.job.la, err);

	if (ret < 0)
		return ret;
	if ((ret = begin_list(&list, io, progress, err)) == 0)
		ret = dw_import_open(&list.job, err);
	if (ret == 0)
		ret = read_archive_entries(&list, err);
	end_list(&list);
	return ret;
}

int dw_archive_is_one(dwarfs_io *io, dwarfs_error **err)
{
	struct dwarfs_progress progress = { 0 };
	struct list list = { 0 };
	auto_error dwarfs_error *why = NULL;
	int ret;

	dw_progress_start(&progress, NULL);
	if ((ret = dw_libarchive_new(&list.job.la, err)) < 0)
		return ret;
	if ((ret = begin_list(&list, io, &progress, &why)) == 0)
		ret = dw_import_open(&list.job, &why);
	if (ret == 0)
		ret = next_list_entry(&list, &why);
	end_list(&list);
	if (ret == DWARFS_ERR_NOMEM)
		return dw_fail_nomem(err);
	return ret > 0;
}
