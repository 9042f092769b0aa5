/* SPDX-License-Identifier: MIT */
/*
 * write/pack/block_packer: the codecs of blocks of audio and of literals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dwarfs/allocator.h>

#include "base/bytes.h"
#include "support/borders.h"
#include "support/effort.h"
#include "support/write_run.h"
#include "write/options/levels.h"
#include "write/order/auto/trial.h"
#include "write/pack/block_packer.h"
#include "write/pack/block_sample.h"

enum { BLOCK = 1 << 18, FRAMES = BLOCK / 2, HEADER = 44 };

/* A slow wave with noise, similar to audio. */
static void fill_with_noise(uint8_t *out)
{
	uint32_t random = 1;

	for (int i = 0; i < FRAMES; i++) {
		int wave = i % 2000 < 1000 ? i % 1000 : 1000 - i % 1000;

		random = random * 1664525 + 1013904223;
		dw_store16(out + 2 * i, (uint16_t)(wave * 20 + (int)(random >> 25)));
	}
}

/* A square wave. */
static void fill_with_squares(uint8_t *out)
{
	for (int i = 0; i < FRAMES; i++)
		dw_store16(out + 2 * i, i % 200 < 100 ? 6000 : (uint16_t)-6000);
}

static struct packing packing_with(const char *fallback)
{
	struct packing packing = { .has_fallback = fallback != NULL };

	assert_int_equal(dw_codec_parse("flac:level=5", &packing.codec, NULL), 0);
	packing.codec.samples = (struct codec_samples){ .is_known = true,
							.lsb_padding = true,
							.bytes_per_sample = 2,
							.bits_per_sample = 16,
							.channels = 1 };
	if (fallback)
		assert_int_equal(dw_codec_parse(fallback, &packing.fallback, NULL), 0);
	return packing;
}

/* Also checks that it decompresses to the same bytes. */
static uint32_t pack(struct block_packer *packer, struct span in, struct buffer *out)
{
	auto_free uint8_t *back = dw_malloc(in.size);
	uint32_t id = 0;

	assert_non_null(back);
	out->size = 0;
	assert_int_equal(dw_block_packer_pack(packer, in, out, &id, NULL), 0);
	if (id == CODEC_NONE)
		return id;
	assert_true(out->size < in.size);
	assert_int_equal(dw_codec_unpack(id, dw_buffer_span(out), back, in.size, NULL),
			 0);
	assert_memory_equal(back, in.data, in.size);
	return id;
}

static void the_smaller_one_is_taken(void **state)
{
	auto_free uint8_t *noise = dw_malloc(BLOCK), *squares = dw_malloc(BLOCK);
	const char *fallback = dw_codec_can_pack(CODEC_ZSTD) ? "zstd:level=9" : "lz4hc";
	struct packing packing = packing_with(fallback), alone = packing_with(NULL);
	auto_packer struct block_packer *packer = NULL;
	auto_packer struct block_packer *flac = NULL;
	auto_buffer struct buffer first = { 0 }, out = { 0 };

	assert_int_equal(dw_block_packer_new(&packing, BLOCK, NULL, &packer, NULL), 0);
	assert_int_equal(dw_block_packer_new(&alone, BLOCK, NULL, &flac, NULL), 0);
	fill_with_noise(noise);
	fill_with_squares(squares);

	assert_int_equal(pack(packer, (struct span){ squares, BLOCK }, &first),
			 packing.fallback.id == CODEC_ZSTD ? CODEC_ZSTD : CODEC_LZ4);
	assert_int_equal(pack(flac, (struct span){ squares, BLOCK }, &out), CODEC_FLAC);
	assert_true(first.size < out.size / 4);
	assert_int_equal(pack(packer, (struct span){ noise, BLOCK }, &out), CODEC_FLAC);
	/* The blocks in between have no effect. */
	pack(packer, (struct span){ squares, BLOCK }, &out);
	assert_int_equal(out.size, first.size);
	assert_memory_equal(out.data, first.data, out.size);
}

/* Samples that use bits declared as unused are not packed with FLAC. */
static void what_flac_refuses_is_packed_all_the_same(void **state)
{
	auto_free uint8_t *squares = dw_malloc(BLOCK);
	struct packing packing = packing_with("lz4hc"), alone = packing_with(NULL);
	auto_packer struct block_packer *packer = NULL;
	auto_packer struct block_packer *flac = NULL;
	auto_buffer struct buffer out = { 0 };

	packing.codec.samples.bits_per_sample = alone.codec.samples.bits_per_sample = 12;
	fill_with_squares(squares);
	for (int i = 0; i < FRAMES; i += 100)
		squares[2 * i] |= 1;
	assert_int_equal(dw_block_packer_new(&packing, BLOCK, NULL, &packer, NULL), 0);
	assert_int_equal(dw_block_packer_new(&alone, BLOCK, NULL, &flac, NULL), 0);
	assert_int_equal(pack(flac, (struct span){ squares, BLOCK }, &out), CODEC_NONE);
	assert_int_not_equal(pack(packer, (struct span){ squares, BLOCK }, &out),
			     CODEC_NONE);
}

static void memory_counts_all_codecs(void **state)
{
	struct packing packing = packing_with("lz4hc"), alone = packing_with(NULL);

	assert_int_equal(dw_packing_memory(&alone, BLOCK),
			 dw_codec_memory(&alone.codec, BLOCK));
	assert_true(dw_packing_memory(&packing, BLOCK) >
		    dw_codec_memory(&packing.codec, BLOCK) +
			    dw_codec_memory(&packing.fallback, BLOCK));
}

static void a_stop_is_for_all_codecs(void **state)
{
	auto_free uint8_t *squares = dw_malloc(BLOCK);
	struct packing packing = packing_with("lz4hc");
	auto_packer struct block_packer *packer = NULL;
	auto_buffer struct buffer out = { 0 };
	atomic_bool stop = true;
	uint32_t id;

	fill_with_squares(squares);
	assert_int_equal(dw_block_packer_new(&packing, BLOCK, &stop, &packer, NULL), 0);
	assert_int_equal(dw_block_packer_pack(packer, (struct span){ squares, BLOCK },
					      &out, &id, NULL),
			 DWARFS_ERR_CANCELLED);
}

/* -- literals ------------------------------------------------------------------------ */

enum { DIGITS = 3 << 16 };

static void fill_with_digits(uint8_t *out, size_t size)
{
	uint32_t random = 1;

	for (size_t i = 0; i < size; i++) {
		random = random * 1664525 + 1013904223;
		out[i] = (uint8_t) "0123456789abcdef"[random >> 28];
	}
}

/* Lines of 4096 different words, in an order that does not repeat. */
static void fill_with_words(uint8_t *out, size_t size)
{
	uint32_t random = 1;

	for (size_t i = 0; i < size; i++) {
		if (i % 8 == 0)
			random = random * 1664525 + 1013904223;
		out[i] = i % 8 == 7
				 ? '\n'
				 : (uint8_t)('a' + (random >> 20) * (i % 8 + 1) / 7 % 26);
	}
}

/* Lines that begin with a random hash and end with a path. */
static void fill_with_hashes(uint8_t *out, size_t size)
{
	char path[64];

	fill_with_digits(out, size);
	for (size_t i = 0; i + 100 <= size; i += 100) {
		snprintf(path, sizeof(path), "  ./include/module%04zu/file%06zu.h\n",
			 i / 4000, i / 100);
		memcpy(out + i + 64, path, 36);
	}
}

