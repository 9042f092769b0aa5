/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/in_order, read/bulk/parallel: many files at once, by blocks that are packed:
 * read_in_order, read_parallel, prefetch, borrow, and 64 threads that read anywhere with
 * any budget.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "read/image.h"
#include "support/craft.h"

#define BLOCK_BYTES (256u << 10)
#define BLOCKS	    9u
#define SMALL	    72u /* files, spread over the blocks */
#define SMALL_BYTES 25000u
#define PER_BLOCK   (SMALL / BLOCKS)
#define WHOLE	    SMALL	/* a file that is all blocks */
#define BACK	    (SMALL + 1) /* one that goes back and forth */
#define EMPTY	    (SMALL + 2)
#define SPARSE	    (SMALL + 3)
#define HOLE	    (SMALL + 4)
#define FILES	    (SMALL + 5)
#define HOLE_BLOCK  1000u
/* The most that one block alone takes: itself, its decoder, what is stored. */
#define ALONE_BYTES (3 * BLOCK_BYTES + (17u << 20))

#define BAD 4u /* the block that is damaged where one is to be */

/* What is wrong with a world. */
#define DAMAGED	    1
#define SHORT	    2 /* its last block has only so many bytes: */
#define SHORT_BYTES 190000u

struct world {
	struct craft craft;
	uint64_t block_at[BLOCKS];
	struct craft_chunk chunks[256];
	uint32_t table[FILES + 1];
};
#define auto_world __attribute__((cleanup(world_free)))

static void world_free(struct world *world)
{
	craft_free(&world->craft);
}

static uint8_t byte_of(uint32_t block, uint32_t at)
{
	/* Runs, so that it packs, which never repeat over a longer stretch. */
	uint32_t mixed = (at / 24 + block * 40503u) * 2654435761u;

	return (uint8_t)((mixed >> 13) + at % 5);
}

static uint32_t codec_of(uint32_t block)
{
	static const enum codec_id codecs[] = { CODEC_ZSTD, CODEC_LZMA, CODEC_BROTLI,
						CODEC_NONE, CODEC_LZ4 };
	enum codec_id id = codecs[block % 5];

	return dw_codec_can_pack(id) && dw_codec_can_unpack(id) ? id : CODEC_NONE;
}

static void add_block(struct world *world, uint32_t block, uint32_t size)
{
	struct codec_spec spec = { .id = codec_of(block), .level = 3 };
	auto_free uint8_t *bytes = malloc(BLOCK_BYTES);
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

/* Neighbours among the small files are in different blocks. */
static void make_world(struct world *world, int trouble)
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

/* A hole has blocks, and bytes besides. */
static uint64_t bytes_of(const struct craft_chunk *chunk)
{
	if (chunk->block == HOLE_BLOCK)
		return (uint64_t)chunk->size * BLOCK_BYTES + chunk->offset;
	return chunk->size;
}

static uint64_t size_of(const struct world *world, uint32_t file)
{
	uint64_t size = 0;

	for (uint32_t i = world->table[file]; i < world->table[file + 1]; i++)
		size += bytes_of(&world->chunks[i]);
	return size;
}

static bool uses_block(const struct world *world, uint32_t file, uint32_t block)
{
	for (uint32_t i = world->table[file]; i < world->table[file + 1]; i++)
		if (world->chunks[i].block == block)
			return true;
	return false;
}

/* Whether bytes are those of a file at a place; NULL is a hole. */
static bool is_right(const struct world *world, uint32_t file, const uint8_t *bytes,
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

static dwarfs_context *context_with(uint64_t cache_bytes, uint32_t workers)
{
	dwarfs_context *context = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_cache_bytes(context, cache_bytes, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, workers, NULL), 0);
	return context;
}

static dwarfs_image *open_world(struct world *world, dwarfs_context *context)
{
	return craft_open(&world->craft, context);
}

static uint64_t count_of(const dwarfs_context *context, int what)
{
	return dwarfs_context_cache_count(context, what);
}

/* -- in the order of data ------------------------------------------------------------ */

struct reading {
	int code; /* of failures; 0: CHECKSUM */
	const struct world *world;
	uint64_t got[FILES];
	int complete[FILES], failed[FILES];
	uint32_t last_block;
	bool wrong, out_of_order;
	int stop_after;
};

static int take_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		      void *user)
{
	struct reading *reading = user;
	uint32_t file = inode - 1;

	reading->wrong |=
		file >= FILES || reading->complete[file] || reading->failed[file];
	if (reading->wrong)
		return 1;
	if (bytes == 0) {
		reading->complete[file]++;
		reading->wrong |= data || offset != size_of(reading->world, file) ||
				  reading->got[file] != offset;
		return 0;
	}
	reading->got[file] += bytes;
	reading->wrong |= !is_right(reading->world, file, data, bytes, offset);
	if (data) {
		/* By a byte of the piece it is found out which block that was. */
		uint64_t at = 0;
		uint32_t i = reading->world->table[file];

		while (at + bytes_of(&reading->world->chunks[i]) <= offset)
			at += bytes_of(&reading->world->chunks[i++]);
		reading->out_of_order |=
			reading->world->chunks[i].block < reading->last_block;
		reading->last_block = reading->world->chunks[i].block;
	}
	return reading->stop_after > 0 && --reading->stop_after == 0 ? 77 : 0;
}

