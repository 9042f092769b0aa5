/* SPDX-License-Identifier: MIT */
/*
 * extract/special_entries: links, devices and specials, and further names of files.
 */
#ifndef DW_EXTRACT_SPECIAL_ENTRIES_H
#define DW_EXTRACT_SPECIAL_ENTRIES_H

#include "extract/job.h"

/* Make entries that are neither files nor directories. */
int dw_special_entries_make(struct job *job, dwarfs_error **err);

/* Make the hard links to files that were written. */
void dw_hard_links_make(struct job *job);

#endif
