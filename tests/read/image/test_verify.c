/* SPDX-License-Identifier: MIT */
/*
 * read/image/verify: stored bytes of sections and their hashes, compared at once, in parts, or
 * while the image is in use.
 */
#include "codec/encode/encode.h"
#include "format/section.h"
#include "hash/hash.h"
#include "read/image/image.h"
#include "support/model.h"
#include "support/one_file.h"

#include <dwarfs/walk.h>

static dwarfs_image *open_model(struct craft *craft, const struct model *model)
{
	static const uint8_t block[1024];

	craft_section(craft, DWARFS_SECTION_BLOCK, 0, block, sizeof(block));
	model_craft(model, craft);
	craft_index(craft, 0);
	return craft_open(craft, NULL);
}

/* -- at once ------------------------------------------------------------------------- */

/* Each byte of the block after its magic and version: XXH3 covers all but the hashes,
 * SHA-512/256 also the XXH3. */
static void each_byte_is_covered_by_a_hash(void **state)
{
	uint8_t copy[sizeof(one_file)];
	auto_test_image dwarfs_image *image = NULL;

	memcpy(copy, one_file, sizeof(copy));
	assert_int_equal(craft_try(copy, sizeof(copy), NULL, &image, NULL), 0);
	for (size_t at = 8; at <= DW_HEADER_BYTES + 3; at++) {
		auto_stored struct stored stored = { 0 };
		auto_error dwarfs_error *err = NULL;
		bool is_changed = at < DW_HEADER_BYTES + 3;
		bool is_sha = at >= DW_HEADER_SHA_AT && at < DW_HEADER_SHA_AT + 32;

		/* Its type and length are compared with those found when the image was
		 * opened. */
		if (at >= 0x34 && at < DW_HEADER_BYTES)
			continue;
		copy[at] ^= is_changed;
		assert_int_equal(dw_stored_read(image, 0, &stored, NULL), 0);
		assert_int_equal(dw_verify_xxh3(image, 0, &stored, &err),
				 is_changed && !is_sha ? DWARFS_ERR_CHECKSUM : 0);
		if (err)
			assert_non_null(strstr(dwarfs_error_message(err),
					       "section 0 (BLOCK) at offset 0"));
		assert_int_equal(dw_verify_sha(image, 0, &stored, NULL),
				 is_changed ? DWARFS_ERR_CHECKSUM : 0);
		copy[at] ^= is_changed;
	}
}

static void a_part_has_a_hash_of_its_own(void **state)
{
	auto_test_image dwarfs_image *image = NULL;
	auto_stored struct stored stored = { 0 };
	struct section_header header;
	struct span head = { one_file + DW_HEADER_BYTES, 1 };

	assert_int_equal(craft_try(one_file, sizeof(one_file), NULL, &image, NULL), 0);
	assert_int_equal(dw_locate_header(image, 0, &header, NULL), 0);
	/* Cut off at the end of the payload, which is "hi" and a newline. */
	assert_int_equal(dw_stored_read_part(image, 0, &header, head,
					     (struct range){ 1, 50 }, &stored, NULL),
			 0);
	assert_int_equal(stored.taken.from, 1);
	assert_int_equal(stored.taken.size, 2);
	assert_int_equal(dw_verify_part(image, 0, &stored, dw_xxh3_64("i\n", 2), NULL),
			 0);
	assert_int_equal(dw_verify_part(image, 0, &stored, dw_xxh3_64("hi", 2), NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(dw_stored_read_part(image, 0, &header, head,
					     (struct range){ 4, 1 }, &stored, NULL),
			 DWARFS_ERR_CORRUPT);
}

/* -- while the image is in use ------------------------------------------------------- */

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

/* Without workers no thread is started: the hash is computed by the opening. */
static void without_workers_the_opening_hashes(void **state)
{
	auto_model struct model *model = model_new(true);
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *good = open_model(&craft, model);
	dwarfs_image_options *options = NULL;
	dwarfs_context *context = NULL;
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 0, NULL), 0);
	assert_int_equal(dwarfs_io_from_memory(craft.bytes.data, craft.bytes.size, NULL,
					       NULL, &io, NULL),
			 0);
	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_verify(options, DWARFS_VERIFY_LAZY);
	assert_int_equal(dwarfs_image_open_io(context, io, options, &image, NULL), 0);
	assert_int_equal(image->verifier.threads.count, 0);
	assert_int_equal(atomic_load(&image->verifier.state), 0);
	dwarfs_image_free(image);
	dwarfs_image_options_free(options);
	dwarfs_io_free(io);
	dwarfs_context_free(context);
	assert_int_equal(dwarfs_image_verify(good, NULL), 0);
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
	for (uint32_t entry = 0; entry < FILES + 2; entry++) {
		struct dwarfs_stat stats[2] = { { 0 } };

		assert_int_equal(dw_view_entry_stat(good->view, entry, &stats[0], NULL),
				 0);
		assert_int_equal(dw_view_entry_stat(late->view, entry, &stats[1], NULL),
				 0);
		assert_memory_equal(&stats[0], &stats[1], sizeof(stats[0]));
	}
	assert_int_equal(dwarfs_image_verify(late, NULL), 0);
}

