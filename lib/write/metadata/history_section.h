/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/history_section: contents of a HISTORY section: program, system, command
 * line.
 */
#ifndef DW_WRITE_METADATA_HISTORY_SECTION_H
#define DW_WRITE_METADATA_HISTORY_SECTION_H

#include "base/memory.h"
#include "write/options/build_options.h"

/* now: seconds since 1970, written if the options say so. */
int dw_history_section(const struct build_options *options, uint64_t now,
		       struct buffer *data_out, dwarfs_error **err);

#endif
