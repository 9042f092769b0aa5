/* SPDX-License-Identifier: MIT */
/*
 * read/cache/cache: which blocks are kept, by counting how often each is read from the
 * source; failures; many threads at once.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "read/image/image.h"
#include "support/craft.h"

#define BLOCK_BYTES 4096u
#define BLOCKS	    12u
#define THREADS	    8

/* Block i is file i; a source that counts and may fail. */
struct world {
	struct craft craft;
	uint64_t block_at[BLOCKS];
	atomic_int loads[BLOCKS];     /* of contents, by block */
	atomic_int fail_next[BLOCKS]; /* this number of loads of a block fails */
	atomic_int pause_ms;	      /* minimum duration of a load */
	atomic_int closed;
};

static uint8_t byte_of(uint32_t block, uint32_t at)
{
	return (uint8_t)(block * 31 + at * 7 + (at >> 8) * 3);
}

static void sleep_ms(int milliseconds)
{
	struct timespec pause = { milliseconds / 1000, milliseconds % 1000 * 1000000L };

	nanosleep(&pause, NULL);
}

static int read_world(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		      dwarfs_error **err, void *user)
{
	struct world *world = user;

	for (uint32_t i = 0; i < BLOCKS; i++) {
		/* Other reads: headers, and the search for the start of the image. */
		if (offset != world->block_at[i] || bytes != 64 + BLOCK_BYTES)
			continue;
		atomic_fetch_add(&world->loads[i], 1);
		sleep_ms(atomic_load(&world->pause_ms));
		if (atomic_load(&world->fail_next[i]) > 0) {
			atomic_fetch_sub(&world->fail_next[i], 1);
			return dwarfs_error_set(err, DWARFS_ERR_IO, EIO,
						"the source failed");
		}
	}
	memcpy(buffer, world->craft.bytes.data + offset, bytes);
	*bytes_out = bytes;
	return 0;
}

static void close_world(void *user)
{
	struct world *world = user;

	atomic_fetch_add(&world->closed, 1);
}

static void world_free(struct world *world)
{
	craft_free(&world->craft);
}
#define auto_world __attribute__((cleanup(world_free)))

static void make_world(struct world *world)
{
	struct craft_chunk chunks[BLOCKS];
	uint32_t table[BLOCKS + 1];
	uint8_t block[BLOCK_BYTES];

	memset(world, 0, sizeof(*world));
	for (uint32_t i = 0; i < BLOCKS; i++) {
		for (uint32_t k = 0; k < BLOCK_BYTES; k++)
			block[k] = byte_of(i, k);
		world->block_at[i] = world->craft.bytes.size;
		craft_section(&world->craft, DWARFS_SECTION_BLOCK, 0, block, BLOCK_BYTES);
		chunks[i] = (struct craft_chunk){ i, 0, BLOCK_BYTES };
		table[i] = i;
	}
	table[BLOCKS] = BLOCKS;
	craft_files(&world->craft, chunks, table, BLOCKS, BLOCK_BYTES, 0);
	craft_index(&world->craft, 0);
}

static dwarfs_context *context_with(uint64_t cache_bytes)
{
	dwarfs_context *context = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_cache_bytes(context, cache_bytes, NULL), 0);
	return context;
}

static dwarfs_image *open_world(struct world *world, dwarfs_context *context)
{
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;

	assert_int_equal(dwarfs_io_new(read_world, world->craft.bytes.size, close_world,
				       world, &io, NULL),
			 0);
	assert_int_equal(dwarfs_image_open_io(context, io, NULL, &image, NULL), 0);
	dwarfs_io_free(io);
	return image;
}

/* Read all of a block's file and compare: 0, an error, or 1 for wrong bytes. No
 * assertions here: these belong to the main thread. */
static int read_block(const dwarfs_image *image, uint32_t block)
{
	uint8_t bytes[BLOCK_BYTES];
	size_t got = 0;
	int ret = dwarfs_read(image, dwarfs_inode_at(block + 1), bytes, sizeof(bytes), 0,
			      &got, NULL);

	if (ret < 0)
		return ret;
	if (got != sizeof(bytes))
		return 1;
	for (uint32_t k = 0; k < BLOCK_BYTES; k++)
		if (bytes[k] != byte_of(block, k))
			return 1;
	return 0;
}

