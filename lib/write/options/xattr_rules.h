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

/* All zero: store every attribute that a file can have. */
struct xattr_rules {
	bool drop; /* all */
	struct xattr_globs include, exclude;
};

void dw_xattr_rules_free(struct xattr_rules *rules);
int dw_xattr_rules_add(struct xattr_rules *rules, bool include, const char *glob,
		       dwarfs_error **err);

/*
 * Whether to store an attribute: if there are include rules, one of them must match, and
 * no exclude rule may. Attributes that a mount synthesizes (user.dwarfs.*) are never
 * stored; of system.* only access control lists are, as the others belong to the file
 * system.
 */
bool dw_xattr_rules_include(const struct xattr_rules *rules, const char *name);

#endif
