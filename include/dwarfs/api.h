/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Export markers, the version of the library, and the conventions of all headers.
 *
 * - What can fail returns an int: 0, or a negative DWARFS_ERR_* code. The last parameter
 *   then is `dwarfs_error **err`: pass NULL, or the address of a pointer that is NULL or
 *   holds an earlier error (which is freed and replaced). It is left alone on success.
 * - Parameters come in the order object, inputs, outputs (`*_out`), err. Outputs are set on
 *   success only.
 * - Every `*_free` accepts NULL.
 * - Strings are NUL-terminated bytes. Names and paths have no encoding: they are stored and
 *   returned byte for byte.
 * - A string that is returned is borrowed: it lives as long as the object it came from,
 *   unless the comment says less.
 * - "Threads: any" means that any number of threads may call the function at once, on the
 *   same object too. "Threads: one" means one thread at a time for each object.
 * - The library never prints, exits, aborts, or reads the environment, and changes nothing
 *   of the process: working directory, umask, locale and signals stay as they are.
 */
#ifndef DWARFS_API_H
#define DWARFS_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define DWARFS_BEGIN_DECLS extern "C" {
#define DWARFS_END_DECLS   }
#else
#define DWARFS_BEGIN_DECLS
#define DWARFS_END_DECLS
#endif

#if defined(SWIG)
#define DWARFS_API
#elif defined(__GNUC__)
#define DWARFS_API __attribute__((visibility("default")))
#else
#define DWARFS_API
#endif

#define DWARFS_VERSION_MAJOR 0
#define DWARFS_VERSION_MINOR 1
#define DWARFS_VERSION_PATCH 0

DWARFS_BEGIN_DECLS

/**
 * The version of the library that is running, such as "0.1.0".
 *
 * @return a static string
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_version_string(void);

DWARFS_END_DECLS

#endif
