/* SPDX-License-Identifier: MIT */
/*
 * extract/leaves: links, devices and specials, and further names of files.
 */
#ifndef DW_EXTRACT_LEAVES_H
#define DW_EXTRACT_LEAVES_H

#include "extract/job.h"

/* Make entries that are neither files nor directories. */
int dw_leaves_make(struct job *job, dwarfs_error **err);

/* Make the hard links to files that were written. */
void dw_leaves_make_other_names(struct job *job);

#endif
