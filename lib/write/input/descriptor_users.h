/* SPDX-License-Identifier: MIT */
/*
 * write/input/descriptor_users: threads that open files of the input, and wait for each
 * other if no descriptor is left.
 */
#ifndef DW_WRITE_INPUT_DESCRIPTOR_USERS_H
#define DW_WRITE_INPUT_DESCRIPTOR_USERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct descriptor_users {
	pthread_mutex_t lock;
	pthread_cond_t released;
	uint32_t count; /* users that do not wait; protected by lock */
	atomic_uint waiting;
};

/* Opens an entry: 0 or a negative errno value. */
typedef int (*descriptor_open_fn)(void *user, uint32_t entry, int *fd_out);

/* 0, or -ENOMEM. */
int dw_descriptor_users_init(struct descriptor_users *users);
void dw_descriptor_users_destroy(struct descriptor_users *users);

/* A user opens files between these two, and has closed them at the end. It holds no file
 * while it waits for another thread. */
void dw_descriptor_users_enter(struct descriptor_users *users);
void dw_descriptor_users_leave(struct descriptor_users *users);

/* Call open(); while no descriptor is left and others use some, wait and call it again. The
 * caller is a user that has no open file. open() is called under the lock. */
int dw_descriptor_users_open(struct descriptor_users *users, descriptor_open_fn open,
			     void *user, uint32_t entry, int *fd_out);

/* Whether others wait. A user that has nothing open then calls
 * dw_descriptor_users_notify(). */
static inline bool dw_descriptor_users_waiting(const struct descriptor_users *users)
{
	return atomic_load_explicit(&users->waiting, memory_order_relaxed) > 0;
}
void dw_descriptor_users_notify(struct descriptor_users *users);

#endif
