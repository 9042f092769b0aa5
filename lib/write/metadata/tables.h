/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/tables: the tables of the metadata while they are filled.
 *
 * Filled, in this order, by inode_numbers.c, inode_attributes.c, directory_entries.c,
 * file_chunks.c and block_categories.c; owned by metadata.c.
 */
#ifndef DW_WRITE_METADATA_TABLES_H
#define DW_WRITE_METADATA_TABLES_H

#include "format/metadata.h"
#include "write/metadata/metadata.h"
#include "write/metadata/string_tables.h"

struct tables {
	const struct metadata_input *in;
	const struct build_options *options;
	struct build_packing packing;
	uint64_t seconds_per_unit;	 /* of stored times */
	uint32_t ns_per_part;		 /* of their fractions; 0 for none */
	uint32_t first[CLASS_COUNT + 1]; /* number of the first inode of each class */
	uint32_t *inode_of;		 /* inode of the tree, by number in the image */

	uint32_t *files; /* contents in the order of the chunk table */
	uint32_t unique_count, file_count;

	struct sorted_strings names, targets;
	struct string_table name_table, target_table;
	struct number_set uids, gids, modes;
	struct freeze_chunk *chunks;
	struct freeze_directory *directories;
	struct freeze_inode *inodes;
	struct freeze_entry *entries;
	uint32_t *chunk_table, *symlink_table, *shared;
	size_t shared_count;
	uint64_t *devices, *large_holes;
	size_t large_hole_count, large_hole_room;
	struct freeze_pair64 *sizes, *allocated;
	size_t size_count, size_room, allocated_count, allocated_room;
	struct span feature;
	struct span *category_names, *category_metadata;
	uint32_t *block_categories;
	struct freeze_pair32 *block_metadata;
	struct freeze_history_entry *versions;
	struct freeze_metadata out;
};

/* Contents by their index in the chunk table. */
static inline const struct content *dw_tables_content(const struct tables *tables,
						      uint32_t file_index)
{
	return &tables->in->contents->list[tables->files[file_index]];
}

/* Free all that they own. */
void dw_tables_free(struct tables *tables);

/* Assign inode numbers by class. */
int dw_tables_number(struct tables *tables, dwarfs_error **err);

/* Modes, owners, times, link counts. */
int dw_tables_fill_inodes(struct tables *tables, dwarfs_error **err);

/* Names, link targets, devices, directories and entries. */
int dw_tables_fill_entries(struct tables *tables, dwarfs_error **err);

/* Chunks, holes, sizes and shared files; also sets the counts for the caller. */
int dw_tables_fill_files(struct tables *tables, dwarfs_error **err);

/* Block categories, if there are any. */
int dw_tables_fill_block_categories(struct tables *tables, dwarfs_error **err);

#endif
