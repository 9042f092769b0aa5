/* SPDX-License-Identifier: MIT */
/*
 * order/auto/interleave: large files that have short runs in common share blocks, piece by piece.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/encode/encode.h"
#include "support/effort.h"
#include "support/order_tree.h"
#include "support/random.h"
#include "support/write_run.h"
#include "write/order/auto/interleave.h"
#include "write/order/auto/sketch.h"

#define FILES	    6
#define FILE_BYTES  ((uint32_t)128 << 10)
#define BLOCK_BYTES ((uint64_t)128 << 10)

/* Not so random that it is taken for incompressible. */
static void put_random(uint8_t *data, size_t size, uint32_t seed)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(next_random(&seed) >> 2 & 0x3f);
}

/* The same but for four bytes of each 48, as programs that are linked differently. */
static void put_variant(uint8_t *data, const uint8_t *of, size_t size, uint32_t seed)
{
	memcpy(data, of, size);
	for (size_t i = 0; i + 48 <= size; i += 48)
		put_random(data + i, 4, seed + (uint32_t)i);
}

static uint8_t *new_data(void)
{
	uint8_t *data = dw_malloc(FILES * FILE_BYTES);

	assert_non_null(data);
	put_random(data, FILES * FILE_BYTES, 7);
	return data;
}

/* -- fragments ------------------------------------------------------------------------- */

struct divided_tree {
	struct order_tree *place;
	struct order_input input;
	struct fragment_list list;
};

/* In blocks of 128 KiB, so that pieces have 16 KiB. */
static void divide(struct divided_tree *tree, const uint8_t *data)
{
	struct order_tree *place = order_tree_with_bytes(data, FILE_BYTES);

	place->budget.shingles = SKETCH_MAX_SHINGLES;
	assert_int_equal(dwarfs_context_new(&place->run.context, NULL), 0);
	tree->place = place;
	tree->input = order_tree_input(place, NULL);
	tree->input.block_bytes = tree->input.reach_bytes = BLOCK_BYTES;
	tree->list.count = FILES;
	tree->list.numbers = dw_calloc(FILES, sizeof(uint32_t));
	assert_non_null(tree->list.numbers);
	memcpy(tree->list.numbers, place->numbers, FILES * sizeof(uint32_t));
	assert_int_equal(dw_interleave(&tree->input, NULL, &tree->list, NULL), 0);
}

static void free_divided(struct divided_tree *tree)
{
	dw_fragment_list_free(&tree->list);
	dwarfs_context_free(tree->place->run.context);
	order_tree_free(tree->place);
}

static void what_has_nothing_in_common_stays_whole(void **state)
{
	uint8_t *data = new_data();
	struct divided_tree tree;

	(void)state;
	divide(&tree, data);
	assert_int_equal(tree.list.count, FILES);
	assert_memory_equal(tree.list.numbers, tree.place->numbers,
			    FILES * sizeof(uint32_t));
	assert_int_equal(tree.place->contents.fragment_count, FILES);
	for (size_t i = 0; i < FILES; i++) {
		assert_int_equal(tree.place->contents.list[i].fragment_count, 1);
		assert_int_equal(tree.place->contents.fragments[i].size, FILE_BYTES);
		assert_int_equal(tree.place->contents.fragments[i].stream, 0);
	}
	free_divided(&tree);
	dw_free(data);
}

/* The pieces of contents cover them. */
static void expect_pieces(const struct contents *contents, uint32_t content)
{
	const struct content *of = &contents->list[content];
	uint64_t offset = 0;

	assert_int_equal(of->fragment_count, FILE_BYTES / (16 << 10));
	assert_int_equal(contents->fragments[content].stream, DW_NONE);
	assert_int_equal(contents->fragments[content].size, 0);
	for (uint32_t i = 0; i < of->fragment_count; i++) {
		const struct fragment *piece =
			&contents->fragments[of->first_fragment + i];

		assert_int_equal(piece->content, content);
		assert_int_equal(piece->stream, 0);
		assert_int_equal(piece->offset, offset);
		offset += piece->size;
	}
	assert_int_equal(offset, FILE_BYTES);
}

