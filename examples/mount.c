/* SPDX-License-Identifier: MIT */
/*
 * mount: serve an image in this process, by libfuse: attributes, listings, links and
 * contents.
 *
 *     mount IMAGE MOUNTPOINT [options of libfuse, such as -f]
 *
 * The image is opened after libfuse has forked into the background, so that the fork
 * cannot lose a thread of the library.
 */
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarfs/dwarfs.h>

static dwarfs_image *image;

static int errno_of(int code)
{
	switch (code) {
	case DWARFS_ERR_NOT_FOUND:
		return -ENOENT;
	case DWARFS_ERR_NOT_DIR:
		return -ENOTDIR;
	case DWARFS_ERR_IS_DIR:
		return -EISDIR;
	case DWARFS_ERR_INVALID:
		return -EINVAL;
	case DWARFS_ERR_NOMEM:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

static int find_inode(const char *path, dwarfs_entry *entry, dwarfs_inode *inode)
{
	int ret = dwarfs_find(image, path, entry, NULL);

	return ret < 0 ? ret : dwarfs_entry_inode(image, *entry, inode, NULL);
}

static int do_getattr(const char *path, struct stat *out, struct fuse_file_info *info)
{
	dwarfs_stat *stat = NULL;
	dwarfs_entry entry;
	int ret;

	(void)info;
	if ((ret = dwarfs_find(image, path, &entry, NULL)) == 0 &&
	    (ret = dwarfs_stat_new(&stat, NULL)) == 0 &&
	    (ret = dwarfs_entry_stat(image, entry, stat, NULL)) == 0) {
		memset(out, 0, sizeof(*out));
		out->st_mode = dwarfs_stat_mode(stat);
		out->st_nlink = dwarfs_stat_nlink(stat);
		out->st_uid = dwarfs_stat_uid(stat);
		out->st_gid = dwarfs_stat_gid(stat);
		out->st_size = (off_t)dwarfs_stat_bytes(stat);
		out->st_mtime = (time_t)dwarfs_stat_seconds(stat, DWARFS_MTIME);
	}
	dwarfs_stat_free(stat);
	return ret < 0 ? errno_of(ret) : 0;
}

static int do_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
		      struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
	char name[DWARFS_NAME_BUFFER_BYTES];
	dwarfs_entry entry;
	dwarfs_inode inode;
	uint32_t count;
	int ret;

	(void)offset;
	(void)info;
	(void)flags;
	if ((ret = find_inode(path, &entry, &inode)) < 0 ||
	    (ret = dwarfs_dir_range(image, inode, &entry, &count, NULL)) < 0)
		return errno_of(ret);
	fill(buffer, ".", NULL, 0, (enum fuse_fill_dir_flags)0);
	fill(buffer, "..", NULL, 0, (enum fuse_fill_dir_flags)0);
	for (; count > 0; count--, entry.number++)
		if (dwarfs_entry_name(image, entry, name, sizeof(name), NULL, NULL) == 0)
			fill(buffer, name, NULL, 0, (enum fuse_fill_dir_flags)0);
	return 0;
}

static int do_readlink(const char *path, char *buffer, size_t bytes)
{
	char target[DWARFS_LINK_BUFFER_BYTES];
	dwarfs_entry entry;
	dwarfs_inode inode;
	int ret;

	if ((ret = find_inode(path, &entry, &inode)) < 0 ||
	    (ret = dwarfs_link_read(image, inode, target, sizeof(target), NULL, NULL)) <
		    0)
		return errno_of(ret);
	snprintf(buffer, bytes, "%s", target);
	return 0;
}

static int do_read(const char *path, char *buffer, size_t bytes, off_t offset,
		   struct fuse_file_info *info)
{
	dwarfs_entry entry;
	dwarfs_inode inode;
	size_t got;
	int ret;

	(void)info;
	if ((ret = find_inode(path, &entry, &inode)) < 0 ||
	    (ret = dwarfs_read(image, inode, buffer, bytes, (uint64_t)offset, &got,
			       NULL)) < 0)
		return errno_of(ret);
	return (int)got;
}

static void *do_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	const char *path = (const char *)fuse_get_context()->private_data;
	dwarfs_error *err = NULL;

	(void)connection;
	config->kernel_cache = 1;
	if (dwarfs_image_open(NULL, path, NULL, &image, &err) < 0) {
		fprintf(stderr, "mount: %s\n", dwarfs_error_message(err));
		dwarfs_error_free(err);
		fuse_exit(fuse_get_context()->fuse);
	}
	return NULL;
}

static void do_destroy(void *data)
{
	(void)data;
	dwarfs_image_free(image);
	image = NULL;
}

int main(int argc, char **argv)
{
	struct fuse_operations operations;
	char *path;
	int code;

	if (argc < 3) {
		fprintf(stderr, "usage: %s IMAGE MOUNTPOINT [options]\n", argv[0]);
		return 2;
	}
	if (!(path = realpath(argv[1],
			      NULL))) { /* libfuse changes to the root directory */
		perror(argv[1]);
		return 1;
	}
	memset(&operations, 0, sizeof(operations));
	operations.init = do_init;
	operations.destroy = do_destroy;
	operations.getattr = do_getattr;
	operations.readdir = do_readdir;
	operations.readlink = do_readlink;
	operations.read = do_read;
	argv[1] = argv[0];
	code = fuse_main(argc - 1, argv + 1, &operations, path);
	free(path);
	return code;
}
