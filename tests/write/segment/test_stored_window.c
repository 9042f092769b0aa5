/* SPDX-License-Identifier: MIT */
/* build: stored bytes, in memory and read again from the files they came from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/write_run.h"
#include "write/categorize/categorize.h"
#include "write/images/kept_blocks.h"
#include "write/images/source_image.h"
#include "write/input/scan.h"
#include "write/inspect/inspect.h"
#include "write/order/order.h"
#include "write/segment/stored_window.h"
#include "write/builder.h"

#define BLOCK_BYTES 100000
#define BLOCKS	    5

/* A file of 5 uncompressed blocks. */
struct lab {
	dwarfs_builder *builder;
	struct stream_settings settings[CATEGORY_COUNT];
	struct category_total totals[CATEGORY_COUNT];
	struct budget budget;
	struct build_run run;
	struct tree tree;
	struct contents contents;
	struct stored_window *window;
	struct block blocks[BLOCKS];
	uint8_t *bytes;
	uint64_t cache_bytes; /* of an image with its blocks */
	size_t trimmed;	      /* how often */
	size_t ends;	      /* how often the last byte of a block was read */
};

static void fill(uint8_t *bytes, size_t size, uint32_t seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525u + 1013904223u;
		bytes[i] = (uint8_t)(seed >> 24);
	}
}

/* Blocks consist of runs of this length, which divides the block size, of one file or by turns of
 * two, which have the same bytes. */
static struct lab *new_lab_of_files(const struct place *place, uint64_t ram_bytes,
				    size_t run_bytes, uint32_t files)
{
	struct lab *lab = dw_calloc(1, sizeof(*lab));

	assert_non_null(lab);
	lab->bytes = dw_malloc(BLOCKS * BLOCK_BYTES);
	assert_non_null(lab->bytes);
	fill(lab->bytes, BLOCKS * BLOCK_BYTES, 1);
	put_file(place, "f", lab->bytes, BLOCKS * BLOCK_BYTES);
	if (files > 1)
		put_file(place, "g", lab->bytes, BLOCKS * BLOCK_BYTES - 1);
	lab->builder = new_builder(place, 0);
	for (size_t i = 0; i < CATEGORY_COUNT; i++)
		assert_int_equal(dw_order_parse("path", &lab->settings[i].order, NULL),
				 0);
	lab->budget.readers = 1;
	lab->run = (struct build_run){
		.context = lab->builder->context,
		.options = &lab->builder->options,
		.root_fd = lab->builder->root_fd,
		.root_path = lab->builder->root_path,
		.counts = lab->builder->counts,
		.totals = lab->totals,
		.settings = lab->settings,
		.budget = &lab->budget,
	};
	dw_progress_start(&lab->run.progress, NULL);
	assert_int_equal(dw_scan(&lab->run, &lab->tree, NULL), 0);
	assert_int_equal(dw_inspect(&lab->run, &lab->tree, &lab->contents, NULL), 0);
	assert_int_equal(lab->contents.count, files);
	assert_int_equal(dw_stored_window_new(&lab->run, &lab->tree, &lab->contents, NULL,
					      BLOCK_BYTES, ram_bytes, &lab->window, NULL),
			 0);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		lab->blocks[i] = (struct block){
			.number = 7 + i, /* other streams came before */
			.data = dw_malloc(BLOCK_BYTES),
			.room = BLOCK_BYTES,
			.references = 1,
		};
		assert_non_null(lab->blocks[i].data);
		dw_stored_window_turn(lab->window, &lab->blocks[i]);
		for (size_t at = 0; at < BLOCK_BYTES; at += run_bytes) {
			uint32_t content = (uint32_t)(at / run_bytes) % files;

			assert_int_equal(dw_stored_window_note(lab->window, content,
							       i * BLOCK_BYTES + at,
							       NULL),
					 0);
			memcpy(lab->blocks[i].data + at,
			       lab->bytes + i * BLOCK_BYTES + at, run_bytes);
			lab->blocks[i].size = at + run_bytes;
		}
		if (i > 0 && lab->blocks[i - 1].references == 1) /* no longer kept */
			memset(lab->blocks[i - 1].data, 0, BLOCK_BYTES);
	}
	return lab;
}

static struct lab *new_lab_of_runs(const struct place *place, uint64_t ram_bytes,
				   size_t run_bytes)
{
	return new_lab_of_files(place, ram_bytes, run_bytes, 1);
}

