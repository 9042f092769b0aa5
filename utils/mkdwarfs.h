/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs: what its command line asks for.
 */
#ifndef UTILS_MKDWARFS_H
#define UTILS_MKDWARFS_H

#include "common.h"
#include "progress.h"

/* Everything is checked for its form; NULL, TOOL_DEFAULT or false is "not given". */
struct settings {
	const char *input;
	const char *output;
	bool force;
	uint64_t level;
	uint64_t block_bits;
	uint64_t workers;
	const char *codecs[4]; /* by dwarfs_codec_use */
	const char *order;
	const char *chmod;
	const char *pack_metadata;
	const char *header;
	bool has_owner;
	uint32_t owner;
	bool has_group;
	uint32_t group;
	bool has_time;
	uint64_t time_seconds;
	uint32_t time_nanoseconds;
	uint64_t time_resolution_ns;
	bool keep_all_times;
	bool with_devices;
	bool with_specials;
	bool no_sparse_files;
	bool no_history;
	bool no_history_timestamps;
	bool no_history_command_line;
	bool no_create_timestamp;
	bool no_section_index;
	bool no_hardlink_table;
	int progress_mode;
};

enum settings_result { SETTINGS_RUN, SETTINGS_DONE, SETTINGS_BAD };

/*
 * Read the command line. SETTINGS_DONE when it asked for help, which was printed;
 * SETTINGS_BAD when it is wrong, and why was printed.
 */
int settings_parse(struct settings *settings, int argc, char **argv);

/* "now", "epoch", seconds since 1970, or a date and time. Returns 0, or 1 after printing.
 */
int parse_time_point(const char *text, uint64_t *seconds_out, uint32_t *nanoseconds_out);

/* A number with a unit from ns to d; seconds without one. Returns 0, or 1 after printing.
 */
int parse_time_resolution(const char *text, uint64_t *ns_out);

#endif