static int take_failure(dwarfs_inode inode, const dwarfs_error *why, void *user)
{
	struct reading *reading = user;

	if (inode - 1 >= FILES) {
		reading->wrong |= dwarfs_error_code(why) >= 0;
		return 0;
	}
	reading->failed[inode - 1]++;
	reading->wrong |= reading->complete[inode - 1] ||
			  dwarfs_error_code(why) !=
				  (reading->code ? reading->code : DWARFS_ERR_CHECKSUM);
	return 0;
}

/* All files, some twice, the last first. */
static size_t list_all(dwarfs_inode *inodes)
{
	size_t count = 0;

	for (uint32_t i = 0; i < FILES; i++)
		inodes[count++] = FILES - i;
	for (uint32_t i = 0; i < FILES; i += 3)
		inodes[count++] = i + 1;
	return count;
}

static void all_pieces_come_in_order(void **state)
{
	static const uint64_t budgets[] = { 0, 600000, 64 << 20 };

	for (uint32_t workers = 0; workers < 5; workers += 2) {
		for (size_t b = 0; b < 3; b++) {
			auto_world struct world world;
			dwarfs_context *context = context_with(budgets[b], workers);
			struct reading reading = { .world = &world };
			dwarfs_inode inodes[2 * FILES];
			size_t count = list_all(inodes);
			dwarfs_image *image;

			make_world(&world, 0);
			image = open_world(&world, context);
			if (b == 2) /* some of it is there already */
				assert_true(dwarfs_prefetch(image, inodes, 20, NULL) ==
					    20);
			assert_int_equal(dwarfs_read_in_order(image, inodes, count,
							      take_piece, take_failure,
							      &reading, NULL),
					 0);
			assert_false(reading.wrong);
			assert_false(reading.out_of_order);
			for (uint32_t i = 0; i < FILES; i++)
				assert_int_equal(reading.complete[i], 1);
			assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <=
				    budgets[b]);
			dwarfs_context_free(context);
			dwarfs_image_free(image);
		}
	}
}

