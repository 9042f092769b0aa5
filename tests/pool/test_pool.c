/* SPDX-License-Identifier: MIT */
/*
 * pool: results in order, the first error, and the release of jobs and workers, for any
 * number of workers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "pool/pool.h"
#include "pool/threads.h"

#define NOBODY UINT64_MAX

struct world {
	atomic_int workers, ran;
	int workers_wanted_to_fail;
	uint64_t run_fails_at, also_fails_at, done_fails_at;
	/* of the submitting thread */
	uint64_t next_done;
	int made, dropped;
};

struct job {
	uint64_t number, result;
};

static int worker_new(void *shared, void **worker_out, dwarfs_error **err)
{
	struct world *world = shared;

	if (world->workers_wanted_to_fail)
		return dw_fail(err, DWARFS_ERR_RANGE, "no worker today");
	atomic_fetch_add(&world->workers, 1);
	*worker_out = world;
	return 0;
}

static void worker_free(void *worker)
{
	struct world *world = worker;

	atomic_fetch_sub(&world->workers, 1);
}

/* Odd jobs take longer, so that results are ready out of order. */
static int run(void *shared, void *worker, void *data, dwarfs_error **err)
{
	struct world *world = shared;
	struct job *job = data;
	struct timespec pause = { 0, (job->number * 7919) % 13 * 20000 };

	assert_ptr_equal(worker, world);
	nanosleep(&pause, NULL);
	atomic_fetch_add(&world->ran, 1);
	if (job->number == world->run_fails_at || job->number == world->also_fails_at)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "job %d is broken",
			       (int)job->number);
	job->result = job->number * job->number;
	return 0;
}

static int done(void *shared, void *data, dwarfs_error **err)
{
	struct world *world = shared;
	struct job *job = data;

	assert_int_equal(job->number, world->next_done);
	assert_int_equal(job->result, job->number * job->number);
	if (job->number == world->done_fails_at)
		return dw_fail(err, DWARFS_ERR_IO, "job %d finds no home",
			       (int)job->number);
	world->next_done++;
	return 0;
}

static void drop(void *shared, void *data)
{
	struct world *world = shared;

	world->dropped++;
	dw_free(data);
}

static const struct pool_ops ops = {
	.worker_new = worker_new,
	.worker_free = worker_free,
	.run = run,
	.done = done,
	.drop = drop,
};

static struct world new_world(void)
{
	return (struct world){ .run_fails_at = NOBODY,
			       .also_fails_at = NOBODY,
			       .done_fails_at = NOBODY };
}

static int submit(struct pool *pool, struct world *world, uint64_t number,
		  dwarfs_error **err)
{
	struct job *job = dw_calloc(1, sizeof(*job));

	assert_non_null(job);
	job->number = number;
	world->made++;
	return dw_pool_submit(pool, job, err);
}

static const uint32_t worker_counts[] = { 0, 1, 2, 8 };
static const uint32_t queues[] = { 1, 3, 20 };

/* Run body for each number of workers and each length of the queue. */
static void for_each_pool(void (*body)(struct pool *pool, struct world *world),
			  struct world world)
{
	for (size_t w = 0; w < 4; w++) {
		for (size_t q = 0; q < 3; q++) {
			struct world fresh = world;
			struct pool *pool = NULL;

			assert_int_equal(dw_pool_new(&ops, &fresh, worker_counts[w],
						     queues[q], &pool, NULL),
					 0);
			body(pool, &fresh);
			dw_pool_free(pool);
			assert_int_equal(fresh.dropped, fresh.made);
			assert_int_equal(atomic_load(&fresh.workers), 0);
		}
	}
}

static void run_many(struct pool *pool, struct world *world)
{
	for (uint64_t i = 0; i < 200; i++) {
		assert_int_equal(submit(pool, world, i, NULL), 0);
		if (i % 50 == 49) {
			assert_int_equal(dw_pool_finish(pool, NULL), 0);
			assert_int_equal(world->next_done, i + 1);
			assert_int_equal(world->dropped, world->made);
		}
		if (i % 7 == 0)
			assert_int_equal(dw_pool_poll(pool, NULL), 0);
	}
	assert_int_equal(dw_pool_finish(pool, NULL), 0);
	assert_int_equal(atomic_load(&world->ran), 200);
}

