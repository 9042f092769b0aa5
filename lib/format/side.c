/* SPDX-License-Identifier: MIT */
/*
 * format/side: the section types that only libdwarfs writes, in one table.
 */
#include <stddef.h>

#include "format/side.h"

static const struct {
	uint32_t type;
	const char *name;
} sides[] = {
	{ DWARFS_SECTION_XATTRS, "XATTRS" },
	{ DWARFS_SECTION_DIGESTS, "DIGESTS" },
};

const char *dw_side_name(uint32_t type)
{
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
		if (sides[i].type == type)
			return sides[i].name;
	return NULL;
}
