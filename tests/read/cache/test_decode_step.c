/* SPDX-License-Identifier: MIT */
/*
 * read/cache/decode_step: blocks that are decoded by parts, as far as is needed; damage
 * and late verification.
 */
#include <stdio.h>
#include <stdlib.h>

#include "read/cache/world.h"

static const struct block_spec parted[] = { { CODEC_LZMA, PART_LOG },
					    { CODEC_LZMA, PART_LOG } };

static void only_parts_that_are_read_are_decoded(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;
	size_t parts;

	make_world(&world, parted, 2, PARTED_BYTES);
	image = craft_open(&world.craft, context);
	expect_read(&world, image, 0, 5 * PART + 100, 1000);
	assert_int_equal(decoded(context), PART);
	/* To the end of a part, from its beginning, and across that. */
	expect_read(&world, image, 0, 6 * PART - 1, 1);
	assert_int_equal(decoded(context), PART);
	expect_read(&world, image, 0, 6 * PART, 1);
	assert_int_equal(decoded(context), 2 * PART);
	expect_read(&world, image, 0, 7 * PART - 1, 2);
	assert_int_equal(decoded(context), 3 * PART);
	assert_int_equal(try_file_read(&world, image, 0, 8 * PART + 1, 3 * PART), 0);
	assert_int_equal(decoded(context), 7 * PART);
	assert_int_equal(try_borrow(&world, image, 0, 3 * PART - 9, 2 * PART, &parts), 0);
	assert_int_equal(parts, 3);
	assert_int_equal(decoded(context), 10 * PART);
	expect_read(&world, image, 1, PARTED_BYTES - 1, 1);
	assert_int_equal(decoded(context), 11 * PART);
	assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), 11);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), 11);
	/* The rest, and all of it again. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(dwarfs_image_preload_block(image, 0, NULL), 0);
	assert_int_equal(decoded(context), (PARTS + 1) * PART);
	for (int i = 0; i < 2; i++)
		for (uint32_t block = 0; block < 2; block++)
			expect_read(&world, image, block, 0, PARTED_BYTES);
	assert_int_equal(decoded(context), 2 * PARTED_BYTES);
	assert_int_equal(count_of(context, DWARFS_CACHE_USED), 2 * PARTED_BYTES);
	expect_nothing_left(context);
	dwarfs_context_free(context);
}

/* Parts larger than a step are decoded only as far as needed. */
static void a_part_is_decoded_as_far_as_is_needed(void **state)
{
	static const struct block_spec halves = { CODEC_LZMA, 19 };
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;
	const uint32_t half = PARTED_BYTES / 2;

	make_world(&world, &halves, 1, PARTED_BYTES);
	image = craft_open(&world.craft, context);
	expect_read(&world, image, 0, half + 10, 10);
	assert_in_range(decoded(context), 20, half / 2);
	expect_read(&world, image, 0, half - 1, 2);
	assert_in_range(decoded(context), half, half + half / 2);
	expect_read(&world, image, 0, 0, PARTED_BYTES);
	assert_int_equal(decoded(context), PARTED_BYTES);
	expect_nothing_left(context);
	dwarfs_context_free(context);
}

/* Reading one byte decodes only a small step; sequential reads use large steps. */
static void the_first_byte_needs_little(void **state)
{
	static const struct block_spec spec = { CODEC_LZMA, 0 };
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;

	make_world(&world, &spec, 1, PARTED_BYTES);
	image = craft_open(&world.craft, context);
	expect_read(&world, image, 0, 0, 1);
	assert_in_range(decoded(context), 1, 32 << 10);
	for (uint32_t at = 0; at < PARTED_BYTES; at += 4096)
		expect_read(&world, image, 0, at, 4096);
	assert_int_equal(decoded(context), PARTED_BYTES);
	assert_in_range(count_of(context, DWARFS_CACHE_MISSES), 1,
			PARTED_BYTES / (128 << 10) + 4);
	dwarfs_context_free(context);
}

