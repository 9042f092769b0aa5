/* SPDX-License-Identifier: MIT */
/*
 * extract/plan: map entries to their directories.
 *
 * Records directories in the order of a walk; returns parents, names and paths. Trusts no
 * name and no directory of the image; does not access the disk.
 */
#include <string.h>

#include "extract/plan.h"

int dw_plan_init(struct plan *plan, const dwarfs_image *image, dwarfs_error **err)
{
	*plan = (struct plan){ .image = image };
	plan->dir_of = dw_calloc(dwarfs_image_entry_count(image), sizeof(*plan->dir_of));
	return plan->dir_of ? 0 : dw_fail_nomem(err);
}

void dw_plan_release(struct plan *plan)
{
	dw_free(plan->dirs);
	dw_free(plan->dir_of);
	dw_free(plan->regular.list);
	dw_free(plan->by_depth);
	dw_free(plan->level_ends);
	*plan = (struct plan){ 0 };
}

int dw_plan_dir_of(const struct plan *plan, dwarfs_entry entry, uint32_t *dir_out,
		   dwarfs_error **err)
{
	if (entry.number >= dwarfs_image_entry_count(plan->image) ||
	    plan->dir_of[entry.number] == 0)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "entry %" PRIu32 " belongs to no directory", entry.number);
	*dir_out = plan->dir_of[entry.number] - 1;
	return 0;
}

int dw_plan_add_dir(struct plan *plan, dwarfs_entry entry, dwarfs_inode inode,
		    uint32_t *dir_out, dwarfs_error **err)
{
	uint32_t entries = dwarfs_image_entry_count(plan->image);
	struct dir dir = { .entry = entry, .inode = inode };
	uint32_t count;
	dwarfs_entry first;
	int ret;

	if (plan->dir_count > 0) {
		if ((ret = dw_plan_dir_of(plan, entry, &dir.parent, err)) < 0)
			return ret;
		dir.depth = plan->dirs[dir.parent].depth + 1;
	}
	if ((ret = dwarfs_dir_range(plan->image, inode, &first, &count, err)) < 0 ||
	    (ret = dw_grow(&plan->dirs, &plan->dir_capacity, plan->dir_count + 1, err)) <
		    0)
		return ret;
	if (first.number > entries || count > entries - first.number)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "directory with inode %" PRIu32
			       " reaches past the last entry",
			       inode.number);
	for (uint32_t i = first.number; i < first.number + count; i++) {
		if (plan->dir_of[i] != 0 || i == 0)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "entry %" PRIu32 " belongs to two directories", i);
		plan->dir_of[i] = (uint32_t)plan->dir_count + 1;
	}
	*dir_out = (uint32_t)plan->dir_count;
	plan->dirs[plan->dir_count++] = dir;
	return 0;
}

bool dw_plan_is_lost(const struct plan *plan, dwarfs_entry entry)
{
	uint32_t dir;

	return dw_plan_dir_of(plan, entry, &dir, NULL) == 0 && plan->dirs[dir].lost;
}

bool dw_plan_has_default_acl(const struct plan *plan, dwarfs_entry entry)
{
	uint32_t dir;

	return dw_plan_dir_of(plan, entry, &dir, NULL) == 0 &&
	       plan->dirs[dir].has_default_acl;
}

void dw_plan_need(struct plan *plan, uint32_t dir)
{
	while (!plan->dirs[dir].needed) {
		plan->dirs[dir].needed = true;
		dir = plan->dirs[dir].parent;
	}
}

int dw_plan_sort(struct plan *plan, dwarfs_error **err)
{
	size_t *ends;

	for (size_t i = 0; i < plan->dir_count; i++)
		if (plan->dirs[i].needed && plan->dirs[i].depth > plan->depth)
			plan->depth = plan->dirs[i].depth;
	plan->by_depth = dw_calloc(plan->dir_count, sizeof(*plan->by_depth));
	plan->level_ends = ends = dw_calloc((size_t)plan->depth + 2, sizeof(*ends));
	if (!plan->by_depth || !ends)
		return dw_fail_nomem(err);
	/* Where each depth begins, and then, as it is filled, ends. */
	for (size_t i = 1; i < plan->dir_count; i++)
		if (plan->dirs[i].needed)
			ends[plan->dirs[i].depth + 1]++;
	for (uint32_t depth = 1; depth <= plan->depth + 1; depth++)
		ends[depth] += ends[depth - 1];
	for (size_t i = 1; i < plan->dir_count; i++)
		if (plan->dirs[i].needed)
			plan->by_depth[ends[plan->dirs[i].depth]++] = (uint32_t)i;
	return 0;
}

int dw_entries_add(struct entries *entries, dwarfs_entry entry, dwarfs_error **err)
{
	int ret = dw_grow(&entries->list, &entries->room, entries->count + 1, err);

	if (ret == 0)
		entries->list[entries->count++] = entry;
	return ret;
}

int dw_plan_name(const struct plan *plan, dwarfs_entry entry,
		 char name[DWARFS_NAME_BUFFER_BYTES], dwarfs_error **err)
{
	size_t bytes;
	int ret = dwarfs_entry_name(plan->image, entry, name, DWARFS_NAME_BUFFER_BYTES,
				    &bytes, err);

	if (ret < 0)
		return ret;
	if (bytes == 0 || strlen(name) != bytes || strchr(name, '/') ||
	    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "the name of entry %" PRIu32 " is not a file name",
			       entry.number);
	return 0;
}

/* Prepend text to the string at *start in a buffer that begins at begin. */
static void prepend(char *begin, char **start, const char *text, size_t bytes)
{
	*start -= bytes;
	if (*start >= begin)
		memcpy(*start, text, bytes);
}

char *dw_plan_path(const struct plan *plan, const char *target, dwarfs_entry entry)
{
	char name[DWARFS_NAME_BUFFER_BYTES];
	size_t target_bytes = strlen(target), room = target_bytes + 1;
	uint32_t dir = 0, levels = entry.number == 0 ? 0 : 1;
	char *path, *start;

	if (levels && dw_plan_dir_of(plan, entry, &dir, NULL) < 0)
		return dw_strdup(target);
	levels += plan->dir_count ? plan->dirs[dir].depth : 0;
	room += (size_t)levels * DWARFS_NAME_BUFFER_BYTES;
	path = dw_malloc(room);
	if (!path)
		return NULL;
	start = path + room - 1;
	*start = '\0';
	for (; levels > 0; levels--) {
		if (dw_plan_name(plan, entry, name, NULL) < 0)
			strcpy(name, "?");
		prepend(path, &start, name, strlen(name));
		prepend(path, &start, "/", 1);
		entry = plan->dirs[dir].entry;
		dir = plan->dirs[dir].parent;
	}
	if (target_bytes > 0 && target[target_bytes - 1] == '/' && *start == '/')
		target_bytes--;
	prepend(path, &start, target, target_bytes);
	memmove(path, start, strlen(start) + 1);
	return path;
}
