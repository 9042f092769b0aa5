/* SPDX-License-Identifier: MIT */
/*
 * image_mode: how an input of the image harnesses is opened and read.
 */
#ifndef DWARFS_FUZZ_IMAGE_MODE_H
#define DWARFS_FUZZ_IMAGE_MODE_H

#include <dwarfs/dwarfs.h>

/* An input may end with these two bytes and two more for the mode; they are not part of
 * the image. */
#define MODE_MARK  "\xf5m"
#define MODE_BYTES 4

enum source { SOURCE_MEMORY, SOURCE_FILE, SOURCE_MAPPED, SOURCE_COUNT };

struct image_mode {
	int verify;  /* a dwarfs_verify */
	int salvage; /* a dwarfs_salvage */
	enum source source;
	uint32_t workers; /* 0 to 4 */
	uint64_t cache_bytes;
	int in_order, parallel, prefetch; /* in addition to reading file by file */
};

/* Derive the mode from an input; returns the size of the image in it. Without a mark that
 * is the whole input, and the mode depends on its bytes. */
size_t image_mode_take(const uint8_t *data, size_t size, struct image_mode *mode);

/* Open the image in this mode; NULL and an error if it cannot be opened. */
dwarfs_image *image_mode_open(const struct image_mode *mode, const uint8_t *data,
			      size_t size, dwarfs_error **err);

#endif
