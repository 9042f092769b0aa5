/* SPDX-License-Identifier: MIT */
/*
 * pool: run jobs on worker threads, deliver results in the order of submission.
 *
 * Jobs are in a ring of slots, started in order, and taken in order by the submitting
 * thread. A failed job keeps its error in its slot until it is taken, so callers see the
 * same results and the same error for any number of workers. Knows nothing of what jobs
 * do.
 */
#include "pool/pool.h"
#include "pool/threads.h"

/* How soon waiting workers notice that the limit of running jobs was raised. */
#define LIMIT_CHECK_NS 50000000

struct pool_slot {
	void *job;
	bool finished;
	int ret;
	dwarfs_error *error;
};

/* Positions count jobs ever submitted; a job's slot is its position modulo slot_count.
 * taken <= started <= submitted. The lock protects all members not marked otherwise. */
struct pool {
	/* constant */
	const struct pool_ops *ops;
	void *shared;
	uint32_t slot_count;
	const _Atomic uint32_t *running_limit; /* NULL: none */

	/* used only by the submitting thread */
	uint32_t worker_count; /* requested; 0: inline */
	bool no_more_threads;  /* the last start failed */
	struct threads threads;
	void *inline_worker;
	bool has_inline_worker;
	int failed; /* the first error, after its job was taken */
	dwarfs_error *error;

	pthread_mutex_t lock;
	pthread_cond_t work;	 /* a job can be started, or threads shall end */
	pthread_cond_t progress; /* a job has finished */
	struct pool_slot *slots;
	uint64_t taken, started, submitted;
	uint32_t running;
	bool halted; /* a job has failed: start no others */
	bool stopping;
};

static struct pool_slot *slot_at(struct pool *pool, uint64_t position)
{
	return &pool->slots[position % pool->slot_count];
}

/* -- on workers ---------------------------------------------------------------------- */

/* The worker's state is created for its first job. */
static int run_pool_job(struct pool *pool, void **worker, bool *has_worker, void *job,
			dwarfs_error **err)
{
	int ret = 0;

	if (!*has_worker && pool->ops->worker_new)
		ret = pool->ops->worker_new(pool->shared, worker, err);
	if (ret < 0)
		return ret;
	*has_worker = true;
	return pool->ops->run ? pool->ops->run(pool->shared, *worker, job, err) : 0;
}

static void free_pool_worker(struct pool *pool, void *worker, bool has_worker)
{
	if (has_worker && pool->ops->worker_free)
		pool->ops->worker_free(worker);
}

static bool is_job_waiting(const struct pool *pool)
{
	return !pool->halted && pool->started < pool->submitted;
}

/* There is no signal when the limit is raised. */
static bool is_at_limit(const struct pool *pool)
{
	return pool->running_limit && pool->running >= atomic_load(pool->running_limit);
}

/* Wait for a job to start; NULL when the thread shall end. Called with the lock. */
static struct pool_slot *next_slot(struct pool *pool)
{
	while (!pool->stopping && !(is_job_waiting(pool) && !is_at_limit(pool))) {
		if (is_job_waiting(pool))
			dw_condition_wait(&pool->work, &pool->lock,
					  dw_time_from_now(LIMIT_CHECK_NS));
		else
			pthread_cond_wait(&pool->work, &pool->lock);
	}
	if (pool->stopping)
		return NULL;
	pool->running++;
	pool->started++;
	/* The signal for another job may have gone to a thread that was at the limit. */
	if (pool->running_limit && is_job_waiting(pool) && !is_at_limit(pool))
		pthread_cond_signal(&pool->work);
	return slot_at(pool, pool->started - 1);
}

static void *pool_thread(void *argument)
{
	struct pool *pool = argument;
	void *worker = NULL;
	bool has_worker = false;
	struct pool_slot *slot;

	pthread_mutex_lock(&pool->lock);
	while ((slot = next_slot(pool)) != NULL) {
		dwarfs_error *error = NULL;
		void *job = slot->job;
		int ret;

		pthread_mutex_unlock(&pool->lock);
		ret = run_pool_job(pool, &worker, &has_worker, job, &error);
		pthread_mutex_lock(&pool->lock);
		slot->ret = ret;
		slot->error = error;
		slot->finished = true;
		pool->running--;
		if (ret < 0)
			pool->halted = true;
		pthread_cond_signal(&pool->progress);
	}
	pthread_mutex_unlock(&pool->lock);
	free_pool_worker(pool, worker, has_worker);
	return NULL;
}

