/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/view: packed tables that are unpacked at their first use, and hashes
 * that are compared while the image is in use.
 */
#include <pthread.h>
#include <stdio.h>

#include "codec/codec.h"
#include "format/section.h"
#include "read/image.h"
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

static void assert_same(const dwarfs_image *a, const dwarfs_image *b, uint32_t entry)
{
	char names[2][DWARFS_NAME_ROOM];
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
	if (entry >= 2) {
		assert_int_equal(
			dwarfs_dir_find(a, 1, names[0], strlen(names[0]), &found, NULL),
			0);
		assert_int_equal(found, entry);
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
	for (uint32_t entry = 0; entry < FILES + 2; entry++)
		assert_same(b, a, entry);
	assert_int_equal(dwarfs_image_check(b, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
					    NULL, NULL),
			 0);
}

/* Each fails in the same way however often it is asked, and so does a check. */
static void broken_packed_tables_fail_at_their_use(void **state)
{
	for (int kind = BREAK_DIRECTORIES; kind <= BREAK_NAMES; kind++) {
		auto_model struct model *model = model_new(true);
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		char name[DWARFS_NAME_ROOM], first_message[200] = "";
		uint32_t first, count;

		model_break(model, (enum model_break)kind);
		image = open_model(&craft, model);
		for (int round = 0; round < 3; round++) {
			auto_error dwarfs_error *err = NULL;
			struct chunk_range range;
			int dir = dwarfs_dir_range(image, 0, &first, &count, &err);
			int chunks = dw_view_chunk_range(image->view, 5, &range,
							 err ? NULL : &err);
			int shared = dw_view_chunk_range(image->view, FILES + 1, &range,
							 err ? NULL : &err);
			int text = dwarfs_entry_name(image, 5, name, sizeof(name), NULL,
						     err ? NULL : &err);

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
		uint32_t file = (i + visitor->offset) % FILES, entry = 0;
		struct span name = model_name(visitor->model, file);

		visitor->wrong +=
			dwarfs_dir_find(visitor->image, 1, (const char *)name.data,
					name.size, &entry, NULL) != 0 ||
			entry != file + 2 ||
			dwarfs_entry_stat(visitor->image, entry, stats[0], NULL) != 0 ||
			dwarfs_entry_stat(visitor->plain, entry, stats[1], NULL) != 0 ||
			memcmp(stats[0], stats[1], sizeof(struct dwarfs_stat)) != 0;
		/* Not one of them: it would be behind the file, or in front of it. */
		visitor->wrong +=
			dwarfs_dir_find(visitor->image, 1, (const char *)name.data,
					name.size - 1, &entry, NULL) == 0 &&
			name.size == 6;
	}
	dwarfs_stat_free(stats[0]);
	dwarfs_stat_free(stats[1]);
	return NULL;
}

static void many_threads_may_be_the_first(void **state)
{
	auto_model struct model *plain = model_new(false), *packed = model_new(true);
	auto_craft struct craft first = { 0 }, second = { 0 };
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

/* -- hashes that are looked at late -------------------------------------------------- */

static int open_lazily(struct craft *craft, dwarfs_image **image_out, dwarfs_error **err)
{
	dwarfs_image_options *options = NULL;
	dwarfs_io *io = NULL;
	int ret;

	assert_int_equal(dwarfs_io_from_memory(craft->bytes.data, craft->bytes.size, NULL,
					       NULL, &io, NULL),
			 0);
	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_verify(options, DWARFS_VERIFY_LAZY);
	ret = dwarfs_image_open_io(NULL, io, options, image_out, err);
	dwarfs_image_options_free(options);
	dwarfs_io_free(io);
	return ret;
}

/* Where a section starts. */
static uint8_t *section_at(struct craft *craft, uint32_t number)
{
	return craft->bytes.data + (craft->index[number] & DW_INDEX_OFFSET_MASK);
}

static void metadata_is_hashed_in_the_background(void **state)
{
	auto_model struct model *model = model_new(true);
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *good = open_model(&craft, model);
	auto_test_image dwarfs_image *late = NULL;

	assert_int_equal(dwarfs_image_verify(good, NULL), 0);
	assert_int_equal(open_lazily(&craft, &late, NULL), 0);
	for (uint32_t entry = 0; entry < FILES + 2; entry++)
		assert_same(late, good, entry);
	assert_int_equal(dwarfs_image_verify(late, NULL), 0);
}

static void damage_of_metadata_is_found_late(void **state)
{
	auto_model struct model *model = model_new(false);
	auto_craft struct craft craft = { 0 };
	auto_error dwarfs_error *err = NULL;
	auto_test_image dwarfs_image *image = open_model(&craft, model);
	auto_test_image dwarfs_image *late = NULL;
	char name[DWARFS_NAME_ROOM];
	struct dwarfs_stat stat;
	dwarfs_walk *walk;
	uint32_t first, count;
	size_t bytes;

	section_at(&craft, 2)[DW_HEADER_XXH3_AT] ^= 1;
	assert_int_equal(open_lazily(&craft, &late, NULL), 0);
	assert_int_equal(dwarfs_image_verify(late, NULL), DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_find(late, "dir", &first, &err), DWARFS_ERR_CHECKSUM);
	assert_non_null(strstr(dwarfs_error_message(err), "XXH3"));
	assert_int_equal(dwarfs_dir_range(late, 0, &first, &count, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_dir_parent(late, 1, &first, NULL), DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_entry_inode(late, 1, &first, NULL), DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_entry_name(late, 1, name, sizeof(name), NULL, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_inode_stat(late, 1, &stat, NULL), DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_entry_stat(late, 1, &stat, NULL), DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_read(late, 5, name, 1, 0, &bytes, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(
		dwarfs_walk_new(late, DWARFS_ROOT, DWARFS_WALK_TREE, &walk, NULL),
		DWARFS_ERR_CHECKSUM);
	/* Who wants to know first is told first. */
	assert_int_equal(
		craft_try(craft.bytes.data, craft.bytes.size, NULL, &image, NULL),
		DWARFS_ERR_CHECKSUM);
}

#define BLOCK_BYTES ((size_t)4 << 20)

/* One file of one block that takes many steps to decode. */
static void craft_block(struct craft *craft)
{
	static const struct craft_chunk chunk = { 0, 0, BLOCK_BYTES };
	static const uint32_t table[] = { 0, 1 };
	auto_free uint8_t *data = malloc(BLOCK_BYTES);
	auto_buffer struct buffer packed = { 0 };
	struct codec_spec spec;
	struct codec *codec;
	uint32_t random = 1, id;

	assert_non_null(data);
	for (size_t i = 0; i < BLOCK_BYTES; i++) {
		random = random * 1664525 + 1013904223;
		data[i] = (uint8_t)(random >> 30);
	}
	assert_int_equal(dw_codec_parse("zstd:level=1", &spec, NULL), 0);
	assert_int_equal(dw_codec_new(&spec, BLOCK_BYTES, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, (struct span){ data, BLOCK_BYTES }, &packed,
				       &id, NULL),
			 0);
	dw_codec_free(codec);
	craft_section(craft, DWARFS_SECTION_BLOCK, id, packed.data, packed.size);
	craft_files(craft, &chunk, table, 1, BLOCK_BYTES, 0);
	craft_index(craft, 0);
}

static void damage_of_a_block_is_found_at_its_end(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *good = NULL, *late = NULL;
	uint8_t expected[100], got[100];
	size_t bytes;

	craft_block(&craft);
	good = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_read(good, 1, expected, 100, 50, &bytes, NULL), 0);
	section_at(&craft, 0)[DW_HEADER_XXH3_AT] ^= 1;
	assert_int_equal(open_lazily(&craft, &late, NULL), 0);
	assert_int_equal(dwarfs_read(late, 1, got, 100, 50, &bytes, NULL), 0);
	assert_memory_equal(got, expected, 100);
	assert_int_equal(dwarfs_read(late, 1, got, 100, BLOCK_BYTES - 100, &bytes, NULL),
			 DWARFS_ERR_CHECKSUM);
	/* From now on at once. */
	assert_int_equal(dwarfs_context_trim(dwarfs_image_context(late), 0), 0);
	assert_int_equal(dwarfs_read(late, 1, got, 100, 50, &bytes, NULL),
			 DWARFS_ERR_CHECKSUM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_tables_read_as_plain_ones),
		cmocka_unit_test(broken_packed_tables_fail_at_their_use),
		cmocka_unit_test(many_threads_may_be_the_first),
		cmocka_unit_test(metadata_is_hashed_in_the_background),
		cmocka_unit_test(damage_of_metadata_is_found_late),
		cmocka_unit_test(damage_of_a_block_is_found_at_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
