/* SPDX-License-Identifier: MIT */
/*
 * dwarfs_ops: what the kernel may ask of a mounted image.
 *
 * Takes requests of the FUSE low-level protocol, answers from an open image. An inode of
 * the image has the number plus 1 here, since 1 is the root for the kernel. Nothing ever
 * changes, so the kernel is told to keep every answer, also that a name does not exist.
 */
#include "dwarfs_ops.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FOREVER		1e9 /* seconds */
#define XATTR_PID	"user.dwarfs.driver.pid"
#define XATTR_INODEINFO "user.dwarfs.inodeinfo"

TOOL_DEFINE_AUTO(dwarfs_file, dwarfs_file)

static const struct mounted *mounted_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static dwarfs_inode inode_of(fuse_ino_t ino)
{
	return ino - FUSE_ROOT_ID > UINT32_MAX ? UINT32_MAX
					       : (dwarfs_inode)(ino - FUSE_ROOT_ID);
}

static fuse_ino_t ino_of(dwarfs_inode inode)
{
	return (fuse_ino_t)inode + FUSE_ROOT_ID;
}

static int errno_of(int code)
{
	switch (code) {
	case DWARFS_ERR_NOMEM:
		return ENOMEM;
	case DWARFS_ERR_INVALID:
	case DWARFS_ERR_RANGE:
		return EINVAL;
	case DWARFS_ERR_NOT_FOUND:
		return ENOENT;
	case DWARFS_ERR_NOT_DIR:
		return ENOTDIR;
	case DWARFS_ERR_IS_DIR:
		return EISDIR;
	case DWARFS_ERR_ACCESS:
		return EACCES;
	default:
		return EIO;
	}
}

/* Answer with the failure, and tell the log when it is the image's fault. */
static void reply_failure(fuse_req_t req, fuse_ino_t ino, int code,
			  const dwarfs_error *err)
{
	int errnum = errno_of(code);

	if (errnum == EIO || errnum == ENOMEM)
		tool_log(DWARFS_LOG_ERROR, "inode %" PRIu32 ": %s", inode_of(ino),
			 dwarfs_error_message(err));
	fuse_reply_err(req, errnum);
}

/* -- attributes ---------------------------------------------------------------------- */

static struct timespec time_of(const dwarfs_stat *stat, int time)
{
	return (struct timespec){
		.tv_sec = (time_t)dwarfs_stat_seconds(stat, time),
		.tv_nsec = (long)dwarfs_stat_nanoseconds(stat, time),
	};
}

static void fill_attributes(const struct mounted *mounted, const dwarfs_stat *stat,
			    struct stat *out)
{
	uint64_t allocated = dwarfs_stat_allocated_bytes(stat);

	*out = (struct stat){
		.st_ino = ino_of(dwarfs_stat_inode(stat)),
		.st_mode = dwarfs_stat_mode(stat),
		.st_nlink = dwarfs_stat_nlink(stat),
		.st_uid = mounted->set_uid ? mounted->uid : dwarfs_stat_uid(stat),
		.st_gid = mounted->set_gid ? mounted->gid : dwarfs_stat_gid(stat),
		.st_rdev = makedev(dwarfs_stat_rdev_major(stat),
				   dwarfs_stat_rdev_minor(stat)),
		.st_size = (off_t)dwarfs_stat_bytes(stat),
		.st_blksize = (blksize_t)mounted->block_bytes,
		.st_blocks = (blkcnt_t)(allocated / 512 + (allocated % 512 != 0)),
		.st_atim = time_of(stat, DWARFS_ATIME),
		.st_mtim = time_of(stat, DWARFS_MTIME),
		.st_ctim = time_of(stat, DWARFS_CTIME),
	};
	if (mounted->readonly)
		out->st_mode &= ~(mode_t)0222;
}