static void results_come_in_order(void **state)
{
	for_each_pool(run_many, new_world());
}

static void submit_until_error(struct pool *pool, struct world *world)
{
	dwarfs_error *err = NULL;
	int ret = 0;

	for (uint64_t i = 0; i < 1000 && ret == 0; i++)
		ret = submit(pool, world, i, &err);
	if (ret == 0)
		ret = dw_pool_finish(pool, &err);
	assert_int_equal(ret, DWARFS_ERR_CORRUPT);
	/* The first in order of submission, even if another one failed earlier. */
	assert_string_equal(dwarfs_error_message(err), "job 20 is broken");
	assert_int_equal(world->next_done, 20);
	assert_true(atomic_load(&world->ran) < 100);
	dwarfs_error_free(err);

	/* The error stays. */
	err = NULL;
	assert_int_equal(submit(pool, world, 5, &err), DWARFS_ERR_CORRUPT);
	assert_string_equal(dwarfs_error_message(err), "job 20 is broken");
	assert_int_equal(dw_pool_poll(pool, &err), DWARFS_ERR_CORRUPT);
	assert_int_equal(dw_pool_finish(pool, &err), DWARFS_ERR_CORRUPT);
	assert_string_equal(dwarfs_error_message(err), "job 20 is broken");
	assert_int_equal(world->next_done, 20);
	dwarfs_error_free(err);
}

static void the_first_error_stops_the_pool(void **state)
{
	struct world world = new_world();

	world.run_fails_at = 20;
	world.also_fails_at = 21;
	for_each_pool(submit_until_error, world);
}

static void fail_when_done(struct pool *pool, struct world *world)
{
	dwarfs_error *err = NULL;
	int ret = 0;

	for (uint64_t i = 0; i < 1000 && ret == 0; i++)
		ret = submit(pool, world, i, &err);
	assert_int_equal(ret, DWARFS_ERR_IO);
	assert_string_equal(dwarfs_error_message(err), "job 9 finds no home");
	assert_int_equal(world->next_done, 9);
	dwarfs_error_free(err);
	assert_int_equal(dw_pool_finish(pool, NULL), DWARFS_ERR_IO);
}

static void an_error_in_done_stops_the_pool(void **state)
{
	struct world world = new_world();

	world.done_fails_at = 9;
	for_each_pool(fail_when_done, world);
}

static void fail_without_workers(struct pool *pool, struct world *world)
{
	dwarfs_error *err = NULL;
	int ret = 0;

	for (uint64_t i = 0; i < 30 && ret == 0; i++)
		ret = submit(pool, world, i, &err);
	if (ret == 0)
		ret = dw_pool_finish(pool, &err);
	assert_int_equal(ret, DWARFS_ERR_RANGE);
	assert_string_equal(dwarfs_error_message(err), "no worker today");
	assert_int_equal(atomic_load(&world->ran), 0);
	dwarfs_error_free(err);
}

static void an_error_of_a_worker_stops_the_pool(void **state)
{
	struct world world = new_world();

	world.workers_wanted_to_fail = 1;
	for_each_pool(fail_without_workers, world);
}

static void leave_jobs_behind(struct pool *pool, struct world *world)
{
	for (uint64_t i = 0; i < 30; i++)
		assert_int_equal(submit(pool, world, i, NULL), 0);
}

static void jobs_under_way_are_dropped(void **state)
{
	for_each_pool(leave_jobs_behind, new_world());
}

/* -- how many run at once ------------------------------------------------------------ */

struct crowd {
	_Atomic uint32_t limit;
	atomic_uint running, most_running;
};

static int run_in_crowd(void *shared, void *worker, void *data, dwarfs_error **err)
{
	struct crowd *crowd = shared;
	struct timespec pause = { 0, 2000000 };
	unsigned now = atomic_fetch_add(&crowd->running, 1) + 1;
	unsigned most = atomic_load(&crowd->most_running);

	while (now > most &&
	       !atomic_compare_exchange_weak(&crowd->most_running, &most, now))
		continue;
	nanosleep(&pause, NULL);
	atomic_fetch_sub(&crowd->running, 1);
	return 0;
}

