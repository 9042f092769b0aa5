/* SPDX-License-Identifier: MIT */
/*
 * os/io: sources of bytes. See <dwarfs/io.h>.
 */
#ifndef DW_OS_IO_H
#define DW_OS_IO_H

#include <dwarfs/io.h>

#include "base/memory.h"

dwarfs_io *dw_io_ref(dwarfs_io *io);

/* "'name'", or a word for a source without a name; valid as long as the source. */
const char *dw_io_title(const dwarfs_io *io);

/* Read all ranges, which are within the source, in one round if the source can. */
int dw_io_read_many(dwarfs_io *io, const struct dwarfs_io_range *ranges, size_t count,
		    dwarfs_error **err);

/* The bytes of a source in memory; NULL for any other. */
const uint8_t *dw_io_memory(const dwarfs_io *io);

/* The descriptor that a file is read from, or -1; *start_out is where the source begins. */
int dw_io_fd(const dwarfs_io *io, uint64_t *start_out);

/*
 * The next bytes of a stream: their number, 0 at the end, a negative DWARFS_ERR_* code, or
 * IO_WAIT if none came within wait_ms, which callbacks never return.
 */
enum { IO_WAIT = INT32_MIN };
int64_t dw_io_next(dwarfs_io *io, void *buffer, size_t bytes, int wait_ms,
		   dwarfs_error **err);

/* A stream can be read once: 0, or INVALID the second time. */
int dw_io_begin_stream(dwarfs_io *io, dwarfs_error **err);

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