static void fill_entry(const struct mounted *mounted, const dwarfs_stat *stat,
		       struct fuse_entry_param *out)
{
	*out = (struct fuse_entry_param){
		.ino = ino_of(dwarfs_stat_inode(stat)),
		.attr_timeout = FOREVER,
		.entry_timeout = FOREVER,
	};
	fill_attributes(mounted, stat, &out->attr);
}

/* Also "." and "..", which are asked for when the mount is exported. */
static int find_stat(const dwarfs_image *image, dwarfs_inode dir, const char *name,
		     dwarfs_stat *stat, dwarfs_error **err)
{
	dwarfs_entry entry;
	dwarfs_inode parent;
	int ret;

	if (strcmp(name, ".") == 0)
		return dwarfs_inode_stat(image, dir, stat, err);
	if (strcmp(name, "..") == 0) {
		ret = dwarfs_dir_parent(image, dir, &parent, err);
		return ret < 0 ? ret : dwarfs_inode_stat(image, parent, stat, err);
	}
	/* Without details: not to be found is the usual failure, and has to be cheap. */
	ret = dwarfs_dir_find(image, dir, name, strlen(name), &entry, NULL);
	if (ret < 0 && ret != DWARFS_ERR_NOT_FOUND)
		ret = dwarfs_dir_find(image, dir, name, strlen(name), &entry, err);
	return ret < 0 ? ret : dwarfs_entry_stat(image, entry, stat, err);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	const struct mounted *mounted = mounted_of(req);
	struct fuse_entry_param entry = { .entry_timeout = FOREVER };
	int ret;

	if (strlen(name) >= DWARFS_NAME_ROOM) {
		fuse_reply_err(req, ENAMETOOLONG);
		return;
	}
	ret = dwarfs_stat_new(&stat, &err);
	if (ret == 0)
		ret = find_stat(mounted->image, inode_of(parent), name, stat, &err);
	if (ret < 0 && ret != DWARFS_ERR_NOT_FOUND) {
		reply_failure(req, parent, ret, err);
		return;
	}
	if (ret == 0)
		fill_entry(mounted, stat, &entry);
	fuse_reply_entry(req, &entry);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	const struct mounted *mounted = mounted_of(req);
	struct stat st;
	int ret = dwarfs_stat_new(&stat, &err);

	(void)info;
	if (ret == 0)
		ret = dwarfs_inode_stat(mounted->image, inode_of(ino), stat, &err);
	if (ret < 0) {
		reply_failure(req, ino, ret, err);
		return;
	}
	fill_attributes(mounted, stat, &st);
	fuse_reply_attr(req, &st, FOREVER);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	auto_handle(dwarfs_error) *err = NULL;
	char target[DWARFS_LINK_ROOM];
	int ret = dwarfs_link_read(mounted_of(req)->image, inode_of(ino), target,
				   sizeof(target), NULL, &err);

	if (ret < 0)
		reply_failure(req, ino, ret, err);
	else
		fuse_reply_readlink(req, target);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	const dwarfs_image *image = mounted_of(req)->image;
	struct statvfs st = {
		.f_bsize = 1,
		.f_frsize = 1,
		.f_blocks = dwarfs_image_original_bytes(image),
		.f_files = dwarfs_image_inode_count(image),
		.f_flag = ST_RDONLY,
		.f_namemax = DWARFS_NAME_ROOM - 1,
	};

	(void)ino;
	fuse_reply_statfs(req, &st);
}

/* -- files --------------------------------------------------------------------------- */

static const dwarfs_file *file_of(const struct fuse_file_info *info)
{
	return (const dwarfs_file *)(uintptr_t)info->fh;
}