static void damage_of_metadata_is_found_late(void **state)
{
	auto_model struct model *model = model_new(false);
	auto_craft struct craft craft = { 0 };
	auto_error dwarfs_error *err = NULL;
	auto_test_image dwarfs_image *image = open_model(&craft, model);
	auto_test_image dwarfs_image *late = NULL;
	char name[DWARFS_NAME_BUFFER_BYTES];
	struct dwarfs_stat stat;
	dwarfs_walk *walk;
	dwarfs_entry entry;
	dwarfs_inode inode;
	uint32_t count;
	size_t bytes;

	section_at(&craft, 2)[DW_HEADER_XXH3_AT] ^= 1;
	assert_int_equal(open_lazily(&craft, &late, NULL), 0);
	assert_int_equal(dwarfs_image_verify(late, NULL), DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_find(late, "dir", &entry, &err), DWARFS_ERR_CHECKSUM);
	assert_non_null(strstr(dwarfs_error_message(err), "XXH3"));
	assert_int_equal(dwarfs_dir_range(late, DWARFS_ROOT_INODE, &entry, &count, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_dir_parent(late, dwarfs_inode_at(1), &inode, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_entry_inode(late, dwarfs_entry_at(1), &inode, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_entry_name(late, dwarfs_entry_at(1), name, sizeof(name),
					   NULL, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_inode_stat(late, dwarfs_inode_at(1), &stat, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_entry_stat(late, dwarfs_entry_at(1), &stat, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_read(late, dwarfs_inode_at(5), name, 1, 0, &bytes, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(
		dwarfs_walk_new(late, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk, NULL),
		DWARFS_ERR_CHECKSUM);
	/* Without that option it is detected when the image is opened. */
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
	auto_free uint8_t *data = dw_malloc(BLOCK_BYTES);
	auto_buffer struct buffer packed = { 0 };
	struct codec_spec spec;
	struct codec *codec;
	uint32_t random = 1, id;

	assert_non_null(data);
	for (size_t i = 0; i < BLOCK_BYTES; i++) {
		random = random * 1664525 + 1013904223;
		data[i] = (uint8_t)(random >> 30);
	}
	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
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
	assert_int_equal(
		dwarfs_read(good, dwarfs_inode_at(1), expected, 100, 50, &bytes, NULL),
		0);
	section_at(&craft, 0)[DW_HEADER_XXH3_AT] ^= 1;
	assert_int_equal(open_lazily(&craft, &late, NULL), 0);
	assert_int_equal(
		dwarfs_read(late, dwarfs_inode_at(1), got, 100, 50, &bytes, NULL), 0);
	assert_memory_equal(got, expected, 100);
	assert_int_equal(dwarfs_read(late, dwarfs_inode_at(1), got, 100,
				     BLOCK_BYTES - 100, &bytes, NULL),
			 DWARFS_ERR_CHECKSUM);
	/* From now on reads fail at once. */
	dwarfs_context_trim(dwarfs_image_context(late), 0);
	assert_int_equal(
		dwarfs_read(late, dwarfs_inode_at(1), got, 100, 50, &bytes, NULL),
		DWARFS_ERR_CHECKSUM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_is_covered_by_a_hash),
		cmocka_unit_test(a_part_has_a_hash_of_its_own),
		cmocka_unit_test(metadata_is_hashed_in_the_background),
		cmocka_unit_test(without_workers_the_opening_hashes),
		cmocka_unit_test(damage_of_metadata_is_found_late),
		cmocka_unit_test(damage_of_a_block_is_found_at_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
