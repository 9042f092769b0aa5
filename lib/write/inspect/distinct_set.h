/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/distinct_set: the distinct contents that were found so far, shared by the workers
 * that find them.
 *
 * Numbers depend on who comes first. What is made of them must not: it goes by the file
 * that comes first in the tree.
 */
#ifndef DW_WRITE_INSPECT_DISTINCT_SET_H
#define DW_WRITE_INSPECT_DISTINCT_SET_H

#include <pthread.h>

#include "write/categorize/categorize.h"
#include "write/input/source.h"

/* Bytes that one file or several have. */
struct distinct {
	uint64_t size;
	uint64_t rank;	      /* of who described them */
	uint32_t parts;	      /* of parts, + 1; 0: default category as a whole */
	uint32_t first, last; /* files; for the caller, DW_NONE at first */
};

struct distinct_set {
	pthread_mutex_t lock; /* for all that follows */
	size_t digest_bytes;
	struct distinct *list;
	size_t count, room;
	uint8_t *digests; /* beside list; zero where there was none */
	size_t digest_room;
	uint32_t *slots; /* open addressing: number + 1, 0 for empty */
	size_t slot_count, hashed_count;

	bool wants_fingerprints;
	struct fingerprint *fingerprints; /* beside list, where wanted */
	size_t fingerprint_room;
	struct category_parts *parts;
	size_t parts_count, parts_room;
	struct kept *kept; /* content is the number in list */
	size_t kept_count, kept_room;
};

int dw_distinct_init(struct distinct_set *set, size_t digest_bytes,
		     bool wants_fingerprints, dwarfs_error **err);
void dw_distinct_free(struct distinct_set *set);

/* What a worker found of a file. */
struct finding {
	const uint8_t *digest; /* NULL: not compared with others */
	uint64_t size;
	struct kept_slab *slab; /* where its bytes are, or NULL */
	uint32_t offset;
};

/* Give the number of the contents, and whether they are new: then the bytes stay in the
 * slab. On any thread. */
int dw_distinct_add(struct distinct_set *set, const struct finding *finding,
		    uint32_t *number_out, bool *is_new_out, dwarfs_error **err);

/*
 * Say what kind of bytes they are. Of several who do so, only the one with the lowest
 * rank counts. Takes what parts holds. fingerprint may be NULL.
 */
int dw_distinct_describe(struct distinct_set *set, uint32_t number, uint64_t rank,
			 struct category_parts *parts,
			 const struct fingerprint *fingerprint, dwarfs_error **err);

#endif