/* A block that is shorter than some files would have it. */
static void chunks_behind_the_end_cost_their_files_only(void **state)
{
	for (uint32_t workers = 0; workers < 3; workers++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(0, workers);
		struct reading reading = { .world = &world, .code = DWARFS_ERR_CORRUPT };
		dwarfs_inode inodes[2 * FILES];
		size_t count = list_all(inodes);
		uint32_t failed = 0;
		dwarfs_image *image;

		make_world(&world, SHORT);
		image = open_world(&world, context);
		assert_int_equal(dwarfs_read_in_order(image, inodes, count, take_piece,
						      take_failure, &reading, NULL),
				 0);
		assert_false(reading.wrong);
		for (uint32_t i = 0; i < FILES; i++) {
			bool bad = false;

			for (uint32_t k = world.table[i]; k < world.table[i + 1]; k++)
				bad |= world.chunks[k].block == BLOCKS - 1 &&
				       world.chunks[k].offset + world.chunks[k].size >
					       SHORT_BYTES;
			assert_int_equal(reading.failed[i], bad);
			assert_int_equal(reading.complete[i], !bad);
			failed += bad;
		}
		assert_true(failed >= 2 && failed < SMALL / BLOCKS);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

static void damage_costs_its_files_only(void **state)
{
	for (uint32_t workers = 0; workers < 4; workers++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(0, workers);
		struct reading reading = { .world = &world };
		auto_error dwarfs_error *err = NULL;
		dwarfs_inode inodes[2 * FILES];
		size_t count = list_all(inodes);
		dwarfs_image *image;

		make_world(&world, DAMAGED);
		image = open_world(&world, context);
		inodes[count++] = 0;	   /* a directory */
		inodes[count++] = 1000000; /* nothing */
		assert_int_equal(dwarfs_read_in_order(image, inodes, count, take_piece,
						      take_failure, &reading, NULL),
				 0);
		assert_false(reading.wrong);
		for (uint32_t i = 0; i < FILES; i++) {
			bool bad = uses_block(&world, i, BAD);

			assert_int_equal(reading.failed[i], bad);
			assert_int_equal(reading.complete[i], !bad);
		}
		/* Without anybody to tell, it ends there. */
		memset(&reading, 0, sizeof(reading));
		reading.world = &world;
		assert_int_equal(dwarfs_read_in_order(image, inodes, FILES, take_piece,
						      NULL, &reading, &err),
				 DWARFS_ERR_CHECKSUM);
		assert_non_null(err);
		assert_false(reading.wrong);
		assert_int_equal(dwarfs_read_in_order(image, &inodes[count - 2], 1,
						      take_piece, NULL, &reading, NULL),
				 DWARFS_ERR_IS_DIR);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

static void a_callback_can_stop(void **state)
{
	for (int after = 1; after < 40; after += 6) {
		auto_world struct world world;
		dwarfs_context *context = context_with(0, 3);
		struct reading reading = { .world = &world, .stop_after = after };
		auto_error dwarfs_error *err = NULL;
		dwarfs_inode inodes[2 * FILES];
		size_t count = list_all(inodes);
		dwarfs_image *image;

		make_world(&world, 0);
		image = open_world(&world, context);
		assert_int_equal(dwarfs_read_in_order(image, inodes, count, take_piece,
						      take_failure, &reading, &err),
				 77);
		assert_int_equal(reading.stop_after, 0);
		assert_null(err);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

/* -- by several threads -------------------------------------------------------------- */

#define MOST_THREADS 8

struct gathering {
	pthread_mutex_t lock;
	const struct world *world;
	uint64_t got[FILES];
	int complete[FILES], failed[FILES], parts[FILES];
	bool busy[MOST_THREADS]; /* in a callback with this number */
	bool wrong;
	uint32_t threads; /* numbers below this may come */
	int looks, stop_after;
};

static void enter_thread(struct gathering *gathering, uint32_t thread)
{
	pthread_mutex_lock(&gathering->lock);
	gathering->wrong |= thread >= gathering->threads || gathering->busy[thread];
	gathering->busy[thread] = true;
}

static void leave_thread(struct gathering *gathering, uint32_t thread)
{
	gathering->busy[thread] = false;
	pthread_mutex_unlock(&gathering->lock);
}

static bool part_is_right(const struct gathering *gathering, const dwarfs_part *part,
			  uint32_t file, uint64_t *bytes_out)
{
	bool right = dwarfs_part_file_bytes(part) == size_of(gathering->world, file);
	uint64_t offset, after = 0;
	size_t bytes;

	*bytes_out = 0;
	for (size_t i = 0; i < dwarfs_part_count(part); i++) {
		const void *data = dwarfs_part_piece(part, i, &bytes, &offset);

		right &= data && bytes > 0 && offset >= after &&
			 is_right(gathering->world, file, data, bytes, offset);
		after = offset + bytes;
		*bytes_out += bytes;
	}
	return right &&
	       !dwarfs_part_piece(part, dwarfs_part_count(part), &bytes, &offset);
}

static int take_part(const dwarfs_part *part, uint32_t thread, void *user)
{
	struct gathering *gathering = user;
	uint32_t file = dwarfs_part_inode(part) - 1;
	bool right, is_last = dwarfs_part_is_last(part);
	uint64_t bytes;
	int ret = 0;

	/* Without the lock, so that it goes on at the same time. */
	right = file < FILES && part_is_right(gathering, part, file, &bytes);
	enter_thread(gathering, thread);
	gathering->wrong |= !right;
	if (right) {
		gathering->wrong |= gathering->complete[file] > 0;
		gathering->complete[file] += is_last;
		gathering->got[file] += bytes;
		/* The last one has all, or nothing. */
		gathering->wrong |= is_last && gathering->parts[file] > 0 && bytes > 0;
		gathering->wrong |= !is_last && dwarfs_part_count(part) == 0;
		gathering->parts[file]++;
	}
	if (gathering->stop_after > 0 && --gathering->stop_after == 0)
		ret = 77;
	leave_thread(gathering, thread);
	return ret;
}

static int take_part_failure(dwarfs_inode inode, const dwarfs_error *why, uint32_t thread,
			     void *user)
{
	struct gathering *gathering = user;

	enter_thread(gathering, thread);
	if (inode - 1 < FILES)
		gathering->failed[inode - 1]++;
	gathering->wrong |= dwarfs_error_code(why) >= 0;
	leave_thread(gathering, thread);
	return 0;
}

static int look_around(void *user)
{
	struct gathering *gathering = user;

	gathering->looks++;
	return 0;
}

static uint64_t data_of(const struct world *world, uint32_t file)
{
	uint64_t bytes = 0;

	for (uint32_t i = world->table[file]; i < world->table[file + 1]; i++)
		if (world->chunks[i].block != HOLE_BLOCK)
			bytes += world->chunks[i].size;
	return bytes;
}

static void gather(const struct world *world, int trouble, uint32_t workers,
		   uint32_t more)
{
	struct gathering gathering = { .lock = PTHREAD_MUTEX_INITIALIZER,
				       .world = world };
	dwarfs_context *context = context_with(trouble ? 0 : 64 << 20, workers);
	dwarfs_image *image = open_world((struct world *)world, context);
	dwarfs_inode inodes[2 * FILES + 2];
	size_t count = list_all(inodes);

	if (trouble) {
		inodes[count++] = 0;	   /* a directory */
		inodes[count++] = 1000000; /* nothing */
	} else {
		assert_true(dwarfs_prefetch(image, inodes, 20, NULL) == 20);
	}
	gathering.threads = dwarfs_read_parallel_threads(image, more);
	assert_int_equal(gathering.threads, workers + more ? workers + more : 1);
	assert_int_equal(dwarfs_read_parallel(image, inodes, count, more, take_part,
					      take_part_failure, look_around, &gathering,
					      NULL),
			 0);
	assert_false(gathering.wrong);
	if (workers + more == 0)
		assert_true(gathering.looks > 0);
	for (uint32_t i = 0; i < FILES; i++) {
		bool bad = trouble && uses_block(world, i, BAD);

		assert_int_equal(gathering.complete[i], !bad);
		assert_int_equal(gathering.failed[i], bad);
		if (!bad)
			assert_int_equal(gathering.got[i], data_of(world, i));
	}
	assert_int_equal(gathering.parts[0],
			 trouble && uses_block(world, 0, BAD) ? 0 : 1);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

static void parts_come_from_any_thread(void **state)
{
	auto_world struct world world;

	make_world(&world, 0);
	for (uint32_t workers = 0; workers < 5; workers++)
		for (uint32_t more = 0; more < 4; more += 3)
			gather(&world, 0, workers, more);
}

static void damage_costs_the_parts_of_its_files_only(void **state)
{
	auto_world struct world world;

	make_world(&world, DAMAGED);
	for (uint32_t workers = 0; workers < 5; workers++)
		gather(&world, DAMAGED, workers, workers % 2);
}

static void a_part_can_stop(void **state)
{
	auto_world struct world world;

	make_world(&world, 0);
	for (int after = 1; after < 90; after += 11) {
		dwarfs_context *context = context_with(0, (uint32_t)after % 4);
		struct gathering gathering = { .lock = PTHREAD_MUTEX_INITIALIZER,
					       .world = &world,
					       .threads = MOST_THREADS,
					       .stop_after = after };
		dwarfs_image *image = open_world(&world, context);
		auto_error dwarfs_error *err = NULL;
		dwarfs_inode inodes[2 * FILES];
		size_t count = list_all(inodes);

		assert_int_equal(dwarfs_read_parallel(image, inodes, count, 0, take_part,
						      take_part_failure, NULL, &gathering,
						      &err),
				 77);
		assert_null(err);
		assert_false(gathering.wrong);
		assert_int_equal(dwarfs_read_parallel(image, inodes, 0, 0, take_part,
						      take_part_failure, NULL, &gathering,
						      &err),
				 0);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

/* -- prefetch ------------------------------------------------------------------------ */

static void read_small(const struct world *world, const dwarfs_image *image,
		       uint32_t file)
{
	static uint8_t bytes[SMALL_BYTES];
	size_t got;

	for (uint32_t at = 0; at < SMALL_BYTES; at += 5000) {
		assert_int_equal(
			dwarfs_read(image, file + 1, bytes, 5000, at, &got, NULL), 0);
		assert_int_equal(got, 5000);
		assert_true(is_right(world, file, bytes, 5000, at));
	}
}

/* With room for half of the files of a directory and for two of its nine blocks, each
 * block is decoded once for each half. */
static void files_all_over_the_blocks_are_harvested(void **state)
{
	for (uint32_t workers = 0; workers < 3; workers++) {
		auto_world struct world world;
		uint64_t budget = SMALL * SMALL_BYTES + 100000, misses;
		dwarfs_context *context = context_with(budget, workers);
		dwarfs_inode inodes[SMALL];
		dwarfs_image *image;
		uint32_t first = 0;

		make_world(&world, 0);
		image = open_world(&world, context);
		for (uint32_t i = 0; i < SMALL; i++)
			inodes[i] = i + 1;
		for (int round = 0; first < SMALL; round++) {
			int ready = dwarfs_prefetch(image, &inodes[first], SMALL - first,
						    NULL);

			assert_true(ready > 30 || first + (uint32_t)ready == SMALL);
			misses = count_of(context, DWARFS_CACHE_MISSES);
			assert_true(misses <= (uint64_t)BLOCKS * (round + 1));
			for (int i = 0; i < ready; i++)
				read_small(&world, image, first++);
			assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), misses);
		}
		assert_true(count_of(context, DWARFS_CACHE_DECODED_BYTES) <=
			    UINT64_C(2) * BLOCKS * BLOCK_BYTES + SMALL_BYTES);
		assert_true(count_of(context, DWARFS_CACHE_EXTENTS) > 0);
		assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <=
			    budget + ALONE_BYTES);
		dwarfs_context_trim(context, 0);
		assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), 0);
		assert_int_equal(count_of(context, DWARFS_CACHE_USED), 0);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

/* Nobody says what comes next: a block that is decoded again gives what the files behind
 * the one that is read need of it. */
static void neighbours_are_kept_when_blocks_come_again(void **state)
{
	auto_world struct world world;
	uint64_t budget = SMALL * SMALL_BYTES + 100000, decoded;
	dwarfs_context *context = context_with(budget, 1);
	dwarfs_image *image;

	make_world(&world, 0);
	image = open_world(&world, context);
	for (uint32_t i = 0; i < SMALL; i++)
		read_small(&world, image, i);
	decoded = count_of(context, DWARFS_CACHE_DECODED_BYTES);
	print_message("          %d blocks: %.1f times decoded\n", BLOCKS,
		      (double)decoded / BLOCKS / BLOCK_BYTES);
	assert_true(decoded <= UINT64_C(3) * BLOCKS * BLOCK_BYTES);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <= budget + ALONE_BYTES);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

/* Blocks of which hardly one fits are decoded once, too, if reading goes to and fro. */
static void blocks_that_are_too_large_are_harvested(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(400000, 2);
	const uint32_t first = (PER_BLOCK - 2) * BLOCKS; /* far behind in their blocks */
	dwarfs_inode inodes[4] = { first + 1, first + 2, first + BLOCKS + 1,
				   first + BLOCKS + 2 };
	dwarfs_image *image;

	make_world(&world, 0);
	image = open_world(&world, context);
	assert_int_equal(dwarfs_prefetch(image, inodes, 4, NULL), 4);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), 2);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), 2);
	for (int i = 0; i < 4; i++)
		read_small(&world, image, inodes[i] - 1);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), 2);
	assert_true(count_of(context, DWARFS_CACHE_USED) <= 400000);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

/* One block after the other is decoded once without any help. */
static void what_is_in_order_is_left_alone(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(400000, 2);
	dwarfs_inode inodes[] = { 1, 1 + BLOCKS, 1 + 2 * BLOCKS, 2, 2 + BLOCKS };
	dwarfs_image *image;
	int ready;

	make_world(&world, 0);
	image = open_world(&world, context);
	ready = dwarfs_prefetch(image, inodes, 5, NULL);
	assert_in_range(ready, 0, 4);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), 0);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

