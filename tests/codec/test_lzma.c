/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma: the filter for machine code is used where it reduces the size, on
 * small blocks and on large ones, of which a sample is compressed.
 */
#include "support/codec_data.h"

#include <lzma.h>
#include <stdio.h>

#include "base/bytes.h"

/* Of more than 2 MiB the library takes a sample; of more than 1 MiB, two parts of it tell which
 * options suit the data. */
enum { SMALL = 200000, LARGE = 17 << 17, ADAPTED = 17 << 14, ADAPTED_LARGE = 17 << 16 };

/* Zeros instead of three quarters of the data: samples and windows still have enough of the rest, and
 * zeros are packed in a fraction of the time. */
static void make_sparse(uint8_t *data, size_t size)
{
	enum { STEP = 16384, KEPT = STEP / 4 };

	for (size_t at = KEPT; at < size; at += STEP) {
		size_t length = STEP - KEPT;

		memset(data + at, 0, length < size - at ? length : size - at);
	}
}

/* x86 calls of a few functions from many addresses, and other bytes in between. */
static void fill_with_code(uint8_t *data, size_t size)
{
	uint32_t random = 77;

	fill(data, size, KIND_RANDOM);
	for (size_t at = 0; at + 64 <= size;) {
		uint32_t number = next_random(&random);
		uint32_t target = 4096 * (number % 40);

		memcpy(data + at, "\x55\x48\x89\xe5\x48\x83\xec\x10", 8);
		data[at + 8] = (uint8_t)(number >> 24);
		data[at + 9] = 0xE8;
		dw_store32(data + at + 10, target - (uint32_t)(at + 14));
		at += 14;
	}
}

static size_t pack_records(const char *text, const struct record_ranges *records,
			   struct span in, struct buffer *out)
{
	auto_codec struct codec *codec = NULL;
	auto_free uint8_t *back = exactly(in.size);
	struct codec_spec spec;
	uint32_t id;

	out->size = 0;
	assert_int_equal(dw_codec_parse(text, &spec, NULL), 0);
	assert_int_equal(dw_codec_new(&spec, in.size, &codec, NULL), 0);
	dw_codec_set_records(codec, records);
	assert_int_equal(dw_codec_pack(codec, in, out, &id, NULL), 0);
	assert_int_equal(id, CODEC_LZMA);
	assert_int_equal(dw_codec_unpack(id, dw_buffer_span(out), back, in.size, NULL),
			 0);
	assert_memory_equal(back, in.data, in.size);
	return out->size;
}

static size_t pack(const char *text, struct span in, struct buffer *out)
{
	return pack_records(text, NULL, in, out);
}

static size_t append_stream(uint8_t *out, size_t at, size_t room, lzma_filter *filters,
			    lzma_check check, struct span in)
{
	assert_int_equal(lzma_stream_buffer_encode(filters, check, NULL, in.data, in.size,
						   out, &at, room),
			 LZMA_OK);
	return at;
}

/*
 * A step that ends within the last match of a stream completes the stream. Further
 * streams, for which the buffer has no space, must be refused by both decoders.
 */
