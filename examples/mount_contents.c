/* SPDX-License-Identifier: MIT */
/*
 * mount_contents: paths, links and files of a mounted image.
 */
#include <stdio.h>

#include "mount.h"

int find_inode(const char *path, dwarfs_inode *inode_out)
{
	dwarfs_entry entry;
	int ret;

	if ((ret = dwarfs_find(mounted, path, &entry, NULL)) == 0)
		ret = dwarfs_entry_inode(mounted, entry, inode_out, NULL);
	return ret == 0 ? 0 : ret == DWARFS_ERR_NOT_FOUND ? -ENOENT : -EIO;
}

int do_readlink(const char *path, char *buffer, size_t bytes)
{
	char target[DWARFS_LINK_BUFFER_BYTES];
	dwarfs_inode inode;
	int ret = find_inode(path, &inode);

	if (ret == 0 &&
	    dwarfs_link_read(mounted, inode, target, sizeof(target), NULL, NULL) < 0)
		ret = -EINVAL;
	if (ret == 0)
		snprintf(buffer, bytes, "%s", target);
	return ret;
}

int do_read(const char *path, char *buffer, size_t bytes, off_t offset,
	    struct fuse_file_info *info)
{
	dwarfs_inode inode;
	size_t got = 0;
	int ret = find_inode(path, &inode);

	(void)info;
	if (ret == 0 &&
	    dwarfs_read(mounted, inode, buffer, bytes, (uint64_t)offset, &got, NULL) < 0)
		ret = -EIO;
	return ret < 0 ? ret : (int)got;
}
