/* SPDX-License-Identifier: MIT */
/*
 * base/error: error objects: code, message, path, offset and errno.
 *
 * Takes a code and a printf format; gives a dwarfs_error. If there is no memory for one,
 * a static error is used, so reporting never fails.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

struct dwarfs_error {
	int code;
	int errnum;
	bool has_offset;
	uint64_t offset;
	char *path;
	char *message;
};

static dwarfs_error nomem_error = {
	.code = DWARFS_ERR_NOMEM,
	.message = (char *)"out of memory",
};

static const struct {
	int code;
	const char *text;
} code_texts[] = {
	{ 0, "no error" },
	{ DWARFS_ERR_NOMEM, "out of memory" },
	{ DWARFS_ERR_INVALID, "invalid argument" },
	{ DWARFS_ERR_RANGE, "value out of range" },
	{ DWARFS_ERR_IO, "input/output error" },
	{ DWARFS_ERR_CORRUPT, "corrupt image" },
	{ DWARFS_ERR_CHECKSUM, "checksum mismatch" },
	{ DWARFS_ERR_NOT_IMAGE, "not a DwarFS image" },
	{ DWARFS_ERR_UNSUPPORTED, "not supported" },
	{ DWARFS_ERR_NOT_FOUND, "not found" },
	{ DWARFS_ERR_NOT_DIR, "not a directory" },
	{ DWARFS_ERR_IS_DIR, "is a directory" },
	{ DWARFS_ERR_EXISTS, "already exists" },
	{ DWARFS_ERR_ACCESS, "permission denied" },
	{ DWARFS_ERR_NO_SPACE, "no space left" },
	{ DWARFS_ERR_CANCELLED, "cancelled" },
	{ DWARFS_ERR_LIMIT, "limit too low" },
};

const char *dwarfs_strerror(int code)
{
	for (size_t i = 0; i < sizeof(code_texts) / sizeof(code_texts[0]); i++)
		if (code_texts[i].code == code)
			return code_texts[i].text;
	return "unknown error";
}

int dwarfs_error_code(const dwarfs_error *err)
{
	return err ? err->code : 0;
}

const char *dwarfs_error_message(const dwarfs_error *err)
{
	return err ? err->message : dwarfs_strerror(0);
}

const char *dwarfs_error_path(const dwarfs_error *err)
{
	return err ? err->path : NULL;
}

bool dwarfs_error_offset(const dwarfs_error *err, uint64_t *offset_out)
{
	if (!err || !err->has_offset)
		return false;
	if (offset_out)
		*offset_out = err->offset;
	return true;
}

int dwarfs_error_errno(const dwarfs_error *err)
{
	return err ? err->errnum : 0;
}

void dwarfs_error_free(dwarfs_error *err)
{
	if (!err || err == &nomem_error)
		return;
	dw_free(err->path);
	dw_free(err->message);
	dw_free(err);
}

/* Format into new memory; NULL if there is none. */
static char *format_text(const char *format, va_list args)
{
	va_list again;
	int length;
	char *text;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		return NULL;
	text = dw_malloc((size_t)length + 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, format, args);
	return text;
}

static void replace_error(dwarfs_error **err, dwarfs_error *with)
{
	dwarfs_error_free(*err);
	*err = with;
}

/* Takes ownership of message, which is NULL when memory ran out. */
static void store_error(dwarfs_error **err, int code, int errnum, char *message)
{
	dwarfs_error *error = message ? dw_calloc(1, sizeof(*error)) : NULL;

	if (!error) {
		dw_free(message);
		replace_error(err, &nomem_error);
		return;
	}
	error->code = code;
	error->errnum = errnum;
	error->message = message;
	replace_error(err, error);
}

int dw_fail_text(dwarfs_error **err, int code, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		store_error(err, code, 0, format_text(format, args));
		va_end(args);
	}
	return code;
}

int dw_code_of_errno(int errnum)
{
	switch (errnum) {
	case ENOMEM:
		return DWARFS_ERR_NOMEM;
	case ENOENT:
	case ENXIO:
		return DWARFS_ERR_NOT_FOUND;
	case ENOTDIR:
		return DWARFS_ERR_NOT_DIR;
	case EISDIR:
		return DWARFS_ERR_IS_DIR;
	case EEXIST:
	case ENOTEMPTY:
		return DWARFS_ERR_EXISTS;
	case EACCES:
	case EPERM:
	case EROFS:
		return DWARFS_ERR_ACCESS;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return DWARFS_ERR_NO_SPACE;
	case EINVAL:
	case EBADF:
	case ESPIPE:
		return DWARFS_ERR_INVALID;
	default:
		return DWARFS_ERR_IO;
	}
}

/* strerror_r() has two forms: this one is called for that of POSIX and musl... */
static __attribute__((unused)) void take_reason_int(int ret, int errnum, char *reason,
						    size_t room)
{
	if (ret != 0)
		snprintf(reason, room, "errno %d", errnum);
}