static void what_fits_is_prefetched_whole(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20, 2);
	dwarfs_inode inodes[SMALL + 2];
	dwarfs_image *image;

	make_world(&world, DAMAGED);
	image = open_world(&world, context);
	for (uint32_t i = 0; i < SMALL; i++)
		inodes[i] = i + 1;
	inodes[SMALL] = 0; /* no file, passed over */
	inodes[SMALL + 1] = SPARSE + 1;
	assert_int_equal(dwarfs_prefetch(image, inodes, SMALL + 2, NULL), SMALL + 2);
	assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), BLOCKS - 1);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), BLOCKS);
	for (uint32_t i = 0; i < SMALL; i++)
		if (!uses_block(&world, i, BAD))
			read_small(&world, image, i);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), BLOCKS);
	inodes[0] = 100000;
	assert_int_equal(dwarfs_prefetch(image, inodes, 2, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_prefetch(image, inodes, 0, NULL), 0);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

static void without_a_budget_nothing_is_prefetched(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(0, 2);
	dwarfs_inode inodes[] = { 1, 2, WHOLE + 1 };
	dwarfs_image *image;

	make_world(&world, 0);
	image = open_world(&world, context);
	assert_true(dwarfs_prefetch(image, inodes, 3, NULL) >= 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_USED), 0);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

/* -- borrow -------------------------------------------------------------------------- */

static void assert_borrowed(const struct world *world, const dwarfs_image *image,
			    uint32_t number, size_t bytes, uint64_t offset)
{
	uint64_t size = size_of(world, number), left = offset < size ? size - offset : 0;
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *file = NULL;
	size_t total = 0, part = 0;

	assert_int_equal(dwarfs_file_open(image, number + 1, &file, NULL), 0);
	assert_int_equal(dwarfs_file_borrow(file, bytes, offset, &borrowed, NULL), 0);
	dwarfs_file_free(file);
	assert_int_equal(dwarfs_borrowed_bytes(borrowed), left < bytes ? left : bytes);
	for (size_t i = 0; i < dwarfs_borrowed_count(borrowed); i++) {
		const void *data = dwarfs_borrowed_part(borrowed, i, &part);

		assert_true(part > 0);
		assert_true(is_right(world, number, data, part, offset + total));
		total += part;
	}
	assert_int_equal(total, dwarfs_borrowed_bytes(borrowed));
	assert_null(
		dwarfs_borrowed_part(borrowed, dwarfs_borrowed_count(borrowed), &part));
	dwarfs_borrowed_free(borrowed);
}

static void borrowed_bytes_are_right(void **state)
{
	static const uint64_t budgets[] = { 0, 300000, 4 * BLOCK_BYTES, 64 << 20 };

	for (size_t b = 0; b < 4; b++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(budgets[b], 2);
		dwarfs_image *image;

		craft_expect_end(120);
		make_world(&world, 0);
		image = open_world(&world, context);
		assert_borrowed(&world, image, WHOLE, 2 * BLOCK_BYTES, BLOCK_BYTES / 2);
		assert_borrowed(&world, image, WHOLE, SIZE_MAX, 7);
		assert_borrowed(&world, image, BACK, 1 << 20, 0);
		assert_borrowed(&world, image, SPARSE, 1 << 20, 5);
		assert_borrowed(&world, image, HOLE, 100001, 5);
		assert_borrowed(&world, image, EMPTY, 10, 0);
		assert_borrowed(&world, image, 3, 10, SMALL_BYTES - 3);
		assert_borrowed(&world, image, 3, 10, SMALL_BYTES);
		assert_borrowed(&world, image, 3, 10, UINT64_MAX);
		assert_borrowed(&world, image, 3, 0, 0);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
		craft_expect_end(0);
	}
}

/* With room there is no copy: two readers have the same bytes. */
static void borrowed_bytes_are_not_copied(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20, 2);
	dwarfs_borrowed *one = NULL, *two = NULL;
	dwarfs_file *file = NULL;
	dwarfs_image *image;
	size_t bytes;

	make_world(&world, 0);
	image = open_world(&world, context);
	assert_int_equal(dwarfs_file_open(image, 1, &file, NULL), 0);
	assert_int_equal(dwarfs_file_borrow(file, 5000, 0, &one, NULL), 0);
	assert_int_equal(dwarfs_file_borrow(file, 5000, 100, &two, NULL), 0);
	assert_ptr_equal((const char *)dwarfs_borrowed_part(one, 0, &bytes) + 100,
			 dwarfs_borrowed_part(two, 0, &bytes));
	/* It outlives all that it came from, and the cache gives it up only then. */
	dwarfs_file_free(file);
	dwarfs_context_trim(context, 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), 1);
	dwarfs_image_free(image);
	assert_true(is_right(&world, 0, dwarfs_borrowed_part(one, 0, &bytes), 5000, 0));
	dwarfs_borrowed_free(one);
	dwarfs_borrowed_free(two);
	dwarfs_context_free(context);
}

