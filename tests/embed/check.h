/* SPDX-License-Identifier: MIT */
/*
 * For the programs that use the library as it is embedded: its header, EMBED_HEADER, and
 * CHECK(). Each is started with an image of embed.py.
 */
#ifndef EMBED_CHECK_H
#define EMBED_CHECK_H

#ifndef EMBED_HEADER
#define EMBED_HEADER <dwarfs/dwarfs.h>
#endif
#include EMBED_HEADER

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_NAME  "a.txt" /* lines of "text" */
#define TEXT_BYTES 5000u
#define DATA_NAME  "sub/b.bin" /* 0 to 255 in turn */
#define DATA_BYTES 179200u

#define CHECK(is_true)                                                                   \
	do {                                                                             \
		if (!(is_true)) {                                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #is_true);    \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

#endif
