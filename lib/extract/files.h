/* SPDX-License-Identifier: MIT */
/*
 * extract/files: the contents of all files, piece by piece in the order of their data.
 */
#ifndef DW_EXTRACT_FILES_H
#define DW_EXTRACT_FILES_H

#include <dwarfs/file.h>

#include "base/memory.h"

struct job;

/* The files to write, one for each inode, and further names of the same inodes. */
struct files {
	struct file *list;
	size_t count, room;
	uint32_t *file_of; /* by inode: its file plus 1, 0 for none */
	dwarfs_entry *others;
	size_t other_count, other_room;

	/* The one that is open. */
	struct file *current;
	int fd;
};

int dw_files_add(struct files *files, const dwarfs_image *image, dwarfs_entry entry,
		 dwarfs_inode inode, dwarfs_error **err);
void dw_files_release(struct files *files);

/* Write them all, each whole or not at all. Failures of files are noted in the job; what
 * ends the run comes back. */
int dw_files_write(struct job *job, dwarfs_error **err);

#endif