/* -- 64 threads ---------------------------------------------------------------------- */

#define THREADS 64

struct reader {
	pthread_t thread;
	const struct world *world;
	const dwarfs_image *image;
	dwarfs_context *context;
	pthread_barrier_t *start;
	uint32_t seed;
	int rounds, wrong, failed;
};

static uint32_t next_random(struct reader *reader)
{
	reader->seed = reader->seed * 1664525u + 1013904223u;
	return reader->seed >> 8;
}

/* Read a range by one of the ways there are; 1 when it was wrong. */
static int read_somewhere(struct reader *reader, dwarfs_file *file, uint32_t number,
			  size_t bytes, uint64_t offset)
{
	dwarfs_borrowed *borrowed = NULL;
	size_t got = 0, part;
	int ret, wrong = 0;

	if (next_random(reader) % 3 > 0) {
		uint8_t *buffer = malloc(bytes);

		ret = buffer ? dwarfs_file_read(file, buffer, bytes, offset, &got, NULL)
			     : DWARFS_ERR_NOMEM;
		wrong = ret == 0 && !is_right(reader->world, number, buffer, got, offset);
		free(buffer);
	} else {
		ret = dwarfs_file_borrow(file, bytes, offset, &borrowed, NULL);
		for (size_t i = 0; ret == 0 && i < dwarfs_borrowed_count(borrowed); i++) {
			const void *data = dwarfs_borrowed_part(borrowed, i, &part);

			wrong |= !is_right(reader->world, number, data, part,
					   offset + got);
			got += part;
		}
		dwarfs_borrowed_free(borrowed);
	}
	if (ret == DWARFS_ERR_CHECKSUM && uses_block(reader->world, number, BAD)) {
		reader->failed++;
		return 0;
	}
	return ret < 0 || wrong || got == 0;
}

