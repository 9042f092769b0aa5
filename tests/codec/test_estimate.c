/* SPDX-License-Identifier: MIT */
/*
 * codec: the memory that compression takes, counted, compared with the estimate, and with
 * the limit that specifications were reduced for.
 */
#include "support/codec_data.h"

#include <stdio.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <malloc.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void __libc_free(void *memory);

static size_t current, peak;

static void *count(void *memory)
{
	if (memory)
		current += malloc_usable_size(memory);
	if (current > peak)
		peak = current;
	return memory;
}

void *malloc(size_t size)
{
	return count(__libc_malloc(size));
}

void *calloc(size_t items, size_t size)
{
	return count(__libc_calloc(items, size));
}

void *realloc(void *memory, size_t size)
{
	void *larger;

	current -= memory ? malloc_usable_size(memory) : 0;
	larger = __libc_realloc(memory, size);
	if (!larger && memory)
		count(memory);
	return count(larger);
}

void free(void *memory)
{
	current -= memory ? malloc_usable_size(memory) : 0;
	__libc_free(memory);
}

/* The peak memory of a compressor, without the block and the output buffer. */
static size_t measure(const struct codec_spec *spec, struct span in)
{
	auto_buffer struct buffer out = { 0 };
	auto_codec struct codec *codec = NULL;
	size_t before;
	uint32_t id;

	assert_int_equal(dw_buffer_reserve(&out, in.size, NULL), 0);
	before = current;
	peak = current;
	assert_int_equal(dw_codec_new(spec, in.size, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, in, &out, &id, NULL), 0);
	return peak - before;
}

/* Large enough that tables dominate. */
enum { BIG = 4 << 20 };

/* The larger one is above a power of two, which tables are made for. */
enum { SMALL = 5000, LARGE = 9 << 17 };

/* slack: by how much, in percent, an estimate may exceed the kind of data that needs
 * most. */
static void check(const struct codec_spec *spec, uint8_t *data, size_t size,
		  unsigned slack)
{
	/* liblzma and libzstd allocate everything before they read data, and compress zeros
	 * in a tenth of the time. If the codec adapts, text has it try all options. */
	bool is_fixed = spec->id == CODEC_LZMA || spec->id == CODEC_ZSTD;
	enum kind first =
		is_fixed && !spec->adapts && size > SMALL ? KIND_ZEROS : KIND_TEXT;
	enum kind kinds[] = { first, KIND_RANDOM };
	const int count = is_fixed && !spec->bcj && size > SMALL ? 1 : 2;
	uint64_t estimate = dw_codec_memory(spec, size);
	size_t most = 0;

	for (int i = 0; i < count; i++) {
		size_t real;

		fill(data, size, kinds[i]);
		real = measure(spec, (struct span){ data, size });
		most = real > most ? real : most;
	}
	assert_true(most <= estimate);
	if (most > BIG)
		assert_true(estimate <= most + (uint64_t)most * slack / 100);
}

static void check_text(const char *text, uint8_t *data, size_t size, unsigned slack)
{
	struct codec_spec spec;
	int ret = dw_codec_parse(text, &spec, NULL);

	if (ret == DWARFS_ERR_UNSUPPORTED)
		return;
	assert_int_equal(ret, 0);
	check(&spec, data, size, slack);
}

/* Where a search takes long and no memory, it is short: slog, nice and depth. */
static void estimates_hold(void **state)
{
	static const struct {
		const char *text;
		unsigned slack;
	} each[] = {
		{ "lz4", 0 },
		{ "lz4hc:level=3", 0 },
		{ "zstd:-3", 5 },
		{ "zstd:1", 5 },
		{ "zstd:3:long", 5 },
		{ "zstd:5", 5 },
		{ "zstd:9", 5 },
		{ "zstd:12", 5 },
		{ "zstd:15", 5 },
		{ "zstd:17", 5 },
		{ "zstd:19", 5 },
		{ "zstd:22", 5 },
		{ "zstd:22:tlen=256:slog=7", 5 },
		{ "zstd:22:slog=1:adapt", 5 },
		{ "zstd:19:clog=18:hlog=17:slog=1:long:adapt", 5 },
		{ "zstd:3:adapt", 5 },
		{ "zstd:3:mml=6:adapt", 5 },
		{ "zstd:19:wlog=24:clog=24:hlog=23", 5 },
		{ "zstd:19:clog=18:hlog=17:long", 5 },
		{ "zstd:4:strat=6:lhlog=18:lmml=32", 5 },
		{ "lzma:0", 25 },
		{ "lzma:3", 25 },
		{ "lzma:6", 25 },
		{ "lzma:9:extreme", 25 },
		{ "lzma:6:dict_size=20", 25 },
		{ "lzma:6:block_size=18", 25 },
		{ "lzma:0:block_size=12", 25 },
		{ "lzma:0:adapt", 25 },
		{ "lzma:0:adapt:block_size=12", 25 },
		{ "lzma:6:block_size=20:check=none:binary=x86:nice=8:depth=1", 25 },
		{ "lzma:6:binary=x86:nice=8:depth=1", 25 },
		{ "lzma:4:mf=hc3:mode=fast:nice=100", 25 },
		{ "brotli:0", 100 },
		{ "brotli:2", 100 },
		{ "brotli:4", 100 },
		{ "brotli:6", 100 },
		{ "brotli:9", 100 },
		{ "brotli:9:lgwin=18", 100 },
	};
	static const size_t sizes[] = { SMALL, LARGE };
	auto_free uint8_t *data = exactly(LARGE);

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++)
			check_text(each[i].text, data, sizes[j], each[i].slack);
}

