/* SPDX-License-Identifier: MIT */
/*
 * A crafted image for the tests of many files at once: small files spread over compressed
 * blocks, a file of all blocks, one that alternates between blocks, holes, and, where
 * wanted, a damaged or short block.
 */
#ifndef TESTS_READ_BULK_WORLD_H
#define TESTS_READ_BULK_WORLD_H

#include "read/image/image.h"
#include "support/craft.h"

#define BLOCK_BYTES (256u << 10)
#define BLOCKS	    9u
#define SMALL	    72u /* files, spread over the blocks */
#define SMALL_BYTES 25000u
#define PER_BLOCK   (SMALL / BLOCKS)
#define WHOLE	    SMALL	/* a file that consists of all blocks */
#define BACK	    (SMALL + 1) /* one that alternates between blocks */
#define EMPTY	    (SMALL + 2)
#define SPARSE	    (SMALL + 3)
#define HOLE	    (SMALL + 4)
#define FILES	    (SMALL + 5)
#define HOLE_BLOCK  1000u
/* The maximum for one block: its bytes, its decoder, its stored bytes. */
#define ALONE_BYTES (3 * BLOCK_BYTES + (17u << 20))

#define BAD 4u /* the number of the damaged block, if one is damaged */

/* The defect of an image. */
#define DAMAGED	    1
#define SHORT	    2 /* the size of its shortened last block: */
#define SHORT_BYTES 190000u

struct world {
	struct craft craft;
	uint64_t block_at[BLOCKS];
	struct craft_chunk chunks[256];
	uint32_t table[FILES + 1];
};
#define auto_world __attribute__((cleanup(world_free)))

void world_free(struct world *world);
uint8_t byte_of(uint32_t block, uint32_t at);
/* Adjacent small files are in different blocks. */
void make_world(struct world *world, int trouble);
/* The size of a hole: whole blocks plus these bytes. */
uint64_t bytes_of(const struct craft_chunk *chunk);
uint64_t size_of(const struct world *world, uint32_t file);
bool uses_block(const struct world *world, uint32_t file, uint32_t block);
/* Whether the bytes are those of a file at an offset; NULL is a hole. */
bool is_right(const struct world *world, uint32_t file, const uint8_t *bytes,
	      uint64_t count, uint64_t offset);
dwarfs_context *context_with(uint64_t cache_bytes, uint32_t workers);
dwarfs_image *open_world(struct world *world, dwarfs_context *context);
uint64_t count_of(const dwarfs_context *context, int what);
/* All files, some twice, the last first. */
size_t list_all(dwarfs_inode *inodes);

#endif
