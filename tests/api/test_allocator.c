/* SPDX-License-Identifier: MIT */
/*
 * api/test_allocator: memory from functions of the program.
 */
#include <pthread.h>

#include "allocator.h"

/* -- what is taken is given back ----------------------------------------------------- */

static void all_memory_is_returned(void **state)
{
	static const uint32_t workers[] = { 0, 4 };
	dwarfs_error *err = NULL;
	struct pool pool;

	for (const struct named_operation *next = operations; next->run; next++)
		for (size_t i = 0; i < 2; i++) {
			pool_init(&pool);
			assert_success(run_with(*state, &pool.functions, workers[i],
						next->run, &err),
				       err);
			print_message("# %s, %u workers: %zu calls, %zu bytes at most\n",
				      next->name, workers[i], atomic_load(&pool.calls),
				      atomic_load(&pool.most));
			assert_true(atomic_load(&pool.calls) > 10);
			assert_pool_is_empty(&pool);
		}
}

static void memory_is_returned_without_resize(void **state)
{
	dwarfs_error *err = NULL;
	struct pool pool;

	pool_init(&pool);
	pool.functions.resize = NULL;
	assert_success(run_with(*state, &pool.functions, 2, pack_from_memory, &err), err);
	assert_success(run_with(*state, &pool.functions, 2, list_and_read, &err), err);
	assert_true(atomic_load(&pool.calls) > 10);
	assert_pool_is_empty(&pool);
}

/* -- which allocator ----------------------------------------------------------------- */

static void a_context_brings_its_allocator(void **state)
{
	const dwarfs_allocator *current = NULL;
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	struct pool of_context, of_thread;
	size_t before;

	pool_init(&of_context);
	pool_init(&of_thread);
	assert_success(
		dwarfs_context_new_with_allocator(&of_context.functions, &context, &err),
		err);
	assert_int_equal(atomic_load(&of_context.blocks), 1);
	/* The source and its name are the thread's. */
	assert_success(dwarfs_allocator_use(&of_thread.functions, NULL, &err), err);
	assert_success(list_and_read(*state, context, &err), err);
	before = atomic_load(&of_context.calls);
	assert_true(before > 100);
	assert_true(atomic_load(&of_thread.calls) > 0);
	assert_true(atomic_load(&of_thread.calls) < 20);
	/* A private context is the thread's. */
	assert_success(list_and_read(*state, NULL, &err), err);
	assert_int_equal(atomic_load(&of_context.calls), before);
	assert_true(atomic_load(&of_thread.calls) > 100);
	assert_success(dwarfs_allocator_use(NULL, &current, &err), err);
	assert_ptr_equal(current, &of_thread.functions);
	dwarfs_context_free(context);
	assert_pool_is_empty(&of_context);
	assert_pool_is_empty(&of_thread);
}

static void malloc_can_be_asked_for(void **state)
{
	dwarfs_context *context = NULL;
	dwarfs_image *image;
	struct pool pool;
	size_t before;

	pool_init(&pool);
	assert_int_equal(dwarfs_context_new_with_allocator(NULL, &context, NULL), 0);
	image = open_image(*state, context);
	assert_int_equal(dwarfs_allocator_use(&pool.functions, NULL, NULL), 0);
	before = atomic_load(&pool.calls);
	assert_non_null(image);
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL,
					    NULL, NULL, NULL),
			 0);
	assert_int_equal(atomic_load(&pool.calls), before);
	assert_int_equal(dwarfs_allocator_use(NULL, NULL, NULL), 0);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	assert_pool_is_empty(&pool);
}

static void *current_of_thread(void *user)
{
	const dwarfs_allocator **current = user;

	assert_int_equal(dwarfs_allocator_use(NULL, current, NULL), 0);
	return NULL;
}

