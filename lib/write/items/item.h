/* SPDX-License-Identifier: MIT */
/*
 * write/items/item: the members of a dwarfs_item. See <dwarfs/item.h>.
 */
#ifndef DW_WRITE_ITEMS_ITEM_H
#define DW_WRITE_ITEMS_ITEM_H

#include <dwarfs/item.h>

#include "os/dir.h"
#include "os/io.h"

enum item_kind {
	ITEM_EMPTY,
	ITEM_PATH,
	ITEM_IO,
	ITEM_MEMORY,
	ITEM_READER,
};

struct dwarfs_item {
	uint32_t mode, uid, gid;
	uint64_t device; /* as os_stat.rdev */
	struct os_time mtime, atime, ctime, btime;
	bool has_atime, has_ctime, has_btime;
	bool is_hard_link;
	struct buffer text;   /* target of a symbolic link, or path of a hard link */
	struct buffer xattrs; /* as by dw_xattr_list_append() */

	enum item_kind kind;
	char *path;
	dwarfs_io *io;
	struct span memory;
	dwarfs_item_read_fn read;
	void *user;
	uint64_t bytes; /* UINT64_MAX: not known in advance */
};

/* Check that a path consists of valid names; "" is valid. */
int dw_item_check_path(struct span path, dwarfs_error **err);

/* The number of a device, as os_stat.rdev. */
static inline uint64_t dw_device_number(uint32_t major, uint32_t minor)
{
	uint64_t high = major, low = minor;

	return (low & 0xff) | (high & 0xfff) << 8 | (low & ~UINT64_C(0xff)) << 12 |
	       (high & ~UINT64_C(0xfff)) << 32;
}

/* Cut the next name off such a path; empty at the end. */
struct span dw_item_next_name(struct span *path);

#endif