static void expect_loads(struct world *world, uint32_t block, int loads)
{
	assert_int_equal(atomic_load(&world->loads[block]), loads);
}

/* -- which blocks are kept ----------------------------------------------------------- */

static void blocks_are_loaded_once_when_they_fit(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(UINT64_MAX);
	dwarfs_image *image;

	make_world(&world);
	image = open_world(&world, context);
	dwarfs_context_free(context);
	for (int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < BLOCKS; i++)
			assert_int_equal(read_block(image, i), 0);
	for (uint32_t i = 0; i < BLOCKS; i++)
		expect_loads(&world, i, 1);
	dwarfs_image_free(image);
	assert_int_equal(atomic_load(&world.closed), 1);
}

static void without_a_budget_nothing_is_kept(void **state)
{
	static const uint64_t budgets[] = { 0, 1, BLOCK_BYTES - 1 };

	for (size_t b = 0; b < 3; b++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(budgets[b]);
		dwarfs_image *image;

		make_world(&world);
		image = open_world(&world, context);
		dwarfs_context_free(context);
		for (int round = 0; round < 3; round++)
			for (uint32_t i = 0; i < BLOCKS; i++)
				assert_int_equal(read_block(image, i), 0);
		assert_int_equal(read_block(image, 0), 0);
		assert_int_equal(read_block(image, 0), 0);
		expect_loads(&world, 0, 5);
		expect_loads(&world, 1, 3);
		dwarfs_image_free(image);
	}
}

static void a_budget_of_one_block_keeps_the_last(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(BLOCK_BYTES);
	dwarfs_image *image;

	make_world(&world);
	image = open_world(&world, context);
	dwarfs_context_free(context);
	for (int i = 0; i < 3; i++)
		assert_int_equal(read_block(image, 5), 0);
	expect_loads(&world, 5, 1);
	assert_int_equal(read_block(image, 6), 0);
	assert_int_equal(read_block(image, 6), 0);
	expect_loads(&world, 6, 1);
	assert_int_equal(read_block(image, 5), 0);
	expect_loads(&world, 5, 2);
	dwarfs_image_free(image);
}

/* A block that is read again later is kept while others are read once. */
static void blocks_read_again_are_kept(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(4 * BLOCK_BYTES);
	dwarfs_image *image;

	make_world(&world);
	image = open_world(&world, context);
	dwarfs_context_free(context);
	for (int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 2; i++)
			assert_int_equal(read_block(image, i), 0);
	for (uint32_t i = 2; i < BLOCKS; i++)
		assert_int_equal(read_block(image, i), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(read_block(image, i), 0);
		expect_loads(&world, i, 1);
	}
	assert_int_equal(read_block(image, 2), 0);
	expect_loads(&world, 2, 2);
	dwarfs_image_free(image);
}

/* A block that is read in one go, piece by piece, does not count as read again. */
static void a_scan_does_not_evict_blocks_in_use(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(4 * BLOCK_BYTES);
	dwarfs_image *image;
	uint8_t bytes[64];
	size_t got;

	make_world(&world);
	image = open_world(&world, context);
	dwarfs_context_free(context);
	for (int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 2; i++)
			assert_int_equal(read_block(image, i), 0);
	for (uint32_t i = 2; i < BLOCKS; i++)
		for (uint32_t at = 0; at < BLOCK_BYTES; at += sizeof(bytes))
			assert_int_equal(dwarfs_read(image, dwarfs_inode_at(i + 1), bytes,
						     sizeof(bytes), at, &got, NULL),
					 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(read_block(image, i), 0);
		expect_loads(&world, i, 1);
	}
	for (uint32_t i = 2; i < BLOCKS; i++)
		expect_loads(&world, i, 1);
	dwarfs_image_free(image);
}

static void images_share_one_budget(void **state)
{
	auto_world struct world one, two;
	dwarfs_context *context = context_with(4 * BLOCK_BYTES);
	dwarfs_image *first, *second;

	make_world(&one);
	make_world(&two);
	first = open_world(&one, context);
	second = open_world(&two, context);
	dwarfs_context_free(context);
	assert_int_equal(read_block(first, 0), 0);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 6; i++)
			assert_int_equal(read_block(second, i), 0);
	assert_int_equal(read_block(first, 0), 0);
	expect_loads(&one, 0, 2);
	/* Closing an image frees its blocks; the other image is not affected. */
	dwarfs_image_free(first);
	for (uint32_t i = 0; i < BLOCKS; i++)
		assert_int_equal(read_block(second, i), 0);
	dwarfs_image_free(second);
}

