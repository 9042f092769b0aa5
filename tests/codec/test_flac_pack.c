/* SPDX-License-Identifier: MIT */
/*
 * codec/flac: audio of every layout is packed losslessly; other samples are stored.
 */
#include "support/codec_data.h"
#include "support/effort.h"

struct layout {
	unsigned channels, bits, bytes;
	bool big_endian, is_unsigned, low_padded;
};

static struct codec_spec spec_of(const struct layout *layout, int level)
{
	return (struct codec_spec){
		.id = CODEC_FLAC,
		.level = level,
		.samples = { .is_known = true,
			     .big_endian = layout->big_endian,
			     .is_unsigned = layout->is_unsigned,
			     .lsb_padding = layout->low_padded,
			     .bytes_per_sample = (uint8_t)layout->bytes,
			     .bits_per_sample = (uint8_t)layout->bits,
			     .channels = (uint16_t)layout->channels },
	};
}

/* The bytes of a sample in its layout, computed by arithmetic. */
static void store(uint8_t *to, const struct layout *layout, int64_t sample)
{
	uint64_t value;

	if (layout->is_unsigned)
		sample += INT64_C(1) << (layout->bits - 1);
	value = (uint64_t)sample;
	if (layout->low_padded)
		value <<= 8 * layout->bytes - layout->bits;
	for (unsigned i = 0; i < layout->bytes; i++) {
		unsigned byte = layout->big_endian ? layout->bytes - 1 - i : i;

		to[i] = (uint8_t)(value >> (8 * byte));
	}
}

/* A falling tone with some noise, and both extremes occasionally. */
static void make(const struct layout *layout, size_t frames, uint8_t *data)
{
	int64_t top = (INT64_C(1) << (layout->bits - 1)) - 1;
	uint32_t random = 7 + layout->bits;

	for (size_t i = 0; i < frames * layout->channels; i++) {
		int64_t tone = top / 2 - (int64_t)((uint64_t)top * (i % 200) / 200);
		int64_t sample = tone + (int64_t)(next_random(&random) % 16) - 8;

		if (i % 1000 == 0 || sample > top)
			sample = top;
		if (i % 1000 == 500 || sample < -top - 1)
			sample = -top - 1;
		store(data + i * layout->bytes, layout, sample);
	}
}

static uint32_t pack_spec(const struct codec_spec *spec, const uint8_t *data, size_t size,
			  struct buffer *out)
{
	auto_codec struct codec *codec = NULL;
	auto_free uint8_t *back = exactly(size), *in = copy_of(data, size),
			  *packed = NULL;
	uint64_t announced = 0;
	struct span span;
	uint32_t id;

	out->size = 0;
	assert_int_equal(dw_codec_new(spec, size, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, (struct span){ in, size }, out, &id, NULL),
			 0);
	if (id == CODEC_NONE) {
		assert_int_equal(out->size, 0);
		return id;
	}
	assert_int_equal(id, CODEC_FLAC);
	assert_true(out->size < size);
	packed = copy_of(out->data, out->size);
	span = (struct span){ packed, out->size };
	assert_int_equal(dw_codec_unpacked_size(id, span, &announced, NULL), 0);
	assert_int_equal(announced, size);
	assert_int_equal(dw_codec_unpack(id, span, back, size, NULL), 0);
	assert_memory_equal(back, data, size);
	return id;
}

static void check_layout(const struct layout *layout, size_t frames, int level)
{
	size_t size = frames * layout->channels * layout->bytes;
	struct codec_spec spec = spec_of(layout, level);
	auto_buffer struct buffer out = { 0 };
	auto_free uint8_t *data = exactly(size);
	uint32_t id;

	make(layout, frames, data);
	id = pack_spec(&spec, data, size, &out);
	if (frames > 1000 && layout->bits > 8 && layout->bits < 32)
		assert_int_equal(id, CODEC_FLAC);
}

/* Of several FLAC frames; under valgrind for each number of bits, bytes and channels. */
static size_t frames_for(unsigned flags)
{
	return flags && is_under_valgrind() ? 1201 : 5001;
}