static struct lab *new_lab(const struct place *place, uint64_t ram_bytes)
{
	return new_lab_of_runs(place, ram_bytes, BLOCK_BYTES);
}

static void free_lab(struct lab *lab)
{
	dw_stored_window_free(lab->window);
	dw_contents_free(&lab->contents);
	dw_tree_free(&lab->tree);
	dw_sources_free(lab->run.sources);
	dwarfs_builder_free(lab->builder);
	for (size_t i = 0; i < BLOCKS; i++)
		dw_free(lab->blocks[i].data);
	dw_free(lab->bytes);
	dw_free(lab);
}

/* All bytes are read back from any offset up to the end of a block. */
static void expect_all(struct lab *lab)
{
	for (uint64_t place = 0; place < BLOCKS * BLOCK_BYTES; place += 9973) {
		const uint8_t *data;
		size_t size;

		data = dw_stored_window_at(lab->window, place, &size);
		assert_non_null(data);
		assert_true(size > 0 && place % BLOCK_BYTES + size <= BLOCK_BYTES);
		assert_memory_equal(data, lab->bytes + place, size);
		if (place % BLOCK_BYTES == 0)
			continue;
		data = dw_stored_window_before(lab->window, place, &size);
		assert_non_null(data);
		assert_true(size > 0 && size <= place % BLOCK_BYTES);
		assert_memory_equal(data - size, lab->bytes + place - size, size);
	}
}

static void bytes_are_had_from_memory(void **state)
{
	struct lab *lab = new_lab(*state, BLOCKS * BLOCK_BYTES);

	expect_all(lab);
	assert_int_equal(dw_stored_window_work(lab->window), 0);
	free_lab(lab);
}

static void bytes_are_read_again(void **state)
{
	struct lab *lab = new_lab(*state, 0);
	uint64_t work;

	expect_all(lab);
	work = dw_stored_window_work(lab->window);
	assert_true(work > 0);
	expect_all(lab); /* pages are kept */
	assert_int_equal(dw_stored_window_work(lab->window), work);
	free_lab(lab);
}

/* -- blocks of an image ---------------------------------------------------------------- */

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
	const struct lab *lab = user;

	(void)err;
	if (size > BLOCK_BYTES - offset)
		size = BLOCK_BYTES - (size_t)offset;
	memcpy(buffer, lab->bytes + block * BLOCK_BYTES + offset, size);
	return (int64_t)size;
}

typedef int64_t read_block_fn(void *user, uint32_t block, void *buffer, size_t size,
			      uint64_t offset, dwarfs_error **err);

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

/* Blocks of an image, whose cache has a size. */
struct kept_lab {
	struct lab *lab;
	struct source_image image;
	struct source_block blocks[BLOCKS];
	struct kept_block list[BLOCKS];
	struct kept_blocks kept;
	struct stored_window *window;
};

static void begin_kept_with(struct kept_lab *kept, struct lab *lab, uint64_t cache_bytes,
			    read_block_fn *read, size_t block_bytes,
			    struct compressor *compressor)
{
	static struct source_image_ops ops;

	ops = (struct source_image_ops){ .block_bytes = whole_blocks,
					 .read_block = read,
					 .cache_bytes = cache_of_lab,
					 .trim_cache = count_trim };
	*kept = (struct kept_lab){
		.lab = lab,
		.image = { .ops = &ops, .user = lab, .blocks = kept->blocks },
	};
	lab->cache_bytes = cache_bytes;
	for (uint32_t i = 0; i < BLOCKS; i++)
		kept->list[i] = (struct kept_block){ .image = &kept->image, .block = i };
	kept->kept = (struct kept_blocks){ .list = kept->list, .count = BLOCKS };
	assert_int_equal(dw_stored_window_new(&lab->run, &lab->tree, &lab->contents,
					      compressor, block_bytes, 0, &kept->window,
					      NULL),
			 0);
	assert_int_equal(dw_stored_window_set_kept(kept->window, &kept->kept, NULL), 0);
}

static void begin_kept_in(struct kept_lab *kept, struct lab *lab, uint64_t cache_bytes,
			  read_block_fn *read, size_t block_bytes)
{
	begin_kept_with(kept, lab, cache_bytes, read, block_bytes, NULL);
}

