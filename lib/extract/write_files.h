/* SPDX-License-Identifier: MIT */
/*
 * extract/write_files: the contents of all files, part by part in the order of their data.
 */
#ifndef DW_EXTRACT_WRITE_FILES_H
#define DW_EXTRACT_WRITE_FILES_H

#include <pthread.h>

#include <dwarfs/file.h>

#include "extract/plan.h"

struct job;

/* Buffer size for a temporary name. */
#define FILES_NAME_ROOM 48

#define FILES_LOCKS 64

/* The files to write, one for each inode, and further names of the same inodes. */
struct files {
	struct file *list;
	size_t count, room;
	uint32_t *file_of; /* by inode: its file plus 1, 0 for none */
	struct entries others;
	pthread_mutex_t locks[FILES_LOCKS]; /* of the states of files that are shared */
};

void dw_files_init(struct files *files);
void dw_files_release(struct files *files);

/* Write all regular files of the plan, except additional hard links, each completely or
 * not at all. Failures of files are recorded in the job; errors that end the run are
 * returned. */
int dw_files_write(struct job *job, dwarfs_error **err);

/* A unique name for an incomplete file. */
void dw_files_temporary(const struct job *job, dwarfs_inode inode,
			char name[FILES_NAME_ROOM]);

#endif