static void files_are_prefetched_by_parts(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;
	uint8_t buffer[2000];
	dwarfs_inode inodes[3];
	uint64_t misses;
	size_t got;

	start_world(&world, 2, PARTED_BYTES);
	for (uint32_t i = 0; i < 2; i++)
		add_block(&world, i, parted[i]);
	inodes[0] = add_file(&world, 0, 3 * PART + 5, 1000);
	inodes[1] = add_file(&world, 0, 9 * PART - 1000, 2000);
	inodes[2] = add_file(&world, 1, 0, 10);
	end_world(&world);
	image = craft_open(&world.craft, context);
	assert_int_equal(dwarfs_prefetch(image, inodes, 3, NULL), 3);
	assert_int_equal(decoded(context), 4 * PART);
	misses = count_of(context, DWARFS_CACHE_MISSES);
	for (int i = 0; i < 3; i++) {
		const struct craft_chunk *chunk = &world.chunks[inodes[i].number - 1];

		assert_int_equal(dwarfs_read(image, inodes[i], buffer, sizeof(buffer), 0,
					     &got, NULL),
				 0);
		assert_int_equal(got, chunk->size);
		assert_memory_equal(buffer, bytes_at(&world, chunk->block, chunk->offset),
				    got);
	}
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), misses);
	assert_int_equal(decoded(context), 4 * PART);
	dwarfs_context_free(context);
}

static void parts_come_in_order(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;
	struct collected collected = { .world = &world };
	dwarfs_inode inodes[4] = { { 2 }, { 1 } };

	start_world(&world, 2, PARTED_BYTES);
	for (uint32_t i = 0; i < 2; i++)
		add_block(&world, i, parted[i]);
	inodes[2] = add_file(&world, 0, 3 * PART + 5, 1000);
	inodes[3] = add_file(&world, 0, 9 * PART - 1000, 2000);
	end_world(&world);
	image = craft_open(&world.craft, context);
	/* With none, some and all parts present. */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(dwarfs_read_in_order(image, inodes, 4, collect, NULL,
						      &collected, NULL, NULL),
				 0);
		assert_int_equal(collected.complete, 4 * (i + 1));
		assert_int_equal(collected.bytes,
				 (2 * PARTED_BYTES + 3000) * (uint64_t)(i + 1));
		assert_false(collected.wrong);
		if (i == 0)
			expect_read(&world, image, 0, 0, 3 * PART);
		for (uint32_t block = 0; i == 1 && block < 2; block++)
			assert_int_equal(dwarfs_image_preload_block(image, block, NULL),
					 0);
	}
	dwarfs_context_free(context);
}

/* A scan evicts no more than the part it needs, and the part read last is present
 * afterwards. */
static void parts_are_evicted_one_by_one(void **state)
{
	auto_world struct world world;
	const uint64_t budget = 10 * PART;
	dwarfs_context *context = context_with(budget);
	auto_test_image dwarfs_image *image = NULL;
	uint64_t blocks = 0, misses;

	make_world(&world, parted, 2, PARTED_BYTES);
	image = craft_open(&world.craft, context);
	for (uint32_t i = 0; i < 2 * PARTS; i++) {
		uint64_t now;

		expect_read(&world, image, i / PARTS, i % PARTS * PART, PART);
		now = count_of(context, DWARFS_CACHE_BLOCKS);
		/* One part was added; stored bytes and decoder took some more
		 * meanwhile. */
		assert_true(now + 6 >= blocks + 1);
		assert_true(count_of(context, DWARFS_CACHE_USED) <= budget);
		blocks = now;
	}
	assert_int_equal(decoded(context), 2 * PARTED_BYTES);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <= budget);
	assert_int_equal(count_of(context, DWARFS_CACHE_EVICTIONS), 2 * PARTS - blocks);
	misses = count_of(context, DWARFS_CACHE_MISSES);
	assert_int_equal(misses, 2 * PARTS);
	expect_read(&world, image, 1, PARTED_BYTES - PART, PART);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), misses);
	expect_read(&world, image, 0, 0, 1);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), misses + 1);
	expect_nothing_left(context);
	dwarfs_context_free(context);
}

