/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/stat: attributes of inodes and entries, and chunks of files.
 *
 * Takes a view and numbers; checks the indices that the metadata contains at each use.
 * Sizes and chunks must be valid; other attributes may not be, see inode_record.h.
 */
#include <dwarfs/walk.h>

#include "read/metadata/chunk_sums.h"
#include "read/metadata/inode_record.h"
#include "read/metadata/view.h"

int dw_view_record(const struct view *view, uint32_t inode, uint64_t *record_out,
		   dwarfs_error **err)
{
	uint64_t record = inode;

	if (!view->has_dir_entries)
		record = dw_column_get32(&view->entry_table, view->entry_table_item,
					 inode);
	if (record >= view->inodes.count)
		return dw_fail_metadata(err, "an inode has no record");
	*record_out = record;
	return 0;
}

enum inode_class dw_view_class(const struct view *view, uint32_t inode)
{
	enum inode_class class = CLASS_DIR;

	while (class < CLASS_OTH && inode >= view->first_of_class[class + 1])
		class ++;
	return class;
}

/* The index of a regular file in the chunk table. */
static inline int file_place(const struct view *view, uint32_t inode, uint64_t *place_out,
			     dwarfs_error **err)
{
	uint64_t place = inode - view->first_of_class[CLASS_REG];
	int ret;

	if (place >= view->unique_files) {
		if ((ret = dw_view_need_shared(view, err)) < 0)
			return ret;
		place = view->unique_files +
			dw_view_shared(view, place - view->unique_files);
	}
	if (place + 1 >= view->chunk_table.count)
		return dw_fail_metadata(err, "a file has no chunks in the table");
	*place_out = place;
	return 0;
}

static inline int place_range(const struct view *view, uint64_t place,
			      struct chunk_range *range_out, dwarfs_error **err)
{
	uint64_t first, end;
	int ret = dw_view_need_chunk_table(view, err);

	if (ret < 0)
		return ret;
	first = dw_view_chunk_table(view, place);
	end = dw_view_chunk_table(view, place + 1);
	if (first > end || end > view->chunks.count)
		return dw_fail_metadata(err, "a file has impossible chunks");
	*range_out = (struct chunk_range){ first, end };
	return 0;
}

int dw_view_file_contents(const struct view *view, uint32_t inode, uint64_t *number_out,
			  dwarfs_error **err)
{
	if (dw_view_is_bad(view))
		return dw_view_fail(view, err);
	if (inode >= view->inode_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "inode %" PRIu32 " does not exist",
			       inode);
	switch (dw_view_class(view, inode)) {
	case CLASS_REG:
		break;
	case CLASS_DIR:
		return dw_fail(err, DWARFS_ERR_IS_DIR, "inode %" PRIu32 " is a directory",
			       inode);
	default:
		return dw_fail(err, DWARFS_ERR_INVALID, "inode %" PRIu32 " is not a file",
			       inode);
	}
	return file_place(view, inode, number_out, err);
}

int dw_view_chunk_range(const struct view *view, uint32_t inode,
			struct chunk_range *range_out, dwarfs_error **err)
{
	uint64_t place = 0;
	int ret = dw_view_file_contents(view, inode, &place, err);

	return ret < 0 ? ret : place_range(view, place, range_out, err);
}

static inline int chunk_at(const struct view *view, uint64_t index,
			   struct file_chunk *chunk_out, dwarfs_error **err)
{
	uint64_t block = dw_column_get32(&view->chunks, view->chunk_block, index);
	uint64_t offset = dw_column_get32(&view->chunks, view->chunk_offset, index);
	uint64_t size = dw_column_get32(&view->chunks, view->chunk_size, index);

	*chunk_out = (struct file_chunk){ .block = (uint32_t)block };
	if (!view->has_holes || block != view->hole_block) {
		if (offset + size > view->block_size || size == 0)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "metadata: chunk %" PRIu64
				       " does not fit into a block",
				       index);
		chunk_out->offset = (uint32_t)offset;
		chunk_out->bytes = size;
		return 0;
	}
	chunk_out->is_hole = true;
	if (offset == DW_LARGE_HOLE_OFFSET) {
		if (size >= view->large_holes.count)
			return dw_fail_metadata(err, "a large hole has no size");
		chunk_out->bytes =
			dw_column_get(&view->large_holes, view->large_holes_item, size);
	} else {
		if (offset >= view->block_size)
			return dw_fail_metadata(err, "a hole has an impossible size");
		chunk_out->bytes = size * view->block_size + offset;
	}
	if (chunk_out->bytes == 0 || chunk_out->bytes > INT64_MAX)
		return dw_fail_metadata(err, "a hole has an impossible size");
	return 0;
}

int dw_view_chunk(const struct view *view, uint64_t index, struct file_chunk *chunk_out,
		  dwarfs_error **err)
{
	int ret = chunk_at(view, index, chunk_out, err);

	chunk_out->index = index;
	return ret;
}

