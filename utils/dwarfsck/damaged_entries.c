/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/damaged_entries: report the damaged entries of a walk, and go on after them.
 */
#include "dwarfsck/dwarfsck.h"

int begin_walk(const dwarfs_image *image, enum dwarfs_walk_order order,
	       dwarfs_walk **walk_out, dwarfs_stat **stat_out)
{
	auto_handle(dwarfs_error) *err = NULL;

	if (dwarfs_stat_new(stat_out, &err) < 0 ||
	    dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, order, walk_out, &err) < 0)
		return tool_fail(err, NULL);
	return 0;
}

int next_intact(const dwarfs_image *image, dwarfs_walk *walk, dwarfs_entry *entry_out,
		dwarfs_stat *stat, uint64_t *lost)
{
	for (;;) {
		auto_handle(dwarfs_error) *err = NULL;
		int ret = dwarfs_walk_next(walk, entry_out, &err);
		const bool was_found = ret > 0;
		const char *path = dwarfs_walk_path(walk);

		if (was_found && stat)
			ret = dwarfs_entry_stat(image, *entry_out, stat, &err);
		if (ret >= 0)
			return was_found;
		++*lost;
		tool_fail(err, *path ? "%s" : NULL, path);
		/* After an error of its root, or in a loop, nothing more can be found. */
		if (dwarfs_error_code(err) != DWARFS_ERR_CORRUPT ||
		    (!was_found && !*path) || *lost > dwarfs_image_entry_count(image))
			return -1;
	}
}
