/* SPDX-License-Identifier: MIT */
/*
 * extract/select_entries: list the entries to extract.
 */
#ifndef DW_EXTRACT_SELECT_ENTRIES_H
#define DW_EXTRACT_SELECT_ENTRIES_H

#include "extract/job.h"

/* Fill the plan, the list of regular files and that of other entries, and the totals of
 * the progress. Touches no disk. */
int dw_select_entries(struct job *job, dwarfs_error **err);

#endif
