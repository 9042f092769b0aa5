/* SPDX-License-Identifier: MIT */
/*
 * dwarfs_xattr: what is known of an inode and of the driver, as extended attributes.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dwarfs_mount.h"

#define XATTR_PID	"user.dwarfs.driver.pid"
#define XATTR_PERFMON	"user.dwarfs.driver.perfmon"
#define XATTR_INODEINFO "user.dwarfs.inodeinfo"

/* Who asks for the size of what changes all the time is told so much more. */
#define SPARE_BYTES 4096

static json_t *json_time(const dwarfs_stat *stat, int time)
{
	return json_pack("{s:I, s:I}", "seconds",
			 (json_int_t)dwarfs_stat_seconds(stat, time), "nanoseconds",
			 (json_int_t)dwarfs_stat_nanoseconds(stat, time));
}

/* What is known of an inode; NULL when memory is short. */
static char *describe(const dwarfs_image *image, const dwarfs_stat *stat)
{
	char target[DWARFS_LINK_ROOM], mode[TOOL_TEXT_ROOM];
	uint32_t bits = dwarfs_stat_mode(stat);
	json_t *info = json_pack(
		"{s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:o*, s:o*, s:o*}", "inode",
		(json_int_t)dwarfs_stat_inode(stat), "mode", (json_int_t)bits,
		"modestring", tool_format_mode(bits, mode), "uid",
		(json_int_t)dwarfs_stat_uid(stat), "gid",
		(json_int_t)dwarfs_stat_gid(stat), "nlink",
		(json_int_t)dwarfs_stat_nlink(stat), "size",
		(json_int_t)dwarfs_stat_bytes(stat), "allocated_size",
		(json_int_t)dwarfs_stat_allocated_bytes(stat), "atime",
		json_time(stat, DWARFS_ATIME), "mtime", json_time(stat, DWARFS_MTIME),
		"ctime", json_time(stat, DWARFS_CTIME));
	char *text;

	if (S_ISCHR(bits) || S_ISBLK(bits))
		json_object_set_new(info, "rdev",
				    json_pack("{s:I, s:I}", "major",
					      (json_int_t)dwarfs_stat_rdev_major(stat),
					      "minor",
					      (json_int_t)dwarfs_stat_rdev_minor(stat)));
	/* A target that is not UTF-8 cannot be written as JSON, and is left out. */
	if (S_ISLNK(bits) && dwarfs_link_read(image, dwarfs_stat_inode(stat), target,
					      sizeof(target), NULL, NULL) == 0)
		json_object_set_new(info, "target", json_string(target));
	text = json_dumps(info, JSON_INDENT(2) | JSON_SORT_KEYS);
	json_decref(info);
	return text;
}

static void reply_bytes(fuse_req_t req, const char *data, size_t size, size_t room)
{
	if (room == 0)
		fuse_reply_xattr(req, size);
	else if (size > room)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, data, size);
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t room)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	auto_free char *text = NULL;
	const struct mounted *mounted = mounted_of(req);
	int ret;

	PERF_SPAN(mounted->perfmon, PERF_GETXATTR, ino);
	if (ino == FUSE_ROOT_ID && strcmp(name, XATTR_PID) == 0) {
		char pid[24];

		reply_bytes(req, pid,
			    (size_t)snprintf(pid, sizeof(pid), "%ld", (long)getpid()),
			    room);
		return;
	}
	if (ino == FUSE_ROOT_ID && strcmp(name, XATTR_PERFMON) == 0) {
		text = perfmon_describe(mounted);
		if (text && room == 0)
			fuse_reply_xattr(req, strlen(text) + SPARE_BYTES);
		else if (text)
			reply_bytes(req, text, strlen(text), room);
		else
			fuse_reply_err(req, ENOMEM);
		return;
	}
	if (strcmp(name, XATTR_INODEINFO) != 0) {
		fuse_reply_err(req, ENODATA);
		return;
	}
	if ((ret = dwarfs_stat_new(&stat, &err)) < 0 ||
	    (ret = dwarfs_inode_stat(mounted->image, inode_of(ino), stat, &err)) < 0) {
		reply_failure(req, ino, ret, err);
		return;
	}
	text = describe(mounted->image, stat);
	if (text)
		reply_bytes(req, text, strlen(text), room);
	else
		fuse_reply_err(req, ENOMEM);
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t room)
{
	static const char names[] = XATTR_INODEINFO "\0" XATTR_PID "\0" XATTR_PERFMON;

	PERF_SPAN(mounted_of(req)->perfmon, PERF_LISTXATTR, ino);
	reply_bytes(req, names,
		    ino == FUSE_ROOT_ID ? sizeof(names) : sizeof(XATTR_INODEINFO), room);
}
