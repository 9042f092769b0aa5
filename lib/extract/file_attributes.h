/* SPDX-License-Identifier: MIT */
/*
 * extract/file_attributes: what entries have besides contents.
 */
#ifndef DW_EXTRACT_FILE_ATTRIBUTES_H
#define DW_EXTRACT_FILE_ATTRIBUTES_H

#include "extract/job.h"

/* What a stat says, and what the caller wants instead. */
struct attributes dw_job_attributes(const struct job *job, const dwarfs_stat *stat);

/* Whether an inode has extended attributes that are to be restored. */
bool dw_attributes_are_more(const struct job *job, dwarfs_inode inode);

/*
 * Give what was made its owner, extended attributes, mode and times, in this order. name
 * is one in dir; "" is for what dir itself is a descriptor of.
 */
int dw_attributes_restore(struct job *job, dwarfs_inode inode, int dir, const char *name,
			  const struct attributes *attributes, dwarfs_error **err);

#endif
