/* SPDX-License-Identifier: MIT */
/*
 * read/io: where the bytes of an image come from. See <dwarfs/io.h>.
 */
#ifndef DW_READ_IO_H
#define DW_READ_IO_H

#include <dwarfs/io.h>

#include "base/memory.h"

dwarfs_io *dw_io_ref(dwarfs_io *io);

/* Map the file of a source, for the functions below; without effect when it is mapped
 * already, has no file, or cannot be mapped. Threads: any. */
void dw_io_make_map(dwarfs_io *io);

/*
 * Where bytes of a source are, when they can be used in place: those of a source in
 * memory, and, with is_mapped, of a file that dw_io_make_map() has mapped. Else NULL, and
 * they have to be read. Given back by dw_io_unmap().
 */
const uint8_t *dw_io_map(dwarfs_io *io, bool is_mapped, size_t bytes, uint64_t offset);
/* The same, but no page of a file is read: a failure to read one raises SIGBUS when it is
 * used. */
const uint8_t *dw_io_map_unread(dwarfs_io *io, bool is_mapped, size_t bytes,
				uint64_t offset);
void dw_io_unmap(dwarfs_io *io, const uint8_t *data, size_t bytes);
DW_DEFINE_AUTO(io, dwarfs_io *, dwarfs_io_free)
#define auto_io DW_AUTO(io)

#endif
