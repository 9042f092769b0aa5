/* SPDX-License-Identifier: MIT */
/*
 * write/options/xattr_rules: which extended attributes are stored.
 */
#ifndef DW_WRITE_OPTIONS_XATTR_RULES_H
#define DW_WRITE_OPTIONS_XATTR_RULES_H

#include "base/memory.h"

struct xattr_globs {
	char **list;
	size_t count, room;
};

/* All zero: all that a file can own. */
struct xattr_rules {
	bool drop; /* all */
	struct xattr_globs include, exclude;
};

void dw_xattr_rules_free(struct xattr_rules *rules);
int dw_xattr_rules_add(struct xattr_rules *rules, bool include, const char *glob,
		       dwarfs_error **err);

/*
 * Whether to store an attribute: when rules to include are given, one of them must match,
 * and none to exclude may. Never those that a mount makes up (user.dwarfs.*), and of
 * system.* only access control lists, as the rest is the file system's own.
 */
bool dw_xattr_rules_include(const struct xattr_rules *rules, const char *name);

#endif