/* A held block is kept, and others can still be read; blocks that cannot be held are
 * copied. */
static void a_held_block_stays(void **state)
{
	static const struct range all = { 0, BLOCK_BYTES };
	auto_world struct world world;
	dwarfs_context *context = context_with(3 * BLOCK_BYTES);
	struct cached held = { 0 }, again = { 0 }, other = { 0 };
	dwarfs_image *image;

	craft_expect_end(60);
	make_world(&world);
	image = open_world(&world, context);
	assert_int_equal(dw_cache_get(image, 3, all, &held, NULL), 0);
	assert_true(dw_cache_hold(image, &held));
	assert_int_equal(dw_cache_get(image, 3, all, &again, NULL), 0);
	assert_ptr_equal(held.data, again.data);
	dw_cache_put(image, &again);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		assert_int_equal(dw_cache_get(image, i, all, &other, NULL), 0);
		if (i != 3) /* the remaining budget would be too small */
			assert_false(dw_cache_hold(image, &other));
		dw_cache_put(image, &other);
	}
	dwarfs_context_trim(context, 0);
	assert_int_equal(dwarfs_context_cache_count(context, DWARFS_CACHE_BLOCKS), 1);
	for (uint32_t k = 0; k < BLOCK_BYTES; k++)
		assert_int_equal(held.data[k], byte_of(3, k));
	dw_cache_put(image, &held);
	expect_loads(&world, 3, 1);
	assert_true(dwarfs_context_cache_count(context, DWARFS_CACHE_MOST_USED) <=
		    3 * BLOCK_BYTES);
	dwarfs_context_trim(context, 0);
	assert_int_equal(dwarfs_context_cache_count(context, DWARFS_CACHE_USED), 0);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
	craft_expect_end(0);
}

/* -- failures ------------------------------------------------------------------------ */

static void a_failed_load_can_be_tried_again(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(4 * BLOCK_BYTES);
	auto_error dwarfs_error *err = NULL;
	static const struct range all = { 0, BLOCK_BYTES };
	struct cached cached = { 0 };
	dwarfs_image *image;

	make_world(&world);
	image = open_world(&world, context);
	dwarfs_context_free(context);
	atomic_store(&world.fail_next[2], 2);
	assert_int_equal(dw_cache_get(image, 2, all, &cached, &err), DWARFS_ERR_IO);
	assert_int_equal(dwarfs_error_errno(err), EIO);
	assert_null(cached.data);
	assert_int_equal(read_block(image, 2), DWARFS_ERR_IO);
	for (int i = 0; i < 3; i++)
		assert_int_equal(read_block(image, 2), 0);
	expect_loads(&world, 2, 3);
	dwarfs_image_free(image);
}

static void damage_is_found_at_each_read(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(2 * BLOCK_BYTES);
	dwarfs_image *image;

	make_world(&world);
	world.craft.bytes.data[world.block_at[4] + 64 + 1000] ^= 1;
	image = open_world(&world, context);
	dwarfs_context_free(context);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(read_block(image, 4), DWARFS_ERR_CHECKSUM);
		assert_int_equal(read_block(image, 5), 0);
	}
	expect_loads(&world, 4, 3);
	expect_loads(&world, 5, 1);
	dwarfs_image_free(image);
}

/* Failures of any kind leave the whole budget available. */
static void failures_cost_no_budget(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with((BLOCKS + 1) * BLOCK_BYTES);
	dwarfs_image *image;

	make_world(&world);
	image = open_world(&world, context);
	dwarfs_context_free(context);
	for (int i = 0; i < 200; i++) {
		atomic_store(&world.fail_next[i % BLOCKS], 1);
		assert_int_equal(read_block(image, (uint32_t)i % BLOCKS), DWARFS_ERR_IO);
	}
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < BLOCKS; i++)
			assert_int_equal(read_block(image, i), 0);
	expect_loads(&world, 0, 200 / (int)BLOCKS + 1 + 1);
	expect_loads(&world, BLOCKS - 1, 200 / (int)BLOCKS + 1);
	dwarfs_image_free(image);
}

