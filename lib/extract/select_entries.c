/* SPDX-License-Identifier: MIT */
/*
 * extract/select_entries: list the entries to extract.
 *
 * Selects entries by the patterns and options; results are directories, regular files and
 * other entries, each in tree order. Directories that do not match are included only as
 * parents of selected entries.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/machine/limits.h"
#include "extract/select_entries.h"

/* A directory whose entries are being listed. */
struct selection_level {
	dwarfs_entry next;
	uint32_t left;	  /* entries from next on */
	size_t path_size; /* of the directory, within the path */
};

struct entry_selection {
	struct job *job;
	struct selection_level *levels;
	size_t depth, level_room;
	char *path; /* of the entry; only if there are patterns */
	size_t path_size, path_room;
	bool has_patterns;
};

static void entry_selection_release(struct entry_selection *selection)
{
	dw_free(selection->levels);
	dw_free(selection->path);
}

/* The path of an entry in the directory at the end of the levels. */
static int set_entry_path(struct entry_selection *selection, dwarfs_entry entry,
			  dwarfs_error **err)
{
	size_t keep = selection->levels[selection->depth - 1].path_size;
	int ret = dw_grow(&selection->path, &selection->path_room,
			  keep + 1 + DWARFS_NAME_BUFFER_BYTES, err);

	if (ret < 0)
		return ret;
	if (keep > 0)
		selection->path[keep++] = '/';
	ret = dw_plan_name(&selection->job->plan, entry, selection->path + keep, err);
	if (ret == 0)
		selection->path_size = keep + strlen(selection->path + keep);
	return ret;
}

/* Whether an entry is to be made for itself: 1 or 0. */
static int is_selected(struct entry_selection *selection, dwarfs_entry entry,
		       uint32_t parent, bool is_dir, dwarfs_error **err)
{
	struct patterns *patterns = selection->job->extract->patterns;
	size_t first = 0;
	int ret;

	if (!selection->has_patterns)
		return 1;
	/* Match also entries that are selected anyway, since a pattern may match no other
	 * entry. */
	if (selection->job->plan.dirs[parent].wanted &&
	    !dw_patterns_unmatched(patterns, &first))
		return 1;
	if ((ret = set_entry_path(selection, entry, err)) < 0)
		return ret;
	ret = dw_patterns_match(patterns, selection->path, selection->path_size, is_dir);
	return ret || selection->job->plan.dirs[parent].wanted;
}

/* List the entries of a directory next. */
static int list_directory(struct entry_selection *selection, dwarfs_inode inode,
			  dwarfs_error **err)
{
	dwarfs_entry first;
	uint32_t count;
	int ret;

	if ((ret = dwarfs_dir_range(selection->job->image, inode, &first, &count, err)) <
		    0 ||
	    (ret = dw_grow(&selection->levels, &selection->level_room,
			   selection->depth + 1, err)) < 0)
		return ret;
	selection->levels[selection->depth++] =
		(struct selection_level){ first, count, selection->path_size };
	return 0;
}

static int select_dir(struct entry_selection *selection, dwarfs_entry entry,
		      const dwarfs_stat *stat, dwarfs_error **err)
{
	struct plan *plan = &selection->job->plan;
	dwarfs_inode inode = dwarfs_stat_inode(stat);
	uint32_t dir;
	int ret = dw_plan_add_dir(plan, entry, inode, &dir, err);

	if (ret < 0)
		return ret;
	if (entry.number == 0) {
		plan->dirs[dir].needed = true;
		plan->dirs[dir].wanted = !selection->has_patterns;
		return list_directory(selection, inode, err);
	}
	ret = is_selected(selection, entry, plan->dirs[dir].parent, true, err);
	if (ret < 0)
		return ret;
	plan->dirs[dir].wanted = ret;
	if (ret)
		dw_plan_need(plan, dir);
	return list_directory(selection, inode, err);
}

