/* SPDX-License-Identifier: MIT */
/*
 * dwarfs_ops: what the kernel may ask of a mounted image.
 */
#ifndef UTILS_DWARFS_OPS_H
#define UTILS_DWARFS_OPS_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "common.h"

/* What the operations work on; never changes while the image is mounted. */
struct mounted {
	const dwarfs_image *image;
	uint64_t block_bytes; /* st_blksize */
	bool set_uid, set_gid;
	uint32_t uid, gid;
	bool readonly;	   /* hide the write bits */
	bool cache_files;  /* let the kernel keep what it read */
	bool cache_sparse; /* also of files with holes */
};

/* The user data of the session is a struct mounted. */
extern const struct fuse_lowlevel_ops dwarfs_ops;

#endif
