/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/none_encode: uncompressed sections.
 */
#include "codec/encode/ops.h"

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

const struct encoder_ops dw_encoder_none = {
	.help = "null    no compression",
	.defaults = { .id = CODEC_NONE },
	.packs_as = CODEC_NONE,
	.pack = none_pack,
	.memory = none_memory,
};
