/* SPDX-License-Identifier: MIT */
/*
 * read/cache/cache: blocks that are decoded by parts, blocks larger than the whole
 * cache, and sets of blocks that do not all fit. Decoded bytes are counted, bytes read
 * are compared.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "read/cache/internal.h"
#include "support/craft.h"

#define MAX_BLOCKS 8u
#define MAX_FILES  16u
#define THREADS	   12u

struct block_spec {
	enum codec_id id;
	int part_log;
};

struct world {
	struct craft craft;
	uint32_t blocks, files, block_bytes;
	uint8_t *bytes; /* of all blocks */
	uint64_t block_at[MAX_BLOCKS];
	struct craft_chunk chunks[MAX_FILES];
	/* For a source that fails once all threads wait for it. */
	dwarfs_image *image;
	uint32_t fail_block, wait_for;
	atomic_int failures;
	bool is_damaged;
};
#define auto_world __attribute__((cleanup(world_free)))

static void world_free(struct world *world)
{
	craft_free(&world->craft);
	free(world->bytes);
}

static const uint8_t *bytes_at(const struct world *world, uint32_t block, uint64_t offset)
{
	return world->bytes + (size_t)block * world->block_bytes + offset;
}

/* Runs of bytes, which compress, but without long repetitions. */
static uint8_t byte_of(uint32_t block, uint32_t at)
{
	uint32_t mixed = (at / 24 + block * 40503u) * 2654435761u;

	return (uint8_t)((mixed >> 13) + at % 5);
}

static bool has_codec(enum codec_id id)
{
	return id == CODEC_NONE || (dw_codec_can_pack(id) && dw_codec_can_unpack(id));
}

static void pack(struct block_spec spec, struct span in, struct buffer *out)
{
	struct codec_spec codec_spec = { .id = spec.id, .part_log = spec.part_log };
	auto_codec struct codec *codec = NULL;
	uint32_t id = CODEC_NONE;

	codec_spec.level = 1;
	assert_int_equal(dw_codec_new(&codec_spec, in.size, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, in, out, &id, NULL), 0);
	assert_int_equal(id, spec.id);
}

static void start_world(struct world *world, uint32_t blocks, uint32_t block_bytes)
{
	memset(world, 0, sizeof(*world));
	world->blocks = blocks;
	world->block_bytes = block_bytes;
	world->fail_block = UINT32_MAX;
	world->bytes = malloc((size_t)blocks * block_bytes);
	assert_non_null(world->bytes);
	for (uint32_t i = 0; i < blocks; i++) {
		uint8_t *bytes = world->bytes + (size_t)i * block_bytes;

		for (uint32_t k = 0; k < block_bytes; k++)
			bytes[k] = byte_of(i, k);
		world->chunks[world->files++] = (struct craft_chunk){ i, 0, block_bytes };
	}
}

/* A file that is a piece of a block; gives its inode. */
static dwarfs_inode add_file(struct world *world, uint32_t block, uint32_t offset,
			     uint32_t size)
{
	world->chunks[world->files++] = (struct craft_chunk){ block, offset, size };
	return world->files;
}

static void end_world(struct world *world)
{
	uint32_t table[MAX_FILES + 1];

	for (uint32_t i = 0; i <= world->files; i++)
		table[i] = i;
	craft_files(&world->craft, world->chunks, table, world->files, world->block_bytes,
		    0);
	craft_index(&world->craft, 0);
}

static void add_block(struct world *world, uint32_t block, struct block_spec spec)
{
	struct span in = { bytes_at(world, block, 0), world->block_bytes };
	auto_buffer struct buffer packed = { 0 };

	world->block_at[block] = world->craft.bytes.size;
	if (spec.id == CODEC_NONE) {
		craft_section(&world->craft, DWARFS_SECTION_BLOCK, 0, in.data, in.size);
		return;
	}
	pack(spec, in, &packed);
	craft_section(&world->craft, DWARFS_SECTION_BLOCK, spec.id, packed.data,
		      packed.size);
}

static void make_world(struct world *world, const struct block_spec *specs,
		       uint32_t blocks, uint32_t block_bytes)
{
	start_world(world, blocks, block_bytes);
	for (uint32_t i = 0; i < blocks; i++)
		add_block(world, i, specs[i]);
	end_world(world);
}

static dwarfs_context *context_with(uint64_t cache_bytes)
{
	dwarfs_context *context = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_cache_bytes(context, cache_bytes, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 2, NULL), 0);
	return context;
}

