/* SPDX-License-Identifier: MIT */
/*
 * archive/reserve: check that libarchive will have memory.
 *
 * When one of its allocations fails, libarchive (as of 3.6.2) may use NULL or end the
 * process, which no caller can prevent. Most allocations are made when an archive is
 * opened. So a larger block than these take without a large dictionary is allocated
 * before: if that fails, the caller gets an error.
 */
#include "archive/reserve.h"
#include "base/memory.h"

#define RESERVE_BYTES ((size_t)16 << 20)

int dw_archive_reserve(dwarfs_error **err)
{
	void *volatile reserve = dw_malloc(RESERVE_BYTES);

	if (!reserve)
		return dw_fail_nomem(err);
	dw_free(reserve);
	return 0;
}
