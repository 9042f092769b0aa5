/* SPDX-License-Identifier: MIT */
/*
 * codec: specifications, round trips with every encoder, and damaged input.
 */
#include "support/codec_data.h"
#include "support/effort.h"

#include <stdio.h>

#include <dwarfs/builder.h>
#include <dwarfs/image.h>

#include "config.h"

static const char *const specs[] = {
	"null",
	"none",
	"lz4",
	"lz4hc",
	"lz4hc:0",
	"lz4hc:level=12",
	"zstd:level=1",
	"zstd:3",
	"zstd:11:long",
	"zstd:22:adapt",
	"zstd:-7",
	"zstd:level=19:wlog=24:clog=17:hlog=16:slog=2",
	"zstd:level=22:tlen=256:slog=5:mml=4:strat=8",
	"zstd:3:long:lhlog=12:lmml=32:lblog=4:lhrlog=3:wlog=16",
	"zstd:19",
	"zstd",
	"lzma:0",
	"lzma:level=6:extreme",
	"lzma:9",
	"lzma:level=3:dict_size=16:binary=x86",
	"lzma:1:binary=arm",
	"lzma:1:block_size=12",
	"lzma:3:block_size=14:binary=auto:check=none",
	"lzma:0:check=crc32",
	"lzma:5:mf=bt3:mode=normal:nice=64:depth=20",
	"brotli:0",
	"brotli:quality=5:lgwin=16",
	"brotli",
	"brotli:quality=3:lgwin=30",
};

#define SPEC_COUNT (sizeof(specs) / sizeof(specs[0]))

/* False when this library was built without the codec. */
static bool parse(const char *text, struct codec_spec *spec)
{
	int ret = dw_codec_parse(text, spec, NULL);

	if (ret == DWARFS_ERR_UNSUPPORTED)
		return false;
	assert_int_equal(ret, 0);
	return true;
}

static void check_packed(struct span in, const struct buffer *out, uint32_t id)
{
	auto_free uint8_t *packed = copy_of(out->data, out->size);
	auto_free uint8_t *back = exactly(in.size);
	struct span span = { packed, out->size };
	uint64_t announced = 0;

	if (id == CODEC_NONE) {
		assert_int_equal(out->size, 0);
		return;
	}
	assert_true(out->size < in.size);
	assert_int_equal(dw_codec_unpacked_size(id, span, &announced, NULL), 0);
	assert_int_equal(announced, in.size);
	assert_int_equal(dw_codec_unpack(id, span, back, in.size, NULL), 0);
	assert_memory_equal(back, in.data, in.size);
	refuse_other_sizes(id, packed, out->size, in.size);
}

static void round_trip(const char *text, size_t size)
{
	auto_codec struct codec *codec = NULL;
	auto_free uint8_t *data = exactly(size);
	struct codec_spec spec;

	if (!parse(text, &spec))
		return;
	assert_int_equal(dw_codec_new(&spec, size, &codec, NULL), 0);
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		auto_buffer struct buffer out = { 0 };
		struct span in = { data, size };
		uint32_t id = 99;

		fill(data, size, kind);
		assert_int_equal(dw_codec_pack(codec, in, &out, &id, NULL), 0);
		check_packed(in, &out, id);
		if (kind == KIND_RANDOM)
			assert_int_equal(id, CODEC_NONE);
		if (kind != KIND_RANDOM && size > 1000 && spec.id != CODEC_NONE)
			assert_true(id == spec.id ||
				    (id == CODEC_LZ4 && spec.id == CODEC_LZ4HC));
	}
}

static void what_is_packed_comes_back(void **state)
{
	static const size_t sizes[] = { 1, 2, 100, 4096, 65537, 140000 };
	const size_t count = sizeof(sizes) / sizeof(sizes[0]);
	const size_t used = is_under_valgrind() ? count - 2 : count;

	for (size_t i = 0; i < SPEC_COUNT; i++)
		for (size_t j = 0; j < used; j++)
			round_trip(specs[i], sizes[j]);
}

static void all_zstd_levels_work(void **state)
{
	char text[32];

	for (int level = 1; level <= 22; level++) {
		snprintf(text, sizeof(text), "zstd:level=%d", level);
		round_trip(text, is_under_valgrind() ? 7000 : 70000);
	}
}