static void every_layout_comes_back(void **state)
{
	static const unsigned bits[] = { 8, 12, 16, 20, 24, 32 };
	static const unsigned channels[] = { 1, 2, 3, 6, 8 };

	for (unsigned b = 0; b < 6; b++)
		for (unsigned bytes = (bits[b] + 7) / 8; bytes <= 4; bytes++)
			for (unsigned c = 0; c < 5; c++)
				for (unsigned flags = 0; flags < 8; flags++) {
					struct layout layout = { channels[c], bits[b],
								 bytes,	      flags & 1,
								 flags & 2,   flags & 4 };

					check_layout(&layout, frames_for(flags), 3);
				}
}

static void every_level_comes_back(void **state)
{
	const struct layout layout = { 2, 16, 2, false, false, false };

	for (int level = 0; level <= 8; level++) {
		check_layout(&layout, 9000, level);
		check_layout(&layout, 1, level);
		check_layout(&layout, 17, level);
	}
}

static void exhaustive_is_not_larger(void **state)
{
	const struct layout layout = { 2, 16, 2, false, false, false };
	enum { FRAMES = 20000, SIZE = FRAMES * 4 };
	auto_buffer struct buffer quick = { 0 }, thorough = { 0 };
	auto_free uint8_t *data = exactly(SIZE);
	struct codec_spec spec;

	make(&layout, FRAMES, data);
	assert_int_equal(dw_codec_parse("flac:level=4", &spec, NULL), 0);
	assert_false(spec.exhaustive);
	spec.samples = spec_of(&layout, 4).samples;
	assert_int_equal(pack_spec(&spec, data, SIZE, &quick), CODEC_FLAC);
	assert_int_equal(dw_codec_parse("flac:4:exhaustive", &spec, NULL), 0);
	assert_true(spec.exhaustive);
	spec.samples = spec_of(&layout, 4).samples;
	assert_int_equal(pack_spec(&spec, data, SIZE, &thorough), CODEC_FLAC);
	assert_true(thorough.size <= quick.size);
}

static void the_default_level_is_5(void **state)
{
	struct codec_spec spec;

	assert_int_equal(dw_codec_parse("flac", &spec, NULL), 0);
	assert_int_equal(spec.level, 5);
	assert_int_equal(dw_codec_parse("flac:level=9", &spec, NULL), DWARFS_ERR_RANGE);
}

/* Every bit that a layout declares unused, in turn: it must be preserved. */
static void used_padding_is_stored(void **state)
{
	enum { FRAMES = 3000, SIZE = 4 * FRAMES };
	auto_buffer struct buffer out = { 0 };
	auto_free uint8_t *data = exactly(SIZE);

	for (unsigned flags = 0; flags < 8; flags++) {
		struct layout layout = { 1, 20, 4, flags & 1, flags & 2, flags & 4 };
		struct codec_spec spec = spec_of(&layout, 2);

		for (unsigned bit = 0; bit < 12; bit++) {
			unsigned number = layout.low_padded ? bit : 20 + bit;
			unsigned byte = number / 8;
			size_t at = SIZE - 4 + (layout.big_endian ? 3 - byte : byte);

			make(&layout, FRAMES, data);
			assert_int_equal(pack_spec(&spec, data, SIZE, &out), CODEC_FLAC);
			data[at] ^= (uint8_t)(1u << number % 8);
			assert_int_equal(pack_spec(&spec, data, SIZE, &out), CODEC_NONE);
		}
	}
}

static void noise_is_stored(void **state)
{
	const struct layout layout = { 2, 16, 2, false, false, false };
	struct codec_spec spec = spec_of(&layout, 5);
	enum { SIZE = 400000 };
	auto_buffer struct buffer out = { 0 };
	auto_free uint8_t *data = exactly(SIZE);

	fill(data, SIZE, KIND_RANDOM);
	assert_int_equal(pack_spec(&spec, data, SIZE, &out), CODEC_NONE);
	assert_int_equal(pack_spec(&spec, data, 4, &out), CODEC_NONE);
	memset(data, 0, SIZE);
	assert_int_equal(pack_spec(&spec, data, SIZE, &out), CODEC_FLAC);
}

