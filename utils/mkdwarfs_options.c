/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs_options: the options of mkdwarfs, and its help.
 *
 * Takes the command line, gives settings. Checks the form of each value; what depends on
 * the input or on the library is checked where it is used.
 */
#include "mkdwarfs.h"

#include <inttypes.h>
#include <stdlib.h>
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
	OPT_PROGRESS,
	OPT_NO_PROGRESS,
	OPT_INPUT_LIST,
	OPT_INPUT_FORMAT,
	OPT_STRIP,
	OPT_PREFIX,
	OPT_WHITEOUTS,
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
};

#define REFUSED(id, name)                                                                \
	{                                                                                \
		id, name, "ARG", NULL, TOOL_UNSUPPORTED                                  \
	}

static const struct tool_option options[] = {
	{ 'i', "input", "PATH",
	  "a directory or an archive, or - for an archive from\nstdin; several are "
	  "merged "
	  "in order; required",
	  TOOL_BASIC },
	{ OPT_INPUT_LIST, "input-list", "FILE",
	  "pack what the lines of FILE, or - for stdin, name;\nrelative to --input or "
	  "the "
	  "current directory" },
	{ OPT_INPUT_FORMAT, "input-format", "FORMAT",
	  "of archives: see below; default: recognized" },
	{ OPT_STRIP, "strip-components", "N",
	  "leave out N names at the beginning of each path in\narchives" },
	{ OPT_PREFIX, "prefix", "PATH",
	  "put the input into this directory of the image" },
	{ OPT_WHITEOUTS, "whiteouts", NULL,
	  "archives are layers of a container image: .wh. files\nhide what is below" },
	{ OPT_SPOOL, "spool-dir", "DIRECTORY",
	  "for what does not fit into memory of archives; default\n/tmp" },
	{ 'o', "output", "FILE", "the image to make, or - for stdout; required",
	  TOOL_BASIC },
	{ 'f', "force", NULL, "replace an existing image", TOOL_BASIC },
	{ 'l', "compress-level", "N", "0 (fast) to 9 (small); default 7", TOOL_BASIC },
	{ 'S', "block-size-bits", "N", "size of blocks: 2^N bytes, N from 10 to 30" },
	{ 'N', "num-workers", "N", "threads; default: one for each processor" },
	{ OPT_SCANNERS, "num-scanner-workers", "N",
	  "threads that read the input; default: as many" },
	{ OPT_SEGMENTERS, "num-segmenter-workers", "N", "has no effect here" },
	{ OPT_NICENESS, "compress-niceness", "N",
	  "nice value of threads that compress; default 5" },
	{ 'L', "memory-limit", "SIZE",
	  "of the whole process, or auto: a quarter of the\nmemory, by fewer threads "
	  "only" },
	{ 'C', "compression", "[CATEGORY::]CODEC", "of blocks: see below" },
	{ OPT_SCHEMA, "schema-compression", "CODEC", "of the metadata's layout" },
	{ OPT_METADATA, "metadata-compression", "CODEC", "of the metadata" },
	{ OPT_HISTORY, "history-compression", "CODEC", "of the history" },
	{ OPT_ORDER, "order", "[CATEGORY::]ORDER",
	  "of files in blocks: none, path, revpath, auto,\nsimilarity, nilsimsa, "
	  "explicit:file=FILE" },
	{ OPT_SIMILARITY, "max-similarity-size", "SIZE",
	  "larger files come first, by size, not by resemblance" },
	{ 'W', "window-size", "[CATEGORY::]N",
	  "store parts of files once from 2^N bytes on; 0: do not" },
	{ 'w', "window-step", "[CATEGORY::]N",
	  "look at 2^N places in each such part, N from 0 to 8" },
	{ 'B', "max-lookback-blocks", "[CATEGORY::]N",
	  "only in the last N blocks; default: in all" },
	{ OPT_BLOOM, "bloom-filter-size", "[CATEGORY::]N", "has no effect here" },
	{ OPT_FILE_HASH, "file-hash", "NAME",
	  "that finds equal files; none: store each; default\nxxh3-128" },
	{ OPT_CATEGORIZE, "categorize", "LIST",
	  "treat kinds of files by what they are: see below;\nwithout LIST fits,pcmaudio,"
	  "binary,incompressible",
	  TOOL_OPTIONAL },
	{ OPT_HOTNESS, "hotness-list", "FILE",
	  "paths for the categorizer hotness, the first first" },
	{ OPT_MIN_INPUT, "incompressible-min-input-size", "SIZE",
	  "smaller files are not probed; default 256" },
	{ OPT_PROBE_BLOCK, "incompressible-block-size", "SIZE",
	  "bytes that are probed at a time; default 1m" },
	{ OPT_RATIO, "incompressible-ratio", "R",
	  "what packs to R or more is incompressible; default 0.99" },
	{ OPT_ZSTD_LEVEL, "incompressible-zstd-level", "N", "of the probe; default -1" },
	{ OPT_FRAGMENTS, "incompressible-fragments", NULL,
	  "find incompressible parts of files, too" },
	{ OPT_NO_CATEGORY_NAMES, "no-category-names", NULL,
	  "store no names of categories" },
	{ OPT_NO_CATEGORY_METADATA, "no-category-metadata", NULL,
	  "store nothing about the samples of categories" },
	{ 'F', "filter", "RULE",
	  "take (+ PATTERN) or leave out (- PATTERN), or read\nrules (. FILE); the first "
	  "that matches counts" },
	{ OPT_DEBUG_FILTER, "debug-filter", "MODE",
	  "only show what the rules do: all (default), files,\nincluded, included-files, "
	  "excluded, excluded-files",
	  TOOL_OPTIONAL },
	{ OPT_REMOVE_EMPTY, "remove-empty-dirs", NULL, "leave out empty directories" },
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
	{ OPT_BIRTH_TIMES, "keep-birth-times", NULL,
	  "store when files were born, where that is known" },
	{ OPT_NO_XATTRS, "no-xattrs", NULL, "store no extended attributes" },
	{ OPT_XATTRS_INCLUDE, "xattrs-include", "GLOB",
	  "store only extended attributes with such names;\nmay be repeated" },
	{ OPT_XATTRS_EXCLUDE, "xattrs-exclude", "GLOB",
	  "store no extended attributes with such names;\nmay be repeated" },
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
	{ OPT_HOLLOW, "hollow", NULL,
	  "store sizes instead of contents: zeros on reading" },
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
	REFUSED(0, "log-with-context"),
	REFUSED(0, "recompress"),
	REFUSED(0, "rebuild-metadata"),
	REFUSED(0, "change-block-size"),
	REFUSED(0, "recompress-categories"),
	REFUSED(0, "no-metadata-version-history"),
	REFUSED(0, "no-check"),
	REFUSED(0, "remove-header"),
	{ 0 },
};

