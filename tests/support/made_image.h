/* SPDX-License-Identifier: MIT */
/*
 * made_image: images made by a builder in memory, for tests of images as inputs.
 *
 * Errors fail the test.
 */
#ifndef TESTS_SUPPORT_MADE_IMAGE_H
#define TESTS_SUPPORT_MADE_IMAGE_H

#include <dwarfs/dwarfs.h>
#include <dwarfs/rewrite.h>

#include "base/memory.h"

#define MADE_BLOCK_BITS 12

struct made_image {
	struct buffer bytes;
	dwarfs_image *image;
};

void made_image_free(struct made_image *made);
#define auto_made __attribute__((cleanup(made_image_free)))

/* A builder without threads: blocks of 4 KiB that are not compressed, no times of its own,
 * every type of entry. */
dwarfs_builder *made_builder(void);

/* The same; its warnings are passed on. */
dwarfs_builder *made_builder_with_log(dwarfs_log_fn log, void *user);
DW_DEFINE_AUTO(made_builder, dwarfs_builder *, dwarfs_builder_free)
#define auto_made_builder DW_AUTO(made_builder)

/* Add a regular file with these bytes, which must exist until the builder has run. */
void made_add(dwarfs_builder *builder, const char *path, const void *data, size_t bytes);
void made_add_text(dwarfs_builder *builder, const char *path, const char *text);

/* Run the builder, and open the image: with verification as the mode says. */
void made_finish(dwarfs_builder *builder, struct made_image *made);
void made_open(struct made_image *made, enum dwarfs_verify mode);

/* Rewrite an image; the result, and what was made of it. */
int made_rewrite(const struct made_image *from, uint32_t parts, dwarfs_builder *builder,
		 struct made_image *to, dwarfs_error **err);

/* Whether an entry exists; its attributes; its contents. */
bool made_has(const struct made_image *made, const char *path);
dwarfs_inode made_inode(const struct made_image *made, const char *path);
void made_expect(const struct made_image *made, const char *path, const void *data,
		 size_t bytes);
void made_expect_text(const struct made_image *made, const char *path, const char *text);

/* The stored bytes of a section: the nth of its type. Empty if there are fewer. */
struct span made_section(const struct made_image *made, uint32_t type, uint32_t number);

/* Flip a bit of the payload of a block in the bytes. */
void made_damage(struct made_image *made, uint32_t block, size_t at);

#endif
