/* SPDX-License-Identifier: MIT */
/*
 * order trial: the order that packs best is chosen, the first one of nearly equal ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/encode/encode.h"
#include "support/random.h"
#include "support/write_run.h"
#include "write/budget/budget.h"
#include "write/order/auto/trial.h"
#include "write/pack/block_packer.h"

#define FILES	   48
#define FILE_BYTES 12000
#define LETTERS	   12

#define ARRAY_BYTES (3 << 16)
#define ARRAYS	    12

/* A file of random letters of an alphabet. */
static void put_letters_of(const struct place *place, const char *name, unsigned alphabet,
			   uint32_t random)
{
	uint8_t data[FILE_BYTES];

	for (size_t i = 0; i < sizeof(data); i++) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		data[i] = (uint8_t)('0' + alphabet * LETTERS + (random >> 16) % LETTERS);
	}
	put_file(place, name, data, sizeof(data));
}

/* Of one of several alphabets, in turns by path. */
static void put_letters(const struct place *place, unsigned alphabets)
{
	char name[32];

	for (unsigned f = 0; f < FILES; f++) {
		snprintf(name, sizeof(name), "file%02u", f);
		put_letters_of(place, name, f % alphabets, 1 + f);
	}
}

static uint64_t pack_at_level(const struct place *place, uint32_t level,
			      const char *codec, const char *order, unsigned block_bits)
{
	dwarfs_builder *builder = new_builder(place, 0);
	uint64_t size;
	FILE *image;

	dwarfs_builder_set_history(builder, false);
	dwarfs_builder_set_create_timestamp(builder, false);
	assert_int_equal(dwarfs_builder_set_level(builder, level, NULL), 0);
	if (codec)
		assert_int_equal(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
							  codec, NULL),
				 0);
	assert_int_equal(dwarfs_builder_set_order(builder, order, NULL), 0);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, block_bits, NULL), 0);
	remove(place->image);
	assert_int_equal(build(builder, place), 0);
	dwarfs_builder_free(builder);
	image = fopen(place->image, "rb");
	assert_non_null(image);
	assert_int_equal(fseek(image, 0, SEEK_END), 0);
	size = (uint64_t)ftell(image);
	fclose(image);
	return size;
}

/* With the codec of level 7, or another one. */
static uint64_t pack_with(const struct place *place, const char *codec, const char *order,
			  unsigned block_bits)
{
	return pack_at_level(place, 7, codec, order, block_bits);
}

static uint64_t pack_by(const struct place *place, const char *order, unsigned block_bits)
{
	return pack_with(place, NULL, order, block_bits);
}

static void expect_similar_together(const struct place *place, unsigned block_bits)
{
	uint64_t by_path, alike, chosen;

	put_letters(place, 4);
	by_path = pack_by(place, "path", block_bits);
	alike = pack_by(place, "nilsimsa", block_bits);
	assert_true(alike < by_path - by_path / 100);
	chosen = pack_by(place, "auto", block_bits);
	assert_non_null(strstr(all_messages(), "order: nilsimsa"));
	assert_true(chosen < by_path - by_path / 100);
	dwarfs_image_free(open_image(place));
}

static void files_of_one_alphabet_are_brought_together(void **state)
{
	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	expect_similar_together(*state, 24);
	assert_null(strstr(all_messages(), "order path: score"));
}

/* Bytes that are all new are forecast to be as many in each order. */
static void equal_forecasts_are_tried(void **state)
{
	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	expect_similar_together(*state, 18);
	assert_non_null(strstr(all_messages(), "order path: score"));
}

/* By path alphabets alternate, by file name they do not. */
static void put_directories(const struct place *place)
{
	char name[32];

	for (unsigned d = 0; d < 8; d++) {
		snprintf(name, sizeof(name), "directory%u", d);
		put_dir(place, name);
		for (unsigned f = 0; f < 4; f++) {
			snprintf(name, sizeof(name), "directory%u/file%u", d, f);
			put_letters_of(place, name, f, 1 + d * 4 + f);
		}
	}
}