/* Where "category::value" goes on behind the colons; NULL when it names no category. */
static const char *behind_category(const char *text)
{
	const char *colons = strstr(text, "::");

	/* explicit:file=a::b has none */
	return colons && strcspn(text, ":=") == (size_t)(colons - text) ? colons + 2
									: NULL;
}

static int add_choice(struct settings *s, int id, const char *category, size_t length,
		      const char *value)
{
	struct choice *list = realloc(s->choices, (s->choice_count + 1) * sizeof(*list));
	char *copy = NULL;

	if (!list)
		return tool_error("out of memory");
	s->choices = list;
	if (category && !(copy = strndup(category, length)))
		return tool_error("out of memory");
	list[s->choice_count++] =
		(struct choice){ .id = id, .category = copy, .value = value };
	return 0;
}

/* "value" or "category::value" */
static int parse_choice(struct settings *s, int id, const char *option, const char *text)
{
	const char *value = behind_category(text);

	if (!value)
		return add_choice(s, id, NULL, 0, text);
	if (value - text == 2)
		return tool_error("invalid --%s '%s': no category before '::'", option,
				  text);
	return add_choice(s, id, text, (size_t)(value - text) - 2, value);
}

static int parse_number_choice(struct settings *s, int id, const char *option,
			       const char *text, uint64_t max)
{
	uint64_t number;

	if (parse_choice(s, id, option, text) ||
	    tool_parse_number(option, s->choices[s->choice_count - 1].value, 0, max,
			      &number))
		return 1;
	s->choices[s->choice_count - 1].number = (uint32_t)number;
	return 0;
}

