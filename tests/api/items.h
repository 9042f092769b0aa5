/* SPDX-License-Identifier: MIT */
/*
 * api/items: builders with items, and functions that read their images.
 *
 * Functions without an error parameter fail the test on errors.
 */
#ifndef TESTS_API_ITEMS_H
#define TESTS_API_ITEMS_H

#include "support.h"

#define FILE_MODE 0100644
#define DIR_MODE  0040755

/* A builder whose images are reproducible. */
dwarfs_builder *new_plain_builder(void);
dwarfs_item *new_item(uint32_t mode);
int add_item(dwarfs_builder *builder, const char *path, const dwarfs_item *item,
	     dwarfs_error **err);

/* Adds it, and frees it. */
void add(dwarfs_builder *builder, const char *path, dwarfs_item *item);
void add_bytes(dwarfs_builder *builder, const char *path, const void *data, size_t bytes);
void add_text(dwarfs_builder *builder, const char *path, const char *text);

/* The contents are read from a descriptor, from its position to its end. */
int set_stream(dwarfs_item *item, int fd, dwarfs_error **err);
int add_link(dwarfs_builder *builder, const char *path, const char *target,
	     dwarfs_error **err);
void hard_link(dwarfs_builder *builder, const char *path, const char *target);

/* The image; the builder is not freed. */
struct bytes run(dwarfs_builder *builder);

/* Run, free the builder, open the image; end() frees it and its bytes. */
dwarfs_image *finish(dwarfs_builder *builder, struct bytes *bytes);
void end(dwarfs_image *image, struct bytes *bytes);
dwarfs_stat *stat_of(const dwarfs_image *image, const char *path);
uint32_t mode_of(const dwarfs_image *image, const char *path);
bool exists(const dwarfs_image *image, const char *path);
void expect_bytes(const dwarfs_image *image, const char *path, const void *data,
		  size_t bytes);
void expect_text(const dwarfs_image *image, const char *path, const char *text);

/* Both are freed. */
void expect_same(struct bytes *a, struct bytes *b);

#endif
