/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/operations: names, attributes, links and directories of a mounted image.
 *
 * Serves requests of the FUSE low-level protocol from an open image. As an image never
 * changes, the kernel may cache every reply, also that a name does not exist.
 */
#include "dwarfs/mount.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FOREVER 1e9 /* seconds */

/* Sizes of listings: the least, of an entry with a name of 24 bytes, and the most of an entry. */
#define LEAST_LIST_BYTES 4096
#define LIST_ENTRY_BYTES 176
#define MOST_ENTRY_BYTES (160 + DWARFS_NAME_BUFFER_BYTES)

/* Shared mappings of files that the kernel does not cache; older versions of libfuse cannot
 * request them. */
#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
#define CAP_SHARED_MAPPINGS FUSE_CAP_DIRECT_IO_ALLOW_MMAP
#else
#define CAP_SHARED_MAPPINGS 0
#endif

static int code_to_errno(int code)
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

/* Reply with the failure, and log it if the image is damaged. */
void reply_failure(fuse_req_t req, fuse_ino_t ino, int code, const dwarfs_error *err)
{
	int errnum = code_to_errno(code);

	if (errnum == EIO || errnum == ENOMEM)
		tool_log(DWARFS_LOG_ERROR, "inode %" PRIu32 ": %s", inode_of(ino).number,
			 err ? dwarfs_error_message(err) : dwarfs_strerror(code));
	fuse_reply_err(req, errnum);
}

/* -- attributes ---------------------------------------------------------------------- */

/* The nearest time that the system can represent: libfuse may have a time_t of 32 bits. */
static time_t seconds_of(int64_t seconds)
{
	if ((time_t)seconds == seconds)
		return (time_t)seconds;
	return seconds < 0 ? INT32_MIN : INT32_MAX;
}

static struct timespec timespec_of(const dwarfs_stat *stat, int time)
{
	return (struct timespec){
		.tv_sec = seconds_of(dwarfs_stat_seconds(stat, time)),
		.tv_nsec = (long)dwarfs_stat_nanoseconds(stat, time),
	};
}

/* Attributes without a valid value in the image are shown with defaults. */
static void tell_damage(const dwarfs_stat *stat)
{
	uint32_t invalid = dwarfs_stat_invalid(stat);

	for (uint32_t bit = 1; invalid != 0; invalid &= ~bit, bit <<= 1)
		if (invalid & bit)
			tool_log(DWARFS_LOG_WARN, "inode %" PRIu32 ": no valid %s",
				 dwarfs_stat_inode(stat).number,
				 dwarfs_attribute_name(bit));
}

/*
 * The preferred size of reads. The kernel allocates memory of that size for each call by which
 * a C library lists a directory, and two calls list most directories: so it is no larger
 * than what holds all entries.
 */
static blksize_t block_bytes_of(const struct settings *settings, const dwarfs_stat *stat)
{
	uint64_t entries = dwarfs_stat_bytes(stat), bytes = LEAST_LIST_BYTES;

	if (!S_ISDIR(dwarfs_stat_mode(stat)))
		return (blksize_t)settings->block_bytes;
	while (bytes < settings->block_bytes && bytes / LIST_ENTRY_BYTES < entries)
		bytes *= 2;
	return (blksize_t)(bytes < settings->block_bytes ? bytes : settings->block_bytes);
}

static void fill_attributes(const struct settings *settings, const dwarfs_stat *stat,
			    struct stat *out)
{
	uint64_t allocated = dwarfs_stat_allocated_bytes(stat);
	const uint32_t owners = DWARFS_ATTRIBUTE_UID | DWARFS_ATTRIBUTE_GID;

