/* SPDX-License-Identifier: MIT */
/* build: which bytes of blocks of images may be read, and how often they are decompressed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "support/write_run.h"
#include "write/images/source_image.h"
#include "write/segment/kept_window.h"

#define BLOCK_BYTES 100000
#define BLOCKS	    5

/* Blocks of an image, whose cache has a size. */
struct lab {
	uint8_t *bytes;
	uint64_t cache_bytes;
	size_t trimmed; /* how often the cache was */
	size_t ends;	/* how often the last byte of a block was read alone */
	uint64_t read;	/* bytes of blocks, from its start on */
	uint32_t lost;	/* a block that cannot be read, or DW_NONE */
	struct source_image image;
	struct source_block blocks[BLOCKS];
	struct kept_block list[BLOCKS];
	struct kept_blocks kept;
	struct build_run run;
	struct kept_window *window;
};

static void fill(uint8_t *bytes, size_t size, uint32_t seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525u + 1013904223u;
		bytes[i] = (uint8_t)(seed >> 24);
	}
}

static int whole_blocks(void *user, uint32_t block, uint64_t *bytes_out,
			dwarfs_error **err)
{
	(void)user, (void)block, (void)err;
	*bytes_out = BLOCK_BYTES;
	return 0;
}

static int64_t read_block(void *user, uint32_t block, void *buffer, size_t size,
			  uint64_t offset, dwarfs_error **err)
{
	struct lab *lab = user;

	(void)err;
	if (block == lab->lost)
		return DWARFS_ERR_CORRUPT;
	if (size > BLOCK_BYTES - offset)
		size = BLOCK_BYTES - (size_t)offset;
	memcpy(buffer, lab->bytes + block * BLOCK_BYTES + offset, size);
	lab->ends += size == 1 && offset == BLOCK_BYTES - 1;
	lab->read += size;
	return (int64_t)size;
}

static uint64_t cache_of_lab(void *user)
{
	const struct lab *lab = user;

	return lab->cache_bytes;
}

static void count_trim(void *user)
{
	struct lab *lab = user;

	lab->trimmed++;
}

/* Files are made in a directory. If that does not exist, there are none. */
static struct lab *new_lab(const char *directory)
{
	static const struct source_image_ops ops = { .block_bytes = whole_blocks,
						     .read_block = read_block,
						     .cache_bytes = cache_of_lab,
						     .trim_cache = count_trim };
	struct lab *lab = dw_calloc(1, sizeof(*lab));

	assert_non_null(lab);
	lab->bytes = dw_malloc(BLOCKS * BLOCK_BYTES);
	assert_non_null(lab->bytes);
	fill(lab->bytes, BLOCKS * BLOCK_BYTES, 1);
	lab->lost = DW_NONE;
	lab->image =
		(struct source_image){ .ops = &ops, .user = lab, .blocks = lab->blocks };
	for (uint32_t i = 0; i < BLOCKS; i++)
		lab->list[i] = (struct kept_block){ .image = &lab->image, .block = i };
	lab->kept = (struct kept_blocks){ .list = lab->list, .count = BLOCKS };
	lab->run.spool_directory = directory;
	return lab;
}

static void free_lab(struct lab *lab)
{
	dw_kept_window_free(lab->window);
	dw_free(lab->bytes);
	dw_free(lab);
}

static void begin_with(struct lab *lab, uint64_t cache_bytes, size_t block_bytes,
		       struct compressor *compressor)
{
	dw_kept_window_free(lab->window);
	lab->cache_bytes = cache_bytes;
	lab->trimmed = lab->ends = 0;
	lab->read = 0;
	assert_int_equal(dw_kept_window_new(&lab->run, &lab->kept, compressor,
					    block_bytes, &lab->window, NULL),
			 0);
	assert_int_equal(dw_kept_window_count(lab->window), BLOCKS);
}

static void begin(struct lab *lab, uint64_t cache_bytes)
{
	begin_with(lab, cache_bytes, BLOCK_BYTES, NULL);
}

