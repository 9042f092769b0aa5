/* SPDX-License-Identifier: MIT */
/*
 * compare/sum: a hash of contents that skips holes and zeros.
 *
 * Reads bytes in order, returns 128 bits. Buffers one grain.
 */
#include <string.h>

#include "base/bytes.h"
#include "compare/sum.h"

#define GRAIN ((size_t)4096)

struct sum {
	dwarfs_digest *digest;
	uint64_t at;   /* bytes so far */
	size_t filled; /* of the grain */
	uint8_t grain[GRAIN];
};

int dw_sum_new(struct sum **sum_out, dwarfs_error **err)
{
	auto_sum struct sum *sum = dw_calloc(1, sizeof(*sum));
	int ret;

	if (!sum)
		return dw_fail_nomem(err);
	if ((ret = dwarfs_digest_new("xxh3-128", &sum->digest, err)) < 0)
		return ret;
	*sum_out = dw_steal(sum);
	return 0;
}

void dw_sum_free(struct sum *sum)
{
	if (!sum)
		return;

	dwarfs_digest_free(sum->digest);
	dw_free(sum);
}

uint64_t dw_sum_bytes(const struct sum *sum)
{
	return sum->at;
}

/* A whole grain, which begins at a multiple of its size. */
static void take_grain(struct sum *sum, const uint8_t *grain, uint64_t at)
{
	uint8_t place[8];

	if (dw_is_zero(grain, GRAIN))
		return;
	dw_store64(place, at);
	dwarfs_digest_update(sum->digest, place, sizeof(place));
	dwarfs_digest_update(sum->digest, grain, GRAIN);
}

/* Append to the current grain, zeros if data is NULL: returns how many bytes fit. */
static size_t fill(struct sum *sum, const uint8_t *data, uint64_t bytes)
{
	size_t part = GRAIN - sum->filled;

	if (part > bytes)
		part = (size_t)bytes;
	if (data)
		memcpy(sum->grain + sum->filled, data, part);
	else
		memset(sum->grain + sum->filled, 0, part);
	sum->filled += part;
	sum->at += part;
	if (sum->filled == GRAIN) {
		take_grain(sum, sum->grain, sum->at - GRAIN);
		sum->filled = 0;
	}
	return part;
}

void dw_sum_data(struct sum *sum, const void *data, size_t bytes)
{
	const uint8_t *from = data;

	while (bytes > 0) {
		size_t part = GRAIN;

		if (sum->filled > 0 || bytes < GRAIN) {
			part = fill(sum, from, bytes);
		} else {
			take_grain(sum, from, sum->at);
			sum->at += GRAIN;
		}
		from += part;
		bytes -= part;
	}
}

void dw_sum_hole(struct sum *sum, uint64_t bytes)
{
	if (sum->filled > 0)
		bytes -= fill(sum, NULL, bytes);
	sum->at += bytes - bytes % GRAIN;
	if (bytes % GRAIN > 0)
		fill(sum, NULL, bytes % GRAIN);
}

void dw_sum_finish(struct sum *sum, uint64_t out[2])
{
	char hex[DWARFS_DIGEST_HEX_BUFFER_BYTES];
	char half[17] = "";
	uint8_t size[8];

	dw_store64(size, sum->at);
	if (sum->filled > 0)
		fill(sum, NULL, GRAIN - sum->filled);
	dwarfs_digest_update(sum->digest, size, sizeof(size));
	dwarfs_digest_finish(sum->digest, hex);
	for (int i = 0; i < 2; i++) {
		memcpy(half, hex + 16 * i, 16);
		out[i] = strtoull(half, NULL, 16);
	}
	sum->at = 0;
	sum->filled = 0;
}