/* Random digits of which each part of 64 bytes is also elsewhere, half of the size away. */
static void fill_with_far_repeats(uint8_t *out, size_t size)
{
	const size_t half = size / 2, parts = half / 64;

	fill_with_digits(out, size);
	for (size_t i = 0; i < parts; i++)
		memcpy(out + half + i * 64, out + i * 7 % parts * 64, 64);
}

static bool lacks_lzma_or_zstd(void)
{
	return !dw_codec_can_pack(CODEC_LZMA) || !dw_codec_can_pack(CODEC_ZSTD);
}

static struct packing packing_of_level(uint32_t level)
{
	struct stream_settings settings = { .codec = dw_level_codec(
						    level, DWARFS_CODEC_BLOCKS) };

	dw_level_apply(level, &settings);
	return dw_packing_of(&settings, 0);
}

/* A fill function, and what levels make of its data. */
struct literal_case {
	void (*fill)(uint8_t *out, size_t size);
	uint32_t id_at_9;
	/* Sizes, in thousandths of those without a literal codec. */
	unsigned most_at_7, least_at_7, most_at_9, least_at_9;
};

static size_t packed_size(const struct packing *packing, struct span in, uint32_t *id_out)
{
	auto_packer struct block_packer *packer = NULL;
	auto_buffer struct buffer out = { 0 };

	assert_int_equal(dw_block_packer_new(packing, in.size, NULL, &packer, NULL), 0);
	*id_out = pack(packer, in, &out);
	return out.size;
}

/* The same twice, with another block in between, which has no effect. */
static size_t packed_size_twice(const struct packing *packing, struct span in,
				uint32_t *id_out)
{
	auto_packer struct block_packer *packer = NULL;
	auto_buffer struct buffer first = { 0 }, out = { 0 };
	static uint8_t text[1000];

	assert_int_equal(dw_block_packer_new(packing, in.size, NULL, &packer, NULL), 0);
	*id_out = pack(packer, in, &first);
	fill_with_words(text, sizeof(text));
	pack(packer, (struct span){ text, sizeof(text) }, &out);
	assert_int_equal(pack(packer, in, &out), *id_out);
	assert_int_equal(out.size, first.size);
	assert_memory_equal(out.data, first.data, out.size);
	return out.size;
}

static void expect_sizes(const struct literal_case *one, struct span in, uint32_t level,
			 unsigned least, unsigned most)
{
	struct packing packing = packing_of_level(level), alone = packing;
	uint32_t id, id_alone;
	size_t size, size_alone;

	alone.has_literal = false;
	/* At level 9, which has codecs of two libraries. */
	size = level == 9 ? packed_size_twice(&packing, in, &id)
			  : packed_size(&packing, in, &id);
	size_alone = packed_size(&alone, in, &id_alone);
	assert_int_equal(id, level == 9 ? one->id_at_9 : CODEC_ZSTD);
	assert_int_equal(id_alone, level == 9 ? CODEC_LZMA : CODEC_ZSTD);
	assert_in_range(size * 1000 / size_alone, least, most);
}

static void literals_are_packed_by_another_codec(void **state)
{
	static const struct literal_case cases[] = {
		{ fill_with_digits, CODEC_ZSTD, 1000, 990, 970, 940 },
		/* Here both are tried. */
		{ fill_with_hashes, CODEC_ZSTD, 990, 950, 990, 930 },
		/* The literal codec would take half as much again, and is not used. */
		{ fill_with_far_repeats, CODEC_LZMA, 1000, 1000, 1000, 1000 },
		{ fill_with_words, CODEC_LZMA, 1000, 1000, 1000, 1000 },
	};
	auto_free uint8_t *data = dw_malloc(DIGITS);
	const struct span in = { data, DIGITS };

	if (lacks_lzma_or_zstd())
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cases[i].fill(data, DIGITS);
		expect_sizes(&cases[i], in, 7, cases[i].least_at_7, cases[i].most_at_7);
		expect_sizes(&cases[i], in, 9, cases[i].least_at_9, cases[i].most_at_9);
	}
}

/* Of what is compressed already, nearly all values are as frequent: the codec that is used takes
 * little time. */
static void noise_is_packed_fast(void **state)
{
	enum { SIZE = 3 << 20 };
	auto_free uint8_t *data = dw_malloc(SIZE);
	auto_packer struct block_packer *packer = NULL;
	auto_codec struct codec *codec = NULL;
	auto_buffer struct buffer out = { 0 }, expected = { 0 };
	const struct packing packing = packing_of_level(7);
	const struct span in = { data, SIZE };
	uint32_t random = 1, id;
	struct codec_spec fast;

	if (lacks_lzma_or_zstd())
		skip();
	for (size_t i = 0; i < SIZE; i++) {
		random = random * 1664525 + 1013904223;
		data[i] = (uint8_t)(random >> 24);
	}
	/* A long repeat is found, and the rest is as small as its entropy. */
	memcpy(data + SIZE - 5000, data, 5000);
	assert_int_equal(dw_codec_parse("zstd:level=3:wlog=26:long", &fast, NULL), 0);
	assert_int_equal(dw_codec_new(&fast, SIZE, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, in, &expected, &id, NULL), 0);
	assert_int_equal(id, CODEC_ZSTD);
	assert_int_equal(dw_block_packer_new(&packing, SIZE, NULL, &packer, NULL), 0);
	assert_int_equal(pack(packer, in, &out), CODEC_ZSTD);
	assert_int_equal(out.size, expected.size);
	assert_memory_equal(out.data, expected.data, out.size);
	assert_true(out.size < SIZE - 4000);
}

/* Nearly noise: some values are more frequent than others. */
static void fill_with_shades(uint8_t *out, size_t size)
{
	uint64_t random = 1;

	for (size_t i = 0; i < size; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		out[i] = (uint8_t)(random >> 56);
		if ((random >> 40 & 3) == 0)
			out[i] &= 0xdf;
	}
}

/* The same with a run of bytes in each so many that was 3000 bytes before. */
static void fill_with_runs(uint8_t *out, size_t size, size_t run, size_t step)
{
	fill_with_shades(out, size);
	for (size_t at = 3000; at + run <= size; at += step)
		memcpy(out + at, out + at - 3000, run);
}

/* Pictures have runs that only the best codecs find. */
static void fill_with_pictures(uint8_t *out, size_t size)
{
	fill_with_runs(out, size, 4, 64);
}

/* In the second half a run of 8 bytes in each 128 is somewhere in the first one. */
static void fill_with_far_runs(uint8_t *out, size_t size)
{
	const size_t half = size / 2;

	fill_with_shades(out, size);
	for (size_t at = half; at + 8 <= size; at += 128)
		memcpy(out + at, out + (at - half) / 7 * 5, 8);
}

/* By one codec alone. */
static void pack_alone(const struct codec_spec *spec, struct span in, struct buffer *out)
{
	auto_codec struct codec *codec = NULL;
	uint32_t id;

	out->size = 0;
	assert_int_equal(dw_codec_new(spec, in.size, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, in, out, &id, NULL), 0);
	assert_int_equal(id, CODEC_ZSTD);
}

static struct codec_spec near_codec(void)
{
	struct codec_spec spec;

	assert_int_equal(
		dw_codec_parse("zstd:level=19:wlog=26:clog=17:hlog=20:slog=2:mml=3:long",
			       &spec, NULL),
		0);
	return spec;
}

