/* SPDX-License-Identifier: MIT */
/*
 * read/io: where the bytes of an image come from. See <dwarfs/io.h>.
 */
#ifndef DW_READ_IO_H
#define DW_READ_IO_H

#include <dwarfs/io.h>

#include "base/memory.h"

dwarfs_io *dw_io_ref(dwarfs_io *io);
DW_DEFINE_AUTO(io, dwarfs_io *, dwarfs_io_free)
#define auto_io DW_AUTO(io)

#endif
