/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/positions: how the bytes of data depend on their positions, as those of numbers,
 * records and pixels do.
 */
#ifndef DW_CODEC_ENCODE_POSITIONS_H
#define DW_CODEC_ENCODE_POSITIONS_H

#include "base/memory.h"

#define DW_MAX_SIMILAR_DISTANCE 256

/* The distance, 1 to DW_MAX_SIMILAR_DISTANCE, at which the differences of bytes have the least
 * entropy, if that is clearly less than the entropy of the bytes themselves; otherwise, and for
 * less than 64 KiB, 0. */
unsigned dw_similar_distance(struct span in);

/* Whether bytes have clearly less entropy if their position modulo 8 is known; false for less than
 * 64 KiB. */
bool dw_has_alignment(struct span in);

#endif
