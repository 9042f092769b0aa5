/* SPDX-License-Identifier: MIT */
/*
 * api/thrashing: readers with a cache of few blocks, a budget that changes, and the limit
 * of what may be decoded.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "small_cache.h"

/* Let the readers read with a small budget. On an idle machine `times` as much is decoded, or less.
 * Twice that is accepted, as threads that get no processor for long are not waited for. */
static void read_thrashing(const struct bytes *image, struct reader *readers,
			   uint64_t times)
{
	struct world world = { .image_bytes = *image };
	uint64_t decoded, read;

	open_world(&world, BUDGET);
	for (uint32_t i = 0; i < READERS; i++)
		readers[i].world = &world;
	read_by_all(readers);
	decoded = count_of(&world, DWARFS_CACHE_DECODED_BYTES);
	read = count_of(&world, DWARFS_CACHE_READ_BYTES);
	print_message("# decoded %.2f times, %llu waits\n",
		      (double)decoded / (double)read,
		      (unsigned long long)count_of(&world, DWARFS_CACHE_TURN_WAITS));
#ifndef __SANITIZE_THREAD__ /* it reads so slowly that threads are late */
	assert_true(decoded <= 2 * times * read);
#else
	(void)times;
#endif
	assert_true(count_of(&world, DWARFS_CACHE_TURN_WAITS) > 0);
	assert_true(count_of(&world, DWARFS_CACHE_MOST_USED) <= BUDGET);
	/* All of the image was decoded once, the rest again. */
	assert_true(decoded - count_of(&world, DWARFS_CACHE_REDECODED_BYTES) ==
		    ALL_BYTES);
	close_world(&world);
}

/* Each thread reads all files in the order of the tree, from another one on. Without turns
 * and look-ahead: 34 times. */
static void threads_at_different_files_take_turns(void **state)
{
	struct reader readers[READERS];

	for (uint32_t i = 0; i < READERS; i++)
		readers[i] = (struct reader){ .first = i * GROUPS * EACH / READERS,
					      .count = GROUPS * EACH };
	read_thrashing(*state, readers, 3);
}

/* A block is decoded for all of them. */
static void threads_at_the_same_file_stay_together(void **state)
{
	struct reader readers[READERS];

	for (uint32_t i = 0; i < READERS; i++)
		readers[i] = (struct reader){ .count = GROUPS * EACH };
	read_thrashing(*state, readers, 2);
}

/* Each thread reads the next file that none has read. */
static void threads_share_a_list_of_files(void **state)
{
	struct reader readers[READERS];
	atomic_uint next = 0;

	for (uint32_t i = 0; i < READERS; i++)
		readers[i] = (struct reader){ .next = &next, .count = GROUPS * EACH };
	read_thrashing(*state, readers, 6);
}

/* One thread reads a file from time to time, one ends early, one reads nothing more after
 * the first files until the others are done. */
static void waits_for_a_thread_that_pauses_are_short(void **state)
{
	struct world world = { .image_bytes = *(struct bytes *)*state };
	struct reader readers[READERS], late = { .world = &world, .count = 300 };
	sem_t are_done;

	open_world(&world, BUDGET);
	assert_int_equal(sem_init(&are_done, 0, 0), 0);
	late.stops_at = 200;
	late.may_go_on = &are_done;
	for (uint32_t i = 0; i < READERS; i++)
		readers[i] = (struct reader){ .world = &world, .count = GROUPS * EACH };
	readers[0].pause_every = 256;
	readers[0].pause_ns = 30000000;
	readers[1].count = 300;
	assert_int_equal(pthread_create(&late.thread, NULL, read_files, &late), 0);
	read_by_all(readers);
	assert_int_equal(sem_post(&are_done), 0);
	assert_int_equal(pthread_join(late.thread, NULL), 0);
	assert_int_equal(late.wrong, 0);
	assert_true(count_of(&world, DWARFS_CACHE_TURN_WAITS) > 0);
	sem_destroy(&are_done);
	close_world(&world);
}

/* One thread pauses before each file, or while it has borrowed one, for less or more than the
 * others wait for it, until they are done. */
