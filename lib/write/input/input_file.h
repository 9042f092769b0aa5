/* SPDX-License-Identifier: MIT */
/*
 * write/input/input_file: open and read a file of the input.
 *
 * A file below the root, a file that an item names by its path, contents in the spool, or a
 * file of an image, with one interface. Holds a descriptor and no data.
 */
#ifndef DW_WRITE_INPUT_INPUT_FILE_H
#define DW_WRITE_INPUT_INPUT_FILE_H

#include "write/build_run.h"
#include "write/input/directory_cache.h"
#include "write/tree/tree.h"

struct spool;
struct source_image;

/* Size and time of a file at the scan, to detect changes. */
struct input_file_mark {
	uint64_t size;
	int64_t mtime;
	uint32_t mtime_ns;
};

/* An open file: on disk, in the spool, or in an image. */
struct input_file {
	int fd; /* -1: elsewhere, or none */
	const struct spool *spool;
	const struct source_image *image; /* or NULL */
	void *image_file;		  /* open in it */
	uint32_t number;		  /* of the spool */
	struct input_file_mark mark;
};

#define INPUT_FILE_NONE ((struct input_file){ .fd = -1 })

/* Opens a file by its entry: dw_directory_cache_open_file(). */
typedef int (*input_file_open_fn)(void *user, uint32_t entry, int *fd_out);

/* Initialize a cache for the directories of the tree, or of the disk paths of an
 * assembly. */
void dw_input_file_init_directory_cache(struct directory_cache *cache,
					const struct build_run *run,
					const struct tree *tree, uint32_t slot_count);

/* All return a negative errno value on failure, and are thread-safe. */

int dw_input_file_open(const struct build_run *run, const struct tree_inode *inode,
		       input_file_open_fn open, void *user, struct input_file *file_out);
void dw_input_file_close(struct input_file *input_file);

/* As dw_stat_fd(): mode, size, bytes on disk and modification time. */
int dw_input_file_stat(const struct input_file *input_file, struct os_stat *stat_out);

/* As dw_fd_read_at() and dw_next_data(). */
int64_t dw_input_file_read_at(const struct input_file *input_file, void *buffer,
			      size_t size, uint64_t offset);
int dw_input_file_next_data(const struct input_file *input_file, uint64_t from,
			    uint64_t end, uint64_t *start_out, uint64_t *end_out);

/* Whether size and time are those of the scan. */
bool dw_input_file_matches(const struct input_file *input_file,
			   const struct os_stat *stat);

#endif
