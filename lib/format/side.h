/* SPDX-License-Identifier: MIT */
/*
 * format/side: the section types that only libdwarfs writes, in one table.
 *
 * They contain data for which the format has no section, and are stored between the last
 * section that the index lists and the index. See dwarfs-format(5).
 */
#ifndef DW_FORMAT_SIDE_H
#define DW_FORMAT_SIDE_H

#include <dwarfs/image.h>

/* All of our types, including future ones. */
#define DW_SIDE_FIRST 0xD000
#define DW_SIDE_LAST  0xDFFF

/* The name of a type, as tools show it; NULL if unknown. */
const char *dw_side_name(uint32_t type);

/* Whether the format itself defines a type. */
static inline bool dw_is_core_type(uint32_t type)
{
	switch (type) {
	case DWARFS_SECTION_BLOCK:
	case DWARFS_SECTION_SCHEMA:
	case DWARFS_SECTION_METADATA:
	case DWARFS_SECTION_INDEX:
	case DWARFS_SECTION_HISTORY:
		return true;
	default:
		return false;
	}
}

#endif
