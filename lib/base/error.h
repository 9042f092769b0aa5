/* SPDX-License-Identifier: MIT */
/*
 * base/error: how a function says what went wrong.
 *
 * The code is for programs, the message for people: what was being done, to what, and
 * where. All functions accept err == NULL and return the code, so that they end a return
 * statement.
 */
#ifndef DW_BASE_ERROR_H
#define DW_BASE_ERROR_H

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>

#include <dwarfs/error.h>

#define DW_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* Codes are negative; knowing that, compilers see what is set after a success. */
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
int dw_fail_system(dwarfs_error **err, int errnum, const char *format, ...) DW_PRINTF(3, 4);
#define dw_fail_errno(...) dw_negative(dw_fail_system(__VA_ARGS__))

/* Out of memory; allocates nothing. */
int dw_set_nomem(dwarfs_error **err);
#define dw_fail_nomem(err) dw_negative(dw_set_nomem(err))

/* Put "what: " in front of the message of *err; returns code. */
int dw_explain(dwarfs_error **err, int code, const char *format, ...) DW_PRINTF(3, 4);

/* Add facts to *err, if there is one; they return code. */
int dw_error_at_path(dwarfs_error **err, int code, const char *path);
int dw_error_at_offset(dwarfs_error **err, int code, uint64_t offset);

/* Replace *err by a copy of another error, of which NULL is one that says nothing; returns
 * code. */
int dw_error_copy(dwarfs_error **err, int code, const dwarfs_error *from);

/* Let *err, if there is one, have another code; returns it. */
int dw_error_as(dwarfs_error **err, int code);

/* The code that stands for an errno value. */
int dw_code_of_errno(int errnum);

/* The text that stands for an errno value, as in "Permission denied". */
void dw_describe_errno(int errnum, char *reason, size_t room);

#endif
