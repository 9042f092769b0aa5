/* SPDX-License-Identifier: MIT */
/*
 * format/history_write: the contents of a HISTORY section, as bytes.
 */
#ifndef DW_FORMAT_HISTORY_WRITE_H
#define DW_FORMAT_HISTORY_WRITE_H

#include "base/memory.h"

/* Borrowed texts. */
struct history_record {
	uint16_t major, minor, patch;
	/* Upstream's dwarfsck fails without a branch, which is not written here,
	 * unless this is true; and it fails without a description. */
	bool is_release;
	const char *description; /* name and version of the writer */
	const char *system_id;
	const char *compiler_id;
	const char *const *arguments; /* omitted if there are none */
	size_t argument_count;
	const char *const *library_versions; /* ascending; omitted if there are none */
	size_t library_count;
	bool has_timestamp;
	uint64_t timestamp; /* seconds since 1970 */
};

/* Append a history of one record. */
int dw_history_write(const struct history_record *record, struct buffer *out,
		     dwarfs_error **err);

/*
 * Append a history in which upstream's dwarfsck can print each entry: one without a description
 * gets its version number, and one that is no release and has no branch gets "unknown". All
 * other bytes stay. Returns 1; 0 if nothing is missing, or if it is not a history.
 */
int dw_history_complete(struct span history, struct buffer *out, dwarfs_error **err);

#endif
