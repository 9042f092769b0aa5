/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Everything: build, open, walk, read, check and extract DwarFS images.
 */
#ifndef DWARFS_DWARFS_H
#define DWARFS_DWARFS_H

#include <dwarfs/api.h>
#include <dwarfs/error.h>
#include <dwarfs/context.h>
#include <dwarfs/io.h>
#include <dwarfs/progress.h>
#include <dwarfs/digest.h>
#include <dwarfs/image.h>
#include <dwarfs/metadata.h>
#include <dwarfs/walk.h>
#include <dwarfs/xattr.h>
#include <dwarfs/file.h>
#include <dwarfs/builder.h>
#include <dwarfs/item.h>
#include <dwarfs/archive.h>
#include <dwarfs/extract.h>
#include <dwarfs/salvage.h>
#include <dwarfs/compare.h>

#endif
