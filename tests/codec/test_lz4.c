/* SPDX-License-Identifier: MIT */
/*
 * codec/lz4: slices of lz4hc become one raw block, which is as small as when compressed
 * at once.
 */
#include "support/codec_data.h"
#include "support/effort.h"

#include <stdio.h>
#include "config.h"

#if HAVE_LZ4

#include <lz4.h>
#include <lz4hc.h>

enum { SLICE = 256 << 10, LARGE = 3 * SLICE + 12345, SIZE_BYTES = 4 };

/* The compressed size, 0 if it is stored uncompressed. */
static size_t pack(const char *text, struct span in)
{
	auto_codec struct codec *codec = NULL;
	auto_buffer struct buffer out = { 0 };
	auto_free uint8_t *back = exactly(in.size);
	struct codec_spec spec;
	uint32_t id = 99;

	assert_int_equal(dw_codec_parse(text, &spec, NULL), 0);
	assert_int_equal(dw_codec_new(&spec, in.size, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, in, &out, &id, NULL), 0);
	if (id == CODEC_NONE)
		return 0;
	assert_int_equal(id, CODEC_LZ4);
	assert_int_equal(dw_codec_unpack(id, dw_buffer_span(&out), back, in.size, NULL),
			 0);
	assert_memory_equal(back, in.data, in.size);
	return out.size;
}

/* By liblz4 itself, at once. */
static size_t pack_at_once(struct span in, int level)
{
	size_t room = (size_t)LZ4_compressBound((int)in.size);
	auto_free uint8_t *out = exactly(room);

	return SIZE_BYTES + (size_t)LZ4_compress_HC((const char *)in.data, (char *)out,
						    (int)in.size, (int)room, level);
}

/* Random bytes, text, zeros, and random bytes again, each from one slice into another. */
static void fill_mixed(uint8_t *data)
{
	fill(data, LARGE, KIND_RANDOM);
	fill(data + SLICE / 2, 2 * SLICE, KIND_TEXT);
	fill(data + SLICE, SLICE / 2, KIND_RUNS);
	fill(data + 2 * SLICE + SLICE / 2, SLICE / 2, KIND_ZEROS);
}

static void slices_cost_next_to_nothing(void **state)
{
	static const int levels[] = { 3, 9, 12 };
	auto_free uint8_t *data = exactly(LARGE);
	struct span in = { data, LARGE };
	char text[32];

	for (int kind = 0; kind <= KIND_COUNT; kind++) {
		if (kind < KIND_RANDOM && is_under_valgrind())
			continue; /* mixed, with others */
		if (kind == KIND_COUNT)
			fill_mixed(data);
		else
			fill(data, LARGE, (enum kind)kind);
		for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
			size_t expected = pack_at_once(in, levels[i]), size;

			snprintf(text, sizeof(text), "lz4hc:level=%d", levels[i]);
			size = pack(text, in);
			if (kind == KIND_RANDOM)
				assert_int_equal(size, 0);
			else
				assert_in_range(size, 1, expected + expected / 500 + 64);
		}
	}
}

/* Ends of slices within the end of a block, which has special rules, and lengths of
 * several bytes. */
static void blocks_may_end_anywhere(void **state)
{
	static const size_t near[] = {
		0, 1, 4, 5, 11, 12, 13, 14, 15, 16, 269, 270, 271
	};
	auto_free uint8_t *data = exactly(LARGE);

	for (int mixed = is_under_valgrind() ? 1 : 0; mixed < 2; mixed++) {
		if (mixed)
			fill_mixed(data);
		else
			fill(data, LARGE, KIND_TEXT);
		for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
			pack("lz4hc:level=3", (struct span){ data, SLICE + near[i] });
			pack("lz4hc:level=3", (struct span){ data, SLICE - near[i] });
			pack("lz4hc:level=3",
			     (struct span){ data + SLICE / 2 - near[i], 2 * SLICE });
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_cost_next_to_nothing),
		cmocka_unit_test(blocks_may_end_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("this library was built without lz4");
	return 77;
}

#endif