static uint64_t count_of(const dwarfs_context *context, int what)
{
	return dwarfs_context_cache_count(context, what);
}

static uint64_t decoded(const dwarfs_context *context)
{
	return count_of(context, DWARFS_CACHE_DECODED_BYTES);
}

/* Read from a block's file: 0, an error, or 1 for wrong bytes. No assertions here:
 * these belong to the main thread. */
static int try_read(const struct world *world, const dwarfs_image *image, uint32_t block,
		    uint64_t offset, size_t size)
{
	auto_free uint8_t *buffer = malloc(size);
	size_t got = 0;
	int ret = buffer ? dwarfs_read(image, block + 1, buffer, size, offset, &got, NULL)
			 : DWARFS_ERR_NOMEM;

	if (ret < 0)
		return ret;
	return got != size || memcmp(buffer, bytes_at(world, block, offset), size) != 0;
}

static int try_file_read(const struct world *world, const dwarfs_image *image,
			 uint32_t block, uint64_t offset, size_t size)
{
	auto_free uint8_t *buffer = malloc(size);
	dwarfs_file *file = NULL;
	size_t got = 0;
	int ret = dwarfs_file_open(image, block + 1, &file, NULL);

	if (ret == 0)
		ret = dwarfs_file_read(file, buffer, size, offset, &got, NULL);
	dwarfs_file_free(file);
	if (ret < 0)
		return ret;
	return got != size || memcmp(buffer, bytes_at(world, block, offset), size) != 0;
}

static int try_borrow(const struct world *world, const dwarfs_image *image,
		      uint32_t block, uint64_t offset, size_t size, size_t *parts_out)
{
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *file = NULL;
	size_t got = 0, part;
	int ret = dwarfs_file_open(image, block + 1, &file, NULL);

	if (ret == 0)
		ret = dwarfs_file_borrow(file, size, offset, &borrowed, NULL);
	dwarfs_file_free(file);
	if (ret < 0)
		return ret;
	*parts_out = dwarfs_borrowed_count(borrowed);
	for (size_t i = 0; i < *parts_out; i++) {
		const void *data = dwarfs_borrowed_part(borrowed, i, &part);

		ret |= memcmp(data, bytes_at(world, block, offset + got), part) != 0;
		got += part;
	}
	dwarfs_borrowed_free(borrowed);
	return ret || got != size;
}

static void expect_read(const struct world *world, const dwarfs_image *image,
			uint32_t block, uint64_t offset, size_t size)
{
	assert_int_equal(try_read(world, image, block, offset, size), 0);
}

/* Memory to decode one block to its end, and its stored bytes. */
static uint64_t alone_bytes(const struct world *world, uint32_t block)
{
	const uint8_t *section = world->craft.bytes.data + world->block_at[block];
	uint32_t codec = section[0x36] | (uint32_t)section[0x37] << 8;
	struct span payload = { section + DW_HEADER_BYTES, dw_load64(section + 0x38) };
	auto_free uint8_t *room = malloc(world->block_bytes);
	auto_decoder struct decoder *decoder = NULL;
	uint64_t bytes = payload.size;

	if (codec == CODEC_NONE)
		return bytes;
	assert_int_equal(
		dw_decoder_new(codec, payload, room, world->block_bytes, &decoder, NULL),
		0);
	assert_int_equal(dw_decoder_run(decoder, world->block_bytes, NULL), 0);
	return bytes + world->block_bytes +
	       dw_decoder_memory(decoder, world->block_bytes);
}

static uint64_t most_alone(const struct world *world)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < world->blocks; i++)
		if (alone_bytes(world, i) > most)
			most = alone_bytes(world, i);
	return most;
}

static void expect_nothing_left(dwarfs_context *context)
{
	dwarfs_context_trim(context, 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_USED), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), 0);
}

/* -- blocks with parts --------------------------------------------------------------- */

#define PARTED_BYTES (1u << 20)
#define PART_LOG     16
#define PART	     (1u << PART_LOG)
#define PARTS	     (PARTED_BYTES / PART)

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

/* A reader of one byte does not wait for many; sequential readers are not slowed down
 * by that. */
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
		const struct craft_chunk *chunk = &world.chunks[inodes[i] - 1];

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

struct collected {
	const struct world *world;
	uint64_t bytes;
	int complete, failed, failed_code;
	bool wrong;
};

