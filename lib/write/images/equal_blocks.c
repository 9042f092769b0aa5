/* SPDX-License-Identifier: MIT */
/*
 * write/images/equal_blocks: blocks of several images with the same stored bytes.
 *
 * A needed block (kept->places) with the codec, the category and the stored bytes of a
 * needed block of an earlier image gets the place of that block. Blocks of one image are
 * not compared with each other: all needed ones stay, in their order.
 *
 * Hashes of sections cover their number, so those of equal blocks differ. If all other
 * known properties of blocks are equal, their first bytes are read; if these are equal,
 * all bytes are read, verified and hashed; if the hashes are equal, the blocks are
 * compared byte by byte, in pieces. One block is in memory at a time.
 */
#include <string.h>

#include "hash/hash.h"
#include "write/images/kept_blocks.h"
#include "write/items/assembly.h"

/* Of a block: compared first, and compared at once. */
#define HEAD_BYTES  1024
#define PIECE_BYTES ((size_t)1 << 20)

struct stored_block {
	const struct source_block *facts;
	uint32_t image, block;
	uint64_t room;	  /* bytes stored, at most */
	uint64_t head;	  /* XXH3-64 of the first ones */
	uint64_t hash[2]; /* XXH3-128 of all */
	uint64_t bytes;	  /* stored */
	uint32_t compression;
	bool is_intact;
};

struct block_matcher {
	struct build_run *run;
	const struct kept_blocks *kept;
	struct stored_block *list;
	size_t count, room;
	uint8_t *piece; /* 2 * PIECE_BYTES */
};

static void free_matcher(struct block_matcher *matcher)
{
	dw_free(matcher->list);
	dw_free(matcher->piece);
}

static const struct source_image *image_of(const struct block_matcher *matcher,
					   const struct stored_block *block)
{
	return matcher->run->assembly->images[block->image];
}

/* -- what may be equal ----------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* By what is known without reading. */
static int compare_facts(const struct stored_block *a, const struct stored_block *b)
{
	const char *left = a->facts->metadata_json, *right = b->facts->metadata_json;
	int order = compare_numbers(a->room, b->room);

	if (order == 0)
		order = compare_numbers(a->facts->category, b->facts->category);
	if (order == 0)
		order = compare_numbers(a->facts->action, b->facts->action);
	return order ? order : strcmp(left ? left : "", right ? right : "");
}

static int compare_heads(const struct stored_block *a, const struct stored_block *b)
{
	return compare_numbers(a->head, b->head);
}

static int compare_blocks(const void *left, const void *right)
{
	const struct stored_block *a = left, *b = right;
	int order = compare_facts(a, b);

	if (order == 0)
		order = compare_heads(a, b);
	if (order == 0)
		order = compare_numbers(a->image, b->image);
	return order ? order : compare_numbers(a->block, b->block);
}

static int list_needed(struct block_matcher *matcher, uint32_t number, dwarfs_error **err)
{
	const struct source_image *image = matcher->run->assembly->images[number];

	for (uint32_t i = 0; i < image->block_count; i++) {
		uint64_t room;
		int ret;

		if (matcher->kept->places[number][i].number == DW_NONE ||
		    (room = image->ops->stored_room(image->user, i)) == 0)
			continue;
		if ((ret = dw_grow(&matcher->list, &matcher->room, matcher->count + 1,
				   err)) < 0)
			return ret;
		matcher->list[matcher->count++] = (struct stored_block){
			.facts = &image->blocks[i],
			.image = number,
			.block = i,
			.room = room,
		};
	}
	return 0;
}

static int list_all(struct block_matcher *matcher, dwarfs_error **err)
{
	const struct assembly *assembly = matcher->run->assembly;

	for (uint32_t i = 0; i < assembly->image_count; i++) {
		const struct source_image *image = assembly->images[i];
		int ret = image->keeps_blocks && !image->changes_block_size
				  ? list_needed(matcher, i, err)
				  : 0;

		if (ret < 0)
			return ret;
	}
	if (matcher->count > 0)
		qsort(matcher->list, matcher->count, sizeof(*matcher->list),
		      compare_blocks);
	return 0;
}

/* -- comparing ------------------------------------------------------------------------- */

static int read_stored(const struct block_matcher *matcher,
		       const struct stored_block *block, void *buffer, size_t size,
		       uint64_t offset, dwarfs_error **err)
{
	const struct source_image *image = image_of(matcher, block);
	int ret = image->ops->read_stored(image->user, block->block, buffer, size, offset,
					  err);

	return ret < 0 ? dw_explain(err, ret, "'%s': block %" PRIu32, image->name,
				    block->block)
		       : 0;
}

/* Whether two blocks that are intact have the same bytes: 1, or 0. */
static int have_equal_bytes(const struct block_matcher *matcher,
			    const struct stored_block *a, const struct stored_block *b,
			    dwarfs_error **err)
{
	uint8_t *left = matcher->piece, *right = matcher->piece + PIECE_BYTES;

	for (uint64_t at = 0; at < a->bytes;) {
		uint64_t rest = a->bytes - at;
		size_t size = rest < PIECE_BYTES ? (size_t)rest : PIECE_BYTES;
		int ret;

		if ((ret = read_stored(matcher, a, left, size, at, err)) < 0 ||
		    (ret = read_stored(matcher, b, right, size, at, err)) < 0)
			return ret;
		if (memcmp(left, right, size) != 0)
			return 0;
		at += size;
	}
	return 1;
}

