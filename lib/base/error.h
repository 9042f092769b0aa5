/* SPDX-License-Identifier: MIT */
/*
 * base/error: error objects: code, message, path, offset and errno.
 *
 * The code is for programs, the message for people: what was being done, to what, and
 * where. All functions accept err == NULL and return the code, so that they can end a
 * return statement.
 */
#ifndef DW_BASE_ERROR_H
#define DW_BASE_ERROR_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <dwarfs/error.h>

#ifdef __MINGW_PRINTF_FORMAT
#define DW_PRINTF(text, first) __attribute__((format(__MINGW_PRINTF_FORMAT, text, first)))
#else
#define DW_PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif

/* Tell the compiler that codes are negative, for its warnings about uninitialized
 * variables. */
static inline int dw_negative(int code)
{
	if (code >= 0)
		__builtin_unreachable();
	return code;
}

/* Replace *err by a new error. */
int dw_fail_text(dwarfs_error **err, int code, const char *format, ...) DW_PRINTF(3, 4);
#define dw_fail(...) dw_negative(dw_fail_text(__VA_ARGS__))

/* As dw_fail for a failed system call: picks the code by errnum and appends its text. */
int dw_fail_system(dwarfs_error **err, int errnum, const char *format, ...)
	DW_PRINTF(3, 4);
#define dw_fail_errno(...) dw_negative(dw_fail_system(__VA_ARGS__))

/* A parameter that must not be NULL is NULL. */
int dw_set_null(dwarfs_error **err, const char *what);
#define dw_fail_null(err, what) dw_negative(dw_set_null(err, what))

/* Out of memory; allocates nothing. */
int dw_set_nomem(dwarfs_error **err);
#define dw_fail_nomem(err) dw_negative(dw_set_nomem(err))

/* Prefix the message of *err with "what: ", unless it begins with that; returns code. */
int dw_explain(dwarfs_error **err, int code, const char *format, ...) DW_PRINTF(3, 4);

/* Add facts to *err, if there is one; they return code. */
int dw_error_at_path(dwarfs_error **err, int code, const char *path);
int dw_error_at_offset(dwarfs_error **err, int code, uint64_t offset);

/* Replace *err by a copy of another error; NULL is an error without details. Returns
 * code. */
int dw_error_copy(dwarfs_error **err, int code, const dwarfs_error *from);

/*
 * After a callback has returned ret, not 0, with *why as its error or NULL: move the error to
 * *err. Returns its code; see the rule in <dwarfs/api.h>.
 */
int dw_callback_fail(int ret, dwarfs_error **why, dwarfs_error **err);

/* Change the code of *err, if there is one; returns the code. */
int dw_error_as(dwarfs_error **err, int code);

/* Whether a failure does not concern one entry only, but ends a run over many. */
static inline bool dw_is_fatal(int code)
{
	return code == DWARFS_ERR_CANCELLED || code == DWARFS_ERR_NOMEM;
}

/* The code for an errno value. */
int dw_code_of_errno(int errnum);

/* The text for an errno value, as in "Permission denied". */
void dw_describe_errno(int errnum, char *reason, size_t room);

#endif
