/* SPDX-License-Identifier: MIT */
/*
 * The parts of the example mount: what libfuse asks for, by path.
 */
#ifndef EXAMPLE_MOUNT_H
#define EXAMPLE_MOUNT_H

#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fuse.h>

#include <dwarfs/dwarfs.h>

extern dwarfs_image *mounted;

/* mount_tree.c */
int do_getattr(const char *path, struct stat *out, struct fuse_file_info *info);
int do_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
	       struct fuse_file_info *info, enum fuse_readdir_flags flags);

/* mount_contents.c */
int find_inode(const char *path, dwarfs_inode *inode_out);
int do_readlink(const char *path, char *buffer, size_t bytes);
int do_read(const char *path, char *buffer, size_t bytes, off_t offset,
	    struct fuse_file_info *info);

#endif