static void variants_are_interleaved(void **state)
{
	uint8_t *data = new_data();
	const struct contents *contents;
	struct divided_tree tree;
	uint32_t pieces;

	(void)state;
	put_variant(data + 4 * FILE_BYTES, data + FILE_BYTES, FILE_BYTES, 1);
	divide(&tree, data);
	contents = &tree.place->contents;
	expect_pieces(contents, 1);
	expect_pieces(contents, 4);
	pieces = contents->list[1].fragment_count;
	assert_int_equal(tree.list.count, FILES - 2 + 2 * pieces);
	assert_int_equal(tree.list.numbers[0], 0);
	for (uint32_t i = 0; i < pieces; i++) {
		assert_int_equal(tree.list.numbers[1 + 2 * i],
				 contents->list[1].first_fragment + i);
		assert_int_equal(tree.list.numbers[2 + 2 * i],
				 contents->list[4].first_fragment + i);
	}
	assert_int_equal(tree.list.numbers[1 + 2 * pieces], 2);
	assert_int_equal(tree.list.numbers[2 + 2 * pieces], 3);
	assert_int_equal(tree.list.numbers[3 + 2 * pieces], 5);
	free_divided(&tree);
	dw_free(data);
}

/* -- images ------------------------------------------------------------------------------ */

/* The fastest that is slow, so that orders are tried. */
#define SLOW_CODEC "zstd:level=13"

/* The size of the image, which replaces an earlier one. Frees the builder. */
static uint64_t build_anew(dwarfs_builder *builder, const struct place *place)
{
	struct stat st;

	remove(place->image);
	assert_int_equal(build(builder, place), 0);
	dwarfs_builder_free(builder);
	assert_int_equal(stat(place->image, &st), 0);
	return (uint64_t)st.st_size;
}

/* With the codecs of level 7, or another one instead. */
static uint64_t pack_with(const struct place *place, const char *codec, const char *order,
			  unsigned workers)
{
	dwarfs_builder *builder = new_builder(place, workers);

	dwarfs_builder_set_history(builder, false);
	dwarfs_builder_set_create_timestamp(builder, false);
	assert_int_equal(dwarfs_builder_set_level(builder, 7, NULL), 0);
	if (codec)
		assert_int_equal(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
							  codec, NULL),
				 0);
	assert_int_equal(dwarfs_builder_set_order(builder, order, NULL), 0);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, 17, NULL), 0);
	return build_anew(builder, place);
}

static uint64_t pack(const struct place *place, const char *order, unsigned workers)
{
	return pack_with(place, SLOW_CODEC, order, workers);
}

static void put_files(const struct place *place, const uint8_t *data)
{
	char name[] = "file0";

	for (unsigned i = 0; i < FILES; i++, name[4]++)
		put_file(place, name, data + i * FILE_BYTES, FILE_BYTES);
}

static void expect_files(const struct place *place, const uint8_t *data)
{
	dwarfs_image *image = open_image(place);
	char name[] = "file0";

	for (unsigned i = 0; i < FILES; i++, name[4]++)
		expect_bytes(image, name, data + i * FILE_BYTES, FILE_BYTES);
	dwarfs_image_free(image);
}

/* The last two files are variants of others. */
static uint8_t *new_variants(void)
{
	uint8_t *data = new_data();

	put_variant(data + 4 * FILE_BYTES, data, FILE_BYTES, 1);
	put_variant(data + 5 * FILE_BYTES, data + 2 * FILE_BYTES, FILE_BYTES, 2);
	return data;
}

/* Interleaved, the files take less than in turn, by at least one part of so many. Returns the
 * size. */
static uint64_t expect_smaller(const struct place *place, const char *codec,
			       const uint8_t *data, uint64_t parts)
{
	uint64_t in_turn, interleaved;

	put_files(place, data);
	in_turn = pack_with(place, codec, "path", 0);
	assert_null(strstr(all_messages(), "pieces of large files"));
	interleaved = pack_with(place, codec, "auto", 0);
	assert_non_null(strstr(all_messages(), "pieces of large files: interleaved"));
	assert_non_null(strstr(all_messages(), "large files in turn: "));
	assert_true(interleaved < in_turn - in_turn / parts);
	expect_files(place, data);
	return interleaved;
}

static void interleaved_files_are_smaller(void **state)
{
	const struct place *place = *state;
	uint8_t *data;
	uint64_t size;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	data = new_variants();
	size = expect_smaller(place, NULL, data, 10);
	assert_int_equal(pack_with(place, NULL, "auto", 3), size);
	expect_files(place, data);
	dw_free(data);
}

/* The bytes that a trial took with the files in turn. */
static uint64_t tried_in_turn(void)
{
	const char *message = strstr(all_messages(), "large files in turn: score");

	assert_non_null(message);
	message = strstr(message + 1, "large files in turn: ");
	assert_non_null(message);
	return strtoull(strchr(message, ':') + 1, NULL, 10);
}