static void begin_kept(struct kept_lab *kept, struct lab *lab, uint64_t cache_bytes,
		       read_block_fn *read)
{
	begin_kept_in(kept, lab, cache_bytes, read, BLOCK_BYTES);
}

/* Look at the same place of every block, in turn: how many may be read. */
static size_t look_at_all(struct kept_lab *kept, size_t at)
{
	size_t had = 0;

	for (size_t i = 0; i < BLOCKS; i++) {
		size_t place = i * BLOCK_BYTES + at, size;
		const uint8_t *data = dw_stored_window_at(kept->window, place, &size);

		if (!data)
			continue;
		assert_memory_equal(data, kept->lab->bytes + place, size);
		had++;
	}
	return had;
}

/* Of which 7/8 are counted on. */
#define CACHE_OF(blocks) ((blocks)*BLOCK_BYTES * 8 / 7 + 8)

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
	struct lab *lab = new_lab(*state, 0);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kept_lab kept;

		begin_kept(&kept, lab, cases[i].cache_bytes, read_block);
		assert_int_equal(look_at_all(&kept, 0), BLOCKS);
		assert_int_equal(look_at_all(&kept, 0), BLOCKS); /* pages are kept */
		assert_int_equal(dw_stored_window_decoded(kept.window), 0);
		/* In pages that were not read yet. */
		assert_int_equal(look_at_all(&kept, BLOCK_BYTES - 1000), BLOCKS);
		assert_int_equal(dw_stored_window_decoded(kept.window), cases[i].decoded);
		dw_stored_window_free(kept.window);
	}
	free_lab(lab);
}

/* The blocks that were used last are held, however often the others are. */
static void a_block_in_use_stays_in_the_cache(void **state)
{
	struct lab *lab = new_lab(*state, 0);
	struct kept_lab kept;
	size_t size, at = 0;

	begin_kept(&kept, lab, CACHE_OF(2), read_block);
	assert_int_equal(look_at_all(&kept, 0), BLOCKS);
	for (size_t i = 1; i < BLOCKS; i++) {
		at += 10000;
		assert_non_null(dw_stored_window_at(kept.window, at, &size));
		assert_non_null(
			dw_stored_window_at(kept.window, i * BLOCK_BYTES + at, &size));
	}
	/* Each once: block 0 is held from then on. */
	assert_int_equal(dw_stored_window_decoded(kept.window), BLOCKS * BLOCK_BYTES);
	dw_stored_window_free(kept.window);
	free_lab(lab);
}

/* Look at the ends of blocks and the begins of the next ones, which are in one page. */
static bool may_go_on(struct stored_window *window)
{
	size_t size;

	return dw_stored_window_at(window, BLOCK_BYTES - 1, &size) &&
	       dw_stored_window_at(window, BLOCK_BYTES, &size) &&
	       dw_stored_window_at(window, 2 * BLOCK_BYTES - 1, &size) &&
	       dw_stored_window_at(window, 2 * BLOCK_BYTES, &size);
}

/* Bytes that are decompressed again until no more may be. */
static uint64_t decode_all(struct stored_window *window)
{
	while (may_go_on(window))
		;
	return dw_stored_window_decoded(window);
}

#define GIB (UINT64_C(1) << 30)

/* What decompresses again and again comes to an end, until there is new data. */
static void decompressing_again_is_bounded(void **state)
{
	struct lab *lab = new_lab(*state, 0);
	struct kept_lab kept;
	uint64_t bound;
	size_t size;

	begin_kept(&kept, lab, CACHE_OF(2), read_block);
	bound = decode_all(kept.window);
	assert_in_range(bound, GIB, 4 * GIB + BLOCK_BYTES);
	assert_int_equal(decode_all(kept.window), bound);
	/* A block that was not read yet is free. */
	assert_non_null(dw_stored_window_at(kept.window, 3 * BLOCK_BYTES, &size));
	assert_int_equal(dw_stored_window_decoded(kept.window), bound);
	/* What is earned is in proportion, up to a store. */
	dw_stored_window_earn(kept.window, 1 << 20);
	assert_in_range(decode_all(kept.window) - bound, GIB / 2 - BLOCK_BYTES,
			GIB / 2 + BLOCK_BYTES);
	bound = dw_stored_window_decoded(kept.window);
	dw_stored_window_earn(kept.window, GIB);
	assert_in_range(decode_all(kept.window) - bound, 4 * GIB, 16 * GIB + BLOCK_BYTES);
	dw_stored_window_free(kept.window);
	free_lab(lab);
}