static void *read_around(void *data)
{
	struct reader *reader = data;

	pthread_barrier_wait(reader->start);
	for (int i = 0; i < reader->rounds; i++) {
		uint32_t number = next_random(reader) % FILES;
		uint64_t size = size_of(reader->world, number);
		dwarfs_inode inodes[] = { number + 1, number + 2, number + 3 };
		dwarfs_file *file = NULL;

		if (i % 16 == 5 && number + 3 < SMALL)
			reader->wrong +=
				dwarfs_prefetch(reader->image, inodes, 3, NULL) < 0;
		if (i % 64 == 9)
			dwarfs_context_trim(reader->context, 0);
		if (size == 0)
			continue;
		if (dwarfs_file_open(reader->image, number + 1, &file, NULL) < 0) {
			reader->wrong++;
			continue;
		}
		reader->wrong += read_somewhere(reader, file, number,
						1 + next_random(reader) % 30000,
						next_random(reader) % size);
		dwarfs_file_free(file);
	}
	return NULL;
}

static void any_budget_serves_many_readers(void **state)
{
	static const uint64_t budgets[] = {
		0,
		1,
		100000,
		BLOCK_BYTES,
		BLOCK_BYTES + 5000,
		3 * BLOCK_BYTES,
		8 * BLOCK_BYTES,
		64 << 20,
	};

	for (size_t b = 0; b < sizeof(budgets) / sizeof(budgets[0]); b++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(budgets[b], 2);
		static struct reader readers[THREADS];
		pthread_barrier_t start;
		dwarfs_image *image;
		uint64_t most;
		int failed = 0;

		craft_expect_end(280);
		make_world(&world, DAMAGED);
		image = open_world(&world, context);
		pthread_barrier_init(&start, NULL, THREADS);
		for (uint32_t i = 0; i < THREADS; i++) {
			readers[i] = (struct reader){
				.world = &world,
				.image = image,
				.context = context,
				.start = &start,
				.seed = i * 7919 + 13,
				.rounds = budgets[b] > BLOCK_BYTES ? 30 : 5,
			};
			assert_int_equal(pthread_create(&readers[i].thread, NULL,
							read_around, &readers[i]),
					 0);
		}
		for (uint32_t i = 0; i < THREADS; i++) {
			pthread_join(readers[i].thread, NULL);
			assert_int_equal(readers[i].wrong, 0);
			failed += readers[i].failed;
		}
		assert_true(failed > 0);
		most = count_of(context, DWARFS_CACHE_MOST_USED);
		assert_true(most <=
			    budgets[b] + (budgets[b] < ALONE_BYTES ? ALONE_BYTES : 0));
		assert_true(count_of(context, DWARFS_CACHE_USED) <= budgets[b]);
		dwarfs_context_trim(context, 0);
		assert_int_equal(count_of(context, DWARFS_CACHE_USED), 0);
		assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), 0);
		assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), 0);
		pthread_barrier_destroy(&start);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
		craft_expect_end(0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_pieces_come_in_order),
		cmocka_unit_test(chunks_behind_the_end_cost_their_files_only),
		cmocka_unit_test(damage_costs_its_files_only),
		cmocka_unit_test(a_callback_can_stop),
		cmocka_unit_test(parts_come_from_any_thread),
		cmocka_unit_test(damage_costs_the_parts_of_its_files_only),
		cmocka_unit_test(a_part_can_stop),
		cmocka_unit_test(files_all_over_the_blocks_are_harvested),
		cmocka_unit_test(neighbours_are_kept_when_blocks_come_again),
		cmocka_unit_test(blocks_that_are_too_large_are_harvested),
		cmocka_unit_test(what_is_in_order_is_left_alone),
		cmocka_unit_test(what_fits_is_prefetched_whole),
		cmocka_unit_test(without_a_budget_nothing_is_prefetched),
		cmocka_unit_test(borrowed_bytes_are_right),
		cmocka_unit_test(borrowed_bytes_are_not_copied),
		cmocka_unit_test(any_budget_serves_many_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
