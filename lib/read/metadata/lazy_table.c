/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/lazy_table: tables that are built at their first use. Does not know
 * their contents.
 */
#include <string.h>

#include "read/metadata/lazy_table.h"

int dw_lazy_init(struct lazy *lazy, dwarfs_error **err)
{
	if (pthread_mutex_init(&lazy->lock, NULL) != 0)
		return dw_fail_nomem(err);
	atomic_init(&lazy->items, NULL);
	return 0;
}

void dw_lazy_free(struct lazy *lazy)
{
	dw_free(atomic_load(&lazy->items));
	dw_free(lazy->message);
	pthread_mutex_destroy(&lazy->lock);
	atomic_store(&lazy->items, NULL);
	lazy->message = NULL;
}

/* Whether a failure is a fault of the image, so that building fails again. Others, such as
 * those of a callback that reads the image, may not happen next time. */
static bool is_fault_of_image(int code)
{
	return code == DWARFS_ERR_CORRUPT || code == DWARFS_ERR_CHECKSUM ||
	       code == DWARFS_ERR_UNSUPPORTED;
}

/* The lock is held. */
static int make_once(struct lazy *lazy, dw_lazy_fn make, const void *owner,
		     dwarfs_error **err)
{
	auto_error dwarfs_error *error = NULL;
	uint32_t *items;
	int ret;

	if (atomic_load(&lazy->items))
		return 0;
	if (lazy->failed == 0) {
		ret = make(owner, &items, &error);
		if (ret == 0) {
			atomic_store_explicit(&lazy->items, items, memory_order_release);
			return 0;
		}
		if (!is_fault_of_image(ret))
			return dw_error_copy(err, ret, error);
		lazy->failed = ret;
		lazy->message = dw_strdup(dwarfs_error_message(error));
	}
	return dw_fail(err, lazy->failed, "%s",
		       lazy->message ? lazy->message : dwarfs_strerror(lazy->failed));
}

int dw_lazy_make(const struct lazy *lazy, dw_lazy_fn make, const void *owner,
		 dwarfs_error **err)
{
	struct lazy *mutable = (struct lazy *)lazy;
	int ret;

	pthread_mutex_lock(&mutable->lock);
	ret = make_once(mutable, make, owner, err);
	pthread_mutex_unlock(&mutable->lock);
	return ret;
}