static void expect_near(uint32_t level, struct span in, bool is_near)
{
	const struct codec_spec near = near_codec();
	struct packing packing = packing_of_level(level);
	auto_packer struct block_packer *packer = NULL;
	auto_buffer struct buffer out = { 0 }, expected = { 0 };
	atomic_uint_fast64_t meter = 0;
	uint32_t id;

	/* A codec whose results are larger, in less time. */
	assert_int_equal(dw_codec_parse("zstd:level=1", &packing.codec, NULL), 0);
	pack_alone(&near, in, &expected);
	assert_int_equal(dw_block_packer_new(&packing, in.size, NULL, &packer, NULL), 0);
	dw_block_packer_set_meter(packer, &meter);
	id = pack(packer, in, &out);
	assert_int_equal(meter, in.size);
	if (is_near) {
		assert_int_equal(id, CODEC_ZSTD);
		assert_int_equal(out.size, expected.size);
		assert_memory_equal(out.data, expected.data, out.size);
	} else {
		assert_int_not_equal(out.size, expected.size);
	}
}

/* What is compressed already has a codec of its own, unless it repeats further away, or its repeats
 * are found by any codec. Each block counts once. */
static void compressed_data_is_packed_fast(void **state)
{
	enum { SMALL = 1 << 19, SIZE = 3 << 19 };
	auto_free uint8_t *data = dw_malloc(SIZE);

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_pictures(data, SIZE);
	for (uint32_t level = 5; level <= 7; level++)
		expect_near(level, (struct span){ data, SMALL }, true);
	expect_near(7, (struct span){ data, SIZE }, true);
	fill_with_far_runs(data, SIZE);
	expect_near(7, (struct span){ data, SIZE }, false);
	fill_with_runs(data, SMALL, 16, 512);
	expect_near(7, (struct span){ data, SMALL }, false);
}

static void compressed_data_is_as_small_as_by_the_codec(void **state)
{
	enum { SIZE = 1 << 20 };
	auto_free uint8_t *data = dw_malloc(SIZE);
	auto_buffer struct buffer near = { 0 }, best = { 0 };
	const struct span in = { data, SIZE };
	struct packing packing;
	struct codec_spec spec;

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_of_level(7);
	spec = near_codec();
	fill_with_pictures(data, SIZE);
	pack_alone(&spec, in, &near);
	pack_alone(&packing.codec, in, &best);
	assert_true(near.size < best.size + best.size / 500);
	assert_true(near.size < SIZE - SIZE / 50);
}

/* An allocator that counts. */
struct count {
	uint64_t current, peak, largest;
	size_t calls, fails_at; /* 0: never */
};

static void *counted_allocate(size_t bytes, void *user)
{
	struct count *count = user;

	if (++count->calls == count->fails_at)
		return NULL;
	count->current += bytes;
	if (count->current > count->peak)
		count->peak = count->current;
	if (bytes > count->largest)
		count->largest = bytes;
	return malloc(bytes);
}

static void counted_release(void *block, size_t bytes, void *user)
{
	struct count *count = user;

	count->current -= bytes;
	free(block);
}

/* Peak memory while it packs digits, text and digits again, without the output. */
static uint64_t memory_in_use(const struct packing *packing, struct span digits,
			      struct span text)
{
	struct count count = { 0 };
	const dwarfs_allocator allocator = { .struct_bytes = sizeof(allocator),
					     .user = &count,
					     .allocate = counted_allocate,
					     .release = counted_release };
	struct block_packer *packer;
	struct buffer out = { 0 };
	uint32_t id;

	assert_int_equal(dwarfs_allocator_use(&allocator, NULL, NULL), 0);
	assert_int_equal(dw_block_packer_new(packing, digits.size, NULL, &packer, NULL),
			 0);
	for (int i = 0; i < 3; i++) {
		out.size = 0;
		assert_int_equal(dw_block_packer_pack(packer, i == 1 ? text : digits,
						      &out, &id, NULL),
				 0);
	}
	dw_buffer_free(&out);
	dw_block_packer_free(packer);
	assert_int_equal(dwarfs_allocator_use(NULL, NULL, NULL), 0);
	assert_int_equal(count.current, 0);
	return count.peak - digits.size;
}

/* What packing a block returns. */
static int pack_counted(const struct packing *packing, struct span in,
			struct count *count)
{
	const dwarfs_allocator allocator = { .struct_bytes = sizeof(allocator),
					     .user = count,
					     .allocate = counted_allocate,
					     .release = counted_release };
	struct block_packer *packer = NULL;
	struct buffer out = { 0 };
	uint32_t id;
	int ret;

	assert_int_equal(dwarfs_allocator_use(&allocator, NULL, NULL), 0);
	ret = dw_block_packer_new(packing, in.size, NULL, &packer, NULL);
	if (ret == 0)
		ret = dw_block_packer_pack(packer, in, &out, &id, NULL);
	dw_buffer_free(&out);
	dw_block_packer_free(packer);
	assert_int_equal(dwarfs_allocator_use(NULL, NULL, NULL), 0);
	assert_int_equal(count->current, 0);
	return ret;
}

/* The same where the nth allocation fails; more_out: whether it has so many. */
static int pack_without_memory(const struct packing *packing, struct span in, size_t nth,
			       bool *more_out)
{
	struct count count = { .fails_at = nth };
	int ret = pack_counted(packing, in, &count);

	*more_out = count.calls >= nth;
	return ret;
}

/* In blocks of more than 16 MiB, the codec that looks for repeats further away would not find all. It is
 * not used: there is no hash table for it. */
static void large_blocks_of_pictures_are_left_to_the_codec(void **state)
{
	enum { SIZE = 1 << 20, LARGE = (16 << 20) + 1 };
	auto_free uint8_t *data = dw_malloc(LARGE);
	struct count small = { 0 }, large = { 0 };
	struct packing packing;

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_of_level(7);
	assert_int_equal(dw_codec_parse("zstd:level=1", &packing.codec, NULL), 0);
	fill_with_pictures(data, LARGE);
	assert_int_equal(pack_counted(&packing, (struct span){ data, SIZE }, &small), 0);
	assert_int_equal(pack_counted(&packing, (struct span){ data, LARGE }, &large), 0);
	assert_true(small.calls > large.calls);
	assert_true(large.largest < (size_t)64 << 20);
}

/* Of digits, by the literal codec alone, of hashes, by two, and of pictures. */
static void lack_of_memory_is_an_error(void **state)
{
	void (*const fill[])(uint8_t * out, size_t size) = { fill_with_digits,
							     fill_with_hashes,
							     fill_with_pictures };
	enum { SMALL = 30000 };
	uint8_t data[SMALL];

	if (lacks_lzma_or_zstd())
		skip();
	for (size_t i = 0; i < 3; i++) {
		struct packing packing = packing_of_level(7);
		size_t nth = 0;
		bool more = true;

		fill[i](data, SMALL);
		while (more) {
			int ret = pack_without_memory(
				&packing, (struct span){ data, SMALL }, ++nth, &more);

			assert_int_equal(ret, more ? DWARFS_ERR_NOMEM : 0);
		}
		assert_true(nth > 10);
	}
}

static void a_stop_ends_literals(void **state)
{
	auto_free uint8_t *digits = dw_malloc(DIGITS);
	const struct packing packing = packing_of_level(7);
	auto_packer struct block_packer *packer = NULL;
	auto_buffer struct buffer out = { 0 };
	atomic_bool stop = true;
	uint32_t id;

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_digits(digits, DIGITS);
	assert_int_equal(dw_block_packer_new(&packing, DIGITS, &stop, &packer, NULL), 0);
	assert_int_equal(dw_block_packer_pack(packer, (struct span){ digits, DIGITS },
					      &out, &id, NULL),
			 DWARFS_ERR_CANCELLED);
	stop = false;
	assert_int_equal(dw_block_packer_pack(packer, (struct span){ digits, DIGITS },
					      &out, &id, NULL),
			 0);
}

