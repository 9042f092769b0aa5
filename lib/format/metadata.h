/* SPDX-License-Identifier: MIT */
/*
 * format/metadata: the numbers of the fields of the metadata, as schemas name them.
 *
 * Types are in comments. Reader and writer use the same names.
 */
#ifndef DW_FORMAT_METADATA_H
#define DW_FORMAT_METADATA_H

enum metadata_field {
	MD_CHUNKS = 1,			  /* list of chunk */
	MD_DIRECTORIES = 2,		  /* list of directory */
	MD_INODES = 3,			  /* list of inode_data */
	MD_CHUNK_TABLE = 4,		  /* list of u32 */
	MD_ENTRY_TABLE_V2_2 = 5,	  /* list of u32 */
	MD_SYMLINK_TABLE = 6,		  /* list of u32 */
	MD_UIDS = 7,			  /* list of u32 */
	MD_GIDS = 8,			  /* list of u32 */
	MD_MODES = 9,			  /* list of u32 */
	MD_NAMES = 10,			  /* list of string */
	MD_SYMLINKS = 11,		  /* list of string */
	MD_TIMESTAMP_BASE = 12,		  /* u64 */
	MD_CHUNK_INODE_OFFSET = 13,	  /* u32; not reliable, never written */
	MD_LINK_INODE_OFFSET = 14,	  /* the same */
	MD_BLOCK_SIZE = 15,		  /* u32 */
	MD_TOTAL_FS_SIZE = 16,		  /* u64 */
	MD_DEVICES = 17,		  /* optional list of u64 */
	MD_OPTIONS = 18,		  /* optional fs_options */
	MD_DIR_ENTRIES = 19,		  /* optional list of dir_entry */
	MD_SHARED_FILES_TABLE = 20,	  /* optional list of u32 */
	MD_TOTAL_HARDLINK_SIZE = 21,	  /* optional u64 */
	MD_DWARFS_VERSION = 22,		  /* optional string */
	MD_CREATE_TIMESTAMP = 23,	  /* optional u64 */
	MD_COMPACT_NAMES = 24,		  /* optional string_table */
	MD_COMPACT_SYMLINKS = 25,	  /* optional string_table */
	MD_PREFERRED_PATH_SEPARATOR = 26, /* optional u32 */
	MD_FEATURES = 27,		  /* optional set of string */
	MD_CATEGORY_NAMES = 28,		  /* optional list of string */
	MD_BLOCK_CATEGORIES = 29,	  /* optional list of u32 */
	MD_REG_FILE_SIZE_CACHE = 30,	  /* optional inode_size_cache */
	MD_CATEGORY_METADATA_JSON = 31,	  /* optional list of string */
	MD_BLOCK_CATEGORY_METADATA = 32,  /* optional map of u32 to u32 */
	MD_METADATA_VERSION_HISTORY = 33, /* optional list of history_entry */
	MD_HOLE_BLOCK_INDEX = 34,	  /* optional u32 */
	MD_LARGE_HOLE_SIZE = 35,	  /* optional list of u64 */
	MD_TOTAL_ALLOCATED_FS_SIZE = 36,  /* optional u64 */
};

enum chunk_field { CHUNK_BLOCK = 1, CHUNK_OFFSET = 2, CHUNK_SIZE = 3 };

enum directory_field { DIR_PARENT_ENTRY = 1, DIR_FIRST_ENTRY = 2, DIR_SELF_ENTRY = 3 };

enum dir_entry_field { DE_NAME_INDEX = 1, DE_INODE_NUM = 2 };

enum inode_field {
	INODE_NAME_INDEX_V2_2 = 1,
	INODE_MODE_INDEX = 2,
	INODE_INODE_V2_2 = 3,
	INODE_OWNER_INDEX = 4,
	INODE_GROUP_INDEX = 5,
	INODE_ATIME_OFFSET = 6,
	INODE_MTIME_OFFSET = 7,
	INODE_CTIME_OFFSET = 8,
	INODE_BTIME_OFFSET = 9,
	INODE_ATIME_SUBSEC = 10,
	INODE_MTIME_SUBSEC = 11,
	INODE_CTIME_SUBSEC = 12,
	INODE_BTIME_SUBSEC = 13,
	INODE_NLINK_MINUS_ONE = 14,
};

enum fs_options_field {
	OPT_MTIME_ONLY = 1,		   /* bool */
	OPT_TIME_RESOLUTION_SEC = 2,	   /* optional u32 */
	OPT_PACKED_CHUNK_TABLE = 3,	   /* bool */
	OPT_PACKED_DIRECTORIES = 4,	   /* bool */
	OPT_PACKED_SHARED_FILES_TABLE = 5, /* bool */
	OPT_SUBSECOND_MULTIPLIER = 6,	   /* optional u32 */
	OPT_HAS_BTIME = 7,		   /* bool */
	OPT_INODES_HAVE_NLINK = 8,	   /* bool */
};

enum string_table_field {
	ST_BUFFER = 1,	     /* string */
	ST_SYMTAB = 2,	     /* optional string */
	ST_INDEX = 3,	     /* list of u32 */
	ST_PACKED_INDEX = 4, /* bool */
};

enum size_cache_field {
	SC_SIZE_LOOKUP = 1,	 /* map of u32 to u64 */
	SC_MIN_CHUNK_COUNT = 2,	 /* u64 */
	SC_ALLOCATED_LOOKUP = 3, /* map of u32 to u64 */
};

/* Layouts of optional, string, list (also set and map) and pair. */
enum { OPTIONAL_ISSET = 1, OPTIONAL_VALUE = 2 };
enum { LIST_DISTANCE = 1, LIST_COUNT = 2, LIST_ITEM = 3 };
enum { PAIR_FIRST = 1, PAIR_SECOND = 2 };

/* A chunk of the hole block with this offset has large_hole_size[size] bytes. */
#define DW_LARGE_HOLE_OFFSET 0xFFFFFFFFu

/* The only feature so far. */
#define DW_FEATURE_SPARSE "sparsefiles"

/* Bits of modes, as the format stores them (POSIX values on every system). */
enum {
	DW_S_IFMT = 0170000,
	DW_S_IFSOCK = 0140000,
	DW_S_IFLNK = 0120000,
	DW_S_IFREG = 0100000,
	DW_S_IFBLK = 0060000,
	DW_S_IFDIR = 0040000,
	DW_S_IFCHR = 0020000,
	DW_S_IFIFO = 0010000,
};

/* Inodes are numbered by class, in this order. */
enum inode_class { CLASS_DIR, CLASS_LNK, CLASS_REG, CLASS_DEV, CLASS_OTH, CLASS_COUNT };

/* The class of a mode; -1 if its file type is invalid. */
static inline int dw_class_of_mode(unsigned mode)
{
	switch (mode & DW_S_IFMT) {
	case DW_S_IFDIR:
		return CLASS_DIR;
	case DW_S_IFLNK:
		return CLASS_LNK;
	case DW_S_IFREG:
		return CLASS_REG;
	case DW_S_IFBLK:
	case DW_S_IFCHR:
		return CLASS_DEV;
	case DW_S_IFIFO:
	case DW_S_IFSOCK:
		return CLASS_OTH;
	default:
		return -1;
	}
}

#endif