static int parse_bloom_filter(const char *text)
{
	const char *value = behind_category(text);
	uint64_t bits;

	if (tool_parse_number("bloom-filter-size", value ? value : text, 0, 10, &bits))
		return 1;
	tool_log(DWARFS_LOG_WARN, "--bloom-filter-size has no effect: all places of the "
				  "image are looked up in an index");
	return 0;
}

static int parse_segmenters(const char *text)
{
	uint64_t count;

	if (tool_parse_number("num-segmenter-workers", text, 0, 1024, &count))
		return 1;
	tool_log(DWARFS_LOG_WARN, "--num-segmenter-workers has no effect: one thread "
				  "keeps up with all that compress");
	return 0;
}

static int parse_memory_limit(const char *text, uint64_t *bytes_out)
{
	if (strcmp(text, "auto") == 0) {
		*bytes_out = 0;
		return 0;
	}
	if (tool_parse_bytes("memory-limit", text, bytes_out))
		return 1;
	if (*bytes_out == 0)
		return tool_error("invalid size '%s' for --memory-limit: a size above 0, "
				  "or auto",
				  text);
	return 0;
}

static int parse_ratio(const char *text, double *ratio_out)
{
	char *end;

	*ratio_out = strtod(text, &end);
	if (end == text || *end || !(*ratio_out > 0 && *ratio_out <= 1))
		return tool_error("invalid number '%s' for --incompressible-ratio: above "
				  "0 and up to 1",
				  text);
	return 0;
}

static int parse_zstd_level(const char *text, int *level_out)
{
	const bool negative = *text == '-';
	uint64_t level;

	if (tool_parse_number("incompressible-zstd-level", text + negative, 0,
			      negative ? 131072 : 22, &level))
		return 1;
	*level_out = negative ? -(int)level : (int)level;
	return 0;
}

static int parse_debug_filter(const char *text, struct settings *s)
{
	static const struct {
		const char *name;
		struct filter_report report;
	} modes[] = {
		{ "all", { .included = true, .excluded = true } },
		{ "files", { .included = true, .excluded = true, .files_only = true } },
		{ "included", { .included = true } },
		{ "included-files", { .included = true, .files_only = true } },
		{ "excluded", { .excluded = true } },
		{ "excluded-files", { .excluded = true, .files_only = true } },
	};
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(text ? text : "all", modes[i].name) != 0)
			continue;
		s->debug_filter = true;
		s->report = modes[i].report;
		return 0;
	}
	return tool_error(
		"invalid mode for --debug-filter: '%s': one of all, files, included, "
		"included-files, excluded, excluded-files",
		text);
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
	case OPT_BIRTH_TIMES:
		return set(&s->keep_birth_times);
	case OPT_NO_XATTRS:
		return set(&s->no_xattrs);
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
	case OPT_HOLLOW:
		return set(&s->hollow);
	case OPT_REMOVE_EMPTY:
		return set(&s->remove_empty_directories);
	case OPT_NO_CATEGORY_NAMES:
		return set(&s->no_category_names);
	case OPT_NO_CATEGORY_METADATA:
		return set(&s->no_category_metadata);
	case OPT_FRAGMENTS:
		s->has_probe = true;
		return set(&s->probe_fragments);
	case OPT_NO_PROGRESS:
		s->progress_mode = PROGRESS_NONE;
		return 0;
	default:
		return tool_error("option %d is not handled", id);
	}
}

static int add_input(struct settings *s, const char *value)
{
	const size_t bytes = (s->input_count + 1) * sizeof(*s->inputs);
	const char **list = realloc(s->inputs, bytes);

	if (!list)
		return tool_error("out of memory");
	s->inputs = list;
	list[s->input_count++] = value;
	return 0;
}

/* What is about archives. */
static int parse_archive_option(struct settings *s, int id, const char *value)
{
	switch (id) {
	case OPT_INPUT_FORMAT:
		return set_text(&s->input_format, value);
	case OPT_STRIP:
		return tool_parse_number("strip-components", value, 0, UINT32_MAX,
					 &s->strip);
	case OPT_PREFIX:
		return set_text(&s->prefix, value);
	case OPT_SPOOL:
		return set_text(&s->spool_dir, value);
	case OPT_WHITEOUTS:
		return set(&s->whiteouts);
	default:
		return parse_flag(s, id);
	}
}