/* ... and this one for that of glibc, which may not use the buffer. */
static __attribute__((unused)) void take_reason_text(const char *text, int errnum,
						     char *reason, size_t room)
{
	(void)errnum;
	if (text != reason)
		snprintf(reason, room, "%s", text);
}

void dw_describe_errno(int errnum, char *reason, size_t room)
{
	_Generic(strerror_r(errnum, reason, room),
		int: take_reason_int,
		char *: take_reason_text)(strerror_r(errnum, reason, room), errnum,
					  reason, room);
}

int dw_fail_system(dwarfs_error **err, int errnum, const char *format, ...)
{
	int code = dw_code_of_errno(errnum);
	char reason[128];
	va_list args;
	char *what;

	if (!err)
		return code;
	va_start(args, format);
	what = format_text(format, args);
	va_end(args);
	dw_describe_errno(errnum, reason, sizeof(reason));
	dw_fail(err, code, "%s: %s", what ? what : "", reason);
	if (*err != &nomem_error)
		(*err)->errnum = errnum;
	dw_free(what);
	return code;
}

int dw_set_nomem(dwarfs_error **err)
{
	if (err)
		replace_error(err, &nomem_error);
	return DWARFS_ERR_NOMEM;
}

static bool says_already(const dwarfs_error *err, const char *what)
{
	const size_t bytes = strlen(what);

	return strncmp(err->message, what, bytes) == 0 &&
	       strncmp(err->message + bytes, ": ", 2) == 0;
}

int dw_explain(dwarfs_error **err, int code, const char *format, ...)
{
	va_list args;
	char *what, *joined;
	size_t room;

	if (!err || !*err || *err == &nomem_error)
		return code;
	va_start(args, format);
	what = format_text(format, args);
	va_end(args);
	if (!what)
		return code;
	room = strlen(what) + strlen((*err)->message) + 3;
	joined = says_already(*err, what) ? NULL : dw_malloc(room);
	if (joined) {
		snprintf(joined, room, "%s: %s", what, (*err)->message);
		dw_free((*err)->message);
		(*err)->message = joined;
	}
	dw_free(what);
	return code;
}

int dw_error_at_path(dwarfs_error **err, int code, const char *path)
{
	if (err && *err && *err != &nomem_error && !(*err)->path)
		(*err)->path = dw_strdup(path);
	return code;
}

int dw_error_at_offset(dwarfs_error **err, int code, uint64_t offset)
{
	if (err && *err && *err != &nomem_error && !(*err)->has_offset) {
		(*err)->has_offset = true;
		(*err)->offset = offset;
	}
	return code;
}

int dw_error_copy(dwarfs_error **err, int code, const dwarfs_error *from)
{
	if (!from || from == &nomem_error)
		return code == DWARFS_ERR_NOMEM
			       ? dw_fail_nomem(err)
			       : dw_fail(err, code, "%s", dwarfs_strerror(code));
	dw_fail(err, code, "%s", from->message);
	if (!err || *err == &nomem_error)
		return code;
	(*err)->errnum = from->errnum;
	if (from->has_offset)
		dw_error_at_offset(err, code, from->offset);
	return from->path ? dw_error_at_path(err, code, from->path) : code;
}

int dw_error_as(dwarfs_error **err, int code)
{
	if (err && *err && *err != &nomem_error)
		(*err)->code = code;
	return code;
}

static bool is_code(int code)
{
	return code < 0 && code >= DWARFS_ERR_LIMIT;
}

int dwarfs_error_set(dwarfs_error **err, int code, int errnum, const char *message)
{
	if (!is_code(code))
		code = DWARFS_ERR_IO;
	if (errnum <= 0)
		return dw_fail(err, code, "%s",
			       message ? message : dwarfs_strerror(code));
	dw_fail_errno(err, errnum, "%s", message ? message : dwarfs_strerror(code));
	if (err && *err && *err != &nomem_error)
		(*err)->code = code;
	return code;
}

int dw_callback_fail(int ret, dwarfs_error **why, dwarfs_error **err)
{
	const int code = is_code(ret) ? ret : DWARFS_ERR_CANCELLED;

	if (dwarfs_error_code(*why) == code) {
		if (err) {
			dwarfs_error_free(*err);
			*err = *why;
			*why = NULL;
		}
		return code;
	}
	if (code == DWARFS_ERR_NOMEM)
		return dw_fail_nomem(err);
	return dw_fail(err, code, "%s",
		       code == DWARFS_ERR_CANCELLED ? "cancelled" : "a callback failed");
}

int dw_set_null(dwarfs_error **err, const char *what)
{
	return dw_fail(err, DWARFS_ERR_INVALID, "%s must not be NULL", what);
}
