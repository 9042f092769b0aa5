/* SPDX-License-Identifier: MIT */
/*
 * archive/reserve: check that libarchive will have memory.
 */
#ifndef DW_ARCHIVE_RESERVE_H
#define DW_ARCHIVE_RESERVE_H

#include "base/error.h"

/* NOMEM when there is clearly not enough memory to begin with an archive. */
int dw_archive_reserve(dwarfs_error **err);

#endif