/* Options that can be given for a category, and rules: their order counts. */
static int parse_repeated(struct settings *s, int id, const char *value)
{
	switch (id) {
	case 'C':
		return parse_choice(s, CHOICE_CODEC, "compression", value);
	case OPT_ORDER:
		return parse_choice(s, CHOICE_ORDER, "order", value);
	case 'B':
		return parse_number_choice(s, CHOICE_LOOKBACK, "max-lookback-blocks",
					   value, UINT32_MAX);
	case 'W':
		return parse_number_choice(s, CHOICE_WINDOW, "window-size", value, 24);
	case 'w':
		return parse_number_choice(s, CHOICE_STEP, "window-step", value, 8);
	case OPT_BLOOM:
		return parse_bloom_filter(value);
	case OPT_XATTRS_INCLUDE:
		return add_choice(s, CHOICE_XATTRS_INCLUDE, NULL, 0, value);
	case OPT_XATTRS_EXCLUDE:
		return add_choice(s, CHOICE_XATTRS_EXCLUDE, NULL, 0, value);
	case 'F':
		s->has_filter = true;
		return add_choice(s, CHOICE_FILTER, NULL, 0, value);
	default:
		return parse_archive_option(s, id, value);
	}
}

static int parse_categorizers(struct settings *s, int id, const char *value)
{
	switch (id) {
	case OPT_CATEGORIZE:
		return set_text(&s->categorizers,
				value ? value : "fits,pcmaudio,binary,incompressible");
	case OPT_HOTNESS:
		return set_text(&s->hotness_list, value);
	case OPT_MIN_INPUT:
		s->has_probe = true;
		return tool_parse_bytes("incompressible-min-input-size", value,
					&s->probe_min_bytes);
	case OPT_PROBE_BLOCK:
		s->has_probe = true;
		return tool_parse_bytes("incompressible-block-size", value,
					&s->probe_block_bytes);
	case OPT_RATIO:
		s->has_probe = true;
		return parse_ratio(value, &s->probe_ratio);
	case OPT_ZSTD_LEVEL:
		s->has_probe = true;
		return parse_zstd_level(value, &s->probe_zstd_level);
	default:
		return parse_repeated(s, id, value);
	}
}

static int parse_option(struct settings *s, int id, const char *value)
{
	switch (id) {
	case 'i':
		return add_input(s, value);
	case 'o':
		return set_text(&s->output, value);
	case 'l':
		return parse_level(value, &s->level);
	case 'S':
		return parse_block_bits(value, &s->block_bits);
	case 'N':
		return tool_parse_number("num-workers", value, 0, 1024, &s->workers);
	case 'L':
		return parse_memory_limit(value, &s->memory_limit);
	case OPT_SCANNERS:
		return tool_parse_number("num-scanner-workers", value, 0, 1024,
					 &s->scan_workers);
	case OPT_SEGMENTERS:
		return parse_segmenters(value);
	case OPT_NICENESS:
		return tool_parse_number("compress-niceness", value, 0, 19, &s->niceness);
	case OPT_SCHEMA:
		return set_text(&s->codecs[DWARFS_CODEC_SCHEMA], value);
	case OPT_METADATA:
		return set_text(&s->codecs[DWARFS_CODEC_METADATA], value);
	case OPT_HISTORY:
		return set_text(&s->codecs[DWARFS_CODEC_HISTORY], value);
	case OPT_SIMILARITY:
		return tool_parse_bytes("max-similarity-size", value,
					&s->max_similarity_bytes);
	case OPT_FILE_HASH:
		return set_text(&s->file_hash, value);
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
		return tool_parse_time_resolution(value, &s->time_resolution_ns);
	case OPT_HEADER:
		return set_text(&s->header, value);
	case 'P':
		return set_text(&s->pack_metadata, value);
	case OPT_LOG_LEVEL:
		return set_log_level(value);
	case OPT_PROGRESS:
		return progress_parse_mode(value, &s->progress_mode);
	case OPT_INPUT_LIST:
		return set_text(&s->input_list, value);
	case OPT_DEBUG_FILTER:
		return parse_debug_filter(value, s);
	default:
		return parse_categorizers(s, id, value);
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
		printf("Usage: mkdwarfs -i PATH -o FILE [options]\n\n"
		       "Pack a directory or an archive into a DwarFS image.\n\n");
		tool_print_options(stdout, options, id == 'H');
		if (id == 'H')
			print_tables();
		return SETTINGS_DONE;
	}
}