/* Damaged blocks are copied as they are, where that is no error. */
static int hash_block(const struct block_matcher *matcher, struct stored_block *block,
		      dwarfs_error **err)
{
	const struct source_image *image = image_of(matcher, block);
	__attribute__((
		cleanup(dw_stored_section_free))) struct stored_section section = { 0 };
	int ret = image->ops->load_block(image->user, block->block, &section, err);

	if (ret < 0)
		return dw_explain(err, ret, "'%s'", image->name);
	block->is_intact = !section.is_damaged;
	block->bytes = section.payload.size;
	block->compression = section.header.compression;
	dw_xxh3_128(section.payload.data, section.payload.size, block->hash);
	return 0;
}

static int compare_hashes(const struct stored_block *a, const struct stored_block *b)
{
	int order = (int)b->is_intact - (int)a->is_intact;

	if (order == 0)
		order = compare_numbers(a->compression, b->compression);
	if (order == 0)
		order = compare_numbers(a->bytes, b->bytes);
	if (order == 0)
		order = compare_numbers(a->hash[0], b->hash[0]);
	return order ? order : compare_numbers(a->hash[1], b->hash[1]);
}

static int compare_contents(const void *left, const void *right)
{
	const struct stored_block *a = left, *b = right;
	int order = compare_hashes(a, b);

	if (order == 0)
		order = compare_numbers(a->image, b->image);
	return order ? order : compare_numbers(a->block, b->block);
}

/* -- groups ---------------------------------------------------------------------------- */

/* Let the blocks of later images that are equal to the first one of a group share its place. */
static int share_place(const struct block_matcher *matcher, struct stored_block *group,
		       size_t count, dwarfs_error **err)
{
	for (size_t i = 1; i < count; i++) {
		struct kept_place *place;
		int ret;

		if (group[i].image == group[0].image)
			continue;
		if ((ret = have_equal_bytes(matcher, &group[0], &group[i], err)) < 0)
			return ret;
		if (ret == 0)
			continue;
		place = &matcher->kept->places[group[i].image][group[i].block];
		place->number = DW_NONE;
		place->image = group[0].image;
		place->block = group[0].block;
		if ((ret = dw_progress_tick(&matcher->run->progress, err)) < 0)
			return ret;
	}
	return 0;
}

/* Sorted by hash, so that the time does not grow with the square of the number of blocks. */
static int match_blocks(const struct block_matcher *matcher, struct stored_block *group,
			size_t count, dwarfs_error **err)
{
	int ret;

	for (size_t i = 0; i < count; i++)
		if ((ret = hash_block(matcher, &group[i], err)) < 0 ||
		    (ret = dw_progress_tick(&matcher->run->progress, err)) < 0)
			return ret;
	qsort(group, count, sizeof(*group), compare_contents);
	for (size_t i = 0, end; i < count && group[i].is_intact; i = end) {
		for (end = i + 1;
		     end < count && compare_hashes(&group[i], &group[end]) == 0;)
			end++;
		if ((ret = share_place(matcher, group + i, end - i, err)) < 0)
			return ret;
	}
	return 0;
}

typedef int match_group(const struct block_matcher *matcher, struct stored_block *group,
			size_t count, dwarfs_error **err);

/* Call a function for each group of equal blocks of a sorted list that has several images. */
static int for_each_group(const struct block_matcher *matcher, struct stored_block *list,
			  size_t count,
			  int (*compare)(const struct stored_block *,
					 const struct stored_block *),
			  match_group *match, dwarfs_error **err)
{
	int ret = 0;

	for (size_t i = 0, end; i < count && ret == 0; i = end) {
		for (end = i + 1; end < count && compare(&list[i], &list[end]) == 0;)
			end++;
		if (list[i].image != list[end - 1].image)
			ret = match(matcher, list + i, end - i, err);
	}
	return ret;
}

static int match_facts(const struct block_matcher *matcher, struct stored_block *group,
		       size_t count, dwarfs_error **err)
{
	for (size_t i = 0; i < count; i++) {
		size_t size =
			group[i].room < HEAD_BYTES ? (size_t)group[i].room : HEAD_BYTES;
		int ret;

		if ((ret = read_stored(matcher, &group[i], matcher->piece, size, 0,
				       err)) < 0 ||
		    (ret = dw_progress_tick(&matcher->run->progress, err)) < 0)
			return ret;
		group[i].head = dw_xxh3_64(matcher->piece, size);
	}
	qsort(group, count, sizeof(*group), compare_blocks);
	return for_each_group(matcher, group, count, compare_heads, match_blocks, err);
}

int dw_equal_blocks_find(struct build_run *run, const struct kept_blocks *kept,
			 dwarfs_error **err)
{
	__attribute__((cleanup(free_matcher))) struct block_matcher matcher = {
		.run = run, .kept = kept
	};
	int ret;

	if (run->assembly->image_count < 2)
		return 0;
	if (!(matcher.piece = dw_malloc(2 * PIECE_BYTES)))
		return dw_fail_nomem(err);
	if ((ret = list_all(&matcher, err)) < 0)
		return ret;
	return for_each_group(&matcher, matcher.list, matcher.count, compare_facts,
			      match_facts, err);
}