/* Values of an array, each near the one before it: samples of 16 bits, or numbers of 24. */
static void put_array(const struct place *place, const char *name, unsigned bytes,
		      uint32_t random, size_t size)
{
	static uint8_t data[ARRAY_BYTES];
	uint32_t value = UINT32_C(1) << (8 * bytes - 2);
	uint32_t most = bytes == 2 ? 300 : 180000;

	for (size_t i = 0; i + bytes <= size; i += bytes) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		value += (uint32_t)((uint64_t)random * most >> 32) - most / 2;
		for (unsigned b = 0; b < bytes; b++)
			data[i + b] = (uint8_t)(value >> 8 * b);
	}
	put_file(place, name, data, size);
}

/* Of two types, in turns by path. */
static void put_arrays(const struct place *place, unsigned count, size_t bytes)
{
	char name[32];

	for (unsigned f = 0; f < count; f++) {
		snprintf(name, sizeof(name), "array%02u", f);
		put_array(place, name, 2 + f % 2, 1 + f, bytes);
	}
}

/* With the codec of the last trial; 0: it was not tried. */
static uint64_t size_in_trial(const char *order)
{
	uint64_t size = 0;
	char tried[64];

	snprintf(tried, sizeof(tried), "order %s: ", order);
	for (const char *at = all_messages(); (at = strstr(at, tried)); at++)
		if (strspn(at + strlen(tried), "0123456789") > 0)
			size = strtoull(at + strlen(tried), NULL, 10);
	return size;
}

/* zstd makes none of it smaller, in any order; lzma does, more where arrays of one type are side by
 * side. */
static void arrays_of_one_type_are_brought_together(void **state)
{
	enum { SMALL_ARRAYS = 36, SMALL_ARRAY_BYTES = 3 << 14 };
	const uint64_t bytes = SMALL_ARRAYS * SMALL_ARRAY_BYTES;
	const struct place *place = *state;
	uint64_t by_path;

	if (!dw_codec_can_pack(CODEC_ZSTD) || !dw_codec_can_pack(CODEC_LZMA))
		skip();
	put_arrays(place, SMALL_ARRAYS, SMALL_ARRAY_BYTES);
	pack_by(place, "auto", 21);
	assert_null(strstr(all_messages(), "order: path"));
	by_path = size_in_trial("path");
	assert_in_range(by_path, 1, bytes - bytes / 10);
	assert_in_range(size_in_trial("nilsimsa"), 1, by_path - by_path / 200);
}

static void expect_in_trial_at_level(const struct place *place, uint32_t level,
				     uint64_t least, uint64_t most)
{
	put_arrays(place, ARRAYS, ARRAY_BYTES);
	pack_at_level(place, level, NULL, "auto", 21);
	assert_in_range(size_in_trial("path"), least, most);
}

/* At level 5, lzma is for dense blocks only; at level 9, where it packs all blocks, trials are packed by
 * zstd but for dense blocks and numbers. */
static void numbers_are_left_to_zstd_at_level_5(void **state)
{
	const uint64_t bytes = ARRAYS * ARRAY_BYTES;

	if (!dw_codec_can_pack(CODEC_ZSTD) || !dw_codec_can_pack(CODEC_LZMA))
		skip();
	expect_in_trial_at_level(*state, 5, bytes - bytes / 20, bytes);
}

static void numbers_are_packed_by_lzma_at_level_9(void **state)
{
	const uint64_t bytes = ARRAYS * ARRAY_BYTES;

	if (!dw_codec_can_pack(CODEC_ZSTD) || !dw_codec_can_pack(CODEC_LZMA))
		skip();
	expect_in_trial_at_level(*state, 9, 1, bytes - bytes / 10);
}

