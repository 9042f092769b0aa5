/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/xattr_section: extended attributes of the tree -> XATTRS section.
 */
#ifndef DW_WRITE_METADATA_XATTR_SECTION_H
#define DW_WRITE_METADATA_XATTR_SECTION_H

#include "write/tree/tree.h"

/* Needs the inode numbers and the hash of the METADATA section. Appends nothing if no
 * inode has attributes. */
int dw_xattr_section(const struct tree *tree, uint64_t metadata_xxh3, struct buffer *out,
		     dwarfs_error **err);

#endif