	*out = (struct stat){
		.st_ino = ino_of(dwarfs_stat_inode(stat)),
		.st_mode = dwarfs_stat_mode(stat),
		.st_nlink = dwarfs_stat_nlink(stat),
		.st_uid = settings->set_uid ? settings->uid : dwarfs_stat_uid(stat),
		.st_gid = settings->set_gid ? settings->gid : dwarfs_stat_gid(stat),
		.st_rdev = makedev(dwarfs_stat_rdev_major(stat),
				   dwarfs_stat_rdev_minor(stat)),
		.st_size = (off_t)dwarfs_stat_bytes(stat),
		.st_blksize = block_bytes_of(settings, stat),
		.st_blocks = (blkcnt_t)(allocated / 512 + (allocated % 512 != 0)),
		.st_atim = timespec_of(stat, DWARFS_ATIME),
		.st_mtim = timespec_of(stat, DWARFS_MTIME),
		.st_ctim = timespec_of(stat, DWARFS_CTIME),
	};
	if (settings->readonly)
		out->st_mode &= ~(mode_t)0222;
	tell_damage(stat);
	/* These bits belong to an owner or group that is not known. */
	if (dwarfs_stat_invalid(stat) & owners && !S_ISDIR(out->st_mode))
		out->st_mode &= ~(mode_t)(S_ISUID | S_ISGID);
}

static void fill_entry(const struct mounted *mounted, const dwarfs_stat *stat,
		       struct fuse_entry_param *out)
{
	*out = (struct fuse_entry_param){
		.ino = ino_of(dwarfs_stat_inode(stat)),
		.attr_timeout = FOREVER,
		.entry_timeout = FOREVER,
	};
	fill_attributes(mounted->settings, stat, &out->attr);
}

/* By its exact name, or, with case_insensitive, ignoring case. */
static int find_entry(const struct mounted *mounted, dwarfs_inode dir, const char *name,
		      dwarfs_entry *entry_out, dwarfs_error **err)
{
	PERF_SPAN(mounted->perfmon, PERF_FS_FIND, dir.number);
	/* Without details: not to be found is the usual failure, and has to be cheap. */
	int ret =
		dwarfs_dir_find(mounted->image, dir, name, strlen(name), entry_out, NULL);

	if (ret == DWARFS_ERR_NOT_FOUND && mounted->folded)
		ret = folded_find(mounted->folded, dir, name, entry_out, err);
	else if (ret < 0 && ret != DWARFS_ERR_NOT_FOUND)
		ret = dwarfs_dir_find(mounted->image, dir, name, strlen(name), entry_out,
				      err);
	return ret;
}

/*
 * Also "." and "..", which an NFS server looks up: "." of an inode of any type that the
 * kernel has forgotten.
 */
static int find_stat(const struct mounted *mounted, dwarfs_inode dir, const char *name,
		     dwarfs_stat *stat, dwarfs_error **err)
{
	const dwarfs_image *image = mounted->image;
	dwarfs_entry entry;
	dwarfs_inode parent;
	int ret;

	if (strcmp(name, ".") == 0)
		return dwarfs_inode_stat(image, dir, stat, err);
	if (strcmp(name, "..") == 0) {
		ret = dwarfs_dir_parent(image, dir, &parent, err);
		return ret < 0 ? ret : dwarfs_inode_stat(image, parent, stat, err);
	}
	if ((ret = find_entry(mounted, dir, name, &entry, err)) < 0 ||
	    (ret = dwarfs_entry_stat(image, entry, stat, err)) < 0)
		return ret;
	if (S_ISREG(dwarfs_stat_mode(stat)))
		ahead_note_entry(mounted->ahead, dwarfs_stat_inode(stat), entry);
	return 0;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	const struct mounted *mounted = mounted_of(req);
	struct fuse_entry_param entry = { .entry_timeout = FOREVER };
	int ret;

	REQUEST(req, PERF_LOOKUP, parent, 0);
	if (strlen(name) >= DWARFS_NAME_BUFFER_BYTES) {
		fuse_reply_err(req, ENAMETOOLONG);
		return;
	}
	ret = dwarfs_stat_new(&stat, &err);
	if (ret == 0)
		ret = find_stat(mounted, inode_of(parent), name, stat, &err);
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
	int ret;

	(void)info;
	REQUEST(req, PERF_GETATTR, ino, 0);
	ret = dwarfs_stat_new(&stat, &err);
	if (ret == 0) {
		PERF_SPAN(mounted->perfmon, PERF_FS_STAT, ino);
		ret = dwarfs_inode_stat(mounted->image, inode_of(ino), stat, &err);
	}
	if (ret < 0) {
		reply_failure(req, ino, ret, err);
		return;
	}
	fill_attributes(mounted->settings, stat, &st);
	fuse_reply_attr(req, &st, FOREVER);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	auto_handle(dwarfs_error) *err = NULL;
	const struct mounted *mounted = mounted_of(req);
	char target[DWARFS_LINK_BUFFER_BYTES];
	int ret;

	REQUEST(req, PERF_READLINK, ino, 0);
	{
		PERF_SPAN(mounted->perfmon, PERF_FS_READLINK, ino);
		ret = dwarfs_link_read(mounted->image, inode_of(ino), target,
				       sizeof(target), NULL, &err);
	}
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
		.f_namemax = DWARFS_NAME_BUFFER_BYTES - 1,
	};

	REQUEST(req, PERF_STATFS, ino, 0);
	fuse_reply_statfs(req, &st);
}