/* The value of a key in a map sorted by keys. */
static bool find_pair(const struct table *table, struct column key, struct column value,
		      uint64_t wanted, uint64_t *value_out)
{
	uint64_t low = 0, high = table->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		uint64_t found = dw_column_get(table, key, middle);

		if (found == wanted) {
			*value_out = dw_column_get(table, value, middle);
			return true;
		}
		if (found < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Attributes of some classes of inodes. */
struct data_extent {
	uint64_t bytes, allocated_bytes;
	uint32_t nlink;
	uint32_t rdev_major, rdev_minor;
};

/* The sizes of files with many chunks are stored. They are used if they are possible
 * for that number of chunks; a check compares them with the chunks. */
static bool find_stored_size(const struct view *view, uint64_t place, uint64_t chunks,
			     struct data_extent *extent)
{
	uint64_t bytes, allocated, most;

	if (!find_pair(&view->size_cache, view->size_key, view->size_value, place,
		       &bytes))
		return false;
	if (!dw_mul(chunks, view->block_size, &most) || bytes < chunks ||
	    bytes > INT64_MAX || (!view->has_holes && bytes > most))
		return false;
	if (!find_pair(&view->allocated_cache, view->allocated_key, view->allocated_value,
		       place, &allocated))
		allocated = bytes;
	if (allocated > bytes || allocated > most)
		return false;
	extent->bytes = bytes;
	extent->allocated_bytes = allocated;
	return true;
}

static inline int sum_size(const struct view *view, struct chunk_range range,
			   struct data_extent *extent, dwarfs_error **err)
{
	uint64_t bytes = 0, allocated = 0;

	for (uint64_t i = range.first; i < range.end; i++) {
		struct file_chunk chunk;
		int ret = chunk_at(view, i, &chunk, err);

		if (ret < 0)
			return ret;
		bytes += chunk.bytes;
		if (bytes > INT64_MAX)
			return dw_fail_metadata(err, "a file is too large");
		if (!chunk.is_hole)
			allocated += chunk.bytes;
	}
	extent->bytes = bytes;
	extent->allocated_bytes = allocated;
	return 0;
}

/* Files with very many chunks in images that store no sizes. */
static bool sum_chunks(const struct view *view, struct chunk_range range,
		       struct data_extent *extent)
{
	uint64_t bytes;

	if (view->has_holes || !dw_sums_between(view, range, &bytes) || bytes > INT64_MAX)
		return false;
	extent->bytes = extent->allocated_bytes = bytes;
	return true;
}

static inline int file_size(const struct view *view, uint32_t inode,
			    struct data_extent *extent, dwarfs_error **err)
{
	struct chunk_range range;
	uint64_t place, chunks;
	int ret;

	if ((ret = file_place(view, inode, &place, err)) < 0 ||
	    (ret = place_range(view, place, &range, err)) < 0)
		return ret;
	chunks = range.end - range.first;
	if (__builtin_expect(chunks >= view->size_cache_min_chunks, 0) && chunks > 1 &&
	    find_stored_size(view, place, chunks, extent))
		return 0;
	if (__builtin_expect(chunks >= DW_MANY_CHUNKS, 0) &&
	    sum_chunks(view, range, extent))
		return 0;
	return sum_size(view, range, extent, err);
}

/* Entries without a valid inode are not counted. */
static int count_links(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	const struct view *view = owner;
	uint32_t first = view->first_of_class[CLASS_REG],
		 end = view->first_of_class[CLASS_DEV];
	uint32_t *nlinks = dw_calloc(end - first, sizeof(*nlinks));

	if (!nlinks)
		return dw_fail_nomem(err);
	for (uint32_t entry = 0; entry < view->entry_count; entry++) {
		uint32_t inode;

		if (dw_view_entry_inode(view, entry, &inode, NULL) == 0 &&
		    inode >= first && inode < end)
			nlinks[inode - first]++;
	}
	*items_out = nlinks;
	return 0;
}

static inline int file_nlink(const struct view *view, uint32_t inode, uint64_t record,
			     struct data_extent *extent, dwarfs_error **err)
{
	int ret;

	if (view->has_nlink) {
		if (view->inode.nlink_minus_one.mask)
			extent->nlink += dw_column_get32(
				&view->inodes, view->inode.nlink_minus_one, record);
		return 0;
	}
	if ((ret = dw_lazy_need(&view->nlinks, count_links, view, err)) < 0)
		return ret;
	extent->nlink =
		dw_lazy_items(&view->nlinks)[inode - view->first_of_class[CLASS_REG]];
	return 0;
}

static int link_size(const struct view *view, uint32_t inode, struct data_extent *extent,
		     dwarfs_error **err)
{
	uint64_t index = dw_column_get(&view->symlink_table, view->symlink_table_item,
				       inode - view->first_of_class[CLASS_LNK]);
	char target[4097];
	struct span stored;
	size_t size;
	int ret;

	if (!view->symlinks.decoder) {
		if ((ret = dw_strings_stored(&view->symlinks, index, &stored, err)) < 0)
			return ret;
		size = stored.size;
		if (size >= sizeof(target))
			return dw_fail_metadata(err, "the target of a link is too long");
	} else {
		ret = dw_strings_get(&view->symlinks, index, target, sizeof(target),
				     &size, err);
		if (ret == DWARFS_ERR_RANGE)
			return dw_fail_metadata(err, "the target of a link is too long");
		if (ret < 0)
			return ret;
	}
	extent->bytes = extent->allocated_bytes = size;
	return 0;
}

static void set_stat_device(const struct view *view, uint32_t inode,
			    struct data_extent *extent)
{
	uint64_t device = dw_column_get(&view->devices, view->devices_item,
					inode - view->first_of_class[CLASS_DEV]);

	extent->rdev_major =
		(uint32_t)(((device >> 8) & 0xFFF) | ((device >> 32) & ~UINT64_C(0xFFF)));
	extent->rdev_minor =
		(uint32_t)((device & 0xFF) | ((device >> 12) & ~UINT64_C(0xFF)));
}

static int other_extent(const struct view *view, uint32_t inode, enum inode_class class,
			struct data_extent *extent, dwarfs_error **err)
{
	uint32_t first, count;
	int ret;

	switch (class) {
	case CLASS_DIR:
		if ((ret = dw_view_dir_range(view, inode, &first, &count, err)) < 0)
			return ret;
		extent->bytes = extent->allocated_bytes = count;
		return 0;
	case CLASS_LNK:
		return link_size(view, inode, extent, err);
	case CLASS_DEV:
		set_stat_device(view, inode, extent);
		return 0;
	default:
		return 0;
	}
}

static inline int get_extent(const struct view *view, uint32_t inode, uint64_t record,
			     enum inode_class class, struct data_extent *extent,
			     dwarfs_error **err)
{
	int ret;

	if (__builtin_expect(class != CLASS_REG, 0))
		return other_extent(view, inode, class, extent, err);
	if ((ret = file_size(view, inode, extent, err)) < 0)
		return ret;
	return file_nlink(view, inode, record, extent, err);
}

/* The size is looked up first: it has the most cache misses, which overlap with the
 * rest. */
static inline int record_stat(const struct view *view, uint32_t inode, uint64_t record,
			      struct dwarfs_stat *stat, dwarfs_error **err)
{
	enum inode_class class = dw_view_class(view, inode);
	struct data_extent extent = { .nlink = 1 };
	uint32_t invalid = 0, mode;
	int ret;

	dw_table_prefetch(&view->inodes, record);
	if ((ret = get_extent(view, inode, record, class, &extent, err)) < 0)
		return ret;
	mode = dw_record_mode(view, record, class, &invalid);
	if (mode == 0)
		return dw_fail_metadata(err, "a device or special has no valid mode");

	/* Member by member: a copy of a whole structure would wait for its narrow stores. */
	stat->inode = inode;
	stat->mode = mode;
	stat->uid = dw_record_uid(view, record, &invalid);
	stat->gid = dw_record_gid(view, record, &invalid);
	if (extent.nlink == 0) {
		extent.nlink = 1;
		invalid |= DWARFS_ATTRIBUTE_NLINK;
	}
	stat->nlink = extent.nlink;
	stat->rdev_major = extent.rdev_major;
	stat->rdev_minor = extent.rdev_minor;
	stat->bytes = extent.bytes;
	stat->allocated_bytes = extent.allocated_bytes;
	stat->invalid = invalid;
	dw_record_times(view, record, stat);
	return 0;
}

uint32_t dw_view_record_invalid(const struct view *view, uint32_t inode, uint64_t record)
{
	struct dwarfs_stat stat = { 0 };

	dw_record_mode(view, record, dw_view_class(view, inode), &stat.invalid);
	dw_record_uid(view, record, &stat.invalid);
	dw_record_gid(view, record, &stat.invalid);
	dw_record_times(view, record, &stat);
	if (view->has_nlink && dw_view_class(view, inode) == CLASS_REG &&
	    dw_column_get32(&view->inodes, view->inode.nlink_minus_one, record) ==
		    UINT32_MAX)
		stat.invalid |= DWARFS_ATTRIBUTE_NLINK;
	return stat.invalid;
}

int dw_view_inode_stat(const struct view *view, uint32_t inode, struct dwarfs_stat *stat,
		       dwarfs_error **err)
{
	uint64_t record;
	int ret;

	if (dw_view_is_bad(view))
		return dw_view_fail(view, err);
	if (inode >= view->inode_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "inode %" PRIu32 " does not exist",
			       inode);
	if ((ret = dw_view_record(view, inode, &record, err)) < 0)
		return ret;
	return record_stat(view, inode, record, stat, err);
}

int dw_view_entry_stat(const struct view *view, uint32_t entry, struct dwarfs_stat *stat,
		       dwarfs_error **err)
{
	uint32_t inode;
	int ret = dw_view_entry_inode(view, entry, &inode, err);

	if (ret < 0)
		return ret;
	return record_stat(view, inode, view->has_dir_entries ? inode : entry, stat, err);
}
