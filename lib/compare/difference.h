/* SPDX-License-Identifier: MIT */
/*
 * compare/difference: one difference, and how it is reported.
 */
#ifndef DW_COMPARE_DIFFERENCE_H
#define DW_COMPARE_DIFFERENCE_H

#include "compare/differ.h"

struct dwarfs_difference {
	int kind;
	const char *path;
	const char *name;
	const char *values[2];
	size_t bytes[2];
};

/* Count a difference at the path that is compared, and report it, unless its kind is ignored. The
 * path is made here, and only if it is used: it may be long. */
int dw_differ_tell(struct differ *differ, dwarfs_difference difference,
		   dwarfs_error **err);

/* Of two texts with a NUL, of which either may be NULL. */
int dw_differ_tell_texts(struct differ *differ, int kind, const char *a, const char *b,
			 dwarfs_error **err);

/* The word for the type of an entry. */
const char *dw_difference_type_name(uint32_t mode);

#endif
