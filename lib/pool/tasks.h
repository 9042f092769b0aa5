/* SPDX-License-Identifier: MIT */
/*
 * pool/tasks: speculative tasks, done ahead by other threads.
 *
 * Unlike the jobs of a pool, tasks are waited for in any order. The last one offered is
 * started first. A thread that waits for a task that is not started runs it itself, so
 * without threads everything is done when it is needed.
 */
#ifndef DW_POOL_TASKS_H
#define DW_POOL_TASKS_H

#include "base/memory.h"

/* Embedded in the caller's data, which must exist until the task is done or the tasks
 * are freed. Zero-initialized, it is a task not offered. */
struct task {
	void (*run)(struct task *task);

	/* private to tasks.c */
	struct task *above, *below;
	enum { TASK_NEW, TASK_OFFERED, TASK_RUNNING, TASK_DONE } state;
};

struct tasks;

/* Threads start when several tasks wait. */
int dw_tasks_new(uint32_t threads, struct tasks **tasks_out, dwarfs_error **err);

/* Ends the threads. Tasks not started are not run. NULL is accepted. */
void dw_tasks_free(struct tasks *tasks);
DW_DEFINE_AUTO(tasks, struct tasks *, dw_tasks_free)

/* Offer a new task. Without threads this has no effect. If this fails, the task is offered all
 * the same, and must exist until it was waited for or the tasks are freed. */
int dw_tasks_offer(struct tasks *tasks, struct task *task, dwarfs_error **err);

/* Run a task, offered or not; if another thread runs it, wait up to this time: false
 * if it is not done yet. */
bool dw_tasks_wait(struct tasks *tasks, struct task *task, uint32_t wait_ns);

#endif
