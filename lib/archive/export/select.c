/* SPDX-License-Identifier: MIT */
/*
 * archive/export/select: choose the entries of an image to write.
 *
 * Applies the patterns and the skip options; results are a bit for each entry, the number
 * of written names of each file, and the total size. Of entries with the same path only
 * the first is written. Reads metadata only.
 */
#include <string.h>
#include <sys/stat.h>

#include "archive/export/export.h"
#include "base/context.h"

DW_DEFINE_AUTO(select_walk, dwarfs_walk *, dwarfs_walk_free)

/* The directories above where the walk is. */
struct above {
	dwarfs_entry *entries; /* by depth */
	size_t room;
	uint32_t from; /* entries deeper than this are selected; UINT32_MAX for none */
	uint32_t lost; /* entries deeper than this are left out; UINT32_MAX for none */
};

void dw_export_select_release(struct selection *selection)
{
	dw_free(selection->taken);
	dw_free(selection->claimed);
	dw_free(selection->repeated);
	dw_free(selection->names);
	*selection = (struct selection){ 0 };
}

static bool is_type_left_out(const struct dwarfs_archive_export *export, uint32_t mode)
{
	if (S_ISBLK(mode) || S_ISCHR(mode))
		return export->skip_devices;
	return (S_ISFIFO(mode) || S_ISSOCK(mode)) && export->skip_specials;
}

static void take_selected(struct selection *selection, dwarfs_entry entry)
{
	if (!dw_export_takes(selection, entry))
		selection->entries++;
	selection->taken[entry.number / 8] |= (uint8_t)(1u << entry.number % 8);
}

/* Whether an entry, or a directory that it is in, matches a pattern. */
static bool matches_pattern(const struct export_run *run, const dwarfs_walk *walk,
			    struct above *above, bool is_dir)
{
	const char *path = dwarfs_walk_path(walk);
	struct patterns *patterns = run->export->patterns;
	uint32_t depth = dwarfs_walk_depth(walk);
	size_t first = 0;
	bool matches;

	if (depth <= above->from)
		above->from = UINT32_MAX;
	if (dw_patterns_are_none(patterns))
		return true;
	/* Match also entries that are selected anyway, since a pattern may match no other
	 * entry. */
	if (above->from != UINT32_MAX && !dw_patterns_unmatched(patterns, &first))
		return true;
	matches = depth > 0 && dw_patterns_match(patterns, path, strlen(path), is_dir);
	if (matches && is_dir && above->from == UINT32_MAX)
		above->from = depth;
	return matches || above->from != UINT32_MAX;
}

static void add_up(uint64_t *total, uint64_t more)
{
	if (!dw_add(*total, more, total))
		*total = UINT64_MAX;
}

/* A file is stored for each of its names, or for the first only. */
static void count(struct export_run *run)
{
	struct selection *selection = &run->selection;
	const uint32_t inode = dwarfs_stat_inode(run->stat).number;
	uint64_t data = dwarfs_stat_allocated_bytes(run->stat);

	if ((selection->names[inode] == 0 || !run->keeps_links) && !run->is_list) {
		add_up(&selection->data, data);
		add_up(&selection->holes, dwarfs_stat_bytes(run->stat) - data);
	}
	selection->names[inode]++;
}

/* Whether an entry is below a directory that is left out. */
static bool is_lost(struct above *above, uint32_t depth)
{
	if (depth <= above->lost)
		above->lost = UINT32_MAX;
	return above->lost != UINT32_MAX;
}

static int take_all(struct export_run *run, const struct above *above, uint32_t depth,
		    uint32_t mode)
{
	for (uint32_t i = 0; i <= depth; i++)
		take_selected(&run->selection, above->entries[i]);
	if (S_ISREG(mode))
		count(run);
	if (!run->selection.has_odd_xattrs && run->format->xattrs)
		run->selection.has_odd_xattrs = dw_export_has_odd_xattrs(run);
	return 0;
}

static int visit(struct export_run *run, const dwarfs_walk *walk, dwarfs_entry entry,
		 struct above *above, dwarfs_error **err)
{
	const uint32_t depth = dwarfs_walk_depth(walk);
	bool is_repeated, is_wanted;
	uint32_t mode;
	int ret;

