/* SPDX-License-Identifier: MIT */
/*
 * build/raw: the bytes of a file of the input, wherever they are.
 *
 * A file below the root, one that was given by its path, or contents of the spool: who
 * reads need not know. Nothing is kept of it but a descriptor.
 */
#ifndef DW_BUILD_RAW_H
#define DW_BUILD_RAW_H

#include "build/builder.h"
#include "build/folders.h"
#include "build/tree.h"

struct spool;

/* What was seen of a file by the scan, to be compared with later. */
struct raw_mark {
	uint64_t size;
	int64_t mtime;
	uint32_t mtime_ns;
};

/* An open file. */
struct raw {
	int fd; /* -1: in the spool, or none */
	const struct spool *spool;
	uint32_t number; /* of the spool */
	struct raw_mark mark;
};

#define RAW_NONE ((struct raw){ .fd = -1 })

struct raw_mark dw_raw_mark(const struct build_run *run, const struct tree_inode *inode);

/* How a file is opened that is below the root, or at a place: dw_folders_open_file(). */
typedef int (*raw_open_fn)(void *user, uint32_t entry, int *fd_out);

/* Folders for that: of the tree, or of the places of an assembly. */
void dw_raw_init_folders(struct folders *folders, const struct build_run *run,
			 const struct tree *tree, uint32_t slot_count);

/* All give 0, or more, or a negative errno value. On any thread. */

int dw_raw_open(const struct build_run *run, const struct tree_inode *inode,
		raw_open_fn open, void *user, struct raw *raw_out);
void dw_raw_close(struct raw *raw);

/* As dw_stat_fd(): mode, size, bytes on disk and modification time. */
int dw_raw_stat(const struct raw *raw, struct os_stat *stat_out);

/* As dw_fd_read_at() and dw_next_data(). */
int64_t dw_raw_read_at(const struct raw *raw, void *buffer, size_t size, uint64_t offset);
int dw_raw_next_data(const struct raw *raw, uint64_t from, uint64_t end,
		     uint64_t *start_out, uint64_t *end_out);

/* Whether it has size and time as scanned. */
bool dw_raw_matches(const struct raw *raw, const struct os_stat *stat);

#endif
