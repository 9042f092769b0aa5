/* SPDX-License-Identifier: MIT */
/*
 * pool/thread_group: run one function on several threads and wait for them.
 */
#include "pool/thread_group.h"
#include "pool/threads.h"

#define POLL_NS 100000000u

struct thread_group {
	const struct thread_group_ops *ops;
	void *user;
	pthread_mutex_t lock;
	pthread_cond_t all_done;
	uint32_t next;	  /* number for the next thread */
	uint32_t running; /* threads that are running */
	bool counted;	  /* running is final */
};

static void *group_thread(void *argument)
{
	struct thread_group *group = argument;
	uint32_t thread;

	pthread_mutex_lock(&group->lock);
	thread = group->next++;
	pthread_mutex_unlock(&group->lock);
	group->ops->run(group->user, thread);
	pthread_mutex_lock(&group->lock);
	group->running--; /* may be below 0 until it is final */
	if (group->counted && group->running == 0)
		pthread_cond_signal(&group->all_done);
	pthread_mutex_unlock(&group->lock);
	return NULL;
}

static void wait_for_group(struct thread_group *group, uint32_t started)
{
	pthread_mutex_lock(&group->lock);
	group->running += started;
	group->counted = true;
	while (group->running > 0) {
		int64_t until = dw_time_from_now(POLL_NS);

		dw_condition_wait(&group->all_done, &group->lock, until);
		if (!group->ops->poll)
			continue;
		pthread_mutex_unlock(&group->lock);
		group->ops->poll(group->user);
		pthread_mutex_lock(&group->lock);
	}
	pthread_mutex_unlock(&group->lock);
}

int dw_thread_group_run(const struct thread_group_ops *ops, void *user, uint32_t threads,
			dwarfs_error **err)
{
	struct thread_group group = { .ops = ops, .user = user };
	struct threads list = { 0 };
	int ret = 0;

	if (threads == 0) {
		ops->run(user, 0);
		return 0;
	}
	if (pthread_mutex_init(&group.lock, NULL) != 0)
		return dw_fail_nomem(err);
	if (dw_condition_init(&group.all_done) != 0) {
		pthread_mutex_destroy(&group.lock);
		return dw_fail_nomem(err);
	}
	ret = dw_threads_start(&list, threads, group_thread, &group, err);
	if (ret == 0 && list.count == 0)
		ops->run(user, 0);
	else if (ret == 0)
		wait_for_group(&group, list.count);
	dw_threads_join(&list);
	pthread_cond_destroy(&group.all_done);
	pthread_mutex_destroy(&group.lock);
	return ret;
}