/* The same bytes for any earlier input of the object, and any capacity of out. */
static void packing_is_deterministic(void **state)
{
	const size_t size = is_under_valgrind() ? 10000 : 75000;
	auto_free uint8_t *data = exactly(size);
	auto_free uint8_t *other = exactly(size);
	struct span in = { data, size - size / 8 }, before = { other, size };

	fill(data, size, KIND_TEXT);
	fill(other, size, KIND_RUNS);
	for (size_t i = 0; i < SPEC_COUNT; i++) {
		auto_codec struct codec *used = NULL, *fresh = NULL;
		auto_buffer struct buffer first = { 0 }, second = { 0 };
		struct codec_spec spec;
		uint32_t id;

		if (!parse(specs[i], &spec))
			continue;
		assert_int_equal(dw_codec_new(&spec, size, &used, NULL), 0);
		assert_int_equal(dw_codec_new(&spec, size, &fresh, NULL), 0);
		assert_int_equal(dw_codec_pack(used, before, &first, &id, NULL), 0);
		first.size = 0;
		assert_int_equal(dw_codec_pack(used, in, &first, &id, NULL), 0);
		assert_int_equal(dw_codec_pack(fresh, in, &second, &id, NULL), 0);
		assert_int_equal(first.size, second.size);
		if (first.size)
			assert_memory_equal(first.data, second.data, first.size);
	}
}

/* A switch cancels slow codecs, and the cancelled block does not affect the next one. */
static void a_switch_ends_packing(void **state)
{
	static const char *const slow[] = { "zstd:level=3", "lzma:level=1",
					    "lzma:level=1:block_size=16",
					    "brotli:quality=3", "lz4hc:level=9" };
	enum { SIZE = 300000 };
	auto_free uint8_t *data = exactly(SIZE);
	struct span in = { data, SIZE };

	fill(data, SIZE, KIND_TEXT);
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++) {
		auto_codec struct codec *codec = NULL;
		auto_buffer struct buffer out = { 0 };
		atomic_bool stop = true;
		struct codec_spec spec;
		uint32_t id = 99;

		if (!parse(slow[i], &spec))
			continue;
		assert_int_equal(dw_codec_new(&spec, SIZE, &codec, NULL), 0);
		dw_codec_set_stop(codec, &stop);
		assert_int_equal(dw_codec_pack(codec, in, &out, &id, NULL),
				 DWARFS_ERR_CANCELLED);
		assert_int_equal(out.size, 0);
		atomic_store(&stop, false);
		assert_int_equal(dw_codec_pack(codec, in, &out, &id, NULL), 0);
		check_packed(in, &out, id);
	}
}

static void an_empty_block_stays_as_it_is(void **state)
{
	for (size_t i = 0; i < SPEC_COUNT; i++) {
		auto_codec struct codec *codec = NULL;
		auto_buffer struct buffer out = { 0 };
		struct codec_spec spec;
		uint32_t id = 99;

		if (!parse(specs[i], &spec))
			continue;
		assert_int_equal(dw_codec_new(&spec, 0, &codec, NULL), 0);
		assert_int_equal(
			dw_codec_pack(codec, (struct span){ 0 }, &out, &id, NULL), 0);
		assert_int_equal(id, CODEC_NONE);
		assert_int_equal(out.size, 0);
	}
}

static void damage_is_survived(void **state)
{
	const size_t size = is_under_valgrind() ? 1500 : 3000;
	auto_free uint8_t *data = exactly(size);
	static const char *const each[] = { "lz4",
					    "lz4hc",
					    "zstd:5",
					    "lzma:3",
					    "brotli:5",
					    "brotli:5:lgwin=30",
					    "lzma:1:block_size=12:check=none",
					    "lzma:1:binary=x86" };

	fill(data, size, KIND_TEXT);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		auto_codec struct codec *codec = NULL;
		auto_buffer struct buffer out = { 0 };
		struct codec_spec spec;
		uint32_t id;

		if (!parse(each[i], &spec))
			continue;
		assert_int_equal(dw_codec_new(&spec, size, &codec, NULL), 0);
		assert_int_equal(dw_codec_pack(codec, (struct span){ data, size }, &out,
					       &id, NULL),
				 0);
		assert_int_not_equal(id, CODEC_NONE);
		survive_damage(id, out.data, out.size, size);
	}
}