static void nothing_follows_what_is_full(void **state)
{
	static const lzma_check checks[] = { LZMA_CHECK_NONE, LZMA_CHECK_CRC64,
					     LZMA_CHECK_SHA256 };
	auto_free uint8_t *data = exactly(SMALL), *packed = exactly(SMALL);
	lzma_options_delta delta = { .type = LZMA_DELTA_TYPE_BYTE, .dist = 1 };
	lzma_options_lzma lzma;
	lzma_filter plain[] = { { LZMA_FILTER_LZMA2, &lzma },
				{ LZMA_VLI_UNKNOWN, NULL } };
	lzma_filter filtered[] = { { LZMA_FILTER_DELTA, &delta },
				   { LZMA_FILTER_LZMA2, &lzma },
				   { LZMA_VLI_UNKNOWN, NULL } };

	(void)state;
	assert_false(lzma_lzma_preset(&lzma, 0));
	fill(data, SMALL, KIND_ZEROS);
	for (int i = 0; i < 6; i++) {
		auto_decoder struct decoder *decoder = NULL;
		auto_free uint8_t *out = exactly(1000);
		size_t size = append_stream(packed, 0, SMALL, plain, LZMA_CHECK_NONE,
					    (struct span){ data, 1000 });

		size = append_stream(packed, size, SMALL, i % 2 ? filtered : plain,
				     checks[i / 2], (struct span){ data, SMALL });
		assert_int_equal(dw_decoder_new(CODEC_LZMA, (struct span){ packed, size },
						out, 1000, &decoder, NULL),
				 0);
		assert_true(dw_decoder_run(decoder, 990, NULL) < 0 ||
			    dw_decoder_run(decoder, 1000, NULL) < 0);
		assert_true(dw_decoder_done(decoder) <= 1000);
	}
}

/* The memory of the decoder besides the output, in bytes. */
static uint64_t window_of(const struct buffer *packed, size_t size)
{
	auto_decoder struct decoder *decoder = NULL;
	auto_free uint8_t *out = exactly(size);
	uint64_t before;

	assert_int_equal(dw_decoder_new(CODEC_LZMA, dw_buffer_span(packed), out, size,
					&decoder, NULL),
			 0);
	before = dw_decoder_memory(decoder, 0);
	assert_int_equal(dw_decoder_run(decoder, size, NULL), 0);
	return dw_decoder_memory(decoder, size) - before;
}

/* With a filter the dictionary and the output differ. */
static void only_a_filter_needs_a_window(void **state)
{
	auto_free uint8_t *data = exactly(SMALL);
	auto_buffer struct buffer out = { 0 };
	struct span in = { data, SMALL };

	(void)state;
	fill_with_code(data, SMALL);
	pack("lzma:1", in, &out);
	assert_int_equal(window_of(&out, SMALL), 0);
	pack("lzma:9:binary=x86", in, &out);
	assert_int_equal(window_of(&out, SMALL), SMALL);
}

static void code_is_filtered(void **state)
{
	static const size_t sizes[] = { SMALL, LARGE };
	auto_free uint8_t *data = exactly(LARGE);
	auto_buffer struct buffer out = { 0 };

	fill_with_code(data, LARGE);
	make_sparse(data, LARGE);
	for (int i = 0; i < 2; i++) {
		struct span in = { data, sizes[i] };
		size_t plain = pack("lzma:1", in, &out);

		assert_true(pack("lzma:1:binary=x86", in, &out) < plain / 10 * 9);
		/* Another machine: the calls are not changed. */
		assert_int_equal(pack("lzma:1:binary=sparc", in, &out), plain);
	}
}

/* Code that occurs again elsewhere, as in two builds of a library: its relative addresses
 * are equal, and the filter would make them different. Only a slow codec finds that out,
 * for the sample is smaller with the filter. */
static void repeated_code_is_not_filtered(void **state)
{
#define SLOW_MODE "lzma:1:dict_size=22:mode=normal:nice=32"
	auto_free uint8_t *data = exactly(LARGE);
	auto_buffer struct buffer plain = { 0 }, tried = { 0 };
	struct span in = { data, LARGE };

	(void)state;
	fill_with_code(data, LARGE / 2);
	memcpy(data + LARGE / 2, data, LARGE / 2);
	pack(SLOW_MODE, in, &plain);
	pack(SLOW_MODE ":binary=x86", in, &tried);
	assert_int_equal(plain.size, tried.size);
	assert_memory_equal(plain.data, tried.data, plain.size);
	assert_true(pack("lzma:1:dict_size=22:binary=x86", in, &tried) > plain.size);
	fill_with_code(data, LARGE);
	make_sparse(data, LARGE);
	pack(SLOW_MODE, in, &plain);
	assert_true(pack(SLOW_MODE ":binary=x86", in, &tried) < plain.size / 10 * 9);
}

