/* SPDX-License-Identifier: MIT */
/*
 * The image of support/one_file.h, whose bytes are all known, and its sections.
 */
#ifndef TESTS_READ_KNOWN_H
#define TESTS_READ_KNOWN_H

#include "support/craft.h"
#include "support/one_file.h"

struct findings {
	int warnings, errors, silent;
};

/* The sections of the image, but for its index: block, schema, metadata. */
extern const struct known_part {
	uint32_t type;
	size_t at, size;
} parts[3];

dwarfs_image *open_one_file(void);
/* Open bytes for salvage in a dwarfs_salvage mode; they must outlive the image. */
dwarfs_image *open_for_salvage(const void *bytes, size_t size, int mode);
void add_part(struct craft *craft, int part);
void add_history(struct craft *craft, uint64_t steps, size_t text);
/* Call everything that reads an image, which may be damaged. */
void exercise(dwarfs_image *image);
void find(enum dwarfs_finding severity, int code, int64_t section, const char *message,
	  void *user);
dwarfs_context *quiet_context(void);
void assert_reads_hi(const dwarfs_image *image);

#endif
