/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/xattr_section: the attributes of a tree -> the contents of a section.
 */
#ifndef DW_WRITE_METADATA_XATTR_SECTION_H
#define DW_WRITE_METADATA_XATTR_SECTION_H

#include "write/tree/tree.h"

/* Inodes have their numbers, and the metadata this hash. Nothing is appended when no
 * inode has attributes. */
int dw_xattr_section(const struct tree *tree, uint64_t metadata_xxh3, struct buffer *out,
		     dwarfs_error **err);

#endif
