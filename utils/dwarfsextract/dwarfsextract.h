/* SPDX-License-Identifier: MIT */
/*
 * dwarfsextract/dwarfsextract: interfaces shared by the files of this program.
 */
#ifndef UTILS_DWARFSEXTRACT_DWARFSEXTRACT_H
#define UTILS_DWARFSEXTRACT_DWARFSEXTRACT_H

#include "common/common.h"
#include "dwarfsextract/archive.h"

/* The settings of the command line. */
struct settings {
	const char *input, *output; /* output may be NULL */
	uint64_t offset, cache_bytes, workers, writers;
	struct tool_list patterns;
	bool skip_devices, skip_specials, continue_on_error, stdout_progress;
	bool no_check, no_xattrs, no_sync, allow_huge_holes;
	bool owners_given, owners;
	bool uid_given, gid_given;
	uint32_t uid, gid;
	const char *format, *filters, *format_options; /* of an archive */
	bool tree_order, order_given;
	unsigned times; /* bits of the parts to take times of */
	const char *trace;
	bool done; /* the help or the version was asked for and printed */
};

/* -- dwarfsextract/options.c --------------------------------------------------------- */

/* 0, or 1 after printing an error. Free the list of patterns in both cases. */
int settings_parse(int argc, char **argv, struct settings *settings);
void settings_print_usage(void);

/* -- dwarfsextract/times.c ----------------------------------------------------------- */

/* Latencies of the phases of the extraction, and of the library. */
struct times;

/* "block_cache+filesystem_v2" as bits; returns 0, or 1 after printing. */
int times_parse(const char *text, unsigned *parts_out);

/* *times_out stays NULL if nothing is to be measured; returns 0, or 1 after printing an
 * error. */
int times_new(const struct settings *settings, struct times **times_out);

/* Have the context take times; before it is used. */
int times_watch(struct times *times, dwarfs_context *context, dwarfs_error **err);

/* A phase of the extraction is seen. */
void times_see(struct times *times, int phase);

/* Print the times to stderr, and end the trace: 0, or 1 after printing why not. All of
 * these accept NULL. */
int times_tell(struct times *times, const dwarfs_context *context);
void times_free(struct times *times);

#endif
