/* SPDX-License-Identifier: MIT */
/*
 * pool/crew: run one function on several threads and wait for them.
 */
#include "pool/crew.h"
#include "pool/threads.h"

#define LOOK_NS 100000000u

struct crew {
	const struct crew_ops *ops;
	void *user;
	pthread_mutex_t lock;
	pthread_cond_t all_done;
	uint32_t next;	  /* number for the next thread */
	uint32_t at_work; /* threads that are running */
	bool counted;	  /* at_work is final */
};

static void *crew_thread(void *argument)
{
	struct crew *crew = argument;
	uint32_t member;

	pthread_mutex_lock(&crew->lock);
	member = crew->next++;
	pthread_mutex_unlock(&crew->lock);
	crew->ops->work(crew->user, member);
	pthread_mutex_lock(&crew->lock);
	crew->at_work--; /* may be below 0 until it is final */
	if (crew->counted && crew->at_work == 0)
		pthread_cond_signal(&crew->all_done);
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

static void look_after(struct crew *crew, uint32_t started)
{
	pthread_mutex_lock(&crew->lock);
	crew->at_work += started;
	crew->counted = true;
	while (crew->at_work > 0) {
		int64_t until = dw_time_from_now(LOOK_NS);

		dw_condition_wait(&crew->all_done, &crew->lock, until);
		if (!crew->ops->look)
			continue;
		pthread_mutex_unlock(&crew->lock);
		crew->ops->look(crew->user);
		pthread_mutex_lock(&crew->lock);
	}
	pthread_mutex_unlock(&crew->lock);
}

int dw_crew_run(const struct crew_ops *ops, void *user, uint32_t threads,
		dwarfs_error **err)
{
	struct crew crew = { .ops = ops, .user = user };
	struct threads list = { 0 };
	int ret = 0;

	if (threads == 0) {
		ops->work(user, 0);
		return 0;
	}
	if (pthread_mutex_init(&crew.lock, NULL) != 0)
		return dw_fail_nomem(err);
	if (dw_condition_init(&crew.all_done) != 0) {
		pthread_mutex_destroy(&crew.lock);
		return dw_fail_nomem(err);
	}
	ret = dw_threads_start(&list, threads, crew_thread, &crew, err);
	if (ret == 0 && list.count == 0)
		ops->work(user, 0);
	else if (ret == 0)
		look_after(&crew, list.count);
	dw_threads_join(&list);
	pthread_cond_destroy(&crew.all_done);
	pthread_mutex_destroy(&crew.lock);
	return ret;
}