/* Whether some bytes of a block may be read, which must be right. */
static bool may_read(struct lab *lab, uint32_t number, size_t at)
{
	uint8_t bytes[1000];
	int64_t got = dw_kept_window_read(lab->window, number, bytes, sizeof(bytes), at);

	if (got < 0)
		return false;
	assert_int_equal(got, BLOCK_BYTES - at < 1000 ? BLOCK_BYTES - at : 1000);
	assert_memory_equal(bytes, lab->bytes + number * BLOCK_BYTES + at, (size_t)got);
	return true;
}

/* Read at the same place of every block, in turn: how many may be read. */
static size_t read_all(struct lab *lab, size_t at)
{
	size_t had = 0;

	for (uint32_t i = 0; i < BLOCKS; i++)
		had += may_read(lab, i, at);
	return had;
}

/* Of which 7/8 are counted on. */
#define CACHE_OF(blocks) ((blocks)*BLOCK_BYTES * 8 / 7 + 8)

#define NOWHERE "/dev/null/nowhere"

/* -- without a temporary file ------------------------------------------------------------ */

/* More blocks than the cache holds are decompressed again each time, but for the first. */
static void a_block_that_is_not_in_the_cache_is_decompressed_again(void **state)
{
	static const struct {
		uint64_t cache_bytes, decoded;
	} cases[] = {
		{ CACHE_OF(BLOCKS), 0 },
		{ CACHE_OF(BLOCKS - 1), BLOCKS * BLOCK_BYTES },
		{ BLOCK_BYTES, BLOCKS * BLOCK_BYTES }, /* is too small for any block */
		{ 0, BLOCKS * BLOCK_BYTES },
	};
	struct lab *lab = new_lab(NOWHERE);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(lab, cases[i].cache_bytes);
		assert_int_equal(read_all(lab, 0), BLOCKS);
		assert_int_equal(dw_kept_window_decoded(lab->window), 0);
		assert_int_equal(read_all(lab, BLOCK_BYTES - 500), BLOCKS);
		assert_int_equal(dw_kept_window_decoded(lab->window), cases[i].decoded);
	}
	free_lab(lab);
}

/* The blocks that were used last are held, however often the others are. */
static void a_block_in_use_stays_in_the_cache(void **state)
{
	struct lab *lab = new_lab(NOWHERE);

	(void)state;
	begin(lab, CACHE_OF(2));
	assert_int_equal(read_all(lab, 0), BLOCKS);
	for (uint32_t i = 1; i < BLOCKS; i++) {
		assert_true(may_read(lab, 0, 10000 * i));
		assert_true(may_read(lab, i, 10000 * i));
	}
	/* Each once: block 0 is held from then on. */
	assert_int_equal(dw_kept_window_decoded(lab->window), BLOCKS * BLOCK_BYTES);
	free_lab(lab);
}

/* Bytes that are decompressed again until no more may be. */
static uint64_t decode_all(struct lab *lab)
{
	while (may_read(lab, 0, 0) && may_read(lab, 1, 0) && may_read(lab, 2, 0))
		;
	return dw_kept_window_decoded(lab->window);
}

#define GIB (UINT64_C(1) << 30)

/* What decompresses again and again comes to an end, until there is new data. */
static void decompressing_again_is_bounded(void **state)
{
	struct lab *lab = new_lab(NOWHERE);
	uint64_t bound;

	(void)state;
	begin(lab, CACHE_OF(2));
	bound = decode_all(lab);
	assert_in_range(bound, GIB, 4 * GIB + BLOCK_BYTES);
	assert_int_equal(decode_all(lab), bound);
	/* A block that was not read yet is free. */
	assert_true(may_read(lab, 3, 0));
	assert_int_equal(dw_kept_window_decoded(lab->window), bound);
	/* What is earned is in proportion, up to a store. */
	dw_kept_window_earn(lab->window, 1 << 20);
	assert_in_range(decode_all(lab) - bound, GIB / 2 - BLOCK_BYTES,
			GIB / 2 + BLOCK_BYTES);
	bound = dw_kept_window_decoded(lab->window);
	dw_kept_window_earn(lab->window, GIB);
	assert_in_range(decode_all(lab) - bound, 4 * GIB, 16 * GIB + BLOCK_BYTES);
	dw_kept_window_earn(NULL, GIB);
	free_lab(lab);
}

