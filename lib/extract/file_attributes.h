/* SPDX-License-Identifier: MIT */
/*
 * extract/file_attributes: owner, extended attributes, mode and times.
 */
#ifndef DW_EXTRACT_FILE_ATTRIBUTES_H
#define DW_EXTRACT_FILE_ATTRIBUTES_H

#include "extract/job.h"

/* The attributes to set: those of the stat, or the settings of the caller. */
struct attributes dw_job_attributes(const struct job *job, const dwarfs_stat *stat);

/* Whether an inode has extended attributes that are to be restored. */
bool dw_attributes_are_more(const struct job *job, dwarfs_inode inode);

/*
 * Set owner, extended attributes, mode and times, in this order, of name in dir, or of
 * dir itself if name is "".
 */
int dw_attributes_restore(struct job *job, dwarfs_inode inode, int dir, const char *name,
			  const struct attributes *attributes, dwarfs_error **err);

#endif