/* Change a stored byte of a part: in the middle, or in its check. */
static void damage_part(struct world *world, uint32_t block, uint32_t part, bool check)
{
	uint8_t *section = world->craft.bytes.data + world->block_at[block];
	struct span payload = { section + DW_HEADER_BYTES, dw_load64(section + 0x38) };
	auto_free struct codec_part *parts = NULL;
	uint64_t at;
	size_t count;

	assert_int_equal(dw_codec_parts(CODEC_LZMA, payload, &parts, &count, NULL), 0);
	assert_true(count > part);
	at = check ? parts[part].stored_size - 1 : parts[part].stored_size / 2;
	section[DW_HEADER_BYTES + parts[part].stored_from + at] ^= 0x10;
}

static void damage_costs_one_part(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;
	auto_error dwarfs_error *err = NULL;
	struct collected collected = { .world = &world };
	uint8_t byte;
	size_t got;

	make_world(&world, parted, 2, PARTED_BYTES);
	damage_part(&world, 0, 4, false);
	craft_rehash(world.craft.bytes.data, world.craft.bytes.size);
	image = craft_open(&world.craft, context);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < PARTS; i++)
			assert_int_equal(try_read(&world, image, 0, i * PART, PART),
					 i == 4 ? DWARFS_ERR_CORRUPT : 0);
		assert_int_equal(try_read(&world, image, 0, 4 * PART - 1, 2),
				 DWARFS_ERR_CORRUPT);
		assert_int_equal(try_read(&world, image, 0, 5 * PART - 1, 2),
				 DWARFS_ERR_CORRUPT);
		assert_int_equal(try_read(&world, image, 0, 5 * PART, 2), 0);
		assert_int_equal(dwarfs_image_preload_block(image, 0, NULL),
				 DWARFS_ERR_CORRUPT);
		expect_read(&world, image, 1, 0, PARTED_BYTES);
	}
	/* In data order a block is decoded at once: its files fail, others do not. */
	assert_int_equal(dwarfs_read_in_order(image, (dwarfs_inode[]){ { 1 }, { 2 } }, 2,
					      collect, collect_failure, &collected, NULL,
					      NULL),
			 0);
	assert_int_equal(collected.complete, 1);
	assert_int_equal(collected.failed, 1);
	assert_int_equal(collected.failed_code, DWARFS_ERR_CORRUPT);
	assert_int_equal(
		dwarfs_read(image, dwarfs_inode_at(1), &byte, 1, 4 * PART, &got, &err),
		DWARFS_ERR_CORRUPT);
	assert_non_null(strstr(dwarfs_error_message(err), "section 0"));
	assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), 2 * PARTS - 1);
	expect_nothing_left(context);
	dwarfs_context_free(context);
}

/* Which bytes are read, and how many. */
struct source {
	const struct world *world;
	uint64_t bytes, reads;
};

static int read_source(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		       dwarfs_error **err, void *user)
{
	struct source *source = user;

	source->bytes += bytes;
	source->reads++;
	memcpy(buffer, source->world->craft.bytes.data + offset, bytes);
	*bytes_out = bytes;
	return 0;
}

/* The hash of a block is verified once: then its parts are read one by one, and each
 * is compared with its bytes at that time. */