/* A block counts once, however many codecs compress it. */
static void a_block_of_literals_counts_once(void **state)
{
	auto_free uint8_t *data = dw_malloc(DIGITS);

	if (lacks_lzma_or_zstd())
		skip();
	for (uint32_t level = 7; level <= 9; level += 2) {
		const struct packing packing = packing_of_level(level);
		auto_packer struct block_packer *packer = NULL;
		auto_buffer struct buffer out = { 0 };
		atomic_uint_fast64_t meter = 0;

		assert_int_equal(
			dw_block_packer_new(&packing, DIGITS, NULL, &packer, NULL), 0);
		dw_block_packer_set_meter(packer, &meter);
		fill_with_digits(data, DIGITS);
		assert_int_equal(pack(packer, (struct span){ data, DIGITS }, &out),
				 CODEC_ZSTD);
		assert_int_equal(meter, DIGITS);
		fill_with_hashes(data, DIGITS);
		pack(packer, (struct span){ data, DIGITS }, &out);
		assert_int_equal(meter, 2 * DIGITS);
	}
}

/* The sample consists of the first half of each sixteenth: the other halves are all the same, or
 * have runs of 24 bytes in common that are all over the block. The block counts once then, too. */
static void repeats_outside_of_the_sample_are_found(void **state)
{
	enum { SIZE = 2 << 20, UNIT = SIZE / 16, HALF = UNIT / 2 };
	auto_free uint8_t *data = dw_malloc(SIZE);
	auto_packer struct block_packer *packer = NULL;
	auto_buffer struct buffer out = { 0 };
	struct packing packing = packing_of_level(7);
	atomic_uint_fast64_t meter = 0;

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_digits(data, SIZE);
	assert_int_equal(dw_codec_parse("zstd:level=12", &packing.codec, NULL), 0);
	assert_int_equal(dw_block_packer_new(&packing, SIZE, NULL, &packer, NULL), 0);
	dw_block_packer_set_meter(packer, &meter);
	assert_int_equal(pack(packer, (struct span){ data, SIZE }, &out), CODEC_ZSTD);
	assert_in_range(out.size, SIZE / 2, SIZE / 2 + SIZE / 100);
	assert_int_equal(meter, SIZE);

	for (size_t i = 8; i < 16; i++)
		for (size_t at = 0; at + 32 <= HALF; at += 32)
			memcpy(data + i * UNIT + HALF + at,
			       data + (i - 8) * UNIT + HALF + at * 7 % HALF, 24);
	pack(packer, (struct span){ data, SIZE }, &out);
	assert_in_range(out.size, SIZE / 3, SIZE / 2 - SIZE / 40);
	assert_int_equal(meter, 2 * SIZE);

	for (size_t i = 1; i < 16; i++)
		memcpy(data + i * UNIT + HALF, data + HALF, HALF);
	pack(packer, (struct span){ data, SIZE }, &out);
	assert_in_range(out.size, SIZE / 4, SIZE / 3);
	assert_int_equal(meter, 3 * SIZE);
}

/* The codecs exist one at a time: the literal one counts if it is the larger one. */
static void memory_is_that_of_the_larger_codec(void **state)
{
	auto_free uint8_t *digits = dw_malloc(DIGITS), *text = dw_malloc(DIGITS);
	struct packing packing, alone;
	uint64_t with, without, sample;
	const size_t block = (size_t)64 << 20;

	if (lacks_lzma_or_zstd())
		skip();
	packing = alone = packing_of_level(9);
	alone.has_literal = false;
	sample = dw_block_sample_memory(false, true, block) -
		 dw_block_sample_memory(false, false, block);
	with = dw_packing_memory(&packing, block);
	without = dw_packing_memory(&alone, block);
	assert_true(with == without + sample);
	packing.codec.level = alone.codec.level = 0;
	packing.has_dense = alone.has_dense = false;
	with = dw_packing_memory(&packing, block);
	without = dw_packing_memory(&alone, block);
	assert_true(with == dw_codec_memory(&packing.literal, block) + block +
				    dw_block_sample_memory(false, true, block));
	assert_true(without == dw_codec_memory(&alone.codec, block));
	alone.has_dense = true;
	with = dw_codec_memory(&alone.dense, block);
	assert_true(with > 2 * without);
	assert_true(dw_packing_memory(&alone, block) >= with);

	fill_with_digits(digits, DIGITS);
	fill_with_words(text, DIGITS);
	for (uint32_t level = 7; level <= 9; level++) {
		packing = packing_of_level(level);
		assert_true(memory_in_use(&packing, (struct span){ digits, DIGITS },
					  (struct span){ text, DIGITS }) <=
			    dw_packing_memory(&packing, DIGITS));
	}
}

/* -- numbers ------------------------------------------------------------------------- */

enum { NUMBERS = (1 << 20) + 4096 };

/* Numbers of 4 bytes, each a little larger than the one before. */
static void fill_with_numbers(uint8_t *out, size_t size)
{
	uint32_t random = 1, number = 0;

	for (size_t i = 0; i + 4 <= size; i += 4) {
		random = random * 1664525 + 1013904223;
		number += random >> 28;
		dw_store32(out + i, number);
	}
}

/* The same, mostly by one: packed with as much memory, in less time. */
static void fill_with_counters(uint8_t *out, size_t size)
{
	uint32_t random = 1, number = 0;

	for (size_t i = 0; i + 4 <= size; i += 4) {
		random = random * 1664525 + 1013904223;
		number += i % 128 ? 1 : random >> 28;
		dw_store32(out + i, number);
	}
}

/* Zeros in the second half, which are packed in a fraction of the time. The first half still decides
 * what the block is packed with, but zeros are repeats; of more zeros a block would be dense. */
static void clear_half(uint8_t *data, size_t size)
{
	memset(data + size / 2, 0, size - size / 2);
}

/* By the dense codec, at the levels where that is lzma and the codec zstd. */
static void numbers_are_packed_by_the_dense_codec(void **state)
{
	auto_free uint8_t *numbers = dw_malloc(NUMBERS), *digits = dw_malloc(NUMBERS);

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_numbers(numbers, NUMBERS);
	fill_with_digits(digits, NUMBERS);
	for (uint32_t level = 5; level <= 8; level += level == 5 ? 2 : 1) {
		struct packing packing = packing_of_level(level), alone = packing;
		/* At level 8, where lzma packs all, the size decides nothing; nor does that of
		 * digits at level 5, where numbers are not looked for. */
		const struct span in = { numbers, level == 8 ? DIGITS : NUMBERS };
		const struct span other = { digits, level == 7 ? NUMBERS : DIGITS };
		auto_packer struct block_packer *packer = NULL;
		auto_buffer struct buffer out = { 0 };
		atomic_uint_fast64_t meter = 0;
		uint32_t id;
		size_t usual;

		packing.codec.level = level == 7 ? 9 : 3; /* faster */
		packing.dense.level = 4;
		packing.dense.adapts = false;
		alone.codec.level = packing.codec.level;
		assert_int_equal(
			dw_block_packer_new(&packing, NUMBERS, NULL, &packer, NULL), 0);
		dw_block_packer_set_meter(packer, &meter);
		assert_int_equal(pack(packer, in, &out),
				 level == 5 ? CODEC_ZSTD : CODEC_LZMA);
		assert_int_equal(meter, in.size);
		if (level == 7) {
			alone.has_dense = alone.has_literal = false;
			usual = packed_size(&alone, in, &id);
			assert_int_equal(id, CODEC_ZSTD);
			assert_true(out.size < usual * 7 / 10);
		}
		/* Digits are not. */
		assert_int_equal(pack(packer, other, &out), CODEC_ZSTD);
		assert_int_equal(meter, in.size + other.size);
	}
}

