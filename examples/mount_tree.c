/* SPDX-License-Identifier: MIT */
/*
 * mount_tree: the attributes and the directories of a mounted image. Links are followed by
 * the kernel.
 */
#include <string.h>

#include "mount.h"

int do_getattr(const char *path, struct stat *out, struct fuse_file_info *info)
{
	dwarfs_stat *stat = NULL;
	dwarfs_inode inode;
	int ret = find_inode(path, &inode);

	(void)info;
	if (ret == 0 && (dwarfs_stat_new(&stat, NULL) < 0 ||
			 dwarfs_inode_stat(mounted, inode, stat, NULL) < 0))
		ret = -EIO;
	memset(out, 0, sizeof(*out));
	if (ret == 0) {
		out->st_mode = dwarfs_stat_mode(stat);
		out->st_nlink = dwarfs_stat_nlink(stat);
		out->st_uid = dwarfs_stat_uid(stat);
		out->st_gid = dwarfs_stat_gid(stat);
		out->st_size = (off_t)dwarfs_stat_bytes(stat);
		out->st_mtime = (time_t)dwarfs_stat_seconds(stat, DWARFS_MTIME);
	}
	dwarfs_stat_free(stat);
	return ret;
}

int do_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
	       struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
	const enum fuse_fill_dir_flags none = (enum fuse_fill_dir_flags)0;
	char name[DWARFS_NAME_BUFFER_BYTES];
	dwarfs_entry entry;
	dwarfs_inode inode;
	uint32_t count;
	int ret = find_inode(path, &inode);

	(void)offset, (void)info, (void)flags;
	if (ret == 0 && dwarfs_dir_range(mounted, inode, &entry, &count, NULL) < 0)
		ret = -ENOTDIR;
	if (ret < 0)
		return ret;
	fill(buffer, ".", NULL, 0, none);
	fill(buffer, "..", NULL, 0, none);
	for (; count > 0; count--, entry.number++)
		if (dwarfs_entry_name(mounted, entry, name, sizeof(name), NULL, NULL) ==
		    0)
			fill(buffer, name, NULL, 0, none);
	return 0;
}