static void a_block_that_is_too_large_is_refused(void **state)
{
	auto_craft struct craft craft = { 0 };
	static const struct craft_chunk chunk = { 0, 0, 10 };
	static const uint32_t table[] = { 0, 1 };
	static uint8_t block[2 * BLOCK_BYTES];
	auto_test_image dwarfs_image *image = NULL;
	size_t got;

	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, block, sizeof(block));
	craft_files(&craft, &chunk, table, 1, BLOCK_BYTES, 0);
	image = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_read(image, dwarfs_inode_at(1), block, 10, 0, &got, NULL),
			 DWARFS_ERR_CORRUPT);
}

struct huge {
	struct craft craft;
	atomic_size_t largest; /* largest read so far */
};

static int read_huge(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		     dwarfs_error **err, void *user)
{
	struct huge *huge = user;
	size_t largest = atomic_load(&huge->largest);

	while (bytes > largest &&
	       !atomic_compare_exchange_weak(&huge->largest, &largest, bytes))
		;
	memcpy(buffer, huge->craft.bytes.data + offset, bytes);
	*bytes_out = bytes;
	return 0;
}

/* Its payload is not read: that alone could take all memory. */
static void an_absurd_block_is_not_read(void **state)
{
	enum { HUGE = 1 << 20 };
	static const struct craft_chunk chunk = { 0, 0, 10 };
	static const uint32_t table[] = { 0, 1 };
	auto_free uint8_t *block = dw_calloc(1, HUGE);
	struct huge huge = { 0 };
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;
	size_t got;

	craft_section(&huge.craft, DWARFS_SECTION_BLOCK, CODEC_LZMA, block, HUGE);
	craft_files(&huge.craft, &chunk, table, 1, BLOCK_BYTES, 0);
	assert_int_equal(
		dwarfs_io_new(read_huge, huge.craft.bytes.size, NULL, &huge, &io, NULL),
		0);
	assert_int_equal(dwarfs_image_open_io(NULL, io, NULL, &image, NULL), 0);
	dwarfs_io_free(io);
	atomic_store(&huge.largest, 0);
	assert_int_equal(dwarfs_read(image, dwarfs_inode_at(1), block, 10, 0, &got, NULL),
			 DWARFS_ERR_CORRUPT);
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL,
					    NULL, NULL, NULL),
			 DWARFS_ERR_CORRUPT);
	assert_true(atomic_load(&huge.largest) < 65536);
	dwarfs_image_free(image);
	craft_free(&huge.craft);
}

static void an_unknown_codec_costs_only_its_block(void **state)
{
	auto_craft struct craft craft = { 0 };
	static const struct craft_chunk chunks[] = { { 0, 0, 3 }, { 1, 0, 3 } };
	static const uint32_t table[] = { 0, 1, 2 };
	auto_error dwarfs_error *err = NULL;
	auto_test_image dwarfs_image *image = NULL;
	char text[4];
	size_t got;

	craft_section(&craft, DWARFS_SECTION_BLOCK, 99, "abc", 3);
	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, "def", 3);
	craft_files(&craft, chunks, table, 2, BLOCK_BYTES, 0);
	image = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_read(image, dwarfs_inode_at(1), text, 3, 0, &got, &err),
			 DWARFS_ERR_UNSUPPORTED);
	assert_int_equal(dwarfs_read(image, dwarfs_inode_at(2), text, 3, 0, &got, NULL),
			 0);
	assert_memory_equal(text, "def", 3);
}

/* -- many threads -------------------------------------------------------------------- */

struct reader {
	pthread_t thread;
	struct world *world;
	dwarfs_image *image;
	pthread_barrier_t *start;
	uint32_t first, seed;
	int rounds;
	bool spread;	/* over all blocks, each reader in its own order */
	int results[4]; /* number of reads that were good, wrong, failed by IO, failed
			   otherwise */
};

static void *read_along(void *data)
{
	struct reader *reader = data;
	uint32_t random = reader->seed;

	pthread_barrier_wait(reader->start);
	for (int i = 0; i < reader->rounds; i++) {
		uint32_t block = reader->first;
		int ret;

		if (reader->spread) {
			random = random * 1664525u + 1013904223u;
			block = (random >> 8) % BLOCKS;
		}
		ret = read_block(reader->image, block);
		reader->results[ret == 0	       ? 0
				: ret == 1	       ? 1
				: ret == DWARFS_ERR_IO ? 2
						       : 3]++;
	}
	return NULL;
}

