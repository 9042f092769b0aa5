/* SPDX-License-Identifier: MIT */
/*
 * codec/lz4: the layout of a payload, for decoder and encoder: the size in 32 bits, then one
 * raw LZ4 block, a list of sequences. A sequence is a byte with two lengths, literals, and a
 * match; the last one has only literals.
 */
#ifndef DW_CODEC_LZ4_H
#define DW_CODEC_LZ4_H

#define DW_LZ4_SIZE_BYTES	  4
#define DW_LZ4_MATCH_OFFSET_BYTES 2
#define DW_LZ4_MATCH_MIN	  4
#define DW_LZ4_LAST_LITERALS	  5  /* minimum at the end */
#define DW_LZ4_LAST_MATCH	  12 /* from the end: no match begins later */
#define DW_LZ4_NIBBLE_MAX	  15 /* of a length; more follows in bytes */
#define DW_LZ4_LENGTH_BYTE_MAX	  255

#endif
