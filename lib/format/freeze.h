/* SPDX-License-Identifier: MIT */
/*
 * format/freeze: write the metadata of an image and the schema that describes it.
 *
 * Takes tables in memory; gives the bytes of the METADATA and SCHEMA sections, laid out
 * as by the original mkdwarfs. The numbers and meanings of fields are in
 * format/metadata.h. Does not check contents: the tables are those of the writer.
 */
#ifndef DW_FORMAT_FREEZE_H
#define DW_FORMAT_FREEZE_H

#include "base/memory.h"

/* A list; the type of its items is given where it is used. Borrowed. */
struct freeze_table {
	const void *data;
	size_t count;
};

struct freeze_chunk {
	uint32_t block, offset, size;
};

struct freeze_directory {
	uint32_t parent_entry, first_entry, self_entry;
};

struct freeze_entry {
	uint32_t name_index, inode_num;
};

struct freeze_inode {
	uint64_t atime_offset, mtime_offset, ctime_offset, btime_offset;
	uint32_t atime_subsec, mtime_subsec, ctime_subsec, btime_subsec;
	uint32_t mode_index, owner_index, group_index;
	uint32_t nlink_minus_one;
};

struct freeze_options {
	bool mtime_only;
	bool has_time_resolution_sec;
	bool packed_chunk_table;
	bool packed_directories;
	bool packed_shared_files_table;
	bool has_subsecond_multiplier;
	bool has_btime;
	bool inodes_have_nlink;
	uint32_t time_resolution_sec;
	uint32_t subsecond_multiplier;
};

struct freeze_string_table {
	struct span buffer;
	struct span symtab;
	struct freeze_table index; /* uint32_t */
	bool has_symtab;
	bool packed_index;
};

struct freeze_pair32 {
	uint32_t first, second;
};

struct freeze_pair64 {
	uint32_t first;
	uint64_t second;
};

struct freeze_size_cache {
	struct freeze_table size_lookup; /* struct freeze_pair64, ascending */
	uint64_t min_chunk_count;
	struct freeze_table allocated_lookup; /* struct freeze_pair64, ascending */
};

struct freeze_history_entry {
	uint32_t major, minor;
	struct span dwarfs_version;
	bool has_dwarfs_version;
	bool has_options;
	uint32_t block_size;
	struct freeze_options options;
};

/* All of the metadata. A member with a has_ member is optional. */
struct freeze_metadata {
	struct freeze_table chunks;	   /* struct freeze_chunk */
	struct freeze_table directories;   /* struct freeze_directory */
	struct freeze_table inodes;	   /* struct freeze_inode */
	struct freeze_table chunk_table;   /* uint32_t */
	struct freeze_table symlink_table; /* uint32_t */
	struct freeze_table uids, gids;	   /* uint32_t */
	struct freeze_table modes;	   /* uint32_t */
	struct freeze_table names;	   /* struct span */
	struct freeze_table symlinks;	   /* struct span */
	uint64_t timestamp_base;
	uint64_t total_fs_size;
	uint32_t block_size;
	bool has_devices;
	bool has_options;
	bool has_dir_entries;
	bool has_shared_files_table;
	bool has_total_hardlink_size;
	bool has_dwarfs_version;
	bool has_create_timestamp;
	bool has_compact_names;
	bool has_compact_symlinks;
	bool has_preferred_path_separator;
	bool has_features;
	bool has_category_names;
	bool has_block_categories;
	bool has_reg_file_size_cache;
	bool has_category_metadata_json;
	bool has_block_category_metadata;
	bool has_metadata_version_history;
	bool has_hole_block_index;
	bool has_large_hole_size;
	bool has_total_allocated_fs_size;
	struct freeze_table devices; /* uint64_t */
	struct freeze_options options;
	struct freeze_table dir_entries;	/* struct freeze_entry */
	struct freeze_table shared_files_table; /* uint32_t */
	uint64_t total_hardlink_size;
	struct span dwarfs_version;
	uint64_t create_timestamp;
	struct freeze_string_table compact_names, compact_symlinks;
	uint32_t preferred_path_separator;
	uint32_t hole_block_index;
	struct freeze_table features;	      /* struct span, ascending */
	struct freeze_table category_names;   /* struct span */
	struct freeze_table block_categories; /* uint32_t */
	struct freeze_size_cache reg_file_size_cache;
	struct freeze_table category_metadata_json;  /* struct span */
	struct freeze_table block_category_metadata; /* struct freeze_pair32, ascending */
	struct freeze_table metadata_version_history; /* struct freeze_history_entry */
	struct freeze_table large_hole_size;	      /* uint64_t */
	uint64_t total_allocated_fs_size;
};

/* Both buffers must be empty. Columns are as wide as their widest value, in bits; with
 * whole_bytes, in bytes: that is larger, but smaller after compression, since codecs
 * find repeated records only if they begin at bytes. */
int dw_freeze(const struct freeze_metadata *metadata, bool whole_bytes,
	      struct buffer *schema_out, struct buffer *data_out, dwarfs_error **err);

#endif
