/* SPDX-License-Identifier: MIT */
/*
 * Input trees, builders, and functions that read the result.
 */
#ifndef TESTS_SUPPORT_WRITE_RUN_H
#define TESTS_SUPPORT_WRITE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dwarfs/dwarfs.h>

#include "support/temporary.h"

/* A separate folder for each test: "in" is the input, "out" the image, "out/x" a place
 * for outputs. */
struct place {
	char root[TEMPORARY_BYTES];
	char in[80];
	char outputs[80];
	char image[96];
};

int make_place(void **state);
int remove_place(void **state);

/* A path in the input; valid until eight later calls. */
const char *in(const struct place *place, const char *name);

void put_file(const struct place *place, const char *name, const void *data, size_t size);
void put_text(const struct place *place, const char *name, const char *text);
void put_dir(const struct place *place, const char *name);

/* Sources, objects and documents in four directories. */
void put_sources(const struct place *place);

/* The number of entries of a folder on disk. */
unsigned count_entries(const char *folder);

/* A builder with the input, level 1 and these workers. */
dwarfs_builder *new_builder(const struct place *place, uint32_t workers);

/* Build to place->image with a log into last_message(). */
int build(dwarfs_builder *builder, const struct place *place);
const char *all_messages(void);

/* The image passes the full check. */
dwarfs_image *open_image(const struct place *place);

/* Build, free the builder, and open the image; the run must count this many errors. */
dwarfs_image *build_and_open(dwarfs_builder *builder, const struct place *place,
			     uint64_t errors);

bool has_entry(dwarfs_image *image, const char *path);

/* Check the contents of a file of the image; returns its inode. */
dwarfs_inode expect_bytes(dwarfs_image *image, const char *path, const void *data,
			  size_t size);
dwarfs_inode expect_text(dwarfs_image *image, const char *path, const char *text);

#endif