/* The second and the fourth file are similar to no other; 64 values take six bits. */
static void files_that_stay_whole_are_tried_with_the_others(void **state)
{
	const uint64_t file_bytes = FILE_BYTES / 8 * 6;
	const struct place *place = *state;
	uint8_t *data;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	data = new_variants();
	expect_smaller(place, SLOW_CODEC, data, 10);
	assert_in_range(tried_in_turn(), FILES * file_bytes,
			FILES * file_bytes + file_bytes / 2);
	dw_free(data);
}

#define WORDS	   40
#define LINE_KINDS 20
#define LINE_ROOM  128

struct line {
	uint32_t kind, number;
};

/* Texts of FILES files of so many bytes, with few kinds of lines and few numbers in each. */
struct text {
	uint32_t bytes, numbers;
	char kinds[LINE_KINDS][LINE_ROOM];
	struct line *lines;
	uint32_t random;
};

static struct line random_line(struct text *text)
{
	uint32_t kind = next_random(&text->random) % LINE_KINDS;

	return (struct line){ kind, next_random(&text->random) % text->numbers };
}

static void make_kinds(struct text *text)
{
	char words[WORDS][10] = { { 0 } };

	for (size_t i = 0; i < WORDS; i++) {
		size_t size = 3 + next_random(&text->random) % 6;

		for (size_t k = 0; k < size; k++)
			words[i][k] = (char)('a' + (next_random(&text->random) >> 8) % 8);
	}
	for (size_t i = 0; i < LINE_KINDS; i++) {
		text->kinds[i][0] = '\0';
		for (unsigned k = 0; k < 8; k++) {
			strcat(text->kinds[i],
			       words[(next_random(&text->random) >> 8) % WORDS]);
			strcat(text->kinds[i], " ");
		}
	}
}

static void put_release(const struct text *text, uint8_t *out)
{
	const struct line *next = text->lines;
	size_t at = 0;

	for (; at < text->bytes; next++) {
		char line[LINE_ROOM + 16];
		size_t size = (size_t)snprintf(line, sizeof(line), "%s%" PRIu32 "\n",
					       text->kinds[next->kind], next->number);

		memcpy(out + at, line, size < text->bytes - at ? size : text->bytes - at);
		at += size;
	}
}

/* Releases: of 24 lines one is another line in the next. */
static void put_releases(uint8_t *data, uint32_t bytes, uint32_t numbers)
{
	struct text text = { .bytes = bytes, .numbers = numbers, .random = 3 };

	text.lines = dw_malloc(bytes * sizeof(*text.lines));
	assert_non_null(text.lines);
	make_kinds(&text);
	for (size_t i = 0; i < bytes; i++)
		text.lines[i] = random_line(&text);
	for (unsigned file = 0; file < FILES; file++) {
		put_release(&text, data + file * bytes);
		for (size_t i = 0; i + 24 <= bytes; i += 24)
			text.lines[i + next_random(&text.random) % 24] =
				random_line(&text);
	}
	dw_free(text.lines);
}

/* Most of each file is in the one before. */
static void near_equal_files_are_tried(void **state)
{
	const struct place *place = *state;
	uint8_t *data;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	data = new_data();
	put_releases(data, FILE_BYTES, 5);
	expect_smaller(place, NULL, data, 20);
	dw_free(data);
}

/* Holes of a file are most of the bytes. */
static void holes_do_not_count(void **state)
{
	const struct place *place = *state;
	uint8_t *data;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	data = new_variants();
	put_files(place, data);
	assert_int_equal(truncate(in(place, "file4"), 200 * (off_t)FILE_BYTES), 0);
	pack(place, "auto", 0);
	assert_non_null(strstr(all_messages(), "pieces of large files: interleaved"));
	dwarfs_image_free(open_image(place));
	dw_free(data);
}

/* Without a trial the forecast decides, and the image is the same. */
static void the_forecast_decides_without_trials(void **state)
{
	const struct place *place = *state;
	uint8_t *data;
	uint64_t size;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	data = new_variants();
	put_files(place, data);
	size = pack(place, "auto:max-trials=0", 0);
	assert_non_null(strstr(all_messages(), "pieces of large files: interleaved"));
	assert_null(strstr(all_messages(), " bytes with zstd"));
	expect_files(place, data);
	assert_int_equal(pack(place, "auto", 0), size);
	dw_free(data);
}

