/* SPDX-License-Identifier: MIT */
/*
 * write/items/item_contents: copy the contents of an item into the spool.
 *
 * Private to add_item.c, which begins and ends the contents.
 */
#ifndef DW_WRITE_ITEMS_ITEM_CONTENTS_H
#define DW_WRITE_ITEMS_ITEM_CONTENTS_H

#include "base/progress.h"
#include "write/items/item.h"
#include "write/items/spool.h"

struct spool_copy {
	struct spool *spool;
	const dwarfs_task *task; /* or NULL */
	uint64_t bytes;		 /* size of the contents so far */
};

int dw_item_contents_memory(struct spool_copy *copy, struct span memory,
			    dwarfs_error **err);
int dw_item_contents_io(struct spool_copy *copy, dwarfs_io *io, dwarfs_error **err);
int dw_item_contents_reader(struct spool_copy *copy, const dwarfs_item *item,
			    dwarfs_error **err);

#endif
