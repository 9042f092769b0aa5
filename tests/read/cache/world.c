/* SPDX-License-Identifier: MIT */
#include "read/cache/world.h"

#include <stdlib.h>

#include "codec/encode/encode.h"

void world_free(struct world *world)
{
	craft_free(&world->craft);
	dw_free(world->bytes);
}

const uint8_t *bytes_at(const struct world *world, uint32_t block, uint64_t offset)
{
	return world->bytes + (size_t)block * world->block_bytes + offset;
}

/* Runs of bytes, which compress, but without long repetitions. */
static uint8_t byte_of(uint32_t block, uint32_t at)
{
	uint32_t mixed = (at / 24 + block * 40503u) * 2654435761u;

	return (uint8_t)((mixed >> 13) + at % 5);
}

bool has_codec(enum codec_id id)
{
	return id == CODEC_NONE || dw_codec_can_pack(id);
}

void pack(struct block_spec spec, struct span in, struct buffer *out)
{
	struct codec_spec codec_spec = { .id = spec.id, .part_log = spec.part_log };
	auto_codec struct codec *codec = NULL;
	uint32_t id = CODEC_NONE;

	if (!has_codec(spec.id))
		skip();
	codec_spec.level = 1;
	assert_int_equal(dw_codec_new(&codec_spec, in.size, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, in, out, &id, NULL), 0);
	assert_int_equal(id, spec.id);
}

void start_world(struct world *world, uint32_t blocks, uint32_t block_bytes)
{
	memset(world, 0, sizeof(*world));
	world->blocks = blocks;
	world->block_bytes = block_bytes;
	world->fail_block = UINT32_MAX;
	world->bytes = dw_malloc((size_t)blocks * block_bytes);
	assert_non_null(world->bytes);
	for (uint32_t i = 0; i < blocks; i++) {
		uint8_t *bytes = world->bytes + (size_t)i * block_bytes;

		for (uint32_t k = 0; k < block_bytes; k++)
			bytes[k] = byte_of(i, k);
		world->chunks[world->files++] = (struct craft_chunk){ i, 0, block_bytes };
	}
}

dwarfs_inode add_file(struct world *world, uint32_t block, uint32_t offset, uint32_t size)
{
	world->chunks[world->files++] = (struct craft_chunk){ block, offset, size };
	return dwarfs_inode_at(world->files);
}

void end_world(struct world *world)
{
	uint32_t table[MAX_FILES + 1];

	for (uint32_t i = 0; i <= world->files; i++)
		table[i] = i;
	craft_files(&world->craft, world->chunks, table, world->files, world->block_bytes,
		    0);
	craft_index(&world->craft, 0);
}

void add_block(struct world *world, uint32_t block, struct block_spec spec)
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

void make_world(struct world *world, const struct block_spec *specs, uint32_t blocks,
		uint32_t block_bytes)
{
	start_world(world, blocks, block_bytes);
	for (uint32_t i = 0; i < blocks; i++)
		add_block(world, i, specs[i]);
	end_world(world);
}

dwarfs_context *context_with(uint64_t cache_bytes)
{
	dwarfs_context *context = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_cache_bytes(context, cache_bytes, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 2, NULL), 0);
	return context;
}

uint64_t count_of(const dwarfs_context *context, int what)
{
	return dwarfs_context_cache_count(context, what);
}

uint64_t decoded(const dwarfs_context *context)
{
	return count_of(context, DWARFS_CACHE_DECODED_BYTES);
}

int try_read(const struct world *world, const dwarfs_image *image, uint32_t block,
	     uint64_t offset, size_t size)
{
	auto_free uint8_t *buffer = dw_malloc(size);
	size_t got = 0;
	int ret = buffer ? dwarfs_read(image, dwarfs_inode_at(block + 1), buffer, size,
				       offset, &got, NULL)
			 : DWARFS_ERR_NOMEM;

	if (ret < 0)
		return ret;
	return got != size || memcmp(buffer, bytes_at(world, block, offset), size) != 0;
}

int try_file_read(const struct world *world, const dwarfs_image *image, uint32_t block,
		  uint64_t offset, size_t size)
{
	auto_free uint8_t *buffer = dw_malloc(size);
	dwarfs_file *file = NULL;
	size_t got = 0;
	int ret = dwarfs_file_open(image, dwarfs_inode_at(block + 1), &file, NULL);

	if (ret == 0)
		ret = dwarfs_file_read(file, buffer, size, offset, &got, NULL);
	dwarfs_file_free(file);
	if (ret < 0)
		return ret;
	return got != size || memcmp(buffer, bytes_at(world, block, offset), size) != 0;
}

int try_borrow(const struct world *world, const dwarfs_image *image, uint32_t block,
	       uint64_t offset, size_t size, size_t *parts_out)
{
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *file = NULL;
	size_t got = 0, part;
	int ret = dwarfs_file_open(image, dwarfs_inode_at(block + 1), &file, NULL);

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

void expect_read(const struct world *world, const dwarfs_image *image, uint32_t block,
		 uint64_t offset, size_t size)
{
	assert_int_equal(try_read(world, image, block, offset, size), 0);
}

/* Memory to decode one block to its end, and its stored bytes. */
static uint64_t alone_bytes(const struct world *world, uint32_t block)
{
	const uint8_t *section = world->craft.bytes.data + world->block_at[block];
	uint32_t codec = section[0x36] | (uint32_t)section[0x37] << 8;
	struct span payload = { section + DW_HEADER_BYTES, dw_load64(section + 0x38) };
	auto_free uint8_t *room = dw_malloc(world->block_bytes);
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

uint64_t most_alone(const struct world *world)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < world->blocks; i++)
		if (alone_bytes(world, i) > most)
			most = alone_bytes(world, i);
	return most;
}

void expect_nothing_left(dwarfs_context *context)
{
	dwarfs_context_trim(context, 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_USED), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), 0);
}

int collect(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
	    dwarfs_error **err, void *user)
{
	struct collected *collected = user;
	const struct craft_chunk *chunk = &collected->world->chunks[inode.number - 1];

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

int collect_failure(dwarfs_inode inode, const dwarfs_error *why, dwarfs_error **err,
		    void *user)
{
	struct collected *collected = user;

	collected->failed++;
	collected->failed_code = dwarfs_error_code(why);
	return 0;
}
