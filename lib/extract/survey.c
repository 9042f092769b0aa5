/* SPDX-License-Identifier: MIT */
/*
 * extract/survey: list the entries to extract.
 *
 * Selects entries by the patterns and options; results are directories, regular files and
 * other entries, each in tree order. Directories that do not match are included only as
 * parents of selected entries.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/machine/limits.h"
#include "extract/survey.h"

/* A directory whose entries are being listed. */
struct folder {
	dwarfs_entry next;
	uint32_t left;	  /* entries from next on */
	size_t path_size; /* of the directory, within the path */
};

struct survey {
	struct job *job;
	struct folder *levels;
	size_t depth, level_room;
	char *path; /* of the entry; only if there are patterns */
	size_t path_size, path_room;
	bool wants_path;
};

static void survey_release(struct survey *survey)
{
	dw_free(survey->levels);
	dw_free(survey->path);
}

/* The path of an entry in the directory at the end of the levels. */
static int set_path(struct survey *survey, dwarfs_entry entry, dwarfs_error **err)
{
	size_t keep = survey->levels[survey->depth - 1].path_size;
	int ret = dw_grow(&survey->path, &survey->path_room,
			  keep + 1 + DWARFS_NAME_BUFFER_BYTES, err);

	if (ret < 0)
		return ret;
	if (keep > 0)
		survey->path[keep++] = '/';
	ret = dw_plan_name(&survey->job->plan, entry, survey->path + keep, err);
	if (ret == 0)
		survey->path_size = keep + strlen(survey->path + keep);
	return ret;
}

/* Whether an entry is to be made for itself: 1 or 0. */
static int is_wanted(struct survey *survey, dwarfs_entry entry, uint32_t parent,
		     bool is_dir, dwarfs_error **err)
{
	struct patterns *patterns = survey->job->extract->patterns;
	size_t first = 0;
	int ret;

	if (!survey->wants_path)
		return 1;
	/* Match also entries that are selected anyway, since a pattern may match no other
	 * entry. */
	if (survey->job->plan.dirs[parent].wanted &&
	    !dw_patterns_unmatched(patterns, &first))
		return 1;
	if ((ret = set_path(survey, entry, err)) < 0)
		return ret;
	ret = dw_patterns_match(patterns, survey->path, survey->path_size, is_dir);
	return ret || survey->job->plan.dirs[parent].wanted;
}

/* List the entries of a directory next. */
static int enter(struct survey *survey, dwarfs_inode inode, dwarfs_error **err)
{
	dwarfs_entry first;
	uint32_t count;
	int ret;

	if ((ret = dwarfs_dir_range(survey->job->image, inode, &first, &count, err)) <
		    0 ||
	    (ret = dw_grow(&survey->levels, &survey->level_room, survey->depth + 1,
			   err)) < 0)
		return ret;
	survey->levels[survey->depth++] =
		(struct folder){ first, count, survey->path_size };
	return 0;
}

static int take_dir(struct survey *survey, dwarfs_entry entry, const dwarfs_stat *stat,
		    dwarfs_error **err)
{
	struct plan *plan = &survey->job->plan;
	dwarfs_inode inode = dwarfs_stat_inode(stat);
	uint32_t dir;
	int ret = dw_plan_add_dir(plan, entry, inode, &dir, err);

	if (ret < 0)
		return ret;
	if (entry.number == 0) {
		plan->dirs[dir].needed = true;
		plan->dirs[dir].wanted = !survey->wants_path;
		return enter(survey, inode, err);
	}
	ret = is_wanted(survey, entry, plan->dirs[dir].parent, true, err);
	if (ret < 0)
		return ret;
	plan->dirs[dir].wanted = ret;
	if (ret)
		dw_plan_need(plan, dir);
	return enter(survey, inode, err);
}

/* Whether entries of a type are left out. */
static int is_skipped(const struct job *job, uint32_t mode, dwarfs_error **err)
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

static int take_other(struct survey *survey, dwarfs_entry entry, const dwarfs_stat *stat,
		      dwarfs_error **err)
{
	struct job *job = survey->job;
	uint32_t mode = dwarfs_stat_mode(stat), dir;
	int ret;

	if ((ret = dw_plan_dir_of(&job->plan, entry, &dir, err)) < 0 ||
	    (ret = is_wanted(survey, entry, dir, false, err)) <= 0)
		return ret;
	if ((ret = is_skipped(job, mode, err)) != 0)
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

static void take(struct survey *survey, dwarfs_entry entry)
{
	struct job *job = survey->job;
	dwarfs_stat *stat = job->hands[0].stat;
	dwarfs_error *why = NULL;
	int ret = dwarfs_entry_stat(job->image, entry, stat, &why);
	bool is_dir = ret == 0 && S_ISDIR(dwarfs_stat_mode(stat));

	if (ret == 0 && entry.number == 0 && !is_dir)
		ret = dw_fail(&why, DWARFS_ERR_CORRUPT, "the root is not a directory");
	else if (ret == 0)
		ret = is_dir ? take_dir(survey, entry, stat, &why)
			     : take_other(survey, entry, stat, &why);
	if (ret < 0)
		dw_job_fail(job, entry, ret, why);
}

/* Each entry is extracted at most once: a directory that shares entries with another one
 * is refused. */
static void take_all(struct survey *survey)
{
	take(survey, DWARFS_ROOT_ENTRY);
	while (survey->depth > 0 && dw_job_goes_on(survey->job)) {
		struct folder *level = &survey->levels[survey->depth - 1];
		const dwarfs_entry entry = level->next;

		if (level->left == 0) {
			survey->depth--;
			continue;
		}
		level->next.number++;
		level->left--;
		take(survey, entry);
	}
}

static void name_unmatched(const struct job *job)
{
	const char *text;
	size_t next = 0;

	while ((text = dw_patterns_unmatched(job->extract->patterns, &next)))
		dw_log(dwarfs_image_context(job->image), DWARFS_LOG_WARN,
		       "pattern '%s' matches nothing", text);
}

int dw_survey(struct job *job, dwarfs_error **err)
{
	struct survey survey = {
		.job = job,
		.wants_path = !dw_patterns_are_none(job->extract->patterns),
	};
	int ret = dw_progress_enter(&job->progress, DWARFS_PHASE_SCAN, err);

	if (ret < 0)
		return ret;
	dw_patterns_start(job->extract->patterns);
	take_all(&survey);
	survey_release(&survey);
	if (dw_job_goes_on(job))
		name_unmatched(job);
	if (job->plan.dir_count > 0)
		return dw_plan_sort(&job->plan, err);
	/* Nothing can be made without a root. */
	atomic_store(&job->stopped, true);
	return 0;
}
