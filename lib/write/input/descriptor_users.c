/* SPDX-License-Identifier: MIT */
/*
 * write/input/descriptor_users: threads that open files of the input.
 *
 * A lack of descriptors is an error only when no other thread uses any: it is checked under
 * the lock, which users take to enter. A user that waits has nothing open, so users never
 * wait in a circle.
 */
#include <errno.h>

#include "os/file_io.h"
#include "write/input/descriptor_users.h"

int dw_descriptor_users_init(struct descriptor_users *users)
{
	if (pthread_mutex_init(&users->lock, NULL) != 0)
		return -ENOMEM;
	if (pthread_cond_init(&users->released, NULL) != 0) {
		pthread_mutex_destroy(&users->lock);
		return -ENOMEM;
	}
	users->count = 0;
	atomic_init(&users->waiting, 0);
	return 0;
}

void dw_descriptor_users_destroy(struct descriptor_users *users)
{
	pthread_cond_destroy(&users->released);
	pthread_mutex_destroy(&users->lock);
}

void dw_descriptor_users_enter(struct descriptor_users *users)
{
	pthread_mutex_lock(&users->lock);
	users->count++;
	pthread_mutex_unlock(&users->lock);
}

void dw_descriptor_users_leave(struct descriptor_users *users)
{
	pthread_mutex_lock(&users->lock);
	users->count--;
	if (dw_descriptor_users_waiting(users))
		pthread_cond_broadcast(&users->released);
	pthread_mutex_unlock(&users->lock);
}

void dw_descriptor_users_notify(struct descriptor_users *users)
{
	pthread_mutex_lock(&users->lock);
	pthread_cond_broadcast(&users->released);
	pthread_mutex_unlock(&users->lock);
}

int dw_descriptor_users_open(struct descriptor_users *users, descriptor_open_fn open,
			     void *user, uint32_t entry, int *fd_out)
{
	int ret = open(user, entry, fd_out);

	if (!dw_fd_is_exhausted(-ret))
		return ret;
	pthread_mutex_lock(&users->lock);
	users->count--;
	while (ret = open(user, entry, fd_out),
	       dw_fd_is_exhausted(-ret) && users->count > 0) {
		atomic_fetch_add(&users->waiting, 1);
		pthread_cond_wait(&users->released, &users->lock);
		atomic_fetch_sub(&users->waiting, 1);
	}
	users->count++;
	pthread_mutex_unlock(&users->lock);
	return ret;
}
