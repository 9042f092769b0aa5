/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/view: packed tables that are unpacked at their first use.
 */
#include <pthread.h>
#include <stdio.h>

#include "read/image/image.h"
#include "support/model.h"

#include <dwarfs/walk.h>

#define THREADS 8

static dwarfs_image *open_model(struct craft *craft, const struct model *model)
{
	static const uint8_t block[1024];

	craft_section(craft, DWARFS_SECTION_BLOCK, 0, block, sizeof(block));
	model_craft(model, craft);
	craft_index(craft, 0);
	return craft_open(craft, NULL);
}

/* -- packed tables ------------------------------------------------------------------- */

static void assert_same(const dwarfs_image *a, const dwarfs_image *b, dwarfs_entry entry)
{
	char names[2][DWARFS_NAME_BUFFER_BYTES];
	dwarfs_stat *stats[2];
	dwarfs_entry found;

	assert_int_equal(dwarfs_stat_new(&stats[0], NULL), 0);
	assert_int_equal(dwarfs_stat_new(&stats[1], NULL), 0);
	assert_int_equal(dwarfs_entry_stat(a, entry, stats[0], NULL), 0);
	assert_int_equal(dwarfs_entry_stat(b, entry, stats[1], NULL), 0);
	assert_memory_equal(stats[0], stats[1], sizeof(struct dwarfs_stat));
	assert_int_equal(dwarfs_entry_name(a, entry, names[0], 256, NULL, NULL), 0);
	assert_int_equal(dwarfs_entry_name(b, entry, names[1], 256, NULL, NULL), 0);
	assert_string_equal(names[0], names[1]);
	if (entry.number >= 2) {
		assert_int_equal(dwarfs_dir_find(a, dwarfs_inode_at(1), names[0],
						 strlen(names[0]), &found, NULL),
				 0);
		assert_int_equal(found.number, entry.number);
	}
	dwarfs_stat_free(stats[0]);
	dwarfs_stat_free(stats[1]);
}

static void packed_tables_read_as_plain_ones(void **state)
{
	auto_model struct model *plain = model_new(false), *packed = model_new(true);
	auto_craft struct craft first = { 0 }, second = { 0 };
	auto_test_image dwarfs_image *a = open_model(&first, plain);
	auto_test_image dwarfs_image *b = open_model(&second, packed);

	assert_int_equal(dwarfs_image_check(a, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
					    NULL, NULL),
			 0);
	assert_null(dw_lazy_items(&b->view->chunk_numbers));
	assert_null(dw_lazy_items(&b->view->first_entries));
	assert_null(dw_lazy_items(&b->view->shared_numbers));
	assert_null(dw_lazy_items(&b->view->names.offsets));
	for (uint32_t i = 0; i < FILES + 2; i++)
		assert_same(b, a, dwarfs_entry_at(i));
	assert_int_equal(dwarfs_image_check(b, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
					    NULL, NULL),
			 0);
}

