/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/sparse_hash: the hash of a file that may have holes.
 *
 * Holes and stored zeros are the same bytes, so pages that are all zero go into the hash
 * as a place and a length, and a huge hole costs nothing.
 */
#ifndef DW_WRITE_INSPECT_SPARSE_HASH_H
#define DW_WRITE_INSPECT_SPARSE_HASH_H

#include "hash/hash.h"

#define HASHER_PAGE_BYTES 4096

/* Makes hashes, one after the other; belongs to one thread. */
struct sparse_hash;

/* A name that dwarfs_digest_new() knows. */
int dw_sparse_hash_new(const char *algorithm, struct sparse_hash **hasher_out, dwarfs_error **err);
void dw_sparse_hash_free(struct sparse_hash *hasher);

/* How long the hashes are. */
size_t dw_sparse_hash_bytes(const struct sparse_hash *hasher);

/* Bytes come in order, each run beginning at a multiple of the page size. Which of the
 * zeros are given as bytes, and which as zeros, makes no difference when whole pages of
 * them are given as zeros. */
void dw_sparse_hash_begin(struct sparse_hash *hasher);
void dw_sparse_hash_add(struct sparse_hash *hasher, const uint8_t *data, size_t size);
void dw_sparse_hash_add_zeros(struct sparse_hash *hasher, uint64_t from, uint64_t to);
void dw_sparse_hash_finish(struct sparse_hash *hasher, uint8_t out[DW_DIGEST_BYTES_MAX]);

/* All bytes at once, with no page of zeros: begin, add and finish, only faster. */
void dw_sparse_hash_once(struct sparse_hash *hasher, const uint8_t *data, size_t size,
		    uint8_t out[DW_DIGEST_BYTES_MAX]);

/*
 * The first run of pages in data that are not all zero: data[*from_out] to data[*to_out],
 * both size when there is none.
 */
void dw_sparse_hash_next_run(const uint8_t *data, size_t size, size_t at, size_t *from_out,
			size_t *to_out);

#endif
