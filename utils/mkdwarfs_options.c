/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs_options: the options of mkdwarfs, and its help.
 *
 * Takes the command line, gives settings. Checks the form of each value; what depends on
 * the input or on the library is checked where it is used.
 */
#include "mkdwarfs.h"

#include <inttypes.h>
#include <string.h>

enum {
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
	OPT_PROGRESS,
	OPT_NO_PROGRESS,
};

#define REFUSED(id, name)                                                                \
	{                                                                                \
		id, name, "ARG", NULL, TOOL_UNSUPPORTED                                  \
	}

static const struct tool_option options[] = {
	{ 'i', "input", "DIRECTORY", "what to pack; required", TOOL_BASIC },
	{ 'o', "output", "FILE", "the image to make, or - for stdout; required",
	  TOOL_BASIC },
	{ 'f', "force", NULL, "replace an existing image", TOOL_BASIC },
	{ 'l', "compress-level", "N", "0 (fast) to 9 (small); default 7", TOOL_BASIC },
	{ 'S', "block-size-bits", "N", "size of blocks: 2^N bytes, N from 10 to 30" },
	{ 'N', "num-workers", "N", "threads; default: one for each processor" },
	{ 'C', "compression", "CODEC", "of blocks: see below" },
	{ OPT_SCHEMA, "schema-compression", "CODEC", "of the metadata's layout" },
	{ OPT_METADATA, "metadata-compression", "CODEC", "of the metadata" },
	{ OPT_HISTORY, "history-compression", "CODEC", "of the history" },
	{ OPT_ORDER, "order", "ORDER", "of files in blocks: none, path, revpath" },
	{ OPT_OWNER, "set-owner", "USER", "give everything one owner" },
	{ OPT_GROUP, "set-group", "GROUP", "give everything one group" },
	{ OPT_TIME, "set-time", "TIME",
	  "give everything one time: now, epoch, a date and\ntime in UTC, or seconds "
	  "since 1970" },
	{ OPT_CHMOD, "chmod", "MODES",
	  "change modes as chmod(1) does; D and F in front: only\n"
	  "directories, only others; norm: ug-st,=Xr" },
	{ OPT_RESOLUTION, "time-resolution", "N[UNIT]",
	  "step of times: ns, us, ms, s, m, h, d; default 1s" },
	{ OPT_ALL_TIMES, "keep-all-times", NULL, "store access and change times, too" },
	{ OPT_NO_HISTORY, "no-history", NULL, "store no history" },
	{ OPT_NO_HISTORY_TIMESTAMPS, "no-history-timestamps", NULL,
	  "store no time in the history" },
	{ OPT_NO_HISTORY_COMMAND_LINE, "no-history-command-line", NULL,
	  "store no command line in the history" },
	{ OPT_NO_CREATE_TIMESTAMP, "no-create-timestamp", NULL,
	  "do not store when the image was made" },
	{ OPT_NO_SECTION_INDEX, "no-section-index", NULL,
	  "write no index of the sections" },
	{ OPT_NO_HARDLINK_TABLE, "no-hardlink-table", NULL,
	  "let readers count hard links" },
	{ OPT_HEADER, "header", "FILE", "put this in front of the image" },
	{ 'P', "pack-metadata", "WORDS",
	  "auto, none, all, or some of chunk_table, directories,\n"
	  "shared_files, names, names_index, symlinks,\n"
	  "symlinks_index, force, plain; default auto" },
	{ OPT_NO_SPARSE, "no-sparse-files", NULL, "store holes as zeros" },
	{ OPT_DEVICES, "with-devices", NULL, "store devices" },
	{ OPT_SPECIALS, "with-specials", NULL, "store fifos and sockets" },
	{ OPT_LOG_LEVEL, "log-level", "LEVEL",
	  "fatal, error, warn, info, verbose, debug, trace;\ndefault info" },
	{ OPT_PROGRESS, "progress", "MODE",
	  "none, simple, ascii, unicode; default: by the terminal" },
	{ OPT_NO_PROGRESS, "no-progress", NULL, "the same as --progress=none" },
	{ 'h', "help", NULL, "the most important options", TOOL_BASIC },
	{ 'H', "long-help", NULL, "all options, levels and codecs", TOOL_BASIC },
	{ OPT_MAN, "man", NULL, "show the manual page", TOOL_BASIC },
	{ OPT_VERSION, "version", NULL, "show the version", TOOL_BASIC },
	REFUSED(0, "input-list"),
	REFUSED(0, "log-with-context"),
	REFUSED(0, "compress-niceness"),
	REFUSED(0, "num-scanner-workers"),
	REFUSED(0, "num-segmenter-workers"),
	REFUSED('L', "memory-limit"),
	REFUSED(0, "recompress"),
	REFUSED(0, "rebuild-metadata"),
	REFUSED(0, "change-block-size"),
	REFUSED(0, "recompress-categories"),
	REFUSED(0, "no-metadata-version-history"),
	REFUSED(0, "no-check"),
	REFUSED(0, "categorize"),
	REFUSED(0, "max-similarity-size"),
	REFUSED(0, "file-hash"),
	REFUSED(0, "hollow"),
	REFUSED(0, "remove-header"),
	REFUSED('B', "max-lookback-blocks"),
	REFUSED('W', "window-size"),
	REFUSED('w', "window-step"),
	REFUSED(0, "bloom-filter-size"),
	REFUSED('F', "filter"),
	REFUSED(0, "debug-filter"),
	REFUSED(0, "remove-empty-dirs"),
	REFUSED(0, "no-category-names"),
	REFUSED(0, "no-category-metadata"),
	REFUSED(0, "hotness-list"),
	REFUSED(0, "incompressible-min-input-size"),
	REFUSED(0, "incompressible-block-size"),
	REFUSED(0, "incompressible-ratio"),
	REFUSED(0, "incompressible-zstd-level"),
	REFUSED(0, "incompressible-fragments"),
	{ 0 },
};

