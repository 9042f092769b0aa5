/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/assign_contents: from what was read of the files to unique contents.
 *
 * Runs on the calling thread, in the order of the scan, so that the result does not depend on
 * which worker read a file first.
 */
#include <stdlib.h>

#include "write/digests/digests.h"
#include "write/inspect/stage.h"
#include "write/items/assembly.h"

/* -- files with the same contents ---------------------------------------------------- */

/* Append a file to the list of files with the same contents. False for the first one. */
static bool is_follower(struct stage *stage, struct subject *subject, uint32_t number)
{
	struct distinct *distinct;

	if (subject->distinct == DW_NONE)
		return false;
	distinct = &stage->reader.set.list[subject->distinct];
	if (distinct->first == DW_NONE) {
		distinct->first = distinct->last = number;
		return false;
	}
	stage->tree->inodes[stage->subjects[distinct->last].inode].next = subject->inode;
	distinct->last = number;
	stage->run->progress.bytes_saved += stage->tree->inodes[subject->inode].size;
	return true;
}

/* Empty files have equal contents; unreadable files are stored empty. */
static void chain_empty(struct tree *tree, uint8_t *followers)
{
	uint32_t last = DW_NONE;

	for (size_t i = 0; i < tree->inode_count; i++) {
		if (!dw_is_file(&tree->inodes[i]) || tree->inodes[i].size != 0)
			continue;
		if (last != DW_NONE) {
			tree->inodes[last].next = (uint32_t)i;
			followers[i] = true;
		}
		last = (uint32_t)i;
	}
}

/* Append a file that shares the chunks of another one, whose contents were not compared, to
 * the files after that. */
static void chain_alias(struct stage *stage, struct subject *subject)
{
	struct tree_inode *inodes = stage->tree->inodes;
	struct subject *first = &stage->subjects[subject->alias];

	inodes[subject->inode].next = inodes[first->inode].next;
	inodes[first->inode].next = subject->inode;
	stage->run->progress.bytes_saved += inodes[subject->inode].size;
}

static void chain_files(struct stage *stage, uint8_t *followers)
{
	for (size_t i = 0; i < stage->subject_count; i++) {
		struct subject *subject = &stage->subjects[i];

		if (subject->alias != DW_NONE)
			subject->distinct = stage->subjects[subject->alias].distinct;
		if (subject->state == SUBJECT_UNREADABLE)
			stage->tree->inodes[subject->inode].size = 0;
		else if (is_follower(stage, subject, (uint32_t)i))
			followers[subject->inode] = true;
		if (subject->alias == DW_NONE || subject->distinct != DW_NONE)
			continue;
		chain_alias(stage, subject);
		followers[subject->inode] = true;
	}
	chain_empty(stage->tree, followers);
}

/* -- contents and fragments ---------------------------------------------------------- */

static int add_part_fragment(struct contents *contents, const struct category_part *part,
			     dwarfs_error **err)
{
	uint32_t stream;
	int ret;

	if (part->size == 0)
		return 0;
	if ((ret = dw_streams_find(&contents->streams, part->category, part->variant,
				   &part->samples, part->metadata_json, &stream, err)) <
	    0)
		return ret;
	return dw_contents_add_fragment(contents, stream, part->size, err);
}

/* If files of these contents are in an image whose blocks are kept, use the first of
 * them: of the first image, and in it the one that is stored first. */
static uint32_t find_kept_inode(const struct stage *stage, uint32_t inode)
{
	const struct tree_inode *inodes = stage->tree->inodes;
	const struct image_file *best = NULL;
	uint32_t kept = DW_NONE;

	if (stage->kept_count == 0 || stage->run->options->input.hollow)
		return DW_NONE;
	for (; inode != DW_NONE; inode = inodes[inode].next) {
		const struct image_file *file =
			dw_kept_file_of(stage->run, &inodes[inode]);

		if (!file || (best && (file->image > best->image ||
				       (file->image == best->image &&
					file->first_chunk >= best->first_chunk))))
			continue;
		best = file;
		kept = inode;
	}
	return kept;
}

static int add_subject_fragments(struct stage *stage, struct contents *contents, size_t i,
				 dwarfs_error **err)
{
	const struct distinct_set *set = &stage->reader.set;
	uint32_t number = stage->subjects[i].distinct;
	bool decided = stage->forced && stage->forced[i] != DW_ANY_CATEGORY;
	struct category_part whole = {
		.size = dw_subject_bytes(stage, i),
		.category = decided ? stage->forced[i] : CATEGORY_DEFAULT,
	};
	const struct category_parts *parts = NULL;
	struct content *content = &contents->list[contents->count - 1];
	uint64_t covered = 0;
	int ret;

	content->kept_inode = find_kept_inode(stage, content->inode);
	if (content->kept_inode != DW_NONE)
		return dw_contents_add_fragment(contents, DW_NONE, whole.size, err);
	if (number != DW_NONE && set->list[number].parts != 0)
		parts = &set->parts[set->list[number].parts - 1];
	for (size_t p = 0; parts && p < parts->count; p++)
		covered += parts->list[p].size;
	if (!parts || covered != whole.size || decided)
		return add_part_fragment(contents, &whole, err);
	for (size_t p = 0; p < parts->count; p++)
		if ((ret = add_part_fragment(contents, &parts->list[p], err)) < 0)
			return ret;
	return 0;
}

