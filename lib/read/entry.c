/* SPDX-License-Identifier: MIT */
/*
 * read/entry: directories, the entries in them, and where links point.
 */
#include "read/view.h"

static int corrupt(dwarfs_error **err, const char *what)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT, "metadata: %s", what);
}

int dw_view_entry_inode(const struct view *view, uint32_t entry, uint32_t *inode_out,
			dwarfs_error **err)
{
	uint64_t inode;

	if (entry >= view->entry_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "entry %" PRIu32 " does not exist",
			       entry);
	if (view->has_dir_entries)
		inode = dw_column_get(&view->dir_entries, view->de_inode, entry);
	else
		inode = dw_column_get(&view->inodes, view->inode.inode, entry);
	if (inode >= view->inode_count)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "metadata: entry %" PRIu32 " names inode %" PRIu64
			       ", which does not exist",
			       entry, inode);
	*inode_out = (uint32_t)inode;
	return 0;
}

#define LINK_ROOM 4097 /* of any target, with its NUL */

static bool is_good_name(const char *name, size_t size)
{
	if (size == 0 || memchr(name, '/', size) || memchr(name, '\0', size))
		return false;
	return !(name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.')));
}

int dw_view_entry_name(const struct view *view, uint32_t entry, char *out, size_t room,
		       size_t *size_out, dwarfs_error **err)
{
	char name[256];
	uint64_t index;
	int ret;

	if (entry >= view->entry_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "entry %" PRIu32 " does not exist",
			       entry);
	if (entry == 0) {
		if (room == 0)
			return dw_fail(err, DWARFS_ERR_RANGE, "no room for a name");
		out[0] = '\0';
		*size_out = 0;
		return 0;
	}
	if (view->has_dir_entries)
		index = dw_column_get(&view->dir_entries, view->de_name, entry);
	else
		index = dw_column_get(&view->inodes, view->inode.name_index, entry);
	if (room >= sizeof(name)) {
		ret = dw_strings_get(&view->names, index, out, sizeof(name), size_out,
				     err);
		if (ret == DWARFS_ERR_RANGE)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "metadata: the name of entry %" PRIu32
				       " is too long",
				       entry);
	} else {
		ret = dw_strings_get(&view->names, index, out, room, size_out, err);
	}
	if (ret < 0)
		return ret;
	if (!is_good_name(out, *size_out))
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "metadata: the name of entry %" PRIu32 " cannot be a name",
			       entry);
	return 0;
}

int dw_view_dir_range(const struct view *view, uint32_t dir, uint32_t *first_out,
		      uint32_t *count_out, dwarfs_error **err)
{
	uint64_t first, end;

	if (dir >= view->inode_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "inode %" PRIu32 " does not exist",
			       dir);
	if (dir >= view->directory_count)
		return dw_fail(err, DWARFS_ERR_NOT_DIR,
			       "inode %" PRIu32 " is no directory", dir);
	first = dw_view_first_entry(view, dir);
	end = dw_view_first_entry(view, (uint64_t)dir + 1);
	if (first == 0 || first > end || end > view->entry_count)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "metadata: directory %" PRIu32 " has impossible entries",
			       dir);
	*first_out = (uint32_t)first;
	*count_out = (uint32_t)(end - first);
	return 0;
}

/*
 * Stored parents cannot be trusted (and need not be stored), so they are found by one
 * pass. A directory comes after its parent in every valid image, which rules out circles.
 */
static int find_parents(const struct view *view, uint32_t *parents, dwarfs_error **err)
{
	for (uint32_t dir = 0; dir < view->directory_count; dir++) {
		uint32_t first, count, inode;
		int ret = dw_view_dir_range(view, dir, &first, &count, err);

		for (uint32_t i = 0; ret == 0 && i < count; i++) {
			ret = dw_view_entry_inode(view, first + i, &inode, err);
			if (ret < 0 || inode >= view->directory_count)
				continue;
			if (inode <= dir)
				return corrupt(err,
					       "a directory comes before its parent");
			parents[inode] = dir;
		}
		if (ret < 0)
			return ret;
	}
	return 0;
}

int dw_view_dir_parent(struct view *view, uint32_t dir, uint32_t *parent_out,
		       dwarfs_error **err)
{
	uint32_t *parents = atomic_load(&view->parents);

	if (dir >= view->inode_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "inode %" PRIu32 " does not exist",
			       dir);
	if (dir >= view->directory_count)
		return dw_fail(err, DWARFS_ERR_NOT_DIR,
			       "inode %" PRIu32 " is no directory", dir);
	if (!parents) {
		auto_free uint32_t *made =
			dw_calloc(view->directory_count, sizeof(uint32_t));
		int ret;

		if (!made)
			return dw_fail_nomem(err);
		if ((ret = find_parents(view, made, err)) < 0)
			return ret;
		parents = dw_view_publish(&view->parents, dw_steal(made));
	}
	*parent_out = parents[dir];
	return 0;
}

int dw_view_link(const struct view *view, uint32_t inode, char *out, size_t room,
		 size_t *size_out, dwarfs_error **err)
{
	uint64_t index;
	int ret;

	if (inode >= view->inode_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "inode %" PRIu32 " does not exist",
			       inode);
	if (dw_view_class(view, inode) != CLASS_LNK)
		return dw_fail(err, DWARFS_ERR_INVALID, "inode %" PRIu32 " is no link",
			       inode);
	index = dw_column_get(&view->symlink_table, view->symlink_table_item,
			      inode - view->first_of_class[CLASS_LNK]);
	ret = dw_strings_get(&view->symlinks, index, out,
			     room < LINK_ROOM ? room : LINK_ROOM, size_out, err);
	if (ret == DWARFS_ERR_RANGE && room >= LINK_ROOM)
		return corrupt(err, "the target of a link is too long");
	if (ret < 0)
		return ret;
	if (memchr(out, '\0', *size_out))
		return corrupt(err, "the target of a link contains a NUL");
	return 0;
}
