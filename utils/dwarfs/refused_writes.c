/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/refused_writes: requests that would change something. The kernel refuses them itself,
 * unless root has remounted the file system for writing.
 */
#include <errno.h>

#include "dwarfs/mount.h"

void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int which,
		struct fuse_file_info *info)
{
	(void)ino;
	(void)attr;
	(void)which;
	(void)info;
	fuse_reply_err(req, EROFS);
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	      dev_t device)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)device;
	fuse_reply_err(req, EROFS);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	op_mknod(req, parent, name, mode, 0);
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *info)
{
	(void)info;
	op_mknod(req, parent, name, mode, 0);
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	op_mknod(req, parent, name, 0, 0);
}

void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	op_mknod(req, parent, name, 0, 0);
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino;
	op_mknod(req, parent, name, 0, 0);
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags)
{
	(void)new_parent;
	(void)new_name;
	(void)flags;
	op_mknod(req, parent, name, 0, 0);
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t bytes,
	      off_t offset, struct fuse_file_info *info)
{
	(void)ino;
	(void)data;
	(void)bytes;
	(void)offset;
	(void)info;
	fuse_reply_err(req, EROFS);
}

void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
		 size_t bytes, int flags)
{
	(void)ino;
	(void)name;
	(void)value;
	(void)bytes;
	(void)flags;
	fuse_reply_err(req, EROFS);
}

void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	op_setxattr(req, ino, name, NULL, 0, 0);
}
