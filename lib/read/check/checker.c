/* SPDX-License-Identifier: MIT */
/*
 * read/check/checker: how the checks of the metadata report what they find.
 *
 * All that is found goes to the callback; the first violated rule is the error.
 */
#include <stdarg.h>
#include <stdio.h>

#include <dwarfs/image.h>

#include "read/check/checker.h"

bool dw_checker_broken(struct checker *checker, const char *format, ...)
{
	char message[256] = "metadata: ";
	size_t prefix = strlen(message);
	va_list args;

	va_start(args, format);
	vsnprintf(message + prefix, sizeof(message) - prefix, format, args);
	va_end(args);
	if (checker->report)
		checker->report(checker->user, DWARFS_FINDING_ERROR, message);
	if (checker->first_code == 0)
		checker->first_code =
			dw_fail(checker->err, DWARFS_ERR_CORRUPT, "%s", message);
	return false;
}

bool dw_checker_broken_by(struct checker *checker, int code, dwarfs_error *error)
{
	const char *message = error ? dwarfs_error_message(error) : dwarfs_strerror(code);

	if (code == DWARFS_ERR_NOMEM) { /* not a property of the metadata */
		checker->first_code = dw_fail_nomem(checker->err);
		return false;
	}
	if (checker->report)
		checker->report(checker->user, DWARFS_FINDING_ERROR, message);
	if (checker->first_code == 0)
		checker->first_code = dw_fail(checker->err, code, "%s", message);
	return false;
}

void dw_checker_warn(struct checker *checker, const char *message)
{
	if (checker->report)
		checker->report(checker->user, DWARFS_FINDING_WARNING, message);
}
