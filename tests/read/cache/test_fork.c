/* SPDX-License-Identifier: MIT */
/*
 * read/cache/fork: a child uses the cache of its parent, unless another thread was within it.
 *
 * Each use is made by the thread that forks, as far as the cache can tell by a thread that the
 * child does not have. tests/api/test_fork.c has real threads.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "read/cache/world.h"
#include "support/wiped_pages.h"

#define BLOCK	(1u << 20)
#define BUDGET	((uint64_t)3 << 19)
#define SECONDS 60 /* a child that waits for a thread it does not have is killed */

struct forked {
	struct world world;
	dwarfs_context *context;
	dwarfs_image *image;
	struct cache *cache;
	struct slot *slot; /* of block 0, which is kept */
};

static void start(struct forked *forked)
{
	static const struct block_spec specs[] = { { CODEC_ZSTD, 0 }, { CODEC_ZSTD, 0 } };

	forked->context = context_with(BUDGET);
	make_world(&forked->world, specs, 2, BLOCK);
	forked->image = craft_open(&forked->world.craft, forked->context);
	expect_read(&forked->world, forked->image, 0, 0, BLOCK);
	forked->cache = forked->image->cache;
	forked->slot = dw_cache_unit_at(forked->image, 0, 0).slot;
}

static void end(struct forked *forked)
{
	dwarfs_image_free(forked->image);
	dwarfs_context_free(forked->context);
	world_free(&forked->world);
}

enum { CHILD_READS = 10, CHILD_IS_REFUSED, CHILD_IS_WRONG };

/* What a child does: it reads the block that is kept, and one for which that has to be evicted. */
static int child(const struct forked *forked)
{
	int kept, other;

	alarm(SECONDS);
	kept = try_read(&forked->world, forked->image, 0, 0, BLOCK);
	other = try_read(&forked->world, forked->image, 1, 0, BLOCK);
	if (kept == 0 && other == 0)
		return CHILD_READS;
	return kept == DWARFS_ERR_INVALID && other == DWARFS_ERR_INVALID
		       ? CHILD_IS_REFUSED
		       : CHILD_IS_WRONG;
}

static void expect_child(const struct forked *forked, int expected)
{
	pid_t process = fork();
	int status;

	assert_true(process >= 0);
	if (process == 0)
		_exit(child(forked));
	assert_int_equal(waitpid(process, &status, 0), process);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), expected);
}

static void a_cache_at_rest_is_used(void **state)
{
	struct forked forked;

	start(&forked);
	expect_child(&forked, CHILD_READS);
	expect_child(&forked, CHILD_READS);
	assert_int_equal(child(&forked), CHILD_READS); /* the parent, too */
	end(&forked);
}

static void a_locked_cache_is_lost(void **state)
{
	struct forked forked;

	skip_without_wiped_pages();
	start(&forked);
	pthread_mutex_lock(&forked.cache->lock);
	expect_child(&forked, CHILD_IS_REFUSED);
	pthread_mutex_unlock(&forked.cache->lock);
	expect_child(&forked, CHILD_READS);
	end(&forked);
}

static void a_pinned_unit_is_lost(void **state)
{
	struct forked forked;

	skip_without_wiped_pages();
	start(&forked);
	assert_non_null(dw_cache_pin(forked.slot));
	expect_child(&forked, CHILD_IS_REFUSED);
	dw_cache_unpin(forked.slot);
	expect_child(&forked, CHILD_READS);
	end(&forked);
}

/* The owner of borrowed bytes can return them in the child. */
static void a_cache_with_borrowed_bytes_is_used(void **state)
{
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *file = NULL;
	struct forked forked;

	start(&forked);
	assert_int_equal(dwarfs_file_open(forked.image, dwarfs_inode_at(1), &file, NULL),
			 0);
	assert_int_equal(dwarfs_file_borrow(file, PART, 0, &borrowed, NULL), 0);
	expect_child(&forked, CHILD_READS);
	dwarfs_borrowed_free(borrowed);
	dwarfs_file_free(file);
	end(&forked);
}

static void a_pinned_extent_is_lost(void **state)
{
	static const struct range range = { 0, 64 << 10 };
	const struct range_list list = { &range, 1 };
	struct forked forked;
	struct extent *extent;

	skip_without_wiped_pages();
	start(&forked);
	/* Both blocks do not fit: a range of the second one is kept as an extent. */
	assert_int_equal(dw_cache_keep_ranges(forked.image, 1, &list, NULL), 0);
	extent = forked.cache->first_extent;
	assert_non_null(extent);
	extent->pins++;
	expect_child(&forked, CHILD_IS_REFUSED);
	extent->pins--;
	expect_child(&forked, CHILD_READS);
	end(&forked);
}

/* Counts of threads within the cache. */
static void a_cache_with_jobs_or_waiting_threads_is_lost(void **state)
{
	struct forked forked;
	uint32_t *counts[3];

	skip_without_wiped_pages();
	start(&forked);
	counts[0] = &forked.cache->running_jobs;
	counts[1] = &forked.cache->blocked_jobs;
	counts[2] = &forked.cache->detached_pinned;
	for (size_t i = 0; i < 3; i++) {
		++*counts[i];
		expect_child(&forked, CHILD_IS_REFUSED);
		--*counts[i];
	}
	forked.cache->turns.decoding++;
	expect_child(&forked, CHILD_IS_REFUSED);
	forked.cache->turns.decoding--;
	atomic_fetch_add(&forked.cache->memory_waiters, 1);
	expect_child(&forked, CHILD_IS_REFUSED);
	atomic_fetch_sub(&forked.cache->memory_waiters, 1);
	expect_child(&forked, CHILD_READS);
	end(&forked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cache_at_rest_is_used),
		cmocka_unit_test(a_locked_cache_is_lost),
		cmocka_unit_test(a_pinned_unit_is_lost),
		cmocka_unit_test(a_cache_with_borrowed_bytes_is_used),
		cmocka_unit_test(a_pinned_extent_is_lost),
		cmocka_unit_test(a_cache_with_jobs_or_waiting_threads_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