/* No window is copied: 16 MiB and tables for trees of 2^23 and hashes of 2^23. */
static void zstd_takes_its_tables_only(void **state)
{
	enum { SIZE = 16 << 20, MIB = 1 << 20 };
	auto_free uint8_t *data = exactly(SIZE);
	struct codec_spec spec;
	size_t real;

	if (dw_codec_parse("zstd:level=19:wlog=24:clog=24:hlog=23", &spec, NULL) < 0)
		return;
	fill(data, SIZE, KIND_ZEROS);
	real = measure(&spec, (struct span){ data, SIZE });
	assert_true(real <= (size_t)98 * MIB);
	assert_true(dw_codec_memory(&spec, SIZE) <= (uint64_t)98 * MIB);
}

static void samples_take_what_was_said(void **state)
{
	static const struct codec_samples sound = { .is_known = true,
						    .bytes_per_sample = 2,
						    .bits_per_sample = 16 };
	enum { SIZE = 2 * 3 * 8 * 20000 };
	auto_free uint8_t *data = exactly(SIZE);
	struct codec_spec spec;

	assert_int_equal(dw_codec_parse("ricepp", &spec, NULL), 0);
	spec.samples = sound;
	spec.samples.channels = 2;
	check(&spec, data, SIZE, 25);
	if (!dw_codec_can_pack(CODEC_FLAC))
		return;
	assert_int_equal(dw_codec_parse("flac", &spec, NULL), 0);
	for (spec.level = 0; spec.level <= 8; spec.level++)
		for (unsigned channels = 1; channels <= 8; channels++)
			for (unsigned bytes = 2; bytes <= 3; bytes++) {
				spec.samples = sound;
				spec.samples.channels = (uint16_t)channels;
				spec.samples.bytes_per_sample = (uint8_t)bytes;
				spec.samples.bits_per_sample = (uint8_t)(8 * bytes);
				spec.exhaustive = spec.level == 8;
				check(&spec, data, 24000 * channels, 25);
			}
}

/* Reduced step by step to the minimum, each step with less memory; compression still
 * works. */
static void less_memory_will_do(void **state)
{
	static const char *const each[] = { "zstd:22",
					    "zstd:3",
					    "zstd:9:long",
					    "zstd:15",
					    "lzma:9",
					    "lzma:6:binary=x86",
					    "lzma:6:block_size=22",
					    "brotli:5" };
	enum { SIZE = 1 << 20, HUGE_BLOCK = 64 << 20, LEAST = 12 << 20, STEPS = 60 };
	auto_free uint8_t *data = exactly(SIZE);

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct codec_spec spec, before;
		uint64_t bytes;
		unsigned steps = 0;

		if (dw_codec_parse(each[i], &spec, NULL) < 0)
			continue;
		bytes = dw_codec_memory(&spec, HUGE_BLOCK);
		for (before = spec; dw_codec_shrink(&spec, HUGE_BLOCK); before = spec) {
			assert_true(dw_codec_memory(&spec, HUGE_BLOCK) < bytes);
			bytes = dw_codec_memory(&spec, HUGE_BLOCK);
			assert_true(++steps < STEPS);
		}
		assert_memory_equal(&spec, &before, sizeof(spec));
		if (spec.id != CODEC_BROTLI)
			assert_true(bytes <= LEAST);
		fill(data, SIZE,
		     spec.id == CODEC_LZMA   ? KIND_RUNS
		     : spec.id == CODEC_ZSTD ? KIND_ZEROS /* as in check() */
					     : KIND_TEXT);
		assert_true(measure(&spec, (struct span){ data, SIZE }) <= bytes);
	}
}

static void nothing_is_less_than_that(void **state)
{
	static const char *const each[] = { "null", "lz4", "lz4hc", "zstd:1" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct codec_spec spec, before;

		if (dw_codec_parse(each[i], &spec, NULL) < 0)
			continue;
		before = spec;
		assert_false(dw_codec_shrink(&spec, 16 << 20));
		assert_memory_equal(&spec, &before, sizeof(spec));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_hold),
		cmocka_unit_test(zstd_takes_its_tables_only),
		cmocka_unit_test(samples_take_what_was_said),
		cmocka_unit_test(less_memory_will_do),
		cmocka_unit_test(nothing_is_less_than_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("allocations can be counted with glibc only, and not under sanitizers");
	return 77;
}

#endif
