/* SPDX-License-Identifier: MIT */
/*
 * write/digests/content_hash: the XXH3-128 of contents, with the zeros of their holes.
 */
#ifndef DW_WRITE_DIGESTS_CONTENT_HASH_H
#define DW_WRITE_DIGESTS_CONTENT_HASH_H

#include "format/side/digest_table.h"
#include "hash/hash.h"

/* For one thread. */
struct content_hash {
	struct xxh3 *state;
	uint64_t zeros; /* of holes */
};

int dw_content_hash_init(struct content_hash *hash, dwarfs_error **err);
void dw_content_hash_free(struct content_hash *hash);

/* Hash bytes in order. */
void dw_content_hash_begin(struct content_hash *hash);
void dw_content_hash_add(struct content_hash *hash, const uint8_t *data, size_t size);
void dw_content_hash_add_hole(struct content_hash *hash, uint64_t size);

/* The digest, as it is stored; false for contents that were not hashed, because their holes
 * are too large. */
bool dw_content_hash_end(struct content_hash *hash,
			 uint8_t digest_out[DW_FILE_DIGEST_BYTES]);

/* The digest of one buffer. */
void dw_content_hash_once(const uint8_t *data, size_t size,
			  uint8_t digest_out[DW_FILE_DIGEST_BYTES]);

#endif
