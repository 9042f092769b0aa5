/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Export markers, the version of the library, and the conventions of all headers.
 *
 * - What can fail returns an int: 0, or a negative DWARFS_ERR_* code. The last parameter
 *   then is `dwarfs_error **err`: pass NULL, or the address of a pointer that is NULL or
 *   holds an earlier error (which is freed and replaced). On success *err is not changed.
 *   Each of these functions may also return DWARFS_ERR_NOMEM, whether its comment names it or not.
 * - Parameters come in the order object, inputs, outputs (`*_out`), err. Outputs are set on
 *   success only, unless the comment says otherwise.
 * - Every `*_free` accepts NULL. Other parameters may be NULL only where the comment says so:
 *   otherwise functions with err return DWARFS_ERR_INVALID, others 0, false or NULL, or do
 *   nothing.
 * - Strings are NUL-terminated bytes. Names and paths have no encoding: they are stored and
 *   returned byte for byte.
 * - A string that is returned is borrowed: it is valid as long as the object that
 *   returned it, unless the comment gives a shorter lifetime.
 * - A callback that can fail returns an int by the same rule: 0 to go on (or 1 where its
 *   comment gives that a meaning), a negative DWARFS_ERR_* code to stop. The function that
 *   called it then stops and returns that code. Any other value that is not 0 counts as
 *   DWARFS_ERR_CANCELLED. Its last two parameters are `dwarfs_error **err` and user. To give
 *   a reason, it calls dwarfs_error_set() with this err; if it gives none, the error says
 *   only that the callback failed. Callbacks that cannot fail return void.
 * - "Threads: any" means that any number of threads may call the function at once, on the
 *   same object too. "Threads: one" means one thread at a time for each object.
 * - The library never prints, exits, aborts, or reads the environment, and changes nothing
 *   of the process: working directory, umask, locale and signals stay as they are. One
 *   exception: libarchive reads TMPDIR for some formats, see <dwarfs/archive.h>.
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

/**
 * Marks a deprecated function, which later versions may no longer document. Programs that use
 * it still compile and link; the compiler warns, and names the replacement.
 */
#if defined(__GNUC__) && !defined(SWIG)
#define DWARFS_DEPRECATED_FOR(instead) __attribute__((deprecated("use " #instead)))
#else
#define DWARFS_DEPRECATED_FOR(instead)
#endif

#define DWARFS_VERSION_MAJOR 0
#define DWARFS_VERSION_MINOR 1
#define DWARFS_VERSION_PATCH 0

/** A version as one number, to be compared, also in #if: DWARFS_MAKE_VERSION(0, 1, 0). It is an
 * unsigned int if the three numbers are int. */
#define DWARFS_MAKE_VERSION(major, minor, patch)                                         \
	((0u + (major)) << 16 | (0u + (minor)) << 8 | (0u + (patch)))

/** The version of the headers that a program was compiled with, also for #if. */
#define DWARFS_VERSION_NUMBER                                                            \
	DWARFS_MAKE_VERSION(DWARFS_VERSION_MAJOR, DWARFS_VERSION_MINOR,                  \
			    DWARFS_VERSION_PATCH)

DWARFS_BEGIN_DECLS

/**
 * The version of the library that is running, such as "0.1.0".
 *
 * @return a static string
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_version_string(void);

/**
 * The version of the library that is running, as DWARFS_MAKE_VERSION() makes it.
 *
 * @return the number
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint32_t dwarfs_version_number(void);

DWARFS_END_DECLS

#endif
