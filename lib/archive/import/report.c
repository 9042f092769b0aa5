/* SPDX-License-Identifier: MIT */
/*
 * archive/import/report: report entries that are not imported as they are.
 *
 * Logs, calls the callback, counts, and decides whether the import continues. Errors of
 * the archive as a whole or of the system always end it.
 */
#include <string.h>

#include "archive/import/import.h"
#include "base/context.h"

#define PATH_SHOWN 400 /* bytes of a path in a message */

static void report_path(struct import_job *job, int what, const char *path,
			const char *why)
{
	const dwarfs_archive_import *import = job->import;

	if (!import->report)
		return;
	dw_locale_pause(&job->locale);
	import->report(what, path, why, import->report_user);
	dw_locale_resume(&job->locale);
}

static void log_text(struct import_job *job, int level, const char *text)
{
	dw_locale_pause(&job->locale);
	dw_log(dwarfs_builder_context(job->import->builder), level, "%s", text);
	dw_locale_resume(&job->locale);
}

void dw_import_warn(struct import_job *job, const char *format, ...)
{
	const char *path = job->shown ? job->shown : "";
	char text[512], line[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	job->import->warnings++;
	if (!job->import->builder)
		return;
	snprintf(line, sizeof(line), "entry '%.*s': %s", PATH_SHOWN, path, text);
	report_path(job, DWARFS_IMPORT_REDUCED, path, text);
	log_text(job, DWARFS_LOG_WARN, line);
}

void dw_import_tell_replaced(struct import_job *job, const char *path, uint64_t count)
{
	char text[100], line[600];

	snprintf(text, sizeof(text), "replaces a directory with %" PRIu64 " entr%s",
		 count, count == 1 ? "y" : "ies");
	snprintf(line, sizeof(line), "entry '%.*s': %s", PATH_SHOWN, path, text);
	report_path(job, DWARFS_IMPORT_REPLACED, path, text);
	log_text(job, DWARFS_LOG_WARN, line);
}

/* Whether the rest of the archive may still be read, and stored. */
static bool is_of_entry(const struct import_job *job, int code)
{
	if (job->is_broken)
		return false;
	return code == DWARFS_ERR_INVALID || code == DWARFS_ERR_RANGE ||
	       code == DWARFS_ERR_UNSUPPORTED || code == DWARFS_ERR_CORRUPT ||
	       code == DWARFS_ERR_NOT_DIR || code == DWARFS_ERR_NOT_FOUND;
}

/* Name the entry, unless the builder has done so. */
static void explain(dwarfs_error **why, const char *path, int code)
{
	if (code == DWARFS_ERR_CANCELLED || dwarfs_error_path(*why))
		return;
	dw_explain(why, code, "entry '%s'", path);
	dw_error_at_path(why, code, path);
}

static int pass(dwarfs_error *why, int code, dwarfs_error **err)
{
	dw_error_copy(err, code, why);
	dwarfs_error_free(why);
	return code;
}

int dw_import_lose(struct import_job *job, const char *path, int code, dwarfs_error *why,
		   dwarfs_error **err)
{
	if (job->is_left)
		return pass(why, code, err);
	if (!is_of_entry(job, code)) {
		explain(&why, path, code);
		return pass(why, code, err);
	}
	report_path(job, DWARFS_IMPORT_LEFT_OUT, path, dwarfs_error_message(why));
	job->import->failures++;
	explain(&why, path, code);
	if (!job->import->continue_on_error) {
		job->is_left = true;
		return pass(why, code, err);
	}
	log_text(job, DWARFS_LOG_ERROR, dwarfs_error_message(why));
	if (job->first_code != 0) {
		dwarfs_error_free(why);
		return 0;
	}
	job->first_code = code;
	job->first = why;
	return 0;
}

/* -- hard links that lead nowhere ------------------------------------------------ */

static void lose_link(const char *path, const char *text, void *user)
{
	dwarfs_error *why = NULL;

	dw_fail(&why, DWARFS_ERR_NOT_FOUND, "hard link: %s", text);
	dw_import_lose(user, path, DWARFS_ERR_NOT_FOUND, why, NULL);
}

int dw_import_check_links(struct import_job *job, dwarfs_error **err)
{
	dwarfs_builder *builder = job->import->builder;
	dwarfs_error *why = NULL;
	int ret;

	if (job->import->continue_on_error)
		return dwarfs_builder_resolve_links(builder, lose_link, job, err);
	if ((ret = dwarfs_builder_check_links(builder, &why)) == 0)
		return 0;
	return dw_import_lose(job, dwarfs_error_path(why) ? dwarfs_error_path(why) : "",
			      ret, why, err);
}