/* Where it does not reduce the size it is omitted, so the result is the same. */
static void text_is_not_filtered(void **state)
{
	static const size_t sizes[] = { SMALL, LARGE };
	auto_free uint8_t *data = exactly(LARGE);
	auto_buffer struct buffer plain = { 0 }, tried = { 0 };

	fill(data, LARGE, KIND_TEXT);
	for (int i = 0; i < 2; i++) {
		struct span in = { data, sizes[i] };

		pack("lzma:1", in, &plain);
		pack("lzma:1:binary=x86", in, &tried);
		assert_int_equal(plain.size, tried.size);
		assert_memory_equal(plain.data, tried.data, plain.size);
	}
}

static void every_machine_has_a_filter(void **state)
{
	static const char *const names[] = { "x86", "powerpc",	"ia64",
					     "arm", "armthumb", "sparc" };
	auto_free uint8_t *data = exactly(LARGE);
	auto_buffer struct buffer out = { 0 };
	char text[64];

	fill(data, LARGE, KIND_ZEROS); /* fast, but code enough for the sample */
	fill_with_code(data, LARGE / 4);
	make_sparse(data, LARGE / 4);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), "lzma:0:binary=%s", names[i]);
		pack(text, (struct span){ data, SMALL }, &out);
		pack(text, (struct span){ data, LARGE }, &out);
	}
}

/* The encoding of a call from one address to another. */
static void put_call(uint8_t *data, uint32_t at, uint32_t to, const char *machine)
{
	uint32_t distance = to - at, word = 0;
	uint64_t bundle;

	if (strcmp(machine, "arm") == 0) {
		dw_store32(data + at, 0xeb000000 | ((distance - 8) >> 2 & 0xffffff));
	} else if (strcmp(machine, "armthumb") == 0) {
		distance -= 4;
		word = 0xf000 | (distance >> 12 & 0x7ff);
		dw_store32(data + at, word | (0xf800 | (distance >> 1 & 0x7ff)) << 16);
	} else if (strcmp(machine, "powerpc") == 0) {
		word = 0x48000001 | (distance & 0x03fffffc);
		dw_store32(data + at, __builtin_bswap32(word));
	} else if (strcmp(machine, "sparc") == 0) {
		word = 0x40000000 | (distance >> 2 & 0x3fffffff);
		dw_store32(data + at, __builtin_bswap32(word));
	} else { /* ia64: the last of three in 16 bytes */
		bundle = UINT64_C(5) << 37 | (uint64_t)(distance >> 4 & 0xfffff) << 13 |
			 (uint64_t)(distance >> 24 & 1) << 36;
		data[at] = 0x10;
		dw_store64(data + at + 8, bundle << 23);
	}
}

/* It is used where it reduces the size, so decompression applies it. */
static void every_filter_helps_its_machine(void **state)
{
	static const char *const machines[] = { "arm", "armthumb", "powerpc", "sparc",
						"ia64" };
	auto_free uint8_t *data = exactly(SMALL);
	auto_buffer struct buffer out = { 0 };
	struct span in = { data, SMALL };
	char text[64];

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		fill(data, SMALL, KIND_TEXT);
		for (uint32_t at = 0; at + 16 <= SMALL; at += 32)
			put_call(data, at, at / 1024 % 7 * 4096, machines[i]);
		snprintf(text, sizeof(text), "lzma:1:binary=%s", machines[i]);
		assert_true(pack(text, in, &out) < pack("lzma:1", in, &out));
	}
}

/* Returns the size. */
static size_t expect_same(const char *codec, const char *other, struct span in)
{
	auto_buffer struct buffer a = { 0 }, b = { 0 };

	pack(codec, in, &a);
	pack(other, in, &b);
	assert_int_equal(a.size, b.size);
	assert_memory_equal(a.data, b.data, a.size);
	return a.size;
}

