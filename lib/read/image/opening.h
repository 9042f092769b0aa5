/* SPDX-License-Identifier: MIT */
/*
 * read/image/opening: what the opening of an image reads in advance, and its progress.
 *
 * The first and the last bytes of an image are read in one round; the last ones have the
 * section index. Then the schema and the metadata are read in a second round, with the first
 * bytes of the last section that the index lists: the headers of those that it does not list
 * follow. A remote source that implements dwarfs_io_read_many_fn gets two requests, for few
 * bytes that are not needed. Sections that lie elsewhere are read one by one.
 */
#ifndef DW_READ_IMAGE_OPENING_H
#define DW_READ_IMAGE_OPENING_H

#include <dwarfs/progress.h>

#include "base/progress.h"
#include "read/image/image.h"

/* Bytes at the start and at the end of an image, and from the last section on that the index
 * lists: together at most 64 KiB, of which the header of the first section, the index, and the
 * headers of unlisted sections are used. */
#define OPENING_HEAD_BYTES ((size_t)4 << 10)
#define OPENING_TAIL_BYTES ((size_t)52 << 10)
#define OPENING_LAST_BYTES ((size_t)8 << 10)

struct held {
	uint64_t offset; /* in the image */
	size_t bytes;
	uint8_t *data; /* followed by DW_FROZEN_PADDING zeros; NULL: taken */
};

struct opening {
	struct held list[5];
	size_t count;
	struct dwarfs_progress progress;
};

/* Read the ends of an image whose range is known. */
int dw_opening_read_ends(struct dwarfs_image *image, dwarfs_error **err);

/* Keep a copy of bytes at the start of the image that were read to find it. */
int dw_opening_keep(struct dwarfs_image *image, const void *data, size_t bytes,
		    dwarfs_error **err);

/* Read schema, metadata, and the first bytes of the last section, where the index says they
 * are. */
int dw_opening_read_metadata(struct dwarfs_image *image, dwarfs_error **err);

/* Bytes of the image that are held, or NULL. */
const uint8_t *dw_opening_find(const struct dwarfs_image *image, size_t bytes,
			       uint64_t offset);

/* The same, and the caller owns them: those that begin at the offset. */
uint8_t *dw_opening_take(const struct dwarfs_image *image, size_t bytes, uint64_t offset);

/* Read bytes of the image, held or not; also after it was opened. */
int dw_image_read(const struct dwarfs_image *image, void *buffer, size_t bytes,
		  uint64_t offset, dwarfs_error **err);

/* 0, or CANCELLED if the caller has cancelled the opening. */
int dw_opening_tick(const struct dwarfs_image *image, dwarfs_error **err);

/* Free what is held; the image is open, or failed to. */
void dw_opening_free(struct opening *opening);

#endif
