/* SPDX-License-Identifier: MIT */
/*
 * extract/file_attributes: owner, extended attributes, mode and times.
 *
 * The owner is set first, since that clears setuid bits and capabilities; then extended
 * attributes, while the owner may write; then the mode, which access control lists
 * change, and the times.
 */
#include "extract/file_attributes.h"
#include "extract/write_xattrs.h"

static struct os_time stat_time(const dwarfs_stat *stat, int time)
{
	return (struct os_time){
		.seconds = dwarfs_stat_seconds(stat, time),
		.nanoseconds = dwarfs_stat_nanoseconds(stat, time),
	};
}

struct attributes dw_job_attributes(const struct job *job, const dwarfs_stat *stat)
{
	const dwarfs_extract *extract = job->extract;
	struct attributes attributes = {
		.mode = dwarfs_stat_mode(stat),
		.uid = dwarfs_stat_uid(stat),
		.gid = dwarfs_stat_gid(stat),
		.set_owner = job->set_owner,
		.atime = stat_time(stat, DWARFS_ATIME),
		.mtime = stat_time(stat, DWARFS_MTIME),
	};

	if (extract->uid_given) {
		attributes.drop_setuid = attributes.uid != extract->uid;
		attributes.uid = extract->uid;
	}
	if (extract->gid_given) {
		attributes.drop_setgid = attributes.gid != extract->gid;
		attributes.gid = extract->gid;
	}
	/* These bits belong to an owner or group that is not known. */
	if (dwarfs_stat_invalid(stat) & DWARFS_ATTRIBUTE_UID)
		attributes.drop_setuid = true;
	if (dwarfs_stat_invalid(stat) & DWARFS_ATTRIBUTE_GID)
		attributes.drop_setgid = true;
	return attributes;
}

static int fail_to_set(int errnum, const char *what, dwarfs_error **err)
{
	return dw_fail_errno(err, errnum, "cannot set the %s", what);
}

bool dw_attributes_are_more(const struct job *job, dwarfs_inode inode)
{
	const char *name;
	const void *value;
	size_t bytes;

	return !job->extract->no_xattrs && dwarfs_image_has_xattrs(job->image) &&
	       dwarfs_xattr_at(job->image, inode, 0, &name, &value, &bytes, NULL) != 0;
}

/* The mode is set again after attributes that change it. If the image's extended
 * attributes cannot be read, only these are lost. */
static int restore_xattrs(struct job *job, dwarfs_inode inode, int dir, const char *name,
			  struct owned *owned, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret;

	if (!dw_attributes_are_more(job, inode))
		return 0;
	ret = dw_xattrs_restore(job->image, inode, dir, name, owned, &job->losses, &why);
	dw_owned_forget_mode(owned);
	if (ret == DWARFS_ERR_CORRUPT || ret == DWARFS_ERR_CHECKSUM) {
		dw_job_note_xattrs(job, why);
		return 0;
	}
	return ret < 0 ? dw_error_copy(err, ret, why) : 0;
}

static int restore_open_file(struct job *job, dwarfs_inode inode, int fd,
			     const struct attributes *attributes, dwarfs_error **err)
{
	struct owned owned;
	int ret;

	if ((ret = dw_restore_owner(fd, attributes, &owned)) < 0)
		return fail_to_set(-ret, "owner", err);
	if ((ret = restore_xattrs(job, inode, fd, "", &owned, err)) < 0)
		return ret;
	if ((ret = dw_restore_mode(fd, attributes, &owned)) < 0)
		return fail_to_set(-ret, "mode", err);
	if ((ret = dw_restore_times(fd, attributes)) < 0)
		return fail_to_set(-ret, "times", err);
	return 0;
}

int dw_attributes_restore(struct job *job, dwarfs_inode inode, int dir, const char *name,
			  const struct attributes *attributes, dwarfs_error **err)
{
	struct owned owned;
	int ret;

	if (name[0] == '\0')
		return restore_open_file(job, inode, dir, attributes, err);
	if ((ret = dw_restore_owner_at(dir, name, attributes, &owned)) < 0)
		return fail_to_set(-ret, "owner", err);
	if ((ret = restore_xattrs(job, inode, dir, name, &owned, err)) < 0)
		return ret;
	if ((ret = dw_restore_mode_at(dir, name, attributes, &owned)) < 0)
		return fail_to_set(-ret, "mode", err);
	if ((ret = dw_restore_times_at(dir, name, attributes)) < 0)
		return fail_to_set(-ret, "times", err);
	return 0;
}