static bool is_built_in(const char *codec)
{
	const char *help;
	size_t i;

	for (i = 0; (help = dwarfs_codec_help(i)); i++) {
		if (strcspn(help, " ") == strlen(codec) &&
		    strncmp(help, codec, strlen(codec)) == 0)
			return true;
	}
	return false;
}

/* What the table of levels cannot know. */
static void print_absent_codecs(void)
{
	static const char *const names[] = { "lz4", "lz4hc", "zstd", "lzma", "brotli" };
	const char *between = "\nNot built in: ";
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (is_built_in(names[i]))
			continue;
		printf("%s%s", between, names[i]);
		between = ", ";
	}
	if (*between == ',')
		printf("; a level uses the nearest codec that is, or null.\n");
}

static void print_usage(bool all)
{
	size_t i;

	printf("Usage: mkdwarfs -i DIRECTORY -o FILE [options]\n\n"
	       "Pack a directory into a DwarFS image.\n\n");
	tool_print_options(stdout, options, all);
	if (!all)
		return;

	printf("\nLevels:\n"
	       "  level  block    blocks   schema, history  metadata  order\n"
	       "      0   1 MiB  null     null             null      none\n"
	       "      1   1 MiB  lz4      zstd:16          null      path\n"
	       "      2   1 MiB  lz4hc:9  zstd:16          null      path\n"
	       "      3   2 MiB  lz4hc:9  zstd:16          null      path\n"
	       "      4   4 MiB  zstd:11  zstd:16          null      path\n"
	       "      5   8 MiB  zstd:19  zstd:16          null      path\n"
	       "      6  16 MiB  zstd:22  zstd:16          null      path\n"
	       "      7  16 MiB  zstd:22  zstd:16          zstd:22   path\n"
	       "      8  16 MiB  lzma:9   zstd:16          lzma:9    path\n"
	       "      9  64 MiB  lzma:9   zstd:16          lzma:9    path\n");
	print_absent_codecs();
	printf("\nCodecs (CODEC is a name with options, such as zstd:level=19):\n");
	for (i = 0; dwarfs_codec_help(i); i++)
		printf("  %s\n", dwarfs_codec_help(i));
}

static int refuse_categories(const char *option, const char *value)
{
	if (!strstr(value, "::"))
		return 0;
	return tool_error(
		"option '--%s' for a category ('%s') is not supported by this version",
		option, value);
}

static int parse_codec(const char *option, const char *value, const char **codec_out)
{
	*codec_out = value;
	return refuse_categories(option, value);
}

static int parse_level(const char *value, uint64_t *level_out)
{
	if (strlen(value) != 1 || *value < '0' || *value > '9')
		return tool_error(
			"invalid compression level '%s': must be between 0 and 9", value);
	*level_out = (uint64_t)(*value - '0');
	return 0;
}

static int parse_block_bits(const char *value, uint64_t *bits_out)
{
	if (tool_parse_number("block-size-bits", value, 0, UINT32_MAX, bits_out))
		return 1;
	if (*bits_out < 10 || *bits_out > 30)
		return tool_error("block size must be between 2^10 and 2^30 bytes: "
				  "--block-size-bits %s",
				  value);
	return 0;
}

static int parse_order(const char *value, const char **order_out)
{
	static const char *const later[] = { "similarity", "nilsimsa", "explicit" };
	size_t i;

	if (refuse_categories("order", value))
		return 1;
	for (i = 0; i < sizeof(later) / sizeof(*later); i++) {
		if (strncmp(value, later[i], strcspn(value, ":")) == 0 &&
		    strlen(later[i]) == strcspn(value, ":"))
			return tool_error(
				"option '--order=%s' is not supported by this version",
				value);
	}
	if (strcmp(value, "none") != 0 && strcmp(value, "path") != 0 &&
	    strcmp(value, "revpath") != 0)
		return tool_error(
			"invalid inode order mode '%s': one of none, path, revpath",
			value);
	*order_out = value;
	return 0;
}

static int set(bool *flag)
{
	*flag = true;
	return 0;
}