static void layouts_that_cannot_be_are_refused(void **state)
{
	static const struct layout bad[] = {
		{ 0, 16, 2, false, false, false }, { 9, 16, 2, false, false, false },
		{ 1, 7, 1, false, false, false },  { 1, 17, 2, false, false, false },
		{ 1, 33, 4, false, false, false }, { 1, 16, 0, false, false, false },
		{ 1, 32, 5, false, false, false },
	};
	const struct layout good = { 1, 16, 2, false, false, false };
	struct codec_spec spec;
	struct codec *codec = NULL;
	dwarfs_error *err = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		spec = spec_of(&bad[i], 5);
		assert_int_equal(dw_codec_new(&spec, 1000, &codec, NULL),
				 DWARFS_ERR_INVALID);
		assert_null(codec);
	}
	spec = spec_of(&good, 5);
	spec.samples.is_known = false;
	assert_int_equal(dw_codec_new(&spec, 1000, &codec, &err), DWARFS_ERR_INVALID);
	assert_non_null(strstr(dwarfs_error_message(err), "flac"));
	assert_non_null(strstr(dwarfs_error_message(err), "not known"));
	dwarfs_error_free(err);
	assert_null(codec);
}

static void parts_of_samples_are_refused(void **state)
{
	const struct layout layout = { 3, 20, 3, false, false, false };
	struct codec_spec spec = spec_of(&layout, 5);
	auto_codec struct codec *codec = NULL;
	auto_buffer struct buffer out = { 0 };
	uint8_t data[900] = { 0 };
	uint32_t id;

	assert_int_equal(dw_codec_new(&spec, 900, &codec, NULL), 0);
	assert_int_equal(
		dw_codec_pack(codec, (struct span){ data, 899 }, &out, &id, NULL),
		DWARFS_ERR_INVALID);
	assert_int_equal(
		dw_codec_pack(codec, (struct span){ data, 900 }, &out, &id, NULL), 0);
	assert_int_equal(id, CODEC_FLAC);
}

/* The switch cancels it, and the next block is not affected. */
static void a_switch_ends_packing(void **state)
{
	const struct layout layout = { 2, 16, 2, false, false, false };
	struct codec_spec spec = spec_of(&layout, 5);
	enum { FRAMES = 20000, SIZE = FRAMES * 4 };
	auto_codec struct codec *codec = NULL;
	auto_buffer struct buffer out = { 0 };
	auto_free uint8_t *data = exactly(SIZE);
	atomic_bool stop = true;
	uint32_t id;

	make(&layout, FRAMES, data);
	assert_int_equal(dw_codec_new(&spec, SIZE, &codec, NULL), 0);
	dw_codec_set_stop(codec, &stop);
	assert_int_equal(
		dw_codec_pack(codec, (struct span){ data, SIZE }, &out, &id, NULL),
		DWARFS_ERR_CANCELLED);
	assert_int_equal(out.size, 0);
	atomic_store(&stop, false);
	assert_int_equal(
		dw_codec_pack(codec, (struct span){ data, SIZE }, &out, &id, NULL), 0);
	assert_int_equal(id, CODEC_FLAC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_comes_back),
		cmocka_unit_test(every_level_comes_back),
		cmocka_unit_test(exhaustive_is_not_larger),
		cmocka_unit_test(the_default_level_is_5),
		cmocka_unit_test(used_padding_is_stored),
		cmocka_unit_test(noise_is_stored),
		cmocka_unit_test(layouts_that_cannot_be_are_refused),
		cmocka_unit_test(parts_of_samples_are_refused),
		cmocka_unit_test(a_switch_ends_packing),
	};

	/* Built without FLAC, or without the JSON library that it needs. */
	if (!dw_codec_can_pack(CODEC_FLAC))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
