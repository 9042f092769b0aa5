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

static int64_t read_all_but_one(void *user, uint32_t block, void *buffer, size_t size,
				uint64_t offset, dwarfs_error **err)
{
	return block == 2 ? -1 : read_block(user, block, buffer, size, offset, err);
}

static uint64_t cache_of_all(void *user)
{
	(void)user;
	return 4 * BLOCKS * BLOCK_BYTES;
}

/* The blocks of an image come first, up to the end of each, and those of the stream follow. */
static void kept_blocks_are_read_from_their_image(void **state)
{
	static const struct source_image_ops ops = { .block_bytes = whole_blocks,
						     .read_block = read_all_but_one,
						     .cache_bytes = cache_of_all };
	struct lab *lab = new_lab(*state, 0);
	struct source_block blocks[BLOCKS] = { 0 };
	struct source_image image = { .ops = &ops, .user = lab, .blocks = blocks };
	struct kept_block list[BLOCKS];
	struct kept_blocks kept = { .list = list, .count = BLOCKS };
	struct block next = { .number = BLOCKS, .room = BLOCK_BYTES, .references = 1 };
	DW_AUTO(kept_window) struct kept_window *old = NULL;
	DW_AUTO(window) struct stored_window *window = NULL;
	const uint8_t *data;
	size_t size;

	for (uint32_t i = 0; i < BLOCKS; i++)
		list[i] = (struct kept_block){ .image = &image, .block = i };
	assert_int_equal(
		dw_kept_window_new(&lab->run, &kept, NULL, BLOCK_BYTES, &old, NULL), 0);
	assert_int_equal(dw_stored_window_new(&lab->run, &lab->tree, &lab->contents, NULL,
					      BLOCK_BYTES, 0, &window, NULL),
			 0);
	dw_stored_window_set_kept(window, old);
	for (uint64_t place = 1; place < BLOCKS * BLOCK_BYTES; place += 9973) {
		data = dw_stored_window_at(window, place, &size);
		if (place / BLOCK_BYTES == 2) {
			assert_null(data);
			continue;
		}
		assert_non_null(data);
		assert_true(size > 0 && place % BLOCK_BYTES + size <= BLOCK_BYTES);
		assert_memory_equal(data, lab->bytes + place, size);
		data = dw_stored_window_before(window, place, &size);
		assert_non_null(data);
		assert_true(size > 0 && size <= place % BLOCK_BYTES);
		assert_memory_equal(data - size, lab->bytes + place - size, size);
	}
	assert_null(dw_stored_window_before(window, 2 * BLOCK_BYTES + 10, &size));
	assert_null(dw_stored_window_at(window, BLOCKS * BLOCK_BYTES, &size));
	next.data = lab->blocks[0].data;
	next.size = 10;
	dw_stored_window_turn(window, &next);
	data = dw_stored_window_at(window, BLOCKS * BLOCK_BYTES, &size);
	assert_ptr_equal(data, next.data);
	assert_int_equal(size, 10);
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
		cmocka_unit_test_setup_teardown(kept_blocks_are_read_from_their_image,
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
