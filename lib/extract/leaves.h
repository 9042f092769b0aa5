/* SPDX-License-Identifier: MIT */
/*
 * extract/leaves: links, devices and specials, and further names of files.
 */
#ifndef DW_EXTRACT_LEAVES_H
#define DW_EXTRACT_LEAVES_H

#include "extract/job.h"

/* Make what is neither a file nor a directory. */
int dw_leaves_make(struct job *job, dwarfs_error **err);

/* Give files that were written the rest of their names. */
void dw_leaves_make_other_names(struct job *job);

#endif
