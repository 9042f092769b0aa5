/* SPDX-License-Identifier: MIT */
/* build: blocks of images that are decompressed into a temporary file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/scratch.h"
#include "support/write_run.h"
#include "write/images/decoded_blocks.h"
#include "write/images/source_image.h"

#define BLOCKS 4

/* Of different sizes, one of them empty; more than one piece is read of the first. */
static const uint64_t sizes[BLOCKS] = { 600000, 0, 262144, 7 };

struct lab {
	struct source_image image;
	struct kept_block list[BLOCKS];
	struct kept_blocks kept;
	struct build_run run;
	struct decoded_blocks *blocks;
	size_t reads;
	bool is_damaged; /* from the middle of block 0 on */
};

static uint8_t byte_of(uint32_t block, uint64_t at)
{
	return (uint8_t)(at * 7 + at / 251 + block);
}

static int bytes_of_block(void *user, uint32_t block, uint64_t *bytes_out,
			  dwarfs_error **err)
{
	(void)user, (void)err;
	*bytes_out = sizes[block];
	return 0;
}

static int64_t read_block(void *user, uint32_t block, void *buffer, size_t size,
			  uint64_t offset, dwarfs_error **err)
{
	struct lab *lab = user;
	uint8_t *to = buffer;

	(void)err;
	lab->reads++;
	if (lab->is_damaged && block == 0 && offset > 0)
		return DWARFS_ERR_CORRUPT;
	if (size > sizes[block] - offset)
		size = (size_t)(sizes[block] - offset);
	for (size_t i = 0; i < size; i++)
		to[i] = byte_of(block, offset + i);
	return (int64_t)size;
}

static struct lab *new_lab(const char *directory)
{
	static const struct source_image_ops ops = { .block_bytes = bytes_of_block,
						     .read_block = read_block };
	struct lab *lab = dw_calloc(1, sizeof(*lab));

	assert_non_null(lab);
	lab->image = (struct source_image){ .ops = &ops, .user = lab };
	for (uint32_t i = 0; i < BLOCKS; i++)
		lab->list[i] = (struct kept_block){ .image = &lab->image, .block = i };
	lab->kept = (struct kept_blocks){ .list = lab->list, .count = BLOCKS };
	lab->run.spool_directory = directory;
	assert_int_equal(dw_decoded_blocks_new(&lab->run, &lab->kept, &lab->blocks, NULL),
			 0);
	return lab;
}

static void free_lab(struct lab *lab)
{
	dw_decoded_blocks_free(lab->blocks);
	dw_free(lab);
}

/* Bytes of a block in the file, from an offset on. */
static void expect_block(struct lab *lab, uint32_t number, uint64_t offset)
{
	uint8_t bytes[5000];
	uint64_t left = sizes[number] - offset;
	int64_t got =
		dw_decoded_blocks_read(lab->blocks, number, bytes, sizeof(bytes), offset);

	assert_int_equal(got, left < sizeof(bytes) ? left : sizeof(bytes));
	for (size_t i = 0; i < (size_t)got; i++)
		assert_int_equal(bytes[i], byte_of(number, offset + i));
}

static void blocks_are_read_back(void **state)
{
	const struct place *place = *state;
	static const uint32_t order[BLOCKS] = { 2, 1, 3, 0 };
	struct lab *lab = new_lab(place->outputs);
	size_t reads;

	for (size_t i = 0; i < BLOCKS; i++) {
		assert_false(dw_decoded_blocks_has(lab->blocks, order[i]));
		assert_int_equal(dw_decoded_blocks_add(lab->blocks, order[i]), 1);
		assert_true(dw_decoded_blocks_has(lab->blocks, order[i]));
	}
	reads = lab->reads;
	for (uint32_t i = 0; i < BLOCKS; i++)
		for (uint64_t at = 0; at < sizes[i]; at += 4999)
			expect_block(lab, i, at);
	assert_int_equal(lab->reads, reads);
	assert_int_equal(dw_decoded_blocks_read(lab->blocks, 3, &reads, 1, 7), 0);
	assert_int_equal(count_entries(place->outputs), 0);
	free_lab(lab);
}

/* It is in the directory of the output, or of temporary files if that is none. */
static void without_a_directory_one_is_chosen(void **state)
{
	const struct place *place = *state;
	dwarfs_sink *sinks[3] = { NULL };
	auto_free char *directory = NULL;

	assert_int_equal(dwarfs_sink_open(place->image, false, &sinks[0], NULL), 0);
	assert_int_equal(dwarfs_sink_to_memory(SIZE_MAX, &sinks[1], NULL), 0);
	directory = dw_sink_directory(sinks[0]);
	assert_string_equal(directory, place->outputs);
	assert_null(dw_sink_directory(sinks[1]));
	for (size_t i = 0; i < 3; i++) {
		struct lab *lab = new_lab(NULL);

		lab->run.output = sinks[i];
		assert_int_equal(dw_decoded_blocks_add(lab->blocks, 0), 1);
		expect_block(lab, 0, 1000);
		free_lab(lab);
		dwarfs_sink_free(sinks[i]);
	}
}

