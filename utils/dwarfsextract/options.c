/* SPDX-License-Identifier: MIT */
/*
 * dwarfsextract/options: the command line.
 */
#include "dwarfsextract/dwarfsextract.h"

#include <string.h>

enum { OPT_VERSION = 256, OPT_MAN, OPT_SAME_OWNER };

/* -- arguments ----------------------------------------------------------------------- */

static int parse_order(const struct tool_option *option, const char *text, void *settings)
{
	struct settings *s = settings;

	(void)option;
	return archive_parse_order(text, &s->tree_order);
}

static int parse_owners(const struct tool_option *option, const char *text,
			void *settings)
{
	struct settings *s = settings;
	const bool owners = option->id == OPT_SAME_OWNER;

	(void)text;
	if (s->owners_given && s->owners != owners)
		return tool_error(
			"--same-owner and --no-same-owner are mutually exclusive");
	s->owners_given = true;
	s->owners = owners;
	return 0;
}

static int parse_perfmon(const struct tool_option *option, const char *text,
			 void *settings)
{
	struct settings *s = settings;

	(void)option;
	return times_parse(text, &s->times);
}

/* -- the command line ---------------------------------------------------------------- */

static const struct tool_option option_table[] = {
	{ 'i', "input", "IMAGE", "the image; also the first argument without -i",
	  TOOL_BASIC, TOOL_INTO_TEXT(input) },
	{ 'o', "output", "PATH",
	  "the directory to write to, made if missing; default:\n"
	  "the current one. With -f, the archive; default: -",
	  TOOL_BASIC, TOOL_INTO_TEXT(output) },
	{ 'O', "image-offset", "BYTES",
	  "where the image starts in its file, or auto, the\ndefault", TOOL_BASIC,
	  TOOL_INTO_OFFSET(offset) },
	{ 0, "pattern", "GLOB",
	  "extract only what matches; may be given again, and\n"
	  "without --pattern; i:GLOB ignores the case",
	  TOOL_BASIC, TOOL_INTO_LIST(patterns) },
	{ 'f', "format", "FORMAT",
	  "write an archive: tar, pax, cpio, zip, 7zip, …; auto\n"
	  "takes it from the name of the output",
	  TOOL_BASIC, TOOL_INTO_TEXT(format) },
	{ 0, "format-filters", "FILTERS", "compression of the archive, as zstd or gzip",
	  TOOL_BASIC, TOOL_INTO_TEXT(filters) },
	{ 0, "format-options", "OPTIONS",
	  "options of the format and the filters,\nas compression-level=9", TOOL_BASIC,
	  TOOL_INTO_TEXT(format_options) },
	{ 0, "archive-order", "ORDER",
	  "of files in the archive: data, the default, reads\n"
	  "the image once; tree",
	  TOOL_BASIC, .kind = TOOL_PARSED, .parse = parse_order,
	  TOOL_GIVEN(order_given) },
	{ 0, "allow-huge-holes", NULL,
	  "write holes as zeros into formats that have none,\nwhatever their size",
	  TOOL_BASIC, TOOL_INTO_FLAG(allow_huge_holes) },
	{ 0, "skip-devices", NULL, "leave out devices", TOOL_BASIC,
	  TOOL_INTO_FLAG(skip_devices) },
	{ 0, "skip-specials", NULL, "leave out fifos and sockets", TOOL_BASIC,
	  TOOL_INTO_FLAG(skip_specials) },
	{ 0, "no-xattrs", NULL, "leave out extended attributes", TOOL_BASIC,
	  TOOL_INTO_FLAG(no_xattrs) },
	{ OPT_SAME_OWNER, "same-owner", NULL, "set owners and groups; default for root",
	  TOOL_BASIC, .kind = TOOL_PARSED, .parse = parse_owners },
	{ 0, "no-same-owner", NULL, "do not set owners and groups", TOOL_BASIC,
	  .kind = TOOL_PARSED, .parse = parse_owners },
	{ 0, "set-owner", "USER", "let this user, a name or number, own everything",
	  TOOL_BASIC, TOOL_INTO_USER(uid), TOOL_GIVEN(uid_given) },
	{ 0, "set-group", "GROUP", "likewise for the group", TOOL_BASIC,
	  TOOL_INTO_GROUP(gid), TOOL_GIVEN(gid_given) },
	{ 0, "continue-on-error", NULL, "write as much as possible; still exit with 1",
	  TOOL_BASIC, TOOL_INTO_FLAG(continue_on_error) },
	{ 0, "no-sync", NULL, "do not wait until an archive is on disk", TOOL_BASIC,
	  TOOL_INTO_FLAG(no_sync) },
	{ 0, "disable-integrity-check", NULL,
	  "do not verify the hashes of blocks: dangerous", TOOL_BASIC,
	  TOOL_INTO_FLAG(no_check) },
	{ 0, "stdout-progress", NULL, "print the share that is done on stdout",
	  TOOL_BASIC, TOOL_INTO_FLAG(stdout_progress) },
	{ 'n', "num-workers", "N",
	  "threads that unpack and write; default: one for each\nprocessor", TOOL_BASIC,
	  TOOL_INTO_NUMBER(workers, 0, 1024) },
	{ 0, "num-disk-writers", "N", "more threads that only write; default 0",
	  TOOL_BASIC, TOOL_INTO_NUMBER(writers, 0, 1024) },
	{ 's', "cache-size", "SIZE",
	  "decompressed blocks to keep in memory; default\n512m", TOOL_BASIC,
	  TOOL_INTO_BYTES(cache_bytes) },
	{ 0, "log-level", "LEVEL",
	  "fatal, error, warn, info, verbose, debug, trace;\ndefault info", TOOL_BASIC,
	  .kind = TOOL_PARSED, .parse = tool_take_log_level },
	{ 0, "log-with-context", NULL, "the time and the thread with each message",
	  TOOL_BASIC, .kind = TOOL_PARSED, .parse = tool_take_log_context },
	{ 0, "perfmon", "PART+...",
	  "print how long things took: filesystem_v2,\ninode_reader_v2, block_cache",
	  TOOL_BASIC, .kind = TOOL_PARSED, .parse = parse_perfmon },
	{ 0, "perfmon-trace", "FILE", "write each of these, as trace events in JSON",
	  TOOL_BASIC, TOOL_INTO_TEXT(trace) },
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

/* Returns 0 when help was printed, 1 after an error. */
static int show_extract_help(struct settings *settings, int id)
{
	if (id == OPT_MAN)
		return tool_show_man();
	settings->done = true;
	if (id == OPT_VERSION)
		tool_print_version();
	else
		settings_print_usage();
	return 0;
}

/* Check for options that exclude each other. */
static int check(const struct settings *settings)
{
	if (!settings->input)
		return tool_error("no image given; see dwarfsextract --help");
	if (settings->trace && !settings->times)
		return tool_error("--perfmon-trace needs --perfmon");
	if (settings->trace && tool_is_same_file(settings->trace, settings->input))
		return tool_error("--perfmon-trace: '%s' is the image itself",
				  settings->trace);
	if (settings->owners_given && !settings->owners &&
	    (settings->uid_given || settings->gid_given))
		return tool_error("--no-same-owner excludes --set-owner and --set-group");
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
		if (id == TOOL_ARGS_BAD)
			return 1;
		if (args.option->kind == TOOL_ACTION)
			return show_extract_help(settings, id);
		if (tool_option_set(args.option, args.value, settings))
			return 1;
	}
	if (!settings->input)
		settings->input = tool_args_positional(&args);
	while ((pattern = tool_args_positional(&args)))
		if (tool_list_add(&settings->patterns, pattern))
			return 1;
	return check(settings);
}
