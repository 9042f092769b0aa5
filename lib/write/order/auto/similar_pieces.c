/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/similar_pieces: which pieces of large files resemble pieces of other files.
 *
 * Pieces are compared by their short shingles. One that is in many pieces of a file, such as
 * padding or a common phrase, says nothing about where the pieces of another file belong.
 */
#include <string.h>

#include "write/order/auto/similar_pieces.h"

/* A piece resembles another when they share this part of its shingles. */
#define SIMILAR_PART 16

/* Pieces of one file that a shingle may be in, on average. */
#define MAX_PIECES_OF_FILE 2

/* Where a short shingle is. */
struct occurrence {
	uint32_t pieces, files; /* how many */
	uint32_t last;		/* index of the last piece, or DW_NONE */
	uint32_t last_other;	/* the last piece of another file than that */
};

struct piece_search {
	const struct fragment *fragments;
	const struct sketch *sketch;
	const uint32_t *pieces;
	struct occurrence *occurrences; /* by the number of the shingle */
	uint32_t *votes;		/* for each earlier piece */
};

static void free_finding(struct piece_search *finding)
{
	dw_free(finding->occurrences);
	dw_free(finding->votes);
}

static bool is_same_file(const struct piece_search *finding, uint32_t a, uint32_t b)
{
	return finding->fragments[finding->pieces[a]].content ==
	       finding->fragments[finding->pieces[b]].content;
}

static bool is_local(const struct occurrence *occurrence)
{
	return occurrence->pieces <= MAX_PIECES_OF_FILE * occurrence->files;
}

/* Note that a shingle is in a piece; false if that is known. */
static bool note(const struct piece_search *finding, struct occurrence *occurrence,
		 uint32_t piece)
{
	uint32_t last = occurrence->last;

	if (last == piece)
		return false;
	if (last != DW_NONE && !is_same_file(finding, last, piece))
		occurrence->last_other = last;
	occurrence->last = piece;
	return true;
}

static void count_occurrences(const struct piece_search *finding, size_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct sketch_piece *piece =
			&finding->sketch->pieces[finding->pieces[i]];

		for (uint32_t j = 0; j < piece->count; j++) {
			const struct shingle *shingle =
				&finding->sketch->shingles[piece->first + j];
			struct occurrence *occurrence =
				&finding->occurrences[shingle->ids[SHINGLE_SHORT]];
			uint32_t last = occurrence->last;

			if (!note(finding, occurrence, i))
				continue;
			occurrence->pieces++;
			occurrence->files +=
				last == DW_NONE || !is_same_file(finding, last, i);
		}
	}
}

/* The earlier piece that has most of the shingles of this one. */
static uint32_t find_similar(const struct piece_search *finding, uint32_t index)
{
	const struct sketch_piece *piece =
		&finding->sketch->pieces[finding->pieces[index]];
	uint32_t distinct = 0, best = DW_NONE, most = 0;

	memset(finding->votes, 0, index * sizeof(*finding->votes));
	for (uint32_t j = 0; j < piece->count; j++) {
		const struct shingle *shingle =
			&finding->sketch->shingles[piece->first + j];
		struct occurrence *occurrence =
			&finding->occurrences[shingle->ids[SHINGLE_SHORT]];
		uint32_t other;

		if (!note(finding, occurrence, index))
			continue;
		distinct++;
		other = occurrence->last_other;
		if (other == DW_NONE || !is_local(occurrence))
			continue;
		if (++finding->votes[other] > most ||
		    (finding->votes[other] == most && other < best)) {
			most = finding->votes[other];
			best = other;
		}
	}
	return most >= distinct / SIMILAR_PART + 1 ? best : DW_NONE;
}

