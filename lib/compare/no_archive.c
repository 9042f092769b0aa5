/* SPDX-License-Identifier: MIT */
/*
 * compare/no_archive: replaces from_archive in a build without libarchive.
 */
#include "compare/side.h"

bool dw_can_list_archives(void)
{
	return false;
}

int dw_is_archive(dwarfs_io *io, dwarfs_error **err)
{
	(void)io;
	(void)err;
	return 0;
}

int dw_list_archive(struct side *side, struct dwarfs_progress *progress,
		    dwarfs_error **err)
{
	(void)side;
	(void)progress;
	return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
		       "archives were not built in (they need libarchive)");
}
