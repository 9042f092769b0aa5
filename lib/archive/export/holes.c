/* SPDX-License-Identifier: MIT */
/*
 * archive/export/holes: refuse files with huge holes in formats that store holes as
 * zeros.
 *
 * If the holes of all selected files are huge, files are accepted in tree order until the
 * sum would be huge; the others are reported as lost before anything is written.
 */
#include <string.h>
#include <sys/stat.h>

#include "archive/export/export.h"

DW_DEFINE_AUTO(holes_walk, dwarfs_walk *, dwarfs_walk_free)

enum decision { UNDECIDED, ALLOWED, REFUSED };

struct weighing {
	struct export_run *run;
	uint64_t allowed;   /* bytes of holes */
	uint8_t *decisions; /* by inode, where its names share its contents */
};

static enum decision decide(struct weighing *weighing, dwarfs_inode inode, uint64_t holes)
{
	uint8_t *decision = &weighing->decisions[inode.number];
	uint64_t sum;

	if (weighing->run->keeps_links && *decision != UNDECIDED)
		return *decision;
	*decision = REFUSED;
	if (dw_add(weighing->allowed, holes, &sum) &&
	    !dwarfs_holes_are_huge(sum, weighing->run->selection.data)) {
		*decision = ALLOWED;
		weighing->allowed = sum;
	}
	return *decision;
}

static int refuse_holes(struct export_run *run, const char *path, dwarfs_entry entry,
			uint64_t holes, dwarfs_error **err)
{
	const char *help = run->format->help;
	dwarfs_error *why = NULL;
	int ret;

	ret = dw_fail(&why, DWARFS_ERR_UNSUPPORTED,
		      "holes of %" PRIu64 " bytes, which the %.*s format would store as "
		      "zeros: use the pax format, or see --allow-huge-holes of "
		      "dwarfsextract(1), or "
		      "dwarfs_archive_export_set_allow_huge_holes()",
		      holes, (int)strcspn(help, " "), help);
	run->selection.taken[entry.number / 8] &= (uint8_t) ~(1u << entry.number % 8);
	run->selection.entries--;
	run->selection.names[dwarfs_stat_inode(run->stat).number]--;
	return dw_export_lose(run, DWARFS_EXPORT_LEFT_OUT, path, ret, why, err);
}

static int check_holes(struct weighing *weighing, const dwarfs_walk *walk,
		       dwarfs_entry entry, dwarfs_error **err)
{
	struct export_run *run = weighing->run;
	uint64_t holes;

	if (!dw_export_takes(&run->selection, entry) ||
	    dwarfs_entry_stat(run->image, entry, run->stat, NULL) < 0 ||
	    !S_ISREG(dwarfs_stat_mode(run->stat)))
		return 0;
	holes = dwarfs_stat_bytes(run->stat) - dwarfs_stat_allocated_bytes(run->stat);
	if (holes == 0 ||
	    decide(weighing, dwarfs_stat_inode(run->stat), holes) == ALLOWED)
		return 0;
	return refuse_holes(run, dwarfs_walk_path(walk), entry, holes, err);
}

/* Damaged entries were reported before. */
static int weigh_all(struct weighing *weighing, dwarfs_error **err)
{
	struct export_run *run = weighing->run;
	DW_AUTO(holes_walk) dwarfs_walk *walk = NULL;
	uint64_t left = dwarfs_image_entry_count(run->image);
	int ret = dwarfs_walk_new(run->image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk,
				  err);

	while (ret == 0 && !run->is_left) {
		dwarfs_entry entry;
		int step = dwarfs_walk_next(walk, &entry, NULL);

		if (step == 0)
			break;
		if (step == DWARFS_ERR_NOMEM)
			return dw_fail_nomem(err);
		if (step < 0 && left-- == 0)
			break;
		if (step > 0)
			ret = check_holes(weighing, walk, entry, err);
		if (ret == 0)
			ret = dw_progress_tick(&run->progress, err);
	}
	return ret;
}

int dw_export_weigh_holes(struct export_run *run, dwarfs_error **err)
{
	struct selection *selection = &run->selection;
	struct weighing weighing = { .run = run };
	auto_free uint8_t *decisions = NULL;
	int ret;

	if (run->format->holes || run->export->allow_huge_holes ||
	    !dwarfs_holes_are_huge(selection->holes, selection->data))
		return 0;
	decisions = dw_calloc(dwarfs_image_inode_count(run->image), 1);
	if (!decisions)
		return dw_fail_nomem(err);
	weighing.decisions = decisions;
	ret = weigh_all(&weighing, err);
	selection->holes = weighing.allowed;
	return ret;
}
