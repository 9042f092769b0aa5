/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/history_section: contents of a HISTORY section: program, system, command
 * line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/history_write.h"
#include "os/system_name.h"
#include "write/metadata/history_section.h"

static const char *compiler_id(void)
{
#if defined(__clang__)
	return "Clang " __clang_version__;
#else
	return "GNU " __VERSION__;
#endif
}

#define MAX_LIBRARIES 16

/* Versions of the compression libraries, sorted by name. */
struct libraries {
	char text[MAX_LIBRARIES][32];
	const char *list[MAX_LIBRARIES];
	size_t count;
};

static int compare_library_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void list_libraries(struct libraries *libraries)
{
	size_t *count = &libraries->count;

	for (*count = 0; *count < MAX_LIBRARIES; ++*count) {
		char *text = libraries->text[*count];

		if (!dw_codec_library(*count, text, sizeof(libraries->text[0])))
			break;
		libraries->list[*count] = text;
	}
	qsort(libraries->list, *count, sizeof(libraries->list[0]), compare_library_names);
}

/* -- the command line ---------------------------------------------------------------- */

/* Readers take 4 MiB of history, of all entries together. */
#define MAX_ARGUMENT_BYTES ((size_t)256 << 10)
#define MORE_ARGUMENTS	   "..."

/* How many arguments fit, each with the two or three bytes of its length. */
static size_t count_that_fit(char *const *arguments, size_t count)
{
	size_t bytes = 0, i;

	for (i = 0; i < count; i++) {
		bytes += strlen(arguments[i]) + 3;
		if (bytes > MAX_ARGUMENT_BYTES)
			break;
	}
	return i;
}

/* In place of the arguments that do not fit there is one more. The list is the caller's, the
 * texts are borrowed. */
static int list_arguments(const struct build_options *options, const char ***list_out,
			  size_t *count_out, dwarfs_error **err)
{
	const size_t fit = count_that_fit(options->arguments, options->argument_count);
	const char **list = dw_calloc(fit + 1, sizeof(*list));

	if (!list)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < fit; i++)
		list[i] = options->arguments[i];
	*count_out = fit;
	if (fit < options->argument_count)
		list[(*count_out)++] = MORE_ARGUMENTS;
	*list_out = list;
	return 0;
}

/* -- the section --------------------------------------------------------------------- */

int dw_history_section(const struct build_options *options, uint64_t now,
		       struct buffer *data_out, dwarfs_error **err)
{
	auto_free const char **arguments = NULL;
	struct libraries libraries;
	int ret;
	char system_id[256], description[64];
	struct history_record record = {
		.major = DWARFS_VERSION_MAJOR,
		.minor = DWARFS_VERSION_MINOR,
		.patch = DWARFS_VERSION_PATCH,
		.is_release = true,
		.description = description,
		.system_id = system_id,
		.compiler_id = compiler_id(),
		.has_timestamp = options->history_timestamps,
		.timestamp = now,
	};

	if ((ret = list_arguments(options, &arguments, &record.argument_count, err)) < 0)
		return ret;
	record.arguments = arguments;
	list_libraries(&libraries);
	record.library_versions = libraries.list;
	record.library_count = libraries.count;
	dw_os_system_name(system_id, sizeof(system_id));
	snprintf(description, sizeof(description), "libdwarfs %s",
		 dwarfs_version_string());
	return dw_history_write(&record, data_out, err);
}
