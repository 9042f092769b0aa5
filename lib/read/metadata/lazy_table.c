/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/lazy_table: tables that are built at their first use. Does not know
 * their contents.
 *
 * There is no mutex: a child process would have a locked one for ever if a thread of its
 * parent built a table during the fork. Instead the builder is the process whose thread
 * builds, and a child takes over from any other process.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "read/metadata/lazy_table.h"

#define WAIT_NS 100000 /* between looks at a table that another thread builds */

void dw_lazy_free(struct lazy *lazy)
{
	dw_free(atomic_load(&lazy->items));
	dw_free(lazy->message);
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

/* This thread is the builder. */
static int make_once(struct lazy *lazy, dw_lazy_fn make, const void *owner,
		     dwarfs_error **err)
{
	auto_error dwarfs_error *error = NULL;
	uint32_t *items;
	int ret;

	if (atomic_load(&lazy->items))
		return 0;
	if (atomic_load(&lazy->failed) == 0) {
		ret = make(owner, &items, &error);
		if (ret == 0) {
			atomic_store_explicit(&lazy->items, items, memory_order_release);
			return 0;
		}
		if (!is_fault_of_image(ret))
			return dw_error_copy(err, ret, error);
		lazy->message = dw_strdup(dwarfs_error_message(error));
		atomic_store(&lazy->failed, ret);
	}
	ret = atomic_load(&lazy->failed);
	return dw_fail(err, ret, "%s",
		       lazy->message ? lazy->message : dwarfs_strerror(ret));
}

/* Become the builder. False if another thread of this process is. */
static bool start_building(struct lazy *lazy, long process)
{
	long builder = atomic_load(&lazy->builder);

	return builder != process &&
	       atomic_compare_exchange_strong(&lazy->builder, &builder, process);
}

int dw_lazy_make(const struct lazy *lazy, dw_lazy_fn make, const void *owner,
		 dwarfs_error **err)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	struct lazy *mutable = (struct lazy *)lazy;
	const long process = (long)getpid();
	int ret;

	while (!start_building(mutable, process)) {
		if (dw_lazy_items(lazy))
			return 0;
		nanosleep(&wait, NULL);
	}
	ret = make_once(mutable, make, owner, err);
	atomic_store(&mutable->builder, 0);
	return ret;
}