/* -- on the submitting thread -------------------------------------------------------- */

/* Whether a job that is submitted now would wait although another worker may be started. */
static bool lacks_thread(struct pool *pool)
{
	uint64_t waiting;
	uint32_t idle;

	if (pool->no_more_threads || pool->threads.count == pool->worker_count)
		return false;
	pthread_mutex_lock(&pool->lock);
	waiting = pool->submitted - pool->started;
	idle = pool->threads.count - pool->running;
	pthread_mutex_unlock(&pool->lock);
	return waiting >= idle;
}

static int start_pool_thread(struct pool *pool, dwarfs_error **err)
{
	uint32_t before = pool->threads.count;
	int ret = dw_threads_start_one(&pool->threads, pool->worker_count, pool_thread,
				       pool, err);

	pool->no_more_threads = pool->threads.count == before;
	return ret;
}

static void drop_job(struct pool *pool, void *job)
{
	if (pool->ops->drop)
		pool->ops->drop(pool->shared, job);
}

/* Keep the first error; takes error, which may be NULL. */
static void keep_error(struct pool *pool, int ret, dwarfs_error *error)
{
	if (pool->failed) {
		dwarfs_error_free(error);
		return;
	}
	pool->failed = ret;
	pool->error = error;
	if (!error)
		dw_fail(&pool->error, ret, "a job failed: %s", dwarfs_strerror(ret));
}

/* The error for the caller. A copy is kept for later calls. */
static int report_first_error(struct pool *pool, dwarfs_error **err)
{
	const char *path = dwarfs_error_path(pool->error);
	dwarfs_error *copy = NULL;
	uint64_t offset;

	if (!pool->failed || !err)
		return pool->failed;
	dw_fail(&copy, pool->failed, "%s", dwarfs_error_message(pool->error));
	if (path)
		dw_error_at_path(&copy, pool->failed, path);
	if (dwarfs_error_offset(pool->error, &offset))
		dw_error_at_offset(&copy, pool->failed, offset);
	dwarfs_error_free(*err);
	*err = pool->error;
	pool->error = copy;
	return pool->failed;
}

/* Deliver the result of a job, unless the pool has failed; free the job. */
static void deliver_result(struct pool *pool, void *job, int ret, dwarfs_error *error)
{
	if (ret == 0 && !pool->failed && pool->ops->done)
		ret = pool->ops->done(pool->shared, job, &error);
	if (ret < 0)
		keep_error(pool, ret, error);
	else
		dwarfs_error_free(error);
	drop_job(pool, job);
}

/* Take the oldest job if it has finished, or wait for it. False if there is none, or
 * none without waiting. Called with the lock, which is released during callbacks. */
static bool take_oldest(struct pool *pool, bool wait)
{
	struct pool_slot *slot = slot_at(pool, pool->taken), copy;

	if (pool->taken == pool->submitted)
		return false;
	while (!slot->finished) {
		/* Jobs not started will not be. */
		if (pool->halted && pool->taken == pool->started)
			break;
		if (!wait)
			return false;
		pthread_cond_wait(&pool->progress, &pool->lock);
	}
	copy = *slot;
	*slot = (struct pool_slot){ 0 };
	pool->taken++;
	if (pool->started < pool->taken)
		pool->started = pool->taken;
	pthread_mutex_unlock(&pool->lock);
	deliver_result(pool, copy.job, copy.ret, copy.error);
	pthread_mutex_lock(&pool->lock);
	if (pool->failed)
		pool->halted = true;
	return true;
}

/* Take finished results, wait until at most this many are left; all if one has failed. */
static void take_results(struct pool *pool, uint64_t left)
{
	pthread_mutex_lock(&pool->lock);
	while (take_oldest(pool, pool->halted || pool->submitted - pool->taken > left))
		continue;
	pthread_mutex_unlock(&pool->lock);
}