static int collect(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		   void *user)
{
	struct collected *collected = user;
	const struct craft_chunk *chunk = &collected->world->chunks[inode - 1];

	if (bytes == 0) {
		collected->complete++;
		return 0;
	}
	collected->bytes += bytes;
	collected->wrong |=
		memcmp(data,
		       bytes_at(collected->world, chunk->block, chunk->offset + offset),
		       bytes) != 0;
	return 0;
}

static int collect_failure(dwarfs_inode inode, const dwarfs_error *why, void *user)
{
	struct collected *collected = user;

	collected->failed++;
	collected->failed_code = dwarfs_error_code(why);
	return 0;
}

static void parts_come_in_order(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;
	struct collected collected = { .world = &world };
	dwarfs_inode inodes[4] = { 2, 1 };

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
						      &collected, NULL),
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
	assert_int_equal(dwarfs_read_in_order(image, (dwarfs_inode[]){ 1, 2 }, 2, collect,
					      collect_failure, &collected, NULL),
			 0);
	assert_int_equal(collected.complete, 1);
	assert_int_equal(collected.failed, 1);
	assert_int_equal(collected.failed_code, DWARFS_ERR_CORRUPT);
	assert_int_equal(dwarfs_read(image, 1, &byte, 1, 4 * PART, &got, &err),
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

static int64_t read_source(void *buffer, size_t bytes, uint64_t offset, void *user)
{
	struct source *source = user;

	source->bytes += bytes;
	source->reads++;
	memcpy(buffer, source->world->craft.bytes.data + offset, bytes);
	return (int64_t)bytes;
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
	/* A change is detected even if the stream has no check of its own. */
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

/* -- blocks that are larger than the budget ------------------------------------------ */

#define LARGE_BYTES (4u << 20)
#define LARGE_STEP  (32u << 10)

/* Readers that each read a range of a block, in turn. */
struct walker {
	uint32_t block;
	uint64_t at, end;
};

static void walk(const struct world *world, const dwarfs_image *image,
		 struct walker *walkers, uint32_t count)
{
	bool goes_on = true;

	while (goes_on) {
		goes_on = false;
		for (uint32_t i = 0; i < count; i++) {
			struct walker *walker = &walkers[i];
			uint64_t size = walker->end - walker->at;

			if (size > LARGE_STEP)
				size = LARGE_STEP;
			if (size == 0)
				continue;
			expect_read(world, image, walker->block, walker->at, size);
			walker->at += size;
			goes_on = true;
		}
	}
}

static const enum codec_id large_codecs[] = { CODEC_ZSTD, CODEC_LZMA, CODEC_NONE };

/* Let a number of readers read a number of blocks; gives how often the bytes were
 * decoded, in hundredths. */
static uint64_t walk_together(const struct world *world, uint64_t budget, uint32_t blocks,
			      uint32_t count)
{
	dwarfs_context *context = context_with(budget);
	auto_test_image dwarfs_image *image = craft_open(&world->craft, context);
	struct walker walkers[16];
	uint32_t each = count / blocks;
	uint64_t bytes = (uint64_t)blocks * world->block_bytes, percent;
	uint64_t alone = most_alone(world);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t stretch = world->block_bytes / each;

		walkers[i] = (struct walker){ i / each, i % each * stretch,
					      (i % each + 1) * stretch };
	}
	walk(world, image, walkers, count);
	percent = decoded(context) * 100 / bytes;
	assert_true(count_of(context, DWARFS_CACHE_USED) <= budget);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <=
		    budget + (alone > budget ? alone : 0));
	expect_nothing_left(context);
	dwarfs_context_free(context);
	return percent;
}

static void make_large(struct world *world, enum codec_id id, uint32_t blocks)
{
	struct block_spec specs[MAX_BLOCKS];

	for (uint32_t i = 0; i < blocks; i++)
		specs[i] = (struct block_spec){ id, 0 };
	make_world(world, specs, blocks, LARGE_BYTES);
}

/* Several blocks with each codec, and the maximum number of decodes. */
struct walk_case {
	uint64_t budget;
	uint32_t blocks, readers;
	uint64_t most_percent;
};

static void walk_all(const struct walk_case *cases, size_t count)
{
	for (size_t c = 0; c < sizeof(large_codecs) / sizeof(large_codecs[0]); c++) {
		auto_world struct world world;

		if (!has_codec(large_codecs[c]))
			continue;
		make_large(&world, large_codecs[c], 4);
		for (size_t i = 0; i < count; i++) {
			uint64_t percent =
				walk_together(&world, cases[i].budget, cases[i].blocks,
					      cases[i].readers);

			print_message("          codec %d: budget %" PRIu64
				      " KiB, %u blocks, %u readers: %" PRIu64
				      "%% decoded\n",
				      (int)large_codecs[c], cases[i].budget >> 10,
				      cases[i].blocks, cases[i].readers, percent);
			assert_true(percent <= cases[i].most_percent);
			if (large_codecs[c] == CODEC_NONE)
				assert_int_equal(percent, 0);
		}
	}
}

