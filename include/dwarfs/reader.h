/* SPDX-License-Identifier: MIT */
/**
 * @file
 * What a program needs that only reads: open, walk, read, check and salvage DwarFS images. All
 * of it is in the library dwarfs-reader.
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
