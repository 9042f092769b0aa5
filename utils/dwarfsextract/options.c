/* SPDX-License-Identifier: MIT */
/*
 * dwarfsextract/options: the command line.
 */
#include "dwarfsextract/dwarfsextract.h"

#include <stdlib.h>
#include <string.h>

enum {
	OPT_PATTERN = 256,
	OPT_SKIP_DEVICES,
	OPT_SKIP_SPECIALS,
	OPT_CONTINUE,
	OPT_NO_CHECK,
	OPT_NO_XATTRS,
	OPT_SAME_OWNER,
	OPT_NO_SAME_OWNER,
	OPT_SET_OWNER,
	OPT_SET_GROUP,
	OPT_STDOUT_PROGRESS,
	OPT_WRITERS,
	OPT_FILTERS,
	OPT_FORMAT_OPTIONS,
	OPT_ORDER,
	OPT_NO_SYNC,
	OPT_HUGE_HOLES,
	OPT_LOG_LEVEL,
	OPT_LOG_CONTEXT,
	OPT_PERFMON,
	OPT_PERFMON_TRACE,
	OPT_MAN,
	OPT_VERSION,
};

static const struct tool_option option_table[] = {
	{ 'i', "input", "IMAGE", "the image; also the first argument without -i",
	  TOOL_BASIC },
	{ 'o', "output", "PATH",
	  "the directory to write to, made if missing; default:\n"
	  "the current one. With -f, the archive; default: -",
	  TOOL_BASIC },
	{ 'O', "image-offset", "BYTES",
	  "where the image starts in its file, or auto, the\ndefault", TOOL_BASIC },
	{ OPT_PATTERN, "pattern", "GLOB",
	  "extract only what matches; may be given again, and\n"
	  "without --pattern; i:GLOB ignores the case",
	  TOOL_BASIC },
	{ 'f', "format", "FORMAT",
	  "write an archive: tar, pax, cpio, zip, 7zip, …; auto\n"
	  "takes it from the name of the output",
	  TOOL_BASIC },
	{ OPT_FILTERS, "format-filters", "FILTERS",
	  "compression of the archive, as zstd or gzip", TOOL_BASIC },
	{ OPT_FORMAT_OPTIONS, "format-options", "OPTIONS",
	  "options of the format and the filters,\nas compression-level=9", TOOL_BASIC },
	{ OPT_ORDER, "archive-order", "ORDER",
	  "of files in the archive: data, the default, reads\n"
	  "the image once; tree",
	  TOOL_BASIC },
	{ OPT_HUGE_HOLES, "allow-huge-holes", NULL,
	  "write holes as zeros into formats that have none,\nwhatever their size",
	  TOOL_BASIC },
	{ OPT_SKIP_DEVICES, "skip-devices", NULL, "leave out devices", TOOL_BASIC },
	{ OPT_SKIP_SPECIALS, "skip-specials", NULL, "leave out fifos and sockets",
	  TOOL_BASIC },
	{ OPT_NO_XATTRS, "no-xattrs", NULL, "leave out extended attributes", TOOL_BASIC },
	{ OPT_SAME_OWNER, "same-owner", NULL, "set owners and groups; default for root",
	  TOOL_BASIC },
	{ OPT_NO_SAME_OWNER, "no-same-owner", NULL, "do not set owners and groups",
	  TOOL_BASIC },
	{ OPT_SET_OWNER, "set-owner", "USER",
	  "let this user, a name or number, own everything", TOOL_BASIC },
	{ OPT_SET_GROUP, "set-group", "GROUP", "likewise for the group", TOOL_BASIC },
	{ OPT_CONTINUE, "continue-on-error", NULL,
	  "write as much as possible; still exit with 1", TOOL_BASIC },
	{ OPT_NO_SYNC, "no-sync", NULL, "do not wait until an archive is on disk",
	  TOOL_BASIC },
	{ OPT_NO_CHECK, "disable-integrity-check", NULL,
	  "do not verify the hashes of blocks: dangerous", TOOL_BASIC },
	{ OPT_STDOUT_PROGRESS, "stdout-progress", NULL,
	  "print the share that is done on stdout", TOOL_BASIC },
	{ 'n', "num-workers", "N",
	  "threads that unpack and write; default: one for each\nprocessor", TOOL_BASIC },
	{ OPT_WRITERS, "num-disk-writers", "N", "more threads that only write; default 0",
	  TOOL_BASIC },
	{ 's', "cache-size", "SIZE", "decoded blocks to keep in memory; default 512m",
	  TOOL_BASIC },
	{ OPT_LOG_LEVEL, "log-level", "LEVEL",
	  "fatal, error, warn, info, verbose, debug, trace;\ndefault info", TOOL_BASIC },
	{ OPT_LOG_CONTEXT, "log-with-context", NULL,
	  "the time and the thread with each message", TOOL_BASIC },
	{ OPT_PERFMON, "perfmon", "PART+...",
	  "print how long things took: filesystem_v2,\ninode_reader_v2, block_cache",
	  TOOL_BASIC },
	{ OPT_PERFMON_TRACE, "perfmon-trace", "FILE",
	  "write each of these, as trace events in JSON", TOOL_BASIC },
	{ 'h', "help", NULL, "show this text", TOOL_BASIC },
	{ OPT_MAN, "man", NULL, "show the manual page", TOOL_BASIC },
	{ OPT_VERSION, "version", NULL, "show the version", TOOL_BASIC },
	{ 0 },
};

void settings_print_usage(void)
{
	printf("Usage: dwarfsextract -i IMAGE [-o DIRECTORY] [options] [GLOB ...]\n"
	       "       dwarfsextract -i IMAGE -f FORMAT [-o ARCHIVE] [options] "
	       "[GLOB ...]\n\n"
	       "Extract a DwarFS image to a directory or an archive.\n\n");
	tool_print_options(stdout, option_table, true);
}

