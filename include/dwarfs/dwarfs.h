/* SPDX-License-Identifier: MIT */
/**
 * @file
 * All headers: build, open, walk, read, check and extract DwarFS images.
 */
#ifndef DWARFS_DWARFS_H
#define DWARFS_DWARFS_H

#include <dwarfs/reader.h>
#include <dwarfs/sink.h>
#include <dwarfs/builder.h>
#include <dwarfs/item.h>
#include <dwarfs/rewrite.h>
#include <dwarfs/archive.h>
#include <dwarfs/extract.h>
#include <dwarfs/compare.h>

#endif