/* Let all threads read at once; gives the sums of their results. */
static void read_together(struct world *world, dwarfs_image *const *images,
			  uint32_t image_count, uint32_t block, bool spread, int rounds,
			  int results[4])
{
	struct reader readers[THREADS] = { { 0 } };
	pthread_barrier_t start;

	craft_expect_end(240);
	memset(results, 0, 4 * sizeof(*results));
	pthread_barrier_init(&start, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){
			.world = world,
			.image = images[i % image_count],
			.start = &start,
			.first = block,
			.seed = i * 77 + 1,
			.rounds = rounds,
			.spread = spread,
		};
		assert_int_equal(
			pthread_create(&readers[i].thread, NULL, read_along, &readers[i]),
			0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(readers[i].thread, NULL);
		for (int k = 0; k < 4; k++)
			results[k] += readers[i].results[k];
	}
	pthread_barrier_destroy(&start);
	craft_expect_end(0);
}

static void one_block_is_loaded_once_for_all(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(UINT64_C(1) << 30);
	dwarfs_image *image;
	int results[4];

	make_world(&world);
	image = open_world(&world, context);
	dwarfs_context_free(context);
	atomic_store(&world.pause_ms, 50);
	read_together(&world, &image, 1, 7, false, 20, results);
	assert_int_equal(results[0], THREADS * 20);
	expect_loads(&world, 7, 1);
	dwarfs_image_free(image);
}

static void any_budget_serves_many_threads(void **state)
{
	static const uint64_t budgets[] = {
		0, 1, BLOCK_BYTES, 2 * BLOCK_BYTES, 5 * BLOCK_BYTES, UINT64_C(1) << 30
	};

	for (size_t b = 0; b < sizeof(budgets) / sizeof(budgets[0]); b++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(budgets[b]);
		dwarfs_image *images[2];
		int results[4];

		make_world(&world);
		images[0] = open_world(&world, context);
		images[1] = open_world(&world, context);
		dwarfs_context_free(context);
		read_together(&world, images, 2, 0, true, 300, results);
		assert_int_equal(results[0], THREADS * 300);
		read_together(&world, images, 2, 0, false, 300, results);
		assert_int_equal(results[0], THREADS * 300);
		dwarfs_image_free(images[0]);
		dwarfs_image_free(images[1]);
		assert_int_equal(atomic_load(&world.closed), 2);
	}
}

/* Waiters of a failed load get its error; later readers try again. */
static void waiting_for_a_failure_ends(void **state)
{
	for (int failures = 1; failures <= THREADS; failures++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(failures % 2 ? 0 : 1u << 20);
		dwarfs_image *image;
		int results[4];

		make_world(&world);
		image = open_world(&world, context);
		dwarfs_context_free(context);
		atomic_store(&world.pause_ms, 30);
		atomic_store(&world.fail_next[3], failures);
		read_together(&world, &image, 1, 3, false, 1, results);
		assert_int_equal(results[0] + results[2], THREADS);
		assert_true(results[2] >= 1);
		/* Each thread consumed at most one failure. */
		for (int i = atomic_load(&world.fail_next[3]); i > 0; i--)
			assert_int_equal(read_block(image, 3), DWARFS_ERR_IO);
		assert_int_equal(read_block(image, 3), 0);
		dwarfs_image_free(image);
	}
}

static void failures_and_evictions_together(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(3 * BLOCK_BYTES);
	dwarfs_image *image;
	int results[4];

	make_world(&world);
	world.craft.bytes.data[world.block_at[9] + 64] ^= 1;
	image = open_world(&world, context);
	dwarfs_context_free(context);
	for (uint32_t i = 0; i < BLOCKS; i++)
		atomic_store(&world.fail_next[i], 5);
	read_together(&world, &image, 1, 0, true, 400, results);
	assert_int_equal(results[1], 0);
	assert_true(results[2] > 0 && results[2] <= 5 * (int)BLOCKS * THREADS);
	assert_true(results[3] > 0);
	for (uint32_t i = 0; i < BLOCKS; i++)
		assert_int_equal(read_block(image, i), i == 9 ? DWARFS_ERR_CHECKSUM : 0);
	dwarfs_image_free(image);
}