static void sizes_that_lie_are_refused(void **state)
{
	static const uint8_t lz4[] = { 0xFF, 0xFF, 0xFF, 0xFF, 0x00 };
	static const uint8_t brotli[] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
					  0xFF, 0xFF, 0xFF, 0x01, 0x06 };
	static const uint8_t overlong[] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
					    0xFF, 0xFF, 0xFF, 0x02, 0x06 };
	uint64_t size = 0;

	if (dw_codec_can_pack(CODEC_LZ4)) {
		assert_int_equal(dw_codec_unpacked_size(CODEC_LZ4,
							(struct span){ lz4, sizeof(lz4) },
							&size, NULL),
				 0);
		assert_int_equal(size, UINT32_MAX);
		survive(CODEC_LZ4, lz4, sizeof(lz4), 100);
	}
	if (dw_codec_can_pack(CODEC_BROTLI)) {
		struct span span = { brotli, sizeof(brotli) };

		assert_int_equal(dw_codec_unpacked_size(CODEC_BROTLI, span, &size, NULL),
				 0);
		assert_true(size == UINT64_MAX);
		survive(CODEC_BROTLI, brotli, sizeof(brotli), 100);
		span = (struct span){ overlong, sizeof(overlong) };
		assert_int_equal(dw_codec_unpacked_size(CODEC_BROTLI, span, &size, NULL),
				 DWARFS_ERR_CORRUPT);
	}
}

static void none_is_a_copy(void **state)
{
	uint8_t out[3] = { 0 };
	struct span in = { (const uint8_t *)"abc", 3 };
	uint64_t size = 0;

	assert_int_equal(dw_codec_unpacked_size(CODEC_NONE, in, &size, NULL), 0);
	assert_int_equal(size, 3);
	assert_int_equal(dw_codec_unpack(CODEC_NONE, in, out, 3, NULL), 0);
	assert_memory_equal(out, "abc", 3);
	assert_int_equal(dw_codec_unpack(CODEC_NONE, in, out, 2, NULL),
			 DWARFS_ERR_CORRUPT);
	assert_int_equal(dw_codec_unpack(CODEC_NONE, (struct span){ 0 }, NULL, 0, NULL),
			 0);
}

static void unknown_ids_are_unsupported(void **state)
{
	dwarfs_error *err = NULL;
	uint8_t byte = 0;

	assert_int_equal(dw_codec_unpack(8, (struct span){ &byte, 1 }, &byte, 1, &err),
			 DWARFS_ERR_UNSUPPORTED);
	assert_string_equal(dwarfs_error_message(err), "compression 8 is not known");
	dwarfs_error_free(err);
	assert_false(dw_codec_can_pack((enum codec_id)UINT32_MAX));
	assert_true(dw_codec_can_pack(CODEC_RICEPP));
	assert_false(dw_codec_can_pack((enum codec_id)8));
}

/* Functions that other modules call instead of comparing ids. */
static void codecs_have_properties(void **state)
{
	struct codec_spec spec;

	for (uint32_t id = 0; id <= CODEC_RICEPP; id++)
		assert_true(dw_codec_is_known(id));
	assert_false(dw_codec_is_known(CODEC_RICEPP + 1));
	assert_string_equal(dw_codec_name(CODEC_NONE), "null");
	assert_string_equal(dw_codec_name(CODEC_RICEPP), "ricepp");
	assert_false(dw_codec_size_at_end(CODEC_RICEPP));
	if (dw_codec_parse("lzma", &spec, NULL) == 0) {
		assert_true(dw_codec_size_at_end(CODEC_LZMA));
		assert_true(dw_codec_finds_matches(&spec));
		spec.level = 0;
		assert_int_equal(dw_codec_speed(&spec), CODEC_SLOW);
	}
	if (dw_codec_parse("zstd:12", &spec, NULL) == 0) {
		assert_int_equal(dw_codec_speed(&spec), CODEC_MEDIUM);
		spec.level = 6;
		assert_int_equal(dw_codec_speed(&spec), CODEC_FAST);
		spec.level = 13;
		assert_int_equal(dw_codec_speed(&spec), CODEC_SLOW);
		assert_true(dw_codec_finds_matches(&spec));
	}
	if (dw_codec_parse("lz4", &spec, NULL) == 0) {
		assert_int_equal(dw_codec_speed(&spec), CODEC_FAST);
		assert_false(dw_codec_finds_matches(&spec));
	}
}

static void expect_refusal(const char *text, int code, const char *names)
{
	struct codec_spec spec = { .id = (enum codec_id)77 };
	dwarfs_error *err = NULL;

	assert_int_equal(dw_codec_parse(text, &spec, &err), code);
	assert_non_null(strstr(dwarfs_error_message(err), names));
	assert_int_equal((int)spec.id, 77);
	dwarfs_error_free(err);
}