/* Letters and arrays in turns: a fifth of each block are numbers, which is too little. */
static void numbers_that_the_first_order_lacks_are_not_looked_for(void **state)
{
	enum { LETTER_BYTES = 640 << 10, PAIRS = 7, NUMBER_BYTES = 160 << 10 };
	const struct place *place = *state;
	auto_free uint8_t *letters = dw_malloc(LETTER_BYTES);
	uint64_t by_path, alike;
	uint32_t random = 5;
	char name[32];

	if (!dw_codec_can_pack(CODEC_ZSTD) || !dw_codec_can_pack(CODEC_LZMA))
		skip();
	for (unsigned f = 0; f < PAIRS; f++) {
		for (size_t i = 0; i < LETTER_BYTES; i++)
			letters[i] = (uint8_t)('a' + (next_random(&random) & 15));
		snprintf(name, sizeof(name), "file%02u", 2 * f);
		put_file(place, name, letters, LETTER_BYTES);
		snprintf(name, sizeof(name), "file%02u", 2 * f + 1);
		put_array(place, name, 2, 1 + f, NUMBER_BYTES);
	}
	pack_by(place, "auto", 20);
	by_path = size_in_trial("path");
	alike = size_in_trial("nilsimsa");
	assert_true(by_path > 0 && alike > by_path - by_path / 25);
}

static size_t put_line(uint8_t *out, size_t room, unsigned number)
{
	char line[64];
	size_t length = (size_t)snprintf(line, sizeof(line),
					 "%02u:%02u the service is ok, sequence=%u\n",
					 number / 60 % 24, number % 60, number);

	length = length < room ? length : room;
	memcpy(out, line, length);
	return length;
}

/* In turns, files of lines with a counter, and of letters, if any. A block of the lines alone is dense:
 * lzma makes it several times as small as zstd does. */
static void put_lines(const struct place *place, bool has_letters)
{
	enum { LINE_BYTES = 400000, LETTER_BYTES = 100000, PAIRS = 6 };
	static uint8_t lines[LINE_BYTES], letters[LETTER_BYTES];
	uint32_t random = 5;
	unsigned number = 0;
	char name[32];

	for (unsigned f = 0; f < PAIRS; f++) {
		for (size_t at = 0; at < LINE_BYTES; number++)
			at += put_line(lines + at, LINE_BYTES - at, number);
		for (size_t i = 0; i < LETTER_BYTES; i++)
			letters[i] = (uint8_t)('A' + (next_random(&random) & 15));
		snprintf(name, sizeof(name), "file%02u", 2 * f);
		put_file(place, name, lines, LINE_BYTES);
		snprintf(name, sizeof(name), "file%02u", 2 * f + 1);
		if (has_letters)
			put_file(place, name, letters, LETTER_BYTES);
	}
}

static void dense_blocks_are_packed_by_lzma(void **state)
{
	const struct place *place = *state;
	uint64_t by_path;

	if (!dw_codec_can_pack(CODEC_ZSTD) || !dw_codec_can_pack(CODEC_LZMA))
		skip();
	put_lines(place, true);
	pack_by(place, "auto", 20);
	by_path = size_in_trial("path");
	assert_in_range(size_in_trial("nilsimsa"), 1, by_path - by_path / 20);
	assert_null(strstr(all_messages(), "order: path"));
}

/* If the codec of the image reaches far, the parts of lzma are too small to show what it finds. */
static void dense_blocks_of_a_far_codec_are_left_to_zstd(void **state)
{
	const struct place *place = *state;

	if (!dw_codec_can_pack(CODEC_ZSTD) || !dw_codec_can_pack(CODEC_LZMA))
		skip();
	put_lines(place, false);
	pack_at_level(place, 9, NULL, "auto", 26);
	assert_in_range(size_in_trial("path"), 70000, UINT32_MAX); /* 53000 by lzma */
}

