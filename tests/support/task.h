/* SPDX-License-Identifier: MIT */
/*
 * A task with a progress callback, freed at the end of the scope.
 */
#ifndef TESTS_SUPPORT_TASK_H
#define TESTS_SUPPORT_TASK_H

#include <dwarfs/progress.h>

/* Include <cmocka.h> first. */
static inline dwarfs_task *new_task(dwarfs_progress_fn progress, void *user)
{
	dwarfs_task *task = NULL;

	assert_int_equal(dwarfs_task_new(&task, NULL), 0);
	dwarfs_task_set_progress(task, progress, user);
	return task;
}

static inline void free_test_task(dwarfs_task **task)
{
	dwarfs_task_free(*task);
}
#define auto_test_task __attribute__((cleanup(free_test_task)))

#endif