#define WALK_ALL(cases) walk_all(cases, sizeof(cases) / sizeof(*(cases)))

/* A block is decoded from its start for each window that fits into the cache: half as
 * often as it is larger than the cache, and once more. */
static void one_reader_of_a_large_block(void **state)
{
	static const struct walk_case cases[] = {
		{ LARGE_BYTES * 2, 1, 1, 100 },
		{ LARGE_BYTES / 2, 1, 1, 250 },
		{ LARGE_BYTES / 4, 1, 1, 400 },
		{ LARGE_BYTES / 8, 1, 1, 650 },
	};

	WALK_ALL(cases);
}

static void two_readers_of_large_blocks(void **state)
{
	static const struct walk_case cases[] = {
		{ LARGE_BYTES / 2, 1, 2, 650 },
		{ LARGE_BYTES / 2, 2, 2, 650 },
	};

	WALK_ALL(cases);
}

/* Each fits, but not all of them: when a block is evicted, the bytes after its
 * reader's offset are kept, as far as there is space beside another block. */
static void readers_of_more_blocks_than_fit(void **state)
{
	static const struct walk_case cases[] = {
		{ LARGE_BYTES * 2, 4, 4, 1000 },    { LARGE_BYTES / 2 * 5, 4, 4, 550 },
		{ LARGE_BYTES * 3, 4, 4, 450 },	    { LARGE_BYTES / 4 * 5, 2, 2, 300 },
		{ LARGE_BYTES / 2 * 3, 2, 2, 300 }, { LARGE_BYTES / 4 * 7, 2, 2, 250 },
		{ LARGE_BYTES * 2, 2, 2, 200 },	    { LARGE_BYTES / 2 * 3, 4, 4, 1100 },
	};

	WALK_ALL(cases);
}

/* With too many readers for the cache, bytes and memory are right. */
static void too_many_readers(void **state)
{
	static const struct walk_case cases[] = {
		{ LARGE_BYTES / 4, 1, 2, UINT64_MAX },
		{ LARGE_BYTES / 4, 4, 4, UINT64_MAX },
		{ LARGE_BYTES / 2, 4, 8, UINT64_MAX },
		{ LARGE_BYTES * 2, 4, 16, UINT64_MAX },
	};

	WALK_ALL(cases);
}

/* -- extents that are not read again ------------------------------------------------- */

#define HOT_BYTES (128u << 10)
#define HOT	  4u

static uint64_t read_hot(const struct world *world, const dwarfs_image *image,
			 dwarfs_context *context)
{
	uint64_t before = count_of(context, DWARFS_CACHE_MISSES);

	for (uint32_t i = 0; i < HOT; i++)
		expect_read(world, image, i, 0, HOT_BYTES);
	return count_of(context, DWARFS_CACHE_MISSES) - before;
}

static void make_hot(struct world *world)
{
	static const struct block_spec specs[HOT] = {
		{ CODEC_ZSTD, 0 }, { CODEC_LZMA, 0 }, { CODEC_NONE, 0 }, { CODEC_ZSTD, 0 }
	};

	make_world(world, specs, HOT, HOT_BYTES);
}

static void readers_that_stop_are_forgotten(void **state)
{
	auto_world struct world large, hot;
	const uint64_t budget = LARGE_BYTES * 3 / 8;
	dwarfs_context *context = context_with(budget);
	dwarfs_image *image, *other;

	make_large(&large, CODEC_ZSTD, 2);
	make_hot(&hot);
	image = craft_open(&large.craft, context);
	other = craft_open(&hot.craft, context);
	for (uint32_t i = 0; i < 6; i++)
		expect_read(&large, image, i % 2, (i + 2) * (LARGE_BYTES / 9),
			    LARGE_STEP);
	assert_true(count_of(context, DWARFS_CACHE_EXTENTS) > 0);
	assert_true(count_of(context, DWARFS_CACHE_USED) <= budget);
	/* Other ranges, three times of which would fit, are kept. */
	for (int round = 0; round < 3; round++)
		read_hot(&hot, other, context);
	for (int round = 0; round < 10; round++)
		assert_int_equal(read_hot(&hot, other, context), 0);
	expect_nothing_left(context);
	dwarfs_image_free(image);
	dwarfs_image_free(other);
	dwarfs_context_free(context);
}