static void auto_finds_the_machine(void **state)
{
	static const size_t sizes[] = { SMALL, LARGE };
	auto_free uint8_t *code = exactly(LARGE), *text = exactly(LARGE);
	auto_free uint8_t *arm = exactly(LARGE);
	auto_buffer struct buffer out = { 0 };

	fill_with_code(code, LARGE);
	fill(text, LARGE, KIND_TEXT);
	/* ARM calls to the same few addresses, between other words. */
	fill(arm, LARGE, KIND_TEXT);
	for (uint32_t at = 0; at + 4 <= LARGE; at += 16) {
		uint32_t to = at / 4096 % 7 * 1024, words = (to - at - 8) / 4;

		dw_store32(arm + at, 0xeb000000 | (words & 0xffffff));
	}
	make_sparse(code, LARGE);
	make_sparse(arm, LARGE);
	for (int i = 0; i < 2; i++) {
		struct span in = { arm, sizes[i] };

		expect_same("lzma:0:binary=auto", "lzma:0:binary=x86",
			    (struct span){ code, sizes[i] });
		expect_same("lzma:0:binary=auto", "lzma:0",
			    (struct span){ text, sizes[i] });
		assert_true(expect_same("lzma:0:binary=auto", "lzma:0:binary=arm", in) <
			    pack("lzma:0", in, &out));
	}
}

/* In the byte order of the other numbers, so that the data are the same on each machine. */
static void store_double(uint8_t *to, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	dw_store64(to, bits);
}

static void store_float(uint8_t *to, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	dw_store32(to, bits);
}

/* Records of 32 bytes: a time, two small numbers, and two doubles with noise. */
static void fill_with_records(uint8_t *data, size_t size)
{
	uint32_t random = 5;

	for (size_t at = 0; at + 32 <= size; at += 32) {
		uint64_t number = at / 32;
		double value = 0.001 * (double)number;
		double noise = 20 + (double)(next_random(&random) >> 8) / (1 << 22);

		dw_store64(data + at,
			   1600000000000 + number * 1000 + next_random(&random) % 50);
		dw_store32(data + at + 8, (uint32_t)(number % 37));
		dw_store32(data + at + 12, next_random(&random) % 1000);
		store_double(data + at + 16, value);
		store_double(data + at + 24, noise);
	}
}

/* Lines with a counter, whose long matches are not the best ones. */
static void fill_with_lines(uint8_t *data, size_t size)
{
	static const char *const words[] = { "red", "green", "blue" };
	char line[64];

	for (size_t at = 0, number = 0; at < size; number++) {
		size_t length =
			(size_t)snprintf(line, sizeof(line), "%08zu,%zu,%s,OK\n", number,
					 number * 7 % 1000, words[number % 3]);

		if (length > size - at)
			length = size - at;
		memcpy(data + at, line, length);
		at += length;
	}
}

/* With zeros, the data become so small that options are compared on the whole block, too. */
static void options_adapt_to_records(void **state)
{
	static const size_t sizes[] = { ADAPTED, ADAPTED_LARGE };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		auto_free uint8_t *data = dw_calloc(1, sizes[i]);
		struct buffer usual = { 0 }, adapted = { 0 };
		const struct span in = { data, sizes[i] };

		assert_non_null(data);
		fill_with_records(data, sizes[i]);
		if (i > 0)
			make_sparse(data, sizes[i]);
		assert_true(pack("lzma:level=6:mf=hc4:adapt", in, &adapted) <
			    pack("lzma:level=6:mf=hc4", in, &usual) * 95 / 100);
		dw_buffer_free(&usual);
		dw_buffer_free(&adapted);
	}
}

