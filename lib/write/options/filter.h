/* SPDX-License-Identifier: MIT */
/*
 * write/options/filter: rules that say which entries are taken.
 *
 * Rules are looked at in the order in which they were given; the first one that matches
 * decides, and what none of them matches is taken.
 */
#ifndef DW_WRITE_OPTIONS_FILTER_H
#define DW_WRITE_OPTIONS_FILTER_H

#include "base/memory.h"

struct filter;

int dw_filter_new(struct filter **filter_out, dwarfs_error **err);
void dw_filter_free(struct filter *filter); /* NULL is accepted */

/*
 * Add a rule: "+ pattern", "- pattern", or ". file" for the rules in a file, one a line.
 * DWARFS_ERR_INVALID, or why the file cannot be read; then no rule was added.
 */
int dw_filter_add(struct filter *filter, const char *rule, dwarfs_error **err);

/* Whether an entry is taken. The path is relative to the root, without slashes at its
 * ends. On any thread. */
bool dw_filter_includes(const struct filter *filter, const char *path, size_t length,
			bool is_directory);

#endif
