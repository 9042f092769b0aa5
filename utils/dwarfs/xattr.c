/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/xattr: extended attributes: those of the image, and virtual ones with properties
 * of an inode and of the driver.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dwarfs/mount.h"

#define XATTR_PID	"user.dwarfs.driver.pid"
#define XATTR_PERFMON	"user.dwarfs.driver.perfmon"
#define XATTR_INODEINFO "user.dwarfs.inodeinfo"

/* Reserve added to the reported size of a value that changes all the time. */
#define SPARE_BYTES 4096

static json_t *json_time(const dwarfs_stat *stat, int time)
{
	return json_pack("{s:I, s:I}", "seconds",
			 (json_int_t)dwarfs_stat_seconds(stat, time), "nanoseconds",
			 (json_int_t)dwarfs_stat_nanoseconds(stat, time));
}

/* A value has at most 64 KiB. Chunks with short names of categories need less than
 * MOST_CHUNK_BYTES. */
#define MOST_CHUNKS	 256
#define MOST_CHUNK_BYTES 60000
/* Line breaks and indentation of a chunk, and the comma after it. */
#define LAYOUT_BYTES 64

static json_t *json_chunk(const dwarfs_image *image, const dwarfs_file *file,
			  uint64_t index)
{
	const char *category = NULL;
	uint64_t offset, bytes;
	int64_t block, number;

	if (dwarfs_file_chunk(file, index, &block, &offset, &bytes, NULL) < 0)
		return NULL;
	if (block < 0)
		return json_pack("{s:b, s:I}", "hole", 1, "size", (json_int_t)bytes);
	number = dwarfs_image_block_category(image, (uint32_t)block);
	if (number >= 0)
		category = dwarfs_image_category(image, (size_t)number);
	return json_pack("{s:I, s:s*, s:I, s:I}", "block", (json_int_t)block, "category",
			 category, "offset", (json_int_t)offset, "size",
			 (json_int_t)bytes);
}

/* The chunks of a file; the list ends at the limits, or the first damaged one. */
static void add_chunks(json_t *info, const dwarfs_image *image, dwarfs_inode inode)
{
	json_t *chunks = json_array();
	dwarfs_file *file;
	size_t bytes = 0;
	uint64_t count;

	if (dwarfs_file_open(image, inode, &file, NULL) < 0) {
		json_decref(chunks);
		return;
	}
	count = dwarfs_file_chunk_count(file);
	for (uint64_t i = 0; i < count && i < MOST_CHUNKS; i++) {
		json_t *chunk = json_chunk(image, file, i);

		bytes += json_dumpb(chunk, NULL, 0, 0) + LAYOUT_BYTES;
		if (bytes > MOST_CHUNK_BYTES) {
			json_decref(chunk);
			break;
		}
		if (json_array_append_new(chunks, chunk) != 0)
			break;
	}
	json_object_set_new(info, "chunks", chunks);
	json_object_set_new(info, "chunk_count", json_integer((json_int_t)count));
	dwarfs_file_free(file);
}