int dw_find_similar_pieces(const struct order_input *input, const struct sketch *sketch,
			   const uint32_t *pieces, size_t count, uint32_t *similar_out,
			   dwarfs_error **err)
{
	size_t shingles = sketch->id_counts[SHINGLE_SHORT];
	__attribute__((cleanup(free_finding))) struct piece_search finding = {
		.fragments = input->contents->fragments,
		.sketch = sketch,
		.pieces = pieces,
		.occurrences = dw_calloc(shingles, sizeof(struct occurrence)),
		.votes = dw_calloc(count, sizeof(uint32_t)),
	};

	if (!finding.occurrences || !finding.votes)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < shingles; i++)
		finding.occurrences[i].last = finding.occurrences[i].last_other = DW_NONE;
	count_occurrences(&finding, count);
	for (size_t i = 0; i < shingles; i++)
		finding.occurrences[i].last = finding.occurrences[i].last_other = DW_NONE;
	for (uint32_t i = 0; i < count; i++)
		similar_out[i] = find_similar(&finding, i);
	return 0;
}

/* -- groups ---------------------------------------------------------------------------- */

/* A forest: a piece is below the earlier one that it resembles. */
struct piece_forest {
	uint32_t *first_child, *next_sibling; /* ascending; DW_NONE: none */
	uint32_t *stack;		      /* pieces whose children are to come */
	bool *is_placed;
};

static void free_grouping(struct piece_forest *grouping)
{
	dw_free(grouping->first_child);
	dw_free(grouping->next_sibling);
	dw_free(grouping->stack);
	dw_free(grouping->is_placed);
}

static int new_grouping(struct piece_forest *grouping, const uint32_t *similar,
			size_t count, dwarfs_error **err)
{
	*grouping = (struct piece_forest){
		.first_child = dw_calloc(count, sizeof(uint32_t)),
		.next_sibling = dw_calloc(count, sizeof(uint32_t)),
		.stack = dw_calloc(count, sizeof(uint32_t)),
		.is_placed = dw_calloc(count, sizeof(bool)),
	};
	if (!grouping->first_child || !grouping->next_sibling || !grouping->stack ||
	    !grouping->is_placed)
		return dw_fail_nomem(err);
	memset(grouping->first_child, 0xff, count * sizeof(uint32_t));
	for (size_t i = count; i-- > 0;) {
		uint32_t parent = similar[i];

		grouping->next_sibling[i] = DW_NONE;
		if (parent == DW_NONE)
			continue;
		grouping->next_sibling[i] = grouping->first_child[parent];
		grouping->first_child[parent] = (uint32_t)i;
	}
	return 0;
}

/* Place a piece and those below it, depth first; what does not fit stays for later. */
static size_t place_group(struct piece_forest *grouping, const struct fragment *fragments,
			  const uint32_t *pieces, uint32_t root, uint64_t max_bytes,
			  uint32_t *ordered)
{
	size_t placed = 0, depth = 0;
	uint64_t bytes = 0;

	grouping->stack[depth++] = root;
	while (depth > 0) {
		uint32_t piece = grouping->stack[--depth];
		uint64_t size = fragments[pieces[piece]].size;
		size_t above = depth;

		if (grouping->is_placed[piece] ||
		    (placed > 0 && bytes + size > max_bytes))
			continue;
		grouping->is_placed[piece] = true;
		ordered[placed++] = pieces[piece];
		bytes += size;
		for (uint32_t child = grouping->first_child[piece]; child != DW_NONE;
		     child = grouping->next_sibling[child])
			grouping->stack[depth++] = child;
		/* The first child is to be taken first. */
		for (size_t low = above, high = depth; high > low + 1; low++) {
			uint32_t other = grouping->stack[--high];

			grouping->stack[high] = grouping->stack[low];
			grouping->stack[low] = other;
		}
	}
	return placed;
}

int dw_group_similar_pieces(const struct order_input *input, const uint32_t *pieces,
			    const uint32_t *similar, size_t count, uint64_t max_bytes,
			    uint32_t *ordered_out, dwarfs_error **err)
{
	__attribute__((cleanup(free_grouping))) struct piece_forest grouping = { 0 };
	size_t placed = 0;
	int ret = new_grouping(&grouping, similar, count, err);

	for (uint32_t i = 0; ret == 0 && i < count; i++)
		if (!grouping.is_placed[i])
			placed += place_group(&grouping, input->contents->fragments,
					      pieces, i, max_bytes, ordered_out + placed);
	return ret;
}
