/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/sparse_hash: the digest of a file that may have holes.
 *
 * Holes and stored zeros are the same bytes. Zero pages are hashed as offset and length,
 * so a huge hole costs no time.
 */
#ifndef DW_WRITE_INSPECT_SPARSE_HASH_H
#define DW_WRITE_INSPECT_SPARSE_HASH_H

#include "hash/hash.h"

#define HASHER_PAGE_BYTES 4096

/* Computes digests one after the other; for one thread. */
struct sparse_hash;

/* algorithm: a name known to dwarfs_digest_new(). */
int dw_sparse_hash_new(const char *algorithm, struct sparse_hash **hasher_out,
		       dwarfs_error **err);
void dw_sparse_hash_free(struct sparse_hash *hasher);

/* Length of the digests. */
size_t dw_sparse_hash_bytes(const struct sparse_hash *hasher);

/* Add data in order; each run begins at a multiple of the page size. Pages of zeros
 * may be added as data or as zeros, with the same digest, if whole pages are added as
 * zeros. */
void dw_sparse_hash_begin(struct sparse_hash *hasher);
void dw_sparse_hash_add(struct sparse_hash *hasher, const uint8_t *data, size_t size);
void dw_sparse_hash_add_zeros(struct sparse_hash *hasher, uint64_t from, uint64_t to);
void dw_sparse_hash_finish(struct sparse_hash *hasher, uint8_t out[DW_DIGEST_BYTES_MAX]);

/* Hash all bytes at once, faster than begin, add and finish; there must be no page of
 * zeros. */
void dw_sparse_hash_once(struct sparse_hash *hasher, const uint8_t *data, size_t size,
			 uint8_t out[DW_DIGEST_BYTES_MAX]);

/*
 * The first run of pages in data that are not all zero: data[*from_out] to data[*to_out],
 * both size when there is none.
 */
void dw_sparse_hash_next_run(const uint8_t *data, size_t size, size_t at,
			     size_t *from_out, size_t *to_out);

#endif
