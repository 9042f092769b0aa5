/* SPDX-License-Identifier: MIT */
/*
 * write/segment/segmenter: the state for storing the fragments of a stream.
 */
#ifndef DW_WRITE_SEGMENT_SEGMENTER_H
#define DW_WRITE_SEGMENT_SEGMENTER_H

#include "write/segment/block_filler.h"
#include "write/segment/gatherer.h"
#include "write/segment/kept_anchors.h"
#include "write/segment/minima.h"
#include "write/segment/segment.h"
#include "write/tree/path_cursor.h"

struct segmenter {
	const struct segment_input *in;
	struct build_run *run;
	struct tree *tree;
	struct contents *contents;
	struct block_filler filler;
	struct matcher *matcher;     /* NULL: no matching */
	struct gatherer *gatherer;   /* NULL: any block may be referred to */
	uint64_t total;		     /* bytes of the stream */
	struct match_minima *minima; /* of each group of fragments; all zero: not known */
	size_t group_count, minima_room;
	uint32_t group; /* that the matcher has the minima of */
	size_t granularity;
	uint8_t *piece;
	struct kept_anchors *kept_anchors; /* NULL: no blocks were kept */
	struct path_cursor cursor;	   /* to the file being read */
	struct source source;		   /* of the contents being read, if any */
	uint32_t source_content;	   /* DW_NONE: none is begun */
};

/* The compressor gets the stream and its codecs. Arguments must stay valid until dw_segmenter_free(). */
int dw_segmenter_new(const struct segment_input *input, struct compressor *compressor,
		     struct chunks *chunks, struct segmenter **segmenter_out,
		     dwarfs_error **err);

/* Choose the shortest matches for the group of the fragment at this place of the stream. */
int dw_segmenter_turn_group(struct segmenter *segmenter, size_t place,
			    dwarfs_error **err);

/* The block that is open is given back to the compressor. */
void dw_segmenter_free(struct segmenter *segmenter);
DW_DEFINE_AUTO(segmenter, struct segmenter *, dw_segmenter_free)
#define auto_segmenter DW_AUTO(segmenter)

/* The bytes of a block of a stream: whole frames, where it has samples. */
size_t dw_block_bytes(const struct build_options *options, const struct stream *stream);

/* An anchor for the segmenter is in about 2^shift bytes. */
unsigned dw_anchor_shift(const struct stream_settings *settings);

#endif
