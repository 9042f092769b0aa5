/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Digests of contents, by name.
 */
#ifndef DWARFS_DIGEST_H
#define DWARFS_DIGEST_H

#include <dwarfs/error.h>

DWARFS_BEGIN_DECLS

typedef struct dwarfs_digest dwarfs_digest;

/** Buffer size that holds any digest in hexadecimal, with its NUL. */
#define DWARFS_DIGEST_HEX_BUFFER_BYTES 129

/**
 * Start a digest.
 *
 * @param algorithm   one of dwarfs_digest_name(), such as "sha512-256" or "xxh3-128"
 * @param digest_out  receives the digest; free it with dwarfs_digest_free()
 * @param err         receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_UNSUPPORTED for an unknown name, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_digest_new(const char *algorithm, dwarfs_digest **digest_out,
				 dwarfs_error **err);

/**
 * Add bytes.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_digest_update(dwarfs_digest *digest, const void *data,
				     size_t bytes);

/**
 * Get the digest of the bytes added so far, and start over with no bytes.
 *
 * @param digest   a digest
 * @param hex_out  receives lower-case hexadecimal digits and a NUL; at least
 *                 DWARFS_DIGEST_HEX_BUFFER_BYTES bytes
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_digest_finish(dwarfs_digest *digest, char *hex_out);

/** Free a digest; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_digest_free(dwarfs_digest *digest);

/**
 * The algorithms of this library: XXH3 always, BLAKE2 if it was built with libb2, and all
 * others if it was built with nettle.
 *
 * @param index  0 and up
 * @return a static string; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_digest_name(size_t index);

DWARFS_END_DECLS

#endif
