/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Errors: a code for programs, a message for people.
 */
#ifndef DWARFS_ERROR_H
#define DWARFS_ERROR_H

#include <dwarfs/api.h>

DWARFS_BEGIN_DECLS

/** Codes of failure. 0 is success; new codes may be added, so treat an unknown one as fatal. */
enum dwarfs_code {
	DWARFS_ERR_NOMEM = -1,	     /**< memory is exhausted */
	DWARFS_ERR_INVALID = -2,     /**< an invalid argument or combination of options */
	DWARFS_ERR_RANGE = -3,	     /**< a value is outside its range */
	DWARFS_ERR_IO = -4,	     /**< the system could not read or write */
	DWARFS_ERR_CORRUPT = -5,     /**< the image contradicts itself or its format */
	DWARFS_ERR_CHECKSUM = -6,    /**< stored bytes do not match their hash */
	DWARFS_ERR_NOT_IMAGE = -7,   /**< not a DwarFS image */
	DWARFS_ERR_UNSUPPORTED = -8, /**< an unsupported version, feature or codec */
	DWARFS_ERR_NOT_FOUND = -9,   /**< no such entry, file or section */
	DWARFS_ERR_NOT_DIR = -10,    /**< not a directory */
	DWARFS_ERR_IS_DIR = -11,     /**< is a directory */
	DWARFS_ERR_EXISTS = -12,     /**< the output exists already */
	DWARFS_ERR_ACCESS = -13,     /**< the system denies permission */
	DWARFS_ERR_NO_SPACE = -14,   /**< the disk or the quota is full */
	DWARFS_ERR_CANCELLED = -15,  /**< the caller asked to stop */
	DWARFS_ERR_LIMIT = -16,	     /**< a limit that was set is too low */
};

/**
 * Details of a failure. Owned by the caller, which frees them with dwarfs_error_free().
 *
 * If there is no memory for the details, they say only that: dwarfs_error_code() is then
 * DWARFS_ERR_NOMEM, whatever code the function returns. The returned code is always right.
 */
typedef struct dwarfs_error dwarfs_error;

/**
 * @param err  an error, or NULL
 * @return its DWARFS_ERR_* code; 0 for NULL
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_error_code(const dwarfs_error *err);

/**
 * A message for people: the operation, its object, and why it failed.
 *
 * @param err  an error, or NULL
 * @return text without a trailing newline; "no error" for NULL; borrowed from the error
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_error_message(const dwarfs_error *err);

/**
 * The file that the failure concerns, if any: a path of the system or inside an image.
 *
 * @param err  an error, or NULL
 * @return the path, borrowed from the error, or NULL
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_error_path(const dwarfs_error *err);

/**
 * The offset in the file at which the failure occurred.
 *
 * @param err         an error, or NULL
 * @param offset_out  receives the offset in bytes; NULL to ask only whether there is one
 * @return true if the error has an offset
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_error_offset(const dwarfs_error *err, uint64_t *offset_out);

/**
 * @param err  an error, or NULL
 * @return the errno of the system call that failed, or 0 if none did
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_error_errno(const dwarfs_error *err);

/**
 * A short name of a code, such as "corrupt image".
 *
 * @param code  0 or a DWARFS_ERR_* code
 * @return a static string; "unknown error" for other values
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_strerror(int code);

/**
 * Say why a callback failed. Replaces *err, as the functions of this library do.
 *
 *     return dwarfs_error_set(err, DWARFS_ERR_IO, ECONNRESET, "https: connection lost");
 *
 * @param err      the parameter err of the callback; NULL is accepted
 * @param code     a DWARFS_ERR_* code; any other value counts as DWARFS_ERR_IO
 * @param errnum   an errno value, whose text is appended to the message, or 0
 * @param message  text without a trailing newline; is copied
 * @return the code, for the callback to return
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_error_set(dwarfs_error **err, int code, int errnum,
				const char *message);

/**
 * Free an error.
 *
 * @param err  an error, or NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_error_free(dwarfs_error *err);

DWARFS_END_DECLS

#endif
