/* SPDX-License-Identifier: MIT */
/*
 * extract/make_directories: the directories on disk, before and after all that is in them.
 */
#ifndef DW_EXTRACT_MAKE_DIRECTORIES_H
#define DW_EXTRACT_MAKE_DIRECTORIES_H

#include "extract/job.h"

/* See what the target hands down to what is made in it, and has inherited itself. */
int dw_folders_begin(struct job *job, dwarfs_error **err);

/* Make the directories that are needed, or accept those that are there. */
int dw_folders_make(struct job *job, dwarfs_error **err);

/* Give them their attributes. */
int dw_folders_finish(struct job *job, dwarfs_error **err);

#endif