static int add_unique_contents(struct stage *stage, struct contents *contents,
			       const uint8_t *followers, dwarfs_error **err)
{
	struct tree *tree = stage->tree;
	size_t subject = 0;
	uint32_t stream;
	int ret;

	if ((ret = dw_streams_find(&contents->streams, CATEGORY_DEFAULT, 0, NULL, NULL,
				   &stream, err)) < 0)
		return ret;
	for (size_t i = 0; i < tree->inode_count; i++) {
		bool is_subject = subject < stage->subject_count &&
				  stage->subjects[subject].inode == i;

		if (dw_is_file(&tree->inodes[i]) && !followers[i]) {
			ret = dw_contents_add(contents, tree, (uint32_t)i, err);
			if (ret < 0)
				return ret;
			if (tree->inodes[i].size != 0 &&
			    (ret = add_subject_fragments(stage, contents, subject, err)) <
				    0)
				return ret;
		}
		subject += is_subject;
	}
	return 0;
}

/* Contents whose blocks are kept have the digest stored in their image, or one that
 * was computed. */
static int set_digests(struct stage *stage, const struct contents *contents,
		       dwarfs_error **err)
{
	const struct known_digest *known = stage->reader.digests;
	struct digests *digests = stage->run->digests;

	for (size_t i = 0; digests && known && i < stage->kept_count; i++) {
		uint32_t subject = stage->kept[i].subject;
		uint32_t inode = stage->subjects[subject].inode;
		uint32_t content = stage->tree->inodes[inode].content;
		int ret;

		if (!known[subject].is_known ||
		    contents->list[content].kept_inode != inode)
			continue;
		if ((ret = dw_digests_set_file(digests, content, known[subject].bytes,
					       err)) < 0)
			return ret;
	}
	return 0;
}

/* -- fingerprints and kept bytes ----------------------------------------------------- */

static uint32_t content_of(const struct stage *stage, const struct distinct *distinct)
{
	if (distinct->first == DW_NONE)
		return DW_NONE;
	return stage->tree->inodes[stage->subjects[distinct->first].inode].content;
}

static int set_fingerprints(struct stage *stage, struct contents *contents,
			    dwarfs_error **err)
{
	const struct distinct_set *set = &stage->reader.set;

	if (!set->wants_fingerprints)
		return 0;
	contents->fingerprints =
		dw_calloc(contents->count, sizeof(*contents->fingerprints));
	if (!contents->fingerprints)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < set->count; i++) {
		uint32_t content = content_of(stage, &set->list[i]);

		if (content != DW_NONE)
			contents->fingerprints[content] = set->fingerprints[i];
	}
	return 0;
}

static int compare_kept(const void *left, const void *right)
{
	const struct kept *a = left, *b = right;

	return a->content < b->content ? -1 : a->content > b->content;
}

static void set_kept(struct stage *stage)
{
	struct distinct_set *set = &stage->reader.set;

	for (size_t i = 0; i < set->kept_count; i++) {
		const struct distinct *distinct = &set->list[set->kept[i].content];

		/* The holes of the first file are stored, whichever file was read
		 * first. */
		if (stage->run->options->sparse_files && distinct->first != DW_NONE &&
		    stage->subjects[distinct->first].may_have_holes)
			dw_kept_slab_release(dw_steal(set->kept[i].slab));
		set->kept[i].content = content_of(stage, distinct);
	}
	if (set->kept_count > 1)
		qsort(set->kept, set->kept_count, sizeof(set->kept[0]), compare_kept);
	dw_sources_set_kept(stage->run->sources, dw_steal(set->kept), set->kept_count);
	set->kept_count = 0;
}

int dw_assign_contents(struct stage *stage, struct contents *contents, dwarfs_error **err)
{
	auto_free uint8_t *followers = dw_calloc(stage->tree->inode_count, 1);
	int ret;

	if (!followers)
		return dw_fail_nomem(err);
	chain_files(stage, followers);
	if ((ret = add_unique_contents(stage, contents, followers, err)) < 0 ||
	    (ret = set_fingerprints(stage, contents, err)) < 0 ||
	    (ret = set_digests(stage, contents, err)) < 0)
		return ret;
	set_kept(stage);
	return 0;
}
