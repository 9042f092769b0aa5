/* SPDX-License-Identifier: MIT */
/*
 * hash/sha: SHA-512/256 of sections, by nettle.
 */
#include <string.h>

#include "config.h"
#include "hash/hash.h"

#if HAVE_NETTLE

#include <nettle/sha2.h>

bool dw_has_sha512_256(void)
{
	return true;
}

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

#else

bool dw_has_sha512_256(void)
{
	return false;
}

/* No digest of data. */
void dw_sha512_256(struct span first, struct span second,
		   uint8_t out[DW_SHA512_256_BYTES])
{
	memset(out, 0, DW_SHA512_256_BYTES);
}

#endif