/* As much as the codecs of a block take. */
static void memory_counts_the_dense_codec(void **state)
{
	enum { BLOCK_BYTES = 1 << 24 };
	struct packing packing = { .is_trial = true };
	uint64_t without = dw_trial_codec_memory((struct trial_codecs){ 0 }, BLOCK_BYTES);
	struct trial_codecs numbers = { .has_numbers = true };

	(void)state;
	if (!dw_codec_can_pack(CODEC_ZSTD) || !dw_codec_can_pack(CODEC_LZMA))
		skip();
	assert_int_equal(dw_codec_parse(TRIAL_CODEC, &packing.codec, NULL), 0);
	assert_true(without >= dw_packing_memory(&packing, BLOCK_BYTES));
	packing.has_dense = packing.dense_has_numbers = true;
	assert_int_equal(dw_codec_parse(TRIAL_CODEC_DENSE, &packing.dense, NULL), 0);
	assert_true(
		dw_trial_codec_memory((struct trial_codecs){ true, true }, BLOCK_BYTES) >=
		dw_packing_memory(&packing, BLOCK_BYTES));
	assert_true(dw_packing_memory(&packing, BLOCK_BYTES) >= without + BLOCK_BYTES);
	assert_int_equal(
		dw_trial_codec_memory((struct trial_codecs){ true, true }, BLOCK_BYTES) -
			dw_trial_codec_memory(numbers, BLOCK_BYTES),
		BLOCK_BYTES); /* only one result */
}

static bool was_tried(const char *order)
{
	return size_in_trial(order) > 0;
}

static void expect_tried(const char *order)
{
	if (!was_tried(order))
		fail_msg("the order %s was not tried", order);
}

static void expect_all_tried(const struct place *place, unsigned block_bits,
			     const char *by_name)
{
	uint64_t by_path, chosen;

	put_directories(place);
	by_path = pack_by(place, "path", block_bits);
	chosen = pack_by(place, "auto", block_bits);
	expect_tried("path");
	expect_tried(by_name);
	expect_tried("nilsimsa");
	expect_tried("similarity");
	assert_true(chosen < by_path - by_path / 100);
}

static void all_orders_are_tried_in_one_block(void **state)
{
	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	expect_all_tried(*state, 24, "revpath");
	assert_null(strstr(all_messages(), "order path: score"));
}

/* Directories with the same names, as one, are in the same order as by revpath. */
static void all_orders_of_small_inputs_are_tried(void **state)
{
	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	expect_all_tried(*state, 18, "siblings by name");
	assert_non_null(strstr(all_messages(), "order path: score"));
}

/* Within the reach of a codec of medium speed, those that need no fingerprints. */
static void two_orders_are_tried_with_a_medium_codec(void **state)
{
	const struct place *place = *state;
	uint64_t by_path;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	put_directories(place);
	by_path = pack_with(place, "zstd:level=9", "path", 24);
	assert_true(pack_with(place, "zstd:level=9", "auto", 24) <
		    by_path - by_path / 100);
	expect_tried("path");
	expect_tried("revpath");
	assert_false(was_tried("nilsimsa"));
}

static void none_is_tried_with_a_fast_codec_or_small_blocks(void **state)
{
	const struct place *place = *state;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	put_directories(place);
	pack_with(place, "zstd:level=9", "auto", 21);
	pack_with(place, "zstd:level=6", "auto", 24);
	assert_false(was_tried("path"));
}

/* Versions of five files: each is new once, and is repeated in the other directories. */
static void put_versions(const struct place *place, unsigned versions, size_t bytes)
{
	uint8_t *data = malloc(bytes);
	char name[32];

	assert_non_null(data);
	for (unsigned d = 0; d < versions; d++) {
		snprintf(name, sizeof(name), "version%u", d);
		put_dir(place, name);
		for (unsigned f = 0; f < 5; f++) {
			uint32_t random = f;

			for (size_t i = 0; i < bytes; i++) {
				random =
					random * UINT32_C(1664525) + UINT32_C(1013904223);
				data[i] = (uint8_t)(random >> 16);
			}
			for (size_t i = d; i < bytes; i += 30000)
				data[i] ^= 1;
			snprintf(name, sizeof(name), "version%u/file%u", d, f);
			put_file(place, name, data, bytes);
		}
	}
	free(data);
}

