/* SPDX-License-Identifier: MIT */
/*
 * read/io: where the bytes of an image come from. See <dwarfs/io.h>.
 */
#ifndef DW_READ_IO_H
#define DW_READ_IO_H

#include <dwarfs/io.h>

#include "base/memory.h"

dwarfs_io *dw_io_ref(dwarfs_io *io);

/*
 * Bytes of a source that are in memory, or a file that can be mapped: where they are, or
 * NULL, and dwarfs_io_read() has to do. Given back by dw_io_unmap().
 */
const uint8_t *dw_io_map(dwarfs_io *io, size_t bytes, uint64_t offset);
/* The same, but nothing is read yet: where the source cannot be read, that shows when its
 * bytes are touched, by the signal that mapped files have for it. */
const uint8_t *dw_io_map_unread(dwarfs_io *io, size_t bytes, uint64_t offset);
void dw_io_unmap(dwarfs_io *io, const uint8_t *data, size_t bytes);
DW_DEFINE_AUTO(io, dwarfs_io *, dwarfs_io_free)
#define auto_io DW_AUTO(io)

#endif
