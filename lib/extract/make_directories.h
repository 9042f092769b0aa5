/* SPDX-License-Identifier: MIT */
/*
 * extract/make_directories: the directories on disk, before and after all that is in them.
 */
#ifndef DW_EXTRACT_MAKE_DIRECTORIES_H
#define DW_EXTRACT_MAKE_DIRECTORIES_H

#include "extract/job.h"

/* Check which access control lists the target has inherited and passes on. */
int dw_directories_begin(struct job *job, dwarfs_error **err);

/* Create the required directories, or use existing ones. */
int dw_directories_make(struct job *job, dwarfs_error **err);

/* Give them their attributes. */
int dw_directories_finish(struct job *job, dwarfs_error **err);

#endif