/* Records of a set, whose columns are narrow, in any order: a sample has few of them twice. */
static void fill_with_known_records(uint8_t *out, size_t size)
{
	enum { RECORD = 64 };
	const size_t known = size / RECORD * 5 / 16;
	uint32_t random = 1;

	for (size_t at = 0; at + RECORD <= size; at += RECORD) {
		random = random * 1664525 + 1013904223;
		if (at / RECORD >= known) {
			memcpy(out + at, out + (random >> 8) % known * RECORD, RECORD);
			continue;
		}
		for (size_t i = 0; i < RECORD; i++) {
			random = random * 1664525 + 1013904223;
			out[at + i] = (uint8_t)(i * i * 29 + (random >> 28));
		}
	}
}

/* A table, of which each 4096 bytes begin with noise. */
static void fill_with_table(uint8_t *out, size_t size, size_t noise_bytes)
{
	enum { PERIOD = 4096 };
	uint32_t random = 3;

	fill_with_borders(out, size);
	for (size_t at = 0; at + PERIOD <= size; at += PERIOD)
		for (size_t i = 0; i < noise_bytes; i++)
			out[at + i] = (uint8_t)next_random(&random);
}

/* Also with some noise. */
static void tables_are_packed_by_the_dense_codec(void **state)
{
	static const size_t noise_bytes[] = { 0, 160 };
	auto_free uint8_t *table = dw_malloc(NUMBERS), *words = dw_malloc(NUMBERS);
	const struct span in = { table, NUMBERS };

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_words(words, NUMBERS);
	for (size_t i = 0; i < 2; i++) {
		struct packing packing = packing_of_level(7), alone;
		auto_packer struct block_packer *packer = NULL;
		auto_buffer struct buffer out = { 0 };
		atomic_uint_fast64_t meter = 0;
		uint32_t id;
		size_t usual;

		assert_int_equal(dw_codec_parse("zstd:level=9", &packing.codec, NULL), 0);
		packing.dense.level = 4; /* faster */
		packing.dense.adapts = false;
		alone = packing;
		fill_with_table(table, NUMBERS, noise_bytes[i]);
		assert_int_equal(
			dw_block_packer_new(&packing, NUMBERS, NULL, &packer, NULL), 0);
		dw_block_packer_set_meter(packer, &meter);
		assert_int_equal(pack(packer, in, &out), CODEC_LZMA);
		assert_int_equal(meter, NUMBERS);
		alone.has_dense = alone.has_literal = false;
		usual = packed_size(&alone, in, &id);
		assert_true(out.size < usual * 9 / 10);
		if (noise_bytes[i] == 0)
			continue; /* takes no more memory than with noise */
		assert_true(
			memory_in_use(&packing, in, (struct span){ words, NUMBERS }) <=
			dw_packing_memory(&packing, NUMBERS));
	}
}

/* The codec that a block is packed with at level 7, with fast codecs. */
static uint32_t fast_choice(struct span in, bool is_trial)
{
	struct packing packing = packing_of_level(7);
	auto_packer struct block_packer *packer = NULL;
	auto_buffer struct buffer out = { 0 };

	packing.is_trial = is_trial;
	packing.has_literal = !is_trial;
	assert_int_equal(dw_codec_parse("zstd:level=3", &packing.codec, NULL), 0);
	assert_int_equal(dw_codec_parse("lzma:level=0", &packing.dense, NULL), 0);
	assert_int_equal(dw_block_packer_new(&packing, in.size, NULL, &packer, NULL), 0);
	return pack(packer, in, &out);
}

/* Records of 16 bytes, in each column one of eight letters, with blanks and line feeds, which may
 * be at the end of each record or of a fourth of them. */
static void fill_with_columns(uint8_t *out, size_t size, bool is_table)
{
	enum { COLUMNS = 16 };
	uint32_t random = 1;

	for (size_t at = 0; at < size; at++) {
		size_t column = at % COLUMNS;

		out[at] = (uint8_t)('A' + column * column * 29 % 48 +
				    next_random(&random) % 8);
		if (column == COLUMNS - 1)
			out[at] = is_table || next_random(&random) % 4 == 0 ? '\n' : ' ';
	}
}

/* What lzma makes much smaller is for it, but in a trial not what looks like prose. */
static void trials_do_not_examine_prose(void **state)
{
	auto_free uint8_t *data = dw_malloc(NUMBERS);
	const struct span in = { data, NUMBERS };

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_columns(data, NUMBERS, true);
	assert_int_equal(fast_choice(in, true), CODEC_LZMA);
	fill_with_columns(data, NUMBERS, false);
	assert_int_equal(fast_choice(in, true), CODEC_ZSTD);
	assert_int_equal(fast_choice(in, false), CODEC_LZMA);
}

/* lzma makes a sample smaller, and zstd the block. */
static void repeats_decide_about_numbers(void **state)
{
	enum { SIZE = 1 << 20 };
	auto_free uint8_t *data = dw_malloc(SIZE);
	const struct span in = { data, SIZE };
	struct packing packing, alone;
	uint32_t id;
	size_t usual, size;

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_of_level(7);
	assert_int_equal(dw_codec_parse("zstd:level=9", &packing.codec, NULL), 0);
	assert_int_equal(
		dw_codec_parse("lzma:level=0:block_size=19", &packing.dense, NULL), 0);
	fill_with_known_records(data, SIZE);
	alone = packing;
	alone.has_dense = alone.has_literal = false;
	usual = packed_size(&alone, in, &id);
	size = packed_size_twice(&packing, in, &id);
	assert_int_equal(id, CODEC_ZSTD);
	assert_true(size <= usual);
	alone.codec = packing.dense; /* what the dense codec would make of it */
	assert_true(packed_size(&alone, in, &id) > usual);
}

/* Where lzma makes a block clearly smaller than zstd is expected to do, no codec is made for zstd. */
static void zstd_is_left_out_for_numbers(void **state)
{
	enum { SIZE = 2 << 20 };
	auto_free uint8_t *data = dw_malloc(SIZE);
	const struct span in = { data, SIZE };
	struct packing packing;
	struct count table = { 0 }, records = { 0 };

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_of_level(7);
	packing.dense.level = 0;
	packing.dense.adapts = false;
	assert_int_equal(dw_codec_parse("zstd:level=13:hlog=24:clog=24:slog=1",
					&packing.codec, NULL),
			 0);
	fill_with_table(data, SIZE, 0);
	assert_int_equal(pack_counted(&packing, in, &table), 0);
	fill_with_known_records(data, SIZE);
	assert_int_equal(pack_counted(&packing, in, &records), 0);
	assert_in_range(table.largest, 0, records.largest - (4 << 20));
}

