/* SPDX-License-Identifier: MIT */
/*
 * extract/cursor: a position in the tree on disk, as a stack of open directories.
 *
 * Opens one name at a time, so that paths may be longer than the system allows and links
 * are never followed. Only the root and the deepest levels stay open; a closed level is
 * reopened from below by "..", which must be the same directory as before, or from the
 * root, whichever is nearer.
 */
#include <errno.h>

#include "extract/plan.h"
#include "os/file_io.h"

int dw_cursor_init(struct cursor *cursor, const struct plan *plan, int root_fd,
		   size_t most_open, dwarfs_error **err)
{
	int ret;

	*cursor = (struct cursor){ .plan = plan, .most_open = most_open };
	if ((ret = dw_grow(&cursor->levels, &cursor->level_capacity, 1, err)) < 0)
		return ret;
	cursor->levels[0] = (struct cursor_level){ .dir = 0, .fd = root_fd };
	cursor->level_count = 1;
	return 0;
}

static void close_level(struct cursor_level *level)
{
	dw_fd_close(level->fd);
	level->fd = -1;
}

void dw_cursor_release(struct cursor *cursor)
{
	for (size_t i = 1; i < cursor->level_count; i++)
		close_level(&cursor->levels[i]);
	dw_free(cursor->levels);
	dw_free(cursor->way);
	*cursor = (struct cursor){ 0 };
}

static int fail_at(const struct cursor *cursor, const struct cursor_level *level,
		   int errnum, dwarfs_error **err)
{
	char name[DWARFS_NAME_BUFFER_BYTES] = "";

	dw_plan_name(cursor->plan, cursor->plan->dirs[level->dir].entry, name, NULL);
	if (errnum == ESTALE)
		return dw_fail(err, DWARFS_ERR_IO,
			       "directory '%s' was moved during the extraction", name);
	return dw_fail_errno(err, errnum, "cannot open directory '%s'", name);
}

/* Close a level that is to be found again. */
static int close_distant(struct cursor *cursor, size_t depth, dwarfs_error **err)
{
	struct cursor_level *level = &cursor->levels[depth];
	int ret;

	if (level->fd < 0)
		return 0;
	if ((ret = dw_create_identify(level->fd, &level->identity)) < 0)
		return fail_at(cursor, level, -ret, err);
	close_level(level);
	return 0;
}

/* Open a level inside the one above it, which is open. */
static int open_level(struct cursor *cursor, size_t depth, dwarfs_error **err)
{
	struct cursor_level *level = &cursor->levels[depth];
	char name[DWARFS_NAME_BUFFER_BYTES];
	int ret;

	ret = dw_plan_name(cursor->plan, cursor->plan->dirs[level->dir].entry, name, err);
	if (ret < 0)
		return ret;
	ret = dw_create_open_dir(level[-1].fd, name);
	if (ret < 0)
		return fail_at(cursor, level, -ret, err);
	level->fd = ret;
	return depth > cursor->most_open
		       ? close_distant(cursor, depth - cursor->most_open, err)
		       : 0;
}

/* Open the level at depth, which is closed, from the lowest open one below it. */
static int climb(struct cursor *cursor, size_t from, size_t depth, dwarfs_error **err)
{
	for (; from > depth; from--) {
		struct cursor_level *level = &cursor->levels[from];
		int fd = dw_create_open_parent(level->fd, &level[-1].identity);

		if (fd < 0)
			return fail_at(cursor, &level[-1], -fd, err);
		level[-1].fd = fd;
		close_level(level);
	}
	return 0;
}

/* Open the levels down to depth from the lowest open one above it. */
static int descend(struct cursor *cursor, size_t depth, dwarfs_error **err)
{
	size_t open = depth;
	int ret;

	while (cursor->levels[open].fd < 0)
		open--;
	while (open < depth)
		if ((ret = open_level(cursor, ++open, err)) < 0)
			return ret;
	return 0;
}

/* Make depth the deepest level, open. */
static int cut(struct cursor *cursor, size_t depth, dwarfs_error **err)
{
	size_t below = depth + 1;
	int ret = 0;

	while (below < cursor->level_count && cursor->levels[below].fd < 0)
		below++;
	if (cursor->levels[depth].fd < 0 && below < cursor->level_count &&
	    below - depth < depth)
		ret = climb(cursor, below, depth, err);
	for (size_t i = depth + 1; i < cursor->level_count; i++)
		close_level(&cursor->levels[i]);
	cursor->level_count = depth + 1;
	return ret < 0 ? ret : descend(cursor, depth, err);
}

int dw_cursor_go(struct cursor *cursor, uint32_t dir, int *fd_out, dwarfs_error **err)
{
	const struct dir *dirs = cursor->plan->dirs;
	size_t depth = dirs[dir].depth, common = depth;
	int ret;

	if ((ret = dw_grow(&cursor->way, &cursor->way_capacity, depth + 1, err)) < 0 ||
	    (ret = dw_grow(&cursor->levels, &cursor->level_capacity, depth + 1, err)) < 0)
		return ret;
	while (common >= cursor->level_count || cursor->levels[common].dir != dir) {
		cursor->way[common--] = dir;
		dir = dirs[dir].parent;
	}
	if ((ret = cut(cursor, common, err)) < 0)
		return ret;
	while (common < depth) {
		common++;
		cursor->levels[common] =
			(struct cursor_level){ .dir = cursor->way[common], .fd = -1 };
		cursor->level_count = common + 1;
		if ((ret = open_level(cursor, common, err)) < 0)
			return ret;
	}
	*fd_out = cursor->levels[depth].fd;
	return 0;
}
