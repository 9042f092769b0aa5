/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The headers for programs that only read: open, walk, read, check and salvage DwarFS
 * images. The library dwarfs-reader has all of their functions.
 */
#ifndef DWARFS_READER_H
#define DWARFS_READER_H

#include <dwarfs/api.h>
#include <dwarfs/error.h>
#include <dwarfs/allocator.h>
#include <dwarfs/context.h>
#include <dwarfs/io.h>
#include <dwarfs/progress.h>
#include <dwarfs/digest.h>
#include <dwarfs/image.h>
#include <dwarfs/metadata.h>
#include <dwarfs/walk.h>
#include <dwarfs/xattr.h>
#include <dwarfs/file.h>
#include <dwarfs/salvage.h>

#endif
