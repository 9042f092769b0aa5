/* SPDX-License-Identifier: MIT */
/*
 * read/file: 64 threads that read and borrow at random offsets, with any memory budget.
 */
#include <pthread.h>
#include <stdlib.h>

#include "read/bulk/world.h"

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

/* Read a range by one of the functions; 1 if it was wrong. */
static int read_somewhere(struct reader *reader, dwarfs_file *file, uint32_t number,
			  size_t bytes, uint64_t offset)
{
	dwarfs_borrowed *borrowed = NULL;
	size_t got = 0, part;
	int ret, wrong = 0;

	if (next_random(reader) % 3 > 0) {
		uint8_t *buffer = dw_malloc(bytes);

		ret = buffer ? dwarfs_file_read(file, buffer, bytes, offset, &got, NULL)
			     : DWARFS_ERR_NOMEM;
		wrong = ret == 0 && !is_right(reader->world, number, buffer, got, offset);
		dw_free(buffer);
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
		dwarfs_inode inodes[] = { { number + 1 },
					  { number + 2 },
					  { number + 3 } };
		dwarfs_file *file = NULL;

		if (i % 16 == 5 && number + 3 < SMALL)
			reader->wrong +=
				dwarfs_prefetch(reader->image, inodes, 3, NULL) < 0;
		if (i % 64 == 9)
			dwarfs_context_trim(reader->context, 0);
		if (size == 0)
			continue;
		if (dwarfs_file_open(reader->image, inodes[0], &file, NULL) < 0) {
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
		cmocka_unit_test(any_budget_serves_many_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