static void bad_specifications_are_refused_by_name(void **state)
{
	char long_text[1000];

	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	expect_refusal(long_text, DWARFS_ERR_INVALID, "characters");
	expect_refusal("", DWARFS_ERR_INVALID, "unknown compression: ");
	expect_refusal("gzip", DWARFS_ERR_INVALID, "unknown compression: gzip");
	if (!dw_codec_can_pack(CODEC_FLAC))
		expect_refusal("flac", DWARFS_ERR_UNSUPPORTED, "flac");
	expect_refusal("null:3", DWARFS_ERR_INVALID, "3");
	if (dw_codec_can_pack(CODEC_ZSTD)) {
		expect_refusal("zstd:-131073", DWARFS_ERR_RANGE, "level=-131073");
		expect_refusal("zstd:level=--1", DWARFS_ERR_INVALID, "--1");
		expect_refusal("zstd:level=-", DWARFS_ERR_INVALID, "-");
		expect_refusal("zstd:wlog=9", DWARFS_ERR_RANGE, "wlog=9");
		expect_refusal("zstd:strat=10", DWARFS_ERR_RANGE, "strat=10");
		expect_refusal("zstd:mml=-3", DWARFS_ERR_RANGE, "mml=-3");
		expect_refusal("zstd:level=23", DWARFS_ERR_RANGE, "level=23");
		expect_refusal("zstd:level=99999999999999999999", DWARFS_ERR_RANGE,
			       "99999999999999999999");
		expect_refusal("zstd:level=", DWARFS_ERR_INVALID, "level");
		expect_refusal("zstd:level", DWARFS_ERR_INVALID, "level");
		expect_refusal("zstd:", DWARFS_ERR_INVALID, "''");
		expect_refusal("zstd:long=1", DWARFS_ERR_INVALID, "long");
		expect_refusal("zstd:extreme", DWARFS_ERR_INVALID, "extreme");
	}
	if (dw_codec_can_pack(CODEC_LZMA)) {
		expect_refusal("lzma:binary=vax", DWARFS_ERR_INVALID, "vax");
		expect_refusal("lzma:dict_size=11", DWARFS_ERR_RANGE, "dict_size=11");
		expect_refusal("lzma:block_size=11", DWARFS_ERR_RANGE, "block_size=11");
		expect_refusal("lzma:check=md5", DWARFS_ERR_INVALID, "md5");
		expect_refusal("lzma:dict_size=31", DWARFS_ERR_RANGE, "dict_size=31");
	}
}

static void specifications_say_what_they_mean(void **state)
{
	struct codec_spec spec;

	if (parse("zstd:level=19:long", &spec)) {
		assert_int_equal(spec.id, CODEC_ZSTD);
		assert_int_equal(spec.level, 19);
		assert_true(spec.long_matches);
	}
	if (parse("zstd", &spec))
		assert_int_equal(spec.level, 22);
	if (parse("zstd:-5", &spec))
		assert_int_equal(spec.level, -5);
	if (parse("zstd:wlog=20:hlog=21:clog=22:slog=5:mml=3:tlen=64:strat=7:lhlog=18:"
		  "lmml=65:lblog=4:lhrlog=6",
		  &spec)) {
		assert_int_equal(spec.level, 22);
		assert_int_equal(spec.window_log, 20);
		assert_int_equal(spec.hash_log, 21);
		assert_int_equal(spec.chain_log, 22);
		assert_int_equal(spec.search_log, 5);
		assert_int_equal(spec.min_match, 3);
		assert_int_equal(spec.target_length, 64);
		assert_int_equal(spec.strategy, 7);
		assert_int_equal(spec.long_hash_log, 18);
		assert_int_equal(spec.long_min_match, 65);
		assert_int_equal(spec.long_bucket_log, 4);
		assert_int_equal(spec.long_rate_log, 6);
		assert_false(spec.long_matches);
	}
	if (parse("lz4hc", &spec))
		assert_int_equal(spec.level, 9);
	if (parse("lzma:dict_size=20:extreme", &spec)) {
		assert_int_equal(spec.level, 9);
		assert_int_equal(spec.window_log, 20);
		assert_true(spec.extreme);
	}
	if (parse("brotli:lgwin=24", &spec)) {
		assert_int_equal(spec.level, 11);
		assert_int_equal(spec.window_log, 24);
	}
}

static void options_that_clash_are_refused(void **state)
{
	struct codec_spec spec;
	struct codec *codec = NULL;

	if (!parse("lzma:9:mf=bt4:nice=1", &spec))
		return;
	assert_int_equal(dw_codec_new(&spec, 1000, &codec, NULL), DWARFS_ERR_INVALID);
	assert_null(codec);
}