/* Less is decompressed if the cache does not hold two blocks. */
static void a_small_cache_is_used_less(void **state)
{
	struct lab *lab = new_lab(*state, 0);
	struct kept_lab kept;
	uint64_t bound, more;

	begin_kept(&kept, lab, CACHE_OF(2), read_block);
	bound = decode_all(kept.window);
	dw_stored_window_earn(kept.window, 1 << 20);
	more = decode_all(kept.window) - bound;
	dw_stored_window_free(kept.window);
	begin_kept(&kept, lab, CACHE_OF(1), read_block);
	assert_in_range(decode_all(kept.window), bound / 32, bound / 8);
	bound = dw_stored_window_decoded(kept.window);
	dw_stored_window_earn(kept.window, 1 << 20);
	assert_in_range(decode_all(kept.window) - bound, more / 32, more / 8);
	dw_stored_window_free(kept.window);
	free_lab(lab);
}

/* Of blocks of slow codecs less is decompressed. */
static void a_slow_codec_is_used_less(void **state)
{
	struct lab *lab = new_lab(*state, 0);
	struct kept_lab kept;
	uint64_t bound;

	begin_kept(&kept, lab, 0, read_block);
	bound = decode_all(kept.window);
	dw_stored_window_free(kept.window);
	begin_kept(&kept, lab, 0, read_block);
	for (size_t i = 0; i < BLOCKS; i++)
		kept.blocks[i].compression = CODEC_LZMA;
	assert_int_equal(dw_stored_window_set_kept(kept.window, &kept.kept, NULL), 0);
	assert_in_range(decode_all(kept.window), bound / 10, bound / 4);
	dw_stored_window_free(kept.window);
	free_lab(lab);
}

/* What was read in another way is not free a second time, and is held. */
static void a_block_read_elsewhere_counts(void **state)
{
	struct lab *lab = new_lab(*state, 0);
	struct kept_lab kept;

	begin_kept(&kept, lab, CACHE_OF(BLOCKS - 1), read_block);
	for (uint32_t i = 0; i < BLOCKS; i++)
		dw_stored_window_was_read(kept.window, i);
	assert_int_equal(look_at_all(&kept, 0), BLOCKS);
	assert_int_equal(dw_stored_window_decoded(kept.window), BLOCKS * BLOCK_BYTES);
	dw_stored_window_free(kept.window);
	begin_kept(&kept, lab, CACHE_OF(BLOCKS), read_block);
	for (uint32_t i = 0; i < BLOCKS; i++)
		dw_stored_window_was_read(kept.window, i);
	assert_int_equal(look_at_all(&kept, 0), BLOCKS);
	assert_int_equal(dw_stored_window_decoded(kept.window), 0);
	dw_stored_window_free(kept.window);
	free_lab(lab);
}

/* Blocks of 64 MiB that were scanned are freed; where one is found later, it is decompressed again,
 * at no cost. Smaller ones stay, and are not decompressed for free. */
static void only_large_blocks_are_freed(void **state)
{
	static const struct {
		size_t block_bytes, trimmed, held;
	} cases[] = {
		{ (size_t)32 << 20, 0, BLOCKS - 1 },
		{ (size_t)64 << 20, BLOCKS, 0 },
	};
	struct lab *lab = new_lab(*state, 0);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kept_lab kept;
		size_t size, in_vain = 0;

		begin_kept_in(&kept, lab, CACHE_OF(BLOCKS - 1), read_block,
			      cases[i].block_bytes);
		lab->trimmed = 0;
		for (uint32_t j = 0; j < BLOCKS; j++)
			dw_stored_window_was_scanned(kept.window, j);
		assert_int_equal(lab->trimmed, cases[i].trimmed);
		for (size_t j = BLOCKS; j-- > 0;) {
			assert_non_null(dw_stored_window_at(
				kept.window, j * cases[i].block_bytes + 7, &size));
			in_vain += dw_stored_window_decoded(kept.window) > 0;
		}
		/* The first one was not held any more. */
		assert_int_equal(in_vain, cases[i].held > 0);
		dw_stored_window_free(kept.window);
	}
	free_lab(lab);
}