static void what_is_damaged_is_not_added(void **state)
{
	const struct place *place = *state;
	struct lab *lab = new_lab(place->outputs);

	lab->is_damaged = true;
	assert_int_equal(dw_decoded_blocks_add(lab->blocks, 0), DWARFS_ERR_CORRUPT);
	assert_false(dw_decoded_blocks_has(lab->blocks, 0));
	assert_int_equal(dw_decoded_blocks_add(lab->blocks, 2), 1);
	expect_block(lab, 2, 0);
	free_lab(lab);
}

static void without_a_file_nothing_is_added(void **state)
{
	const struct place *place = *state;
	struct lab *lab = new_lab("/dev/null/nowhere");

	assert_true(dw_scratch_space(place->outputs) > 0);
	assert_int_equal(dw_scratch_space("/dev/null/nowhere"), 0);
	for (uint32_t i = 0; i < BLOCKS; i++)
		assert_int_equal(dw_decoded_blocks_add(lab->blocks, i), 0);
	assert_int_equal(lab->reads, 0);
	free_lab(lab);
}

static void limit_files(rlim_t bytes, struct rlimit *before)
{
	struct rlimit limit = { bytes, RLIM_INFINITY };

	assert_int_equal(getrlimit(RLIMIT_FSIZE, before), 0);
	limit.rlim_max = before->rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A quarter of the limit has room for block 2 alone. Writing more would raise SIGXFSZ, which ends
 * the process. */
static void the_limit_on_files_is_kept(void **state)
{
	const struct place *place = *state;
	struct lab *lab = new_lab(place->outputs);
	struct rlimit before;

	limit_files(4 * 300000, &before);
	assert_int_equal(dw_scratch_space(place->outputs), 4 * 300000);
	assert_int_equal(dw_decoded_blocks_add(lab->blocks, 0), 0);
	assert_int_equal(lab->reads, 0);
	assert_int_equal(dw_decoded_blocks_add(lab->blocks, 2), 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_block(lab, 2, 0);
	free_lab(lab);
}

/* Blocks that were added stay when another one cannot be written. */
static void what_cannot_be_written_is_not_added(void **state)
{
	const struct place *place = *state;
	struct rlimit before;
	struct lab *lab = new_lab(place->outputs);
	void (*old)(int) = signal(SIGXFSZ, SIG_IGN);

	assert_int_equal(dw_decoded_blocks_add(lab->blocks, 2), 1);
	limit_files(300000, &before);
	assert_int_equal(dw_decoded_blocks_add(lab->blocks, 0), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, old);
	assert_false(dw_decoded_blocks_has(lab->blocks, 0));
	expect_block(lab, 2, 0);
	lab->reads = 0;
	assert_int_equal(dw_decoded_blocks_add(lab->blocks, 0), 0);
	assert_int_equal(lab->reads, 0); /* is not decompressed in vain again */
	free_lab(lab);
}

/* After an error of the file, no block is in it, and none is added. */
static void a_file_that_lacks_bytes_is_not_used(void **state)
{
	const struct place *place = *state;
	struct lab *lab = new_lab(place->outputs);
	uint8_t bytes[100];
	int fd = dup(0); /* the next descriptor is that of the file */

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(dw_decoded_blocks_add(lab->blocks, 3), 1);
	assert_int_equal(dw_decoded_blocks_add(lab->blocks, 2), 1);
	assert_int_equal(ftruncate(fd, 1000), 0);
	expect_block(lab, 3, 0);
	assert_int_equal(dw_decoded_blocks_read(lab->blocks, 2, bytes, 100, 2000), -EIO);
	assert_false(dw_decoded_blocks_has(lab->blocks, 2));
	assert_false(dw_decoded_blocks_has(lab->blocks, 3));
	assert_int_equal(dw_decoded_blocks_add(lab->blocks, 0), 0);
	free_lab(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(blocks_are_read_back, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(without_a_directory_one_is_chosen,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(what_is_damaged_is_not_added, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(without_a_file_nothing_is_added,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(the_limit_on_files_is_kept, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(what_cannot_be_written_is_not_added,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_file_that_lacks_bytes_is_not_used,
						make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
