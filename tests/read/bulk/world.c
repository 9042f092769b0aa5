/* SPDX-License-Identifier: MIT */
#include "read/bulk/world.h"

#include <stdlib.h>

#include "codec/encode/encode.h"

void world_free(struct world *world)
{
	craft_free(&world->craft);
}

uint8_t byte_of(uint32_t block, uint32_t at)
{
	/* Runs of bytes, which compress, without long repetitions. */
	uint32_t mixed = (at / 24 + block * 40503u) * 2654435761u;

	return (uint8_t)((mixed >> 13) + at % 5);
}

static uint32_t codec_of(uint32_t block)
{
	static const enum codec_id codecs[] = { CODEC_ZSTD, CODEC_LZMA, CODEC_BROTLI,
						CODEC_NONE, CODEC_LZ4 };
	enum codec_id id = codecs[block % 5];

	return dw_codec_can_pack(id) ? id : CODEC_NONE;
}

static void add_block(struct world *world, uint32_t block, uint32_t size)
{
	struct codec_spec spec = { .id = codec_of(block), .level = 3 };
	auto_free uint8_t *bytes = dw_malloc(BLOCK_BYTES);
	auto_buffer struct buffer packed = { 0 };
	auto_codec struct codec *codec = NULL;
	uint32_t id = CODEC_NONE;

	assert_non_null(bytes);
	for (uint32_t k = 0; k < BLOCK_BYTES; k++)
		bytes[k] = byte_of(block, k);
	if (spec.id != CODEC_NONE) {
		assert_int_equal(dw_codec_new(&spec, BLOCK_BYTES, &codec, NULL), 0);
		assert_int_equal(dw_codec_pack(codec, (struct span){ bytes, size },
					       &packed, &id, NULL),
				 0);
		assert_int_equal(id, spec.id);
	}
	world->block_at[block] = world->craft.bytes.size;
	if (id == CODEC_NONE)
		craft_section(&world->craft, DWARFS_SECTION_BLOCK, 0, bytes, size);
	else
		craft_section(&world->craft, DWARFS_SECTION_BLOCK, id, packed.data,
			      packed.size);
}

static void add_chunk(struct world *world, uint32_t *count, struct craft_chunk chunk)
{
	world->chunks[(*count)++] = chunk;
}

void make_world(struct world *world, int trouble)
{
	uint32_t count = 0;

	memset(world, 0, sizeof(*world));
	for (uint32_t i = 0; i < BLOCKS; i++)
		add_block(world, i,
			  trouble == SHORT && i == BLOCKS - 1 ? SHORT_BYTES
							      : BLOCK_BYTES);
	for (uint32_t i = 0; i < FILES; i++) {
		world->table[i] = count;
		if (i < SMALL) {
			add_chunk(world, &count,
				  (struct craft_chunk){ i % BLOCKS,
							i / BLOCKS * SMALL_BYTES,
							SMALL_BYTES });
		} else if (i == WHOLE) {
			for (uint32_t k = 0; k < BLOCKS; k++)
				add_chunk(world, &count,
					  (struct craft_chunk){ k, 0, BLOCK_BYTES });
		} else if (i == BACK) {
			add_chunk(world, &count, (struct craft_chunk){ 5, 1000, 70000 });
			add_chunk(world, &count, (struct craft_chunk){ 2, 90000, 33 });
			add_chunk(world, &count, (struct craft_chunk){ 5, 10, 100000 });
			add_chunk(world, &count, (struct craft_chunk){ 5, 100010, 10 });
			add_chunk(world, &count, (struct craft_chunk){ 0, 7, 1 });
		} else if (i == SPARSE) {
			add_chunk(world, &count,
				  (struct craft_chunk){ HOLE_BLOCK, 100000, 0 });
			add_chunk(world, &count, (struct craft_chunk){ 7, 3, 5000 });
			add_chunk(world, &count,
				  (struct craft_chunk){ HOLE_BLOCK, 200000, 0 });
			add_chunk(world, &count, (struct craft_chunk){ 1, 3, 5000 });
			add_chunk(world, &count,
				  (struct craft_chunk){ HOLE_BLOCK, 70000, 0 });
		} else if (i == HOLE) {
			add_chunk(world, &count,
				  (struct craft_chunk){ HOLE_BLOCK, 30000, 1 });
		}
	}
	world->table[FILES] = count;
	craft_files(&world->craft, world->chunks, world->table, FILES, BLOCK_BYTES,
		    HOLE_BLOCK);
	craft_index(&world->craft, 0);
	if (trouble == DAMAGED)
		world->craft.bytes.data[world->block_at[BAD] + 64 + 100] ^= 1;
}

uint64_t bytes_of(const struct craft_chunk *chunk)
{
	if (chunk->block == HOLE_BLOCK)
		return (uint64_t)chunk->size * BLOCK_BYTES + chunk->offset;
	return chunk->size;
}

uint64_t size_of(const struct world *world, uint32_t file)
{
	uint64_t size = 0;

	for (uint32_t i = world->table[file]; i < world->table[file + 1]; i++)
		size += bytes_of(&world->chunks[i]);
	return size;
}

bool uses_block(const struct world *world, uint32_t file, uint32_t block)
{
	for (uint32_t i = world->table[file]; i < world->table[file + 1]; i++)
		if (world->chunks[i].block == block)
			return true;
	return false;
}

bool is_right(const struct world *world, uint32_t file, const uint8_t *bytes,
	      uint64_t count, uint64_t offset)
{
	for (uint32_t i = world->table[file]; i < world->table[file + 1] && count > 0;
	     i++) {
		const struct craft_chunk *chunk = &world->chunks[i];
		bool hole = chunk->block == HOLE_BLOCK;
		uint64_t size = bytes_of(chunk);

		if (offset >= size) {
			offset -= size;
			continue;
		}
		for (; offset < size && count > 0; offset++, count--) {
			uint8_t byte = hole ? 0
					    : byte_of(chunk->block,
						      chunk->offset + (uint32_t)offset);

			if (bytes ? *bytes++ != byte : !hole)
				return false;
		}
		offset = 0;
	}
	return count == 0;
}

dwarfs_context *context_with(uint64_t cache_bytes, uint32_t workers)
{
	dwarfs_context *context = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_cache_bytes(context, cache_bytes, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, workers, NULL), 0);
	return context;
}

dwarfs_image *open_world(struct world *world, dwarfs_context *context)
{
	return craft_open(&world->craft, context);
}

uint64_t count_of(const dwarfs_context *context, int what)
{
	return dwarfs_context_cache_count(context, what);
}

size_t list_all(dwarfs_inode *inodes)
{
	size_t count = 0;

	for (uint32_t i = 0; i < FILES; i++)
		inodes[count++] = dwarfs_inode_at(FILES - i);
	for (uint32_t i = 0; i < FILES; i += 3)
		inodes[count++] = dwarfs_inode_at(i + 1);
	return count;
}
