/* SPDX-License-Identifier: MIT */
/*
 * write/options/input_options: what is asked of the input, and what callbacks are told of its entries.
 */
#ifndef DW_WRITE_OPTIONS_INPUT_OPTIONS_H
#define DW_WRITE_OPTIONS_INPUT_OPTIONS_H

#include "write/builder.h"
#include "write/tree/tree.h"

/* An entry, as callbacks see it. */
struct dwarfs_input {
	const char *path;
	uint64_t size;
	int64_t mtime;
	uint32_t mode, uid, gid;
};

/* Workers that scan and inspect; 0: all is done by the thread of the run. */
uint32_t dw_input_workers(const struct build_run *run);

/* Ask the callback for the category of a file: CATEGORY_DEFAULT where it names none. */
int dw_input_category(struct build_run *run, const struct tree *tree, uint32_t inode,
		      uint32_t *category_out, dwarfs_error **err);

/* Free what the setters made. */
void dw_input_options_free(struct input_options *options);

#endif
