/* SPDX-License-Identifier: MIT */
/*
 * extract/hard_links: find the file, already written, that an entry is a hard link to.
 */
#ifndef DW_EXTRACT_HARD_LINKS_H
#define DW_EXTRACT_HARD_LINKS_H

#include <dwarfs/walk.h>

#include "base/memory.h"

struct links {
	const dwarfs_image *image;
	dwarfs_entry *written; /* by inode: the last entry written, the root for none */
	/*
	 * By entry: the one written before it with the same inode. Only in the formats up
	 * to 2.2, where files with equal contents share an inode; those that differ in an
	 * attribute are separate files.
	 */
	dwarfs_entry *earlier;
	dwarfs_stat *scratch;
};

int dw_links_init(struct links *links, const dwarfs_image *image, dwarfs_error **err);
void dw_links_release(struct links *links);

/* The entry to link to, or the root for none. */
int dw_links_find(struct links *links, const dwarfs_stat *stat, dwarfs_entry *entry_out,
		  dwarfs_error **err);

/* The file of this entry was written. */
void dw_links_add(struct links *links, const dwarfs_stat *stat, dwarfs_entry entry);

#endif
