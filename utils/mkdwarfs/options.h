/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/options: the numbers of the options, between the table that has their names
 * and what puts their values into the settings.
 */
#ifndef UTILS_MKDWARFS_OPTIONS_H
#define UTILS_MKDWARFS_OPTIONS_H

#include "mkdwarfs/mkdwarfs.h"

/* Options with a letter have that as their number. */
enum option_id {
	OPT_VERSION = 256,
	OPT_MAN,
	OPT_SCHEMA,
	OPT_METADATA,
	OPT_HISTORY,
	OPT_ORDER,
	OPT_OWNER,
	OPT_GROUP,
	OPT_TIME,
	OPT_CHMOD,
	OPT_RESOLUTION,
	OPT_ALL_TIMES,
	OPT_BIRTH_TIMES,
	OPT_NO_XATTRS,
	OPT_XATTRS_INCLUDE,
	OPT_XATTRS_EXCLUDE,
	OPT_NO_HISTORY,
	OPT_NO_HISTORY_TIMESTAMPS,
	OPT_NO_HISTORY_COMMAND_LINE,
	OPT_NO_CREATE_TIMESTAMP,
	OPT_NO_SECTION_INDEX,
	OPT_NO_HARDLINK_TABLE,
	OPT_HEADER,
	OPT_NO_SPARSE,
	OPT_DEVICES,
	OPT_SPECIALS,
	OPT_LOG_LEVEL,
	OPT_LOG_CONTEXT,
	OPT_PROGRESS,
	OPT_NO_PROGRESS,
	OPT_INPUT_LIST,
	OPT_INPUT_FORMAT,
	OPT_STRIP,
	OPT_PREFIX,
	OPT_WHITEOUTS,
	OPT_CONTINUE,
	OPT_SPOOL,
	OPT_NICENESS,
	OPT_SCANNERS,
	OPT_SEGMENTERS,
	OPT_CATEGORIZE,
	OPT_SIMILARITY,
	OPT_FILE_HASH,
	OPT_HOLLOW,
	OPT_BLOOM,
	OPT_DEBUG_FILTER,
	OPT_REMOVE_EMPTY,
	OPT_NO_CATEGORY_NAMES,
	OPT_NO_CATEGORY_METADATA,
	OPT_HOTNESS,
	OPT_MIN_INPUT,
	OPT_PROBE_BLOCK,
	OPT_RATIO,
	OPT_ZSTD_LEVEL,
	OPT_FRAGMENTS,
	OPT_NO_SYNC,
};

/* Put one option into the settings. 0, or 1 after printing what is wrong with its value.
 */
int settings_set(struct settings *settings, int id, const char *value);

#endif