static void a_slow_thread_blocks_no_other_and_keeps_the_bound(void **state)
{
	static const long pauses_ns[] = { 200000, 2000000, 40000000 };

	for (unsigned k = 0; k < 6; k++) {
		struct reader readers[READERS];
		atomic_uint others = READERS - 1;

		for (uint32_t i = 0; i < READERS; i++)
			readers[i] =
				(struct reader){ .first = i * GROUPS * EACH / READERS,
						 .count = GROUPS * EACH,
						 .left = &others };
		readers[0].left = NULL;
		readers[0].others = &others;
		readers[0].count = UINT32_MAX;
		readers[0].pause_every = 1;
		readers[0].pause_ns = pauses_ns[k % 3];
		readers[0].borrows = k >= 3;
		read_thrashing(*state, readers, 3);
		print_message("# the slow thread read %u files\n", readers[0].files_read);
		for (uint32_t i = 1; i < READERS; i++)
			assert_int_equal(readers[i].files_read, GROUPS * EACH);
		assert_true(readers[0].files_read > 0);
	}
}

/* -- an image in an image ------------------------------------------------------------ */

#define INNER_NAME "inner"

static int read_outer(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		      dwarfs_error **err, void *user)
{
	const struct world *outer = user;
	dwarfs_entry entry;
	dwarfs_inode inode;
	int ret;

	if ((ret = dwarfs_find(outer->image, INNER_NAME, &entry, err)) < 0 ||
	    (ret = dwarfs_entry_inode(outer->image, entry, &inode, err)) < 0)
		return ret;
	return dwarfs_read(outer->image, inode, buffer, bytes, offset, bytes_out, err);
}

/* In blocks that are larger than those of the inner image. */
static struct bytes wrap_image(const struct bytes *inner)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	struct bytes wrapped;

	assert_success(dwarfs_builder_set_block_bits(builder, 19, &err), err);
	assert_success(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
						"zstd:level=1", &err),
		       err);
	add_bytes(builder, INNER_NAME, inner->data, inner->size);
	wrapped = run(builder);
	dwarfs_builder_free(builder);
	return wrapped;
}

/* Threads that decode wait for blocks of the outer image, whose cache has no place for two of
 * them. */
static void a_source_reads_from_another_image(void **state)
{
	struct world outer = { .image_bytes = wrap_image(*state) }, inner = { 0 };
	struct reader readers[READERS];
	dwarfs_io *io = NULL;

	open_world(&outer, 3 * BLOCK);
	assert_int_equal(dwarfs_io_new(read_outer, ((struct bytes *)*state)->size, NULL,
				       &outer, &io, NULL),
			 0);
	assert_int_equal(dwarfs_context_new(&inner.context, NULL), 0);
	assert_int_equal(dwarfs_context_set_cache_bytes(inner.context, BUDGET, NULL), 0);
	assert_int_equal(
		dwarfs_image_open_io(inner.context, io, NULL, &inner.image, NULL), 0);
	for (uint32_t i = 0; i < READERS; i++)
		readers[i] = (struct reader){ .world = &inner,
					      .first = i * GROUPS * EACH / READERS,
					      .count = 300 };
	read_by_all(readers);
	assert_true(count_of(&outer, DWARFS_CACHE_REDECODED_BYTES) > 0);
	assert_true(count_of(&inner, DWARFS_CACHE_REDECODED_BYTES) > ALL_BYTES / 4);
	assert_true(count_of(&inner, DWARFS_CACHE_TURN_WAITS) > 0);
	assert_true(count_of(&inner, DWARFS_CACHE_MOST_USED) <= BUDGET);
	dwarfs_io_free(io);
	close_world(&inner);
	close_world(&outer);
	free(outer.image_bytes.data);
}

/* -- a child, another budget, a limit ------------------------------------------------ */