/* The properties of an inode; NULL if out of memory. */
static char *inode_info_text(const dwarfs_image *image, const dwarfs_stat *stat)
{
	char target[DWARFS_LINK_BUFFER_BYTES], mode[TOOL_TEXT_ROOM];
	uint32_t bits = dwarfs_stat_mode(stat);
	json_t *info = json_pack(
		"{s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:o*, s:o*, s:o*}", "inode",
		(json_int_t)dwarfs_stat_inode(stat).number, "mode", (json_int_t)bits,
		"modestring", tool_format_mode(bits, mode), "uid",
		(json_int_t)dwarfs_stat_uid(stat), "gid",
		(json_int_t)dwarfs_stat_gid(stat), "nlink",
		(json_int_t)dwarfs_stat_nlink(stat), "size",
		(json_int_t)dwarfs_stat_bytes(stat), "allocated_size",
		(json_int_t)dwarfs_stat_allocated_bytes(stat), "atime",
		json_time(stat, DWARFS_ATIME), "mtime", json_time(stat, DWARFS_MTIME),
		"ctime", json_time(stat, DWARFS_CTIME));
	char *text;

	/* FUSE has no request for it. */
	if (dwarfs_stat_seconds(stat, DWARFS_BTIME) ||
	    dwarfs_stat_nanoseconds(stat, DWARFS_BTIME))
		json_object_set_new(info, "btime", json_time(stat, DWARFS_BTIME));
	if (S_ISCHR(bits) || S_ISBLK(bits))
		json_object_set_new(info, "rdev",
				    json_pack("{s:I, s:I}", "major",
					      (json_int_t)dwarfs_stat_rdev_major(stat),
					      "minor",
					      (json_int_t)dwarfs_stat_rdev_minor(stat)));
	if (S_ISREG(bits))
		add_chunks(info, image, dwarfs_stat_inode(stat));
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

/* Attributes of the image. */
static void reply_stored(fuse_req_t req, fuse_ino_t ino, const char *name, size_t room)
{
	auto_handle(dwarfs_error) *err = NULL;
	const dwarfs_image *image = mounted_of(req)->image;
	const char *attribute;
	const void *value;
	size_t bytes;
	int ret = 0;

	if (!dwarfs_image_has_xattrs(image)) {
		fuse_reply_err(req, ENODATA);
		return;
	}
	for (size_t i = 0; (ret = dwarfs_xattr_at(image, inode_of(ino), i, &attribute,
						  &value, &bytes, &err)) > 0;
	     i++)
		if (strcmp(attribute, name) == 0)
			break;
	if (ret > 0)
		reply_bytes(req, value, bytes, room);
	else if (ret == 0)
		fuse_reply_err(req, ENODATA);
	else
		reply_failure(req, ino, ret, err);
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t room)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	auto_free char *text = NULL;
	const struct mounted *mounted = mounted_of(req);
	int ret;

	REQUEST(req, PERF_GETXATTR, ino, 0);
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
		reply_stored(req, ino, name, room);
		return;
	}
	if ((ret = dwarfs_stat_new(&stat, &err)) < 0 ||
	    (ret = dwarfs_inode_stat(mounted->image, inode_of(ino), stat, &err)) < 0) {
		reply_failure(req, ino, ret, err);
		return;
	}
	text = inode_info_text(mounted->image, stat);
	if (text)
		reply_bytes(req, text, strlen(text), room);
	else
		fuse_reply_err(req, ENOMEM);
}

/*
 * Virtual attributes are listed for the root only. Programs that copy a file copy all attributes
 * that are listed, and properties of an image are wrong at the copy: in the upper layer of an
 * overlayfs, where it fails if they are too large for that file system, and with tar or rsync.
 */
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t room)
{
	static const char ours[] = XATTR_INODEINFO "\0" XATTR_PID "\0" XATTR_PERFMON;
	auto_handle(dwarfs_error) *err = NULL;
	const dwarfs_image *image = mounted_of(req)->image;
	size_t size = ino == FUSE_ROOT_ID ? sizeof(ours) : 0;
	auto_free char *names = NULL;
	size_t stored;
	int ret;

	REQUEST(req, PERF_LISTXATTR, ino, 0);
	if (!dwarfs_image_has_xattrs(image)) {
		reply_bytes(req, ours, size, room);
		return;
	}
	if ((ret = dwarfs_xattr_list(image, inode_of(ino), NULL, 0, &stored, &err)) < 0) {
		reply_failure(req, ino, ret, err);
		return;
	}
	names = malloc(size + stored);
	if (!names) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	memcpy(names, ours, size);
	if ((ret = dwarfs_xattr_list(image, inode_of(ino), names + size, stored, NULL,
				     &err)) < 0)
		reply_failure(req, ino, ret, err);
	else
		reply_bytes(req, names, size + stored, room);
}

/* On an error assume none: a later request for attributes returns it. */
bool has_access_lists(const dwarfs_image *image)
{
	const char *name;

	for (size_t i = 0; dwarfs_image_xattr_name(image, i, &name, NULL) > 0; i++)
		if (strncmp(name, "system.posix_acl_", 17) == 0)
			return true;
	return false;
}
