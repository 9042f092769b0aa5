/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/in_order, parallel: callbacks that read other files of the same image, with a cache
 * that is too small for what they read.
 */
#include <pthread.h>

#include "read/bulk/world.h"

#define READERS	   4u
#define READ_EVERY 3u /* calls */
#define BOTH_BYTES 1000u

struct nesting {
	struct world *world;
	dwarfs_image *image;
	atomic_uint calls, complete, inner_calls;
	atomic_bool wrong;
};

/* Reads at the end of a block and at the beginning of the next one. */
static bool read_both_blocks(const struct nesting *nesting, uint32_t number)
{
	const uint64_t at =
		(number % (BLOCKS - 1) + 1) * (uint64_t)BLOCK_BYTES - BOTH_BYTES / 2;
	uint8_t data[BOTH_BYTES];
	size_t bytes = 0;

	return dwarfs_read(nesting->image, dwarfs_inode_at(WHOLE + 1), data, sizeof(data),
			   at, &bytes, NULL) == 0 &&
	       bytes == sizeof(data) && is_right(nesting->world, WHOLE, data, bytes, at);
}

static bool is_borrowed_right(const struct nesting *nesting, uint32_t file,
			      const dwarfs_borrowed *borrowed)
{
	uint64_t offset = 0;
	size_t bytes;

	for (size_t i = 0; i < dwarfs_borrowed_count(borrowed); i++, offset += bytes) {
		const void *data = dwarfs_borrowed_part(borrowed, i, &bytes);

		if (!is_right(nesting->world, file, data, bytes, offset))
			return false;
	}
	return offset == SMALL_BYTES;
}

/* Other blocks are read while some bytes are borrowed. */
static bool borrow_and_read(const struct nesting *nesting, uint32_t number)
{
	const uint32_t file = number * 5 % SMALL;
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *opened = NULL;
	bool right = dwarfs_file_open(nesting->image, dwarfs_inode_at(file + 1), &opened,
				      NULL) == 0 &&
		     dwarfs_file_borrow(opened, SMALL_BYTES, 0, &borrowed, NULL) == 0 &&
		     read_both_blocks(nesting, number) &&
		     is_borrowed_right(nesting, file, borrowed);

	dwarfs_borrowed_free(borrowed);
	dwarfs_file_free(opened);
	return right;
}

static int count_inner(dwarfs_inode inode, const void *data, size_t bytes,
		       uint64_t offset, dwarfs_error **err, void *user)
{
	struct nesting *nesting = user;

	nesting->inner_calls++;
	if (!is_right(nesting->world, inode.number - 1, data, bytes, offset))
		nesting->wrong = true;
	return 0;
}

static int take_inner_part(const dwarfs_part *part, uint32_t thread, dwarfs_error **err,
			   void *user)
{
	struct nesting *nesting = user;

	nesting->inner_calls++;
	return 0;
}

static int refuse(dwarfs_inode inode, const dwarfs_error *why, uint32_t thread,
		  dwarfs_error **err, void *user)
{
	((struct nesting *)user)->wrong = true;
	return 0;
}

/* A whole file in each of the ways in which many are read. */
static bool read_many(struct nesting *nesting)
{
	const dwarfs_inode inode = dwarfs_inode_at(BACK + 1);

	return dwarfs_prefetch(nesting->image, &inode, 1, NULL) >= 0 &&
	       dwarfs_read_in_order(nesting->image, &inode, 1, count_inner, NULL, nesting,
				    NULL, NULL) == 0 &&
	       dwarfs_read_parallel(nesting->image, &inode, 1, 1, take_inner_part, refuse,
				    nesting, NULL, NULL) == 0;
}

/* What each callback does. */
static void read_others(struct nesting *nesting)
{
	const uint32_t number = nesting->calls++;

	if (number % READ_EVERY == 0 && !borrow_and_read(nesting, number))
		nesting->wrong = true;
	if (number % (10 * READ_EVERY) == 0 && !read_many(nesting))
		nesting->wrong = true;
}

static int take_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		      dwarfs_error **err, void *user)
{
	struct nesting *nesting = user;

	read_others(nesting);
	if (bytes == 0)
		nesting->complete++;
	/* The piece stayed where it is. */
	if (!is_right(nesting->world, inode.number - 1, data, bytes, offset))
		nesting->wrong = true;
	return 0;
}

