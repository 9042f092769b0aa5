/* SPDX-License-Identifier: MIT */
/*
 * write/segment/matcher: find bytes that are stored already.
 *
 * Takes data piece by piece, in the order in which it is stored, and says which runs of
 * it are stored already and where. Compares bytes, not hashes. Time is linear in the size
 * of the data, for any data.
 */
#ifndef DW_WRITE_SEGMENT_MATCHER_H
#define DW_WRITE_SEGMENT_MATCHER_H

#include "write/segment/anchor_index.h"
#include "write/segment/anchors.h"
#include "write/segment/stored_window.h"

/* Bytes of a piece at most. */
#define MATCH_PIECE_BYTES ((size_t)1 << 20)

struct matcher;

struct matcher_options {
	size_t block_bytes;
	size_t granularity;	  /* matches begin and end at multiples of it */
	uint64_t far_minimum;	  /* shortest match worth a chunk: in another block */
	uint64_t near_minimum;	  /* in the block being filled */
	uint64_t least_entropy;	  /* of the bytes of a match, in bytes */
	unsigned shift;		  /* an anchor about every 2^shift bytes */
	uint64_t total_bytes;	  /* of all data, at most */
	uint64_t index_bytes;	  /* memory for the index, at most */
	uint32_t lookback;	  /* blocks that may be referred to; UINT32_MAX: all */
	struct kept_window *kept; /* of the window, or NULL */
};

int dw_matcher_new(const struct matcher_options *options, struct stored_window *window,
		   struct matcher **matcher_out, dwarfs_error **err);
void dw_matcher_free(struct matcher *matcher);
DW_DEFINE_AUTO(matcher, struct matcher *, dw_matcher_free)

/* A run of bytes that is stored already. */
struct match {
	uint64_t place; /* where; it may go on into the blocks that follow */
	size_t size;
	size_t back; /* bytes of it before the anchor, which must be taken back */
};

/* Begin with a new piece of a fragment, which begins that far into it. Data stays the
 * caller's. */
void dw_matcher_begin(struct matcher *matcher, const uint8_t *data, size_t size,
		      uint64_t fragment_offset);

/* Other minima from now on: of the options, far_minimum and near_minimum. */
void dw_matcher_set_minima(struct matcher *matcher, uint64_t far_minimum,
			   uint64_t near_minimum);

/* The shortest match from now on, if that is longer than the minima. */
void dw_matcher_set_least(struct matcher *matcher, uint64_t bytes);

/* The next anchor in the piece, at or after from; false if there is none. */
bool dw_matcher_next(struct matcher *matcher, size_t from, size_t *at_out);

/*
 * Whether a match begins around the anchor that dw_matcher_next() gave. All bytes before
 * it are stored or matched; it would itself be stored at `stored`, and as many bytes
 * before it as `back` could be taken back. When there is none, the anchor is noted at
 * that place, so it must be stored there.
 */
bool dw_matcher_look(struct matcher *matcher, uint64_t stored, size_t back,
		     struct match *match_out);

/* Remember the anchors of data that is stored at a place without a search; any size up to
 * a piece. It is a piece of its own, so begin anew afterwards. */
void dw_matcher_note(struct matcher *matcher, const uint8_t *data, size_t size,
		     uint64_t stored);

/* Remember one anchor of data that is stored at a place; bytes there are compared before
 * they are used. */
void dw_matcher_add(struct matcher *matcher, uint64_t hash, uint64_t place);

/* Where anchors with this hash are: their number, at most INDEX_WAYS. */
size_t dw_matcher_find(const struct matcher *matcher, uint64_t hash,
		       uint64_t places[INDEX_WAYS]);

/* Bytes that were compared or read to be compared, and files that were opened for it: the
 * amount of work, for tests. */
uint64_t dw_matcher_work(const struct matcher *matcher);

/* How many of these bytes are stored from a place on. */
size_t dw_matcher_extend(struct matcher *matcher, uint64_t place, const uint8_t *data,
			 size_t size);

/* Whether these bytes are stored at a place. Also false when the limit of bytes compared
 * without a match is reached. */
bool dw_matcher_is_stored(struct matcher *matcher, uint64_t place, const uint8_t *data,
			  size_t size);

#endif