/* Whether the kernel is to keep the contents of a file. */
static int may_cache(const struct mounted *mounted, dwarfs_inode inode, bool *cache_out,
		     dwarfs_error **err)
{
	auto_handle(dwarfs_stat) *stat = NULL;
	int ret;

	*cache_out = mounted->cache_files;
	if (!mounted->cache_files || mounted->cache_sparse)
		return 0;
	if ((ret = dwarfs_stat_new(&stat, err)) < 0 ||
	    (ret = dwarfs_inode_stat(mounted->image, inode, stat, err)) < 0)
		return ret;
	*cache_out = dwarfs_stat_allocated_bytes(stat) == dwarfs_stat_bytes(stat);
	return 0;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_file) *file = NULL;
	const struct mounted *mounted = mounted_of(req);
	bool cache = false;
	int ret;

	if ((info->flags & O_ACCMODE) != O_RDONLY) {
		fuse_reply_err(req, EROFS);
		return;
	}
	ret = dwarfs_file_open(mounted->image, inode_of(ino), &file, &err);
	if (ret == 0)
		ret = may_cache(mounted, inode_of(ino), &cache, &err);
	if (ret < 0) {
		reply_failure(req, ino, ret, err);
		return;
	}
	info->fh = (uintptr_t)file;
	info->keep_cache = cache;
	info->direct_io = !cache;
	/* When the caller is gone already, no release follows. */
	if (fuse_reply_open(req, info) == 0)
		file = NULL;
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	(void)ino;
	dwarfs_file_free((dwarfs_file *)(uintptr_t)info->fh);
	fuse_reply_err(req, 0);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t offset,
		    struct fuse_file_info *info)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_free char *buffer = malloc(bytes ? bytes : 1);
	size_t got;
	int ret;

	if (!buffer) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	ret = dwarfs_file_read(file_of(info), buffer, bytes, (uint64_t)offset, &got,
			       &err);
	if (ret < 0)
		reply_failure(req, ino, ret, err);
	else
		fuse_reply_buf(req, buffer, got);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence,
		     struct fuse_file_info *info)
{
	auto_handle(dwarfs_error) *err = NULL;
	uint64_t found;
	int ret;

	if (offset < 0 || (whence != SEEK_DATA && whence != SEEK_HOLE)) {
		fuse_reply_err(req, offset < 0 ? ENXIO : EINVAL);
		return;
	}
	if (whence == SEEK_DATA)
		ret = dwarfs_file_seek_data(file_of(info), (uint64_t)offset, &found,
					    &err);
	else
		ret = dwarfs_file_seek_hole(file_of(info), (uint64_t)offset, &found,
					    &err);
	if (ret == DWARFS_ERR_NOT_FOUND)
		fuse_reply_err(req, ENXIO);
	else if (ret < 0)
		reply_failure(req, ino, ret, err);
	else
		fuse_reply_lseek(req, (off_t)found);
}

/* -- directories --------------------------------------------------------------------- */

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_entry first;
	uint32_t count;
	int ret = dwarfs_dir_range(mounted_of(req)->image, inode_of(ino), &first, &count,
				   &err);

	if (ret < 0) {
		reply_failure(req, ino, ret, err);
		return;
	}
	info->cache_readdir = 1;
	info->keep_cache = 1;
	fuse_reply_open(req, info);
}

/* A reply to readdir that grows. */
struct listing {
	fuse_req_t req;
	const struct mounted *mounted;
	dwarfs_inode dir;
	dwarfs_entry first;
	uint32_t count;
	bool plus;
	dwarfs_stat *stat;
	char *buffer;
	size_t room, used;
};

/*
 * Add the item at a place: 0 is ".", 1 is "..", the rest are the entries. 1 when it was
 * added, 0 when it does not fit.
 */
