/* SPDX-License-Identifier: MIT */
/*
 * hash/sha: SHA-512/256 of sections, by nettle, which is linked, or loaded for each section.
 */
#include "config.h"
#include "hash/hash.h"

#if HAVE_NETTLE

#include <nettle/sha2.h>

#include "base/machine/shared_library.h"

/* The header has another name for the function that updates SHA-512. */
#define LIBNETTLE_SHA_SYMBOLS(NAMED)                                                     \
	NAMED(init, nettle_sha512_256_init)                                              \
	NAMED(update, nettle_sha512_update)                                              \
	NAMED(digest, nettle_sha512_256_digest)

struct libnettle_sha {
	LIBNETTLE_SHA_SYMBOLS(DW_SYMBOL_MEMBER)
};

bool dw_has_sha512_256(void)
{
	return true;
}

int dw_sha512_256(struct span first, struct span second, uint8_t out[DW_SHA512_256_BYTES],
		  dwarfs_error **err)
{
	struct sha512_256_ctx context;
	struct libnettle_sha libnettle;
	int ret = DW_FILL_SYMBOLS(LIBNETTLE_SHA_SYMBOLS, &libnettle, LIBNETTLE_FILE,
				  "SHA-512/256 needs nettle", err);

	if (ret < 0)
		return ret;
	libnettle.init(&context);
	if (first.size)
		libnettle.update(&context, first.size, first.data);
	if (second.size)
		libnettle.update(&context, second.size, second.data);
	libnettle.digest(&context, DW_SHA512_256_BYTES, out);
	return 0;
}

#else

bool dw_has_sha512_256(void)
{
	return false;
}

int dw_sha512_256(struct span first, struct span second, uint8_t out[DW_SHA512_256_BYTES],
		  dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_UNSUPPORTED, "SHA-512/256 is not built in");
}

#endif