static void other_threads_are_not_affected(void **state)
{
	const dwarfs_allocator *current = NULL;
	pthread_t thread;
	struct pool pool;

	(void)state;
	pool_init(&pool);
	current = &pool.functions;
	assert_int_equal(dwarfs_allocator_use(&pool.functions, NULL, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, current_of_thread, &current), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_null(current);
	assert_int_equal(dwarfs_allocator_use(NULL, &current, NULL), 0);
	assert_ptr_equal(current, &pool.functions);
}

struct seen {
	const dwarfs_allocator *wanted;
	int calls, others;
};

static int look_at_allocator(dwarfs_inode inode, const void *data, size_t bytes,
			     uint64_t offset, dwarfs_error **err, void *user)
{
	const dwarfs_allocator *current = NULL;
	struct seen *seen = user;

	(void)inode;
	(void)data;
	(void)bytes;
	(void)offset;
	(void)err;
	/* The change ends with the call that called this. */
	if (dwarfs_allocator_use(NULL, &current, NULL) == 0)
		(void)dwarfs_allocator_use(current, NULL, NULL);
	seen->calls++;
	seen->others += current != seen->wanted;
	return 0;
}

static void callbacks_have_the_allocator_of_the_object(void **state)
{
	const dwarfs_allocator *current = NULL;
	dwarfs_context *context = NULL;
	dwarfs_image *image;
	dwarfs_inode inode;
	struct pool pool;
	struct seen seen = { .wanted = &pool.functions };

	pool_init(&pool);
	assert_int_equal(
		dwarfs_context_new_with_allocator(&pool.functions, &context, NULL), 0);
	image = open_image(*state, context);
	inode = find_inode(image, "big");
	assert_int_equal(dwarfs_read_in_order(image, &inode, 1, look_at_allocator, NULL,
					      &seen, NULL, NULL),
			 0);
	assert_true(seen.calls > 0);
	assert_int_equal(seen.others, 0);
	assert_int_equal(dwarfs_allocator_use(NULL, &current, NULL), 0);
	assert_null(current);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	assert_pool_is_empty(&pool);
}

static void incomplete_allocators_are_refused(void **state)
{
	const dwarfs_allocator *current = NULL;
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	dwarfs_allocator bad;
	struct pool pool;

	(void)state;
	pool_init(&pool);
	bad = pool.functions;
	bad.struct_bytes = 0;
	assert_failure(dwarfs_allocator_use(&bad, NULL, &err), DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_context_new_with_allocator(&bad, &context, &err),
		       DWARFS_ERR_INVALID, err);
	bad = pool.functions;
	bad.allocate = NULL;
	assert_failure(dwarfs_allocator_use(&bad, NULL, &err), DWARFS_ERR_INVALID, err);
	bad = pool.functions;
	bad.release = NULL;
	assert_failure(dwarfs_context_new_with_allocator(&bad, &context, &err),
		       DWARFS_ERR_INVALID, err);
	assert_null(context);
	assert_int_equal(dwarfs_allocator_use(NULL, &current, NULL), 0);
	assert_null(current);
	/* Of a later version of the library. */
	bad = pool.functions;
	bad.struct_bytes += sizeof(void *);
	assert_int_equal(dwarfs_allocator_use(&bad, NULL, NULL), 0);
	assert_int_equal(dwarfs_allocator_use(NULL, NULL, NULL), 0);
}

/* -- memory that runs out ------------------------------------------------------------ */

static void fail_each(const struct fixture *fixture, operation run)
{
	dwarfs_error *err = NULL;
	struct pool pool;
	long n = 0, failed = 0;
	size_t calls;

	do {
		int ret;

		pool_init(&pool);
		atomic_store(&pool.fail_at, n);
		ret = run_with(fixture, &pool.functions, 0, run, &err);
		if (ret < 0 && ret != DWARFS_ERR_NOMEM)
			fail_msg("allocation %ld: %d, %s", n, ret,
				 dwarfs_error_message(err));
		if (ret < 0)
			assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_NOMEM);
		failed += ret < 0;
		dwarfs_error_free(err);
		err = NULL;
		calls = atomic_load(&pool.calls);
		assert_pool_is_empty(&pool);
		n++;
	} while ((size_t)n <= calls);
	print_message("# %ld places, %ld failures\n", n, failed);
	assert_true(failed > 50);
}