#define MEDIUM_BYTES ((size_t)4 << 20)

/* Two variants, each as large as a block of zstd 11. */
static void put_medium_files(const struct place *place)
{
	uint8_t *data = dw_malloc(2 * MEDIUM_BYTES);

	assert_non_null(data);
	put_random(data, MEDIUM_BYTES, 7);
	put_variant(data + MEDIUM_BYTES, data, MEDIUM_BYTES, 1);
	put_file(place, "file0", data, MEDIUM_BYTES);
	put_file(place, "file1", data + MEDIUM_BYTES, MEDIUM_BYTES);
	dw_free(data);
}

static uint64_t pack_by_codec(const struct place *place, const char *codec,
			      uint32_t block_bits, const char *order)
{
	dwarfs_builder *builder = new_builder(place, 0);

	assert_int_equal(dwarfs_builder_set_level(builder, 4, NULL), 0);
	assert_int_equal(
		dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, codec, NULL), 0);
	assert_int_equal(dwarfs_builder_set_order(builder, order, NULL), 0);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, block_bits, NULL), 0);
	return build_anew(builder, place);
}

static void codecs_of_medium_speed_try_what_is_forecast(void **state)
{
	static const struct {
		const char *codec;
		uint32_t block_bits;
		bool is_interleaved;
	} cases[] = {
		{ "zstd:level=3", 22, false },
		{ "zstd:level=11", 21, false }, /* it reaches less than 4 MiB */
		{ "zstd:level=11", 22, true },	/* the last one: messages stay */
	};
	const struct place *place = *state;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	put_medium_files(place);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pack_by_codec(place, cases[i].codec, cases[i].block_bits, "auto");
		assert_int_equal(strstr(all_messages(),
					"pieces of large files: interleaved") != NULL,
				 cases[i].is_interleaved);
		assert_int_equal(strstr(all_messages(), " bytes with zstd") != NULL,
				 cases[i].is_interleaved);
		dwarfs_image_free(open_image(place));
	}
}

static void put_letters(FILE *file, uint32_t *random, unsigned count)
{
	for (; count > 0; count--)
		fputc('a' + next_random(random) % 26, file);
}

/* One of so many texts of lower case letters. */
static void put_choice(FILE *file, uint32_t *random, uint32_t first, uint32_t texts,
		       unsigned letters)
{
	uint32_t text = first + next_random(random) % texts;

	put_letters(file, &text, letters);
	fputc(' ', file);
}

/* Records with a common text, text in the language of the file, of phrases of its own, and letters
 * of which some differ in each file. */
static void put_language(const struct place *place, const char *name, uint32_t language)
{
	enum {
		LINES = 2200,
		TEXTS = 3000,
		COMMON = 120,
		PHRASES = 5000,
		USED = 4,
		CHANGED = 100
	};
	FILE *file = fopen(in(place, name), "w");
	uint32_t choices = language + 100;

	assert_non_null(file);
	for (uint32_t i = 0; i < LINES; i++) {
		uint32_t common = i + 1;
		unsigned at = next_random(&choices) % CHANGED;

		for (unsigned j = 0; j < COMMON; j++)
			put_choice(file, &common, 1, TEXTS, 5);
		for (unsigned j = 0; j < USED; j++)
			put_choice(file, &choices, TEXTS + 1 + language * PHRASES,
				   PHRASES, 24);
		put_letters(file, &common, at);
		fprintf(file, "XYZ%u", (unsigned)language);
		put_letters(file, &common, CHANGED - at);
		fputc('\n', file);
	}
	fclose(file);
}

/* Phrases are repeated in other blocks when pieces of files are apart. */
static void repeats_within_files_are_not_divided(void **state)
{
	const struct place *place = *state;
	char name[] = "file0";
	uint64_t by_path;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	for (uint32_t i = 0; i < FILES; i++, name[4]++)
		put_language(place, name, i);
	by_path = pack_by_codec(place, "zstd:level=11", 22, "path");
	assert_in_range(pack_by_codec(place, "zstd:level=11", 22, "auto"), 0,
			by_path + by_path / 100);
	dwarfs_image_free(open_image(place));
}

