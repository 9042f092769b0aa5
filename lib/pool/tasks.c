/* SPDX-License-Identifier: MIT */
/*
 * pool/tasks: speculative tasks, done ahead by other threads.
 */
#include "pool/tasks.h"
#include "pool/threads.h"

struct tasks {
	uint32_t thread_count; /* requested */
	bool threads_tried;
	struct threads threads;

	pthread_mutex_t lock;
	pthread_cond_t work;	 /* a task was offered, or threads shall end */
	pthread_cond_t progress; /* a task is done */
	struct task *top;	 /* stack of tasks offered and not started */
	uint32_t offered;	 /* number of tasks on it */
	uint32_t idle;		 /* threads that wait for tasks */
	bool is_awaited;	 /* a thread waits for progress */
	bool stopping;
};

/* Starting or waking a thread takes longer than a short task: only for several. */
#define WORTH_WAKING 3

/* Remove a task from the stack. Called with the lock. */
static void take_next_task(struct tasks *tasks, struct task *task)
{
	if (task->above)
		task->above->below = task->below;
	else
		tasks->top = task->below;
	if (task->below)
		task->below->above = task->above;
	task->above = task->below = NULL;
	task->state = TASK_RUNNING;
	tasks->offered--;
}

/* Run a task that was just taken. Called with the lock, which is released meanwhile. */
static void run_task(struct tasks *tasks, struct task *task)
{
	pthread_mutex_unlock(&tasks->lock);
	task->run(task);
	pthread_mutex_lock(&tasks->lock);
	task->state = TASK_DONE;
}

static void *task_thread(void *argument)
{
	struct tasks *tasks = argument;

	pthread_mutex_lock(&tasks->lock);
	while (!tasks->stopping) {
		struct task *task = tasks->top;

		if (!task) {
			tasks->idle++;
			pthread_cond_wait(&tasks->work, &tasks->lock);
			tasks->idle--;
			continue;
		}
		take_next_task(tasks, task);
		run_task(tasks, task);
		if (tasks->is_awaited)
			pthread_cond_signal(&tasks->progress);
	}
	pthread_mutex_unlock(&tasks->lock);
	return NULL;
}

static bool can_have_threads(const struct tasks *tasks)
{
	return tasks->threads.count > 0 ||
	       (tasks->thread_count > 0 && !tasks->threads_tried);
}

int dw_tasks_offer(struct tasks *tasks, struct task *task, dwarfs_error **err)
{
	bool is_worth_waking;

	if (!can_have_threads(tasks))
		return 0;
	pthread_mutex_lock(&tasks->lock);
	task->state = TASK_OFFERED;
	task->below = tasks->top;
	if (task->below)
		task->below->above = task;
	tasks->top = task;
	tasks->offered++;
	is_worth_waking = tasks->offered >= WORTH_WAKING;
	if (tasks->idle > 0 && is_worth_waking)
		pthread_cond_signal(&tasks->work);
	pthread_mutex_unlock(&tasks->lock);
	if (!is_worth_waking || tasks->threads_tried)
		return 0;
	tasks->threads_tried = true;
	return dw_threads_start(&tasks->threads, tasks->thread_count, task_thread, tasks,
				err);
}

bool dw_tasks_wait(struct tasks *tasks, struct task *task, uint32_t wait_ns)
{
	int64_t until = 0;
	bool is_late = false;

	pthread_mutex_lock(&tasks->lock);
	if (task->state == TASK_NEW) {
		run_task(tasks, task);
	} else if (task->state == TASK_OFFERED) {
		take_next_task(tasks, task);
		run_task(tasks, task);
	}
	while (task->state == TASK_RUNNING && !is_late) {
		struct task *other = tasks->top;

		if (other) { /* instead of waiting */
			take_next_task(tasks, other);
			run_task(tasks, other);
			continue;
		}
		if (until == 0)
			until = dw_time_from_now(wait_ns);
		tasks->is_awaited = true;
		is_late = !dw_condition_wait(&tasks->progress, &tasks->lock, until);
		tasks->is_awaited = false;
	}
	pthread_mutex_unlock(&tasks->lock);
	return !is_late;
}

static bool init_task_locks(struct tasks *tasks)
{
	if (pthread_mutex_init(&tasks->lock, NULL) != 0)
		return false;
	if (pthread_cond_init(&tasks->work, NULL) != 0) {
		pthread_mutex_destroy(&tasks->lock);
		return false;
	}
	if (dw_condition_init(&tasks->progress) != 0) {
		pthread_cond_destroy(&tasks->work);
		pthread_mutex_destroy(&tasks->lock);
		return false;
	}
	return true;
}

int dw_tasks_new(uint32_t threads, struct tasks **tasks_out, dwarfs_error **err)
{
	auto_free struct tasks *tasks = dw_calloc(1, sizeof(*tasks));

	if (!tasks || !init_task_locks(tasks))
		return dw_fail_nomem(err);
	tasks->thread_count = threads;
	*tasks_out = dw_steal(tasks);
	return 0;
}

void dw_tasks_free(struct tasks *tasks)
{
	if (!tasks)
		return;
	pthread_mutex_lock(&tasks->lock);
	tasks->stopping = true;
	pthread_cond_broadcast(&tasks->work);
	pthread_mutex_unlock(&tasks->lock);
	dw_threads_join(&tasks->threads);
	pthread_cond_destroy(&tasks->progress);
	pthread_cond_destroy(&tasks->work);
	pthread_mutex_destroy(&tasks->lock);
	dw_free(tasks);
}
