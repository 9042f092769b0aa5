/* SPDX-License-Identifier: MIT */
/*
 * craft: make images section by section, valid or invalid, in memory.
 *
 * Writes headers and hashes of sections; the test supplies the payloads.
 */
#ifndef TESTS_SUPPORT_CRAFT_H
#define TESTS_SUPPORT_CRAFT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dwarfs/file.h>

#include "base/memory.h"

struct craft {
	struct buffer bytes;
	uint32_t sections;
	uint64_t index[64]; /* entries of an index of all sections */
};
#define auto_craft __attribute__((cleanup(craft_free)))
void craft_free(struct craft *craft);

/* Append a section of version 2, with the next number and right hashes. */
void craft_section(struct craft *craft, uint32_t type, uint32_t compression,
		   const void *data, size_t size);
/* Append an index of the sections so far, without a number of the last ones, which it
 * omits. */
void craft_index(struct craft *craft, uint32_t hidden);

/* Append schema and metadata. */
struct freeze_metadata;
void craft_metadata(struct craft *craft, const struct freeze_metadata *metadata);

/*
 * Append schema and metadata of a root directory with files "f00000", "f00001" ... File i
 * has the chunks table[i] to table[i + 1] - 1. hole_block: 0 for images without holes.
 */
struct craft_chunk {
	uint32_t block, offset, size;
};
void craft_files(struct craft *craft, const struct craft_chunk *chunks,
		 const uint32_t *table, uint32_t files, uint32_t block_bytes,
		 uint32_t hole_block);

/* Walk the sections of an image of version 2 and set both hashes of each. */
void craft_rehash(uint8_t *image, size_t size);

/* Open from memory; the bytes must outlive the image. */
int craft_try(const void *image, size_t size, dwarfs_context *context,
	      dwarfs_image **image_out, dwarfs_error **err);
/* As before; the test fails if it cannot be opened. */
dwarfs_image *craft_open(const struct craft *craft, dwarfs_context *context);

/* End the test program if it hangs. */
void craft_expect_end(unsigned seconds);

DW_DEFINE_AUTO(test_image, dwarfs_image *, dwarfs_image_free)
#define auto_test_image DW_AUTO(test_image)

#endif