	ret = dw_grow(&above->entries, &above->room, depth + 1, err);
	if (ret < 0)
		return ret;
	above->entries[depth] = DWARFS_ROOT_ENTRY; /* if this one is damaged */
	if ((ret = dw_export_claim(run, entry, err)) < 0) {
		run->is_no_tree = true;
		return ret;
	}
	if (is_lost(above, depth))
		return 0;
	is_repeated = dw_export_is_repeated(&run->selection, entry);
	if (is_repeated)
		above->lost = depth;
	ret = dwarfs_entry_stat(run->image, entry, run->stat, err);
	if (ret < 0)
		return ret;
	above->entries[depth] = entry;
	mode = dwarfs_stat_mode(run->stat);
	/* libarchive crashes with a list of entries whose root is not a directory. */
	if (depth == 0 && !S_ISDIR(mode))
		return dw_fail(err, DWARFS_ERR_CORRUPT, "the root is not a directory");
	is_wanted = matches_pattern(run, walk, above, S_ISDIR(mode));
	if ((!is_wanted && !(is_repeated && S_ISDIR(mode))) ||
	    is_type_left_out(run->export, mode))
		return 0;
	if (is_repeated)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "another entry of its directory has the same name");
	return take_all(run, above, depth, mode);
}

/* Report a damaged entry, but not the root or a directory loop. Takes ownership of why.
 */
static int skip_damaged(struct export_run *run, const dwarfs_walk *walk, int code,
			dwarfs_error *why, dwarfs_error **err)
{
	const char *path = dwarfs_walk_path(walk);

	run->is_damaged = true;
	if (*path && !run->is_no_tree &&
	    run->export->failures < dwarfs_image_entry_count(run->image))
		return dw_export_lose(run, DWARFS_EXPORT_LEFT_OUT, path, code, why, err);
	if (*path)
		dw_explain(&why, code, "%s", path);
	dw_error_copy(err, code, why);
	dwarfs_error_free(why);
	return code;
}

static int walk_tree(struct export_run *run, struct above *above, dwarfs_error **err)
{
	DW_AUTO(select_walk) dwarfs_walk *walk = NULL;
	dwarfs_entry entry;
	int ret = dwarfs_walk_new(run->image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk,
				  err);

	if (ret < 0)
		return ret;
	while (ret == 0 && !run->is_left) {
		dwarfs_error *why = NULL;

		ret = dwarfs_walk_next(walk, &entry, &why);
		if (ret == 0)
			break;
		if (ret > 0)
			ret = visit(run, walk, entry, above, &why);
		ret = ret < 0 ? skip_damaged(run, walk, ret, why, err)
			      : dw_progress_tick(&run->progress, err);
	}
	return ret;
}

static void name_unmatched(const struct export_run *run)
{
	const char *text;
	size_t next = 0;

	while ((text = dw_patterns_unmatched(run->export->patterns, &next)))
		dw_log(dwarfs_image_context(run->image), DWARFS_LOG_WARN,
		       "pattern '%s' matches nothing", text);
}

int dw_export_select(struct export_run *run, dwarfs_error **err)
{
	size_t entries = dwarfs_image_entry_count(run->image);
	size_t inodes = dwarfs_image_inode_count(run->image);
	struct selection *selection = &run->selection;
	struct above above = { .from = UINT32_MAX, .lost = UINT32_MAX };
	int ret;

	selection->taken = dw_calloc(entries / 8 + 1, 1);
	selection->claimed = dw_calloc(entries / 8 + 1, 1);
	selection->names = dw_calloc(inodes, sizeof(*selection->names));
	if (!selection->taken || !selection->claimed || !selection->names)
		return dw_fail_nomem(err);
	dw_patterns_start(run->export->patterns);
	ret = walk_tree(run, &above, err);
	dw_free(above.entries);
	if (ret == 0 && !run->is_left) {
		name_unmatched(run);
		ret = dw_export_weigh_holes(run, err);
	}
	run->progress.items_total = selection->entries;
	run->progress.bytes_total = selection->data;
	add_up(&run->progress.bytes_total, selection->holes);
	return ret;
}