/* During a sequential read of a block that cannot be kept: most of the time. */
static void what_is_hot_stays(void **state)
{
	auto_world struct world large, hot;
	const uint64_t budget = LARGE_BYTES * 3 / 8;
	dwarfs_context *context = context_with(budget);
	dwarfs_image *image, *other;
	uint64_t misses = 0, reads = 0;

	make_large(&large, CODEC_ZSTD, 1);
	make_hot(&hot);
	image = craft_open(&large.craft, context);
	other = craft_open(&hot.craft, context);
	for (uint64_t at = 0; at < LARGE_BYTES; at += LARGE_STEP) {
		expect_read(&large, image, 0, at, LARGE_STEP);
		misses += read_hot(&hot, other, context);
		reads += HOT;
	}
	print_message("          %" PRIu64 " misses in %" PRIu64 " reads\n", misses,
		      reads);
	assert_true(misses * 2 < reads);
	expect_nothing_left(context);
	dwarfs_image_free(image);
	dwarfs_image_free(other);
	dwarfs_context_free(context);
}

/* -- waiters of a failed job --------------------------------------------------------- */

/* The unit that is decoded when the block's first bytes are read. */
static struct slot *first_slot(const struct world *world)
{
	struct slot *slot = &world->image->slots[world->fail_block];
	struct parts *parts = atomic_load(&slot->parts);

	return parts ? &parts->slots[0] : slot;
}

static bool all_wait(const struct world *world)
{
	struct cache *cache = world->image->cache;
	bool there;

	pthread_mutex_lock(&cache->lock);
	there = first_slot(world)->job->waiters == world->wait_for;
	pthread_mutex_unlock(&cache->lock);
	return there;
}

static int64_t read_world(void *buffer, size_t bytes, uint64_t offset, void *user)
{
	struct world *world = user;

	/* All of a block; of a block with parts, the first part. */
	if (world->fail_block < world->blocks && bytes > DW_HEADER_BYTES &&
	    offset - world->block_at[world->fail_block] <= DW_HEADER_BYTES + 12 &&
	    atomic_load(&world->failures) > 0) {
		while (!all_wait(world))
			sched_yield();
		atomic_fetch_sub(&world->failures, 1);
		if (!world->is_damaged)
			return -EIO;
	}
	memcpy(buffer, world->craft.bytes.data + offset, bytes);
	return (int64_t)bytes;
}

struct victim {
	pthread_t thread;
	const struct world *world;
	int ret, code, errnum;
	uint64_t offset;
	bool has_offset;
	char message[256];
};

static void *fail_along(void *data)
{
	struct victim *victim = data;
	auto_error dwarfs_error *err = NULL;
	uint8_t byte;
	size_t got;

	victim->ret = dwarfs_read(victim->world->image, victim->world->fail_block + 1,
				  &byte, 1, 7, &got, &err);
	victim->code = dwarfs_error_code(err);
	victim->errnum = dwarfs_error_errno(err);
	victim->has_offset = dwarfs_error_offset(err, &victim->offset);
	snprintf(victim->message, sizeof(victim->message), "%s",
		 err ? dwarfs_error_message(err) : "");
	return NULL;
}

