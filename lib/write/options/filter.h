/* SPDX-License-Identifier: MIT */
/*
 * write/options/filter: rules that include and exclude entries.
 *
 * The first rule that matches an entry decides, in the order in which rules were added.
 * An entry that no rule matches is included.
 */
#ifndef DW_WRITE_OPTIONS_FILTER_H
#define DW_WRITE_OPTIONS_FILTER_H

#include "base/memory.h"

struct filter;

int dw_filter_new(struct filter **filter_out, dwarfs_error **err);
void dw_filter_free(struct filter *filter); /* NULL is accepted */

/*
 * Add a rule: "+ pattern", "- pattern", or ". file" for a file of rules, one per line.
 * Fails with DWARFS_ERR_INVALID or the reason why the file cannot be read; no rule is
 * added then.
 */
int dw_filter_add(struct filter *filter, const char *rule, dwarfs_error **err);

/* Whether an entry is included. The path is relative to the root, without a slash at
 * either end. Thread-safe. */
bool dw_filter_includes(const struct filter *filter, const char *path, size_t length,
			bool is_directory);

#endif
