/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/view: the metadata of an image, in place.
 *
 * Made once when an image is opened; afterwards it never changes and any number of
 * threads may read it. The bounds of every column are checked when the view is made,
 * every index when it is used, and packed tables are unpacked at their first use, so
 * opening needs no pass over the data.
 */
#ifndef DW_READ_METADATA_VIEW_H
#define DW_READ_METADATA_VIEW_H

#include <stdatomic.h>

#include "format/frozen.h"
#include "format/metadata.h"
#include "read/metadata/strings.h"

struct inode_columns {
	struct column name_index, mode_index, inode, owner_index, group_index;
	struct column offset[4], subsec[4]; /* by dwarfs_time */
	struct column nlink_minus_one;
};

/* Chunks of a file: [first, end). */
struct chunk_range {
	uint64_t first, end;
};

/* A range of a file: bytes of a block, or a hole. */
struct file_chunk {
	bool is_hole;
	uint32_t block;
	uint32_t offset;
	uint64_t bytes;
	uint64_t index; /* in the table of chunks */
};

/* Attributes of an entry or inode; the dwarfs_stat of <dwarfs/walk.h>. */
struct dwarfs_stat {
	uint32_t inode;
	uint32_t mode;
	uint32_t uid, gid;
	uint32_t nlink;
	uint32_t rdev_major, rdev_minor;
	uint64_t bytes, allocated_bytes;
	int64_t seconds[4]; /* by dwarfs_time */
	uint32_t nanoseconds[4];
	uint32_t invalid; /* bits of dwarfs_attribute */
};

struct view {
	struct schema schema;
	struct frozen frozen;

	bool has_dir_entries; /* format 2.3 and later */
	uint32_t entry_count, inode_count, directory_count;
	uint32_t first_of_class[CLASS_COUNT +
				1]; /* inodes of class c: [c] to [c + 1] - 1 */

	struct table chunks;
	struct column chunk_block, chunk_offset, chunk_size;
	struct table directories;
	struct column dir_parent, dir_first, dir_self;
	struct table inodes;
	struct inode_columns inode;
	struct table dir_entries;
	struct column de_name, de_inode;
	struct table chunk_table, entry_table, symlink_table, shared_files, devices;
	struct column chunk_table_item, entry_table_item, symlink_table_item,
		shared_files_item, devices_item;
	struct table uids, gids, modes;
	struct column uids_item, gids_item, modes_item;
	struct table large_holes;
	struct column large_holes_item;
	struct table block_categories;
	struct column block_categories_item;
	struct table size_cache, allocated_cache;
	struct column size_key, size_value, allocated_key, allocated_value;
	struct strings names, symlinks;

	/* Unpacked copies of packed tables. */
	struct lazy first_entries;  /* directory_count + 1 */
	struct lazy chunk_numbers;  /* chunk_table.count */
	struct lazy shared_numbers; /* shared_count */
	uint64_t shared_count;
	uint64_t unique_files;

	uint64_t timestamp_base;
	uint64_t block_size;
	uint64_t total_fs_size, total_hardlink_size;
	uint64_t create_timestamp;
	bool has_create_timestamp;
	bool has_features_set;
	uint64_t time_resolution, subsecond_multiplier;
	bool bad_times; /* all times are invalid */
	const char
		*damage[8]; /* findings of dw_view_load() that do not affect contents */
	size_t damage_count;
	bool mtime_only, has_btime, has_nlink;
	bool packed_chunk_table, packed_directories, packed_shared_files;
	bool has_self_entries;
	bool has_size_cache;
	uint64_t size_cache_min_chunks;
	uint64_t path_separator; /* '/' if the image does not say */
	bool has_path_separator;
	bool has_holes;
	uint64_t hole_block;

	char *dwarfs_version;	       /* owned; NULL when absent */
	char **features, **categories; /* owned, ending with NULL */
	char *packing[16];	       /* static words, ending with NULL */

	struct lazy parents;	     /* parent inode of each directory */
	struct lazy nlinks;	     /* of each regular file, if not stored */
	struct lazy sums;	     /* of sizes of chunks; see chunk_sums.h */
	struct lazy prints;	     /* hashes of names; see name_lookup.c */
	struct lazy orders;	     /* which directories are sorted; see name_lookup.c */
	struct lazy entries;	     /* one entry of each inode; see next_ranges.c */
	struct lazy positions;	     /* of entries in the order of paths; the same */
	struct lazy pivots;	     /* among names; see name_pivots.h */
	atomic_bool names_are_mixed; /* not sorted */

	/* Set if the metadata is found to be damaged after opening: the reason. */
	_Atomic(const char *) failure;
};

/* Create a view of metadata, which stays the caller's, outlives the view, and is
 * followed by DW_FROZEN_PADDING readable bytes. block_count: number of blocks of the
 * image. */
int dw_view_new(struct span schema, struct span metadata, uint32_t block_count,
		struct view **view_out, dwarfs_error **err);
void dw_view_free(struct view *view);
DW_DEFINE_AUTO(view, struct view *, dw_view_free)
#define auto_view DW_AUTO(view)

/* view_load.c, for dw_view_new(): find the tables and check that they are consistent. */
int dw_view_load(struct view *view, uint32_t block_count, dwarfs_error **err);

/* inode_classes.c, for dw_view_load(): find where each class of inodes begins, and how
 * many files share contents. */
int dw_view_find_classes(struct view *view, dwarfs_error **err);

/* Unpack all packed tables. Functions that need one unpack it themselves. */
int dw_view_unpack(const struct view *view, dwarfs_error **err);