static void matches_adapt_to_lines(void **state)
{
	static const size_t sizes[] = { 1 << 19, (1 << 20) + 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		auto_free uint8_t *data = exactly(sizes[i]);
		struct buffer usual = { 0 }, adapted = { 0 };
		const struct span in = { data, sizes[i] };

		fill_with_lines(data, sizes[i]);
		make_sparse(data, sizes[i]);
		assert_true(pack("lzma:level=6:nice=273:depth=8:adapt", in, &adapted) <
			    pack("lzma:level=6:nice=273:depth=8", in, &usual) * 9 / 10);
		dw_buffer_free(&usual);
		dw_buffer_free(&adapted);
	}
}

/* Pixels of 3 bytes that differ little from the one before. */
static void fill_with_pixels(uint8_t *data, size_t size)
{
	uint32_t random = 11;

	for (size_t i = 0; i < size; i++) {
		int change = (int)(next_random(&random) >> 8) % 3 - 1;

		data[i] = (uint8_t)((i < 3 ? 80 * i : data[i - 3]) + (size_t)change);
	}
}

/* Of the first Block's filters: the distance of delta, 0 if that is not the first. */
static uint32_t distance_of(const struct buffer *packed)
{
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	const uint8_t *header = packed->data + LZMA_STREAM_HEADER_SIZE;
	lzma_block block = { .filters = filters,
			     .header_size = lzma_block_header_size_decode(*header) };
	uint32_t distance = 0;

	assert_int_equal(lzma_block_header_decode(&block, NULL, header), LZMA_OK);
	if (filters[0].id == LZMA_FILTER_DELTA)
		distance = ((lzma_options_delta *)filters[0].options)->dist;
	for (int i = 0; filters[i].id != LZMA_VLI_UNKNOWN; i++)
		free(filters[i].options);
	return distance;
}

static void pixels_are_packed_as_differences(void **state)
{
	static const struct {
		const char *spec;
		size_t size;
	} each[] = { { "lzma:level=1:adapt", ADAPTED_LARGE },
		     { "lzma:level=6:nice=32:adapt", ADAPTED },
		     { "lzma:level=1:adapt:binary=auto", ADAPTED },
		     { "lzma:level=1:adapt:block_size=17", ADAPTED } };
	size_t usual = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		auto_free uint8_t *data = exactly(each[i].size);
		auto_buffer struct buffer out = { 0 };
		const struct span in = { data, each[i].size };

		fill_with_pixels(data, each[i].size);
		make_sparse(data, each[i].size);
		if (i == 0 || each[i].size != each[i - 1].size) {
			usual = pack("lzma:level=1", in, &out);
			assert_int_equal(distance_of(&out), 0);
		}
		assert_true(pack(each[i].spec, in, &out) < usual * 7 / 10);
		assert_int_equal(distance_of(&out), 3);
	}
}

static size_t block_count(const struct buffer *packed)
{
	lzma_stream_flags footer;
	const uint8_t *end = packed->data + packed->size - LZMA_STREAM_HEADER_SIZE;
	lzma_index *index = NULL;
	uint64_t limit = UINT64_MAX;
	size_t at = 0, count;

	assert_int_equal(lzma_stream_footer_decode(&footer, end), LZMA_OK);
	assert_int_equal(lzma_index_buffer_decode(&index, &limit, NULL,
						  end - footer.backward_size, &at,
						  (size_t)footer.backward_size),
			 LZMA_OK);
	count = (size_t)lzma_index_block_count(index);
	lzma_index_end(index, NULL);
	return count;
}

/* liblzma's own decoder gives the same. */
static void assert_decodes(const struct buffer *packed, struct span in)
{
	auto_free uint8_t *back = exactly(in.size);
	uint64_t limit = UINT64_MAX;
	size_t from = 0, to = 0;

	assert_int_equal(lzma_stream_buffer_decode(&limit, 0, NULL, packed->data, &from,
						   packed->size, back, &to, in.size),
			 LZMA_OK);
	assert_int_equal(to, in.size);
	assert_memory_equal(back, in.data, in.size);
}

