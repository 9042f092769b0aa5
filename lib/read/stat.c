/* SPDX-License-Identifier: MIT */
/*
 * read/stat: the attributes of inodes and entries, and the chunks of files.
 *
 * Indices that the metadata holds are checked here, at each use.
 */
#include "read/view.h"

static int corrupt(dwarfs_error **err, const char *what)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT, "metadata: %s", what);
}

int dw_view_record(const struct view *view, uint32_t inode, uint64_t *record_out,
		   dwarfs_error **err)
{
	uint64_t record = inode;

	if (!view->has_dir_entries)
		record = dw_column_get(&view->entry_table, view->entry_table_item, inode);
	if (record >= view->inodes.count)
		return corrupt(err, "an inode has no record");
	*record_out = record;
	return 0;
}

int dw_view_record_mode(const struct view *view, uint64_t record, uint32_t *mode_out,
			dwarfs_error **err)
{
	uint64_t index = dw_column_get(&view->inodes, view->inode.mode_index, record);

	if (index >= view->modes.count)
		return corrupt(err, "an inode has a mode that does not exist");
	*mode_out = (uint32_t)dw_column_get(&view->modes, view->modes_item, index);
	return 0;
}

enum inode_class dw_view_class(const struct view *view, uint32_t inode)
{
	enum inode_class class = CLASS_DIR;

	while (class < CLASS_OTH && inode >= view->first_of_class[class + 1])
		class ++;
	return class;
}

int dw_view_chunk_range(const struct view *view, uint32_t inode,
			struct chunk_range *range_out, dwarfs_error **err)
{
	uint64_t file, first, end;

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
		return dw_fail(err, DWARFS_ERR_INVALID, "inode %" PRIu32 " is no file",
			       inode);
	}
	file = inode - view->first_of_class[CLASS_REG];
	if (file >= view->unique_files)
		file = view->unique_files +
		       dw_view_shared(view, file - view->unique_files);
	if (file + 1 >= view->chunk_table.count)
		return corrupt(err, "a file has no chunks in the table");
	first = dw_view_chunk_table(view, file);
	end = dw_view_chunk_table(view, file + 1);
	if (first > end || end > view->chunks.count)
		return corrupt(err, "a file has impossible chunks");
	*range_out = (struct chunk_range){ first, end };
	return 0;
}

int dw_view_chunk(const struct view *view, uint64_t index, struct chunk *chunk_out,
		  dwarfs_error **err)
{
	uint64_t block = dw_column_get(&view->chunks, view->chunk_block, index);
	uint64_t offset = dw_column_get(&view->chunks, view->chunk_offset, index);
	uint64_t size = dw_column_get(&view->chunks, view->chunk_size, index);

	*chunk_out = (struct chunk){ .block = (uint32_t)block };
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
			return corrupt(err, "a large hole has no size");
		chunk_out->bytes =
			dw_column_get(&view->large_holes, view->large_holes_item, size);
	} else {
		if (offset >= view->block_size)
			return corrupt(err, "a hole has an impossible size");
		chunk_out->bytes = size * view->block_size + offset;
	}
	if (chunk_out->bytes == 0 || chunk_out->bytes > INT64_MAX)
		return corrupt(err, "a hole has an impossible size");
	return 0;
}

static int file_size(const struct view *view, uint32_t inode, struct dwarfs_stat *stat,
		     dwarfs_error **err)
{
	struct chunk_range range;
	uint64_t bytes = 0, allocated = 0;
	int ret = dw_view_chunk_range(view, inode, &range, err);

	if (ret < 0)
		return ret;
	for (uint64_t i = range.first; i < range.end; i++) {
		struct chunk chunk;

		ret = dw_view_chunk(view, i, &chunk, err);
		if (ret < 0)
			return ret;
		bytes += chunk.bytes;
		if (bytes > INT64_MAX)
			return corrupt(err, "a file is too large");
		if (!chunk.is_hole)
			allocated += chunk.bytes;
	}
	stat->bytes = bytes;
	stat->allocated_bytes = allocated;
	return 0;
}

/* Entries that name no inode count for none. */
static void count_links(const struct view *view, uint32_t *nlinks)
{
	uint32_t first = view->first_of_class[CLASS_REG],
		 end = view->first_of_class[CLASS_DEV];

	for (uint32_t entry = 0; entry < view->entry_count; entry++) {
		uint32_t inode;

		if (dw_view_entry_inode(view, entry, &inode, NULL) == 0 &&
		    inode >= first && inode < end)
			nlinks[inode - first]++;
	}
}

static int file_nlink(struct view *view, uint32_t inode, uint64_t record,
		      struct dwarfs_stat *stat, dwarfs_error **err)
{
	uint32_t *nlinks;

	if (view->has_nlink) {
		stat->nlink =
			1 + (uint32_t)dw_column_get(&view->inodes,
						    view->inode.nlink_minus_one, record);
		return 0;
	}
	nlinks = atomic_load(&view->nlinks);
	if (!nlinks) {
		uint32_t *made =
			dw_calloc(dw_view_class_count(view, CLASS_REG), sizeof(uint32_t));

		if (!made)
			return dw_fail_nomem(err);
		count_links(view, made);
		nlinks = dw_view_publish(&view->nlinks, made);
	}
	stat->nlink = nlinks[inode - view->first_of_class[CLASS_REG]];
	return 0;
}

