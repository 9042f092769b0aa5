/* SPDX-License-Identifier: MIT */
/*
 * read/xattr: the section of extended attributes, at any position, and with any defect.
 */
#include <pthread.h>

#include <dwarfs/salvage.h>
#include <dwarfs/xattr.h>

#include "format/section.h"
#include "format/xattrs.h"
#include "support/craft.h"

#define FILES 4

static const struct craft_chunk chunks[] = {
	{ 0, 0, 1 }, { 0, 1, 1 }, { 0, 2, 1 }, { 0, 3, 1 }
};
static const uint32_t chunk_table[] = { 0, 1, 2, 3, 4 };

/* Everything but attributes; gives the hash of the metadata. */
static uint64_t start(struct craft *craft)
{
	size_t metadata;

	craft_section(craft, DWARFS_SECTION_BLOCK, 0, "abcd", 4);
	craft_files(craft, chunks, chunk_table, FILES, 4096, 0);
	metadata = (size_t)(craft->index[craft->sections - 1] & DW_INDEX_OFFSET_MASK);
	return dw_load64(craft->bytes.data + metadata + DW_HEADER_XXH3_AT);
}

/* The root has none, files 1 and 3 (inodes 2 and 4) have some. */
static void add_xattrs(struct craft *craft, uint64_t metadata_xxh3, uint32_t inodes)
{
	static const struct span names[] = { { (const uint8_t *)"trusted.t", 9 },
					     { (const uint8_t *)"user.name", 9 } };
	static const struct span values[] = { { (const uint8_t *)"value", 5 },
					      { NULL, 0 } };
	static const struct xattr_ref pairs[] = { { 1, 0 }, { 0, 1 }, { 1, 0 } };
	static const uint32_t set_ends[] = { 1, 3 };
	static const uint32_t sets[FILES + 2] = { 0, 0, 1, 0, 2, 0 };
	const struct xattr_tables tables = {
		.metadata_xxh3 = metadata_xxh3,
		.names = names,
		.values = values,
		.name_count = 2,
		.value_count = 2,
		.pairs = pairs,
		.pair_count = 3,
		.set_ends = set_ends,
		.set_count = 2,
		.sets = sets,
		.inode_count = inodes,
	};
	auto_buffer struct buffer out = { 0 };

	assert_int_equal(dw_xattr_tables_write(&tables, &out, NULL), 0);
	craft_section(craft, DWARFS_SECTION_XATTRS, 0, out.data, out.size);
}

