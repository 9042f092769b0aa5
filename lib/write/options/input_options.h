/* SPDX-License-Identifier: MIT */
/*
 * write/options/input_options: options of the input, and the entries passed to callbacks.
 */
#ifndef DW_WRITE_OPTIONS_INPUT_OPTIONS_H
#define DW_WRITE_OPTIONS_INPUT_OPTIONS_H

#include "write/build_run.h"
#include "write/tree/tree.h"

/* An entry, as passed to a callback. */
struct dwarfs_input {
	const char *path;
	uint64_t size;
	int64_t mtime;
	uint32_t mode, uid, gid;
};

/* Worker threads that scan and inspect; 0: the calling thread does all of it. */
uint32_t dw_input_workers(const struct build_run *run);

/* Call the category callback for a file; DW_ANY_CATEGORY if it names none. */
int dw_input_category(struct build_run *run, const struct tree *tree, uint32_t inode,
		      uint32_t *category_out, dwarfs_error **err);

/* Free the memory that the setters allocated. */
void dw_input_options_free(struct input_options *options);

#endif