/* Less is decompressed if the cache does not hold two blocks. */
static void a_small_cache_is_used_less(void **state)
{
	struct lab *lab = new_lab(NOWHERE);
	uint64_t bound, more;

	(void)state;
	begin(lab, CACHE_OF(2));
	bound = decode_all(lab);
	dw_kept_window_earn(lab->window, 1 << 20);
	more = decode_all(lab) - bound;
	begin(lab, CACHE_OF(1));
	assert_in_range(decode_all(lab), bound / 32, bound / 8);
	bound = dw_kept_window_decoded(lab->window);
	dw_kept_window_earn(lab->window, 1 << 20);
	assert_in_range(decode_all(lab) - bound, more / 32, more / 8);
	free_lab(lab);
}

/* Of blocks of slow codecs less is decompressed. */
static void a_slow_codec_is_used_less(void **state)
{
	struct lab *lab = new_lab(NOWHERE);
	uint64_t bound;

	(void)state;
	begin(lab, 0);
	bound = decode_all(lab);
	for (size_t i = 0; i < BLOCKS; i++)
		lab->blocks[i].compression = CODEC_LZMA;
	begin(lab, 0);
	assert_in_range(decode_all(lab), bound / 10, bound / 4);
	free_lab(lab);
}

/* What was read in another way is not free a second time, and is held. */
static void a_block_read_elsewhere_counts(void **state)
{
	static const struct {
		uint64_t cache_bytes, decoded;
	} cases[] = {
		{ CACHE_OF(BLOCKS - 1), BLOCKS * BLOCK_BYTES },
		{ CACHE_OF(BLOCKS), 0 },
	};
	struct lab *lab = new_lab(NOWHERE);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(lab, cases[i].cache_bytes);
		for (uint32_t j = 0; j < BLOCKS; j++)
			dw_kept_window_was_scanned(lab->window, j, true);
		assert_int_equal(read_all(lab, 0), BLOCKS);
		assert_int_equal(dw_kept_window_decoded(lab->window), cases[i].decoded);
	}
	free_lab(lab);
}

/* Blocks that were scanned are freed if they are large or do not fit into the cache together; where
 * one is found later, it is decompressed again, at no cost. */
static void blocks_that_were_scanned_are_freed(void **state)
{
	static const struct {
		size_t block_bytes, cached, trimmed;
	} cases[] = {
		{ (size_t)32 << 20, BLOCKS, 0 },
		{ (size_t)32 << 20, BLOCKS - 1, BLOCKS },
		{ (size_t)64 << 20, BLOCKS, BLOCKS },
	};
	struct lab *lab = new_lab(NOWHERE);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_with(lab, CACHE_OF(cases[i].cached), cases[i].block_bytes, NULL);
		assert_int_equal(dw_kept_window_has_large(lab->window), i == 2);
		for (uint32_t j = 0; j < BLOCKS; j++)
			dw_kept_window_was_scanned(lab->window, j, false);
		assert_int_equal(lab->trimmed, cases[i].trimmed);
		assert_int_equal(read_all(lab, 7), BLOCKS);
		assert_int_equal(dw_kept_window_decoded(lab->window), 0);
	}
	free_lab(lab);
}

/* Read other bytes of all blocks, twice with all blocks being freed between. */
static void read_around_codecs(struct lab *lab)
{
	for (uint32_t i = 0; i < 4 * BLOCKS; i++) {
		if (i == 2 * BLOCKS)
			dw_kept_window_free_decoded(lab->window);
		assert_true(may_read(lab, i % BLOCKS, 16384 * (i / BLOCKS)));
	}
}

/* If that is wanted, blocks are freed before a new one is compressed, and decompressed to their
 * ends. What is compared does not depend on it. */
