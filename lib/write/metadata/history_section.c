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

int dw_history_section(const struct build_options *options, uint64_t now,
		       struct buffer *data_out, dwarfs_error **err)
{
	struct libraries libraries;
	char system_id[256], description[64];
	struct history_record record = {
		.major = DWARFS_VERSION_MAJOR,
		.minor = DWARFS_VERSION_MINOR,
		.patch = DWARFS_VERSION_PATCH,
		.is_release = true,
		.description = description,
		.system_id = system_id,
		.compiler_id = compiler_id(),
		.arguments = (const char *const *)options->arguments,
		.argument_count = options->argument_count,
		.has_timestamp = options->history_timestamps,
		.timestamp = now,
	};

	list_libraries(&libraries);
	record.library_versions = libraries.list;
	record.library_count = libraries.count;
	dw_os_system_name(system_id, sizeof(system_id));
	snprintf(description, sizeof(description), "libdwarfs %s",
		 dwarfs_version_string());
	return dw_history_write(&record, data_out, err);
}
