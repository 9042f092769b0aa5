/* SPDX-License-Identifier: MIT */
/*
 * write/items/entry_record: the record of an item, or of an entry of a directory or an image.
 */
#ifndef DW_WRITE_ITEMS_ENTRY_RECORD_H
#define DW_WRITE_ITEMS_ENTRY_RECORD_H

#include "write/items/assembly.h"
#include "write/items/item.h"

/* The record of an item, without its contents, that is not a hard link. */
int dw_record_of_item(struct assembly *assembly, const dwarfs_item *item,
		      struct record *record, dwarfs_error **err);

/* The contents are those of a file on disk, in a directory among the disk paths. */
int dw_record_add_file(struct assembly *assembly, struct record *record,
		       const struct os_stat *stat, uint32_t directory, struct span name,
		       dwarfs_error **err);

/* Make it a record of a kind that has a text. */
int dw_record_add_string(struct assembly *assembly, struct record *record,
			 enum record_kind kind, struct span text, dwarfs_error **err);

#endif