/* Whether entries of a type are left out. */
static int is_type_skipped(const struct job *job, uint32_t mode, dwarfs_error **err)
{
	if (S_ISREG(mode) || S_ISLNK(mode))
		return 0;
	if (S_ISBLK(mode) || S_ISCHR(mode))
		return job->extract->skip_devices;
	if (S_ISFIFO(mode) || S_ISSOCK(mode))
		return job->extract->skip_specials;
	return dw_fail(err, DWARFS_ERR_CORRUPT, "mode %" PRIo32 " has no known type",
		       mode);
}

static int select_other(struct entry_selection *selection, dwarfs_entry entry,
			const dwarfs_stat *stat, dwarfs_error **err)
{
	struct job *job = selection->job;
	uint32_t mode = dwarfs_stat_mode(stat), dir;
	int ret;

	if ((ret = dw_plan_dir_of(&job->plan, entry, &dir, err)) < 0 ||
	    (ret = is_selected(selection, entry, dir, false, err)) <= 0)
		return ret;
	if ((ret = is_type_skipped(job, mode, err)) != 0)
		return ret < 0 ? ret : 0;
	dw_plan_need(&job->plan, dir);
	if ((S_ISBLK(mode) || S_ISCHR(mode)) &&
	    !dw_is_device(dwarfs_stat_rdev_major(stat), dwarfs_stat_rdev_minor(stat))) {
		dw_job_lose_device(job, entry, stat);
		return 0;
	}
	dw_job_note_damage(job, entry, stat);
	if (!S_ISREG(mode))
		return dw_entries_add(&job->others, entry, err);
	job->progress.items_total++;
	job->progress.bytes_total += dwarfs_stat_bytes(stat);
	return dw_entries_add(&job->plan.regular, entry, err);
}

static void select_entry(struct entry_selection *selection, dwarfs_entry entry)
{
	struct job *job = selection->job;
	dwarfs_stat *stat = job->workers[0].stat;
	dwarfs_error *why = NULL;
	int ret = dwarfs_entry_stat(job->image, entry, stat, &why);
	bool is_dir = ret == 0 && S_ISDIR(dwarfs_stat_mode(stat));

	if (ret == 0 && entry.number == 0 && !is_dir)
		ret = dw_fail(&why, DWARFS_ERR_CORRUPT, "the root is not a directory");
	else if (ret == 0)
		ret = is_dir ? select_dir(selection, entry, stat, &why)
			     : select_other(selection, entry, stat, &why);
	if (ret < 0)
		dw_job_fail(job, entry, ret, why);
}

/* Each entry is extracted at most once: a directory that shares entries with another one
 * is refused. */
static void select_all(struct entry_selection *selection)
{
	select_entry(selection, DWARFS_ROOT_ENTRY);
	while (selection->depth > 0 && dw_job_continues(selection->job)) {
		struct selection_level *level = &selection->levels[selection->depth - 1];
		const dwarfs_entry entry = level->next;

		if (level->left == 0) {
			selection->depth--;
			continue;
		}
		level->next.number++;
		level->left--;
		select_entry(selection, entry);
	}
}

static void warn_unmatched(const struct job *job)
{
	const char *text;
	size_t next = 0;

	while ((text = dw_patterns_unmatched(job->extract->patterns, &next)))
		dw_log(dwarfs_image_context(job->image), DWARFS_LOG_WARN,
		       "pattern '%s' matches nothing", text);
}

int dw_select_entries(struct job *job, dwarfs_error **err)
{
	struct entry_selection selection = {
		.job = job,
		.has_patterns = !dw_patterns_are_none(job->extract->patterns),
	};
	int ret = dw_progress_enter(&job->progress, DWARFS_PHASE_SCAN, err);

	if (ret < 0)
		return ret;
	dw_patterns_start(job->extract->patterns);
	select_all(&selection);
	entry_selection_release(&selection);
	if (dw_job_continues(job))
		warn_unmatched(job);
	if (job->plan.dir_count > 0)
		return dw_plan_sort(&job->plan, err);
	/* Nothing can be made without a root. */
	atomic_store(&job->stopped, true);
	return 0;
}
