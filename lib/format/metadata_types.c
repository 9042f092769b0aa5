/* SPDX-License-Identifier: MIT */
/*
 * format/metadata_types: names and types of all fields of the metadata.
 *
 * One table for each struct, with the fields of every version of the format, in the order
 * of their numbers.
 */
#include "format/metadata.h"
#include "format/metadata_types.h"

#define NUMBER(word, width)                                                              \
	{                                                                                \
		.kind = METADATA_NUMBER, .name = (word), .bits = (width)                 \
	}
#define LIST(word, of)                                                                   \
	{                                                                                \
		.kind = METADATA_LIST, .name = (word), .item = &(of)                     \
	}
#define STRUCT(word, list)                                                               \
	{                                                                                \
		.kind = METADATA_STRUCT, .name = (word), .members = (list),              \
		.member_count = sizeof(list) / sizeof((list)[0])                         \
	}

static const struct metadata_type u8_type = NUMBER("u8", 8);
static const struct metadata_type u32_type = NUMBER("u32", 32);
static const struct metadata_type u64_type = NUMBER("u64", 64);
static const struct metadata_type bool_type = { .kind = METADATA_BOOL, .name = "bool" };
static const struct metadata_type string_type = { .kind = METADATA_STRING,
						  .name = "string" };
static const struct metadata_type u32_list = LIST("list<u32>", u32_type);
static const struct metadata_type u64_list = LIST("list<u64>", u64_type);
static const struct metadata_type string_list = LIST("list<string>", string_type);
static const struct metadata_type string_set = LIST("set<string>", string_type);

static const struct metadata_member chunk_members[] = {
	{ CHUNK_BLOCK, "block", &u32_type, false },
	{ CHUNK_OFFSET, "offset", &u32_type, false },
	{ CHUNK_SIZE, "size", &u32_type, false },
};
static const struct metadata_type chunk_type = STRUCT("chunk", chunk_members);
static const struct metadata_type chunk_list = LIST("list<chunk>", chunk_type);

static const struct metadata_member directory_members[] = {
	{ DIR_PARENT_ENTRY, "parent_entry", &u32_type, false },
	{ DIR_FIRST_ENTRY, "first_entry", &u32_type, false },
	{ DIR_SELF_ENTRY, "self_entry", &u32_type, false },
};
static const struct metadata_type directory_type = STRUCT("directory", directory_members);
static const struct metadata_type directory_list =
	LIST("list<directory>", directory_type);

static const struct metadata_member entry_members[] = {
	{ DE_NAME_INDEX, "name_index", &u32_type, false },
	{ DE_INODE_NUM, "inode_num", &u32_type, false },
};
static const struct metadata_type entry_type = STRUCT("dir_entry", entry_members);
static const struct metadata_type entry_list = LIST("list<dir_entry>", entry_type);

static const struct metadata_member inode_members[] = {
	{ INODE_NAME_INDEX_V2_2, "name_index_v2_2", &u32_type, false },
	{ INODE_MODE_INDEX, "mode_index", &u32_type, false },
	{ INODE_INODE_V2_2, "inode_v2_2", &u32_type, false },
	{ INODE_OWNER_INDEX, "owner_index", &u32_type, false },
	{ INODE_GROUP_INDEX, "group_index", &u32_type, false },
	{ INODE_ATIME_OFFSET, "atime_offset", &u64_type, false },
	{ INODE_MTIME_OFFSET, "mtime_offset", &u64_type, false },
	{ INODE_CTIME_OFFSET, "ctime_offset", &u64_type, false },
	{ INODE_BTIME_OFFSET, "btime_offset", &u64_type, false },
	{ INODE_ATIME_SUBSEC, "atime_subsec", &u64_type, false },
	{ INODE_MTIME_SUBSEC, "mtime_subsec", &u64_type, false },
	{ INODE_CTIME_SUBSEC, "ctime_subsec", &u64_type, false },
	{ INODE_BTIME_SUBSEC, "btime_subsec", &u64_type, false },
	{ INODE_NLINK_MINUS_ONE, "nlink_minus_one", &u32_type, false },
};
static const struct metadata_type inode_type = STRUCT("inode_data", inode_members);
static const struct metadata_type inode_list = LIST("list<inode_data>", inode_type);

static const struct metadata_member options_members[] = {
	{ OPT_MTIME_ONLY, "mtime_only", &bool_type, false },
	{ OPT_TIME_RESOLUTION_SEC, "time_resolution_sec", &u32_type, true },
	{ OPT_PACKED_CHUNK_TABLE, "packed_chunk_table", &bool_type, false },
	{ OPT_PACKED_DIRECTORIES, "packed_directories", &bool_type, false },
	{ OPT_PACKED_SHARED_FILES_TABLE, "packed_shared_files_table", &bool_type, false },
	{ OPT_SUBSECOND_MULTIPLIER, "subsecond_resolution_nsec_multiplier", &u32_type,
	  true },
	{ OPT_HAS_BTIME, "has_btime", &bool_type, false },
	{ OPT_INODES_HAVE_NLINK, "inodes_have_nlink", &bool_type, false },
};
static const struct metadata_type options_type = STRUCT("fs_options", options_members);

