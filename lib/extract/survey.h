/* SPDX-License-Identifier: MIT */
/*
 * extract/survey: list the entries to extract.
 */
#ifndef DW_EXTRACT_SURVEY_H
#define DW_EXTRACT_SURVEY_H

#include "extract/job.h"

/* Fill the plan, the list of regular files and that of other entries, and the totals of
 * the progress. Touches no disk. */
int dw_survey(struct job *job, dwarfs_error **err);

#endif
