/* SPDX-License-Identifier: MIT */
/*
 * archive/libarchive: the table of functions of a handle.
 */
#include "archive/libarchive.h"
#include "base/memory.h"

/* Of every version from 3.0 on. */
#define LIBARCHIVE_FILE "libarchive.so.13"

int dw_libarchive_new(const struct libarchive **la_out, dwarfs_error **err)
{
	auto_free struct libarchive *la = dw_malloc(sizeof(*la));
	int ret;

	if (!la)
		return dw_fail_nomem(err);
	ret = DW_FILL_SYMBOLS(LIBARCHIVE_FUNCTIONS, la, LIBARCHIVE_FILE,
			      "archives need libarchive", err);
	if (ret == 0)
		*la_out = dw_steal(la);
	return ret;
}

void dw_libarchive_free(const struct libarchive *la)
{
	dw_free((void *)(uintptr_t)la);
}
