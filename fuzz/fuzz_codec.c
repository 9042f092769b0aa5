/* SPDX-License-Identifier: MIT */
/*
 * fuzz_codec: decompress a payload with the codec that the first byte names.
 *
 * The announced size is what a reader would allocate; it is bounded as a block is. If a
 * payload has parts, decompressing them gives the same result as the whole.
 */
#include <string.h>

#include "codec/encode/encode.h"
#include "fuzz.h"

#define MAX_UNPACKED (1u << 20)

static bool unpack_parts(uint32_t id, struct span in, const struct codec_part *parts,
			 size_t count, uint8_t *out, size_t size)
{
	uint64_t end = 0;
	bool good = true;

	for (size_t i = 0; i < count; end += parts[i++].size)
		fuzz_require(parts[i].from == end && parts[i].size > 0);
	fuzz_require(end == size);
	for (size_t i = 0; i < count; i++) {
		auto_decoder struct decoder *decoder = NULL;

		good = dw_decoder_new_part(id, in, &parts[i], out + parts[i].from,
					   &decoder, NULL) == 0 &&
		       dw_decoder_run(decoder, (size_t)parts[i].size, NULL) == 0 && good;
	}
	return good;
}

static void check_parts(uint32_t id, struct span in, const uint8_t *whole, bool is_good,
			size_t size)
{
	auto_free struct codec_part *parts = NULL;
	auto_free uint8_t *out = NULL;
	size_t count;

	if (dw_codec_parts(id, in, &parts, &count, NULL) < 0 || count == 0)
		return;
	out = dw_malloc(size);
	if (!out)
		return;
	fuzz_require(unpack_parts(id, in, parts, count, out, size) == is_good);
	fuzz_require(!is_good || memcmp(out, whole, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t announced;
	bool is_good, is_sound;
	struct span in;
	uint8_t *out;
	uint32_t id;

	if (size == 0)
		return 0;
	id = data[0] % 9; /* one past the last, too */
	in = (struct span){ data + 1, size - 1 };
	is_sound = dw_codec_unpacked_size(id, in, &announced, NULL) == 0 &&
		   announced <= MAX_UNPACKED;
	if (!is_sound)
		announced = 1000;
	out = dw_malloc(announced ? announced : 1);
	if (!out)
		return 0;
	is_good = dw_codec_unpack(id, in, out, announced, NULL) == 0;
	if (is_good)
		fuzz_use(out, announced);
	if (is_sound)
		check_parts(id, in, out, is_good, announced);
	dw_free(out);
	return 0;
}
