/* SPDX-License-Identifier: MIT */
/*
 * rewrite/image_source: files, chunks, blocks and sections of an image, as the writer reads them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "rewrite/image_source.h"
#include "rewrite/source_sections.h"
#include "support/made_image.h"
#include "write/images/source_image.h"
#include "write/tree/tree.h"

#define BIG_BYTES 10000
#define HOLE_FROM 8192
#define HOLE_TO	  16384
#define ALL_BYTES 20000

static uint8_t big[BIG_BYTES], sparse[ALL_BYTES];

/* The pieces of a file with a hole. */
static int give_sparse(const void **data_out, size_t *bytes_out, uint64_t *offset_out,
		       dwarfs_error **err, void *user)
{
	int *calls = user;

	switch ((*calls)++) {
	case 0:
		*data_out = sparse;
		*bytes_out = HOLE_FROM;
		*offset_out = 0;
		return 1;
	case 1:
		*data_out = sparse + HOLE_TO;
		*bytes_out = ALL_BYTES - HOLE_TO;
		*offset_out = HOLE_TO;
		return 1;
	default:
		return 0;
	}
}

static void make(struct made_image *made)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	dwarfs_item *item = NULL;
	int calls = 0;

	for (size_t i = 0; i < BIG_BYTES; i++)
		big[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t i = 0; i < ALL_BYTES; i++)
		sparse[i] =
			i >= HOLE_FROM && i < HOLE_TO ? 0 : (uint8_t)(i * 11 + i / 99);
	assert_int_equal(dwarfs_builder_set_digests(builder, DWARFS_DIGESTS_NEVER, NULL),
			 0);
	made_add(builder, "big", big, BIG_BYTES);
	assert_int_equal(dwarfs_item_new(0100644, &item, NULL), 0);
	assert_int_equal(
		dwarfs_item_set_reader(item, ALL_BYTES, give_sparse, &calls, NULL), 0);
	assert_int_equal(dwarfs_builder_add_item(builder, "sparse", 6, item, NULL), 0);
	dwarfs_item_free(item);
	made_finish(builder, made);
	made_expect(made, "sparse", sparse, ALL_BYTES);
}

static struct source_image *open_source(const struct made_image *made,
					dwarfs_builder *builder, bool keeps)
{
	struct source_image *source = NULL;

	assert_int_equal(dw_source_of_image(builder, made->image, keeps, &source, NULL),
			 0);
	assert_int_equal(source->keeps_blocks, keeps);
	assert_int_equal(source->block_bits, MADE_BLOCK_BITS);
	return source;
}

/* Bytes of a file, opened for this. */
static int64_t read_file(const struct source_image *source, uint32_t inode, void *buffer,
			 size_t size, uint64_t offset)
{
	void *file;
	int64_t got;

	assert_int_equal(source->ops->open_file(source->user, inode, &file), 0);
	got = source->ops->read_at(file, buffer, size, offset);
	source->ops->close_file(file);
	return got;
}

static void files_are_read(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	auto_made struct made_image made = { 0 };
	struct source_image *source;
	uint8_t found[5000];
	uint32_t inode;

	make(&made);
	source = open_source(&made, builder, true);
	inode = made_inode(&made, "big").number;
	assert_int_equal(read_file(source, inode, found, 5000, 4000), 5000);
	assert_memory_equal(found, big + 4000, 5000);
	assert_int_equal(read_file(source, inode, found, 5000, 9000), 1000);
	assert_memory_equal(found, big + 9000, 1000);
	assert_int_equal(read_file(source, inode, found, 5000, BIG_BYTES), 0);
	dw_source_image_free(source);
}

static void expect_data(const struct source_image *source, uint32_t inode, uint64_t from,
			uint64_t end, uint64_t start, uint64_t stop)
{
	uint64_t first = 77, last = 77;
	void *file;

	assert_int_equal(source->ops->open_file(source->user, inode, &file), 0);
	assert_int_equal(source->ops->next_data(file, from, end, &first, &last), 0);
	source->ops->close_file(file);
	assert_int_equal(first, start);
	if (start < end)
		assert_int_equal(last, stop);
}

static void holes_are_found(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	auto_made struct made_image made = { 0 };
	struct source_image *source;
	uint32_t inode;

	make(&made);
	source = open_source(&made, builder, false);
	inode = made_inode(&made, "sparse").number;
	expect_data(source, inode, 0, ALL_BYTES, 0, HOLE_FROM);
	expect_data(source, inode, 5000, ALL_BYTES, 5000, HOLE_FROM);
	expect_data(source, inode, HOLE_FROM, ALL_BYTES, HOLE_TO, ALL_BYTES);
	expect_data(source, inode, HOLE_TO - 1, ALL_BYTES, HOLE_TO, ALL_BYTES);
	expect_data(source, inode, HOLE_TO + 1, ALL_BYTES, HOLE_TO + 1, ALL_BYTES);
	expect_data(source, inode, HOLE_FROM, HOLE_TO - 1, HOLE_TO - 1, 0);
	expect_data(source, made_inode(&made, "big").number, 10, BIG_BYTES, 10,
		    BIG_BYTES);
	dw_source_image_free(source);
}

static void chunks_name_their_blocks(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	auto_made struct made_image made = { 0 };
	struct source_image *source;
	struct source_chunk chunk;
	uint64_t total = 0, holes = 0, i;

	make(&made);
	source = open_source(&made, builder, true);
	for (i = 0; source->ops->chunk(source->user, i, &chunk, NULL) == 0; i++) {
		assert_true(chunk.block == DW_NONE || chunk.block < source->block_count);
		holes += chunk.block == DW_NONE ? chunk.size : 0;
		total += chunk.size;
	}
	assert_int_equal(total, BIG_BYTES + ALL_BYTES);
	assert_int_equal(holes, HOLE_TO - HOLE_FROM);
	dw_source_image_free(source);
}