static const struct pool_ops crowd_ops = { .run = run_in_crowd };

static void no_more_run_than_the_limit(void **state)
{
	struct crowd crowd = { .limit = 2 };
	auto_pool struct pool *pool = NULL;

	assert_int_equal(dw_pool_new(&crowd_ops, &crowd, 8, 16, &pool, NULL), 0);
	dw_pool_limit_running(pool, &crowd.limit);
	for (int i = 0; i < 40; i++)
		assert_int_equal(dw_pool_submit(pool, &crowd, NULL), 0);
	assert_int_equal(dw_pool_finish(pool, NULL), 0);
	assert_true(atomic_load(&crowd.most_running) <= 2);

	atomic_store(&crowd.limit, 1);
	atomic_store(&crowd.most_running, 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(dw_pool_submit(pool, &crowd, NULL), 0);
	assert_int_equal(dw_pool_finish(pool, NULL), 0);
	assert_int_equal(atomic_load(&crowd.most_running), 1);
}

/* Waits until another job runs at the same time. */
static int run_with_another(void *shared, void *worker, void *data, dwarfs_error **err)
{
	struct crowd *crowd = shared;
	struct timespec pause = { 0, 1000000 };

	atomic_fetch_add(&crowd->running, 1);
	if (data)
		atomic_store(&crowd->limit, 2); /* after this thread has started alone */
	while (atomic_load(&crowd->running) < 2)
		nanosleep(&pause, NULL);
	return 0;
}

static void a_raised_limit_is_noticed(void **state)
{
	static const struct pool_ops with_another = { .run = run_with_another };
	struct crowd crowd = { .limit = 1 };
	auto_pool struct pool *pool = NULL;

	assert_int_equal(dw_pool_new(&with_another, &crowd, 2, 4, &pool, NULL), 0);
	dw_pool_limit_running(pool, &crowd.limit);
	assert_int_equal(dw_pool_submit(pool, &crowd, NULL), 0);
	assert_int_equal(dw_pool_submit(pool, NULL, NULL), 0);
	assert_int_equal(dw_pool_finish(pool, NULL), 0);
	assert_int_equal(atomic_load(&crowd.running), 2);
}

/* -- how many threads are started ---------------------------------------------------- */

static int count_worker(void *shared, void **worker_out, dwarfs_error **err)
{
	atomic_fetch_add((atomic_uint *)shared, 1);
	*worker_out = shared;
	return 0;
}

static void jobs_one_at_a_time_need_one_thread(void **state)
{
	static const struct pool_ops counting = { .worker_new = count_worker };
	atomic_uint workers = 0;
	auto_pool struct pool *pool = NULL;

	assert_int_equal(dw_pool_new(&counting, &workers, 8, 4, &pool, NULL), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(dw_pool_submit(pool, &workers, NULL), 0);
		assert_int_equal(dw_pool_finish(pool, NULL), 0);
	}
	assert_int_equal(atomic_load(&workers), 1);
}

/* Waits until six jobs have started. */
static int run_with_five_others(void *shared, void *worker, void *data,
				dwarfs_error **err)
{
	struct timespec pause = { 0, 1000000 };

	atomic_fetch_add((atomic_uint *)shared, 1);
	while (atomic_load((atomic_uint *)shared) < 6)
		nanosleep(&pause, NULL);
	return 0;
}

static void each_job_has_a_thread_up_to_all_workers(void **state)
{
	static const struct pool_ops together = { .run = run_with_five_others };

	for (int alone = 0; alone < 2; alone++) {
		atomic_uint running = 0;
		auto_pool struct pool *pool = NULL;

		assert_int_equal(dw_pool_new(&together, &running, 6, 8, &pool, NULL), 0);
		if (alone) { /* one thread is there, and idle */
			atomic_store(&running, 6);
			assert_int_equal(dw_pool_submit(pool, &running, NULL), 0);
			assert_int_equal(dw_pool_finish(pool, NULL), 0);
			atomic_store(&running, 0);
		}
		for (int i = 0; i < 6; i++)
			assert_int_equal(dw_pool_submit(pool, &running, NULL), 0);
		assert_int_equal(dw_pool_finish(pool, NULL), 0);
		assert_int_equal(atomic_load(&running), 6);
	}
}

struct scarce {
	int left; /* allocations until one fails */
};

static void *allocate_scarce(size_t bytes, void *user)
{
	struct scarce *scarce = user;

	return scarce->left-- == 0 ? NULL : malloc(bytes);
}

static void release_scarce(void *block, size_t bytes, void *user)
{
	free(block);
}

static void *end_at_once(void *argument)
{
	return NULL;
}

static void a_thread_starts_after_one_that_lacked_memory(void **state)
{
	for (int failing = 0; failing < 2; failing++) {
		struct scarce scarce = { failing };
		const dwarfs_allocator allocator = { .struct_bytes = sizeof(allocator),
						     .user = &scarce,
						     .allocate = allocate_scarce,
						     .release = release_scarce };
		const dwarfs_allocator *before = dw_current_allocator;
		struct threads threads = { 0 };
		int first, second;

		dw_current_allocator = &allocator;
		first = dw_threads_start_one(&threads, 2, end_at_once, NULL, NULL);
		second = dw_threads_start_one(&threads, 2, end_at_once, NULL, NULL);
		dw_current_allocator = before;
		assert_int_equal(first, DWARFS_ERR_NOMEM);
		assert_int_equal(second, 0);
		assert_int_equal(threads.count, 1);
		dw_threads_join(&threads);
	}
}

static void a_pool_at_its_limit_can_be_freed(void **state)
{
	struct crowd crowd = { .limit = 1 };
	struct pool *pool = NULL;

	assert_int_equal(dw_pool_new(&crowd_ops, &crowd, 4, 16, &pool, NULL), 0);
	dw_pool_limit_running(pool, &crowd.limit);
	for (int i = 0; i < 10; i++)
		assert_int_equal(dw_pool_submit(pool, &crowd, NULL), 0);
	dw_pool_free(pool);
	assert_int_equal(atomic_load(&crowd.running), 0);
}

static void stay_idle(struct pool *pool, struct world *world)
{
	assert_int_equal(dw_pool_poll(pool, NULL), 0);
	assert_int_equal(dw_pool_finish(pool, NULL), 0);
	assert_int_equal(dw_pool_finish(pool, NULL), 0);
}

static void nothing_to_do_is_fine(void **state)
{
	for_each_pool(stay_idle, new_world());
	dw_pool_free(NULL);
}

static void members_may_be_missing(void **state)
{
	static const struct pool_ops nothing = { 0 };
	int job = 0;

	for (uint32_t workers = 0; workers < 3; workers++) {
		auto_pool struct pool *pool = NULL;

		assert_int_equal(dw_pool_new(&nothing, NULL, workers, 0, &pool, NULL), 0);
		for (int i = 0; i < 10; i++)
			assert_int_equal(dw_pool_submit(pool, &job, NULL), 0);
		assert_int_equal(dw_pool_finish(pool, NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_come_in_order),
		cmocka_unit_test(the_first_error_stops_the_pool),
		cmocka_unit_test(an_error_in_done_stops_the_pool),
		cmocka_unit_test(an_error_of_a_worker_stops_the_pool),
		cmocka_unit_test(jobs_under_way_are_dropped),
		cmocka_unit_test(no_more_run_than_the_limit),
		cmocka_unit_test(a_raised_limit_is_noticed),
		cmocka_unit_test(jobs_one_at_a_time_need_one_thread),
		cmocka_unit_test(each_job_has_a_thread_up_to_all_workers),
		cmocka_unit_test(a_thread_starts_after_one_that_lacked_memory),
		cmocka_unit_test(a_pool_at_its_limit_can_be_freed),
		cmocka_unit_test(nothing_to_do_is_fine),
		cmocka_unit_test(members_may_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