static void must_have(const dwarfs_image *image)
{
	static const char both[] = "trusted.t\0user.name";
	const char *name;
	const void *value;
	char text[64];
	size_t bytes;

	assert_true(dwarfs_image_has_xattrs(image));
	assert_int_equal(dwarfs_xattr_list(image, DWARFS_ROOT_INODE, text, sizeof(text),
					   &bytes, NULL),
			 0);
	assert_int_equal(bytes, 0);
	assert_int_equal(
		dwarfs_xattr_list(image, dwarfs_inode_at(4), NULL, 0, &bytes, NULL), 0);
	assert_int_equal(bytes, sizeof(both));
	assert_int_equal(dwarfs_xattr_list(image, dwarfs_inode_at(4), text, sizeof(both),
					   NULL, NULL),
			 0);
	assert_memory_equal(text, both, sizeof(both));
	bytes = 0;
	assert_int_equal(dwarfs_xattr_list(image, dwarfs_inode_at(4), text,
					   sizeof(both) - 1, &bytes, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(bytes, sizeof(both));
	assert_int_equal(dwarfs_xattr_get(image, dwarfs_inode_at(2), "user.name", text, 5,
					  &bytes, NULL),
			 0);
	assert_int_equal(bytes, 5);
	assert_memory_equal(text, "value", 5);
	assert_int_equal(dwarfs_xattr_get(image, dwarfs_inode_at(2), "user.name", text, 4,
					  &bytes, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_xattr_get(image, dwarfs_inode_at(4), "trusted.t", NULL, 0,
					  &bytes, NULL),
			 0);
	assert_int_equal(bytes, 0);
	assert_int_equal(dwarfs_xattr_get(image, dwarfs_inode_at(2), "trusted.t", NULL, 0,
					  NULL, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_xattr_at(image, dwarfs_inode_at(4), 1, &name, &value,
					 &bytes, NULL),
			 1);
	assert_string_equal(name, "user.name");
	assert_memory_equal(value, "value", 5);
	assert_int_equal(dwarfs_xattr_at(image, dwarfs_inode_at(4), 2, &name, &value,
					 &bytes, NULL),
			 0);
	assert_int_equal(dwarfs_xattr_at(image, dwarfs_inode_at(3), 0, &name, &value,
					 &bytes, NULL),
			 0);
	assert_int_equal(dwarfs_image_xattr_name(image, 0, &name, NULL), 1);
	assert_string_equal(name, "trusted.t");
	assert_int_equal(dwarfs_image_xattr_name(image, 2, &name, NULL), 0);
	assert_int_equal(
		dwarfs_xattr_list(image, dwarfs_inode_at(FILES + 1), NULL, 0, NULL, NULL),
		DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_xattr_list(image, dwarfs_inode_at(UINT32_MAX), NULL, 0,
					   NULL, NULL),
			 DWARFS_ERR_RANGE);
}

static void must_check(const dwarfs_image *image, int expected)
{
	for (int level = DWARFS_CHECK_METADATA; level <= DWARFS_CHECK_INTEGRITY; level++)
		assert_int_equal(
			dwarfs_image_check(image, level, NULL, NULL, NULL, NULL, NULL),
			expected);
}

/* -- its position -------------------------------------------------------------------- */

static void it_stands_in_front_of_the_index(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	add_xattrs(&craft, start(&craft), FILES + 1);
	craft_index(&craft, 1);
	image = craft_open(&craft, NULL);
	assert_true(dwarfs_image_has_index(image));
	assert_int_equal(dwarfs_image_section_count(image), 5);
	must_have(image);
	must_check(image, 0);
}

static void it_is_found_without_an_index(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	add_xattrs(&craft, start(&craft), FILES + 1);
	image = craft_open(&craft, NULL);
	assert_false(dwarfs_image_has_index(image));
	must_have(image);
	must_check(image, 0);
}

static void it_may_be_listed(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	add_xattrs(&craft, start(&craft), FILES + 1);
	craft_index(&craft, 0);
	image = craft_open(&craft, NULL);
	must_have(image);
	must_check(image, 0);
}

/* Sections by other writers do not prevent it from being found, and are found as well. */
static void others_may_stand_beside_it(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	uint64_t hash = start(&craft);

	craft_section(&craft, 4711, 0, "somebody's", 10);
	add_xattrs(&craft, hash, FILES + 1);
	craft_section(&craft, 0xDFFF, 99, "", 0);
	craft_index(&craft, 3);
	image = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_image_section_count(image), 7);
	must_have(image);
	must_check(image, 0);
}

static void without_it_nothing_is_there(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	const char *name;
	const void *value;
	size_t bytes = 1;

	start(&craft);
	craft_index(&craft, 0);
	image = craft_open(&craft, NULL);
	assert_false(dwarfs_image_has_xattrs(image));
	assert_int_equal(
		dwarfs_xattr_list(image, dwarfs_inode_at(1), NULL, 0, &bytes, NULL), 0);
	assert_int_equal(bytes, 0);
	assert_int_equal(dwarfs_xattr_get(image, dwarfs_inode_at(1), "user.x", NULL, 0,
					  &bytes, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_xattr_at(image, dwarfs_inode_at(1), 0, &name, &value,
					 &bytes, NULL),
			 0);
	assert_int_equal(dwarfs_image_xattr_name(image, 0, &name, NULL), 0);
	assert_int_equal(
		dwarfs_xattr_list(image, dwarfs_inode_at(FILES + 1), NULL, 0, NULL, NULL),
		DWARFS_ERR_RANGE);
}

/* The bytes there are used only if all of them are sections that the index may omit. */
static void what_is_hidden_cannot_be_a_block(void **state)
{
	static const uint32_t types[] = { DWARFS_SECTION_BLOCK, DWARFS_SECTION_SCHEMA,
					  DWARFS_SECTION_METADATA, DWARFS_SECTION_INDEX,
					  DWARFS_SECTION_HISTORY };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;

		add_xattrs(&craft, start(&craft), FILES + 1);
		craft_section(&craft, types[i], 0, "abcd", 4);
		craft_index(&craft, 2);
		image = craft_open(&craft, NULL);
		assert_int_equal(dwarfs_image_section_count(image), 4);
		assert_int_equal(dwarfs_image_block_count(image), 1);
		assert_false(dwarfs_image_has_xattrs(image));
	}
}

static void a_gap_of_anything_is_passed_over(void **state)
{
	for (size_t size = 1; size < 200; size += 13) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		uint8_t noise[200];

		memset(noise, 0x5a, sizeof(noise));
		add_xattrs(&craft, start(&craft), FILES + 1);
		assert_int_equal(dw_buffer_append(&craft.bytes, noise, size, NULL), 0);
		craft_index(&craft, 1);
		image = craft_open(&craft, NULL);
		assert_int_equal(dwarfs_image_section_count(image), 4);
		assert_false(dwarfs_image_has_xattrs(image));
	}
}

/* -- defects ------------------------------------------------------------------------- */

static void must_fail(const struct craft *craft, int code)
{
	auto_test_image dwarfs_image *image = craft_open(craft, NULL);
	const char *name;
	size_t bytes = 77;

	assert_true(dwarfs_image_has_xattrs(image));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dwarfs_xattr_list(image, DWARFS_ROOT_INODE, NULL, 0,
						   &bytes, NULL),
				 code);
		assert_int_equal(dwarfs_xattr_get(image, dwarfs_inode_at(2), "user.name",
						  NULL, 0, &bytes, NULL),
				 code);
		assert_int_equal(dwarfs_image_xattr_name(image, 0, &name, NULL), code);
	}
	assert_int_equal(bytes, 77);
	must_check(image, code);
}

