/* SPDX-License-Identifier: MIT */
/*
 * hash/digest: digests of contents, by name. See <dwarfs/digest.h>.
 *
 * Takes a name as OpenSSL spells it, and bytes; gives hexadecimal digits. The algorithms
 * are those of nettle, libxxhash and libb2, listed in one table.
 */
#include <string.h>
#include <strings.h>

#include "config.h"
#include "base/bytes.h"
#include "hash/hash.h"

struct nettle_hash;

/* A digest can be started; finish starts it again. */
struct digest_ops {
	int (*make)(const struct nettle_hash *nettle, void **state_out,
		    dwarfs_error **err);
	void (*update)(const struct nettle_hash *nettle, void *state, const void *data,
		       size_t size);
	/* Returns the number of bytes. */
	size_t (*finish)(const struct nettle_hash *nettle, void *state, uint8_t *out);
	void (*destroy)(void *state);
};

struct algorithm {
	const char *name;
	const struct digest_ops *ops;
	const struct nettle_hash *nettle; /* for digests by nettle only */
};

struct dwarfs_digest {
	const struct algorithm *algorithm;
	void *state;
};

/* -- nettle -------------------------------------------------------------------------- */

#if HAVE_NETTLE
#include <nettle/nettle-meta.h>

static int nettle_make(const struct nettle_hash *nettle, void **state_out,
		       dwarfs_error **err)
{
	void *state = dw_calloc(1, nettle->context_size);

	if (!state)
		return dw_fail_nomem(err);
	nettle->init(state);
	*state_out = state;
	return 0;
}

static void nettle_update(const struct nettle_hash *nettle, void *state, const void *data,
			  size_t size)
{
	nettle->update(state, size, data);
}

static size_t nettle_finish(const struct nettle_hash *nettle, void *state, uint8_t *out)
{
	nettle->digest(state, nettle->digest_size, out);
	return nettle->digest_size;
}

static const struct digest_ops by_nettle = {
	.make = nettle_make,
	.update = nettle_update,
	.finish = nettle_finish,
	.destroy = dw_free,
};
#endif

/* -- xxh3 ---------------------------------------------------------------------------- */

static int xxh3_make(const struct nettle_hash *nettle, void **state_out,
		     dwarfs_error **err)
{
	struct xxh3 *state;
	int ret = dw_xxh3_new(&state, err);

	if (ret == 0)
		*state_out = state;
	return ret;
}

static void xxh3_update(const struct nettle_hash *nettle, void *state, const void *data,
			size_t size)
{
	dw_xxh3_update(state, data, size);
}

/* The canonical form of XXH3 is big-endian. */
static size_t xxh3_finish_64(const struct nettle_hash *nettle, void *state, uint8_t *out)
{
	dw_store_be64(out, dw_xxh3_finish_64(state));
	dw_xxh3_reset(state);
	return 8;
}

static size_t xxh3_finish_128(const struct nettle_hash *nettle, void *state, uint8_t *out)
{
	uint64_t halves[2];

	dw_xxh3_finish_128(state, halves);
	dw_store_be64(out, halves[1]);
	dw_store_be64(out + 8, halves[0]);
	dw_xxh3_reset(state);
	return 16;
}

static void xxh3_destroy(void *state)
{
	dw_xxh3_free(state);
}

static const struct digest_ops by_xxh3_64 = {
	.make = xxh3_make,
	.update = xxh3_update,
	.finish = xxh3_finish_64,
	.destroy = xxh3_destroy,
};

static const struct digest_ops by_xxh3_128 = {
	.make = xxh3_make,
	.update = xxh3_update,
	.finish = xxh3_finish_128,
	.destroy = xxh3_destroy,
};

/* -- blake2 -------------------------------------------------------------------------- */

#if HAVE_BLAKE2
#include <blake2.h>

#include "base/machine/shared_library.h"

#define LIBB2_FILE "libb2.so.1"

