/* SPDX-License-Identifier: MIT */
/*
 * write/segment/kept_anchors: anchors of the blocks that were kept from images.
 */
#include "write/segment/kept_anchors.h"
#include "write/digests/digests.h"

/* A block that has a run of this size in common with the input is decompressed. */
#define FOUND_BYTES ((size_t)256)

struct kept_anchors {
	struct kept_anchors_input in;
	uint8_t *block_piece;
	uint8_t *
		is_listed; /* by block: only the anchors that its image lists are known */
	uint32_t *found;   /* blocks of which all anchors are to be known */
	size_t listed_count, found_count;
	struct anchor *probes; /* of a piece of the input */
};

void dw_kept_anchors_free(struct kept_anchors *anchors)
{
	if (!anchors)
		return;
	dw_free(anchors->block_piece);
	dw_free(anchors->is_listed);
	dw_free(anchors->found);
	dw_free(anchors->probes);
	dw_free(anchors);
}

/* All anchors of a block. An image that lacks some anchors of its blocks gets them on this
 * occasion. */
static int note_block(struct kept_anchors *anchors, uint32_t number, bool is_known,
		      dwarfs_error **err)
{
	const struct kept_anchors_input *in = &anchors->in;
	uint64_t start = number * (uint64_t)in->block_bytes, at = 0;
	struct digests *digests = is_known ? NULL : in->run->digests;
	__attribute__((cleanup(dw_anchor_list_free))) struct anchor_list list = { 0 };
	int64_t got;
	int ret;

	if (!anchors->block_piece &&
	    !(anchors->block_piece = dw_malloc(MATCH_PIECE_BYTES)))
		return dw_fail_nomem(err);
	do {
		got = dw_kept_window_scan(in->window, number, is_known,
					  anchors->block_piece, MATCH_PIECE_BYTES, at,
					  err);
		if (got < 0)
			return (int)got;
		dw_matcher_note(in->matcher, anchors->block_piece, (size_t)got,
				start + at);
		if (digests && (ret = dw_anchor_list_add(
					&list, anchors->block_piece, (size_t)got,
					(uint32_t)at, digests->anchors.shift, err)) < 0)
			return ret;
		at += (uint64_t)got;
		if ((ret = dw_progress_tick(&in->run->progress, err)) < 0)
			return ret;
	} while (got == (int64_t)MATCH_PIECE_BYTES);
	dw_kept_window_was_scanned(in->window, number, is_known);
	return digests ? dw_block_anchors_set(&digests->anchors, number, &list, err) : 0;
}

/* The anchors of a block that its image lists: false if it does not. */
static bool note_listed(struct kept_anchors *anchors, uint32_t number)
{
	const struct kept_block *kept = &anchors->in.kept->list[number];
	uint64_t start = number * (uint64_t)anchors->in.block_bytes;
	const struct digest_table *table = &kept->image->digests;
	uint32_t first, end;

	if (!kept->image->has_digests ||
	    !dw_digest_table_block(table, kept->block, &first, &end))
		return false;
	for (uint32_t i = first; i < end; i++)
		dw_matcher_add(anchors->in.matcher, dw_digest_table_hash(table, i),
			       start + dw_digest_table_offset(table, i));
	return true;
}

int dw_kept_anchors_new(const struct kept_anchors_input *in,
			struct kept_anchors **anchors_out, dwarfs_error **err)
{
	DW_AUTO(kept_anchors)
	struct kept_anchors *anchors = dw_calloc(1, sizeof(*anchors));
	size_t count = in->kept->count;
	size_t first = in->lookback > count ? 0 : count - in->lookback + 1;
	int ret;

	if (!anchors)
		return dw_fail_nomem(err);
	anchors->in = *in;
	anchors->is_listed = dw_calloc(count, sizeof(*anchors->is_listed));
	anchors->found = dw_calloc(count, sizeof(*anchors->found));
	if (!anchors->is_listed || !anchors->found)
		return dw_fail_nomem(err);
	for (uint32_t i = (uint32_t)first; i < count; i++) {
		anchors->is_listed[i] = note_listed(anchors, i);
		if (anchors->is_listed[i])
			anchors->listed_count++;
		else if ((ret = note_block(anchors, i, false, err)) < 0)
			return ret;
	}
	dw_free(dw_steal(anchors->block_piece)); /* mostly not needed any more */
	*anchors_out = dw_steal(anchors);
	return 0;
}

void dw_kept_anchors_found(struct kept_anchors *anchors, uint64_t place, size_t size)
{
	uint64_t unit = anchors->in.block_bytes, block = place / unit;

	if (size == 0)
		return;
	for (; block <= (place + size - 1) / unit && block < anchors->in.kept->count;
	     block++) {
		if (!anchors->is_listed[block])
			continue;
		anchors->is_listed[block] = false;
		anchors->listed_count--;
		anchors->found[anchors->found_count++] = (uint32_t)block;
	}
}

/* Whether the block at a place has a run in common with data. */
static bool has_run(const struct kept_anchors *anchors, uint64_t place,
		    const uint8_t *data, size_t size)
{
	uint64_t block = place / anchors->in.block_bytes;

	return block < anchors->in.kept->count && anchors->is_listed[block] &&
	       size >= FOUND_BYTES &&
	       dw_matcher_is_stored(anchors->in.matcher, place, data, FOUND_BYTES);
}

/* By anchors as far apart as when the images were made: those of the matcher may be closer
 * together, and hide some of these. */
static int find_blocks(struct kept_anchors *anchors, const uint8_t *data, size_t size,
		       dwarfs_error **err)
{
	size_t count;

	if (!anchors->probes &&
	    !(anchors->probes = dw_calloc(dw_anchors_room(MATCH_PIECE_BYTES),
					  sizeof(*anchors->probes))))
		return dw_fail_nomem(err);
	count = dw_anchors_find(data, size, anchors->in.shift, anchors->probes);
	for (size_t i = 0; i < count && anchors->listed_count > 0; i++) {
		const struct anchor *probe = &anchors->probes[i];
		uint64_t places[INDEX_WAYS];
		size_t found = dw_matcher_find(anchors->in.matcher, probe->hash, places);

		while (found-- > 0)
			if (has_run(anchors, places[found], data + probe->at,
				    size - probe->at))
				dw_kept_anchors_found(anchors, places[found],
						      FOUND_BYTES);
	}
	return 0;
}

int dw_kept_anchors_prepare(struct kept_anchors *anchors, const uint8_t *data,
			    size_t size, dwarfs_error **err)
{
	int ret;

	if (anchors->listed_count > 0 &&
	    (ret = find_blocks(anchors, data, size, err)) < 0)
		return ret;
	while (anchors->found_count > 0) {
		uint32_t number = anchors->found[--anchors->found_count];

		if ((ret = note_block(anchors, number, true, err)) < 0)
			return ret;
	}
	return 0;
}
