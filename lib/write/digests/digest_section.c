/* SPDX-License-Identifier: MIT */
/*
 * write/digests/digest_section: digests and anchors -> DIGESTS section.
 *
 * The limit applies to the size before compression, which the stored size never exceeds.
 */
#include <stdlib.h>

#include "write/digests/digest_section.h"

/* Anchors are sampled down to one in about 2^MAX_SPACING_BITS bytes. */
#define MAX_SPACING_BITS 16

struct section_plan {
	uint8_t *digests;
	uint32_t *ends, *offsets;
	uint64_t *hashes;
	struct digest_tables tables;
};

static void free_section_plan(struct section_plan *plan)
{
	dw_free(plan->digests);
	dw_free(plan->ends);
	dw_free(plan->offsets);
	dw_free(plan->hashes);
}

/* -- the order ------------------------------------------------------------------------ */

/* Contents by the number of the inode of their first file. */
struct numbered {
	uint32_t inode, content;
};

static int compare_numbered(const void *left, const void *right)
{
	const struct numbered *a = left, *b = right;

	return a->inode < b->inode ? -1 : a->inode > b->inode;
}

int dw_digest_section_order(const struct tree *tree, const struct contents *contents,
			    uint32_t *files, dwarfs_error **err)
{
	auto_free struct numbered *list = dw_calloc(contents->count, sizeof(*list));

	if (!list)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < contents->count; i++)
		list[i] = (struct numbered){ tree->inodes[contents->list[i].inode].number,
					     (uint32_t)i };
	if (contents->count > 1)
		qsort(list, contents->count, sizeof(*list), compare_numbered);
	for (size_t i = 0; i < contents->count; i++)
		files[i] = list[i].content;
	return 0;
}

/* -- what fits ----------------------------------------------------------------------- */

static uint64_t bytes_with_anchors(const struct digest_section_input *in, unsigned bits,
				   size_t *anchors_out)
{
	*anchors_out = dw_block_anchors_count(&in->digests->anchors, bits);
	return dw_digest_tables_bytes(in->file_count, in->block_count,
				      (uint32_t)*anchors_out);
}

static bool has_anchors(const struct digest_section_input *in)
{
	const struct block_anchors *anchors = &in->digests->anchors;

	for (size_t i = 0; i < anchors->count; i++)
		if (anchors->blocks[i].is_known)
			return true;
	return false;
}

/* The number of hash bits that are zero in the anchors that are stored; false: none fit. */
static bool choose_sample(const struct digest_section_input *in, unsigned *bits_out,
			  size_t *anchors_out)
{
	const struct block_anchors *anchors = &in->digests->anchors;
	unsigned most =
		anchors->shift < MAX_SPACING_BITS ? MAX_SPACING_BITS - anchors->shift : 0;

	if (!has_anchors(in) || in->block_count == 0)
		return false;
	most = most > anchors->sample_bits ? most : anchors->sample_bits;
	for (*bits_out = anchors->sample_bits; *bits_out <= most; ++*bits_out)
		if (bytes_with_anchors(in, *bits_out, anchors_out) <= in->max_bytes)
			return true;
	return false;
}

/* -- the tables ---------------------------------------------------------------------- */

static int fill_digests(const struct digest_section_input *in, struct section_plan *plan,
			dwarfs_error **err)
{
	const struct digests *from = in->digests;

	plan->digests = dw_calloc(in->file_count, DW_FILE_DIGEST_BYTES);
	if (!plan->digests)
		return dw_fail_nomem(err);
	for (uint32_t i = 0; i < in->file_count; i++)
		if (in->files[i] < from->file_count)
			memcpy(plan->digests + (size_t)i * DW_FILE_DIGEST_BYTES,
			       from->files + (size_t)in->files[i] * DW_FILE_DIGEST_BYTES,
			       DW_FILE_DIGEST_BYTES);
	plan->tables.digests = plan->digests;
	plan->tables.file_count = in->file_count;
	return 0;
}

static int fill_anchors(const struct digest_section_input *in, unsigned bits,
			size_t anchors, struct section_plan *plan, dwarfs_error **err)
{
	const struct block_anchors *from = &in->digests->anchors;
	uint32_t next = 0;

	plan->ends = dw_calloc(in->block_count, sizeof(*plan->ends));
	plan->offsets = dw_calloc(anchors, sizeof(*plan->offsets));
	plan->hashes = dw_calloc(anchors, sizeof(*plan->hashes));
	if (!plan->ends || !plan->offsets || !plan->hashes)
		return dw_fail_nomem(err);
	for (uint32_t i = 0; i < in->block_count; i++) {
		const struct anchor_list *list =
			i < from->count ? &from->blocks[i] : NULL;

		for (size_t j = 0; list && j < list->count; j++) {
			if (!dw_anchor_is_sampled(&list->list[j], bits))
				continue;
			plan->hashes[next] = list->list[j].hash;
			plan->offsets[next++] = list->list[j].offset;
		}
		plan->ends[i] = next | (list && list->is_known ? 0 : DW_ANCHORS_UNKNOWN);
	}
	plan->tables.ends = plan->ends;
	plan->tables.offsets = plan->offsets;
	plan->tables.hashes = plan->hashes;
	plan->tables.block_count = in->block_count;
	plan->tables.anchor_count = next;
	return 0;
}

int dw_digest_section(const struct digest_section_input *in, struct buffer *out,
		      dwarfs_error **err)
{
	__attribute__((cleanup(free_section_plan))) struct section_plan plan = {
		.tables = { .metadata_xxh3 = in->metadata_xxh3 },
	};
	unsigned bits;
	size_t anchors;
	int ret;

	if (dw_digest_tables_bytes(in->file_count, 0, 0) > in->max_bytes)
		return 0;
	if ((ret = fill_digests(in, &plan, err)) < 0)
		return ret;
	if (choose_sample(in, &bits, &anchors) &&
	    (ret = fill_anchors(in, bits, anchors, &plan, err)) < 0)
		return ret;
	return dw_digest_tables_write(&plan.tables, out, err);
}
