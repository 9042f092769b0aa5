/* SPDX-License-Identifier: MIT */
/*
 * extract/write_contents: the bytes of one file, from the image to a descriptor.
 */
#ifndef DW_EXTRACT_WRITE_CONTENTS_H
#define DW_EXTRACT_WRITE_CONTENTS_H

#include "extract/job.h"

/* Write the contents of a file to an empty file, leaving its holes. */
int dw_contents_write(struct job *job, dwarfs_inode inode, int fd, dwarfs_error **err);

#endif