/* A child has none of the threads that took turns in its parent. */
static void a_child_does_not_wait_for_threads_of_its_parent(void **state)
{
	struct world world = { .image_bytes = *(struct bytes *)*state };
	struct reader readers[READERS];
	int status;
	pid_t child;

	open_world(&world, BUDGET);
	for (uint32_t i = 0; i < READERS; i++)
		readers[i] = (struct reader){ .world = &world, .count = GROUPS * EACH };
	read_by_all(readers);
	child = fork();
	if (child == 0) {
		struct reader reader = { .world = &world, .count = GROUPS * EACH };

		read_files(&reader);
		_exit(reader.wrong);
	}
	assert_true(child > 0);
	assert_true(waitpid(child, &status, 0) == child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close_world(&world);
}

/* One thread does not wait. */
static void one_thread_keeps_what_it_reads_next(void **state)
{
	struct world world = { .image_bytes = *(struct bytes *)*state };

	open_world(&world, BUDGET);
	for (uint32_t i = 0; i < GROUPS * EACH; i++)
		assert_int_equal(try_file(&world, i), 0);
	print_message("# decoded %.2f times\n",
		      (double)count_of(&world, DWARFS_CACHE_DECODED_BYTES) / ALL_BYTES);
	/* Without look-ahead: 22 times. */
	assert_true(count_of(&world, DWARFS_CACHE_DECODED_BYTES) <= 4 * ALL_BYTES);
	assert_true(count_of(&world, DWARFS_CACHE_TURN_WAITS) == 0);
	close_world(&world);
}

static void a_smaller_budget_evicts(void **state)
{
	struct world world = { .image_bytes = *(struct bytes *)*state };
	uint64_t decoded;

	open_world(&world, 64 * BLOCK);
	for (uint32_t i = 0; i < GROUPS * EACH; i++)
		assert_int_equal(try_file(&world, i), 0);
	assert_true(count_of(&world, DWARFS_CACHE_USED) > 4 * BLOCK);
	decoded = count_of(&world, DWARFS_CACHE_DECODED_BYTES);
	assert_int_equal(dwarfs_context_set_cache_bytes(world.context, 4 * BLOCK, NULL),
			 0);
	assert_true(count_of(&world, DWARFS_CACHE_BUDGET) == 4 * BLOCK);
	assert_true(count_of(&world, DWARFS_CACHE_USED) <= 4 * BLOCK);
	assert_true(count_of(&world, DWARFS_CACHE_USED) > 0);
	assert_int_equal(dwarfs_context_set_cache_bytes(world.context, 0, NULL), 0);
	assert_true(count_of(&world, DWARFS_CACHE_USED) == 0);
	assert_int_equal(try_file(&world, 5), 0);
	assert_true(count_of(&world, DWARFS_CACHE_USED) == 0);
	/* A larger one keeps again. */
	assert_int_equal(dwarfs_context_set_cache_bytes(world.context, 64 * BLOCK, NULL),
			 0);
	assert_int_equal(try_file(&world, 5), 0);
	assert_true(count_of(&world, DWARFS_CACHE_DECODED_BYTES) > decoded);
	decoded = count_of(&world, DWARFS_CACHE_DECODED_BYTES);
	assert_int_equal(try_file(&world, 5), 0);
	assert_true(count_of(&world, DWARFS_CACHE_DECODED_BYTES) == decoded);
	close_world(&world);
}

/* The budget changes while threads read. */
static void a_budget_changes_under_readers(void **state)
{
	static const uint64_t budgets[] = { 0, BLOCK / 2, BUDGET, 64 * BLOCK };
	struct world world = { .image_bytes = *(struct bytes *)*state };
	struct reader readers[READERS];

	open_world(&world, BUDGET);
	for (uint32_t i = 0; i < READERS; i++) {
		readers[i] =
			(struct reader){ .world = &world, .first = i * 70, .count = 60 };
		assert_int_equal(
			pthread_create(&readers[i].thread, NULL, read_files, &readers[i]),
			0);
	}
	for (uint32_t i = 0; i < 400; i++)
		assert_int_equal(dwarfs_context_set_cache_bytes(world.context,
								budgets[i % 4], NULL),
				 0);
	for (uint32_t i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		assert_int_equal(readers[i].wrong, 0);
	}
	assert_int_equal(dwarfs_context_set_cache_bytes(world.context, 0, NULL), 0);
	assert_true(count_of(&world, DWARFS_CACHE_USED) == 0);
	close_world(&world);
}

/* Reads that miss each time: one file of a group after one of another group. */
static uint32_t scattered(uint32_t i)
{
	return i % GROUPS * EACH + i / GROUPS % EACH;
}

static int read_file(const struct world *world, uint32_t file, dwarfs_error **err)
{
	uint8_t data[FILE_BYTES];
	dwarfs_inode inode;
	size_t bytes;

	assert_int_equal(find_file(world, file, &inode), 0);
	return dwarfs_read(world->image, inode, data, sizeof(data), 0, &bytes, err);
}

#define LEAST_WINDOW (UINT64_C(16) << 20)

/* Read until the limit is exceeded; the number of the read that failed. */
static uint32_t exceed_limit(const struct world *world, dwarfs_error **err)
{
	uint64_t before = count_of(world, DWARFS_CACHE_READ_BYTES);
	uint32_t i = 0;

	assert_int_equal(dwarfs_context_set_decode_limit(world->context, 3, NULL), 0);
	while (read_file(world, scattered(i), err) == 0) {
		assert_true(++i < GROUPS * EACH);
		assert_true(count_of(world, DWARFS_CACHE_READ_BYTES) ==
			    before + (uint64_t)i * FILE_BYTES);
	}
	return i;
}

static void more_decoding_than_the_limit_is_an_error(void **state)
{
	struct world world = { .image_bytes = *(struct bytes *)*state };
	dwarfs_error *err = NULL;
	uint64_t decoded;
	uint32_t failed;

	open_world(&world, 2 * BLOCK);
	failed = exceed_limit(&world, &err);
	decoded = count_of(&world, DWARFS_CACHE_DECODED_BYTES);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_LIMIT);
	assert_non_null(strstr(dwarfs_error_message(err), "more than 3 times"));
	assert_non_null(strstr(dwarfs_error_message(err), "a cache of 524288 bytes"));
	assert_non_null(strstr(dwarfs_error_message(err), "blocks of up to 262144"));
	dwarfs_error_free(err);
	/* The last complete read ended the window, not one before it. */
	assert_true(count_of(&world, DWARFS_CACHE_REDECODED_BYTES) >= LEAST_WINDOW);
	assert_true(count_of(&world, DWARFS_CACHE_REDECODED_BYTES) <
		    LEAST_WINDOW + BLOCK);
	/* The error stays, but what is cached can be read. */
	assert_int_equal(read_file(&world, scattered(failed), NULL), DWARFS_ERR_LIMIT);
	assert_int_equal(read_file(&world, scattered(failed - 1), NULL), 0);
	assert_int_equal(count_of(&world, DWARFS_CACHE_REFUSED), 2);
	assert_true(count_of(&world, DWARFS_CACHE_DECODED_BYTES) == decoded);
	/* Another budget starts a new window, and so does another limit. */
	assert_int_equal(dwarfs_context_set_cache_bytes(world.context, BUDGET, NULL), 0);
	assert_int_equal(read_file(&world, scattered(failed), NULL), 0);
	exceed_limit(&world, NULL);
	assert_int_equal(dwarfs_context_set_decode_limit(world.context, 0, NULL), 0);
	for (uint32_t i = 0; i < GROUPS * EACH; i++)
		assert_int_equal(read_file(&world, scattered(i), NULL), 0);
	assert_int_equal(dwarfs_context_set_decode_limit(NULL, 3, NULL),
			 DWARFS_ERR_INVALID);
	close_world(&world);
}