/* In a block of text, pixels, records, and pixels again, the pixels are packed as differences, and
 * the records with contexts of their own. */
static void ranges_of_a_block_are_adapted_to(void **state)
{
	enum { RANGE = (5 << 18) + 4096, COUNT = 4 };
	void (*const fills[COUNT])(uint8_t *, size_t) = {
		fill_with_lines,
		fill_with_pixels,
		fill_with_records,
		fill_with_pixels,
	};
	auto_free uint8_t *data = dw_calloc(COUNT, RANGE);
	auto_buffer struct buffer out = { 0 };
	const struct span in = { data, COUNT * RANGE };
	size_t separate = 0, size;

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < COUNT; i++) {
		const struct span part = { data + i * RANGE, RANGE };

		fills[i](data + i * RANGE, RANGE);
		make_sparse(data + i * RANGE, RANGE);
		separate += pack("lzma:level=1:adapt", part, &out);
	}
	size = pack("lzma:level=1:adapt", in, &out);
	assert_true(size < separate + separate / 7);
	assert_int_equal(block_count(&out), COUNT);
	assert_decodes(&out, in);
	size = pack("lzma:level=1:adapt:binary=auto:block_size=20", in, &out);
	assert_true(size < separate + separate / 7);
	assert_true(block_count(&out) > in.size >> 20);
	assert_decodes(&out, in);
}

/* Ranges after the first ones are like these. */
static void many_ranges_are_adapted_to(void **state)
{
	enum { RANGE = 1 << 20, COUNT = 18 };
	auto_free uint8_t *data = dw_calloc(COUNT, RANGE);
	auto_buffer struct buffer out = { 0 };
	const struct span in = { data, COUNT * RANGE };
	size_t pair = 0;

	(void)state;
	assert_non_null(data);
	fill_with_pixels(data, RANGE);
	fill_with_records(data + RANGE, RANGE);
	make_sparse(data, 2 * RANGE);
	for (size_t i = 0; i < 2; i++)
		pair += pack("lzma:level=0:adapt",
			     (struct span){ data + i * RANGE, RANGE }, &out);
	/* Other values, as equal ones would be found without a division. */
	for (size_t i = 2 * RANGE; i < in.size; i++)
		data[i] = (uint8_t)(data[i - 2 * RANGE] + 1);
	assert_true(pack("lzma:level=0:adapt", in, &out) < COUNT / 2 * (pair + pair / 8));
	assert_int_equal(block_count(&out), COUNT);
	assert_decodes(&out, in);
}

/* Floats between 0 and 4: the highest byte depends on its position alone. */
static void fill_with_floats(uint8_t *data, size_t size)
{
	uint32_t random = 3;

	for (size_t at = 0; at + 4 <= size; at += 4) {
		float sum = 0;

		for (int i = 0; i < 4; i++)
			sum += (float)(next_random(&random) >> 8) / (float)(1 << 24);
		store_float(data + at, sum);
	}
}

/* With a filter for machine code a Block has contexts, too. */
static void contexts_go_with_a_filter(void **state)
{
	enum { RANGE = 1 << 20, FLOATS = 3 * RANGE };
	auto_free uint8_t *data = dw_calloc(1, 2 * RANGE + FLOATS);
	auto_buffer struct buffer out = { 0 };
	const struct span in = { data, 2 * RANGE + FLOATS };
	size_t usual;

	(void)state;
	assert_non_null(data);
	fill_with_code(data, RANGE);
	fill_with_lines(data + RANGE, RANGE);
	fill_with_floats(data + 2 * RANGE, FLOATS);
	make_sparse(data, in.size);
	usual = pack("lzma:level=1:binary=x86", in, &out);
	assert_true(pack("lzma:level=1", in, &out) > usual);
	assert_true(pack("lzma:level=1:binary=x86:adapt", in, &out) < usual - usual / 50);
}

