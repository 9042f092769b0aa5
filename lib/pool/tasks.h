/* SPDX-License-Identifier: MIT */
/*
 * pool/tasks: work that is likely to be wanted soon, done ahead by other threads.
 *
 * Unlike the jobs of a pool, tasks are waited for in any order. The one that was offered
 * last is started first. Who waits for a task that nobody has started does it himself, so
 * that with no threads at all everything is done when it is wanted.
 */
#ifndef DW_POOL_TASKS_H
#define DW_POOL_TASKS_H

#include "base/memory.h"

/* Part of what it works on; of the caller, who keeps it until it is done or tasks are
 * freed. All zero is a task that was not offered. */
struct task {
	void (*run)(struct task *task);

	/* private to tasks.c */
	struct task *above, *below;
	enum { TASK_NEW, TASK_OFFERED, TASK_RUNNING, TASK_DONE } state;
};

struct tasks;

/* Threads start with the first task. */
int dw_tasks_new(uint32_t threads, struct tasks **tasks_out, dwarfs_error **err);

/* Ends the threads. Tasks that were not started stay as they are. NULL is accepted. */
void dw_tasks_free(struct tasks *tasks);
DW_DEFINE_AUTO(tasks, struct tasks *, dw_tasks_free)

/* Offer a new task. Without threads nothing happens. */
int dw_tasks_offer(struct tasks *tasks, struct task *task, dwarfs_error **err);

/* Have a task done, offered or not, and wait for it, if somebody does it already no
 * longer than this: false when it is not done yet. */
bool dw_tasks_wait(struct tasks *tasks, struct task *task, uint32_t wait_ns);

#endif