static int list_item(struct listing *listing, uint64_t place, dwarfs_error **err)
{
	const dwarfs_image *image = listing->mounted->image;
	struct fuse_entry_param entry = { 0 };
	char name[DWARFS_NAME_ROOM] = ".";
	dwarfs_inode inode = listing->dir;
	size_t need, room = listing->room - listing->used;
	char *to = listing->buffer + listing->used;
	int ret = 0;

	if (place == 1) {
		strcpy(name, "..");
		ret = dwarfs_dir_parent(image, listing->dir, &inode, err);
	} else if (place > 1) {
		dwarfs_entry number = listing->first + (dwarfs_entry)(place - 2);

		if ((ret = dwarfs_entry_name(image, number, name, sizeof(name), NULL,
					     err)) == 0)
			ret = dwarfs_entry_stat(image, number, listing->stat, err);
		if (ret == 0)
			fill_entry(listing->mounted, listing->stat, &entry);
	}
	if (ret < 0)
		return ret;
	if (place <= 1)
		entry.attr = (struct stat){ .st_ino = ino_of(inode), .st_mode = S_IFDIR };
	if (listing->plus)
		need = fuse_add_direntry_plus(listing->req, to, room, name, &entry,
					      (off_t)(place + 1));
	else
		need = fuse_add_direntry(listing->req, to, room, name, &entry.attr,
					 (off_t)(place + 1));
	if (need > room)
		return 0;
	listing->used += need;
	return 1;
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t offset, bool plus)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	auto_free char *buffer = malloc(bytes ? bytes : 1);
	struct listing listing = {
		.req = req,
		.mounted = mounted_of(req),
		.dir = inode_of(ino),
		.plus = plus,
		.buffer = buffer,
		.room = bytes,
	};
	uint64_t place = (uint64_t)offset;
	int ret;

	if (!buffer) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	ret = dwarfs_stat_new(&stat, &err);
	listing.stat = stat;
	if (ret == 0)
		ret = dwarfs_dir_range(listing.mounted->image, listing.dir,
				       &listing.first, &listing.count, &err);
	if (ret == 0)
		ret = 1;
	while (ret > 0 && place < (uint64_t)listing.count + 2)
		ret = list_item(&listing, place++, &err);
	/* What was listed before a failure is handed out first. */
	if (ret < 0 && listing.used == 0)
		reply_failure(req, ino, ret, err);
	else
		fuse_reply_buf(req, buffer, listing.used);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t offset,
		       struct fuse_file_info *info)
{
	(void)info;
	list(req, ino, bytes, offset, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t offset,
			   struct fuse_file_info *info)
{
	(void)info;
	list(req, ino, bytes, offset, true);
}

/* -- extended attributes ------------------------------------------------------------- */

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

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t room)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	auto_free char *text = NULL;
	const dwarfs_image *image = mounted_of(req)->image;
	int ret;

	if (ino == FUSE_ROOT_ID && strcmp(name, XATTR_PID) == 0) {
		char pid[24];

		reply_bytes(req, pid,
			    (size_t)snprintf(pid, sizeof(pid), "%ld", (long)getpid()),
			    room);
		return;
	}
	if (strcmp(name, XATTR_INODEINFO) != 0) {
		fuse_reply_err(req, ENODATA);
		return;
	}
	if ((ret = dwarfs_stat_new(&stat, &err)) < 0 ||
	    (ret = dwarfs_inode_stat(image, inode_of(ino), stat, &err)) < 0) {
		reply_failure(req, ino, ret, err);
		return;
	}
	text = describe(image, stat);
	if (text)
		reply_bytes(req, text, strlen(text), room);
	else
		fuse_reply_err(req, ENOMEM);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t room)
{
	static const char names[] = XATTR_INODEINFO "\0" XATTR_PID;

	reply_bytes(req, names,
		    ino == FUSE_ROOT_ID ? sizeof(names) : sizeof(XATTR_INODEINFO), room);
}

/* -- the session --------------------------------------------------------------------- */

static void op_init(void *user, struct fuse_conn_info *connection)
{
	static const unsigned wanted = FUSE_CAP_READDIRPLUS | FUSE_CAP_CACHE_SYMLINKS |
				       FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS |
				       FUSE_CAP_EXPORT_SUPPORT;

	(void)user;
	connection->want |= connection->capable & wanted;
	/* Always with attributes: they cost nothing here, and spare a request for each.
	 */
	connection->want &= ~(unsigned)(FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_SPLICE_READ |
					FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
}

const struct fuse_lowlevel_ops dwarfs_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.read = op_read,
	.release = op_release,
	.lseek = op_lseek,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.statfs = op_statfs,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
};
