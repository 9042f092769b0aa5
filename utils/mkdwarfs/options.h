/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/options: functions that parse the arguments of options, for the table of
 * mkdwarfs/options.c.
 *
 * All return 0, or 1 after printing what is wrong with the text; settings is a
 * struct settings.
 */
#ifndef UTILS_MKDWARFS_OPTIONS_H
#define UTILS_MKDWARFS_OPTIONS_H

#include "mkdwarfs/mkdwarfs.h"

typedef int parse_option(const struct tool_option *option, const char *text,
			 void *settings);

/* "value" or "category::value", appended to the choices; or the whole text as the value. */
parse_option parse_choice, parse_number_choice, parse_choice_as_is;

/* A number up to option->max, checked; says that it has no effect. */
parse_option ignore_number;

/* The option of the same name. */
parse_option parse_level, parse_block_bits, parse_memory_limit, parse_categorizers;
parse_option parse_ratio, parse_zstd_level, parse_debug_filter, parse_set_time;
parse_option parse_time_resolution, parse_recompress;
parse_option parse_base_trust;

/* --progress, and --no-progress without a text. */
parse_option parse_progress;

#endif
