/* SPDX-License-Identifier: MIT */
/*
 * pool/threads for POSIX threads.
 */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "pool/threads.h"

#define STACK_BYTES   (1u << 20) /* some systems have much smaller defaults */
#define NS_PER_SECOND 1000000000

struct thread_start {
	void *(*run)(void *);
	void *argument;
	const dwarfs_allocator *allocator;
};

static void *thread_main(void *user)
{
	const struct thread_start *start = user;

	dw_current_allocator = start->allocator;
	return start->run(start->argument);
}

static int prepare(struct threads *threads, uint32_t limit, void *(*run)(void *),
		   void *argument, dwarfs_error **err)
{
	if (!threads->list && !(threads->list = dw_calloc(limit, sizeof(*threads->list))))
		return dw_fail_nomem(err);
	if (threads->start)
		return 0;
	if (!(threads->start = dw_malloc(sizeof(*threads->start))))
		return dw_fail_nomem(err);
	*threads->start = (struct thread_start){ run, argument, dw_current_allocator };
	threads->process = getpid();
	return 0;
}

int dw_threads_start_one(struct threads *threads, uint32_t limit, void *(*run)(void *),
			 void *argument, dwarfs_error **err)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int ret = prepare(threads, limit, run, argument, err);

	if (ret < 0)
		return ret;
	if (threads->count == limit)
		return 0;
	if (pthread_attr_init(&attributes) != 0)
		return dw_fail_nomem(err);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&threads->list[threads->count], &attributes, thread_main,
			   threads->start) == 0)
		threads->count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return 0;
}

int dw_threads_start(struct threads *threads, uint32_t count, void *(*run)(void *),
		     void *argument, dwarfs_error **err)
{
	uint32_t started;
	int ret;

	do {
		started = threads->count;
		ret = dw_threads_start_one(threads, count, run, argument, err);
	} while (ret == 0 && threads->count > started);
	return ret;
}

static bool are_in_this_process(const struct threads *threads)
{
	return threads->count > 0 && threads->process == getpid();
}

void dw_threads_join(struct threads *threads)
{
	bool are_here = are_in_this_process(threads);

	for (uint32_t i = 0; are_here && i < threads->count; i++)
		pthread_join(threads->list[i], NULL);
	dw_free(threads->list);
	dw_free(threads->start);
	*threads = (struct threads){ 0 };
}

int dw_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	int ret = pthread_condattr_init(&attributes);

	if (ret != 0)
		return ret;
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	ret = pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
	return ret;
}

bool dw_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t until)
{
	struct timespec time = { .tv_sec = (time_t)(until / NS_PER_SECOND),
				 .tv_nsec = (long)(until % NS_PER_SECOND) };

	return pthread_cond_timedwait(condition, lock, &time) == 0;
}

int64_t dw_time_from_now(uint32_t wait_ns)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec + wait_ns;
}