static void blocks_are_read_stored_and_unpacked(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	auto_made struct made_image made = { 0 };
	struct source_image *source;
	uint8_t found[5000];
	uint64_t sum = 0;

	make(&made);
	source = open_source(&made, builder, true);
	assert_int_equal(dw_source_load_codecs(made.image, source, NULL), 0);
	for (uint32_t i = 0; i < source->block_count; i++) {
		struct span wanted = made_section(&made, DWARFS_SECTION_BLOCK, i);
		struct stored_section section = { 0 };
		size_t size = wanted.size - DW_HEADER_BYTES;
		uint64_t bytes;

		assert_int_equal(source->blocks[i].compression, 0);
		assert_int_equal(source->ops->block_bytes(source->user, i, &bytes, NULL),
				 0);
		assert_int_equal(bytes, size);
		assert_int_equal(source->ops->load_block(source->user, i, &section, NULL),
				 0);
		assert_int_equal(section.payload.size, size);
		assert_memory_equal(section.payload.data, wanted.data + DW_HEADER_BYTES,
				    size);
		assert_int_equal(section.header.number, i);
		assert_int_equal(section.unpacked_bytes, size);
		assert_false(section.is_damaged);
		dw_stored_section_free(&section);
		assert_int_equal(
			source->ops->read_block(source->user, i, found, 5000, 10, NULL),
			size - 10);
		assert_memory_equal(found, wanted.data + DW_HEADER_BYTES + 10, size - 10);
		assert_int_equal(
			source->ops->read_block(source->user, i, found, 7, 20, NULL), 7);
		assert_int_equal(
			source->ops->read_block(source->user, i, found, 7, bytes, NULL),
			0);
		sum += bytes;
	}
	assert_int_equal(sum, BIG_BYTES + ALL_BYTES - (HOLE_TO - HOLE_FROM));
	dw_source_image_free(source);
}

static void damaged_blocks(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	auto_made struct made_image made = { 0 };
	struct stored_section section = { 0 };
	struct source_image *source;
	uint8_t found[100];

	make(&made);
	made_damage(&made, 0, 10);
	made_open(&made, DWARFS_VERIFY_EAGER);
	source = open_source(&made, builder, true);
	assert_int_equal(source->ops->load_block(source->user, 0, &section, NULL),
			 DWARFS_ERR_CHECKSUM);
	dw_stored_section_free(&section);
	assert_int_equal(source->ops->read_block(source->user, 0, found, 100, 0, NULL),
			 DWARFS_ERR_CHECKSUM);
	dw_source_image_free(source);

	/* Without verification it is copied. Its bytes are not given away as if they were
	 * right: what is made of them would have a right hash. */
	section = (struct stored_section){ 0 };
	made_open(&made, DWARFS_VERIFY_NO_BLOCKS);
	source = open_source(&made, builder, true);
	assert_int_equal(source->ops->load_block(source->user, 0, &section, NULL), 0);
	assert_true(section.is_damaged);
	dw_stored_section_free(&section);
	assert_int_equal(source->ops->read_block(source->user, 0, found, 100, 0, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_true(read_file(source, made_inode(&made, "big").number, found, 100, 0) <
		    0);
	assert_int_equal(source->ops->load_block(source->user, 1, &section, NULL), 0);
	assert_false(section.is_damaged);
	dw_stored_section_free(&section);
	assert_int_equal(source->ops->read_block(source->user, 1, found, 100, 0, NULL),
			 100);
	dw_source_image_free(source);
}

static size_t count_type(const struct source_image *source, uint32_t type)
{
	size_t count = 0;

	for (size_t i = 0; i < source->section_count; i++)
		count += source->sections[i].header.type == type;
	return count;
}

static void sections_are_listed(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	auto_made struct made_image made = { 0 };
	struct source_image *source;

	make(&made);
	source = open_source(&made, builder, true);
	assert_int_equal(dw_source_load_other_sections(made.image, source, NULL), 0);
	assert_int_equal(source->section_count, 1);
	assert_int_equal(count_type(source, DWARFS_SECTION_HISTORY), 1);
	dw_source_image_free(source);

	for (int unpack = 0; unpack < 2; unpack++) {
		source = open_source(&made, builder, true);
		assert_int_equal(
			dw_source_load_sections(made.image, unpack, source, NULL), 0);
		assert_int_equal(source->section_count, 3);
		assert_int_equal(count_type(source, DWARFS_SECTION_SCHEMA), 1);
		assert_int_equal(count_type(source, DWARFS_SECTION_METADATA), 1);
		for (size_t i = 0; i < source->section_count; i++)
			assert_int_equal(source->sections[i].is_unpacked,
					 unpack && source->sections[i].header.type !=
							   DWARFS_SECTION_HISTORY);
		dw_source_image_free(source);
	}
}

/* The source keeps the image. */
static void the_image_stays_open(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	auto_made struct made_image made = { 0 };
	struct source_image *source;
	uint8_t found[100];
	uint32_t inode;

	make(&made);
	inode = made_inode(&made, "big").number;
	source = open_source(&made, builder, true);
	dwarfs_image_free(made.image);
	made.image = NULL;
	assert_int_equal(read_file(source, inode, found, 100, 0), 100);
	assert_memory_equal(found, big, 100);
	dw_source_image_free(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_read),
		cmocka_unit_test(holes_are_found),
		cmocka_unit_test(chunks_name_their_blocks),
		cmocka_unit_test(blocks_are_read_stored_and_unpacked),
		cmocka_unit_test(damaged_blocks),
		cmocka_unit_test(sections_are_listed),
		cmocka_unit_test(the_image_stays_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
