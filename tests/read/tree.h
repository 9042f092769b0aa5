/* SPDX-License-Identifier: MIT */
/*
 * A small tree with inodes of each class, whose metadata a test can change before it is
 * opened.
 */
#ifndef TESTS_READ_TREE_H
#define TESTS_READ_TREE_H

#include "format/freeze.h"
#include "support/craft.h"

#include <dwarfs/walk.h>

#define TABLE(array, items)                                                              \
	{                                                                                \
		(array), (items)                                                         \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT(literal)                                                                    \
	{                                                                                \
		(const uint8_t *)(literal), sizeof(literal) - 1                          \
	}

/*
 * The tables of the tree, to be copied and changed; and all of its metadata. Its paths
 * are listed in tree.c.
 */
extern const uint32_t tree_modes[5];
extern const struct span tree_names[7];
extern const struct freeze_entry tree_entries[9];
extern const struct freeze_directory tree_directories[4];
extern const struct freeze_inode tree_inodes[8];
extern const uint32_t tree_chunk_table[3];
struct freeze_metadata tree(void);

/* Append a block and metadata, and open the image. */
dwarfs_image *open_metadata(struct craft *craft, const struct freeze_metadata *metadata);

/* Whether it can be opened; if so, the results of reading the name of entry 3 and of
 * checking the metadata. */
int open_changed(const struct freeze_metadata *metadata, int *name_out, int *check_out);

#endif