static void names_are_those_of_the_format(void **state)
{
	static const char *const names[] = { "NONE",  "LZMA",	"ZSTD", "LZ4",
					     "LZ4HC", "BROTLI", "FLAC", "RICEPP" };

	for (uint32_t i = 0; i < 8; i++)
		assert_string_equal(dwarfs_compression_name(i), names[i]);
	assert_string_equal(dwarfs_compression_name(8), "UNKNOWN");
	assert_int_equal(strncmp(dwarfs_codec_help(0), "null", 4), 0);
	for (size_t i = 0; dwarfs_codec_help(i); i++)
		assert_true(i < 8);
}

static void expect_reach(const char *text, size_t reach)
{
	struct codec_spec spec;

	if (parse(text, &spec))
		assert_int_equal(dw_codec_reach(&spec, 1 << 24), reach);
}

static void reach_is_that_of_the_window(void **state)
{
	(void)state;
	expect_reach("null", 0);
	expect_reach("lz4", 65535);
	expect_reach("lz4hc", 65535);
	expect_reach("zstd:level=3", 1 << 24);
	expect_reach("zstd:level=19:wlog=20", 1 << 20);
	expect_reach("lzma:level=6:dict_size=22", 1 << 22);
	expect_reach("lzma:level=9:dict_size=30", 1 << 24);
	expect_reach("lzma:level=6", 1 << 23);
	expect_reach("lzma:level=9:block_size=21", 1 << 21);
	expect_reach("brotli", 1 << 24);
	expect_reach("brotli:lgwin=20", 1 << 20);
	expect_reach("flac", 1 << 24);
}

/* Estimates grow with the work, within bounds. */
static void memory_is_estimated(void **state)
{
	for (size_t i = 0; i < SPEC_COUNT; i++) {
		struct codec_spec spec;

		if (!parse(specs[i], &spec) || spec.id == CODEC_NONE)
			continue;
		assert_true(dw_codec_memory(&spec, 1 << 20) >= 1 << 12);
		assert_true(dw_codec_memory(&spec, 1 << 24) <= UINT64_C(1) << 30);
		assert_true(dw_codec_memory(&spec, 1 << 24) >=
			    dw_codec_memory(&spec, 1 << 16));
	}
}

/* Two streams with padding between and after them are decoded as one. */
static void xz_streams_may_be_joined(void **state)
{
	enum { SIZE = 5000, PADDING = 8 };
	auto_codec struct codec *codec = NULL;
	auto_buffer struct buffer one = { 0 }, two = { 0 };
	auto_free uint8_t *data = exactly(SIZE);
	uint8_t back[2 * SIZE];
	uint8_t zeros[PADDING] = { 0 };
	struct codec_spec spec;
	uint64_t size = 0;
	uint32_t id;

	if (!parse("lzma:1", &spec))
		return;
	fill(data, SIZE, KIND_TEXT);
	assert_int_equal(dw_codec_new(&spec, SIZE, &codec, NULL), 0);
	assert_int_equal(
		dw_codec_pack(codec, (struct span){ data, SIZE }, &one, &id, NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dw_buffer_append(&two, one.data, one.size, NULL), 0);
		assert_int_equal(dw_buffer_append(&two, zeros, PADDING, NULL), 0);
	}
	assert_int_equal(dw_codec_unpacked_size(id, dw_buffer_span(&two), &size, NULL),
			 0);
	assert_int_equal(size, 2 * SIZE);
	assert_int_equal(
		dw_codec_unpack(id, dw_buffer_span(&two), back, sizeof(back), NULL), 0);
	assert_memory_equal(back, data, SIZE);
	assert_memory_equal(back + SIZE, data, SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codecs_have_properties),
		cmocka_unit_test(none_is_a_copy),
		cmocka_unit_test(unknown_ids_are_unsupported),
		cmocka_unit_test(bad_specifications_are_refused_by_name),
		cmocka_unit_test(specifications_say_what_they_mean),
		cmocka_unit_test(options_that_clash_are_refused),
		cmocka_unit_test(names_are_those_of_the_format),
		cmocka_unit_test(reach_is_that_of_the_window),
		cmocka_unit_test(memory_is_estimated),
		cmocka_unit_test(what_is_packed_comes_back),
		cmocka_unit_test(all_zstd_levels_work),
		cmocka_unit_test(packing_is_deterministic),
		cmocka_unit_test(a_switch_ends_packing),
		cmocka_unit_test(an_empty_block_stays_as_it_is),
		cmocka_unit_test(xz_streams_may_be_joined),
		cmocka_unit_test(sizes_that_lie_are_refused),
		cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