/* -- values -------------------------------------------------------------------------- */

static int add_pattern(struct settings *settings, const char *text)
{
	const char **list = realloc(settings->patterns,
				    (settings->pattern_count + 1) * sizeof(*list));

	if (!list)
		return tool_error("out of memory");
	settings->patterns = list;
	list[settings->pattern_count++] = text;
	return 0;
}

static int take_owner(struct settings *settings, int id, const char *value)
{
	switch (id) {
	case OPT_SAME_OWNER:
	case OPT_NO_SAME_OWNER:
		settings->owners_given = true;
		settings->owners = id == OPT_SAME_OWNER;
		return 0;
	case OPT_SET_OWNER:
		settings->uid_given = true;
		return tool_parse_user("--set-owner", value, &settings->uid);
	default:
		settings->gid_given = true;
		return tool_parse_group("--set-group", value, &settings->gid);
	}
}

static int take_number(struct settings *settings, int id, const char *value)
{
	switch (id) {
	case 'O':
		return tool_parse_offset("--image-offset", value, &settings->offset);
	case 's':
		return tool_parse_bytes("--cache-size", value, &settings->cache_bytes);
	case 'n':
		return tool_parse_number("--num-workers", value, 0, 1024,
					 &settings->workers);
	default:
		return tool_parse_number("--num-disk-writers", value, 0, 1024,
					 &settings->writers);
	}
}

static int take_path_option(struct settings *settings, int id, const char *value)
{
	switch (id) {
	case 'i':
		settings->input = value;
		return 0;
	case 'o':
		settings->output = value;
		return 0;
	case 'f':
		settings->format = value;
		return 0;
	case OPT_FILTERS:
		settings->filters = value;
		return 0;
	case OPT_FORMAT_OPTIONS:
		settings->format_options = value;
		return 0;
	case OPT_ORDER:
		settings->order_given = true;
		return archive_parse_order(value, &settings->tree_order);
	case OPT_PERFMON:
		return times_parse(value, &settings->times);
	case OPT_PERFMON_TRACE:
		settings->trace = value;
		return 0;
	case OPT_LOG_LEVEL:
		return tool_take_log_level(value);
	default:
		return add_pattern(settings, value);
	}
}

/* Options without an argument; false if id is not one of them. */
static bool take_switch(struct settings *settings, int id)
{
	switch (id) {
	case OPT_SKIP_DEVICES:
		return settings->skip_devices = true;
	case OPT_SKIP_SPECIALS:
		return settings->skip_specials = true;
	case OPT_NO_XATTRS:
		return settings->no_xattrs = true;
	case OPT_CONTINUE:
		return settings->continue_on_error = true;
	case OPT_NO_SYNC:
		return settings->no_sync = true;
	case OPT_NO_CHECK:
		return settings->no_check = true;
	case OPT_HUGE_HOLES:
		return settings->allow_huge_holes = true;
	case OPT_STDOUT_PROGRESS:
		return settings->stdout_progress = true;
	case OPT_LOG_CONTEXT:
		tool_set_log_context(true);
		return true;
	default:
		return false;
	}
}

/* -- all of them --------------------------------------------------------------------- */

/* 0 to continue, 1 after printing an error. */
static int take_extract_option(struct settings *settings, int id, const char *value)
{
	if (take_switch(settings, id))
		return 0;
	switch (id) {
	case 'O':
	case 's':
	case 'n':
	case OPT_WRITERS:
		return take_number(settings, id, value);
	case OPT_SAME_OWNER:
	case OPT_NO_SAME_OWNER:
	case OPT_SET_OWNER:
	case OPT_SET_GROUP:
		return take_owner(settings, id, value);
	case OPT_MAN:
		return tool_show_man();
	case 'h':
		settings_print_usage();
		settings->done = true;
		return 0;
	case OPT_VERSION:
		tool_print_version();
		settings->done = true;
		return 0;
	default:
		return take_path_option(settings, id, value);
	}
}

/* Check for options that exclude each other. */
static int check(const struct settings *settings)
{
	if (!settings->input)
		return tool_error("no image given; see dwarfsextract --help");
	if (settings->trace && !settings->times)
		return tool_error("--perfmon-trace needs --perfmon");
	if (!settings->format) {
		if (settings->filters || settings->format_options ||
		    settings->order_given || settings->allow_huge_holes)
			return tool_error(
				"--format-filters, --format-options, "
				"--archive-order and --allow-huge-holes need --format");
		if (settings->no_sync)
			return tool_error(
				"--no-sync needs --format: files in a directory "
				"are not synchronized in any case");
		if (settings->output && strcmp(settings->output, "-") == 0)
			return tool_error("writing to '-' needs --format");
		return 0;
	}
	if (settings->owners_given)
		return tool_error(
			"--same-owner and --no-same-owner are not for archives: "
			"these have owners in any case");
	if (settings->writers)
		return tool_error("--num-disk-writers is not for archives");
	return 0;
}

int settings_parse(int argc, char **argv, struct settings *settings)
{
	auto_args args = { 0 };
	const char *pattern;
	int id;

	if (tool_args_init(&args, argc, argv, option_table))
		return 1;
	while ((id = tool_args_next(&args)) != TOOL_ARGS_END) {
		if (id == TOOL_ARGS_BAD || take_extract_option(settings, id, args.value))
			return 1;
		if (settings->done)
			return 0;
	}
	if (!settings->input)
		settings->input = tool_args_positional(&args);
	while ((pattern = tool_args_positional(&args)))
		if (add_pattern(settings, pattern))
			return 1;
	return check(settings);
}