#define LIBB2_SYMBOLS(NAMED)                                                             \
	NAMED(init_b, blake2b_init)                                                      \
	NAMED(update_b, blake2b_update)                                                  \
	NAMED(final_b, blake2b_final)                                                    \
	NAMED(init_s, blake2s_init)                                                      \
	NAMED(update_s, blake2s_update)                                                  \
	NAMED(final_s, blake2s_final)

struct libb2 {
	LIBB2_SYMBOLS(DW_SYMBOL_MEMBER)
};

/* Some builds of libb2 use aligned vector instructions on their states. */
#define STATE_ALIGNMENT 64

struct blake2 {
	union {
		blake2b_state b;
		blake2s_state s;
	};
	struct libb2 libb2;
	void *memory; /* in which it is */
};

static int blake2_make(struct blake2 **state_out, dwarfs_error **err)
{
	auto_free uint8_t *memory = dw_malloc(sizeof(struct blake2) + STATE_ALIGNMENT);
	struct blake2 *state;
	int ret;

	if (!memory)
		return dw_fail_nomem(err);
	state = (struct blake2 *)(void *)(memory + STATE_ALIGNMENT -
					  (uintptr_t)memory % STATE_ALIGNMENT);
	ret = DW_FILL_SYMBOLS(LIBB2_SYMBOLS, &state->libb2, LIBB2_FILE,
			      "BLAKE2 needs libb2", err);
	if (ret < 0)
		return ret;
	state->memory = dw_steal(memory);
	*state_out = state;
	return 0;
}

static void blake2_destroy(void *state)
{
	dw_free(((struct blake2 *)state)->memory);
}

static int blake2b_make(const struct nettle_hash *nettle, void **state_out,
			dwarfs_error **err)
{
	struct blake2 *state;
	int ret = blake2_make(&state, err);

	if (ret < 0)
		return ret;
	state->libb2.init_b(&state->b, BLAKE2B_OUTBYTES);
	*state_out = state;
	return 0;
}

static void blake2b_add(const struct nettle_hash *nettle, void *user, const void *data,
			size_t size)
{
	struct blake2 *state = user;

	state->libb2.update_b(&state->b, data, size);
}

static size_t blake2b_finish(const struct nettle_hash *nettle, void *user, uint8_t *out)
{
	struct blake2 *state = user;

	state->libb2.final_b(&state->b, out, BLAKE2B_OUTBYTES);
	state->libb2.init_b(&state->b, BLAKE2B_OUTBYTES);
	return BLAKE2B_OUTBYTES;
}

static int blake2s_make(const struct nettle_hash *nettle, void **state_out,
			dwarfs_error **err)
{
	struct blake2 *state;
	int ret = blake2_make(&state, err);

	if (ret < 0)
		return ret;
	state->libb2.init_s(&state->s, BLAKE2S_OUTBYTES);
	*state_out = state;
	return 0;
}

static void blake2s_add(const struct nettle_hash *nettle, void *user, const void *data,
			size_t size)
{
	struct blake2 *state = user;

	state->libb2.update_s(&state->s, data, size);
}

static size_t blake2s_finish(const struct nettle_hash *nettle, void *user, uint8_t *out)
{
	struct blake2 *state = user;

	state->libb2.final_s(&state->s, out, BLAKE2S_OUTBYTES);
	state->libb2.init_s(&state->s, BLAKE2S_OUTBYTES);
	return BLAKE2S_OUTBYTES;
}

static const struct digest_ops by_blake2b = {
	.make = blake2b_make,
	.update = blake2b_add,
	.finish = blake2b_finish,
	.destroy = blake2_destroy,
};

static const struct digest_ops by_blake2s = {
	.make = blake2s_make,
	.update = blake2s_add,
	.finish = blake2s_finish,
	.destroy = blake2_destroy,
};
#endif

/* -- the table ----------------------------------------------------------------------- */

