/* SPDX-License-Identifier: MIT */
/*
 * write/segment/minima: the shortest matches that are worth a chunk.
 */
#include "codec/encode/encode.h"
#include "write/segment/density.h"
#include "write/segment/matcher.h"
#include "write/segment/minima.h"

/*
 * Cost of a match in compressed bytes: two more chunks, and less context for the bytes
 * that follow. lz4 compresses less than the estimate of the density, and null not at all, so a
 * match saves more. In the block being filled the codec finds the match as well, so it must be
 * NEAR_FACTOR times as long. Elsewhere MOST_WORTH bytes are always enough.
 */
#define CHUNK_COST	UINT64_C(64)
#define CHUNK_COST_FAST UINT64_C(32)
#define NEAR_FACTOR	8
#define MOST_WORTH	UINT64_C(4096)

/*
 * After blocks that were kept, the codec has only what is new as context: shorter
 * matches are worth a chunk there, and more anchors find them, up to
 * DW_ANCHORS_AFTER_KEPT. One release of a program after the other, 24 in all, took
 * 9.37 MB this way and 10.53 MB as without blocks with windows of 2^8 bytes and an eighth of
 * that (level 7; 15.40 and 16.47 at level 3).
 */
#define CHUNK_COST_AFTER_KEPT UINT64_C(32)
#define FEWER_BITS_AFTER_KEPT 3 /* of the window, if it has more than: */
#define LEAST_BITS_AFTER_KEPT 5

uint32_t dw_match_window_bits(const struct stream_settings *settings, bool after_kept)
{
	uint32_t bits = settings->window_bits;

	if (!after_kept || bits < LEAST_BITS_AFTER_KEPT)
		return bits;
	bits -= FEWER_BITS_AFTER_KEPT;
	return bits > LEAST_BITS_AFTER_KEPT ? bits : LEAST_BITS_AFTER_KEPT;
}

/* A match is measured within a piece, from wherever it begins. */
static uint64_t within_piece(uint64_t bytes)
{
	return bytes < MATCH_PIECE_BYTES / 2 ? bytes : MATCH_PIECE_BYTES / 2;
}

static uint64_t chunk_cost(const struct stream_settings *settings, bool after_kept)
{
	if (after_kept)
		return CHUNK_COST_AFTER_KEPT;
	return dw_codec_finds_matches(&settings->codec) ? CHUNK_COST : CHUNK_COST_FAST;
}

/* The density is that of all bytes. Those of some matches compress much better, and are worth less than
 * a chunk: without them, 6 releases of a library, 690 MB, have half of the chunks. Codecs such as lz4
 * do not profit from low entropy. */
uint64_t dw_least_entropy(const struct stream_settings *settings, bool after_kept)
{
	return dw_codec_finds_matches(&settings->codec) ? chunk_cost(settings, after_kept)
							: 0;
}

/* A codec that finds matches itself gains little from others in its block. */
struct match_minima dw_match_minima(const struct stream_settings *settings,
				    uint32_t density, size_t granularity, bool after_kept)
{
	uint64_t least = UINT64_C(1) << dw_match_window_bits(settings, after_kept);
	uint64_t worth = chunk_cost(settings, after_kept) * DENSITY_UNIT / density;
	uint64_t far, near;

	worth = worth < MOST_WORTH ? worth : MOST_WORTH;
	far = near = worth > least ? worth : least;
	if (dw_codec_finds_matches(&settings->codec) && near < NEAR_FACTOR * worth)
		near = NEAR_FACTOR * worth;
	return (struct match_minima){ .far = within_piece(far * granularity),
				      .near = within_piece(near * granularity) };
}
