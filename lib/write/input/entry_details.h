/* SPDX-License-Identifier: MIT */
/*
 * write/input/entry_details: birth time and extended attributes of an entry.
 */
#ifndef DW_WRITE_INPUT_ENTRY_DETAILS_H
#define DW_WRITE_INPUT_ENTRY_DETAILS_H

#include "os/dir.h"
#include "write/options/build_options.h"

/* Whether times other than the modification time are stored. */
static inline bool dw_keeps_times(const struct build_options *options)
{
	return options->keep_all_times || options->keep_birth_times;
}

/*
 * Read what the options ask for: the birth time, into stat, and the extended attributes,
 * appended as by dw_xattr_list_append(). The name "" is the directory itself. Attributes
 * that cannot be read are left out; *errnum_out is the reason, or 0. Thread-safe. 0 or
 * -ENOMEM.
 */
int dw_entry_details(const struct build_options *options, int dir, const char *name,
		     struct os_stat *stat, struct buffer *xattrs, int *errnum_out);

#endif