/* A Block does not find what is in another one. */
static void repeats_are_not_divided(void **state)
{
	enum { RANGE = (5 << 18) + 4096, COUNT = 4 };
	auto_free uint8_t *data = dw_calloc(COUNT, RANGE);
	auto_buffer struct buffer out = { 0 };

	(void)state;
	assert_non_null(data);
	fill_with_pixels(data, RANGE);
	fill_with_records(data + RANGE, RANGE);
	make_sparse(data, 2 * RANGE);
	memcpy(data + 2 * RANGE, data, 2 * RANGE);
	pack("lzma:level=1:dict_size=22:adapt", (struct span){ data, 2 * RANGE }, &out);
	assert_int_equal(block_count(&out), 2);
	pack("lzma:level=1:dict_size=22:adapt", (struct span){ data, COUNT * RANGE },
	     &out);
	assert_int_equal(block_count(&out), 1);
}

/* What was chosen for one block has no effect on the next. */
static void each_block_is_adapted_to(void **state)
{
	auto_codec struct codec *codec = NULL;
	auto_free uint8_t *records = dw_calloc(1, ADAPTED),
			  *lines = dw_calloc(1, ADAPTED), *pixels = exactly(ADAPTED);
	struct buffer first = { 0 }, again = { 0 };
	struct codec_spec spec;
	uint32_t id;

	(void)state;
	assert_true(records && lines);
	fill_with_records(records, ADAPTED);
	fill_with_lines(lines, ADAPTED);
	fill_with_pixels(pixels, ADAPTED);
	make_sparse(records, ADAPTED);
	make_sparse(lines, ADAPTED);
	make_sparse(pixels, ADAPTED);
	assert_int_equal(dw_codec_parse("lzma:level=6:nice=273:adapt", &spec, NULL), 0);
	assert_int_equal(dw_codec_new(&spec, ADAPTED, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, (struct span){ records, ADAPTED }, &first,
				       &id, NULL),
			 0);
	assert_int_equal(
		dw_codec_pack(codec, (struct span){ lines, ADAPTED }, &again, &id, NULL),
		0);
	again.size = 0;
	assert_int_equal(
		dw_codec_pack(codec, (struct span){ pixels, ADAPTED }, &again, &id, NULL),
		0);
	again.size = 0;
	assert_int_equal(dw_codec_pack(codec, (struct span){ records, ADAPTED }, &again,
				       &id, NULL),
			 0);
	assert_int_equal(first.size, again.size);
	assert_memory_equal(first.data, again.data, first.size);
	dw_buffer_free(&first);
	dw_buffer_free(&again);
}

/* A table of pairs of ascending numbers, and one of numbers that differ from the one two records
 * before by little. */
static void fill_with_tables(uint8_t *data, size_t pairs, size_t numbers)
{
	uint32_t random = 3, first = 0, second = 0;

	for (size_t i = 0; i < pairs; i++) {
		first += next_random(&random) % 3;
		second += next_random(&random) % 4;
		dw_store32(data + 8 * i, first);
		dw_store32(data + 8 * i + 4, second);
	}
	for (size_t i = 0; i < numbers; i++) {
		uint16_t number =
			(uint16_t)(i % 2 * 30000 + i + next_random(&random) % 5);

		dw_store16(data + 8 * pairs + 2 * i, number);
	}
}

/* Tables are packed as differences of records, the text between and after them is not; ranges of a
 * few bytes are packed with what follows, the last one with what is before it. */
