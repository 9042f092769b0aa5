/* SPDX-License-Identifier: MIT */
/*
 * build/xattr_section: the attributes of a tree -> the contents of a section.
 */
#ifndef DW_BUILD_XATTR_SECTION_H
#define DW_BUILD_XATTR_SECTION_H

#include "build/tree.h"

/* Inodes have their numbers, and the metadata this hash. Nothing is appended when no
 * inode has attributes. */
int dw_xattr_section(const struct tree *tree, uint64_t metadata_xxh3, struct buffer *out,
		     dwarfs_error **err);

#endif
