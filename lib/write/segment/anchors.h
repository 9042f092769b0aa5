/* SPDX-License-Identifier: MIT */
/*
 * write/segment/anchors: offsets in data that are chosen by the data alone.
 *
 * An offset is a trigger if a hash of the 8 bytes at it has its top bits all zero, so equal
 * bytes have equal triggers at any offset. It becomes an anchor with
 * a hash of the 64 bytes from there. Anchors are at least ANCHOR_GAP bytes apart, and
 * those with the hash of one of the last few before them are left out, since runs and
 * periodic data have the same bytes at every trigger. Where that leaves a long stretch
 * without anchors, it gets some that are chosen among its positions, such that data
 * of a short period has the same hash at each.
 *
 * Pure functions of their input, the same on every processor.
 */
#ifndef DW_WRITE_SEGMENT_ANCHORS_H
#define DW_WRITE_SEGMENT_ANCHORS_H

#include "base/memory.h"

#define ANCHOR_GAP    32 /* bytes between two anchors, at least */
#define ANCHOR_WINDOW 64 /* bytes that are hashed */

#define ANCHOR_LULL	   ((size_t)128 << 10) /* a stretch without anchors is this long */
#define ANCHOR_LULL_PLACES 256		       /* among which one is chosen then */

struct anchor {
	uint32_t at; /* the window starts here */
	uint64_t hash;
};

/* How many anchors data of that size can have at most. */
static inline size_t dw_anchors_room(size_t size)
{
	return size / ANCHOR_GAP + 1;
}

/*
 * Find the anchors of data: about one in 2^shift bytes (shift 0..16; size below 2^32).
 * Only windows that lie wholly in the data count. out has room for dw_anchors_room(size).
 * Returns their number; they ascend.
 */
size_t dw_anchors_find(const uint8_t *data, size_t size, unsigned shift,
		       struct anchor *out);

/* Find the triggers of data that are not too close, without hashing anything. out has
 * room for dw_anchors_room(size). */
size_t dw_triggers_find(const uint8_t *data, size_t size, unsigned shift, uint32_t *out);

/* The hash of an anchor's window: of ANCHOR_WINDOW bytes. */
uint64_t dw_anchor_hash(const uint8_t *window);

/* Scanners for triggers, to be compared by tests: the one that is used is the best that
 * this processor has. NULL past the last one. */
typedef size_t (*dw_trigger_scan)(const uint8_t *data, size_t size, uint16_t mask,
				  uint32_t *out);
dw_trigger_scan dw_trigger_scanner(size_t index, const char **name_out);

#endif