static void each_allocation_of_reading_may_fail(void **state)
{
	fail_each(*state, list_and_read);
}

static void each_allocation_of_packing_may_fail(void **state)
{
	fail_each(*state, pack_from_memory);
}

static void a_limit_is_out_of_memory(void **state)
{
	dwarfs_error *err = NULL;
	struct pool pool;
	size_t most;

	pool_init(&pool);
	assert_success(run_with(*state, &pool.functions, 0, list_and_read, &err), err);
	most = atomic_load(&pool.most);
	assert_true(most > 10000);
	for (size_t limit = most / 8; limit < most; limit += most / 8) {
		pool_init(&pool);
		pool.limit = limit;
		(void)run_with(*state, &pool.functions, 0, list_and_read, &err);
		if (limit < most / 2)
			assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_NOMEM);
		assert_true(atomic_load(&pool.most) <= limit);
		dwarfs_error_free(err);
		err = NULL;
		assert_pool_is_empty(&pool);
	}
}

/* -- what outlives the context ------------------------------------------------------- */

static void errors_outlive_the_context(void **state)
{
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	dwarfs_entry entry;
	struct pool pool;

	pool_init(&pool);
	assert_int_equal(
		dwarfs_context_new_with_allocator(&pool.functions, &context, NULL), 0);
	image = open_image(*state, context);
	assert_int_equal(dwarfs_find(image, "not/here", &entry, &err),
			 DWARFS_ERR_NOT_FOUND);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
	assert_true(atomic_load(&pool.blocks) > 0);
	assert_non_null(strstr(dwarfs_error_message(err), "not"));
	dwarfs_error_free(err);
	assert_pool_is_empty(&pool);
}

static void memory_outlives_the_context(void **state)
{
	dwarfs_context *context = NULL;
	dwarfs_builder *builder;
	dwarfs_sink *sink = NULL;
	void *data = NULL;
	struct pool pool, of_sink;
	size_t bytes = 0;

	pool_init(&pool);
	pool_init(&of_sink);
	assert_int_equal(
		dwarfs_context_new_with_allocator(&pool.functions, &context, NULL), 0);
	builder = new_builder(*state, context);
	dwarfs_context_free(context);
	assert_int_equal(dwarfs_allocator_use(&of_sink.functions, NULL, NULL), 0);
	assert_int_equal(dwarfs_sink_to_memory(SIZE_MAX, &sink, NULL), 0);
	assert_int_equal(dwarfs_allocator_use(NULL, NULL, NULL), 0);
	assert_int_equal(dwarfs_builder_write(builder, sink, NULL), 0);
	assert_int_equal(dwarfs_sink_take(sink, &data, &bytes, NULL), 0);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
	assert_pool_is_empty(&pool);
	assert_int_equal(atomic_load(&of_sink.blocks), 1);
	assert_true(atomic_load(&of_sink.bytes) >= bytes);
	assert_memory_equal(data, "DWARFS", 6);
	dwarfs_memory_free(data);
	assert_pool_is_empty(&of_sink);
}

static void an_image_outlives_the_context(void **state)
{
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	dwarfs_file *file = NULL;
	dwarfs_image *image;
	struct pool pool;
	char buffer[100];
	size_t bytes;

	pool_init(&pool);
	assert_int_equal(
		dwarfs_context_new_with_allocator(&pool.functions, &context, NULL), 0);
	image = open_image(*state, context);
	dwarfs_context_free(context);
	assert_success(dwarfs_file_open(image, find_inode(image, "big"), &file, &err),
		       err);
	dwarfs_image_free(image);
	assert_success(dwarfs_file_read(file, buffer, sizeof(buffer), 0, &bytes, &err),
		       err);
	assert_int_equal(bytes, sizeof(buffer));
	dwarfs_file_free(file);
	assert_pool_is_empty(&pool);
}