static int link_size(const struct view *view, uint32_t inode, struct dwarfs_stat *stat,
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
			return corrupt(err, "the target of a link is too long");
	} else {
		ret = dw_strings_get(&view->symlinks, index, target, sizeof(target),
				     &size, err);
		if (ret == DWARFS_ERR_RANGE)
			return corrupt(err, "the target of a link is too long");
		if (ret < 0)
			return ret;
	}
	stat->bytes = stat->allocated_bytes = size;
	return 0;
}

static void set_device(const struct view *view, uint32_t inode, struct dwarfs_stat *stat)
{
	uint64_t device = dw_column_get(&view->devices, view->devices_item,
					inode - view->first_of_class[CLASS_DEV]);

	stat->rdev_major =
		(uint32_t)(((device >> 8) & 0xFFF) | ((device >> 32) & ~UINT64_C(0xFFF)));
	stat->rdev_minor =
		(uint32_t)((device & 0xFF) | ((device >> 12) & ~UINT64_C(0xFF)));
}

static int owner(const struct table *ids, struct column item, uint64_t index,
		 uint32_t *id_out, dwarfs_error **err)
{
	if (ids->count == 0) {
		*id_out = (uint32_t)index;
		return 0;
	}
	if (index >= ids->count)
		return corrupt(err, "an inode has an owner or group that does not exist");
	*id_out = (uint32_t)dw_column_get(ids, item, index);
	return 0;
}

static int set_times(const struct view *view, uint64_t record, struct dwarfs_stat *stat,
		     dwarfs_error **err)
{
	for (int time = 0; time < 3; time++) {
		int from = view->mtime_only ? 1 : time;
		uint64_t offset =
			dw_column_get(&view->inodes, view->inode.offset[from], record);
		uint64_t subsec =
			dw_column_get(&view->inodes, view->inode.subsec[from], record);
		uint64_t seconds, nanoseconds;

		if (!dw_add(view->timestamp_base, offset, &seconds) ||
		    !dw_mul(seconds, view->time_resolution, &seconds) ||
		    seconds > INT64_MAX ||
		    !dw_mul(subsec, view->subsecond_multiplier, &nanoseconds) ||
		    nanoseconds >= 1000000000)
			return corrupt(err, "an inode has an impossible time");
		stat->seconds[time] = seconds;
		stat->nanoseconds[time] = (uint32_t)nanoseconds;
	}
	return 0;
}

int dw_view_check_record(const struct view *view, uint64_t record, dwarfs_error **err)
{
	struct dwarfs_stat stat;

	return set_times(view, record, &stat, err);
}

static int record_stat(struct view *view, uint32_t inode, uint64_t record,
		       struct dwarfs_stat *stat_out, dwarfs_error **err)
{
	struct dwarfs_stat stat = { .inode = inode, .nlink = 1 };
	const struct inode_columns *c = &view->inode;
	const struct table *inodes = &view->inodes;
	enum inode_class class = dw_view_class(view, inode);
	uint32_t first;
	int ret;

	if ((ret = dw_view_record_mode(view, record, &stat.mode, err)) < 0 ||
	    (ret = owner(&view->uids, view->uids_item,
			 dw_column_get(inodes, c->owner_index, record), &stat.uid, err)) <
		    0 ||
	    (ret = owner(&view->gids, view->gids_item,
			 dw_column_get(inodes, c->group_index, record), &stat.gid, err)) <
		    0 ||
	    (ret = set_times(view, record, &stat, err)) < 0)
		return ret;
	if (dw_class_of_mode(stat.mode) != (int)class)
		return corrupt(err, "an inode has the number of another file type");
	switch (class) {
	case CLASS_DIR:
		ret = dw_view_dir_range(view, inode, &first, &stat.nlink, err);
		stat.bytes = stat.allocated_bytes = stat.nlink;
		stat.nlink = 1;
		break;
	case CLASS_LNK:
		ret = link_size(view, inode, &stat, err);
		break;
	case CLASS_REG:
		ret = file_size(view, inode, &stat, err);
		if (ret == 0)
			ret = file_nlink(view, inode, record, &stat, err);
		break;
	case CLASS_DEV:
		set_device(view, inode, &stat);
		break;
	default:
		break;
	}
	if (ret == 0)
		*stat_out = stat;
	return ret;
}

int dw_view_inode_stat(struct view *view, uint32_t inode, struct dwarfs_stat *stat,
		       dwarfs_error **err)
{
	uint64_t record;
	int ret;

	if (inode >= view->inode_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "inode %" PRIu32 " does not exist",
			       inode);
	if ((ret = dw_view_record(view, inode, &record, err)) < 0)
		return ret;
	return record_stat(view, inode, record, stat, err);
}

int dw_view_entry_stat(struct view *view, uint32_t entry, struct dwarfs_stat *stat,
		       dwarfs_error **err)
{
	uint32_t inode;
	int ret = dw_view_entry_inode(view, entry, &inode, err);

	if (ret < 0)
		return ret;
	return record_stat(view, inode, view->has_dir_entries ? inode : entry, stat, err);
}
