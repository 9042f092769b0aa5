/* SPDX-License-Identifier: MIT */
/*
 * extract/contents: the bytes of one file, from the image to a descriptor.
 */
#ifndef DW_EXTRACT_CONTENTS_H
#define DW_EXTRACT_CONTENTS_H

#include <dwarfs/file.h>

#include "base/progress.h"

#define CONTENTS_BUFFER_BYTES ((size_t)1 << 20)

/*
 * Write the contents of a file to an empty file, leaving its holes. buffer has room for
 * CONTENTS_BUFFER_BYTES. progress->bytes_done grows by the size of the file.
 */
int dw_contents_write(const dwarfs_image *image, dwarfs_inode inode, int fd, void *buffer,
		      struct dwarfs_progress *progress, dwarfs_error **err);

#endif