static const struct metadata_member string_table_members[] = {
	{ ST_BUFFER, "buffer", &string_type, false },
	{ ST_SYMTAB, "symtab", &string_type, true },
	{ ST_INDEX, "index", &u32_list, false },
	{ ST_PACKED_INDEX, "packed_index", &bool_type, false },
};
static const struct metadata_type string_table_type =
	STRUCT("string_table", string_table_members);

static const struct metadata_member pair32_members[] = {
	{ PAIR_FIRST, "first", &u32_type, false },
	{ PAIR_SECOND, "second", &u32_type, false },
};
static const struct metadata_type pair32_type = STRUCT("pair<u32,u32>", pair32_members);
static const struct metadata_type map32_type = {
	.kind = METADATA_MAP,
	.name = "map<u32,u32>",
	.item = &pair32_type,
};

static const struct metadata_member pair64_members[] = {
	{ PAIR_FIRST, "first", &u32_type, false },
	{ PAIR_SECOND, "second", &u64_type, false },
};
static const struct metadata_type pair64_type = STRUCT("pair<u32,u64>", pair64_members);
static const struct metadata_type map64_type = {
	.kind = METADATA_MAP,
	.name = "map<u32,u64>",
	.item = &pair64_type,
};

static const struct metadata_member size_cache_members[] = {
	{ SC_SIZE_LOOKUP, "size_lookup", &map64_type, false },
	{ SC_MIN_CHUNK_COUNT, "min_chunk_count", &u64_type, false },
	{ SC_ALLOCATED_LOOKUP, "allocated_size_lookup", &map64_type, false },
};
static const struct metadata_type size_cache_type =
	STRUCT("inode_size_cache", size_cache_members);

static const struct metadata_member history_members[] = {
	{ 1, "major", &u8_type, false },
	{ 2, "minor", &u8_type, false },
	{ 3, "dwarfs_version", &string_type, true },
	{ 4, "block_size", &u32_type, false },
	{ 5, "options", &options_type, true },
};
static const struct metadata_type history_type = STRUCT("history_entry", history_members);
static const struct metadata_type history_list =
	LIST("list<history_entry>", history_type);

static const struct metadata_member metadata_members[] = {
	{ MD_CHUNKS, "chunks", &chunk_list, false },
	{ MD_DIRECTORIES, "directories", &directory_list, false },
	{ MD_INODES, "inodes", &inode_list, false },
	{ MD_CHUNK_TABLE, "chunk_table", &u32_list, false },
	{ MD_ENTRY_TABLE_V2_2, "entry_table_v2_2", &u32_list, false },
	{ MD_SYMLINK_TABLE, "symlink_table", &u32_list, false },
	{ MD_UIDS, "uids", &u32_list, false },
	{ MD_GIDS, "gids", &u32_list, false },
	{ MD_MODES, "modes", &u32_list, false },
	{ MD_NAMES, "names", &string_list, false },
	{ MD_SYMLINKS, "symlinks", &string_list, false },
	{ MD_TIMESTAMP_BASE, "timestamp_base", &u64_type, false },
	{ MD_CHUNK_INODE_OFFSET, "chunk_inode_offset", &u32_type, false },
	{ MD_LINK_INODE_OFFSET, "link_inode_offset", &u32_type, false },
	{ MD_BLOCK_SIZE, "block_size", &u32_type, false },
	{ MD_TOTAL_FS_SIZE, "total_fs_size", &u64_type, false },
	{ MD_DEVICES, "devices", &u64_list, true },
	{ MD_OPTIONS, "options", &options_type, true },
	{ MD_DIR_ENTRIES, "dir_entries", &entry_list, true },
	{ MD_SHARED_FILES_TABLE, "shared_files_table", &u32_list, true },
	{ MD_TOTAL_HARDLINK_SIZE, "total_hardlink_size", &u64_type, true },
	{ MD_DWARFS_VERSION, "dwarfs_version", &string_type, true },
	{ MD_CREATE_TIMESTAMP, "create_timestamp", &u64_type, true },
	{ MD_COMPACT_NAMES, "compact_names", &string_table_type, true },
	{ MD_COMPACT_SYMLINKS, "compact_symlinks", &string_table_type, true },
	{ MD_PREFERRED_PATH_SEPARATOR, "preferred_path_separator", &u32_type, true },
	{ MD_FEATURES, "features", &string_set, true },
	{ MD_CATEGORY_NAMES, "category_names", &string_list, true },
	{ MD_BLOCK_CATEGORIES, "block_categories", &u32_list, true },
	{ MD_REG_FILE_SIZE_CACHE, "reg_file_size_cache", &size_cache_type, true },
	{ MD_CATEGORY_METADATA_JSON, "category_metadata_json", &string_list, true },
	{ MD_BLOCK_CATEGORY_METADATA, "block_category_metadata", &map32_type, true },
	{ MD_METADATA_VERSION_HISTORY, "metadata_version_history", &history_list, true },
	{ MD_HOLE_BLOCK_INDEX, "hole_block_index", &u32_type, true },
	{ MD_LARGE_HOLE_SIZE, "large_hole_size", &u64_list, true },
	{ MD_TOTAL_ALLOCATED_FS_SIZE, "total_allocated_fs_size", &u64_type, true },
};
const struct metadata_type dw_metadata_type = STRUCT("metadata", metadata_members);
