/* SPDX-License-Identifier: MIT */
/*
 * write/input/entry_details: what an entry has besides what stat() tells.
 */
#ifndef DW_WRITE_INPUT_ENTRY_DETAILS_H
#define DW_WRITE_INPUT_ENTRY_DETAILS_H

#include "os/dir.h"
#include "write/builder.h"

/* Whether other times than the last modification are kept. */
static inline bool dw_keeps_times(const struct build_options *options)
{
	return options->keep_all_times || options->keep_birth_times;
}

/*
 * As far as the options want it: the time of birth, into stat, and the extended
 * attributes, appended as by dw_xattr_list_append(). "" is the directory itself. What
 * cannot be read is left out; *errnum_out says why, or is 0. On any thread. 0 or -ENOMEM.
 */
int dw_entry_details(const struct build_options *options, int dir, const char *name,
		      struct os_stat *stat, struct buffer *xattrs, int *errnum_out);

#endif