static int64_t read_and_count_ends(void *user, uint32_t block, void *buffer, size_t size,
				   uint64_t offset, dwarfs_error **err)
{
	struct lab *lab = user;

	lab->ends += size == 1 && offset == BLOCK_BYTES - 1;
	return read_block(user, block, buffer, size, offset, err);
}

/* Look at other bytes of all blocks, twice with all blocks being freed between. */
static void look_around_codecs(struct kept_lab *kept)
{
	for (size_t i = 0; i < 4 * BLOCKS; i++) {
		size_t size;

		if (i == 2 * BLOCKS)
			dw_stored_window_free_kept(kept->window);
		assert_non_null(dw_stored_window_at(
			kept->window, i % BLOCKS * BLOCK_BYTES + 16384 * (i / BLOCKS),
			&size));
	}
}

/* If that is wanted, blocks are freed before a new one is compressed, and decompressed to their
 * ends. What is compared does not depend on it. */
static void blocks_are_freed_for_codecs(void **state)
{
	struct lab *lab = new_lab(*state, 0);
	struct section_writer sections = { .run = &lab->run };
	struct block_streams streams = { 0 };
	const struct budget budget = { .workers = 0 };
	struct compressor *compressor = NULL;

	assert_int_equal(
		dw_compressor_new(&sections, &budget, &streams, &compressor, NULL), 0);
	for (uint32_t spared = 0; spared < 2; spared++) {
		struct kept_lab kept;

		begin_kept_with(&kept, lab, CACHE_OF(BLOCKS), read_and_count_ends,
				BLOCK_BYTES, compressor);
		dw_stored_window_spare_workers(kept.window, 0, spared);
		lab->trimmed = lab->ends = 0;
		look_around_codecs(&kept);
		assert_int_equal(lab->trimmed, spared);
		assert_int_equal(lab->ends, spared * 2 * BLOCKS);
		assert_int_equal(dw_stored_window_decoded(kept.window), 0);
		dw_stored_window_free(kept.window);
	}
	dw_stored_window_free_kept(NULL);
	dw_compressor_free(compressor);
	free_lab(lab);
}

static int64_t read_all_but_one(void *user, uint32_t block, void *buffer, size_t size,
				uint64_t offset, dwarfs_error **err)
{
	return block == 2 ? -1 : read_block(user, block, buffer, size, offset, err);
}

static void a_block_that_cannot_be_read_has_no_bytes(void **state)
{
	struct lab *lab = new_lab(*state, 0);
	struct kept_lab kept;
	size_t size;

	begin_kept(&kept, lab, CACHE_OF(BLOCKS), read_all_but_one);
	assert_int_equal(look_at_all(&kept, 0), BLOCKS - 1);
	assert_int_equal(look_at_all(&kept, BLOCK_BYTES - 1000), BLOCKS - 1);
	assert_null(dw_stored_window_before(kept.window, 2 * BLOCK_BYTES + 10, &size));
	dw_stored_window_free(kept.window);
	free_lab(lab);
}

/* Near-equal files produce such runs: the bytes that one comparison reads are bounded by
 * a small page. */
static void a_look_among_short_runs_is_little_work(void **state)
{
	struct lab *lab = new_lab_of_runs(*state, 0, 250);
	size_t size;

	assert_non_null(dw_stored_window_at(lab->window, 250, &size));
	assert_true(dw_stored_window_work(lab->window) <= 96 << 10);
	expect_all(lab);
	free_lab(lab);
}

static void nothing_is_beyond_what_was_stored(void **state)
{
	struct lab *lab = new_lab(*state, BLOCK_BYTES);
	size_t size;

	assert_null(dw_stored_window_at(lab->window, BLOCKS * BLOCK_BYTES, &size));
	assert_null(dw_stored_window_at(lab->window, UINT64_C(1) << 39, &size));
	assert_null(dw_stored_window_before(lab->window, 0, &size));
	assert_null(dw_stored_window_before(lab->window, BLOCK_BYTES, &size));
	free_lab(lab);
}

static void a_file_that_changed_is_not_trusted(void **state)
{
	struct lab *lab = new_lab(*state, 0);
	size_t size;

	lab->bytes[10] ^= 1;
	put_file(*state, "f", lab->bytes, BLOCKS * BLOCK_BYTES - 1);
	assert_null(dw_stored_window_at(lab->window, 0, &size));
	assert_null(dw_stored_window_before(lab->window, 5, &size));
	assert_non_null(dw_stored_window_at(lab->window, 4 * BLOCK_BYTES, &size));
	free_lab(lab);
}