/* -- deep trees ---------------------------------------------------------------------- */

#define DEPTH 4000

/* A file below DEPTH directories; free the bytes after the image. */
static dwarfs_image *deep_image(dwarfs_context *context, void **data_out)
{
	static char path[2 * DEPTH + 2];
	dwarfs_builder *builder = NULL;
	dwarfs_image *image = NULL;
	dwarfs_item *item = NULL;
	dwarfs_sink *sink = NULL;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;
	size_t bytes = 0;

	for (size_t i = 0; i < DEPTH; i++)
		memcpy(path + 2 * i, "a/", 2);
	path[2 * DEPTH] = 'f';
	assert_success(dwarfs_builder_new(context, &builder, &err), err);
	assert_success(dwarfs_item_new(0100644, &item, &err), err);
	assert_success(dwarfs_builder_add_item(builder, path, 2 * DEPTH + 1, item, &err),
		       err);
	assert_success(dwarfs_sink_to_memory(SIZE_MAX, &sink, &err), err);
	assert_success(dwarfs_builder_write(builder, sink, &err), err);
	assert_success(dwarfs_sink_take(sink, data_out, &bytes, &err), err);
	assert_success(dwarfs_io_from_memory(*data_out, bytes, NULL, NULL, &io, &err),
		       err);
	assert_success(dwarfs_image_open_io(context, io, NULL, &image, &err), err);
	dwarfs_io_free(io);
	dwarfs_sink_free(sink);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
	return image;
}

/* The paths of all entries together have 16 MB. */
static void comparing_deep_trees_takes_little_memory(void **state)
{
	dwarfs_context *context = NULL;
	dwarfs_compare *compare = NULL;
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	uint64_t count = 1;
	struct pool pool;
	size_t before;
	void *data;

	(void)state;
	pool_init(&pool);
	assert_success(dwarfs_context_new_with_allocator(&pool.functions, &context, &err),
		       err);
	image = deep_image(context, &data);
	assert_success(dwarfs_compare_new(context, &compare, &err), err);
	for (int side = DWARFS_COMPARE_A; side <= DWARFS_COMPARE_B; side++)
		assert_success(dwarfs_compare_set_image(compare, side, image, &err), err);
	before = atomic_load(&pool.bytes);
	atomic_store(&pool.most, before);
	assert_success(dwarfs_compare_run(compare, NULL, NULL, &count, &err), err);
	assert_int_equal(count, 0);
	assert_int_equal(dwarfs_compare_entries(compare, DWARFS_COMPARE_A), DEPTH + 2);
	print_message("# %zu bytes\n", atomic_load(&pool.most) - before);
	assert_true(atomic_load(&pool.most) - before < 4000000);
	dwarfs_compare_free(compare);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	dwarfs_memory_free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_memory_is_returned),
		cmocka_unit_test(memory_is_returned_without_resize),
		cmocka_unit_test(a_context_brings_its_allocator),
		cmocka_unit_test(malloc_can_be_asked_for),
		cmocka_unit_test(other_threads_are_not_affected),
		cmocka_unit_test(callbacks_have_the_allocator_of_the_object),
		cmocka_unit_test(incomplete_allocators_are_refused),
		cmocka_unit_test(each_allocation_of_reading_may_fail),
		cmocka_unit_test(each_allocation_of_packing_may_fail),
		cmocka_unit_test(a_limit_is_out_of_memory),
		cmocka_unit_test(errors_outlive_the_context),
		cmocka_unit_test(memory_outlives_the_context),
		cmocka_unit_test(an_image_outlives_the_context),
		cmocka_unit_test(comparing_deep_trees_takes_little_memory),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
