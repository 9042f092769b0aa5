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

const struct codec_ops dw_codec_none = {
	.unpacked_size = none_unpacked_size,
	.unpack = none_unpack,
};