/* Each access fails in the same way, and so does a check. */
static void broken_packed_tables_fail_at_their_use(void **state)
{
	for (int kind = BREAK_DIRECTORIES; kind <= BREAK_NAMES; kind++) {
		auto_model struct model *model = model_new(true);
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		char name[DWARFS_NAME_BUFFER_BYTES], first_message[200] = "";
		dwarfs_entry first;
		uint32_t count;

		model_break(model, (enum model_break)kind);
		image = open_model(&craft, model);
		for (int round = 0; round < 3; round++) {
			auto_error dwarfs_error *err = NULL;
			struct chunk_range range;
			int dir = dwarfs_dir_range(image, DWARFS_ROOT_INODE, &first,
						   &count, &err);
			int chunks = dw_view_chunk_range(image->view, 5, &range,
							 err ? NULL : &err);
			int shared = dw_view_chunk_range(image->view, FILES + 1, &range,
							 err ? NULL : &err);
			int text =
				dwarfs_entry_name(image, dwarfs_entry_at(5), name,
						  sizeof(name), NULL, err ? NULL : &err);

			assert_int_equal(
				dir, kind == BREAK_DIRECTORIES ? DWARFS_ERR_CORRUPT : 0);
			assert_int_equal(chunks, kind == BREAK_CHUNK_TABLE
							 ? DWARFS_ERR_CORRUPT
							 : 0);
			assert_int_equal(shared,
					 kind == BREAK_CHUNK_TABLE || kind == BREAK_SHARED
						 ? DWARFS_ERR_CORRUPT
						 : 0);
			assert_int_equal(text,
					 kind == BREAK_NAMES ? DWARFS_ERR_CORRUPT : 0);
			assert_non_null(err);
			if (round > 0)
				assert_string_equal(dwarfs_error_message(err),
						    first_message);
			snprintf(first_message, sizeof(first_message), "%s",
				 dwarfs_error_message(err));
		}
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_METADATA, NULL,
						    NULL, NULL, NULL, NULL),
				 DWARFS_ERR_CORRUPT);
	}
}

/* -- many at once -------------------------------------------------------------------- */

struct visitor {
	pthread_barrier_t *start;
	const dwarfs_image *image, *plain;
	const struct model *model;
	uint32_t offset;
	int wrong;
};

static void *visit(void *argument)
{
	struct visitor *visitor = argument;
	dwarfs_stat *stats[2];

	if (dwarfs_stat_new(&stats[0], NULL) < 0 || dwarfs_stat_new(&stats[1], NULL) < 0)
		abort();
	pthread_barrier_wait(visitor->start);
	for (uint32_t i = 0; i < 4 * FILES; i++) {
		uint32_t file = (i + visitor->offset) % FILES;
		dwarfs_entry entry = DWARFS_ROOT_ENTRY;
		struct span name = model_name(visitor->model, file);

		visitor->wrong +=
			dwarfs_dir_find(visitor->image, dwarfs_inode_at(1),
					(const char *)name.data, name.size, &entry,
					NULL) != 0 ||
			entry.number != file + 2 ||
			dwarfs_entry_stat(visitor->image, entry, stats[0], NULL) != 0 ||
			dwarfs_entry_stat(visitor->plain, entry, stats[1], NULL) != 0 ||
			memcmp(stats[0], stats[1], sizeof(struct dwarfs_stat)) != 0;
		/* No section: it would begin after the end of the file or before its
		 * start. */
		visitor->wrong += dwarfs_dir_find(visitor->image, dwarfs_inode_at(1),
						  (const char *)name.data, name.size - 1,
						  &entry, NULL) == 0 &&
				  name.size == 6;
	}
	dwarfs_stat_free(stats[0]);
	dwarfs_stat_free(stats[1]);
	return NULL;
}

static void many_threads_may_be_the_first(void **state)
{
	auto_model struct model *plain = model_new(false), *packed = model_new(true);
	auto_craft struct craft first = { 0 };
	auto_test_image dwarfs_image *a = open_model(&first, plain);

	for (int round = 0; round < 10; round++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *b = open_model(&craft, packed);
		struct visitor visitors[THREADS];
		pthread_t threads[THREADS];
		pthread_barrier_t start;

		pthread_barrier_init(&start, NULL, THREADS);
		for (uint32_t i = 0; i < THREADS; i++) {
			visitors[i] = (struct visitor){ &start, b, a, plain, i * 87, 0 };
			assert_int_equal(
				pthread_create(&threads[i], NULL, visit, &visitors[i]),
				0);
		}
		for (uint32_t i = 0; i < THREADS; i++) {
			pthread_join(threads[i], NULL);
			assert_int_equal(visitors[i].wrong, 0);
		}
		pthread_barrier_destroy(&start);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_tables_read_as_plain_ones),
		cmocka_unit_test(broken_packed_tables_fail_at_their_use),
		cmocka_unit_test(many_threads_may_be_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