/* They do not fit into a block of 4 MiB, and half of them or less is expected in blocks. */
static void repeated_bytes_are_tried_with_a_medium_codec(void **state)
{
	const struct place *place = *state;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	put_versions(place, 5, 400000);
	pack_with(place, "zstd:level=9", "auto", 22);
	expect_tried("path");
	assert_non_null(strstr(all_messages(), "order path: score"));
}

/* An order is tried by lz4 itself where at most an eighth is expected in blocks. */
static void what_is_nearly_all_repeated_is_tried_with_lz4(void **state)
{
	const struct place *place = *state;

	if (!dw_codec_can_pack(CODEC_LZ4))
		skip();
	put_versions(place, 10, 100000);
	pack_with(place, "lz4", "auto", 18);
	assert_non_null(strstr(all_messages(), " bytes with lz4"));
	pack_with(place, "lz4hc", "auto", 18);
	assert_non_null(strstr(all_messages(), " bytes with lz4hc"));
}

/* Files of pieces of 1 KiB, in random order, which make a chunk each; in a directory, or in eight. */
static void put_shuffled(const struct place *place, bool has_versions)
{
	static uint8_t pieces[100][1024], data[200 * sizeof(pieces[0])];
	uint32_t random = 4; /* orders have fewer new bytes, or fewer segments */
	char name[32] = "";
	size_t in = 0;

	for (size_t i = 0; i < sizeof(pieces); i++)
		pieces[i / sizeof(pieces[0])][i % sizeof(pieces[0])] =
			(uint8_t)(next_random(&random) >> 24);
	for (unsigned f = 0; f < 40; f++) {
		if (has_versions && f % 5 == 0) {
			in = (size_t)snprintf(name, sizeof(name), "version%u", f / 5);
			put_dir(place, name);
			name[in++] = '/';
		}
		for (size_t i = 0; i < sizeof(data); i += sizeof(pieces[0]))
			memcpy(data + i, pieces[(next_random(&random) >> 16) % 100],
			       sizeof(pieces[0]));
		snprintf(name + in, sizeof(name) - in, "%u", has_versions ? f % 5 : f);
		put_file(place, name, data, sizeof(data));
	}
}

/* Lz4 would make the chunks much larger than they are in the image. */
static void chunks_are_not_packed_by_lz4(void **state)
{
	const struct place *place = *state;
	const char *end;
	uint64_t size;

	if (!dw_codec_can_pack(CODEC_LZ4) || !dw_codec_can_pack(CODEC_ZSTD))
		skip();
	put_shuffled(place, false);
	size = pack_with(place, "lz4", "auto", 20);
	end = strstr(all_messages(), " bytes with lz4");
	assert_non_null(end);
	while (end[-1] != ' ')
		end--;
	assert_in_range(strtoul(end, NULL, 10), size - size / 10, size + size / 10);
}

static void expect_not_tried(const struct place *place, const char *codec,
			     const char *order)
{
	pack_with(place, codec, order, 18);
	assert_non_null(strstr(all_messages(), "order path: score"));
	assert_null(strstr(all_messages(), " bytes with "));
}

/* A fifth of this is stored. */
static void what_is_less_repeated_is_not_tried_with_lz4(void **state)
{
	const struct place *place = *state;

	if (!dw_codec_can_pack(CODEC_LZ4))
		skip();
	put_versions(place, 5, 100000);
	expect_not_tried(place, "lz4", "auto");
}

static void one_order_is_not_tried_with_lz4(void **state)
{
	const struct place *place = *state;

	if (!dw_codec_can_pack(CODEC_LZ4))
		skip();
	put_versions(place, 10, 100000);
	expect_not_tried(place, "lz4", "auto:max-trials=1");
}

/* From the middle version on, there are the fewest new bytes and the fewest segments. */
static void what_is_best_in_both_is_not_tried_with_lz4(void **state)
{
	const struct place *place = *state;

	if (!dw_codec_can_pack(CODEC_LZ4))
		skip();
	put_shuffled(place, true);
	expect_not_tried(place, "lz4", "auto");
}

