/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/inode_classes: which inodes are directories, links, files, devices and
 * others.
 *
 * Takes a view; sets where each class of inodes begins: inodes are numbered by class.
 * The boundaries are found by the modes, by binary search; the sizes of the tables must
 * agree. If they do not, or a mode is invalid, the sizes alone decide, unless a mode
 * next to a boundary contradicts them: one wrong mode must not make other files
 * unreadable.
 */
#include "read/metadata/inode_record.h"
#include "read/metadata/view.h"

/* -- by the modes -------------------------------------------------------------------- */

/* The class of an inode by its mode; -1 for an invalid mode. */
static int class_by_mode(const struct view *view, uint32_t inode)
{
	uint64_t record;
	uint32_t mode;

	if (dw_view_record(view, inode, &record, NULL) < 0 ||
	    !dw_record_raw_mode(view, record, &mode))
		return -1;
	return dw_class_of_mode(mode);
}

static int find_by_modes(struct view *view, dwarfs_error **err)
{
	for (int class = CLASS_DIR; class < CLASS_COUNT; class ++) {
		uint32_t low = view->first_of_class[class], high = view->inode_count;

		while (low < high) {
			uint32_t middle = low + (high - low) / 2;
			int found = class_by_mode(view, middle);

			if (found < 0)
				return dw_fail_metadata(err,
							"an inode has no valid mode");
			if (found <= class)
				low = middle + 1;
			else
				high = middle;
		}
		view->first_of_class[class + 1] = low;
	}
	return 0;
}

static int check_classes(const struct view *view, dwarfs_error **err)
{
	if (dw_view_class_count(view, CLASS_DIR) != view->directory_count)
		return dw_fail_metadata(
			err, "the number of directories does not fit the inodes");
	if (dw_view_class_count(view, CLASS_LNK) != view->symlink_table.count)
		return dw_fail_metadata(err,
					"the number of links does not fit the inodes");
	if (dw_view_class_count(view, CLASS_DEV) != view->devices.count)
		return dw_fail_metadata(err,
					"the number of devices does not fit the inodes");
	return 0;
}

/* -- shared files -------------------------------------------------------------------- */

/* The number of contents shared by several files. The plain table is sorted, so its
 * last value is the largest. */
static uint64_t distinct_contents(const struct view *view)
{
	uint64_t count = view->shared_files.count;

	if (view->packed_shared_files || count == 0)
		return count;
	return dw_column_get(&view->shared_files, view->shared_files_item, count - 1) + 1;
}

/* The number of files that share them, by a pass over a packed table; capped above the
 * number of inodes. */
static uint64_t sum_shared(const struct view *view)
{
	uint64_t sum = 0;

	if (!view->packed_shared_files)
		return view->shared_files.count;
	for (uint64_t i = 0; i < view->shared_files.count && sum <= view->inode_count;
	     i++)
		sum += dw_column_get(&view->shared_files, view->shared_files_item, i) + 2;
	return sum;
}

/* The same by the sizes of the tables: the chunk table has an entry for each file that
 * shares nothing, for each shared content, and one more. */
static int count_shared(struct view *view, dwarfs_error **err)
{
	uint64_t files = dw_view_class_count(view, CLASS_REG);
	uint64_t shared = view->shared_files.count, distinct = distinct_contents(view);

	if (shared > files)
		return dw_fail_metadata(err, "more files are shared than there are");
	if (view->packed_shared_files) {
		if (view->chunk_table.count < distinct + 1 ||
		    view->chunk_table.count - distinct - 1 > files)
			return dw_fail_metadata(
				err, "the chunk table does not fit the number of files");
		shared = files - (view->chunk_table.count - distinct - 1);
		if (shared < 2 * distinct || (shared > 0 && distinct == 0))
			return dw_fail_metadata(
				err, "the chunk table does not fit the number of files");
	}
	view->shared_count = shared;
	view->unique_files = files - shared;
	if (view->chunk_table.count != view->unique_files + distinct + 1)
		return dw_fail_metadata(
			err, "the chunk table does not fit the number of files");
	return 0;
}

/* If there are special inodes after the files, only the modes say where files end,
 * unless a packed table is summed up. */
static int check_shared_table(const struct view *view, dwarfs_error **err)
{
	if (view->packed_shared_files && dw_view_class_count(view, CLASS_OTH) > 0 &&
	    sum_shared(view) != view->shared_count)
		return dw_fail_metadata(
			err, "the chunk table does not fit the number of files");
	return 0;
}

/* -- by the sizes of the tables ------------------------------------------------------ */

static bool set_by_sizes(struct view *view)
{
	uint64_t distinct = distinct_contents(view), shared = sum_shared(view);
	uint64_t counts[CLASS_COUNT] = {
		[CLASS_DIR] = view->directory_count,
		[CLASS_LNK] = view->symlink_table.count,
		[CLASS_DEV] = view->devices.count,
	};
	uint64_t first = 0;

	if (view->chunk_table.count < distinct + 1 || shared < 2 * distinct)
		return false;
	counts[CLASS_REG] = view->chunk_table.count - distinct - 1 + shared;
	for (int class = CLASS_DIR; class < CLASS_OTH; class ++) {
		first += counts[class];
		if (first > view->inode_count)
			return false;
		view->first_of_class[class + 1] = (uint32_t)first;
	}
	view->first_of_class[CLASS_COUNT] = view->inode_count;
	return true;
}

/* Whether no inode next to a boundary has a valid mode of another class. A table with
 * an item too many or too few would move a boundary. */
static bool modes_allow(const struct view *view)
{
	for (int class = CLASS_DIR; class < CLASS_COUNT; class ++) {
		uint32_t first = view->first_of_class[class];
		uint32_t end = view->first_of_class[class + 1];
		int found[2];

		if (first == end)
			continue;
		found[0] = class_by_mode(view, first);
		found[1] = class_by_mode(view, end - 1);
		for (int i = 0; i < 2; i++)
			if (found[i] >= 0 && found[i] != class)
				return false;
	}
	return true;
}

/* -- both ---------------------------------------------------------------------------- */

int dw_view_find_classes(struct view *view, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret;

	if (!view->has_dir_entries &&
	    (view->packed_chunk_table || view->packed_directories ||
	     view->packed_shared_files))
		return dw_fail_metadata(err,
					"tables are packed in a format without packing");
	if ((ret = find_by_modes(view, &why)) == 0 &&
	    (ret = check_classes(view, &why)) == 0 &&
	    (ret = count_shared(view, &why)) == 0)
		ret = check_shared_table(view, &why);
	if (ret == 0)
		return 0;
	if (!set_by_sizes(view) || !modes_allow(view) || count_shared(view, NULL) < 0)
		return dw_error_copy(err, ret, why);
	return 0;
}