static void blocks_are_freed_for_codecs(void **state)
{
	struct lab *lab = new_lab(NOWHERE);
	dwarfs_context *context = NULL;
	struct section_writer sections = { .run = &lab->run };
	struct block_streams streams = { 0 };
	const struct budget budget = { .workers = 0 };
	struct compressor *compressor = NULL;

	(void)state;
	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	lab->run.context = context;
	assert_int_equal(
		dw_compressor_new(&sections, &budget, &streams, &compressor, NULL), 0);
	for (uint32_t spared = 0; spared < 2; spared++) {
		begin_with(lab, CACHE_OF(BLOCKS), BLOCK_BYTES, compressor);
		dw_kept_window_spare_workers(lab->window, 0, spared);
		read_around_codecs(lab);
		assert_int_equal(lab->trimmed, spared);
		assert_int_equal(lab->ends, spared * 2 * BLOCKS);
		assert_int_equal(dw_kept_window_decoded(lab->window), 0);
	}
	dw_kept_window_free_decoded(NULL);
	dw_compressor_free(compressor);
	dwarfs_context_free(context);
	free_lab(lab);
}

/* -- with one ---------------------------------------------------------------------------- */

static void a_block_that_cannot_be_read_has_no_bytes(void **state)
{
	const struct place *place = *state;

	for (int has_file = 0; has_file < 2; has_file++) {
		struct lab *lab = new_lab(has_file ? place->outputs : NOWHERE);

		lab->lost = 2;
		for (size_t cached = 0; cached <= BLOCKS; cached += BLOCKS) {
			begin(lab, CACHE_OF(cached));
			for (size_t at = 0; at < 5000; at += 1000)
				assert_int_equal(read_all(lab, at), BLOCKS - 1);
		}
		free_lab(lab);
	}
}

/* Blocks that do not fit into the cache are decompressed once, into the file, and freed, however
 * often they are read; nothing of it has a name. */
static void blocks_that_do_not_fit_are_in_the_file(void **state)
{
	const struct place *place = *state;
	static const size_t block_bytes[] = { BLOCK_BYTES, (size_t)64 << 20 };
	struct lab *lab = new_lab(place->outputs);

	for (size_t i = 0; i < 2; i++) {
		begin_with(lab, CACHE_OF(2), block_bytes[i], NULL);
		for (size_t at = 0; at < 99000; at += 997)
			assert_int_equal(read_all(lab, at), BLOCKS);
		assert_int_equal(lab->read, BLOCKS * BLOCK_BYTES);
		assert_int_equal(lab->trimmed, BLOCKS);
		assert_int_equal(dw_kept_window_decoded(lab->window), 0);
		assert_int_equal(count_entries(place->outputs), 0);
	}
	free_lab(lab);
}

/* The limit on decompressing is not for them: each read is allowed. */
static void the_file_is_read_without_limit(void **state)
{
	const struct place *place = *state;
	struct lab *lab = new_lab(place->outputs);

	begin(lab, 0);
	for (uint64_t bytes = 0; bytes < 6 * GIB; bytes += 3 * BLOCK_BYTES)
		for (uint32_t i = 0; i < 3; i++)
			if (!may_read(lab, i, (size_t)(bytes % 90000)))
				fail_msg("block %u", i);
	assert_int_equal(lab->read, 3 * BLOCK_BYTES);
	free_lab(lab);
}

/* A cache that holds all blocks is enough. */
static void there_is_no_file_if_all_blocks_are_held(void **state)
{
	const struct place *place = *state;
	struct lab *lab = new_lab(place->outputs);

	begin(lab, CACHE_OF(BLOCKS));
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(read_all(lab, 997 * i), BLOCKS);
	assert_int_equal(lab->read, 10 * BLOCKS * 1000);
	assert_int_equal(dw_kept_window_decoded(lab->window), 0);
	free_lab(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_that_is_not_in_the_cache_is_decompressed_again),
		cmocka_unit_test(a_block_in_use_stays_in_the_cache),
		cmocka_unit_test(decompressing_again_is_bounded),
		cmocka_unit_test(a_small_cache_is_used_less),
		cmocka_unit_test(a_slow_codec_is_used_less),
		cmocka_unit_test(a_block_read_elsewhere_counts),
		cmocka_unit_test(blocks_that_were_scanned_are_freed),
		cmocka_unit_test(blocks_are_freed_for_codecs),
		cmocka_unit_test_setup_teardown(a_block_that_cannot_be_read_has_no_bytes,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(blocks_that_do_not_fit_are_in_the_file,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(the_file_is_read_without_limit,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(there_is_no_file_if_all_blocks_are_held,
						make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