/* There are none, but programs ask whether a file is a terminal, and the kernel passes that
 * on each time. */
static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned command, void *argument,
		     struct fuse_file_info *info, unsigned flags, const void *in,
		     size_t in_bytes, size_t out_bytes)
{
	(void)command;
	(void)argument;
	(void)info;
	(void)flags;
	(void)in;
	(void)in_bytes;
	(void)out_bytes;
	REQUEST(req, PERF_IOCTL, ino, 0);
	fuse_reply_err(req, ENOTTY);
}

/* -- directories --------------------------------------------------------------------- */

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	auto_handle(dwarfs_error) *err = NULL;
	const struct mounted *mounted = mounted_of(req);
	dwarfs_entry first;
	uint32_t count;
	int ret;

	REQUEST(req, PERF_OPENDIR, ino, 0);
	if (mounted->no_opendir) {
		fuse_reply_err(req, ENOSYS); /* it is not asked again */
		return;
	}
	ret = dwarfs_dir_range(mounted->image, inode_of(ino), &first, &count, &err);
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

static void tell_entry(dwarfs_entry entry, const dwarfs_error *err)
{
	tool_log(DWARFS_LOG_ERROR, "entry %" PRIu32 ": %s", entry.number,
		 dwarfs_error_message(err));
}

/*
 * The item of an entry in a listing; 0 if it has no valid name and is left out. An entry
 * without attributes is still listed: the kernel requests them separately. Damage of one
 * entry must not hide the following ones.
 */
static int describe_entry(const struct listing *listing, dwarfs_entry number,
			  char name[DWARFS_NAME_BUFFER_BYTES],
			  struct fuse_entry_param *entry)
{
	const dwarfs_image *image = listing->mounted->image;
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_error) *why = NULL;
	dwarfs_inode inode;

	if (dwarfs_entry_name(image, number, name, DWARFS_NAME_BUFFER_BYTES, NULL, &err) <
		    0 ||
	    dwarfs_entry_inode(image, number, &inode, &err) < 0) {
		tell_entry(number, err);
		return 0;
	}
	if (dwarfs_entry_stat(image, number, listing->stat, &why) < 0) {
		tell_entry(number, why);
		entry->attr.st_ino = ino_of(inode);
		return 1;
	}
	fill_entry(listing->mounted, listing->stat, entry);
	if (listing->plus && S_ISREG(entry->attr.st_mode))
		ahead_note_entry(listing->mounted->ahead, inode, number);
	return 1;
}

/*
 * Add the item at a position: 0 is ".", 1 is "..", the rest are the entries. 1 when it
 * was added, 0 when it does not fit.
 */
