/* SPDX-License-Identifier: MIT */
/*
 * api/item_workers: items and archives, packed by several threads: the image is the same
 * for any number of them, and several may be made at once.
 */
#include <pthread.h>

#include "archives.h"
#include "items.h"

#define FILES	    120
#define FILE_BYTES  40000
#define SPOOL_BYTES (1 << 20) /* kept in memory; the rest is in a file */

/* Contents that compress a little, with parts that other files have, too. */
static void make_contents(uint8_t *data, uint32_t number)
{
	uint32_t state = number / 3; /* three of each */

	for (size_t i = 0; i < FILE_BYTES; i++) {
		state = i % 4096 == 0 ? (uint32_t)(number / 3 + i / 8192)
				      : state * 1664525 + 1013904223;
		data[i] = number % 4 == 0 ? (uint8_t)(state >> 24)
					  : "some words of text "[(state >> 24) % 19];
	}
	data[0] = (uint8_t)(number / 2); /* some are equal */
}

static void add_files(dwarfs_builder *builder)
{
	static _Thread_local uint8_t data[FILE_BYTES];
	char path[32], other[32];

	for (uint32_t i = 0; i < FILES; i++) {
		make_contents(data, i);
		snprintf(path, sizeof(path), "%u/%u/f%u", i % 3, i % 7, i);
		add_bytes(builder, path, data, sizeof(data));
		if (i % 5 != 0)
			continue;
		snprintf(other, sizeof(other), "links/%u", i);
		hard_link(builder, other, path);
	}
}

/* With an archive, if archives are built in. */
static void add_archive(dwarfs_builder *builder)
{
	struct bytes cpio = { 0 };
	dwarfs_archive_import *import = NULL;
	dwarfs_error *err = NULL;
	int ret = dwarfs_archive_import_new(builder, &import, &err);

	if (ret == DWARFS_ERR_UNSUPPORTED) {
		dwarfs_error_free(err);
		return;
	}
	assert_success(ret, err);
	add_cpio(&cpio, 1, 2, "archived/one", "");
	add_cpio(&cpio, 1, 2, "archived/two", "contents of both");
	add_cpio_end(&cpio);
	assert_success(import_bytes(import, &cpio, &err), err);
	free(cpio.data);
	dwarfs_archive_import_free(import);
}

static dwarfs_builder *new_builder_of(dwarfs_context *context,
				      const struct fixture *fixture)
{
	dwarfs_builder *builder = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_builder_new(context, &builder, &err), err);
	assert_success(dwarfs_builder_set_level(builder, 3, &err), err);
	assert_success(dwarfs_builder_set_block_bits(builder, BLOCK_BITS, &err), err);
	assert_success(
		dwarfs_builder_set_categorizers(builder, "binary,incompressible", &err),
		err);
	assert_success(dwarfs_builder_set_spool(builder, fixture->dir, SPOOL_BYTES, &err),
		       err);
	dwarfs_builder_set_history(builder, false);
	dwarfs_builder_set_create_timestamp(builder, false);
	return builder;
}

static struct bytes make_image(dwarfs_context *context, const struct fixture *fixture)
{
	dwarfs_builder *builder = new_builder_of(context, fixture);
	dwarfs_error *err = NULL;
	struct bytes image;

	add_files(builder);
	add_archive(builder);
	assert_success(dwarfs_builder_add_tree(builder, fixture->tree, "tree", 4, &err),
		       err);
	image = run(builder);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS), 0);
	dwarfs_builder_free(builder);
	return image;
}

static void the_image_is_the_same_for_any_number(void **state)
{
	static const uint32_t numbers[] = { 1, 2, 4, 7 };
	dwarfs_context *context = context_with(0);
	struct bytes first = make_image(context, *state);

	dwarfs_context_free(context);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct bytes image;

		context = context_with(numbers[i]);
		image = make_image(context, *state);
		assert_int_equal(image.size, first.size);
		assert_memory_equal(image.data, first.data, first.size);
		free(image.data);
		dwarfs_context_free(context);
	}
	free(first.data);
}

/* -- several at once ----------------------------------------------------------------- */

struct task {
	pthread_t thread;
	dwarfs_context *context;
	const struct fixture *fixture;
	struct bytes image;
};

static void *run_task(void *user)
{
	struct task *task = user;

	task->image = make_image(task->context, task->fixture);
	return NULL;
}

static void several_are_made_at_once(void **state)
{
	dwarfs_context *context = context_with(2);
	struct task tasks[3];

	for (size_t i = 0; i < 3; i++) {
		tasks[i] = (struct task){ .context = context, .fixture = *state };
		assert_int_equal(
			pthread_create(&tasks[i].thread, NULL, run_task, &tasks[i]), 0);
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_join(tasks[i].thread, NULL), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(tasks[i].image.size, tasks[0].image.size);
		assert_memory_equal(tasks[i].image.data, tasks[0].image.data,
				    tasks[0].image.size);
	}
	for (size_t i = 0; i < 3; i++)
		free(tasks[i].image.data);
	dwarfs_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_image_is_the_same_for_any_number),
		cmocka_unit_test(several_are_made_at_once),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
