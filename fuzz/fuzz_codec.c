/* SPDX-License-Identifier: MIT */
/*
 * fuzz_codec: unpack a payload with the codec that the first byte names.
 *
 * The announced size is what a reader would allocate; it is bounded as a block is.
 */
#include "codec/codec.h"
#include "fuzz.h"

#define MAX_UNPACKED (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t announced;
	struct span in;
	uint8_t *out;
	uint32_t id;

	if (size == 0)
		return 0;
	id = data[0] % 9; /* one past the last, too */
	in = (struct span){ data + 1, size - 1 };
	if (dw_codec_unpacked_size(id, in, &announced, NULL) < 0 ||
	    announced > MAX_UNPACKED)
		announced = 1000;
	out = malloc(announced ? announced : 1);
	if (!out)
		return 0;
	if (dw_codec_unpack(id, in, out, announced, NULL) == 0)
		fuzz_use(out, announced);
	free(out);
	return 0;
}