static void codecs_of_medium_speed_try_near_equal_files(void **state)
{
	enum { BYTES = 1 << 20, NUMBERS = 1000 };
	const struct place *place = *state;
	char name[] = "file0";
	uint8_t *data;
	uint64_t in_turn;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	data = dw_malloc(FILES * BYTES);
	assert_non_null(data);
	put_releases(data, BYTES, NUMBERS);
	for (unsigned i = 0; i < FILES; i++, name[4]++)
		put_file(place, name, data + i * BYTES, BYTES);
	in_turn = pack_by_codec(place, "zstd:level=11", 22, "path");
	assert_true(pack_by_codec(place, "zstd:level=11", 22, "auto") <
		    in_turn - in_turn / 20);
	assert_non_null(strstr(all_messages(), "large files in turn: "));
	assert_non_null(strstr(all_messages(), "pieces of large files: interleaved"));
	dwarfs_image_free(open_image(place));
	dw_free(data);
}

/* Counts the blocks that are written, and shortens a file with the header of one of them. */
struct shortening {
	const char *path;
	unsigned blocks, at;
};

#define HEADER_BYTES 64
#define TYPE_AT	     52

static int write_or_shorten(const void *data, size_t bytes, dwarfs_error **err,
			    void *user)
{
	struct shortening *shortening = user;
	const uint8_t *header = data;

	(void)err;
	if (bytes < HEADER_BYTES || memcmp(data, "DWARFS", 6) != 0 ||
	    header[TYPE_AT] != 0 || header[TYPE_AT + 1] != 0)
		return 0;
	if (++shortening->blocks != shortening->at)
		return 0;
	/* With a hole, so that runs of data are asked for. */
	assert_int_equal(truncate(shortening->path, 0), 0);
	assert_int_equal(truncate(shortening->path, FILE_BYTES / 2), 0);
	return 0;
}

static void pack_with_digests(const struct place *place, struct shortening *shortening)
{
	dwarfs_builder *builder = new_builder(place, 0);
	dwarfs_sink *sink;

	shortening->blocks = 0;
	assert_int_equal(dwarfs_builder_set_level(builder, 7, NULL), 0);
	assert_int_equal(
		dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, SLOW_CODEC, NULL),
		0);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, 17, NULL), 0);
	assert_int_equal(dwarfs_builder_set_digests(builder, DWARFS_DIGESTS_ALWAYS, NULL),
			 0);
	assert_int_equal(dwarfs_sink_new(write_or_shorten, NULL, shortening, &sink, NULL),
			 0);
	assert_int_equal(dwarfs_builder_write(builder, sink, NULL), 0);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
}

/* All of it is stored before the last block is written, and digests are made after that. */
static void a_file_may_become_shorter_before_its_digest(void **state)
{
	const struct place *place = *state;
	struct shortening shortening = { .path = in(place, "file0") };
	uint8_t *data;

	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	data = new_variants();
	put_files(place, data);
	pack_with_digests(place, &shortening);
	assert_in_range(shortening.blocks, 2, 64);
	shortening.at = shortening.blocks;
	pack_with_digests(place, &shortening);
	assert_int_equal(shortening.blocks, shortening.at);
	dw_free(data);
}

static void files_that_gain_nothing_are_not_interleaved(void **state)
{
	const struct place *place = *state;
	uint8_t *data = new_data();
	uint64_t size;

	/* All of the second file is found in the first one anyway. */
	memcpy(data + 4 * FILE_BYTES, data, FILE_BYTES - 1);
	put_files(place, data);
	size = pack(place, "auto", 0);
	assert_null(strstr(all_messages(), "pieces of large files: interleaved"));
	assert_true(size < (FILES - 1) * FILE_BYTES + FILE_BYTES / 8);
	expect_files(place, data);
	dw_free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_nothing_in_common_stays_whole),
		cmocka_unit_test(variants_are_interleaved),
		cmocka_unit_test_setup_teardown(interleaved_files_are_smaller, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(
			files_that_stay_whole_are_tried_with_the_others, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(near_equal_files_are_tried, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(holes_do_not_count, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(the_forecast_decides_without_trials,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			codecs_of_medium_speed_try_what_is_forecast, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(repeats_within_files_are_not_divided,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			codecs_of_medium_speed_try_near_equal_files, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			a_file_may_become_shorter_before_its_digest, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			files_that_gain_nothing_are_not_interleaved, make_place,
			remove_place),
	};
	const struct CMUnitTest with_threads[] = {
		cmocka_unit_test_setup_teardown(interleaved_files_are_smaller, make_place,
						remove_place),
	};

	if (IS_THREAD_SANITIZED)
		return cmocka_run_group_tests(with_threads, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