static int count_piece(dwarfs_inode inode, const void *data, size_t bytes,
		       uint64_t offset, dwarfs_error **err, void *user)
{
	(void)inode, (void)data, (void)offset, (void)err;
	*(uint64_t *)user += bytes;
	return 0;
}

/* Reading in data order is not refused; prefetching does nothing. */
static void the_limit_is_one_of_the_cache(void **state)
{
	struct world world = { .image_bytes = *(struct bytes *)*state };
	uint64_t decoded, bytes = 0;
	dwarfs_inode inode;
	uint32_t failed;

	open_world(&world, 2 * BLOCK);
	failed = exceed_limit(&world, NULL);
	assert_int_equal(find_file(&world, scattered(failed), &inode), 0);
	decoded = count_of(&world, DWARFS_CACHE_DECODED_BYTES);
	assert_int_equal(dwarfs_read_in_order(world.image, &inode, 1, count_piece, NULL,
					      &bytes, NULL, NULL),
			 0);
	assert_int_equal(bytes, FILE_BYTES);
	assert_true(dwarfs_prefetch(world.image, &inode, 1, NULL) >= 0);
	assert_true(count_of(&world, DWARFS_CACHE_DECODED_BYTES) == decoded);
	close_world(&world);
}

/* Reads of few bytes of each block for the first time are not measured, and neither are
 * readers in the order of the tree slower than the limit. */
