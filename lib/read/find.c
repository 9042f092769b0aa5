/* SPDX-License-Identifier: MIT */
/*
 * read/find: look up and list entries, and get attributes.
 *
 * Takes numbers and names; gives numbers, names and attributes, which the view checks.
 */
#include <dwarfs/walk.h>

#include "read/image/image.h"

/* -- looking up ---------------------------------------------------------------------- */

int dwarfs_dir_find(const dwarfs_image *image, dwarfs_inode dir, const char *name,
		    size_t bytes, dwarfs_entry *entry_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !name || !entry_out)
		return dw_fail_null(err, "image, name and entry_out");

	return dw_view_find_in_dir(image->view, dir.number, name, bytes,
				   &entry_out->number, err);
}

int dwarfs_dir_range(const dwarfs_image *image, dwarfs_inode dir, dwarfs_entry *first_out,
		     uint32_t *count_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !first_out || !count_out)
		return dw_fail_null(err, "image, first_out and count_out");
	return dw_view_dir_range(image->view, dir.number, &first_out->number, count_out,
				 err);
}

int dwarfs_dir_parent(const dwarfs_image *image, dwarfs_inode dir,
		      dwarfs_inode *parent_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !parent_out)
		return dw_fail_null(err, "image and parent_out");
	return dw_view_dir_parent(image->view, dir.number, &parent_out->number, err);
}

int dwarfs_entry_dir(const dwarfs_image *image, dwarfs_entry entry, dwarfs_inode *dir_out,
		     dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !dir_out)
		return dw_fail_null(err, "image and dir_out");

	const struct view *view = image->view;
	uint32_t dir, first, count;
	int ret;

	if (entry.number >= view->entry_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "entry %" PRIu32 " does not exist",
			       entry.number);
	if (entry.number == 0) {
		*dir_out = DWARFS_ROOT_INODE;
		return 0;
	}
	if ((ret = dw_view_need_directories(view, err)) < 0)
		return ret;
	dir = dw_view_directory_of(view, entry.number);
	if ((ret = dw_view_dir_range(view, dir, &first, &count, err)) < 0)
		return ret;
	if (entry.number < first || entry.number - first >= count)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "metadata: entry %" PRIu32 " is in no directory",
			       entry.number);
	dir_out->number = dir;
	return 0;
}

int dwarfs_entry_inode(const dwarfs_image *image, dwarfs_entry entry,
		       dwarfs_inode *inode_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !inode_out)
		return dw_fail_null(err, "image and inode_out");
	return dw_view_entry_inode(image->view, entry.number, &inode_out->number, err);
}

int dwarfs_entry_name(const dwarfs_image *image, dwarfs_entry entry, char *buffer,
		      size_t room, size_t *bytes_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !buffer)
		return dw_fail_null(err, "image and buffer");

	size_t size;
	int ret = dw_view_entry_name(image->view, entry.number, buffer, room, &size, err);

	if (ret == 0 && bytes_out)
		*bytes_out = size;
	return ret;
}

/* The entry that names a directory, in its parent. */
static int dir_entry(const dwarfs_image *image, uint32_t dir, dwarfs_entry *entry_out,
		     dwarfs_error **err)
{
	uint32_t parent, first, count;
	int ret;

	*entry_out = DWARFS_ROOT_ENTRY;
	if (dir == 0)
		return 0;
	if ((ret = dw_view_dir_parent(image->view, dir, &parent, err)) < 0 ||
	    (ret = dw_view_dir_range(image->view, parent, &first, &count, err)) < 0)
		return ret;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t inode;

		if ((ret = dw_view_entry_inode(image->view, first + i, &inode, err)) < 0)
			return ret;
		if (inode == dir) {
			entry_out->number = first + i;
			return 0;
		}
	}
	return dw_fail(err, DWARFS_ERR_CORRUPT, "directory %" PRIu32 " has no entry",
		       dir);
}

/* One step of a path. */
int dw_find_step(const dwarfs_image *image, const char *name, size_t size,
		 dwarfs_entry *entry, dwarfs_error **err)
{
	uint32_t inode, parent;
	int ret;

	if ((ret = dw_view_entry_inode(image->view, entry->number, &inode, err)) < 0)
		return ret;
	if (size == 2 && name[0] == '.' && name[1] == '.') {
		if ((ret = dw_view_dir_parent(image->view, inode, &parent, err)) < 0)
			return ret;
		return dir_entry(image, parent, entry, err);
	}
	if (size == 1 && name[0] == '.') {
		uint32_t first, count;

		return dw_view_dir_range(image->view, inode, &first, &count, err);
	}
	return dwarfs_dir_find(image, dwarfs_inode_at(inode), name, size, entry, err);
}

int dw_find_failed(const char *path, bool through_links, int code, dwarfs_error **err)
{
	if (code == DWARFS_ERR_NOT_FOUND && !through_links)
		dw_fail(err, code, "'%s' does not exist", path);
	else if (code == DWARFS_ERR_NOT_DIR)
		dw_fail(err, code, "'%s': a part of the path is not a directory", path);
	else
		dw_explain(err, code, "'%s'", path);
	return dw_error_at_path(err, code, path);
}

