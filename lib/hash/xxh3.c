/* SPDX-License-Identifier: MIT */
/*
 * hash/xxh3: XXH3 by libxxhash, of a buffer or a stream.
 *
 * The library allocates its streaming state itself, because that needs a stricter
 * alignment than malloc gives.
 */
#include <xxhash.h>

#include "hash/hash.h"

struct xxh3 {
	XXH3_state_t *state;
};

static void split_halves(XXH128_hash_t hash, uint64_t out[2])
{
	out[0] = hash.low64;
	out[1] = hash.high64;
}

uint64_t dw_xxh3_64(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

void dw_xxh3_128(const void *data, size_t size, uint64_t out[2])
{
	split_halves(XXH3_128bits(data, size), out);
}

int dw_xxh3_new(struct xxh3 **state_out, dwarfs_error **err)
{
	auto_xxh3 struct xxh3 *state = dw_calloc(1, sizeof(*state));

	if (!state)
		return dw_fail_nomem(err);
	state->state = XXH3_createState();
	if (!state->state)
		return dw_fail_nomem(err);
	dw_xxh3_reset(state);
	*state_out = dw_steal(state);
	return 0;
}

void dw_xxh3_free(struct xxh3 *state)
{
	if (!state)
		return;
	XXH3_freeState(state->state);
	dw_free(state);
}

/* One state serves both widths: reset and update are the same. */
void dw_xxh3_reset(struct xxh3 *state)
{
	XXH3_128bits_reset(state->state);
}

void dw_xxh3_update(struct xxh3 *state, const void *data, size_t size)
{
	if (size)
		XXH3_128bits_update(state->state, data, size);
}

uint64_t dw_xxh3_finish_64(const struct xxh3 *state)
{
	return XXH3_64bits_digest(state->state);
}

void dw_xxh3_finish_128(const struct xxh3 *state, uint64_t out[2])
{
	split_halves(XXH3_128bits_digest(state->state), out);
}