static int list_item(struct listing *listing, uint64_t place, dwarfs_error **err)
{
	const dwarfs_image *image = listing->mounted->image;
	struct fuse_entry_param entry = { 0 };
	char name[DWARFS_NAME_BUFFER_BYTES] = ".";
	dwarfs_inode inode = listing->dir;
	size_t need, room = listing->room - listing->used;
	char *to = listing->buffer + listing->used;
	int ret = 0;

	if (place == 1) {
		strcpy(name, "..");
		ret = dwarfs_dir_parent(image, listing->dir, &inode, err);
	} else if (place > 1) {
		const uint32_t number = listing->first.number + (uint32_t)(place - 2);

		if (!describe_entry(listing, dwarfs_entry_at(number), name, &entry))
			return 1;
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

/* Add the items from a position on, of which there is at least one, while they fit. */
static int list_items(struct listing *listing, uint64_t place, uint64_t end,
		      dwarfs_error **err)
{
	const uint64_t most = (end - place) * MOST_ENTRY_BYTES;
	int ret = 1;

	if (most < listing->room)
		listing->room = (size_t)most;
	listing->buffer = malloc(listing->room);
	if (!listing->buffer)
		return DWARFS_ERR_NOMEM;
	if ((ret = dwarfs_stat_new(&listing->stat, err)) < 0)
		return ret;
	for (ret = 1; ret > 0 && place < end; place++)
		ret = list_item(listing, place, err);
	return ret;
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t offset, bool plus)
{
	auto_handle(dwarfs_error) *err = NULL;
	struct listing listing = {
		.req = req,
		.mounted = mounted_of(req),
		.dir = inode_of(ino),
		.plus = plus,
		.room = bytes,
	};
	const uint64_t place = (uint64_t)offset;
	uint64_t end;
	int ret;

	PERF_SPAN(listing.mounted->perfmon, PERF_FS_LIST, ino);
	ret = dwarfs_dir_range(listing.mounted->image, listing.dir, &listing.first,
			       &listing.count, &err);
	end = (uint64_t)listing.count + 2;
	if (ret == 0 && place < end)
		ret = list_items(&listing, place, end, &err);
	/* Items listed before a failure are returned first. */
	if (ret < 0 && listing.used == 0)
		reply_failure(req, ino, ret, err);
	else
		fuse_reply_buf(req, listing.buffer, listing.used);
	dwarfs_stat_free(listing.stat);
	free(listing.buffer);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t offset,
		       struct fuse_file_info *info)
{
	(void)info;
	REQUEST(req, PERF_READDIR, ino, 0);
	list(req, ino, bytes, offset, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t offset,
			   struct fuse_file_info *info)
{
	(void)info;
	REQUEST(req, PERF_READDIRPLUS, ino, 0);
	list(req, ino, bytes, offset, true);
}

/* -- the session --------------------------------------------------------------------- */

/*
 * Whether caching differs between files, or opened files are recorded; otherwise the
 * kernel need not send opens.
 */
static bool must_ask(const struct mounted *mounted)
{
	return mounted->opened || !mounted->settings->cache_files ||
	       !mounted->keep_sparse;
}

static void op_init(void *user, struct fuse_conn_info *connection)
{
	static const unsigned wanted = FUSE_CAP_READDIRPLUS | FUSE_CAP_CACHE_SYMLINKS |
				       FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS |
				       FUSE_CAP_EXPORT_SUPPORT |
				       FUSE_CAP_EXPLICIT_INVAL_DATA | CAP_SHARED_MAPPINGS;
	/* Attributes in listings are cheap here, and save a request for each file.
	 * Contents never become invalid. A splice from memory is slower than a copy. */
	static const unsigned unwanted = FUSE_CAP_READDIRPLUS_AUTO |
					 FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_SPLICE_READ |
					 FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE;
	struct mounted *mounted = user;

	/* libfuse needs it both here and as an option of the mount. */
	connection->max_read = (unsigned)mounted->settings->max_read_bytes;
	connection->want |= connection->capable & wanted;
	connection->want &= ~unwanted;
	/* Where it does, the kernel asks for the list of each entry, and obeys it. */
	if (has_access_lists(mounted->image))
		connection->want |= connection->capable & FUSE_CAP_POSIX_ACL;
	/* The kernel takes the smaller of this and its own, see dwarfs/kernel_settings.c. */
	connection->max_readahead = UINT32_MAX;
	/* Without the capability, opening a file would fail with the error. */
	mounted->no_open =
		connection->capable & FUSE_CAP_NO_OPEN_SUPPORT && !must_ask(mounted);
	mounted->no_opendir = connection->capable & FUSE_CAP_NO_OPENDIR_SUPPORT;
	mounted->agrees_on_io_uring =
		io_uring_agree(connection, mounted->settings->io_uring);
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
	.ioctl = op_ioctl,
	.setattr = op_setattr,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.create = op_create,
	.unlink = op_unlink,
	.rmdir = op_unlink,
	.symlink = op_symlink,
	.link = op_link,
	.rename = op_rename,
	.write = op_write,
	.setxattr = op_setxattr,
	.removexattr = op_removexattr,
};
