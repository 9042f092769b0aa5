/* SPDX-License-Identifier: MIT */
/*
 * A table as text: lzma makes it smaller than zstd by a third and more.
 */
#ifndef TESTS_SUPPORT_BORDERS_H
#define TESTS_SUPPORT_BORDERS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/random.h"

/* Borders: degrees of latitude, which decrease, and two of longitude, which change seldom. */
static inline void fill_with_borders(uint8_t *out, size_t size)
{
	uint32_t random = 1, west = 1900, east = 2100, north = 8999;

	for (size_t at = 0; at < size;) {
		char line[64];
		int length = snprintf(line, sizeof(line), "\t%u.%02u\t%u.%02u\t%u.%02u\n",
				      north / 100, north % 100, west / 100, west % 100,
				      east / 100, east % 100);

		if ((size_t)length > size - at)
			length = (int)(size - at);
		memcpy(out + at, line, (size_t)length);
		at += (size_t)length;
		north = north ? north - 1 : 8999;
		if (next_random(&random) % 32 == 0)
			west += next_random(&random) % 101 - 50;
		if (next_random(&random) % 32 == 0)
			east += next_random(&random) % 101 - 50;
		west = west > 17000 ? 1900 : west;
		east = east > 17000 ? 2100 : east;
	}
}

#endif