static void fast_codecs_that_find_matches_are_not_tried(void **state)
{
	const struct place *place = *state;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	put_versions(place, 10, 100000);
	expect_not_tried(place, "zstd:level=1", "auto");
}

static void new_bytes_are_not_tried_with_a_medium_codec(void **state)
{
	const struct place *place = *state;
	char name[32];

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	for (unsigned f = 0; f < 360; f++) {
		snprintf(name, sizeof(name), "file%03u", f);
		put_letters_of(place, name, f % 4, 1 + f);
	}
	pack_with(place, "zstd:level=9", "auto", 22);
	assert_non_null(strstr(all_messages(), "order path: score"));
	assert_false(was_tried("path"));
}

static void the_first_order_wins_where_none_is_better(void **state)
{
	const struct place *place = *state;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	put_letters(place, 1);
	pack_by(place, "auto", 24);
	assert_non_null(strstr(all_messages(), "order nilsimsa: "));
	assert_non_null(strstr(all_messages(), "order: path"));
}

/* The same bytes in each file: one is packed, and the others are segments. */
static void what_occurred_before_is_not_packed(void **state)
{
	const struct place *place = *state;
	const char *packed;
	uint8_t data[4 * FILE_BYTES];
	uint32_t random = 3;
	char name[32];

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 16);
	for (unsigned f = 0; f < 20; f++) {
		data[f] ^= 1; /* each is another file */
		snprintf(name, sizeof(name), "file%02u", f * 7 % 20);
		put_file(place, name, data, sizeof(data));
	}
	pack_by(place, "auto", 24);
	packed = strstr(all_messages(), "order path: ");
	assert_non_null(packed);
	assert_in_range(strtoul(packed + strlen("order path: "), NULL, 10), sizeof(data),
			sizeof(data) * 5 / 4);
}

/* Where the metadata is not compressed, chunks of 16 bytes take their bits. */
static void chunks_count_as_they_are_stored(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 0);
	const char *packed;
	uint32_t random = 5;
	uint8_t data[16];
	char name[32];

	if (!dw_codec_can_pack(CODEC_ZSTD)) {
		dwarfs_builder_free(builder);
		skip();
	}
	for (unsigned f = 0; f < 1000; f++) {
		for (size_t i = 0; i < sizeof(data); i++)
			data[i] = (uint8_t)(next_random(&random) >> 24);
		snprintf(name, sizeof(name), "file%03u", f);
		put_file(place, name, data, sizeof(data));
	}
	assert_int_equal(dwarfs_builder_set_level(builder, 5, NULL), 0);
	assert_int_equal(
		dwarfs_builder_set_codec(builder, DWARFS_CODEC_METADATA, "null", NULL),
		0);
	dwarfs_image_free(build_and_open(builder, place, 0));
	packed = strstr(all_messages(), "order path: ");
	assert_non_null(packed);
	/* 14 bits for the offset and 5 for the size */
	assert_in_range(strtoul(packed + strlen("order path: "), NULL, 10),
			16 * 1000 + 19 * 1000 / 8, 16 * 1000 + 19 * 1000 / 8 + 500);
}

/* What is too large to be tried stays with the order that was forecast to be the best. */
static void the_choice_stays_without_a_trial(void **state)
{
	struct fragment fragment = { .size = TRIAL_MAX_BYTES + 1 };
	struct contents contents = { .fragments = &fragment, .fragment_count = 1 };
	struct budget budget = { .tries_orders = true, .trial_workers = 1 };
	struct build_run run = { .budget = &budget };
	struct order_input input = { .run = &run, .contents = &contents };
	uint32_t number = 0;
	const struct candidate candidates[2] = {
		{ .name = "path", .numbers = &number, .score = 3 },
		{ .name = "similarity", .numbers = &number, .score = 2 },
	};
	size_t chosen = 1;

	assert_int_equal(dw_trial(&input, TRIAL_CODEC, candidates, 2, 1, &chosen, NULL),
			 0);
	assert_int_equal(chosen, 1);
	fragment.size = 1;
	assert_int_equal(dw_trial(&input, "no codec", candidates, 2, 1, &chosen, NULL),
			 0);
	assert_int_equal(chosen, 1);
}

