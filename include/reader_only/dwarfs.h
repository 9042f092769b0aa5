/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Everything of a library that was built without the writer.
 */
#ifndef DWARFS_DWARFS_H
#define DWARFS_DWARFS_H

#include <dwarfs/reader.h>

#endif