static void other_metadata_has_other_attributes(void **state)
{
	auto_craft struct craft hash = { 0 }, few = { 0 }, many = { 0 };

	add_xattrs(&hash, start(&hash) + 1, FILES + 1);
	craft_index(&hash, 1);
	must_fail(&hash, DWARFS_ERR_CORRUPT);
	add_xattrs(&few, start(&few), FILES);
	craft_index(&few, 1);
	must_fail(&few, DWARFS_ERR_CORRUPT);
	add_xattrs(&many, start(&many), FILES + 2);
	craft_index(&many, 1);
	must_fail(&many, DWARFS_ERR_CORRUPT);
}

static void there_is_one_at_most(void **state)
{
	auto_craft struct craft craft = { 0 };
	uint64_t hash = start(&craft);

	add_xattrs(&craft, hash, FILES + 1);
	add_xattrs(&craft, hash, FILES + 1);
	craft_index(&craft, 2);
	must_fail(&craft, DWARFS_ERR_CORRUPT);
}

static void damage_is_noticed(void **state)
{
	auto_craft struct craft craft = { 0 };
	size_t at;

	add_xattrs(&craft, start(&craft), FILES + 1);
	at = (size_t)(craft.index[3] & DW_INDEX_OFFSET_MASK);
	craft_index(&craft, 1);
	craft.bytes.data[at + DW_HEADER_BYTES + 60] ^= 1;
	must_fail(&craft, DWARFS_ERR_CHECKSUM);
	craft_rehash(craft.bytes.data, craft.bytes.size);
	craft.bytes.data[at + DW_HEADER_BYTES + 60] ^= 1;
	must_fail(&craft, DWARFS_ERR_CHECKSUM);
}

/* Any change of a byte, with matching hashes: it is refused, or can be read. */
static void each_byte_may_be_anything(void **state)
{
	auto_craft struct craft craft = { 0 };
	size_t at, end, refused = 0;

	add_xattrs(&craft, start(&craft), FILES + 1);
	at = (size_t)(craft.index[3] & DW_INDEX_OFFSET_MASK) + DW_HEADER_BYTES;
	end = craft.bytes.size;
	craft_index(&craft, 1);
	for (size_t i = at; i < end; i++) {
		for (int change = 1; change < 256; change <<= 1) {
			dwarfs_image *image;
			char text[64];

			craft.bytes.data[i] ^= (uint8_t)change;
			craft_rehash(craft.bytes.data, craft.bytes.size);
			image = craft_open(&craft, NULL);
			for (uint32_t k = 0; k <= FILES; k++)
				refused +=
					dwarfs_xattr_list(image, dwarfs_inode_at(k), text,
							  sizeof(text), NULL, NULL) < 0;
			dwarfs_image_free(image);
			craft.bytes.data[i] ^= (uint8_t)change;
		}
	}
	assert_true(refused > (end - at) * 8);
}

/* -- many threads -------------------------------------------------------------------- */

static void *use_it(void *argument)
{
	const dwarfs_image *image = argument;
	char text[64];
	size_t bytes;

	for (int i = 0; i < 1000; i++)
		if (dwarfs_xattr_get(image, dwarfs_inode_at(2), "user.name", text,
				     sizeof(text), &bytes, NULL) < 0 ||
		    bytes != 5)
			return argument;
	return NULL;
}