static void the_limit_does_not_concern_other_readers(void **state)
{
	struct world world = { .image_bytes = *(struct bytes *)*state };

	open_world(&world, BUDGET);
	assert_int_equal(dwarfs_context_set_decode_limit(world.context, 1, NULL), 0);
	for (uint32_t i = 0; i < 2 * GROUPS; i++)
		assert_int_equal(read_file(&world, scattered(i), NULL), 0);
	assert_true(count_of(&world, DWARFS_CACHE_DECODED_BYTES) >
		    4 * count_of(&world, DWARFS_CACHE_READ_BYTES));
	assert_int_equal(dwarfs_context_set_decode_limit(world.context, 8, NULL), 0);
	for (uint32_t i = 0; i < 4 * GROUPS * EACH; i++)
		assert_int_equal(read_file(&world, i % (GROUPS * EACH), NULL), 0);
	assert_true(count_of(&world, DWARFS_CACHE_REDECODED_BYTES) > 2 * LEAST_WINDOW);
	assert_int_equal(count_of(&world, DWARFS_CACHE_REFUSED), 0);
	close_world(&world);
}

static void *read_scattered(void *argument)
{
	struct reader *reader = argument;
	int ret = 0;

	for (uint32_t i = 0; i < reader->count && ret == 0; i++)
		ret = read_file(reader->world, scattered(reader->first + i), NULL);
	reader->wrong = ret;
	return NULL;
}

/* Threads that wait for each other all end with the error. */
static void the_limit_stops_all_threads(void **state)
{
	struct world world = { .image_bytes = *(struct bytes *)*state };
	struct reader readers[READERS];

	open_world(&world, 2 * BLOCK);
	assert_int_equal(dwarfs_context_set_decode_limit(world.context, 3, NULL), 0);
	for (uint32_t i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ .world = &world,
					      .first = i * 7 * EACH,
					      .count = UINT32_MAX };
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_scattered,
						&readers[i]),
				 0);
	}
	for (uint32_t i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		assert_int_equal(readers[i].wrong, DWARFS_ERR_LIMIT);
	}
	assert_true(count_of(&world, DWARFS_CACHE_REFUSED) >= READERS);
	close_world(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_keeps_what_it_reads_next),
		cmocka_unit_test(threads_at_different_files_take_turns),
		cmocka_unit_test(threads_at_the_same_file_stay_together),
		cmocka_unit_test(threads_share_a_list_of_files),
		cmocka_unit_test(waits_for_a_thread_that_pauses_are_short),
		cmocka_unit_test(a_slow_thread_blocks_no_other_and_keeps_the_bound),
		cmocka_unit_test(a_source_reads_from_another_image),
		cmocka_unit_test(a_child_does_not_wait_for_threads_of_its_parent),
		cmocka_unit_test(a_smaller_budget_evicts),
		cmocka_unit_test(a_budget_changes_under_readers),
		cmocka_unit_test(more_decoding_than_the_limit_is_an_error),
		cmocka_unit_test(the_limit_is_one_of_the_cache),
		cmocka_unit_test(the_limit_does_not_concern_other_readers),
		cmocka_unit_test(the_limit_stops_all_threads),
	};

	if (!dwarfs_has_codec("zstd")) {
		printf("1..0 # SKIP built without zstd\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, setup_small_cache, teardown_small_cache);
}
