/* SPDX-License-Identifier: MIT */
/*
 * compare/differ: the differences between two listings.
 *
 * Merges two sorted listings, with the hashes of files that both have, and reports each
 * difference. Reads no files.
 */
#include <sys/stat.h>

#include "compare/difference.h"
#include "compare/entry_pair.h"

/* -- duplicate paths ----------------------------------------------------------------- */

/* Whether a path is not compared, since several entries of an image have it, or it is
 * below such a path; this is reported once. Otherwise 0. */
static int skip_repeated_path(struct differ *differ, const struct entry_pair *pair,
			      dwarfs_error **err)
{
	static const char why[] = "the image has several entries of this path";
	const uint32_t depth = differ->current_side->paths[differ->current_path].depth;
	const char *found[2] = { NULL, NULL };
	int ret;

	if (differ->is_twice && depth > differ->twice_depth)
		return 1; /* in the order of paths it is below it */
	differ->is_twice = false;
	for (int i = 0; i < 2; i++)
		if (pair->entries[i] && (pair->entries[i]->known & KNOWN_TWICE))
			found[i] = why;
	if (!found[0] && !found[1])
		return 0;
	differ->is_twice = true;
	differ->twice_depth = depth;
	ret = dw_differ_tell_texts(differ, DWARFS_DIFFERENCE_TROUBLE, found[0], found[1],
				   err);
	return ret < 0 ? ret : 1;
}

/* -- side by side -------------------------------------------------------------------- */

/* An entry that only one side has. One that cannot be read may have a wrong path. */
static int tell_only(struct differ *differ, const struct entry_pair *pair,
		     dwarfs_error **err)
{
	const struct side_entry *a = pair->entries[0], *b = pair->entries[1];
	int ret = dw_entry_pair_tell_lost(differ, pair, KNOWN_LOST, err);

	if (ret != 0)
		return ret < 0 ? ret : 0;
	return a ? dw_differ_tell_texts(differ, DWARFS_DIFFERENCE_ONLY_A,
					dw_difference_type_name(a->mode), NULL, err)
		 : dw_differ_tell_texts(differ, DWARFS_DIFFERENCE_ONLY_B, NULL,
					dw_difference_type_name(b->mode), err);
}

/* Advance in the two listings: the next entries, of which one may be NULL. */
static bool next_pair(const struct side_listing *const sides[2], size_t at[2],
		      struct entry_pair *pair)
{
	const struct side_entry *left = NULL, *right = NULL;
	int order = 0;

	if (at[0] < sides[0]->count)
		left = &sides[0]->list[at[0]];
	if (at[1] < sides[1]->count)
		right = &sides[1]->list[at[1]];
	if (!left && !right)
		return false;
	if (left && right)
		order = dw_side_compare(sides, left, right);
	if (left && order <= 0)
		at[0]++;
	else
		left = NULL;
	if (right && order >= 0)
		at[1]++;
	else
		right = NULL;
	*pair = (struct entry_pair){ { left, right } };
	return true;
}

void dw_differ_want(struct side_listing *a, struct side_listing *b, uint64_t *files_out,
		    uint64_t *bytes_out)
{
	const struct side_listing *const sides[2] = { a, b };
	size_t at[2] = { 0, 0 };
	struct entry_pair pair;

	*files_out = *bytes_out = 0;
	while (next_pair(sides, at, &pair)) {
		struct side_contents *left, *right;

		if (!pair.entries[0] || !pair.entries[1] ||
		    !S_ISREG(pair.entries[0]->mode) || !S_ISREG(pair.entries[1]->mode))
			continue;
		left = &a->files[pair.entries[0]->file];
		right = &b->files[pair.entries[1]->file];
		if (left->first == UINT64_MAX)
			left->first = (uint64_t)(pair.entries[0] - a->list);
		if (right->first == UINT64_MAX)
			right->first = (uint64_t)(pair.entries[1] - b->list);
		if (left->size != right->size || left->size == 0)
			continue;
		*files_out += !left->is_wanted + !right->is_wanted;
		*bytes_out += left->is_wanted ? 0 : left->size;
		*bytes_out += right->is_wanted ? 0 : right->size;
		left->is_wanted = right->is_wanted = true;
	}
}

int dw_differ_run(struct differ *differ, dwarfs_error **err)
{
	size_t at[2] = { 0, 0 };
	struct entry_pair pair;
	int ret = 0;

	while (ret == 0 && next_pair(differ->sides, at, &pair)) {
		const struct side_entry *a = pair.entries[0], *b = pair.entries[1];

		differ->current_side = differ->sides[a ? 0 : 1];
		differ->current_path = a ? a->path : b->path;
		if ((ret = skip_repeated_path(differ, &pair, err)) > 0)
			ret = 0;
		else if (ret < 0)
			break;
		else if (a && b)
			ret = dw_entry_pair_compare(differ, &pair, err);
		else
			ret = tell_only(differ, &pair, err);
		if (ret == 0)
			ret = dw_progress_tick(differ->progress, err);
	}
	dw_buffer_free(&differ->path);
	return ret;
}
