/* SPDX-License-Identifier: MIT */
/*
 * read/cache/decode_job: threads that wait for the same unit get its bytes, or the error of its
 * decode.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "read/cache/world.h"

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

static int read_world(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		      dwarfs_error **err, void *user)
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
			return dwarfs_error_set(err, DWARFS_ERR_IO, EIO,
						"the source failed");
	}
	memcpy(buffer, world->craft.bytes.data + offset, bytes);
	*bytes_out = bytes;
	return 0;
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
	dwarfs_inode inode = dwarfs_inode_at(victim->world->fail_block + 1);
	uint8_t byte;
	size_t got;

	victim->ret = dwarfs_read(victim->world->image, inode, &byte, 1, 7, &got, &err);
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

struct pair_reader {
	pthread_t thread;
	const struct world *world;
	int ret;
};

/* The thread that decodes the first block goes on while others still wait for it. */
static void *read_both(void *data)
{
	struct pair_reader *reader = data;

	for (uint32_t i = 0; i < 2 && reader->ret == 0; i++)
		reader->ret =
			try_read(reader->world, reader->world->image, i, 0, PARTED_BYTES);
	return NULL;
}

/* With memory for one block. */
static void who_waits_need_not_decode_again(void **state)
{
	static const struct block_spec specs[] = { { CODEC_ZSTD, 0 }, { CODEC_ZSTD, 0 } };

	for (int round = 0; round < 20; round++) {
		auto_world struct world world;
		struct pair_reader readers[THREADS] = { { 0 } };
		auto_test_image dwarfs_image *image = NULL;
		dwarfs_context *context;

		craft_expect_end(120);
		make_world(&world, specs, 2, PARTED_BYTES);
		context = context_with(most_alone(&world));
		image = open_failing(&world, context);
		world.is_damaged = true; /* reads wait, but do not fail */
		world.fail_block = 0;
		world.wait_for = THREADS - 1;
		atomic_store(&world.failures, 1);
		for (uint32_t i = 0; i < THREADS; i++) {
			readers[i].world = &world;
			assert_int_equal(pthread_create(&readers[i].thread, NULL,
							read_both, &readers[i]),
					 0);
		}
		for (uint32_t i = 0; i < THREADS; i++) {
			pthread_join(readers[i].thread, NULL);
			assert_int_equal(readers[i].ret, 0);
		}
		assert_int_equal(decoded(context), 2 * PARTED_BYTES);
		expect_nothing_left(context);
		dwarfs_context_free(context);
		craft_expect_end(0);
	}
}

/* -- while a job runs ---------------------------------------------------------------------- */

struct early_reader {
	pthread_t thread;
	struct cache *cache;
	const struct unit *unit;
	uint64_t size;
	int ret;
};

static void *wait_for_beginning(void *data)
{
	struct early_reader *reader = data;
	struct cached unused = { 0 };

	pthread_mutex_lock(&reader->cache->lock);
	reader->ret = dw_cache_wait(reader->cache, reader->unit,
				    (struct range){ 0, reader->size }, &unused, NULL);
	pthread_mutex_unlock(&reader->cache->lock);
	return NULL;
}

static void start_early_readers(struct early_reader *readers, size_t count,
				struct cache *cache, const struct unit *unit)
{
	for (size_t i = 0; i < count; i++) {
		readers[i].cache = cache;
		readers[i].unit = unit;
		assert_int_equal(pthread_create(&readers[i].thread, NULL,
						wait_for_beginning, &readers[i]),
				 0);
	}
	pthread_mutex_lock(&cache->lock);
	while (unit->slot->job->waiters < count) {
		pthread_mutex_unlock(&cache->lock);
		sched_yield();
		pthread_mutex_lock(&cache->lock);
	}
	pthread_mutex_unlock(&cache->lock);
}

static void decode_until(struct cache *cache, const struct unit *unit, uint64_t end,
			 struct resident **resident)
{
	struct decode_job *job = unit->slot->job;

	pthread_mutex_lock(&cache->lock);
	job->required_end = end;
	assert_int_equal(dw_cache_run_steps(cache, unit, job, resident, NULL), DONE);
	pthread_mutex_unlock(&cache->lock);
}

/* Each goes on as soon as its bytes are decoded: the job does not end before. */
static void who_waits_need_not_wait_for_the_end(void **state)
{
	static const struct block_spec spec = { CODEC_LZMA, 0 };
	struct early_reader readers[] = { { .size = 1 }, { .size = PARTED_BYTES } };
	struct decode_job job = { .wake_at = UINT64_MAX };
	struct resident *resident = NULL;
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20);
	auto_test_image dwarfs_image *image = NULL;
	struct unit unit;

	craft_expect_end(120);
	make_world(&world, &spec, 1, PARTED_BYTES);
	image = craft_open(&world.craft, context);
	unit = dw_cache_unit_at(image, 0, 0);
	assert_int_equal(pthread_cond_init(&job.progressed, NULL), 0);
	unit.slot->job = &job;
	start_early_readers(readers, 2, image->cache, &unit);
	for (size_t i = 0; i < 2; i++) {
		decode_until(image->cache, &unit, readers[i].size, &resident);
		pthread_join(readers[i].thread, NULL);
		assert_int_equal(readers[i].ret, 0);
	}
	dw_cache_release_decoder(image->cache, resident);
	dw_cache_unpin(unit.slot);
	unit.slot->job = NULL;
	pthread_cond_destroy(&job.progressed);
	dw_free(job.requests);
	expect_nothing_left(context);
	dwarfs_context_free(context);
	craft_expect_end(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_need_not_wait_for_the_end),
		cmocka_unit_test(who_waits_need_not_decode_again),
		cmocka_unit_test(all_who_wait_get_the_same_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