/* Then zstd packs them, too: no codec is made for a forecast, whose tables are larger. */
static void large_blocks_of_numbers_have_no_forecast(void **state)
{
	enum { SIZE = (1 << 24) + (1 << 20), MOST_FORECAST = 1 << 24 };
	auto_free uint8_t *data = dw_malloc(SIZE);
	struct packing packing;
	struct count most = { 0 }, more = { 0 };

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_of_level(7);
	packing.dense.level = 0;
	packing.dense.adapts = false;
	assert_int_equal(dw_codec_parse("zstd:level=1", &packing.codec, NULL), 0);
	fill_with_table(data, SIZE, 0);
	assert_int_equal(
		pack_counted(&packing, (struct span){ data, MOST_FORECAST }, &most), 0);
	assert_int_equal(pack_counted(&packing, (struct span){ data, SIZE }, &more), 0);
	assert_true(more.largest < most.largest);
}

static void memory_is_enough_for_numbers(void **state)
{
	auto_free uint8_t *numbers = dw_malloc(NUMBERS), *words = dw_malloc(NUMBERS);
	struct packing packing, alone;
	uint32_t id;

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_of_level(7);
	packing.dense.level = 4; /* faster, in the same memory */
	alone = packing;
	alone.has_dense = false;
	assert_true(dw_packing_memory(&packing, NUMBERS) >
		    dw_packing_memory(&alone, NUMBERS));
	fill_with_counters(numbers, NUMBERS);
	fill_with_words(words, NUMBERS);
	clear_half(words, NUMBERS);
	assert_true(memory_in_use(&packing, (struct span){ numbers, NUMBERS },
				  (struct span){ words, NUMBERS }) <=
		    dw_packing_memory(&packing, NUMBERS));
	/* For lack of memory, neither literals nor numbers have a codec. */
	packing.has_literal = false;
	packing.codec.level = 1;
	assert_true(packed_size(&packing, (struct span){ numbers, NUMBERS }, &id) > 0);
	assert_int_equal(id, CODEC_ZSTD);
}

static void memory_is_enough_for_pictures(void **state)
{
	auto_free uint8_t *pictures = dw_malloc(NUMBERS), *words = dw_malloc(NUMBERS);

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_pictures(pictures, NUMBERS);
	fill_with_words(words, NUMBERS);
	clear_half(words, NUMBERS);
	for (uint32_t level = 5; level <= 7; level += 2) {
		struct packing packing = packing_of_level(level);

		/* So that the other codecs take most. */
		assert_int_equal(dw_codec_parse("zstd:level=1", &packing.codec, NULL), 0);
		assert_true(memory_in_use(&packing, (struct span){ pictures, NUMBERS },
					  (struct span){ words, NUMBERS }) <=
			    dw_packing_memory(&packing, NUMBERS));
	}
}

static void expect_errors_without_memory(const uint8_t *numbers, size_t size)
{
	struct packing packing = packing_of_level(7);
	bool more = true;
	size_t nth = 1;

	packing.codec.level = 1;
	packing.dense.level = 0;
	packing.dense.adapts = false; /* as the codec of the sample does */
	while (more) {
		int ret = pack_without_memory(&packing, (struct span){ numbers, size },
					      nth, &more);

		assert_int_equal(ret, more ? DWARFS_ERR_NOMEM : 0);
		nth += 1 + nth / 4; /* each takes time */
	}
	assert_true(nth > 20);
}

/* Of a block of which a part is the sample, and of one that is the sample. */
static void lack_of_memory_for_numbers_is_an_error(void **state)
{
	enum { SAMPLE = 1 << 20 };
	auto_free uint8_t *numbers = dw_malloc(NUMBERS);

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_counters(numbers, NUMBERS);
	clear_half(numbers, NUMBERS);
	expect_errors_without_memory(numbers, NUMBERS);
	fill_with_table(numbers, SAMPLE, 160);
	expect_errors_without_memory(numbers, SAMPLE);
}

/* -- dense blocks -------------------------------------------------------------------- */

/* Lines of random digits and a text, 14 of each with a number, which lzma makes a quarter smaller than
 * zstd does. */
static void fill_with_numbered_lines(uint8_t *out, size_t size)
{
	enum { DIGIT_COUNT = 40, TIMES = 14 };
	char line[96] = "";
	uint32_t random = 3;
	size_t at = 0;

	for (unsigned i = 0; at < size; i++) {
		size_t length;

		for (unsigned k = 0; i % TIMES == 0 && k < DIGIT_COUNT; k++)
			line[k] = "0123456789abcdef"[next_random(&random) & 15];
		length = DIGIT_COUNT +
			 (size_t)snprintf(line + DIGIT_COUNT, sizeof(line) - DIGIT_COUNT,
					  " step %u done in the phase of the work\n",
					  i % TIMES);
		length = length < size - at ? length : size - at;
		memcpy(out + at, line, length);
		at += length;
	}
}

/* Lines with a counter, which the fastest lzma makes a third smaller than fast levels of zstd do. */
static void fill_with_counted_lines(uint8_t *out, size_t size)
{
	size_t at = 0;

	for (unsigned i = 0; at < size; i++) {
		char line[64];
		size_t length = (size_t)snprintf(
			line, sizeof(line), "%02u:%02u the service is ok, sequence=%u\n",
			i / 60 % 24, i % 60, i);

		length = length < size - at ? length : size - at;
		memcpy(out + at, line, length);
		at += length;
	}
}

/* Lines of random digits, twenty of each, which zstd makes a twentieth smaller than lzma. */
static void fill_with_copied_lines(uint8_t *out, size_t size)
{
	enum { LINE = 64, TIMES = 20 };
	uint32_t random = 9;

	for (size_t at = 0; at < size; at++)
		out[at] = at / LINE % TIMES > 0
				  ? out[at - LINE]
				  : "0123456789abcdef"[next_random(&random) & 15];
}

/* Records of a few lines with a number, each up to twenty times. lzma makes them some percent smaller than
 * what is forecast for zstd, and zstd makes them smaller than lzma. */
static void fill_with_records(uint8_t *out, size_t size)
{
	uint32_t random = 7;
	size_t at = 0;

	while (at < size) {
		const uint32_t item = next_random(&random) % 16000;
		char record[128];
		size_t length = (size_t)snprintf(
			record, sizeof(record),
			"[section]\nname = item%u\nvalue = %u\nenabled = true\npath = /usr/share/item/%u\n",
			item, next_random(&random) % 1000000, item);

		for (unsigned k = 0, times = 1 + next_random(&random) % 20;
		     k < times && at < size; k++) {
			size_t room = size - at;

			memcpy(out + at, record, length < room ? length : room);
			at += length < room ? length : room;
		}
	}
}

/* What the block takes, and by each codec alone. */
static void expect_smaller_codec(const struct packing *packing, struct span in,
				 uint32_t expected)
{
	struct packing alone = *packing;
	size_t chosen, by_zstd, by_lzma;
	uint32_t id;

	chosen = packed_size_twice(packing, in, &id);
	assert_int_equal(id, expected);
	alone.has_dense = alone.has_literal = false;
	by_zstd = packed_size(&alone, in, &id);
	alone.codec = packing->dense;
	by_lzma = packed_size(&alone, in, &id);
	/* The codec for literals may make it smaller still. */
	assert_true(expected == CODEC_ZSTD ? chosen <= by_zstd : chosen == by_lzma);
	assert_true(expected == CODEC_ZSTD ? by_zstd < by_lzma - by_lzma / 100
					   : by_lzma < by_zstd - by_zstd / 10);
}

