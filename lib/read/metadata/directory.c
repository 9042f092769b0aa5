/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/directory: directories, their entries, and targets of links.
 *
 * Takes a view; gives entries, parents and targets, each checked.
 */
#include "read/metadata/view.h"

int dw_view_entry_inode(const struct view *view, uint32_t entry, uint32_t *inode_out,
			dwarfs_error **err)
{
	uint64_t inode;

	if (dw_view_is_bad(view))
		return dw_view_fail(view, err);
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

#define ONES	UINT64_C(0x0101010101010101)
#define TOPS	(ONES << 7)
#define SLASHES (ONES * '/')

/* Nonzero if a byte of the word is zero. */
static uint64_t zero_bytes(uint64_t word)
{
	return (word - ONES) & ~word & TOPS;
}

/* Whether the name contains a slash or NUL; eight bytes at a time, the last eight may
 * overlap. */
static bool has_separator(const char *name, size_t size)
{
	size_t i = 0;

	for (; i + 8 <= size; i += 8) {
		uint64_t word = dw_load64(name + i);

		if (zero_bytes(word) | zero_bytes(word ^ SLASHES))
			return true;
	}
	if (i < size && size >= 8) {
		uint64_t word = dw_load64(name + size - 8);

		return (zero_bytes(word) | zero_bytes(word ^ SLASHES)) != 0;
	}
	for (; i < size; i++)
		if (name[i] == '/' || name[i] == '\0')
			return true;
	return false;
}

bool dw_is_name(const char *name, size_t size)
{
	if (size == 0 || size > 255 || has_separator(name, size))
		return false;
	return !(name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.')));
}

int dw_view_entry_name(const struct view *view, uint32_t entry, char *out, size_t room,
		       size_t *size_out, dwarfs_error **err)
{
	char name[256];
	uint64_t index;
	int ret;

	if (dw_view_is_bad(view))
		return dw_view_fail(view, err);
	if (entry >= view->entry_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "entry %" PRIu32 " does not exist",
			       entry);
	if (entry == 0) {
		if (room == 0)
			return dw_fail(err, DWARFS_ERR_RANGE,
				       "buffer too small for a name");
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
	if (!dw_is_name(out, *size_out))
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "metadata: the name of entry %" PRIu32 " cannot be a name",
			       entry);
	return 0;
}

int dw_view_dir_range(const struct view *view, uint32_t dir, uint32_t *first_out,
		      uint32_t *count_out, dwarfs_error **err)
{
	uint64_t first, end;
	int ret;

	if (dw_view_is_bad(view))
		return dw_view_fail(view, err);
	if (dir >= view->inode_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "inode %" PRIu32 " does not exist",
			       dir);
	if (dir >= view->directory_count)
		return dw_fail(err, DWARFS_ERR_NOT_DIR,
			       "inode %" PRIu32 " is not a directory", dir);
	if ((ret = dw_view_need_directories(view, err)) < 0)
		return ret;
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

uint32_t dw_view_directory_of(const struct view *view, uint32_t entry)
{
	uint32_t low = 0, high = view->directory_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (dw_view_first_entry(view, middle) <= entry)
			low = middle;
		else
			high = middle;
	}
	return low;
}

#define NO_PARENT UINT32_MAX

/* Stored parents cannot be trusted (and need not be stored), so they are found in one
 * pass. A directory comes after its parent in every valid image, which excludes
 * cycles. Entries that break this rule are passed over, and so are the last directories if
 * some share their entries. */
static int find_parents(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	const struct view *view = owner;
	uint32_t left = view->entry_count;
	uint32_t *parents = dw_malloc(view->directory_count * sizeof(*parents));

	if (!parents)
		return dw_fail_nomem(err);
	memset(parents, 0xff, view->directory_count * sizeof(*parents)); /* NO_PARENT */
	for (uint32_t dir = 0; dir < view->directory_count; dir++) {
		uint32_t first, count, inode = 0;

		if (dw_view_dir_range(view, dir, &first, &count, NULL) < 0)
			continue;
		if (count > left)
			break;
		left -= count;
		for (uint32_t i = 0; i < count; i++)
			if (dw_view_entry_inode(view, first + i, &inode, NULL) == 0 &&
			    inode < view->directory_count && inode > dir)
				parents[inode] = dir;
	}
	*items_out = parents;
	return 0;
}

int dw_view_dir_parent(const struct view *view, uint32_t dir, uint32_t *parent_out,
		       dwarfs_error **err)
{
	int ret;

	if (dw_view_is_bad(view))
		return dw_view_fail(view, err);
	if (dir >= view->inode_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "inode %" PRIu32 " does not exist",
			       dir);
	if (dir >= view->directory_count)
		return dw_fail(err, DWARFS_ERR_NOT_DIR,
			       "inode %" PRIu32 " is not a directory", dir);
	/* The first request of most mounts, which need not wait for the other parents. */
	if (dir == 0) {
		*parent_out = 0;
		return 0;
	}
	if ((ret = dw_lazy_need(&view->parents, find_parents, view, err)) < 0)
		return ret;
	*parent_out = dw_lazy_items(&view->parents)[dir];
	if (*parent_out == NO_PARENT)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "metadata: directory %" PRIu32 " has no parent", dir);
	return 0;
}

int dw_view_link(const struct view *view, uint32_t inode, char *out, size_t room,
		 size_t *size_out, dwarfs_error **err)
{
	uint64_t index;
	int ret;

	if (dw_view_is_bad(view))
		return dw_view_fail(view, err);
	if (inode >= view->inode_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "inode %" PRIu32 " does not exist",
			       inode);
	if (dw_view_class(view, inode) != CLASS_LNK)
		return dw_fail(err, DWARFS_ERR_INVALID, "inode %" PRIu32 " is not a link",
			       inode);
	index = dw_column_get(&view->symlink_table, view->symlink_table_item,
			      inode - view->first_of_class[CLASS_LNK]);
	ret = dw_strings_get(&view->symlinks, index, out,
			     room < LINK_ROOM ? room : LINK_ROOM, size_out, err);
	if (ret == DWARFS_ERR_RANGE && room >= LINK_ROOM)
		return dw_fail_metadata(err, "the target of a link is too long");
	if (ret < 0)
		return ret;
	if (memchr(out, '\0', *size_out))
		return dw_fail_metadata(err, "the target of a link contains a NUL");
	return 0;
}