/* Images are opened and closed while another one of the context is read. */
struct coming {
	struct world *world;
	dwarfs_context *context;
	atomic_bool stop;
	atomic_int wrong;
};

static void *come_and_go(void *data)
{
	struct coming *coming = data;

	while (!atomic_load(&coming->stop)) {
		dwarfs_io *io = NULL;
		dwarfs_image *image = NULL;

		if (dwarfs_io_new(read_world, coming->world->craft.bytes.size, NULL,
				  coming->world, &io, NULL) < 0 ||
		    dwarfs_image_open_io(coming->context, io, NULL, &image, NULL) < 0) {
			atomic_fetch_add(&coming->wrong, 1);
			dwarfs_io_free(io);
			break;
		}
		dwarfs_io_free(io);
		for (uint32_t i = 0; i < BLOCKS; i++)
			atomic_fetch_add(&coming->wrong, read_block(image, i) != 0);
		dwarfs_image_free(image);
	}
	return NULL;
}

static void images_leave_while_others_read(void **state)
{
	static const uint64_t budgets[] = { 0, 3 * BLOCK_BYTES, 20 * BLOCK_BYTES };

	for (size_t b = 0; b < 3; b++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(budgets[b]);
		struct coming coming = { .world = &world, .context = context };
		dwarfs_image *image;
		pthread_t threads[2];
		int results[4];

		make_world(&world);
		image = open_world(&world, context);
		for (int i = 0; i < 2; i++)
			assert_int_equal(
				pthread_create(&threads[i], NULL, come_and_go, &coming),
				0);
		read_together(&world, &image, 1, 0, true, 300, results);
		atomic_store(&coming.stop, true);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(results[0], THREADS * 300);
		assert_int_equal(atomic_load(&coming.wrong), 0);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

/* Lazily built tables, needed by many threads at once. */
struct asker {
	const dwarfs_image *image;
	pthread_barrier_t *start;
	int wrong;
};

static void *ask(void *data)
{
	struct asker *asker = data;
	dwarfs_stat *stat = NULL;
	dwarfs_inode parent = { 9 };

	if (dwarfs_stat_new(&stat, NULL) < 0)
		return NULL;
	pthread_barrier_wait(asker->start);
	asker->wrong +=
		dwarfs_dir_parent(asker->image, DWARFS_ROOT_INODE, &parent, NULL) != 0;
	asker->wrong += parent.number != 0;
	asker->wrong +=
		dwarfs_inode_stat(asker->image, dwarfs_inode_at(3), stat, NULL) != 0;
	asker->wrong += dwarfs_stat_nlink(stat) != 1;
	dwarfs_stat_free(stat);
	return NULL;
}

static void late_tables_are_made_once(void **state)
{
	auto_world struct world world;
	dwarfs_image *image;
	pthread_barrier_t start;
	pthread_t threads[THREADS];
	struct asker askers[THREADS];

	make_world(&world);
	image = open_world(&world, NULL);
	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		askers[i] = (struct asker){ image, &start, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(askers[i].wrong, 0);
	}
	pthread_barrier_destroy(&start);
	dwarfs_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_loaded_once_when_they_fit),
		cmocka_unit_test(without_a_budget_nothing_is_kept),
		cmocka_unit_test(a_budget_of_one_block_keeps_the_last),
		cmocka_unit_test(blocks_read_again_are_kept),
		cmocka_unit_test(a_scan_does_not_evict_blocks_in_use),
		cmocka_unit_test(images_share_one_budget),
		cmocka_unit_test(a_held_block_stays),
		cmocka_unit_test(a_failed_load_can_be_tried_again),
		cmocka_unit_test(damage_is_found_at_each_read),
		cmocka_unit_test(failures_cost_no_budget),
		cmocka_unit_test(a_block_that_is_too_large_is_refused),
		cmocka_unit_test(an_absurd_block_is_not_read),
		cmocka_unit_test(an_unknown_codec_costs_only_its_block),
		cmocka_unit_test(one_block_is_loaded_once_for_all),
		cmocka_unit_test(any_budget_serves_many_threads),
		cmocka_unit_test(waiting_for_a_failure_ends),
		cmocka_unit_test(failures_and_evictions_together),
		cmocka_unit_test(images_leave_while_others_read),
		cmocka_unit_test(late_tables_are_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
