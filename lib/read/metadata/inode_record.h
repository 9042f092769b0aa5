/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/inode_record: mode, owner, group and times of a record, and which of
 * them are valid.
 *
 * Takes an existing record and the class of its inode. An attribute without a valid
 * value gets a default, and its bit of <dwarfs/walk.h>'s dwarfs_attribute is set: the
 * contents of the file stay readable.
 */
#ifndef DW_READ_METADATA_INODE_RECORD_H
#define DW_READ_METADATA_INODE_RECORD_H

#include <dwarfs/walk.h>

#include "base/machine/limits.h"
#include "read/metadata/view.h"

#define DW_NS_PER_SEC 1000000000u
#define DW_MOST_MODE  0177777u

/* False when the index is out of range; the type may be of another class. */
static inline bool dw_record_raw_mode(const struct view *view, uint64_t record,
				      uint32_t *mode_out)
{
	uint64_t index = dw_column_get32(&view->inodes, view->inode.mode_index, record);

	if (index >= view->modes.count)
		return false;
	*mode_out = (uint32_t)dw_column_get32(&view->modes, view->modes_item, index);
	return true;
}

/* 0 for a device or special inode, whose type is only in its mode. */
static inline uint32_t dw_record_mode(const struct view *view, uint64_t record,
				      enum inode_class class, uint32_t *invalid)
{
	static const uint32_t defaults[CLASS_COUNT] = {
		[CLASS_DIR] = DW_S_IFDIR | 0700,
		[CLASS_LNK] = DW_S_IFLNK | 0777,
		[CLASS_REG] = DW_S_IFREG | 0600,
	};
	uint32_t mode;

	if (dw_record_raw_mode(view, record, &mode) && mode <= DW_MOST_MODE &&
	    dw_class_of_mode(mode) == (int)class)
		return mode;
	*invalid |= DWARFS_ATTRIBUTE_MODE;
	return defaults[class];
}

/* Often all inodes have one owner: then there is no column. */
static inline uint32_t dw_record_id(const struct view *view, uint64_t record,
				    const struct table *ids, struct column item,
				    struct column column, uint32_t bit, uint32_t *invalid)
{
	uint64_t index = 0;
	uint32_t id = DW_NO_ID;

	if (column.mask)
		index = dw_column_get32(&view->inodes, column, record);
	if (ids->count == 0)
		id = (uint32_t)index;
	else if (index < ids->count)
		id = item.mask ? (uint32_t)dw_column_get32(ids, item, index) : 0;
	if (id != DW_NO_ID)
		return id;
	*invalid |= bit;
	return DW_NOBODY;
}

static inline uint32_t dw_record_uid(const struct view *view, uint64_t record,
				     uint32_t *invalid)
{
	return dw_record_id(view, record, &view->uids, view->uids_item,
			    view->inode.owner_index, DWARFS_ATTRIBUTE_UID, invalid);
}

static inline uint32_t dw_record_gid(const struct view *view, uint64_t record,
				     uint32_t *invalid)
{
	return dw_record_id(view, record, &view->gids, view->gids_item,
			    view->inode.group_index, DWARFS_ATTRIBUTE_GID, invalid);
}

/* Modulo 2^64, as times before 1970 are stored; a fraction of a second or more is
 * invalid. */
static inline void dw_record_time(const struct view *view, uint64_t record, int time,
				  struct dwarfs_stat *stat)
{
	struct column subsec = view->inode.subsec[time];
	uint64_t offset = dw_column_get(&view->inodes, view->inode.offset[time], record);
	uint32_t nanoseconds = 0;
	uint64_t parts;

	stat->seconds[time] =
		(int64_t)((view->timestamp_base + offset) * view->time_resolution);
	if (subsec.mask && view->subsecond_multiplier != 0) {
		parts = dw_column_get(&view->inodes, subsec, record);
		if (parts > (DW_NS_PER_SEC - 1) / view->subsecond_multiplier)
			stat->invalid |= DWARFS_ATTRIBUTE_ATIME << time;
		else
			nanoseconds = (uint32_t)(parts * view->subsecond_multiplier);
	}
	stat->nanoseconds[time] = nanoseconds;
}

/* If not stored: access and change time are the modification time, the birth time is
 * unknown. */
static inline void dw_record_times(const struct view *view, uint64_t record,
				   struct dwarfs_stat *stat)
{
	dw_record_time(view, record, DWARFS_MTIME, stat);
	if (view->has_btime) {
		dw_record_time(view, record, DWARFS_BTIME, stat);
	} else {
		stat->seconds[DWARFS_BTIME] = 0;
		stat->nanoseconds[DWARFS_BTIME] = 0;
	}
	if (!view->mtime_only) {
		dw_record_time(view, record, DWARFS_ATIME, stat);
		dw_record_time(view, record, DWARFS_CTIME, stat);
	} else {
		stat->seconds[DWARFS_ATIME] = stat->seconds[DWARFS_CTIME] =
			stat->seconds[DWARFS_MTIME];
		stat->nanoseconds[DWARFS_ATIME] = stat->nanoseconds[DWARFS_CTIME] =
			stat->nanoseconds[DWARFS_MTIME];
		if (stat->invalid & DWARFS_ATTRIBUTE_MTIME)
			stat->invalid |= DWARFS_ATTRIBUTE_ATIME | DWARFS_ATTRIBUTE_CTIME;
	}
	if (view->bad_times)
		stat->invalid |= view->has_btime ? DWARFS_ATTRIBUTE_TIMES
						 : DWARFS_ATTRIBUTE_TIMES &
							   ~DWARFS_ATTRIBUTE_BTIME;
}

#endif