/* Whether the metadata is known to be damaged; dw_view_fail() then gives the reason. */
static inline bool dw_view_is_bad(const struct view *view)
{
	return __builtin_expect(atomic_load_explicit(&((struct view *)view)->failure,
						     memory_order_acquire) != NULL,
				0);
}
int dw_view_fail(const struct view *view, dwarfs_error **err);

/* Whether bytes can be the name of an entry. */
bool dw_is_name(const char *name, size_t size);

/* The entry with this name in a directory; NOT_FOUND. */
int dw_view_find_name(const struct view *view, uint32_t first, uint32_t count,
		      const char *name, size_t bytes, uint32_t *entry_out,
		      dwarfs_error **err);

/* The same in a directory, whose entries may not be sorted in damaged metadata. */
int dw_view_find_in_dir(const struct view *view, uint32_t dir, const char *name,
			size_t bytes, uint32_t *entry_out, dwarfs_error **err);

/* All of these check the number of the inode. */
int dw_view_entry_inode(const struct view *view, uint32_t entry, uint32_t *inode_out,
			dwarfs_error **err);
int dw_view_entry_name(const struct view *view, uint32_t entry, char *out, size_t room,
		       size_t *size_out, dwarfs_error **err);
int dw_view_dir_range(const struct view *view, uint32_t dir, uint32_t *first_out,
		      uint32_t *count_out, dwarfs_error **err);
int dw_view_dir_parent(const struct view *view, uint32_t dir, uint32_t *parent_out,
		       dwarfs_error **err);
/* The directory that contains an entry; the order of entries is not checked. After
 * dw_view_need_directories(). */
uint32_t dw_view_directory_of(const struct view *view, uint32_t entry);
int dw_view_link(const struct view *view, uint32_t inode, char *out, size_t room,
		 size_t *size_out, dwarfs_error **err);
int dw_view_inode_stat(const struct view *view, uint32_t inode, struct dwarfs_stat *stat,
		       dwarfs_error **err);
int dw_view_entry_stat(const struct view *view, uint32_t entry, struct dwarfs_stat *stat,
		       dwarfs_error **err);

/* The record with the attributes of an inode. */
int dw_view_record(const struct view *view, uint32_t inode, uint64_t *record_out,
		   dwarfs_error **err);

static inline uint32_t dw_view_class_count(const struct view *view,
					   enum inode_class class)
{
	return view->first_of_class[class + 1] - view->first_of_class[class];
}

/* Which attributes of this inode's record are invalid. */
uint32_t dw_view_record_invalid(const struct view *view, uint32_t inode, uint64_t record);

/* Metadata that categorizers store for blocks: texts, and the number of the text of each
 * block that has one. No reader needs it; nothing is checked but the bounds of the tables. */
struct category_texts {
	struct table texts, pairs;
	struct string_column text;
	struct column block, number;
};
int dw_view_category_texts(const struct view *view, struct category_texts *texts_out,
			   dwarfs_error **err);

/* The class of an existing inode. */
enum inode_class dw_view_class(const struct view *view, uint32_t inode);

/* The number of the contents of a regular file, in the order of the chunk table. */
int dw_view_file_contents(const struct view *view, uint32_t inode, uint64_t *number_out,
			  dwarfs_error **err);

/* The chunks of a regular file, and each of them. */
int dw_view_chunk_range(const struct view *view, uint32_t inode,
			struct chunk_range *range_out, dwarfs_error **err);
int dw_view_chunk(const struct view *view, uint64_t index, struct file_chunk *chunk_out,
		  dwarfs_error **err);

/* Unpack a table if it is packed. */
int dw_view_make_directories(const struct view *view, dwarfs_error **err);
int dw_view_make_chunk_table(const struct view *view, dwarfs_error **err);
int dw_view_make_shared(const struct view *view, dwarfs_error **err);
static inline int dw_view_need_directories(const struct view *view, dwarfs_error **err)
{
	if (!view->packed_directories || dw_lazy_items(&view->first_entries))
		return 0;
	return dw_view_make_directories(view, err);
}
static inline int dw_view_need_chunk_table(const struct view *view, dwarfs_error **err)
{
	if (!view->packed_chunk_table || dw_lazy_items(&view->chunk_numbers))
		return 0;
	return dw_view_make_chunk_table(view, err);
}
static inline int dw_view_need_shared(const struct view *view, dwarfs_error **err)
{
	if (!view->packed_shared_files || dw_lazy_items(&view->shared_numbers))
		return 0;
	return dw_view_make_shared(view, err);
}

/* Raw values, after the above; the caller checks the index. */
static inline uint64_t dw_view_first_entry(const struct view *view, uint64_t directory)
{
	if (view->packed_directories)
		return dw_lazy_items(&view->first_entries)[directory];
	return dw_column_get32(&view->directories, view->dir_first, directory);
}
static inline uint64_t dw_view_chunk_table(const struct view *view, uint64_t index)
{
	if (view->packed_chunk_table)
		return dw_lazy_items(&view->chunk_numbers)[index];
	return dw_column_get32(&view->chunk_table, view->chunk_table_item, index);
}
static inline uint64_t dw_view_shared(const struct view *view, uint64_t index)
{
	if (view->packed_shared_files)
		return dw_lazy_items(&view->shared_numbers)[index];
	return dw_column_get32(&view->shared_files, view->shared_files_item, index);
}

/* Check every rule of the format for the tables; report is called for each violated
 * rule. */
typedef void (*dw_report_fn)(void *user, int severity, const char *message);
int dw_view_check(struct view *view, uint32_t block_count, dw_report_fn report,
		  void *user, dwarfs_error **err);

#endif
