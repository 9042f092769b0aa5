/* SPDX-License-Identifier: MIT */
/*
 * codec/none: uncompressed sections.
 */
#include <string.h>

#include "codec/ops.h"

static int none_unpacked_size(struct span in, uint64_t *size_out, dwarfs_error **err)
{
	*size_out = in.size;
	return 0;
}

static int none_unpack(struct span in, uint8_t *out, size_t size, dwarfs_error **err)
{
	if (in.size != size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "%zu bytes are stored where %zu are expected", in.size,
			       size);
	if (size)
		memcpy(out, in.data, size);
	return 0;
}

/* Nothing is smaller than the input, so the caller stores that. */
static int none_pack(void *state, struct span in, struct buffer *out,
		     struct codec_watch *watch, dwarfs_error **err)
{
	return 0;
}

static uint64_t none_memory(const struct codec_spec *spec, size_t block_bytes)
{
	return 0;
}

const struct codec_ops dw_codec_none = {
	.help = "null    no compression",
	.defaults = { .id = CODEC_NONE },
	.unpacked_size = none_unpacked_size,
	.unpack = none_unpack,
	.packs_as = CODEC_NONE,
	.pack = none_pack,
	.memory = none_memory,
};
