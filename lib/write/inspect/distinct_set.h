/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/distinct_set: the distinct contents found so far, shared by the workers.
 *
 * The numbers of contents depend on the order in which workers finish. What is stored
 * must not: it is taken from the file with the lowest rank.
 */
#ifndef DW_WRITE_INSPECT_DISTINCT_SET_H
#define DW_WRITE_INSPECT_DISTINCT_SET_H

#include <pthread.h>

#include "write/categorize/categorize.h"
#include "write/input/source.h"

/* Contents of one or more files. */
struct distinct {
	uint64_t size;
	uint64_t rank; /* of the file that described them */
	/* number of its parts, + 1; 0: all of it is of the default category */
	uint32_t parts;
	uint32_t first, last; /* files; set by the caller, DW_NONE at first */
};

struct distinct_set {
	pthread_mutex_t lock; /* protects all members below */
	size_t digest_bytes;
	struct distinct *list;
	size_t count, room;
	uint8_t *digests; /* by number; zero: not hashed */
	size_t digest_room;
	uint32_t *slots; /* open addressing: number + 1, 0 for empty */
	size_t slot_count, hashed_count;

	bool wants_fingerprints;
	struct fingerprint *fingerprints; /* by number, if wanted */
	size_t fingerprint_room;
	struct category_parts *parts;
	size_t parts_count, parts_room;
	struct kept *kept; /* content is the number in list */
	size_t kept_count, kept_room;
};

int dw_distinct_init(struct distinct_set *set, size_t digest_bytes,
		     bool wants_fingerprints, dwarfs_error **err);
void dw_distinct_free(struct distinct_set *set);

/* Result of a worker for one file. */
struct finding {
	const uint8_t *digest; /* NULL: not compared with others */
	uint64_t size;
	struct kept_slab *slab; /* where its bytes are, or NULL */
	uint32_t offset;
};

/* Find or add contents. If they are new, their bytes stay in the slab. Thread-safe. */
int dw_distinct_add(struct distinct_set *set, const struct finding *finding,
		    uint32_t *number_out, bool *is_new_out, dwarfs_error **err);

/*
 * Set categories and fingerprint (may be NULL) of contents. Of several calls, the one
 * with the lowest rank counts. Takes ownership of the parts.
 */
int dw_distinct_describe(struct distinct_set *set, uint32_t number, uint64_t rank,
			 struct category_parts *parts,
			 const struct fingerprint *fingerprint, dwarfs_error **err);

#endif
