/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/similar_pieces: which pieces of large files resemble pieces of other files.
 *
 * Pieces are compared by their short shingles. A shingle in many pieces of a file, such
 * as padding or a common phrase, does not show which pieces are similar, and is ignored.
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

static void free_search(struct piece_search *search)
{
	dw_free(search->occurrences);
	dw_free(search->votes);
}

static bool is_same_file(const struct piece_search *search, uint32_t a, uint32_t b)
{
	return search->fragments[search->pieces[a]].content ==
	       search->fragments[search->pieces[b]].content;
}

static bool is_local(const struct occurrence *occurrence)
{
	return occurrence->pieces <= MAX_PIECES_OF_FILE * occurrence->files;
}

/* Note that a shingle is in a piece; false if that is known. */
static bool note(const struct piece_search *search, struct occurrence *occurrence,
		 uint32_t piece)
{
	uint32_t last = occurrence->last;

	if (last == piece)
		return false;
	if (last != DW_NONE && !is_same_file(search, last, piece))
		occurrence->last_other = last;
	occurrence->last = piece;
	return true;
}

static void count_occurrences(const struct piece_search *search, size_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct sketch_piece *piece =
			&search->sketch->pieces[search->pieces[i]];

		for (uint32_t j = 0; j < piece->count; j++) {
			const struct shingle *shingle =
				&search->sketch->shingles[piece->first + j];
			struct occurrence *occurrence =
				&search->occurrences[shingle->ids[SHINGLE_SHORT]];
			uint32_t last = occurrence->last;

			if (!note(search, occurrence, i))
				continue;
			occurrence->pieces++;
			occurrence->files +=
				last == DW_NONE || !is_same_file(search, last, i);
		}
	}
}

/* The earlier piece that has most of the shingles of this one. */
static uint32_t find_similar(const struct piece_search *search, uint32_t index)
{
	const struct sketch_piece *piece = &search->sketch->pieces[search->pieces[index]];
	uint32_t distinct = 0, best = DW_NONE, most = 0;

	memset(search->votes, 0, index * sizeof(*search->votes));
	for (uint32_t j = 0; j < piece->count; j++) {
		const struct shingle *shingle =
			&search->sketch->shingles[piece->first + j];
		struct occurrence *occurrence =
			&search->occurrences[shingle->ids[SHINGLE_SHORT]];
		uint32_t other;

		if (!note(search, occurrence, index))
			continue;
		distinct++;
		other = occurrence->last_other;
		if (other == DW_NONE || !is_local(occurrence))
			continue;
		if (++search->votes[other] > most ||
		    (search->votes[other] == most && other < best)) {
			most = search->votes[other];
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
	__attribute__((cleanup(free_search))) struct piece_search search = {
		.fragments = input->contents->fragments,
		.sketch = sketch,
		.pieces = pieces,
		.occurrences = dw_calloc(shingles, sizeof(struct occurrence)),
		.votes = dw_calloc(count, sizeof(uint32_t)),
	};

	if (!search.occurrences || !search.votes)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < shingles; i++)
		search.occurrences[i].last = search.occurrences[i].last_other = DW_NONE;
	count_occurrences(&search, count);
	for (size_t i = 0; i < shingles; i++)
		search.occurrences[i].last = search.occurrences[i].last_other = DW_NONE;
	for (uint32_t i = 0; i < count; i++)
		similar_out[i] = find_similar(&search, i);
	return 0;
}

/* -- groups ---------------------------------------------------------------------------- */

/* A forest: a piece is below the earlier one that it resembles. */
struct piece_forest {
	uint32_t *first_child, *next_sibling; /* ascending; DW_NONE: none */
	uint32_t *stack;		      /* pieces whose children are to come */
	bool *is_placed;
};

static void free_forest(struct piece_forest *forest)
{
	dw_free(forest->first_child);
	dw_free(forest->next_sibling);
	dw_free(forest->stack);
	dw_free(forest->is_placed);
}

static int new_forest(struct piece_forest *forest, const uint32_t *similar, size_t count,
		      dwarfs_error **err)
{
	*forest = (struct piece_forest){
		.first_child = dw_calloc(count, sizeof(uint32_t)),
		.next_sibling = dw_calloc(count, sizeof(uint32_t)),
		.stack = dw_calloc(count, sizeof(uint32_t)),
		.is_placed = dw_calloc(count, sizeof(bool)),
	};
	if (!forest->first_child || !forest->next_sibling || !forest->stack ||
	    !forest->is_placed)
		return dw_fail_nomem(err);
	memset(forest->first_child, 0xff, count * sizeof(uint32_t));
	for (size_t i = count; i-- > 0;) {
		uint32_t parent = similar[i];

		forest->next_sibling[i] = DW_NONE;
		if (parent == DW_NONE)
			continue;
		forest->next_sibling[i] = forest->first_child[parent];
		forest->first_child[parent] = (uint32_t)i;
	}
	return 0;
}

/* Place a piece and those below it, depth first; what does not fit stays for later. */
static size_t place_group(struct piece_forest *forest, const struct fragment *fragments,
			  const uint32_t *pieces, uint32_t root, uint64_t max_bytes,
			  uint32_t *ordered)
{
	size_t placed = 0, depth = 0;
	uint64_t bytes = 0;

	forest->stack[depth++] = root;
	while (depth > 0) {
		uint32_t piece = forest->stack[--depth];
		uint64_t size = fragments[pieces[piece]].size;
		size_t above = depth;

		if (forest->is_placed[piece] || (placed > 0 && bytes + size > max_bytes))
			continue;
		forest->is_placed[piece] = true;
		ordered[placed++] = pieces[piece];
		bytes += size;
		for (uint32_t child = forest->first_child[piece]; child != DW_NONE;
		     child = forest->next_sibling[child])
			forest->stack[depth++] = child;
		/* The first child is to be taken first. */
		for (size_t low = above, high = depth; high > low + 1; low++) {
			uint32_t other = forest->stack[--high];

			forest->stack[high] = forest->stack[low];
			forest->stack[low] = other;
		}
	}
	return placed;
}

int dw_group_similar_pieces(const struct order_input *input, const uint32_t *pieces,
			    const uint32_t *similar, size_t count, uint64_t max_bytes,
			    uint32_t *ordered_out, dwarfs_error **err)
{
	__attribute__((cleanup(free_forest))) struct piece_forest forest = { 0 };
	size_t placed = 0;
	int ret = new_forest(&forest, similar, count, err);

	for (uint32_t i = 0; ret == 0 && i < count; i++)
		if (!forest.is_placed[i])
			placed += place_group(&forest, input->contents->fragments, pieces,
					      i, max_bytes, ordered_out + placed);
	return ret;
}