static void fail_together(struct world *world, uint32_t block, int code, int errnum)
{
	struct victim victims[THREADS] = { { 0 } };

	world->fail_block = block;
	world->wait_for = THREADS - 1;
	atomic_store(&world->failures, 1);
	for (uint32_t i = 0; i < THREADS; i++) {
		victims[i].world = world;
		assert_int_equal(
			pthread_create(&victims[i].thread, NULL, fail_along, &victims[i]),
			0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(victims[i].thread, NULL);
		assert_int_equal(victims[i].ret, code);
		assert_int_equal(victims[i].code, code);
		assert_int_equal(victims[i].errnum, errnum);
		assert_true(*victims[i].message);
		if (i == 0)
			continue;
		assert_string_equal(victims[i].message, victims[0].message);
		assert_int_equal(victims[i].has_offset, victims[0].has_offset);
		assert_int_equal(victims[i].offset, victims[0].offset);
	}
	/* Only one load failed. */
	assert_int_equal(atomic_load(&world->failures), 0);
	assert_true(victims[0].has_offset);
}

static dwarfs_image *open_failing(struct world *world, dwarfs_context *context)
{
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;

	assert_int_equal(dwarfs_io_new(read_world, world->craft.bytes.size, NULL, world,
				       &io, NULL),
			 0);
	assert_int_equal(dwarfs_image_open_io(context, io, NULL, &image, NULL), 0);
	dwarfs_io_free(io);
	world->image = image;
	return image;
}

static void all_who_wait_get_the_same_error(void **state)
{
	static const struct block_spec specs[] = { { CODEC_LZMA, PART_LOG },
						   { CODEC_ZSTD, 0 },
						   { CODEC_NONE, 0 } };
	static const uint64_t budgets[] = { 0, 64 << 20 };

	for (size_t b = 0; b < 2; b++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(budgets[b]);
		auto_test_image dwarfs_image *image = NULL;

		craft_expect_end(120);
		make_world(&world, specs, 3, PARTED_BYTES);
		image = open_failing(&world, context);
		for (uint32_t i = 0; i < 3; i++) {
			fail_together(&world, i, DWARFS_ERR_IO, EIO);
			expect_read(&world, image, i, PART, 100);
		}
		/* Again, now that its parts are known. */
		fail_together(&world, 0, DWARFS_ERR_IO, EIO);
		expect_read(&world, image, 0, 0, PARTED_BYTES);
		dwarfs_context_trim(context, 0);
		world.is_damaged = true;
		for (uint32_t i = 0; i < 3; i++) {
			world.craft.bytes
				.data[world.block_at[i] + DW_HEADER_BYTES + 99] ^= 1;
			fail_together(&world, i, DWARFS_ERR_CHECKSUM, 0);
		}
		expect_nothing_left(context);
		dwarfs_context_free(context);
		craft_expect_end(0);
	}
}

/* -- many threads -------------------------------------------------------------------- */

struct reader {
	pthread_t thread;
	const struct world *world;
	const dwarfs_image *image;
	dwarfs_context *context;
	pthread_barrier_t *start;
	uint32_t seed, rounds;
	struct walker walker;
	int wrong;
};

static uint32_t next_random(struct reader *reader)
{
	reader->seed = reader->seed * 1664525u + 1013904223u;
	return reader->seed >> 8;
}

/* Usually the next bytes of a block, or else anywhere. */
static struct walker next_place(struct reader *reader)
{
	const struct world *world = reader->world;
	struct walker *walker = &reader->walker, place;
	uint32_t size = 1 + next_random(reader) % 40000;

	if (next_random(reader) % 8 == 0 || walker->at >= world->block_bytes) {
		walker->block = next_random(reader) % world->blocks;
		walker->at = next_random(reader) % world->block_bytes;
	}
	place = *walker;
	place.end = place.at + size;
	if (place.end > world->block_bytes)
		place.end = world->block_bytes;
	walker->at = place.end;
	return place;
}

static bool read_all_in_order(struct reader *reader)
{
	struct collected collected = { .world = reader->world };
	dwarfs_inode inodes[] = { next_random(reader) % reader->world->files + 1,
				  next_random(reader) % reader->world->files + 1 };
	int ret = dwarfs_read_in_order(reader->image, inodes, 2, collect, NULL,
				       &collected, NULL);

	return ret == 0 && !collected.wrong &&
	       collected.complete == (inodes[0] != inodes[1]) + 1;
}

static bool prefetch_some(struct reader *reader)
{
	dwarfs_inode inodes[3];

	for (int i = 0; i < 3; i++)
		inodes[i] = next_random(reader) % reader->world->files + 1;
	return dwarfs_prefetch(reader->image, inodes, 3, NULL) >= 0;
}

static bool do_something(struct reader *reader)
{
	struct walker place = next_place(reader);
	size_t size = (size_t)(place.end - place.at), parts;

	switch (next_random(reader) % 32) {
	case 0:
		return read_all_in_order(reader);
	case 1:
	case 2:
		return prefetch_some(reader);
	case 3:
		return dwarfs_image_preload_block(reader->image, place.block, NULL) == 0;
	case 4:
		return dwarfs_context_trim(reader->context, next_random(reader) % 2) == 0;
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
	case 10:
		return try_borrow(reader->world, reader->image, place.block, place.at,
				  size, &parts) == 0;
	case 11:
	case 12:
	case 13:
	case 14:
		return try_file_read(reader->world, reader->image, place.block, place.at,
				     size) == 0;
	default:
		return try_read(reader->world, reader->image, place.block, place.at,
				size) == 0;
	}
}

static void *read_around(void *data)
{
	struct reader *reader = data;

	pthread_barrier_wait(reader->start);
	for (uint32_t i = 0; i < reader->rounds; i++)
		reader->wrong += !do_something(reader);
	return NULL;
}

static void let_all_read(const struct world *world, const dwarfs_image *image,
			 dwarfs_context *context, uint32_t rounds)
{
	struct reader readers[THREADS];
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){
			.world = world,
			.image = image,
			.context = context,
			.start = &start,
			.seed = i * 7919 + 13,
			.rounds = rounds,
			.walker = { i % world->blocks, 0, 0 },
		};
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_around,
						&readers[i]),
				 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(readers[i].thread, NULL);
		assert_int_equal(readers[i].wrong, 0);
	}
	pthread_barrier_destroy(&start);
}