static int exclude(bool first, const char *name, bool second, const char *other)
{
	if (!first || !second)
		return 0;
	return tool_error("options are mutually exclusive: --%s excludes --%s", name,
			  other);
}

static bool has_categorizer(const struct settings *s, const char *name)
{
	const size_t length = strlen(name);
	const char *word;

	for (word = s->categorizers; word; word = strchr(word, ',')) {
		word += *word == ',';
		if (strncmp(word, name, length) == 0 &&
		    (!word[length] || word[length] == ','))
			return true;
	}
	return false;
}

/* Each can be read once. */
static int check_stdin(const struct settings *s)
{
	size_t users = s->header && strcmp(s->header, "-") == 0;
	size_t i;

	users += s->input_list && strcmp(s->input_list, "-") == 0;
	for (i = 0; i < s->input_count; i++)
		users += strcmp(s->inputs[i], "-") == 0;
	if (users > 1)
		return tool_error("standard input can be read for one thing only");
	if (s->input_list && !input_is_tree(s))
		return tool_error("--input-list needs one directory as input");
	return 0;
}

static int check_together(struct settings *s)
{
	if (!s->input_count && !s->input_list)
		return tool_error("option '--input' is required");
	if (!s->output && !s->debug_filter)
		return tool_error("option '--output' is required");
	if (exclude(s->hollow, "hollow", s->no_sparse_files, "no-sparse-files") ||
	    exclude(s->input_list, "input-list", s->has_filter, "filter") ||
	    exclude(s->input_list, "input-list", s->debug_filter, "debug-filter") ||
	    check_stdin(s))
		return 1;
	if (s->hotness_list && !has_categorizer(s, "hotness"))
		tool_log(DWARFS_LOG_WARN, "--hotness-list has no effect without "
					  "--categorize=hotness");
	if (s->has_probe && !has_categorizer(s, "incompressible"))
		tool_log(DWARFS_LOG_WARN, "--incompressible-... has no effect without "
					  "--categorize=incompressible");
	return 0;
}

static int read_options(struct settings *settings, struct tool_args *args)
{
	const char *stray;
	int id;

	while ((id = tool_args_next(args)) != TOOL_ARGS_END) {
		if (id == TOOL_ARGS_BAD)
			return SETTINGS_BAD;
		if (id == 'h' || id == 'H' || id == OPT_MAN || id == OPT_VERSION)
			return show_help(id);
		if (parse_option(settings, id, args->value))
			return SETTINGS_BAD;
	}
	if ((stray = tool_args_positional(args))) {
		tool_error("unrecognized argument '%s'", stray);
		return SETTINGS_BAD;
	}
	return check_together(settings) ? SETTINGS_BAD : SETTINGS_RUN;
}

int settings_parse(struct settings *settings, int argc, char **argv)
{
	auto_args args = { 0 };

	*settings = (struct settings){
		.level = TOOL_DEFAULT,
		.block_bits = TOOL_DEFAULT,
		.workers = TOOL_DEFAULT,
		.scan_workers = TOOL_DEFAULT,
		.niceness = 5,
		.memory_limit = TOOL_DEFAULT,
		.max_similarity_bytes = TOOL_DEFAULT,
		.probe_min_bytes = 256,
		.probe_block_bytes = 1 << 20,
		.probe_ratio = 0.99,
		.probe_zstd_level = -1,
		.time_resolution_ns = TOOL_DEFAULT,
		.progress_mode = PROGRESS_AUTO,
	};
	if (argc <= 1)
		return show_help('h');
	if (tool_args_init(&args, argc, argv, options))
		return SETTINGS_BAD;
	return read_options(settings, &args);
}

void settings_free(struct settings *settings)
{
	size_t i;

	for (i = 0; i < settings->choice_count; i++)
		free(settings->choices[i].category);
	free(settings->choices);
	free(settings->inputs);
}