static int set_text(const char **text, const char *value)
{
	*text = value;
	return 0;
}

static int set_log_level(const char *value)
{
	int level;

	if (tool_parse_log_level("log-level", value, &level))
		return 1;
	tool_set_log_level(level);
	return 0;
}

/* Options that stand for one flag each. */
static int parse_flag(struct settings *s, int id)
{
	switch (id) {
	case 'f':
		return set(&s->force);
	case OPT_ALL_TIMES:
		return set(&s->keep_all_times);
	case OPT_NO_HISTORY:
		return set(&s->no_history);
	case OPT_NO_HISTORY_TIMESTAMPS:
		return set(&s->no_history_timestamps);
	case OPT_NO_HISTORY_COMMAND_LINE:
		return set(&s->no_history_command_line);
	case OPT_NO_CREATE_TIMESTAMP:
		return set(&s->no_create_timestamp);
	case OPT_NO_SECTION_INDEX:
		return set(&s->no_section_index);
	case OPT_NO_HARDLINK_TABLE:
		return set(&s->no_hardlink_table);
	case OPT_NO_SPARSE:
		return set(&s->no_sparse_files);
	case OPT_DEVICES:
		return set(&s->with_devices);
	case OPT_SPECIALS:
		return set(&s->with_specials);
	case OPT_NO_PROGRESS:
		s->progress_mode = PROGRESS_NONE;
		return 0;
	default:
		return tool_error("option %d is not handled", id);
	}
}

static int parse_option(struct settings *s, int id, const char *value)
{
	switch (id) {
	case 'i':
		return set_text(&s->input, value);
	case 'o':
		return set_text(&s->output, value);
	case 'l':
		return parse_level(value, &s->level);
	case 'S':
		return parse_block_bits(value, &s->block_bits);
	case 'N':
		return tool_parse_number("num-workers", value, 0, 1024, &s->workers);
	case 'C':
		return parse_codec("compression", value, &s->codecs[DWARFS_CODEC_BLOCKS]);
	case OPT_SCHEMA:
		return parse_codec("schema-compression", value,
				   &s->codecs[DWARFS_CODEC_SCHEMA]);
	case OPT_METADATA:
		return parse_codec("metadata-compression", value,
				   &s->codecs[DWARFS_CODEC_METADATA]);
	case OPT_HISTORY:
		return parse_codec("history-compression", value,
				   &s->codecs[DWARFS_CODEC_HISTORY]);
	case OPT_ORDER:
		return parse_order(value, &s->order);
	case OPT_OWNER:
		s->has_owner = true;
		return tool_parse_user("set-owner", value, &s->owner);
	case OPT_GROUP:
		s->has_group = true;
		return tool_parse_group("set-group", value, &s->group);
	case OPT_TIME:
		s->has_time = true;
		return parse_time_point(value, &s->time_seconds, &s->time_nanoseconds);
	case OPT_CHMOD:
		return set_text(&s->chmod, value);
	case OPT_RESOLUTION:
		return parse_time_resolution(value, &s->time_resolution_ns);
	case OPT_HEADER:
		return set_text(&s->header, value);
	case 'P':
		return set_text(&s->pack_metadata, value);
	case OPT_LOG_LEVEL:
		return set_log_level(value);
	case OPT_PROGRESS:
		return progress_parse_mode(value, &s->progress_mode);
	default:
		return parse_flag(s, id);
	}
}

static int show_help(int id)
{
	switch (id) {
	case OPT_VERSION:
		tool_print_version();
		return SETTINGS_DONE;
	case OPT_MAN:
		tool_show_man();
		return SETTINGS_BAD;
	default:
		print_usage(id == 'H');
		return SETTINGS_DONE;
	}
}

static int check_required(const struct settings *s)
{
	if (!s->input)
		return tool_error("option '--input' is required");
	if (!s->output)
		return tool_error("option '--output' is required");
	return 0;
}

int settings_parse(struct settings *settings, int argc, char **argv)
{
	auto_args args = { 0 };
	const char *stray;
	int id;

	*settings = (struct settings){
		.level = TOOL_DEFAULT,
		.block_bits = TOOL_DEFAULT,
		.workers = TOOL_DEFAULT,
		.time_resolution_ns = TOOL_DEFAULT,
		.progress_mode = PROGRESS_AUTO,
	};
	if (argc <= 1)
		return show_help('h');
	if (tool_args_init(&args, argc, argv, options))
		return SETTINGS_BAD;

	while ((id = tool_args_next(&args)) != TOOL_ARGS_END) {
		if (id == TOOL_ARGS_BAD)
			return SETTINGS_BAD;
		if (id == 'h' || id == 'H' || id == OPT_MAN || id == OPT_VERSION)
			return show_help(id);
		if (parse_option(settings, id, args.value))
			return SETTINGS_BAD;
	}
	if ((stray = tool_args_positional(&args))) {
		tool_error("unrecognized argument '%s'", stray);
		return SETTINGS_BAD;
	}
	return check_required(settings) ? SETTINGS_BAD : SETTINGS_RUN;
}
