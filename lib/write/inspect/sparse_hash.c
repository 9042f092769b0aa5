/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/sparse_hash: the digest of a file that may have holes.
 *
 * Two digests: one of the data, and one of the positions of the runs of zero pages. The
 * second one, extended by the first, is used only if there are such runs.
 */
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "write/inspect/sparse_hash.h"

struct sparse_hash {
	dwarfs_digest *data, *shape;
	bool is_xxh3_128;
	size_t bytes;
	uint64_t zero_from, zero_to; /* current run; UINT64_MAX: none */
	bool has_zeros;
};

void dw_sparse_hash_free(struct sparse_hash *hasher)
{
	if (!hasher)
		return;

	dwarfs_digest_free(hasher->data);
	dwarfs_digest_free(hasher->shape);
	dw_free(hasher);
}
DW_DEFINE_AUTO(hasher, struct sparse_hash *, dw_sparse_hash_free)

int dw_sparse_hash_new(const char *algorithm, struct sparse_hash **hasher_out,
		       dwarfs_error **err)
{
	DW_AUTO(hasher) struct sparse_hash *hasher = dw_calloc(1, sizeof(*hasher));
	uint8_t empty[DW_DIGEST_BYTES_MAX];
	int ret;

	if (!hasher)
		return dw_fail_nomem(err);
	if ((ret = dwarfs_digest_new(algorithm, &hasher->data, err)) < 0 ||
	    (ret = dwarfs_digest_new(algorithm, &hasher->shape, err)) < 0)
		return ret;
	hasher->bytes = dw_digest_finish(hasher->data, empty);
	hasher->is_xxh3_128 = strcasecmp(algorithm, "xxh3-128") == 0;
	*hasher_out = dw_steal(hasher);
	return 0;
}

size_t dw_sparse_hash_bytes(const struct sparse_hash *hasher)
{
	return hasher->bytes;
}

/* Finishing a digest resets it, including data of an unfinished file. */
void dw_sparse_hash_begin(struct sparse_hash *hasher)
{
	uint8_t dropped[DW_DIGEST_BYTES_MAX];

	dw_digest_finish(hasher->data, dropped);
	if (hasher->has_zeros)
		dw_digest_finish(hasher->shape, dropped);
	hasher->zero_from = UINT64_MAX;
	hasher->has_zeros = false;
}

static void end_zero_run(struct sparse_hash *hasher)
{
	uint8_t run[16];

	if (hasher->zero_from == UINT64_MAX)
		return;
	dw_store64(run, hasher->zero_from);
	dw_store64(run + 8, hasher->zero_to);
	dwarfs_digest_update(hasher->shape, run, sizeof(run));
	hasher->zero_from = UINT64_MAX;
	hasher->has_zeros = true;
}

void dw_sparse_hash_add_zeros(struct sparse_hash *hasher, uint64_t from, uint64_t to)
{
	if (from == to)
		return;
	if (hasher->zero_from == UINT64_MAX)
		hasher->zero_from = from;
	hasher->zero_to = to;
}

void dw_sparse_hash_add(struct sparse_hash *hasher, const uint8_t *data, size_t size)
{
	end_zero_run(hasher);
	dwarfs_digest_update(hasher->data, data, size);
}

void dw_sparse_hash_finish(struct sparse_hash *hasher, uint8_t out[DW_DIGEST_BYTES_MAX])
{
	end_zero_run(hasher);
	dw_digest_finish(hasher->data, out);
	if (!hasher->has_zeros)
		return;
	dwarfs_digest_update(hasher->shape, out, hasher->bytes);
	dw_digest_finish(hasher->shape, out);
	hasher->has_zeros = false;
}

/* In the byte order of the digest: big-endian, high half first. */
void dw_sparse_hash_once(struct sparse_hash *hasher, const uint8_t *data, size_t size,
			 uint8_t out[DW_DIGEST_BYTES_MAX])
{
	uint64_t halves[2];

	if (!hasher->is_xxh3_128) {
		dw_sparse_hash_begin(hasher);
		dw_sparse_hash_add(hasher, data, size);
		dw_sparse_hash_finish(hasher, out);
		return;
	}
	dw_xxh3_128(data, size, halves);
	for (int i = 0; i < 2; i++)
		dw_store_be64(out + 8 * i, halves[1 - i]);
}

static size_t page_at(size_t size, size_t at)
{
	return size - at < HASHER_PAGE_BYTES ? size - at : HASHER_PAGE_BYTES;
}

void dw_sparse_hash_next_run(const uint8_t *data, size_t size, size_t at,
			     size_t *from_out, size_t *to_out)
{
	while (at < size && dw_is_zero(data + at, page_at(size, at)))
		at += page_at(size, at);
	*from_out = at;
	while (at < size && !dw_is_zero(data + at, page_at(size, at)))
		at += page_at(size, at);
	*to_out = at;
}