static void tables_are_packed_as_differences(void **state)
{
	enum {
		PAIRS = 4000,
		NUMBERS = 5000,
		TEXT = 3000,
		TABLES = 8 * PAIRS + 2 * NUMBERS,
		SIZE = TABLES + TEXT + 20
	};
	static const struct record_ranges records = {
		.list = { { 100, 1 },
			  { 8 * PAIRS, 8 },
			  { TABLES, 2 },
			  { TABLES + TEXT, 1 },
			  { SIZE, 4 } },
		.count = 5,
	};
	auto_free uint8_t *data = dw_calloc(1, SIZE);
	auto_buffer struct buffer out = { 0 };
	const struct span in = { data, SIZE };
	size_t plain;

	(void)state;
	assert_non_null(data);
	fill_with_tables(data, PAIRS, NUMBERS);
	fill_with_lines(data + TABLES, TEXT);
	plain = pack("lzma:level=6", in, &out);
	assert_true(pack_records("lzma:level=6:adapt", &records, in, &out) <
		    plain - plain / 4);
	assert_int_equal(distance_of(&out), 8);
	assert_int_equal(block_count(&out), 3);
	assert_decodes(&out, in);
	assert_int_equal(pack_records("lzma:level=6", &records, in, &out), plain);
	assert_int_equal(pack_records("lzma:level=6:adapt", NULL, in, &out), plain);
}

/* Random bytes are not smaller in any way: nothing is divided. */
static void random_records_are_not_divided(void **state)
{
	enum { HALF = 20000, SIZE = 2 * HALF };
	static const struct record_ranges records = {
		.list = { { HALF, 4 }, { SIZE, 300 } },
		.count = 2,
	};
	auto_free uint8_t *data = exactly(SIZE);
	auto_buffer struct buffer out = { 0 };
	uint32_t random = 7;

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (uint8_t)(next_random(&random) >> 16 & 0x7f);
	assert_true(pack_records("lzma:level=6:adapt", &records,
				 (struct span){ data, SIZE }, &out) > 0);
	assert_int_equal(block_count(&out), 1);
	assert_int_equal(distance_of(&out), 0);
	assert_decodes(&out, (struct span){ data, SIZE });
}

static void adapting_is_left_out_for_lack_of_memory(void **state)
{
	struct codec_spec spec;
	uint64_t before;

	(void)state;
	assert_int_equal(dw_codec_parse("lzma:level=9:adapt:dict_size=23", &spec, NULL),
			 0);
	before = dw_codec_memory(&spec, 1 << 24);
	assert_true(dw_codec_shrink(&spec, 1 << 24));
	assert_true(spec.adapts);
	assert_true(dw_codec_shrink(&spec, 1 << 24));
	assert_false(spec.adapts);
	assert_true(dw_codec_memory(&spec, 1 << 24) < before / 2);
	assert_int_equal(dw_codec_parse("lzma:level=9:adapt", &spec, NULL), 0);
	before = dw_codec_memory(&spec, 65536);
	spec.adapts = false;
	assert_int_equal(dw_codec_memory(&spec, 65536), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_adapt_to_records),
		cmocka_unit_test(matches_adapt_to_lines),
		cmocka_unit_test(pixels_are_packed_as_differences),
		cmocka_unit_test(ranges_of_a_block_are_adapted_to),
		cmocka_unit_test(many_ranges_are_adapted_to),
		cmocka_unit_test(repeats_are_not_divided),
		cmocka_unit_test(contexts_go_with_a_filter),
		cmocka_unit_test(each_block_is_adapted_to),
		cmocka_unit_test(tables_are_packed_as_differences),
		cmocka_unit_test(random_records_are_not_divided),
		cmocka_unit_test(adapting_is_left_out_for_lack_of_memory),
		cmocka_unit_test(auto_finds_the_machine),
		cmocka_unit_test(code_is_filtered),
		cmocka_unit_test(only_a_filter_needs_a_window),
		cmocka_unit_test(nothing_follows_what_is_full),
		cmocka_unit_test(repeated_code_is_not_filtered),
		cmocka_unit_test(text_is_not_filtered),
		cmocka_unit_test(every_machine_has_a_filter),
		cmocka_unit_test(every_filter_helps_its_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
