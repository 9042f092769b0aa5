/* SPDX-License-Identifier: MIT */
/*
 * read/cache/cache: threads that read, borrow and prefetch, with any budget; pins.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "read/cache/internal.h"
#include "read/cache/world.h"

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

static dwarfs_inode any_file(struct reader *reader)
{
	return dwarfs_inode_at(next_random(reader) % reader->world->files + 1);
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
	dwarfs_inode inodes[] = { any_file(reader), any_file(reader) };
	int ret = dwarfs_read_in_order(reader->image, inodes, 2, collect, NULL,
				       &collected, NULL, NULL);

	return ret == 0 && !collected.wrong &&
	       collected.complete == (inodes[0].number != inodes[1].number) + 1;
}

static bool prefetch_some(struct reader *reader)
{
	dwarfs_inode inodes[3];

	for (int i = 0; i < 3; i++)
		inodes[i] = any_file(reader);
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
		dwarfs_context_trim(reader->context, next_random(reader) % 2);
		return true;
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

/* -- slots without a resident --------------------------------------------------------------- */

#define LOOKS 3000000

struct pinner {
	struct slot slot;
	atomic_bool is_over;
};

static void *pin_often(void *argument)
{
	struct pinner *pinner = argument;

	while (!atomic_load(&pinner->is_over))
		if (dw_cache_pin(&pinner->slot))
			return NULL; /* and the state is not 0 */
	return NULL;
}

/* A child process would keep such a pin, and wait for its release. */
static void a_slot_without_a_resident_is_never_pinned(void **state)
{
	struct pinner pinner = { .is_over = false };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, pin_often, &pinner), 0);
	for (int i = 0; i < LOOKS; i++)
		assert_int_equal(atomic_load(&pinner.slot.state), 0);
	atomic_store(&pinner.is_over, true);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slot_without_a_resident_is_never_pinned),
		cmocka_unit_test(any_budget_serves_all_kinds_of_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
