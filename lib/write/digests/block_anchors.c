/* SPDX-License-Identifier: MIT */
/*
 * write/digests/block_anchors: a sample of the anchors of each block, in bounded memory.
 */
#include "write/digests/block_anchors.h"
#include "write/segment/anchors.h"

/* Bytes that are searched at once. */
#define FIND_BYTES ((size_t)64 << 10)

#define MAX_SAMPLE_BITS 40

void dw_anchor_list_free(struct anchor_list *list)
{
	dw_free(list->list);
	*list = (struct anchor_list){ 0 };
}

void dw_block_anchors_free(struct block_anchors *anchors)
{
	for (size_t i = 0; i < anchors->count; i++)
		dw_anchor_list_free(&anchors->blocks[i]);
	dw_free(anchors->blocks);
	*anchors = (struct block_anchors){ 0 };
}

/* -- finding ------------------------------------------------------------------------- */

static unsigned first_sample_bits(unsigned shift)
{
	return shift < ANCHOR_SPACING_BITS ? ANCHOR_SPACING_BITS - shift : 0;
}

int dw_anchor_list_add(struct anchor_list *list, const uint8_t *data, size_t size,
		       uint32_t offset, unsigned shift, dwarfs_error **err)
{
	size_t room = dw_anchors_room(size < FIND_BYTES ? size : FIND_BYTES);
	auto_free struct anchor *found = dw_calloc(room, sizeof(*found));
	unsigned bits = first_sample_bits(shift);
	int ret;

	if (!found)
		return dw_fail_nomem(err);
	for (size_t at = 0; at < size; at += FIND_BYTES) {
		size_t piece = size - at < FIND_BYTES ? size - at : FIND_BYTES;
		size_t count = dw_anchors_find(data + at, piece, shift, found);

		for (size_t i = 0; i < count; i++) {
			struct block_anchor anchor = {
				found[i].hash, offset + (uint32_t)at + found[i].at
			};

			if (!dw_anchor_is_sampled(&anchor, bits))
				continue;
			if ((ret = dw_grow(&list->list, &list->room, list->count + 1,
					   err)) < 0)
				return ret;
			list->list[list->count++] = anchor;
		}
	}
	list->is_known = true;
	return 0;
}

int dw_anchor_list_find(const uint8_t *data, size_t size, unsigned shift,
			struct anchor_list *out, dwarfs_error **err)
{
	out->count = 0;
	return dw_anchor_list_add(out, data, size, 0, shift, err);
}

/* -- sampling ------------------------------------------------------------------------ */

static void sample(struct anchor_list *list, unsigned bits)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		if (dw_anchor_is_sampled(&list->list[i], bits))
			list->list[kept++] = list->list[i];
	list->count = kept;
}

size_t dw_block_anchors_count(const struct block_anchors *anchors, unsigned bits)
{
	size_t count = 0;

	for (size_t i = 0; i < anchors->count; i++)
		for (size_t j = 0; j < anchors->blocks[i].count; j++)
			count += dw_anchor_is_sampled(&anchors->blocks[i].list[j], bits);
	return count;
}

static void limit_anchors(struct block_anchors *anchors)
{
	while (anchors->total > BLOCK_ANCHORS_MOST &&
	       anchors->sample_bits < MAX_SAMPLE_BITS) {
		anchors->sample_bits++;
		anchors->total = 0;
		for (size_t i = 0; i < anchors->count; i++) {
			sample(&anchors->blocks[i], anchors->sample_bits);
			anchors->total += anchors->blocks[i].count;
		}
	}
}

static int reserve_block(struct block_anchors *anchors, uint32_t block,
			 dwarfs_error **err)
{
	int ret = dw_grow(&anchors->blocks, &anchors->room, (size_t)block + 1, err);

	if (ret < 0)
		return ret;
	while (anchors->count <= block)
		anchors->blocks[anchors->count++] = (struct anchor_list){ 0 };
	return 0;
}

/* A list of the exact size. */
static int copy_list(const struct anchor_list *from, struct anchor_list *to,
		     dwarfs_error **err)
{
	*to = (struct anchor_list){ .is_known = from->is_known };
	if (from->count == 0)
		return 0;
	if (!(to->list = dw_calloc(from->count, sizeof(*to->list))))
		return dw_fail_nomem(err);
	memcpy(to->list, from->list, from->count * sizeof(*to->list));
	to->count = to->room = from->count;
	return 0;
}

int dw_block_anchors_set(struct block_anchors *anchors, uint32_t block,
			 struct anchor_list *list, dwarfs_error **err)
{
	struct anchor_list *to;
	int ret;

	if ((ret = reserve_block(anchors, block, err)) < 0)
		return ret;
	to = &anchors->blocks[block];
	anchors->total -= to->count;
	dw_anchor_list_free(to);
	sample(list, anchors->sample_bits);
	ret = copy_list(list, to, err);
	dw_anchor_list_free(list);
	anchors->total += to->count;
	limit_anchors(anchors);
	return ret;
}