/* With a sample for a forecast, or in a block that is too small for it. */
static void dense_blocks_get_the_smaller_codec(void **state)
{
	static const size_t sizes[] = { NUMBERS, NUMBERS / 4 };
	auto_free uint8_t *numbered = dw_malloc(NUMBERS), *copied = dw_malloc(NUMBERS);

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_numbered_lines(numbered, NUMBERS);
	fill_with_copied_lines(copied, NUMBERS);
	for (uint32_t level = 5; level <= 7; level++)
		for (size_t i = 0; i < 2; i++) {
			struct packing packing = packing_of_level(level);

			packing.has_literal = level != 6; /* for lack of memory */
			expect_smaller_codec(&packing,
					     (struct span){ numbered, sizes[i] },
					     CODEC_LZMA);
			expect_smaller_codec(&packing, (struct span){ copied, sizes[i] },
					     CODEC_ZSTD);
		}
}

static void forecasts_are_not_exact(void **state)
{
	enum { SIZE = 1100000 };
	auto_free uint8_t *data = dw_malloc(SIZE);
	struct packing packing;

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_of_level(7);
	fill_with_records(data, SIZE);
	expect_smaller_codec(&packing, (struct span){ data, SIZE }, CODEC_ZSTD);
}

/* In a trial as well, also where numbers are not looked for. */
static void trials_pack_dense_blocks_by_both(void **state)
{
	auto_free uint8_t *data = dw_malloc(NUMBERS);
	const struct span in = { data, NUMBERS };
	struct packing packing;

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_of_level(7);
	packing.is_trial = true;
	packing.has_literal = packing.dense_has_numbers = false;
	assert_int_equal(dw_codec_parse("zstd:level=9", &packing.codec, NULL), 0);
	assert_int_equal(dw_codec_parse(TRIAL_CODEC_DENSE, &packing.dense, NULL), 0);
	fill_with_counted_lines(data, NUMBERS);
	expect_smaller_codec(&packing, in, CODEC_LZMA);
	fill_with_copied_lines(data, NUMBERS);
	expect_smaller_codec(&packing, in, CODEC_ZSTD);
}

/* Where lzma makes a dense block clearly smaller than zstd is expected to do. */
static void zstd_is_left_out_for_dense_blocks(void **state)
{
	enum { SIZE = 2 << 20 };
	auto_free uint8_t *data = dw_malloc(SIZE);
	const struct span in = { data, SIZE };
	struct packing packing;
	struct count numbered = { 0 }, copied = { 0 };

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_of_level(5);
	/* The tables of the forecast are smaller. */
	assert_int_equal(dw_codec_parse("zstd:level=13:hlog=24:clog=24:slog=1",
					&packing.codec, NULL),
			 0);
	fill_with_numbered_lines(data, SIZE);
	assert_int_equal(pack_counted(&packing, in, &numbered), 0);
	fill_with_copied_lines(data, SIZE);
	assert_int_equal(pack_counted(&packing, in, &copied), 0);
	assert_in_range(numbered.largest, 0, copied.largest - (4 << 20));
}

static void memory_is_enough_for_dense_blocks(void **state)
{
	auto_free uint8_t *numbered = dw_malloc(NUMBERS), *copied = dw_malloc(NUMBERS);
	struct packing packing;

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_numbered_lines(numbered, NUMBERS);
	fill_with_copied_lines(copied, NUMBERS);
	packing = packing_of_level(7);
	/* So that the other codecs take most. */
	assert_int_equal(dw_codec_parse("zstd:level=1", &packing.codec, NULL), 0);
	packing.has_literal = false;
	for (unsigned i = 0; i < 2; i++) {
		packing.is_trial = i == 1;
		assert_true(memory_in_use(&packing, (struct span){ numbered, NUMBERS },
					  (struct span){ copied, NUMBERS }) <=
			    dw_packing_memory(&packing, NUMBERS));
	}
}

static void lack_of_memory_for_dense_blocks_is_an_error(void **state)
{
	auto_free uint8_t *data = dw_malloc(NUMBERS);

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_copied_lines(data, NUMBERS);
	expect_errors_without_memory(data, NUMBERS);
}

/* -- in parts ------------------------------------------------------------------------ */

enum { DENSE_PART_LOG = 17, DENSE_PARTS = 4, DENSE = DENSE_PARTS << DENSE_PART_LOG };

/* Random lines, each repeated in the next ones. One of so many is as in the part before; 0: none. */
static void fill_with_repeated_lines(uint8_t *out, uint32_t one_of)
{
	enum { LINE = 128, TIMES = 12 };
	const size_t part = (size_t)1 << DENSE_PART_LOG;
	uint32_t random = 1, number = 0;

	for (size_t at = 0; at < DENSE; at += LINE) {
		if (at / LINE % TIMES != 0) {
			memcpy(out + at, out + at - LINE, LINE);
			continue;
		}
		if (at >= part && one_of && number++ % one_of == 0) {
			memcpy(out + at, out + at - part, LINE);
			continue;
		}
		for (size_t i = 0; i < LINE; i++) {
			random = random * 1664525 + 1013904223;
			out[at + i] = (uint8_t)('a' + (random >> 28));
		}
	}
}

static struct packing packing_in_parts(const char *codec)
{
	struct packing packing = { .has_dense = true, .has_literal = true };

	assert_int_equal(dw_codec_parse(codec, &packing.codec, NULL), 0);
	assert_int_equal(dw_codec_parse("lz4", &packing.literal, NULL), 0);
	assert_int_equal(
		dw_codec_parse("lzma:level=1:block_size=17", &packing.dense, NULL), 0);
	return packing;
}

/* What becomes of the data, and of them by the codec and by the dense codec alone. */
struct dense_sizes {
	size_t chosen, codec, dense;
	uint32_t id;
};

static struct dense_sizes sizes_of_dense(const struct packing *packing, uint32_t one_of)
{
	auto_free uint8_t *data = dw_malloc(DENSE);
	const struct span in = { data, DENSE };
	struct packing alone = *packing;
	struct dense_sizes sizes;
	uint32_t id;

	fill_with_repeated_lines(data, one_of);
	sizes.chosen = packed_size_twice(packing, in, &sizes.id);
	alone.has_dense = alone.has_literal = false;
	sizes.codec = packed_size(&alone, in, &id);
	alone.codec = packing->dense;
	sizes.dense = packed_size(&alone, in, &id);
	return sizes;
}

static void parts_are_for_what_repeats_near(void **state)
{
	struct packing packing;
	struct dense_sizes sizes;

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_in_parts("lz4");
	sizes = sizes_of_dense(&packing, 0);
	assert_int_equal(sizes.id, CODEC_LZMA);
	assert_int_equal(sizes.chosen, sizes.dense);

	packing = packing_in_parts("zstd:level=9");
	sizes = sizes_of_dense(&packing, 1); /* it takes a quarter by zstd */
	assert_int_equal(sizes.id, CODEC_ZSTD);
	assert_int_equal(sizes.chosen, sizes.codec);
	assert_true(sizes.codec < sizes.dense);

	/* Parts that are as large as the block have nothing to do with it. */
	packing.dense.part_log = DENSE_PART_LOG + 2;
	assert_int_equal(dw_codec_parse("lz4", &packing.codec, NULL), 0);
	sizes = sizes_of_dense(&packing, 1);
	assert_int_equal(sizes.id, CODEC_LZMA);
	assert_int_equal(sizes.chosen, sizes.dense);
}

