/* SPDX-License-Identifier: MIT */
/*
 * codec/lz4: the size in 32 bits, then one raw LZ4 block. lz4 and lz4hc differ only in
 * how hard they look for matches; what both write carries the id of lz4.
 */
#include <stdio.h>
#include "config.h"

#if HAVE_LZ4

#include <limits.h>
#include <lz4.h>
#include <lz4hc.h>

#include "base/bytes.h"
#include "codec/ops.h"

#define SIZE_BYTES	 4
#define DEFAULT_HC_LEVEL 9

struct packer {
	int level;
	_Alignas(max_align_t) uint8_t tables[];
};

static int unpacked_size(struct span in, uint64_t *size_out, dwarfs_error **err)
{
	if (in.size < SIZE_BYTES)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "the size is cut off");
	*size_out = dw_load32(in.data);
	return 0;
}

static int unpack(struct span in, uint8_t *out, size_t size, dwarfs_error **err)
{
	uint64_t announced = 0;
	char nothing[1];
	int ret = unpacked_size(in, &announced, err), got;

	if (ret < 0)
		return ret;
	if (announced != size || size > LZ4_MAX_INPUT_SIZE ||
	    in.size - SIZE_BYTES > INT_MAX)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "announces %" PRIu64 " bytes where %zu are expected",
			       announced, size);
	got = LZ4_decompress_safe((const char *)in.data + SIZE_BYTES,
				  out ? (char *)out : nothing,
				  (int)(in.size - SIZE_BYTES), (int)size);
	if (got < 0)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "the data is damaged");
	if ((size_t)got != size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "gives %d bytes where %zu are expected", got, size);
	return 0;
}

static int open_with(size_t table_bytes, int level, void **state_out, dwarfs_error **err)
{
	struct packer *packer = malloc(sizeof(*packer) + table_bytes);

	if (!packer)
		return dw_fail_nomem(err);
	packer->level = level;
	*state_out = packer;
	return 0;
}

static int open_fast(const struct codec_spec *spec, size_t block_bytes, void **state_out,
		     dwarfs_error **err)
{
	return open_with((size_t)LZ4_sizeofState(), spec->level, state_out, err);
}

static int open_hc(const struct codec_spec *spec, size_t block_bytes, void **state_out,
		   dwarfs_error **err)
{
	return open_with((size_t)LZ4_sizeofStateHC(), spec->level, state_out, err);
}

/*
 * Write the size, give the room behind it: what does not fit there is of no use. None for
 * inputs of a few bytes.
 */
static int begin(struct span in, struct buffer *out, int *room_out, dwarfs_error **err)
{
	int ret;

	if (in.size > LZ4_MAX_INPUT_SIZE)
		return dw_fail(err, DWARFS_ERR_RANGE, "a block of %zu bytes is too large",
			       in.size);
	if ((ret = dw_buffer_reserve(out, in.size < SIZE_BYTES ? SIZE_BYTES : in.size,
				     err)) < 0)
		return ret;
	dw_store32(out->data, (uint32_t)in.size);
	*room_out = in.size > SIZE_BYTES ? (int)(in.size - SIZE_BYTES) : 0;
	return 0;
}

/* 0 bytes: there was not enough room. */
static void end(struct buffer *out, int got)
{
	out->size = got > 0 ? SIZE_BYTES + (size_t)got : 0;
}

static int pack_fast(void *state, struct span in, struct buffer *out,
		     const atomic_bool *stop, dwarfs_error **err)
{
	struct packer *packer = state;
	int room, ret = begin(in, out, &room, err);

	if (ret < 0)
		return ret;
	end(out, LZ4_compress_fast_extState(packer->tables, (const char *)in.data,
					    (char *)out->data + SIZE_BYTES, (int)in.size,
					    room, 1));
	return 0;
}

static int pack_hc(void *state, struct span in, struct buffer *out,
		   const atomic_bool *stop, dwarfs_error **err)
{
	struct packer *packer = state;
	int room, ret = begin(in, out, &room, err);

	if (ret < 0)
		return ret;
	end(out, LZ4_compress_HC_extStateHC(packer->tables, (const char *)in.data,
					    (char *)out->data + SIZE_BYTES, (int)in.size,
					    room, packer->level));
	return 0;
}

static uint64_t memory_fast(const struct codec_spec *spec, size_t block_bytes)
{
	return sizeof(struct packer) + (uint64_t)LZ4_sizeofState();
}

static uint64_t memory_hc(const struct codec_spec *spec, size_t block_bytes)
{
	return sizeof(struct packer) + (uint64_t)LZ4_sizeofStateHC();
}

static const struct codec_option hc_options[] = {
	{ "level", DW_CODEC_FIELD(level), .min = 0, .max = LZ4HC_CLEVEL_MAX },
	{ NULL },
};

static void library(char *out, size_t room)
{
	snprintf(out, room, "lz4-%s", LZ4_versionString());
}

const struct codec_ops dw_codec_lz4 = {
	.library = library,
	.help = "lz4     no options",
	.defaults = { .id = CODEC_LZ4 },
	.unpacked_size = unpacked_size,
	.unpack = unpack,
	.packs_as = CODEC_LZ4,
	.open = open_fast,
	.close = free,
	.pack = pack_fast,
	.memory = memory_fast,
};

const struct codec_ops dw_codec_lz4hc = {
	.help = "lz4hc   level=0..12 (9)",
	.defaults = { .id = CODEC_LZ4HC, .level = DEFAULT_HC_LEVEL },
	.options = hc_options,
	.unpacked_size = unpacked_size,
	.unpack = unpack,
	.packs_as = CODEC_LZ4,
	.open = open_hc,
	.close = free,
	.pack = pack_hc,
	.memory = memory_hc,
};

#endif
