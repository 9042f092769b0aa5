/* SPDX-License-Identifier: MIT */
/*
 * hash: the digests of the format, and of <dwarfs/digest.h>.
 */
#ifndef DW_HASH_HASH_H
#define DW_HASH_HASH_H

#include <dwarfs/digest.h>

#include "base/memory.h"

#define DW_SHA512_256_BYTES 32

/* XXH3 with 64 bits, seed 0. */
uint64_t dw_xxh3_64(const void *data, size_t size);

/* XXH3 of a stream. */
struct xxh3;
int dw_xxh3_new(struct xxh3 **state_out, dwarfs_error **err);
void dw_xxh3_free(struct xxh3 *state);
void dw_xxh3_reset(struct xxh3 *state);
void dw_xxh3_update(struct xxh3 *state, const void *data, size_t size);
uint64_t dw_xxh3_finish_64(const struct xxh3 *state);
/* Halves of the 128 bits, the low one first. */
void dw_xxh3_finish_128(const struct xxh3 *state, uint64_t out[2]);
DW_DEFINE_AUTO(xxh3, struct xxh3 *, dw_xxh3_free)
#define auto_xxh3 DW_AUTO(xxh3)

/* XXH3 with 128 bits of one buffer. */
void dw_xxh3_128(const void *data, size_t size, uint64_t out[2]);

/* As dwarfs_digest_finish(), but as bytes; returns their number. */
#define DW_DIGEST_BYTES_MAX ((DWARFS_DIGEST_HEX_BUFFER_BYTES - 1) / 2)
size_t dw_digest_finish(dwarfs_digest *digest, uint8_t out[DW_DIGEST_BYTES_MAX]);

/* Whether the library was built with nettle, and so with SHA-512/256; if not, only the XXH3 of
 * sections can be verified, and dw_sha512_256() is not called. */
bool dw_has_sha512_256(void);

/* SHA-512/256 (FIPS 180-4) of two buffers, one after the other; either may be empty. */
void dw_sha512_256(struct span first, struct span second,
		   uint8_t out[DW_SHA512_256_BYTES]);

#endif
