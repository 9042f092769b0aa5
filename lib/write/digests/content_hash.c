/* SPDX-License-Identifier: MIT */
/*
 * write/digests/content_hash: the XXH3-128 of contents, with the zeros of their holes.
 */
#include "write/digests/content_hash.h"

/* Zeros of holes that are hashed: about a second. */
#define MOST_ZEROS (UINT64_C(4) << 30)

int dw_content_hash_init(struct content_hash *hash, dwarfs_error **err)
{
	return dw_xxh3_new(&hash->state, err);
}

void dw_content_hash_free(struct content_hash *hash)
{
	dw_xxh3_free(hash->state);
}

void dw_content_hash_begin(struct content_hash *hash)
{
	dw_xxh3_reset(hash->state);
	hash->zeros = 0;
}

void dw_content_hash_add(struct content_hash *hash, const uint8_t *data, size_t size)
{
	dw_xxh3_update(hash->state, data, size);
}

void dw_content_hash_add_hole(struct content_hash *hash, uint64_t size)
{
	static const uint8_t zeros[4096];

	if (size > MOST_ZEROS - hash->zeros) {
		hash->zeros = MOST_ZEROS;
		return;
	}
	hash->zeros += size;
	while (size > 0 && hash->zeros < MOST_ZEROS) {
		size_t piece = size < sizeof(zeros) ? (size_t)size : sizeof(zeros);

		dw_xxh3_update(hash->state, zeros, piece);
		size -= piece;
	}
}

static void store_digest(const uint64_t halves[2],
			 uint8_t digest_out[DW_FILE_DIGEST_BYTES])
{
	dw_store_be64(digest_out, halves[1]);
	dw_store_be64(digest_out + 8, halves[0]);
}

bool dw_content_hash_end(struct content_hash *hash,
			 uint8_t digest_out[DW_FILE_DIGEST_BYTES])
{
	uint64_t halves[2];

	dw_xxh3_finish_128(hash->state, halves);
	store_digest(halves, digest_out);
	return hash->zeros < MOST_ZEROS;
}

void dw_content_hash_once(const uint8_t *data, size_t size,
			  uint8_t digest_out[DW_FILE_DIGEST_BYTES])
{
	uint64_t halves[2];

	dw_xxh3_128(data, size, halves);
	store_digest(halves, digest_out);
}
