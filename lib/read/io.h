/* SPDX-License-Identifier: MIT */
/*
 * read/io: the source of an image's bytes. See <dwarfs/io.h>.
 */
#ifndef DW_READ_IO_H
#define DW_READ_IO_H

#include <dwarfs/io.h>

#include "base/memory.h"

dwarfs_io *dw_io_ref(dwarfs_io *io);

/* Map the file of a source, for the functions below; no effect if it is mapped, has no
 * file, or cannot be mapped. Threads: any. */
void dw_io_make_map(dwarfs_io *io);

/* The address of bytes that can be used in place: of a source in memory and, with
 * is_mapped, of a file mapped by dw_io_make_map(). Otherwise NULL: they have to be
 * read. Release with dw_io_unmap(). */
const uint8_t *dw_io_map(dwarfs_io *io, bool is_mapped, size_t bytes, uint64_t offset);
/* The same, but reads no page of the file: an I/O error at its first use raises
 * SIGBUS. */
const uint8_t *dw_io_map_unread(dwarfs_io *io, bool is_mapped, size_t bytes,
				uint64_t offset);
void dw_io_unmap(dwarfs_io *io, const uint8_t *data, size_t bytes);
DW_DEFINE_AUTO(io, dwarfs_io *, dwarfs_io_free)
#define auto_io DW_AUTO(io)

#endif