static int take_part(const dwarfs_part *part, uint32_t thread, dwarfs_error **err,
		     void *user)
{
	struct nesting *nesting = user;
	uint64_t offset;
	size_t bytes;

	read_others(nesting);
	if (dwarfs_part_is_last(part))
		nesting->complete++;
	for (size_t i = 0; i < dwarfs_part_count(part); i++) {
		const void *data = dwarfs_part_piece(part, i, &bytes, &offset);

		if (!is_right(nesting->world, dwarfs_part_inode(part).number - 1, data,
			      bytes, offset))
			nesting->wrong = true;
	}
	return 0;
}

static int read_all(struct nesting *nesting, bool in_order)
{
	dwarfs_inode inodes[2 * FILES];
	const size_t count = list_all(inodes);

	if (in_order)
		return dwarfs_read_in_order(nesting->image, inodes, count, take_piece,
					    NULL, nesting, NULL, NULL);
	return dwarfs_read_parallel(nesting->image, inodes, count, 1, take_part, refuse,
				    nesting, NULL, NULL);
}

static void read_nested(struct world *world, uint64_t budget, uint32_t workers,
			bool in_order)
{
	struct nesting nesting = { .world = world };
	dwarfs_context *context = context_with(budget, workers);
	uint8_t last;
	size_t bytes;

	nesting.image = open_world(world, context);
	/* Block 0 is delivered from the cache, where there is a place for it. */
	assert_int_equal(dwarfs_read(nesting.image, dwarfs_inode_at(WHOLE + 1), &last, 1,
				     BLOCK_BYTES - 1, &bytes, NULL),
			 0);
	assert_int_equal(read_all(&nesting, in_order), 0);
	assert_false(nesting.wrong);
	assert_int_equal(nesting.complete, FILES);
	assert_true(nesting.inner_calls > 0);
	assert_true(count_of(context, DWARFS_CACHE_DECODED_BYTES) > BLOCK_BYTES);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <= budget + ALONE_BYTES);
	dwarfs_image_free(nesting.image);
	dwarfs_context_free(context);
}

/* Nothing fits, one block without its decoder fits, two blocks fit; and some fit, of which one
 * may be held while its pieces are delivered. */
static const uint64_t budgets[] = { 0, 4096, BLOCK_BYTES + 4096, 600000, 2 << 20 };

static void callbacks_read_other_files(void **state)
{
	auto_world struct world world;

	make_world(&world, 0);
	for (uint32_t workers = 0; workers < 4; workers += 3)
		for (size_t i = 0; i < 5; i++)
			for (int in_order = 0; in_order < 2; in_order++)
				read_nested(&world, budgets[i], workers, in_order);
}

struct reader {
	pthread_t thread;
	struct nesting nesting;
	bool in_order;
	int code;
};

static void *run_reader(void *argument)
{
	struct reader *reader = argument;

	reader->code = read_all(&reader->nesting, reader->in_order);
	return NULL;
}

/* Their reads wait for each other's decodes, and take turns. */
static void callbacks_of_several_threads_read_other_files(void **state)
{
	const uint64_t budget = 600000;
	dwarfs_context *context = context_with(budget, 1);
	struct reader readers[READERS];
	auto_world struct world world;
	dwarfs_image *image;

	make_world(&world, 0);
	image = open_world(&world, context);
	for (uint32_t i = 0; i < READERS; i++) {
		readers[i] = (struct reader){
			.nesting = { .world = &world, .image = image, .calls = 20 * i },
			.in_order = i % 2
		};
		assert_int_equal(
			pthread_create(&readers[i].thread, NULL, run_reader, &readers[i]),
			0);
	}
	for (uint32_t i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		assert_int_equal(readers[i].code, 0);
		assert_false(readers[i].nesting.wrong);
		assert_int_equal(readers[i].nesting.complete, FILES);
	}
	assert_true(count_of(context, DWARFS_CACHE_TURN_WAITS) > 0);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <= budget + ALONE_BYTES);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callbacks_read_other_files),
		cmocka_unit_test(callbacks_of_several_threads_read_other_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