static void any_budget_serves_all_kinds_of_readers(void **state)
{
	static const struct block_spec specs[] = {
		{ CODEC_LZMA, PART_LOG }, { CODEC_ZSTD, 0 },  { CODEC_LZMA, 0 },
		{ CODEC_NONE, 0 },	  { CODEC_LZMA, 19 }, { CODEC_ZSTD, 0 },
	};
	static const uint64_t budgets[] = {
		0, 1, 100000, 5 * PART, 12 * PART, 2 << 20, 5 << 20, 64 << 20,
	};
	auto_world struct world world;
	uint64_t alone;

	start_world(&world, 6, PARTED_BYTES);
	for (uint32_t i = 0; i < 6; i++)
		add_block(&world, i, specs[i]);
	for (uint32_t i = 0; i < 8; i++)
		add_file(&world, i % 6, i * PART + 3000 * i, 60000);
	end_world(&world);
	alone = most_alone(&world);
	for (size_t b = 0; b < sizeof(budgets) / sizeof(budgets[0]); b++) {
		dwarfs_context *context = context_with(budgets[b]);
		dwarfs_image *image = craft_open(&world.craft, context);

		craft_expect_end(280);
		let_all_read(&world, image, context,
			     budgets[b] > PARTED_BYTES ? 200 : 60);
		assert_true(count_of(context, DWARFS_CACHE_USED) <= budgets[b]);
		assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <=
			    budgets[b] + (alone > budgets[b] ? alone : 0));
		expect_nothing_left(context);
		dwarfs_image_free(image);
		dwarfs_context_free(context);
		craft_expect_end(0);
	}
}

/* Held blocks can still be decoded further: that is counted from the beginning. */
static void held_blocks_may_grow_within_the_budget(void **state)
{
	static const struct block_spec specs[MAX_BLOCKS] = {
		{ CODEC_LZMA, 0 }, { CODEC_LZMA, 0 }, { CODEC_LZMA, 0 },
		{ CODEC_LZMA, 0 }, { CODEC_LZMA, 0 }, { CODEC_LZMA, 0 },
		{ CODEC_LZMA, 0 }, { CODEC_LZMA, 0 },
	};
	const uint64_t budget = UINT64_C(8) << 20;
	dwarfs_context *context = context_with(budget);
	dwarfs_borrowed *borrowed[MAX_BLOCKS] = { NULL };
	auto_world struct world world;
	dwarfs_image *image;

	make_world(&world, specs, MAX_BLOCKS, 1 << 20);
	image = craft_open(&world.craft, context);
	for (uint32_t i = 0; i < MAX_BLOCKS; i++) {
		dwarfs_file *file = NULL;

		assert_int_equal(dwarfs_file_open(image, i + 1, &file, NULL), 0);
		assert_int_equal(dwarfs_file_borrow(file, 10, 0, &borrowed[i], NULL), 0);
		dwarfs_file_free(file);
	}
	for (uint32_t i = 0; i < MAX_BLOCKS; i++)
		assert_int_equal(try_read(&world, image, i, (1 << 20) - 4096, 10), 0);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <= budget);
	for (uint32_t i = 0; i < MAX_BLOCKS; i++)
		dwarfs_borrowed_free(borrowed[i]);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

/* Ranges for which there is no space beside the block are read from the block, which
 * is kept. */
