/* SPDX-License-Identifier: MIT */
/*
 * hash/sha: SHA-512/256 of sections, by nettle.
 */
#include <nettle/sha2.h>

#include "hash/hash.h"

void dw_sha512_256(struct span first, struct span second,
		   uint8_t out[DW_SHA512_256_BYTES])
{
	struct sha512_256_ctx context;

	sha512_256_init(&context);
	if (first.size)
		sha512_256_update(&context, first.size, first.data);
	if (second.size)
		sha512_256_update(&context, second.size, second.data);
	sha512_256_digest(&context, DW_SHA512_256_BYTES, out);
}