int dwarfs_find(const dwarfs_image *image, const char *path, dwarfs_entry *entry_out,
		dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !path || !entry_out)
		return dw_fail_null(err, "image, path and entry_out");

	dwarfs_entry entry = DWARFS_ROOT_ENTRY;
	const char *at = path;

	for (;;) {
		size_t size;
		int ret;

		at += strspn(at, "/");
		size = strcspn(at, "/");
		if (size == 0)
			break;
		ret = dw_find_step(image, at, size, &entry, err);
		if (ret < 0)
			return dw_find_failed(path, false, ret, err);
		at += size;
	}
	*entry_out = entry;
	return 0;
}

int dwarfs_link_read_raw(const dwarfs_image *image, dwarfs_inode inode, char *buffer,
			 size_t room, size_t *bytes_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !buffer)
		return dw_fail_null(err, "image and buffer");

	size_t size;
	int ret = dw_view_link(image->view, inode.number, buffer, room, &size, err);

	if (ret == 0 && bytes_out)
		*bytes_out = size;
	return ret;
}

int dwarfs_link_read(const dwarfs_image *image, dwarfs_inode inode, char *buffer,
		     size_t room, size_t *bytes_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !buffer)
		return dw_fail_null(err, "image and buffer");

	uint64_t separator = image->view->path_separator;
	size_t size;
	int ret = dw_view_link(image->view, inode.number, buffer, room, &size, err);

	if (ret < 0)
		return ret;
	if (separator != '/' && separator < 128)
		for (size_t i = 0; i < size; i++)
			if (buffer[i] == (char)separator)
				buffer[i] = '/';
	if (bytes_out)
		*bytes_out = size;
	return 0;
}

/* -- attributes ---------------------------------------------------------------------- */

int dwarfs_stat_new(dwarfs_stat **stat_out, dwarfs_error **err)
{
	if (!stat_out)
		return dw_fail_null(err, "stat_out");

	dwarfs_stat *stat = dw_calloc(1, sizeof(*stat));

	if (!stat)
		return dw_fail_nomem(err);
	*stat_out = stat;
	return 0;
}

void dwarfs_stat_free(dwarfs_stat *stat)
{
	dw_free(stat);
}

int dwarfs_entry_stat(const dwarfs_image *image, dwarfs_entry entry, dwarfs_stat *stat,
		      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !stat)
		return dw_fail_null(err, "image and stat");
	return dw_view_entry_stat(image->view, entry.number, stat, err);
}

int dwarfs_inode_stat(const dwarfs_image *image, dwarfs_inode inode, dwarfs_stat *stat,
		      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !stat)
		return dw_fail_null(err, "image and stat");
	return dw_view_inode_stat(image->view, inode.number, stat, err);
}

dwarfs_inode dwarfs_stat_inode(const dwarfs_stat *stat)
{
	if (!stat)
		return DWARFS_ROOT_INODE;
	return dwarfs_inode_at(stat->inode);
}

uint32_t dwarfs_stat_mode(const dwarfs_stat *stat)
{
	if (!stat)
		return 0;
	return stat->mode;
}

uint32_t dwarfs_stat_uid(const dwarfs_stat *stat)
{
	if (!stat)
		return 0;
	return stat->uid;
}

uint32_t dwarfs_stat_gid(const dwarfs_stat *stat)
{
	if (!stat)
		return 0;
	return stat->gid;
}

uint64_t dwarfs_stat_bytes(const dwarfs_stat *stat)
{
	if (!stat)
		return 0;
	return stat->bytes;
}

uint64_t dwarfs_stat_allocated_bytes(const dwarfs_stat *stat)
{
	if (!stat)
		return 0;
	return stat->allocated_bytes;
}

uint32_t dwarfs_stat_nlink(const dwarfs_stat *stat)
{
	if (!stat)
		return 0;
	return stat->nlink;
}

uint32_t dwarfs_stat_rdev_major(const dwarfs_stat *stat)
{
	if (!stat)
		return 0;
	return stat->rdev_major;
}

uint32_t dwarfs_stat_rdev_minor(const dwarfs_stat *stat)
{
	if (!stat)
		return 0;
	return stat->rdev_minor;
}

static int time_index(int time)
{
	return time >= DWARFS_ATIME && time <= DWARFS_BTIME ? time : DWARFS_MTIME;
}

int64_t dwarfs_stat_seconds(const dwarfs_stat *stat, enum dwarfs_time time)
{
	if (!stat)
		return 0;
	return stat->seconds[time_index(time)];
}

uint32_t dwarfs_stat_nanoseconds(const dwarfs_stat *stat, enum dwarfs_time time)
{
	if (!stat)
		return 0;
	return stat->nanoseconds[time_index(time)];
}

uint32_t dwarfs_stat_invalid(const dwarfs_stat *stat)
{
	if (!stat)
		return 0;
	return stat->invalid;
}

const char *dwarfs_attribute_name(enum dwarfs_attribute attribute)
{
	switch (attribute) {
	case DWARFS_ATTRIBUTE_MODE:
		return "mode";
	case DWARFS_ATTRIBUTE_UID:
		return "owner";
	case DWARFS_ATTRIBUTE_GID:
		return "group";
	case DWARFS_ATTRIBUTE_NLINK:
		return "link count";
	case DWARFS_ATTRIBUTE_ATIME:
		return "access time";
	case DWARFS_ATTRIBUTE_MTIME:
		return "modification time";
	case DWARFS_ATTRIBUTE_CTIME:
		return "change time";
	case DWARFS_ATTRIBUTE_BTIME:
		return "birth time";
	default:
		return NULL;
	}
}