static const struct algorithm algorithms[] = {
	{ "xxh3-64", &by_xxh3_64, NULL },
	{ "xxh3-128", &by_xxh3_128, NULL },
#if HAVE_NETTLE
	{ "md5", &by_nettle, &nettle_md5 },
	{ "sha1", &by_nettle, &nettle_sha1 },
	{ "sha224", &by_nettle, &nettle_sha224 },
	{ "sha256", &by_nettle, &nettle_sha256 },
	{ "sha384", &by_nettle, &nettle_sha384 },
	{ "sha512", &by_nettle, &nettle_sha512 },
	{ "sha512-224", &by_nettle, &nettle_sha512_224 },
	{ "sha512-256", &by_nettle, &nettle_sha512_256 },
	{ "sha3-224", &by_nettle, &nettle_sha3_224 },
	{ "sha3-256", &by_nettle, &nettle_sha3_256 },
	{ "sha3-384", &by_nettle, &nettle_sha3_384 },
	{ "sha3-512", &by_nettle, &nettle_sha3_512 },
	{ "ripemd160", &by_nettle, &nettle_ripemd160 },
#endif
#if HAVE_BLAKE2
	{ "blake2b512", &by_blake2b, NULL },
	{ "blake2s256", &by_blake2s, NULL },
#endif
};

#define ALGORITHM_COUNT (sizeof(algorithms) / sizeof(algorithms[0]))

/* -- the interface ------------------------------------------------------------------- */

/* As in OpenSSL, letters of either case are accepted. */
static const struct algorithm *find_algorithm(const char *name)
{
	for (size_t i = 0; i < ALGORITHM_COUNT; i++)
		if (strcasecmp(algorithms[i].name, name) == 0)
			return &algorithms[i];
	return NULL;
}

const char *dwarfs_digest_name(size_t index)
{
	return index < ALGORITHM_COUNT ? algorithms[index].name : NULL;
}

int dwarfs_digest_new(const char *algorithm, dwarfs_digest **digest_out,
		      dwarfs_error **err)
{
	if (!algorithm || !digest_out)
		return dw_fail_null(err, "algorithm and digest_out");

	const struct algorithm *found = find_algorithm(algorithm);
	auto_free dwarfs_digest *digest = NULL;
	int ret;

	if (!found)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "there is no hash algorithm '%s'", algorithm);
	digest = dw_calloc(1, sizeof(*digest));
	if (!digest)
		return dw_fail_nomem(err);
	digest->algorithm = found;
	if ((ret = found->ops->make(found->nettle, &digest->state, err)) < 0)
		return ret;
	*digest_out = dw_steal(digest);
	return 0;
}

void dwarfs_digest_update(dwarfs_digest *digest, const void *data, size_t bytes)
{
	if (!digest || (!data && bytes > 0))
		return;

	const struct algorithm *algorithm = digest->algorithm;

	if (bytes)
		algorithm->ops->update(algorithm->nettle, digest->state, data, bytes);
}

size_t dw_digest_finish(dwarfs_digest *digest, uint8_t out[DW_DIGEST_BYTES_MAX])
{
	const struct algorithm *algorithm = digest->algorithm;

	return algorithm->ops->finish(algorithm->nettle, digest->state, out);
}

void dwarfs_digest_finish(dwarfs_digest *digest, char *hex_out)
{
	if (!digest || !hex_out)
		return;

	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[DW_DIGEST_BYTES_MAX];
	size_t count = dw_digest_finish(digest, bytes);

	for (size_t i = 0; i < count; i++) {
		*hex_out++ = digits[bytes[i] >> 4];
		*hex_out++ = digits[bytes[i] & 0x0F];
	}
	*hex_out = '\0';
}

void dwarfs_digest_free(dwarfs_digest *digest)
{
	if (!digest)
		return;
	digest->algorithm->ops->destroy(digest->state);
	dw_free(digest);
}
