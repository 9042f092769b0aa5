/* SPDX-License-Identifier: MIT */
/*
 * archive/import/item_attributes: the attributes of an entry of an archive.
 *
 * Makes an item. Owners are taken by number, not by name; file flags are not stored in
 * images.
 */
#include <string.h>
#include <sys/stat.h>

#include "archive/import/import.h"
#include "base/machine/limits.h"

static int set_owner(struct import_job *job, dwarfs_item *item, dwarfs_error **err)
{
	la_int64_t uid = job->la->entry_uid(job->entry),
		   gid = job->la->entry_gid(job->entry);

	if (uid == DW_NO_ID || gid == DW_NO_ID) {
		dw_import_warn(job, "no system has the owner or group %u; it becomes %u",
			       DW_NO_ID, DW_NOBODY);
		uid = uid == DW_NO_ID ? DW_NOBODY : uid;
		gid = gid == DW_NO_ID ? DW_NOBODY : gid;
	}
	if (uid < 0 || uid > UINT32_MAX || gid < 0 || gid > UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "an image cannot hold owner %" PRId64
			       " and group %" PRId64,
			       (int64_t)uid, (int64_t)gid);
	dwarfs_item_set_owner(item, (uint32_t)uid, (uint32_t)gid);
	return 0;
}

static void set_time(struct import_job *job, dwarfs_item *item, int which,
		     int64_t seconds, long nanoseconds)
{
	struct import_time time = dw_import_time(job, seconds, nanoseconds);

	dwarfs_item_set_time(item, which, time.seconds, time.nanoseconds);
}

static void set_item_times(struct import_job *job, dwarfs_item *item)
{
	struct archive_entry *entry = job->entry;

	if (job->la->entry_mtime_is_set(entry))
		set_time(job, item, DWARFS_MTIME, job->la->entry_mtime(entry),
			 job->la->entry_mtime_nsec(entry));
	if (job->la->entry_atime_is_set(entry))
		set_time(job, item, DWARFS_ATIME, job->la->entry_atime(entry),
			 job->la->entry_atime_nsec(entry));
	if (job->la->entry_ctime_is_set(entry))
		set_time(job, item, DWARFS_CTIME, job->la->entry_ctime(entry),
			 job->la->entry_ctime_nsec(entry));
	if (job->la->entry_birthtime_is_set(entry))
		set_time(job, item, DWARFS_BTIME, job->la->entry_birthtime(entry),
			 job->la->entry_birthtime_nsec(entry));
}

/* Of a xar, libarchive (3.6.2) stores the numbers of a device as those of the device that
 * the entry is on. */
void dw_import_device(const struct import_job *job, uint64_t *major_out,
		      uint64_t *minor_out)
{
	*major_out = (uint64_t)job->la->entry_rdevmajor(job->entry);
	*minor_out = (uint64_t)job->la->entry_rdevminor(job->entry);
	if ((job->la->format(job->archive) & ARCHIVE_FORMAT_BASE_MASK) !=
		    ARCHIVE_FORMAT_XAR ||
	    *major_out != 0 || *minor_out != 0)
		return;
	*major_out = (uint64_t)job->la->entry_devmajor(job->entry);
	*minor_out = (uint64_t)job->la->entry_devminor(job->entry);
}

static int set_item_device(struct import_job *job, dwarfs_item *item, dwarfs_error **err)
{
	uint64_t major, minor;

	dw_import_device(job, &major, &minor);
	if (!dw_is_device(major, minor))
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "an image cannot hold device %" PRIu64 ":%" PRIu64, major,
			       minor);
	dwarfs_item_set_device(item, (uint32_t)major, (uint32_t)minor);
	return 0;
}

static int set_target(const struct import_job *job, dwarfs_item *item, dwarfs_error **err)
{
	const char *target = job->la->entry_symlink(job->entry);

	if (!target || !*target)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "is a symbolic link to nothing");
	return dwarfs_item_set_target(item, target, strlen(target), err);
}

static int set_xattrs(struct import_job *job, dwarfs_item *item, dwarfs_error **err)
{
	auto_free struct import_xattr *list = NULL;
	size_t count, nameless;
	int ret;

	/* An attribute that is spelled out counts more than a list. */
	if ((ret = dw_import_acls(job, item, err)) < 0 ||
	    (ret = dw_import_xattrs(job, &list, &count, &nameless, err)) < 0)
		return ret;
	if (nameless > 0)
		dw_import_warn(job, "an extended attribute has no name");
	for (size_t i = 0; i < count; i++) {
		ret = dwarfs_item_add_xattr(item, list[i].name, list[i].value,
					    list[i].bytes, err);
		if (ret < 0)
			return dw_explain(err, ret, "extended attribute '%s'",
					  list[i].name);
	}
	return 0;
}

static int known_type(struct import_job *job, uint32_t *type_out, dwarfs_error **err)
{
	*type_out = job->la->entry_filetype(job->entry);
	switch (*type_out) {
	case AE_IFREG:
	case AE_IFDIR:
	case AE_IFLNK:
	case AE_IFCHR:
	case AE_IFBLK:
	case AE_IFIFO:
	case AE_IFSOCK:
		return 0;
	default:
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "is of a type that no image can hold (0%o)", *type_out);
	}
}

static int set_rest(struct import_job *job, uint32_t type, dwarfs_item *item,
		    dwarfs_error **err)
{
	int ret;

	if ((ret = set_owner(job, item, err)) < 0 ||
	    (ret = set_xattrs(job, item, err)) < 0)
		return ret;
	set_item_times(job, item);
	if (type == AE_IFLNK)
		return set_target(job, item, err);
	if (type == AE_IFCHR || type == AE_IFBLK)
		return set_item_device(job, item, err);
	return 0;
}

int dw_import_item(struct import_job *job, dwarfs_item **item_out, dwarfs_error **err)
{
	dwarfs_item *item = NULL;
	uint32_t type;
	int ret;

	if ((ret = known_type(job, &type, err)) < 0 ||
	    (ret = dwarfs_item_new(type | dw_import_mode(job), &item, err)) < 0)
		return ret;
	if ((ret = set_rest(job, type, item, err)) < 0) {
		dwarfs_item_free(item);
		return ret;
	}
	*item_out = item;
	return 0;
}