/* Before orders are tried. */
static int shorten(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	(void)err;
	if (dwarfs_progress_phase(progress) == DWARFS_PHASE_ORDER)
		assert_int_equal(truncate(in(user, "large"), FILE_BYTES), 0);
	return 0;
}

/* The trial ends at a file that has changed, and changes nothing itself: what is wrong is found, and
 * reported, when the image is written. */
static void a_file_that_changes_is_reported_once(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder;
	dwarfs_image *image;
	dwarfs_task *task;
	const char *found;
	uint8_t *data;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	builder = new_builder(place, 2);
	data = calloc(10, FILE_BYTES); /* more than is kept in memory */
	assert_non_null(data);
	put_letters(place, 4);
	put_file(place, "large", data, 10 * FILE_BYTES);
	assert_int_equal(dwarfs_task_new(&task, NULL), 0);
	dwarfs_task_set_progress(task, shorten, *state);
	dwarfs_builder_set_task(builder, task);
	assert_int_equal(dwarfs_builder_set_level(builder, 7, NULL), 0);
	image = build_and_open(builder, place, 1);
	found = strstr(all_messages(), "became shorter");
	assert_non_null(found);
	assert_null(strstr(found + 1, "became shorter"));
	assert_null(strstr(all_messages(), "bytes with zstd"));
	assert_non_null(strstr(all_messages(), "no order is tried"));
	expect_bytes(image, "large", data, FILE_BYTES);
	dwarfs_image_free(image);
	dwarfs_task_free(task);
	free(data);
}

static void a_far_reach_allows_larger_trials(void **state)
{
	const struct order_input near = { .reach_bytes = (uint64_t)16 << 20 };
	const struct order_input far = { .reach_bytes = (uint64_t)64 << 20 };

	(void)state;
	assert_true(dw_trial_max_kept_bytes(&far) > dw_trial_max_kept_bytes(&near));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_far_reach_allows_larger_trials),
		cmocka_unit_test_setup_teardown(
			files_of_one_alphabet_are_brought_together, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(equal_forecasts_are_tried, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(
			numbers_that_the_first_order_lacks_are_not_looked_for, make_place,
			remove_place),
		cmocka_unit_test(memory_counts_the_dense_codec),
		cmocka_unit_test_setup_teardown(dense_blocks_are_packed_by_lzma,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			dense_blocks_of_a_far_codec_are_left_to_zstd, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(numbers_are_left_to_zstd_at_level_5,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(numbers_are_packed_by_lzma_at_level_9,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(arrays_of_one_type_are_brought_together,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(all_orders_are_tried_in_one_block,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(all_orders_of_small_inputs_are_tried,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(two_orders_are_tried_with_a_medium_codec,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			none_is_tried_with_a_fast_codec_or_small_blocks, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			repeated_bytes_are_tried_with_a_medium_codec, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			what_is_nearly_all_repeated_is_tried_with_lz4, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(chunks_are_not_packed_by_lz4, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(
			what_is_less_repeated_is_not_tried_with_lz4, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(one_order_is_not_tried_with_lz4,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			what_is_best_in_both_is_not_tried_with_lz4, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			fast_codecs_that_find_matches_are_not_tried, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			new_bytes_are_not_tried_with_a_medium_codec, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(the_first_order_wins_where_none_is_better,
						make_place, remove_place),
		cmocka_unit_test(the_choice_stays_without_a_trial),
		cmocka_unit_test_setup_teardown(what_occurred_before_is_not_packed,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(chunks_count_as_they_are_stored,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_file_that_changes_is_reported_once,
						make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