static void parts_are_read_one_by_one(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;
	struct source source = { .world = &world };
	uint64_t stored;
	dwarfs_io *io = NULL;

	make_world(&world, parted, 2, PARTED_BYTES);
	stored = dw_load64(world.craft.bytes.data + 0x38);
	assert_int_equal(dwarfs_io_new(read_source, world.craft.bytes.size, NULL, &source,
				       &io, NULL),
			 0);
	assert_int_equal(dwarfs_image_open_io(context, io, NULL, &image, NULL), 0);
	dwarfs_io_free(io);
	expect_read(&world, image, 0, 0, 1);
	source.bytes = source.reads = 0;
	for (uint32_t i = 1; i < PARTS; i++)
		expect_read(&world, image, 0, i * PART, PART);
	assert_int_equal(source.reads, PARTS - 1);
	assert_in_range(source.bytes, stored / 2, stored);
	assert_int_equal(decoded(context), PARTED_BYTES);
	assert_int_equal(count_of(context, DWARFS_CACHE_USED), PARTED_BYTES);
	dwarfs_context_trim(context, 0);
	/* A change is detected even if the stream contains no check. */
	damage_part(&world, 0, 4, false);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < PARTS; i++)
			assert_int_equal(try_read(&world, image, 0, i * PART, 1),
					 i == 4 ? DWARFS_ERR_CHECKSUM : 0);
	/* Bytes that are restored are good again. */
	damage_part(&world, 0, 4, false);
	expect_read(&world, image, 0, 0, PARTED_BYTES);
	expect_read(&world, image, 1, 0, PARTED_BYTES);
	expect_nothing_left(context);
	dwarfs_context_free(context);
}

/* Several concatenated streams are not parts, but valid. */
static void streams_in_a_row_are_decoded_as_a_whole(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;
	auto_buffer struct buffer first = { 0 }, second = { 0 };
	struct span in;

	start_world(&world, 1, PARTED_BYTES);
	in = (struct span){ bytes_at(&world, 0, 0), PARTED_BYTES / 2 };
	pack(parted[0], in, &first);
	in.data += in.size;
	pack(parted[0], in, &second);
	assert_int_equal(dw_buffer_append(&first, second.data, second.size, NULL), 0);
	craft_section(&world.craft, DWARFS_SECTION_BLOCK, CODEC_LZMA, first.data,
		      first.size);
	end_world(&world);
	image = craft_open(&world.craft, context);
	expect_read(&world, image, 0, PARTED_BYTES - 1, 1);
	assert_int_equal(decoded(context), PARTED_BYTES);
	assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), 1);
	expect_read(&world, image, 0, 0, PARTED_BYTES);
	assert_int_equal(decoded(context), PARTED_BYTES);
	dwarfs_context_free(context);
}

/* A chunk after the contents of a block with parts. */
static void a_chunk_after_the_last_part_is_refused(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;
	auto_error dwarfs_error *err = NULL;
	auto_buffer struct buffer packed = { 0 };
	dwarfs_inode inodes[3];
	uint8_t buffer[64];
	size_t got;

	start_world(&world, 1, PARTED_BYTES);
	pack(parted[0], (struct span){ world.bytes, PARTED_BYTES / 2 }, &packed);
	craft_section(&world.craft, DWARFS_SECTION_BLOCK, CODEC_LZMA, packed.data,
		      packed.size);
	inodes[0] = add_file(&world, 0, PARTED_BYTES / 2 - 8, 16);
	inodes[1] = add_file(&world, 0, PARTED_BYTES - 1, 1);
	inodes[2] = add_file(&world, 0, PARTED_BYTES / 2 - 8, 8);
	end_world(&world);
	image = craft_open(&world.craft, context);
	assert_int_equal(dwarfs_prefetch(image, inodes, 3, NULL), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(dwarfs_read(image, inodes[i], buffer, sizeof(buffer), 0,
					     &got, &err),
				 i < 2 ? DWARFS_ERR_CORRUPT : 0);
	assert_non_null(strstr(dwarfs_error_message(err), "block 0"));
	expect_nothing_left(context);
	dwarfs_context_free(context);
}

static dwarfs_image *open_lazily(const struct world *world, dwarfs_context *context)
{
	dwarfs_image_options *options = NULL;
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;

	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_verify(options, DWARFS_VERIFY_LAZY);
	assert_int_equal(dwarfs_io_from_memory(world->craft.bytes.data,
					       world->craft.bytes.size, NULL, NULL, &io,
					       NULL),
			 0);
	assert_int_equal(dwarfs_image_open_io(context, io, options, &image, NULL), 0);
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
	return image;
}

/* With late verification, parts are readable until one was decoded to its end; after
 * that nothing of the block is. */
static void late_hashes_are_of_the_whole_block(void **state)
{
	static const struct block_spec halves[] = { { CODEC_LZMA, 19 },
						    { CODEC_LZMA, 19 } };
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;
	const uint32_t half = PARTED_BYTES / 2;

	make_world(&world, halves, 2, PARTED_BYTES);
	damage_part(&world, 0, 1, true);
	image = open_lazily(&world, context);
	expect_read(&world, image, 0, 0, 1000);
	expect_read(&world, image, 0, half, 1000);
	/* The first half is intact, but the hash does not match. */
	assert_int_equal(try_read(&world, image, 0, half - 1, 1), DWARFS_ERR_CHECKSUM);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(try_read(&world, image, 0, 0, 1), DWARFS_ERR_CHECKSUM);
		assert_int_equal(try_read(&world, image, 0, half, 1),
				 DWARFS_ERR_CHECKSUM);
		assert_int_equal(try_read(&world, image, 0, PARTED_BYTES - 1, 1),
				 DWARFS_ERR_CHECKSUM);
		expect_read(&world, image, 1, 0, PARTED_BYTES);
	}
	expect_nothing_left(context);
	dwarfs_context_free(context);
}