/* Also bytes that were read before. */
static void a_file_that_changes_while_it_is_open_is_not_trusted(void **state)
{
	struct lab *lab = new_lab_of_runs(*state, 0, 250);
	const uint8_t *data;
	size_t size;

	data = dw_stored_window_at(lab->window, 250, &size);
	assert_non_null(data);
	assert_memory_equal(data, lab->bytes + 250, size);
	put_file(*state, "f", lab->bytes, BLOCKS * BLOCK_BYTES - 1);
	assert_null(dw_stored_window_at(lab->window, 10000, &size));
	assert_null(dw_stored_window_at(lab->window, 2 * BLOCK_BYTES, &size));
	free_lab(lab);
}

static void runs_of_files_that_have_not_changed_are_used(void **state)
{
	struct lab *lab = new_lab_of_files(*state, 0, 250, 2);
	const uint8_t *data;
	size_t size;

	put_file(*state, "g", lab->bytes, BLOCKS * BLOCK_BYTES - 2);
	assert_null(
		dw_stored_window_at(lab->window, 2 * BLOCK_BYTES + 9000 + 250, &size));
	data = dw_stored_window_at(lab->window, 3 * BLOCK_BYTES + 9000, &size);
	assert_non_null(data);
	assert_int_equal(size, 250);
	assert_memory_equal(data, lab->bytes + 3 * BLOCK_BYTES + 9000, size);
	free_lab(lab);
}

static void a_file_that_is_gone_is_not_trusted(void **state)
{
	struct lab *lab = new_lab(*state, 0);
	size_t size;

	assert_int_equal(unlink(in(*state, "f")), 0);
	assert_null(dw_stored_window_at(lab->window, 0, &size));
	free_lab(lab);
}

/* Bytes that were removed and stored again must not be read from the old copy. */
static void what_is_taken_back_is_forgotten(void **state)
{
	struct lab *lab = new_lab(*state, 0);
	uint64_t place = BLOCKS * BLOCK_BYTES - 1000;
	struct block next = { .number = 7 + BLOCKS,
			      .room = BLOCK_BYTES,
			      .references = 1 };
	const uint8_t *data;
	size_t size;

	/* A page that extends into the block being filled. */
	assert_non_null(dw_stored_window_at(lab->window, 4 * BLOCK_BYTES - 1, &size));
	lab->blocks[4].size -= 1000;
	assert_int_equal(dw_stored_window_note(lab->window, 0, 0, NULL), 0);
	memcpy(lab->blocks[4].data + BLOCK_BYTES - 1000, lab->bytes, 1000);
	lab->blocks[4].size += 1000;
	data = dw_stored_window_at(lab->window, place, &size);
	assert_memory_equal(data, lab->bytes, 1000);
	next.data = lab->blocks[0].data;
	dw_stored_window_turn(lab->window,
			      &next); /* block 4 is read again from here on */
	data = dw_stored_window_at(lab->window, place, &size);
	assert_non_null(data);
	assert_memory_equal(data, lab->bytes, size);
	data = dw_stored_window_at(lab->window, place - 500, &size);
	assert_non_null(data);
	assert_true(size > 0);
	assert_memory_equal(data, lab->bytes + place - 500, size < 500 ? size : 500);
	free_lab(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bytes_are_had_from_memory, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(bytes_are_read_again, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(
			a_block_that_is_not_in_the_cache_is_decompressed_again,
			make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_block_in_use_stays_in_the_cache,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(decompressing_again_is_bounded,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_small_cache_is_used_less, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(a_slow_codec_is_used_less, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(a_block_read_elsewhere_counts, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(only_large_blocks_are_freed, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(blocks_are_freed_for_codecs, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(a_block_that_cannot_be_read_has_no_bytes,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_look_among_short_runs_is_little_work,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(nothing_is_beyond_what_was_stored,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_file_that_changed_is_not_trusted,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			a_file_that_changes_while_it_is_open_is_not_trusted, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			runs_of_files_that_have_not_changed_are_used, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(a_file_that_is_gone_is_not_trusted,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(what_is_taken_back_is_forgotten,
						make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