static void run_inline(struct pool *pool, void *job)
{
	dwarfs_error *error = NULL;
	int ret = run_pool_job(pool, &pool->inline_worker, &pool->has_inline_worker, job,
			       &error);

	deliver_result(pool, job, ret, error);
}

static void enqueue_job(struct pool *pool, void *job)
{
	pthread_mutex_lock(&pool->lock);
	*slot_at(pool, pool->submitted++) = (struct pool_slot){ .job = job };
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

int dw_pool_submit(struct pool *pool, void *job, dwarfs_error **err)
{
	int ret;

	take_results(pool, pool->slot_count - 1);
	if (!pool->failed && lacks_thread(pool) &&
	    (ret = start_pool_thread(pool, err)) < 0) {
		drop_job(pool, job);
		return ret;
	}
	if (pool->failed) {
		drop_job(pool, job);
		return report_first_error(pool, err);
	}
	if (pool->threads.count == 0)
		run_inline(pool, job);
	else
		enqueue_job(pool, job);
	return report_first_error(pool, err);
}

int dw_pool_poll(struct pool *pool, dwarfs_error **err)
{
	pthread_mutex_lock(&pool->lock);
	while (take_oldest(pool, false))
		continue;
	pthread_mutex_unlock(&pool->lock);
	return report_first_error(pool, err);
}

void dw_pool_wait(struct pool *pool, uint32_t wait_ns)
{
	int64_t until = dw_time_from_now(wait_ns);

	pthread_mutex_lock(&pool->lock);
	while (pool->taken < pool->submitted && !slot_at(pool, pool->taken)->finished &&
	       !(pool->halted && pool->taken == pool->started))
		if (!dw_condition_wait(&pool->progress, &pool->lock, until))
			break;
	pthread_mutex_unlock(&pool->lock);
}

int dw_pool_finish(struct pool *pool, dwarfs_error **err)
{
	take_results(pool, 0);
	return report_first_error(pool, err);
}

/* -- creation and destruction -------------------------------------------------------- */

static bool init_pool_locks(struct pool *pool)
{
	if (pthread_mutex_init(&pool->lock, NULL) != 0)
		return false;
	if (dw_condition_init(&pool->work) != 0) {
		pthread_mutex_destroy(&pool->lock);
		return false;
	}
	if (dw_condition_init(&pool->progress) != 0) {
		pthread_cond_destroy(&pool->work);
		pthread_mutex_destroy(&pool->lock);
		return false;
	}
	return true;
}

int dw_pool_new(const struct pool_ops *ops, void *shared, uint32_t workers,
		uint32_t queue, struct pool **pool_out, dwarfs_error **err)
{
	auto_free struct pool *pool = dw_calloc(1, sizeof(*pool));
	auto_free struct pool_slot *slots = NULL;
	uint32_t slot_count = queue ? queue : 1;

	slots = dw_calloc(slot_count, sizeof(*slots));
	if (!pool || !slots || !init_pool_locks(pool))
		return dw_fail_nomem(err);
	pool->ops = ops;
	pool->shared = shared;
	pool->worker_count = workers;
	pool->slot_count = slot_count;
	pool->slots = dw_steal(slots);
	*pool_out = dw_steal(pool);
	return 0;
}

void dw_pool_limit_running(struct pool *pool, const _Atomic uint32_t *limit)
{
	pool->running_limit = limit;
}

static void stop_pool_threads(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->stopping = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	dw_threads_join(&pool->threads);
}

void dw_pool_free(struct pool *pool)
{
	if (!pool)
		return;
	stop_pool_threads(pool);
	for (; pool->taken < pool->submitted; pool->taken++) {
		struct pool_slot *slot = slot_at(pool, pool->taken);

		dwarfs_error_free(slot->error);
		drop_job(pool, slot->job);
	}
	free_pool_worker(pool, pool->inline_worker, pool->has_inline_worker);
	pthread_cond_destroy(&pool->progress);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	dwarfs_error_free(pool->error);
	dw_free(pool->slots);
	dw_free(pool);
}