static void many_threads_come_at_once(void **state)
{
	for (int round = 0; round < 20; round++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		pthread_t threads[8];
		void *failed;

		add_xattrs(&craft, start(&craft), FILES + 1);
		craft_index(&craft, 1);
		image = craft_open(&craft, NULL);
		for (int i = 0; i < 8; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, use_it, image),
					 0);
		for (int i = 0; i < 8; i++) {
			assert_int_equal(pthread_join(threads[i], &failed), 0);
			assert_null(failed);
		}
	}
}

/* -- a source that fails once ---------------------------------------------------------- */

struct failing {
	const struct craft *craft;
	int code; /* 0: it does not fail */
};

static int read_failing(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
			dwarfs_error **err, void *user)
{
	struct failing *source = user;

	if (source->code)
		return source->code;
	memcpy(buffer, source->craft->bytes.data + offset, bytes);
	*bytes_out = bytes;
	return 0;
}

static void what_a_source_refuses_once_is_read_again(void **state)
{
	static const int codes[] = { DWARFS_ERR_NOMEM, DWARFS_ERR_IO, DWARFS_ERR_ACCESS,
				     DWARFS_ERR_CANCELLED, DWARFS_ERR_NOT_FOUND };
	auto_craft struct craft craft = { 0 };

	add_xattrs(&craft, start(&craft), FILES + 1);
	craft_index(&craft, 1);
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		struct failing source = { .craft = &craft };
		auto_test_image dwarfs_image *image = NULL;
		dwarfs_io *io = NULL;
		char text[64];
		size_t bytes;

		assert_int_equal(dwarfs_io_new(read_failing, craft.bytes.size, NULL,
					       &source, &io, NULL),
				 0);
		assert_int_equal(dwarfs_image_open_io(NULL, io, NULL, &image, NULL), 0);
		dwarfs_io_free(io);
		source.code = codes[i];
		for (int k = 0; k < 2; k++)
			assert_int_equal(dwarfs_xattr_get(image, dwarfs_inode_at(2),
							  "user.name", text, sizeof(text),
							  &bytes, NULL),
					 codes[i]);
		source.code = 0;
		assert_int_equal(dwarfs_xattr_get(image, dwarfs_inode_at(2), "user.name",
						  text, sizeof(text), &bytes, NULL),
				 0);
		assert_int_equal(bytes, 5);
	}
}

/* Salvage opens the image without them if they are damaged; the leak check verifies that
 * the table is freed. */
static void salvage_does_without_damaged_ones(void **state)
{
	dwarfs_image_options *options;

	(void)state;
	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_salvage(options, DWARFS_SALVAGE_INTACT);
	for (int is_right = 0; is_right < 2; is_right++) {
		auto_craft struct craft craft = { 0 };
		dwarfs_image *image = NULL;
		dwarfs_io *io = NULL;

		add_xattrs(&craft, start(&craft) + !is_right, FILES + 1);
		craft_index(&craft, 1);
		assert_int_equal(dwarfs_io_from_memory(craft.bytes.data, craft.bytes.size,
						       NULL, NULL, &io, NULL),
				 0);
		assert_int_equal(dwarfs_image_open_io(NULL, io, options, &image, NULL),
				 0);
		dwarfs_io_free(io);
		assert_int_equal(dwarfs_image_has_xattrs(image), is_right);
		dwarfs_image_free(image);
	}
	dwarfs_image_options_free(options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_stands_in_front_of_the_index),
		cmocka_unit_test(it_is_found_without_an_index),
		cmocka_unit_test(it_may_be_listed),
		cmocka_unit_test(others_may_stand_beside_it),
		cmocka_unit_test(without_it_nothing_is_there),
		cmocka_unit_test(what_is_hidden_cannot_be_a_block),
		cmocka_unit_test(a_gap_of_anything_is_passed_over),
		cmocka_unit_test(other_metadata_has_other_attributes),
		cmocka_unit_test(what_a_source_refuses_once_is_read_again),
		cmocka_unit_test(there_is_one_at_most),
		cmocka_unit_test(damage_is_noticed),
		cmocka_unit_test(each_byte_may_be_anything),
		cmocka_unit_test(many_threads_come_at_once),
		cmocka_unit_test(salvage_does_without_damaged_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
