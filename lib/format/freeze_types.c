/* SPDX-License-Identifier: MIT */
/*
 * format/freeze_types: how the structs of freeze.h map to frozen ones.
 *
 * One table for each struct, in the order of the numbers of its fields.
 */
#include "format/freeze_types.h"
#include "format/metadata.h"

#define MEMBER(where, number, name, as)                                                  \
	{                                                                                \
		.id = (number), .type = &(as), .at = offsetof(struct where, name)        \
	}
#define MAYBE(where, number, name, as)                                                   \
	{                                                                                \
		.id = (number), .type = &(as), .at = offsetof(struct where, name),       \
		.optional = true, .present_at = offsetof(struct where, has_##name)       \
	}
#define STRUCT(where, list, is_plain)                                                    \
	{                                                                                \
		.kind = KIND_STRUCT, .bytes = sizeof(struct where), .plain = (is_plain), \
		.members = (list), .member_count = sizeof(list) / sizeof((list)[0])      \
	}
#define LIST(of, aligned)                                                                \
	{                                                                                \
		.kind = KIND_LIST, .bytes = sizeof(struct freeze_table), .item = &(of),  \
		.align = (aligned)                                                       \
	}

static const struct freeze_type u32_type = { KIND_U32, sizeof(uint32_t), .plain = true };
static const struct freeze_type u64_type = { KIND_U64, sizeof(uint64_t), .plain = true };
static const struct freeze_type bool_type = { KIND_BOOL, sizeof(bool), .plain = true };
static const struct freeze_type string_type = { KIND_STRING, sizeof(struct span) };
static const struct freeze_type u32_list_type = LIST(u32_type, 1);
static const struct freeze_type u64_list_type = LIST(u64_type, 1);
static const struct freeze_type string_list_type = LIST(string_type, 1);

static const struct freeze_member chunk_members[] = {
	MEMBER(freeze_chunk, CHUNK_BLOCK, block, u32_type),
	MEMBER(freeze_chunk, CHUNK_OFFSET, offset, u32_type),
	MEMBER(freeze_chunk, CHUNK_SIZE, size, u32_type),
};
static const struct freeze_type chunk_type = STRUCT(freeze_chunk, chunk_members, true);
static const struct freeze_type chunk_list_type = LIST(chunk_type, 1);

static const struct freeze_member directory_members[] = {
	MEMBER(freeze_directory, DIR_PARENT_ENTRY, parent_entry, u32_type),
	MEMBER(freeze_directory, DIR_FIRST_ENTRY, first_entry, u32_type),
	MEMBER(freeze_directory, DIR_SELF_ENTRY, self_entry, u32_type),
};
static const struct freeze_type directory_type =
	STRUCT(freeze_directory, directory_members, true);
static const struct freeze_type directory_list_type = LIST(directory_type, 1);

static const struct freeze_member entry_members[] = {
	MEMBER(freeze_entry, DE_NAME_INDEX, name_index, u32_type),
	MEMBER(freeze_entry, DE_INODE_NUM, inode_num, u32_type),
};
static const struct freeze_type entry_type = STRUCT(freeze_entry, entry_members, true);
static const struct freeze_type entry_list_type = LIST(entry_type, 1);

static const struct freeze_member inode_members[] = {
	MEMBER(freeze_inode, INODE_MODE_INDEX, mode_index, u32_type),
	MEMBER(freeze_inode, INODE_OWNER_INDEX, owner_index, u32_type),
	MEMBER(freeze_inode, INODE_GROUP_INDEX, group_index, u32_type),
	MEMBER(freeze_inode, INODE_ATIME_OFFSET, atime_offset, u64_type),
	MEMBER(freeze_inode, INODE_MTIME_OFFSET, mtime_offset, u64_type),
	MEMBER(freeze_inode, INODE_CTIME_OFFSET, ctime_offset, u64_type),
	MEMBER(freeze_inode, INODE_BTIME_OFFSET, btime_offset, u64_type),
	MEMBER(freeze_inode, INODE_ATIME_SUBSEC, atime_subsec, u32_type),
	MEMBER(freeze_inode, INODE_MTIME_SUBSEC, mtime_subsec, u32_type),
	MEMBER(freeze_inode, INODE_CTIME_SUBSEC, ctime_subsec, u32_type),
	MEMBER(freeze_inode, INODE_BTIME_SUBSEC, btime_subsec, u32_type),
	MEMBER(freeze_inode, INODE_NLINK_MINUS_ONE, nlink_minus_one, u32_type),
};
static const struct freeze_type inode_type = STRUCT(freeze_inode, inode_members, true);
static const struct freeze_type inode_list_type = LIST(inode_type, 1);

static const struct freeze_member options_members[] = {
	MEMBER(freeze_options, OPT_MTIME_ONLY, mtime_only, bool_type),
	MAYBE(freeze_options, OPT_TIME_RESOLUTION_SEC, time_resolution_sec, u32_type),
	MEMBER(freeze_options, OPT_PACKED_CHUNK_TABLE, packed_chunk_table, bool_type),
	MEMBER(freeze_options, OPT_PACKED_DIRECTORIES, packed_directories, bool_type),
	MEMBER(freeze_options, OPT_PACKED_SHARED_FILES_TABLE, packed_shared_files_table,
	       bool_type),
	MAYBE(freeze_options, OPT_SUBSECOND_MULTIPLIER, subsecond_multiplier, u32_type),
	MEMBER(freeze_options, OPT_HAS_BTIME, has_btime, bool_type),
	MEMBER(freeze_options, OPT_INODES_HAVE_NLINK, inodes_have_nlink, bool_type),
};
static const struct freeze_type options_type =
	STRUCT(freeze_options, options_members, true);

static const struct freeze_member string_table_members[] = {
	MEMBER(freeze_string_table, ST_BUFFER, buffer, string_type),
	MAYBE(freeze_string_table, ST_SYMTAB, symtab, string_type),
	MEMBER(freeze_string_table, ST_INDEX, index, u32_list_type),
	MEMBER(freeze_string_table, ST_PACKED_INDEX, packed_index, bool_type),
};
static const struct freeze_type string_table_type =
	STRUCT(freeze_string_table, string_table_members, false);

/* As the established writer, align maps to their pairs. */
static const struct freeze_member pair32_members[] = {
	MEMBER(freeze_pair32, PAIR_FIRST, first, u32_type),
	MEMBER(freeze_pair32, PAIR_SECOND, second, u32_type),
};
static const struct freeze_type pair32_type = STRUCT(freeze_pair32, pair32_members, true);
static const struct freeze_type map32_type = LIST(pair32_type, 4);

static const struct freeze_member pair64_members[] = {
	MEMBER(freeze_pair64, PAIR_FIRST, first, u32_type),
	MEMBER(freeze_pair64, PAIR_SECOND, second, u64_type),
};
static const struct freeze_type pair64_type = STRUCT(freeze_pair64, pair64_members, true);
static const struct freeze_type map64_type = LIST(pair64_type, 8);

static const struct freeze_member size_cache_members[] = {
	MEMBER(freeze_size_cache, SC_SIZE_LOOKUP, size_lookup, map64_type),
	MEMBER(freeze_size_cache, SC_MIN_CHUNK_COUNT, min_chunk_count, u64_type),
	MEMBER(freeze_size_cache, SC_ALLOCATED_LOOKUP, allocated_lookup, map64_type),
};
static const struct freeze_type size_cache_type =
	STRUCT(freeze_size_cache, size_cache_members, false);

static const struct freeze_member history_members[] = {
	MEMBER(freeze_history_entry, 1, major, u32_type),
	MEMBER(freeze_history_entry, 2, minor, u32_type),
	MAYBE(freeze_history_entry, 3, dwarfs_version, string_type),
	MEMBER(freeze_history_entry, 4, block_size, u32_type),
	MAYBE(freeze_history_entry, 5, options, options_type),
};
static const struct freeze_type history_type =
	STRUCT(freeze_history_entry, history_members, false);
static const struct freeze_type history_list_type = LIST(history_type, 1);

static const struct freeze_member metadata_members[] = {
	MEMBER(freeze_metadata, MD_CHUNKS, chunks, chunk_list_type),
	MEMBER(freeze_metadata, MD_DIRECTORIES, directories, directory_list_type),
	MEMBER(freeze_metadata, MD_INODES, inodes, inode_list_type),
	MEMBER(freeze_metadata, MD_CHUNK_TABLE, chunk_table, u32_list_type),
	MEMBER(freeze_metadata, MD_SYMLINK_TABLE, symlink_table, u32_list_type),
	MEMBER(freeze_metadata, MD_UIDS, uids, u32_list_type),
	MEMBER(freeze_metadata, MD_GIDS, gids, u32_list_type),
	MEMBER(freeze_metadata, MD_MODES, modes, u32_list_type),
	MEMBER(freeze_metadata, MD_NAMES, names, string_list_type),
	MEMBER(freeze_metadata, MD_SYMLINKS, symlinks, string_list_type),
	MEMBER(freeze_metadata, MD_TIMESTAMP_BASE, timestamp_base, u64_type),
	MEMBER(freeze_metadata, MD_BLOCK_SIZE, block_size, u32_type),
	MEMBER(freeze_metadata, MD_TOTAL_FS_SIZE, total_fs_size, u64_type),
	MAYBE(freeze_metadata, MD_DEVICES, devices, u64_list_type),
	MAYBE(freeze_metadata, MD_OPTIONS, options, options_type),
	MAYBE(freeze_metadata, MD_DIR_ENTRIES, dir_entries, entry_list_type),
	MAYBE(freeze_metadata, MD_SHARED_FILES_TABLE, shared_files_table, u32_list_type),
	MAYBE(freeze_metadata, MD_TOTAL_HARDLINK_SIZE, total_hardlink_size, u64_type),
	MAYBE(freeze_metadata, MD_DWARFS_VERSION, dwarfs_version, string_type),
	MAYBE(freeze_metadata, MD_CREATE_TIMESTAMP, create_timestamp, u64_type),
	MAYBE(freeze_metadata, MD_COMPACT_NAMES, compact_names, string_table_type),
	MAYBE(freeze_metadata, MD_COMPACT_SYMLINKS, compact_symlinks, string_table_type),
	MAYBE(freeze_metadata, MD_PREFERRED_PATH_SEPARATOR, preferred_path_separator,
	      u32_type),
	MAYBE(freeze_metadata, MD_FEATURES, features, string_list_type),
	MAYBE(freeze_metadata, MD_CATEGORY_NAMES, category_names, string_list_type),
	MAYBE(freeze_metadata, MD_BLOCK_CATEGORIES, block_categories, u32_list_type),
	MAYBE(freeze_metadata, MD_REG_FILE_SIZE_CACHE, reg_file_size_cache,
	      size_cache_type),
	MAYBE(freeze_metadata, MD_CATEGORY_METADATA_JSON, category_metadata_json,
	      string_list_type),
	MAYBE(freeze_metadata, MD_BLOCK_CATEGORY_METADATA, block_category_metadata,
	      map32_type),
	MAYBE(freeze_metadata, MD_METADATA_VERSION_HISTORY, metadata_version_history,
	      history_list_type),
	MAYBE(freeze_metadata, MD_HOLE_BLOCK_INDEX, hole_block_index, u32_type),
	MAYBE(freeze_metadata, MD_LARGE_HOLE_SIZE, large_hole_size, u64_list_type),
	MAYBE(freeze_metadata, MD_TOTAL_ALLOCATED_FS_SIZE, total_allocated_fs_size,
	      u64_type),
};
const struct freeze_type dw_freeze_metadata_type =
	STRUCT(freeze_metadata, metadata_members, false);