/* -- single failing allocations ------------------------------------------------------- */

struct failing_memory {
	long blocks; /* that were not released */
	int fails_at;
};

static void *allocate(size_t bytes, void *user)
{
	struct failing_memory *memory = user;
	void *block =
		memory->fails_at == 0 || --memory->fails_at > 0 ? malloc(bytes) : NULL;

	memory->blocks += block != NULL;
	return block;
}

static void release(void *block, size_t bytes, void *user)
{
	struct failing_memory *memory = user;

	(void)bytes;
	memory->blocks--;
	free(block);
}

/* Read a byte of a part; whether all allocations succeeded. */
static bool read_with(struct failing_memory *memory, const struct world *world,
		      int fails_at)
{
	const dwarfs_allocator allocator = { .struct_bytes = sizeof(allocator),
					     .user = memory,
					     .allocate = allocate,
					     .release = release };
	dwarfs_context *context = NULL;
	dwarfs_image *image;
	uint8_t byte;
	size_t got;
	int ret;

	assert_int_equal(dwarfs_context_new_with_allocator(&allocator, &context, NULL),
			 0);
	image = craft_open(&world->craft, context);
	memory->fails_at = fails_at;
	ret = dwarfs_read(image, dwarfs_inode_at(1), &byte, 1, PART, &got, NULL);
	assert_true(ret == 0 || ret == DWARFS_ERR_NOMEM);
	assert_int_equal(ret == 0, memory->fails_at > 0);
	memory->fails_at = 0;
	expect_read(world, image, 0, 0, PARTED_BYTES);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	assert_int_equal(memory->blocks, 0);
	return ret == 0;
}

static void a_failing_allocation_leaves_nothing(void **state)
{
	auto_world struct world world;
	struct failing_memory memory = { 0 };
	int fails_at = 1;

	make_world(&world, parted, 1, PARTED_BYTES);
	while (!read_with(&memory, &world, fails_at))
		fails_at++;
	assert_in_range(fails_at, 6, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_parts_that_are_read_are_decoded),
		cmocka_unit_test(a_part_is_decoded_as_far_as_is_needed),
		cmocka_unit_test(the_first_byte_needs_little),
		cmocka_unit_test(files_are_prefetched_by_parts),
		cmocka_unit_test(parts_come_in_order),
		cmocka_unit_test(parts_are_evicted_one_by_one),
		cmocka_unit_test(damage_costs_one_part),
		cmocka_unit_test(parts_are_read_one_by_one),
		cmocka_unit_test(streams_in_a_row_are_decoded_as_a_whole),
		cmocka_unit_test(a_chunk_after_the_last_part_is_refused),
		cmocka_unit_test(late_hashes_are_of_the_whole_block),
		cmocka_unit_test(a_failing_allocation_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
