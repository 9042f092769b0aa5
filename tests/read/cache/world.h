/* SPDX-License-Identifier: MIT */
/*
 * A crafted image for the tests of the cache: blocks by codec and size of parts, with
 * files that are pieces of them, and reads that are compared with what was packed.
 */
#ifndef TESTS_READ_CACHE_WORLD_H
#define TESTS_READ_CACHE_WORLD_H

#include "read/cache/internal.h"
#include "support/craft.h"

#define MAX_BLOCKS 8u
#define MAX_FILES  16u
#define THREADS	   12u

/* Blocks with parts. */
#define PARTED_BYTES (1u << 20)
#define PART_LOG     16
#define PART	     (1u << PART_LOG)
#define PARTS	     (PARTED_BYTES / PART)

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
	/* For a source that fails after all threads have started to wait for it. */
	dwarfs_image *image;
	uint32_t fail_block, wait_for;
	atomic_int failures;
	bool is_damaged;
};
#define auto_world __attribute__((cleanup(world_free)))

/* Readers that each read a range of a block, in turn. */
struct walker {
	uint32_t block;
	uint64_t at, end;
};

struct collected {
	const struct world *world;
	uint64_t bytes;
	int complete, failed, failed_code;
	bool wrong;
};

void world_free(struct world *world);
const uint8_t *bytes_at(const struct world *world, uint32_t block, uint64_t offset);
bool has_codec(enum codec_id id);
/* Skips the test if the codec was not built in. */
void pack(struct block_spec spec, struct span in, struct buffer *out);
void start_world(struct world *world, uint32_t blocks, uint32_t block_bytes);
/* A file that is a piece of a block; gives its inode. */
dwarfs_inode add_file(struct world *world, uint32_t block, uint32_t offset,
		      uint32_t size);
void end_world(struct world *world);
void add_block(struct world *world, uint32_t block, struct block_spec spec);
void make_world(struct world *world, const struct block_spec *specs, uint32_t blocks,
		uint32_t block_bytes);
dwarfs_context *context_with(uint64_t cache_bytes);
uint64_t count_of(const dwarfs_context *context, int what);
uint64_t decoded(const dwarfs_context *context);
/* Read from a block's file: 0, an error, or 1 for wrong bytes. No assertions here:
 * these belong to the main thread. */
int try_read(const struct world *world, const dwarfs_image *image, uint32_t block,
	     uint64_t offset, size_t size);
int try_file_read(const struct world *world, const dwarfs_image *image, uint32_t block,
		  uint64_t offset, size_t size);
int try_borrow(const struct world *world, const dwarfs_image *image, uint32_t block,
	       uint64_t offset, size_t size, size_t *parts_out);
void expect_read(const struct world *world, const dwarfs_image *image, uint32_t block,
		 uint64_t offset, size_t size);
uint64_t most_alone(const struct world *world);
void expect_nothing_left(dwarfs_context *context);
int collect(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
	    dwarfs_error **err, void *user);
int collect_failure(dwarfs_inode inode, const dwarfs_error *why, dwarfs_error **err,
		    void *user);

#endif
