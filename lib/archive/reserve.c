/* SPDX-License-Identifier: MIT */
/*
 * archive/reserve: memory that libarchive will need.
 *
 * Where one of its own allocations fails, libarchive (as of 3.6.2) does not always
 * say so: it uses NULL, or ends the process, and no caller can prevent that. Most of them
 * are made when an archive is opened. So this is tried before with more than these take
 * without a large dictionary; a process that has less fails in time, and properly.
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