static void ranges_beyond_the_budget_are_not_lost(void **state)
{
	static const struct range list[] = { { 0, 280 << 10 },
					     { 300 << 10, 280 << 10 },
					     { 600 << 10, 280 << 10 } };
	static const struct block_spec spec = { CODEC_ZSTD, 0 };
	const struct range_list range_list = { list, 3 };
	dwarfs_context *context = context_with(3 << 19);
	auto_world struct world world;
	dwarfs_image *image;
	uint64_t before;

	make_world(&world, &spec, 1, 1 << 20);
	image = craft_open(&world.craft, context);
	assert_int_equal(dw_cache_keep_ranges(image, 0, &range_list, NULL), 0);
	assert_true(count_of(context, DWARFS_CACHE_EXTENTS) > 0);
	before = decoded(context);
	for (size_t i = 0; i < range_list.count; i++)
		assert_int_equal(
			try_read(&world, image, 0, list[i].from, (size_t)list[i].size),
			0);
	assert_int_equal(decoded(context), before);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <= 3 << 19);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

/* -- many extents -------------------------------------------------------------------- */

#define MANY	   12000u
#define MANY_BYTES (16u << 20)
#define MANY_SIZE  600u

static struct range nth_range(uint32_t i)
{
	return (struct range){ (uint64_t)i * (MANY_BYTES / MANY), MANY_SIZE };
}

/* Each number below MANY once, shuffled. */
static uint32_t shuffled(uint32_t i)
{
	return (uint32_t)((uint64_t)i * 7919 % MANY);
}

static void expect_nth(const struct world *world, dwarfs_image *image, uint32_t i)
{
	struct range range = nth_range(i);
	uint64_t end = range.from + range.size;

	while (range.from < end) {
		struct cached cached;

		range.size = end - range.from;
		assert_int_equal(dw_cache_get(image, 0, range, &cached, NULL), 0);
		assert_in_range(cached.size, 1, range.size);
		assert_memory_equal(cached.data, bytes_at(world, 0, range.from),
				    cached.size);
		dw_cache_put(image, &cached);
		range.from += cached.size;
	}
}

/* Many small ranges of a block that cannot be kept: found in any order, ranges between
 * them that are requested later are not duplicated, and all are freed. */
static void many_parts_of_a_block_are_kept(void **state)
{
	static const struct block_spec spec = { CODEC_ZSTD, 0 };
	dwarfs_context *context = context_with(2 * MANY_BYTES);
	auto_free struct range *list = calloc(MANY, sizeof(*list));
	struct range_list range_list = { list, 0 };
	auto_world struct world world;
	dwarfs_image *image;
	uint64_t twice;

	make_world(&world, &spec, 1, MANY_BYTES);
	image = craft_open(&world.craft, context);
	/* Half of them at first, then all. */
	for (uint32_t i = 0; i < MANY; i += 2)
		list[range_list.count++] = nth_range(i);
	assert_int_equal(dw_cache_keep_ranges(image, 0, &range_list, NULL), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), MANY / 2);
	/* The block was not kept. */
	assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), 0);
	for (range_list.count = 0; range_list.count < MANY; range_list.count++)
		list[range_list.count] = nth_range((uint32_t)range_list.count);
	assert_int_equal(dw_cache_keep_ranges(image, 0, &range_list, NULL), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), MANY);
	twice = decoded(context);
	for (uint32_t i = 0; i < MANY; i++)
		expect_nth(&world, image, shuffled(i));
	assert_int_equal(decoded(context), twice);
	/* Ranges that are partly present. */
	for (range_list.count = 0; range_list.count < 16; range_list.count++)
		list[range_list.count] =
			(struct range){ range_list.count << 18, 1 << 18 };
	assert_int_equal(dw_cache_keep_ranges(image, 0, &range_list, NULL), 0);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <= 2 * MANY_BYTES);
	for (uint32_t i = 0; i < MANY / 4; i++)
		expect_nth(&world, image, MANY / 4 - 1 - i);
	expect_read(&world, image, 0, 0, 1 << 20);
	expect_nothing_left(context);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
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
		cmocka_unit_test(one_reader_of_a_large_block),
		cmocka_unit_test(two_readers_of_large_blocks),
		cmocka_unit_test(readers_of_more_blocks_than_fit),
		cmocka_unit_test(too_many_readers),
		cmocka_unit_test(readers_that_stop_are_forgotten),
		cmocka_unit_test(what_is_hot_stays),
		cmocka_unit_test(held_blocks_may_grow_within_the_budget),
		cmocka_unit_test(ranges_beyond_the_budget_are_not_lost),
		cmocka_unit_test(many_parts_of_a_block_are_kept),
		cmocka_unit_test(all_who_wait_get_the_same_error),
		cmocka_unit_test(any_budget_serves_all_kinds_of_readers),
	};

	if (!has_codec(CODEC_LZMA) || !has_codec(CODEC_ZSTD)) {
		printf("skipped: built without lzma or zstd\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