static void what_repeats_a_little_is_packed_by_both(void **state)
{
	struct packing packing;
	struct dense_sizes sizes;

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_in_parts("zstd:level=19"); /* smaller than lzma here */
	sizes = sizes_of_dense(&packing, 16);
	assert_int_equal(sizes.id, CODEC_ZSTD);
	assert_int_equal(sizes.chosen, sizes.codec);
	assert_true(sizes.codec < sizes.dense);

	packing = packing_in_parts("lz4hc");
	sizes = sizes_of_dense(&packing, 16);
	assert_int_equal(sizes.id, CODEC_LZMA);
	assert_int_equal(sizes.chosen, sizes.dense);
	assert_true(sizes.dense < sizes.codec);
}

/* Without parts, lzma makes it smaller in any case. */
static void lzma_packs_no_parts_where_they_cost_something(void **state)
{
	struct packing packing;
	struct dense_sizes sizes;

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_in_parts("lzma:level=1:dict_size=22");
	sizes = sizes_of_dense(&packing, 0);
	assert_int_equal(sizes.chosen, sizes.dense);
	sizes = sizes_of_dense(&packing, 16);
	assert_int_equal(sizes.chosen, sizes.codec);
	assert_true(sizes.codec < sizes.dense);
}

static void lack_of_memory_for_parts_is_an_error(void **state)
{
	auto_free uint8_t *data = dw_malloc(DENSE);
	struct packing packing;
	bool more = true;
	size_t nth = 1;

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_in_parts("lz4");
	fill_with_repeated_lines(data, 16);
	while (more) {
		int ret = pack_without_memory(&packing, (struct span){ data, DENSE },
					      nth++, &more);

		assert_int_equal(ret, more ? DWARFS_ERR_NOMEM : 0);
	}
	assert_true(nth > 10);
}

/* For lack of memory, literals have no codec. */
static void without_literals_parts_are_compared(void **state)
{
	struct packing packing;
	struct dense_sizes sizes;

	if (lacks_lzma_or_zstd())
		skip();
	packing = packing_in_parts("zstd:level=9");
	packing.has_literal = false;
	sizes = sizes_of_dense(&packing, 1);
	assert_int_equal(sizes.chosen, sizes.codec);
	assert_true(sizes.codec < sizes.dense);
}

static void memory_is_enough_to_compare_parts(void **state)
{
	auto_free uint8_t *far = dw_malloc(DENSE), *near = dw_malloc(DENSE);
	struct packing packing;

	if (lacks_lzma_or_zstd())
		skip();
	fill_with_repeated_lines(far, 1);
	fill_with_repeated_lines(near, 16);
	packing = packing_in_parts("lz4hc");
	for (unsigned i = 0; i < 2; i++) {
		packing.has_literal = i == 0;
		assert_true(memory_in_use(&packing, (struct span){ far, DENSE },
					  (struct span){ near, DENSE }) <=
			    dw_packing_memory(&packing, DENSE));
	}
}

/* -- a whole run --------------------------------------------------------------------- */

static uint64_t image_bytes(const struct place *place, const char *codec,
			    const char *waveform, uint32_t workers, const uint8_t *wav)
{
	dwarfs_builder *builder = new_builder(place, workers);
	dwarfs_image *image;
	struct stat stat_of;

	assert_int_equal(dwarfs_builder_set_categorizers(builder, "pcmaudio", NULL), 0);
	if (codec)
		assert_int_equal(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
							  codec, NULL),
				 0);
	if (waveform)
		assert_int_equal(dwarfs_builder_set_category_codec(
					 builder, "pcmaudio/waveform", waveform, NULL),
				 0);
	assert_int_equal(build(builder, place), 0);
	dwarfs_builder_free(builder);
	image = open_image(place);
	expect_bytes(image, "a.wav", wav, HEADER + BLOCK);
	dwarfs_image_free(image);
	assert_int_equal(stat(place->image, &stat_of), 0);
	assert_int_equal(unlink(place->image), 0);
	return (uint64_t)stat_of.st_size;
}

static void levels_fall_back_and_users_decide(void **state)
{
	static const uint8_t header[HEADER] =
		"RIFF\x24\0\4\0WAVEfmt \x10\0\0\0\1\0\1\0\x44\xac\0\0\x88\x58\1\0"
		"\2\0\x10\0data\0\0\4";
	auto_free uint8_t *wav = dw_malloc(HEADER + BLOCK);
	uint64_t level, flac, none;

	memcpy(wav, header, HEADER);
	fill_with_squares(wav + HEADER);
	put_file(*state, "a.wav", wav, HEADER + BLOCK);
	level = image_bytes(*state, NULL, NULL, 0, wav);
	assert_int_equal(image_bytes(*state, NULL, NULL, 3, wav), level);
	flac = image_bytes(*state, NULL, "flac:level=3", 0, wav);
	none = image_bytes(*state, "null", NULL, 0, wav);
	assert_true(level < flac);
	assert_int_equal(flac, none); /* there is no fallback */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smaller_one_is_taken),
		cmocka_unit_test(what_flac_refuses_is_packed_all_the_same),
		cmocka_unit_test(memory_counts_all_codecs),
		cmocka_unit_test(a_stop_is_for_all_codecs),
		cmocka_unit_test(literals_are_packed_by_another_codec),
		cmocka_unit_test(noise_is_packed_fast),
		cmocka_unit_test(compressed_data_is_packed_fast),
		cmocka_unit_test(compressed_data_is_as_small_as_by_the_codec),
		cmocka_unit_test(large_blocks_of_pictures_are_left_to_the_codec),
		cmocka_unit_test(lack_of_memory_is_an_error),
		cmocka_unit_test(a_stop_ends_literals),
		cmocka_unit_test(a_block_of_literals_counts_once),
		cmocka_unit_test(repeats_outside_of_the_sample_are_found),
		cmocka_unit_test(memory_is_that_of_the_larger_codec),
		cmocka_unit_test(numbers_are_packed_by_the_dense_codec),
		cmocka_unit_test(tables_are_packed_by_the_dense_codec),
		cmocka_unit_test(trials_do_not_examine_prose),
		cmocka_unit_test(repeats_decide_about_numbers),
		cmocka_unit_test(zstd_is_left_out_for_numbers),
		cmocka_unit_test(large_blocks_of_numbers_have_no_forecast),
		cmocka_unit_test(memory_is_enough_for_numbers),
		cmocka_unit_test(memory_is_enough_for_pictures),
		cmocka_unit_test(lack_of_memory_for_numbers_is_an_error),
		cmocka_unit_test(parts_are_for_what_repeats_near),
		cmocka_unit_test(what_repeats_a_little_is_packed_by_both),
		cmocka_unit_test(lzma_packs_no_parts_where_they_cost_something),
		cmocka_unit_test(lack_of_memory_for_parts_is_an_error),
		cmocka_unit_test(without_literals_parts_are_compared),
		cmocka_unit_test(dense_blocks_get_the_smaller_codec),
		cmocka_unit_test(forecasts_are_not_exact),
		cmocka_unit_test(trials_pack_dense_blocks_by_both),
		cmocka_unit_test(zstd_is_left_out_for_dense_blocks),
		cmocka_unit_test(memory_is_enough_for_dense_blocks),
		cmocka_unit_test(lack_of_memory_for_dense_blocks_is_an_error),
		cmocka_unit_test(memory_is_enough_to_compare_parts),
		TEST(levels_fall_back_and_users_decide),
	};
	const struct CMUnitTest with_threads[] = {
		TEST(levels_fall_back_and_users_decide),
	};

	if (!dw_codec_can_pack(CODEC_FLAC) || !dw_codec_can_pack(CODEC_LZ4HC)) {
		puts("this library was built without FLAC or lz4");
		return 77;
	}
	if (IS_THREAD_SANITIZED)
		return cmocka_run_group_tests(with_threads, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
