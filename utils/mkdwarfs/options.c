/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/options: the options of mkdwarfs, and its help.
 *
 * Takes the command line, gives settings. Goes through the options, each of which
 * mkdwarfs/values.c puts into the settings, and looks at what does not go together; what
 * depends on the input or on the library is checked where it is used.
 */
#include "mkdwarfs/options.h"

#include <stdlib.h>
#include <string.h>

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
	{ OPT_CONTINUE, "continue-on-error", NULL,
	  "leave out entries of archives that no image can hold;\nexit with 2 then" },
	{ OPT_SPOOL, "spool-dir", "DIRECTORY",
	  "for what does not fit into memory of archives; default\n/tmp" },
	{ 'o', "output", "FILE", "the image to make, or - for stdout; required",
	  TOOL_BASIC },
	{ 'f', "force", NULL, "replace an existing image", TOOL_BASIC },
	{ OPT_NO_SYNC, "no-sync", NULL, "do not wait until the image is on disk" },
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
	  "minimum length of shared parts: 2^N bytes; 0: whole files only" },
	{ 'w', "window-step", "[CATEGORY::]N",
	  "index density: 2^N anchors for each such part, N from 0 to 8" },
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
	  "file with paths for the categorizer hotness, hottest first" },
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
	{ OPT_LOG_CONTEXT, "log-with-context", NULL,
	  "the time and the thread with each message" },
	{ OPT_PROGRESS, "progress", "MODE",
	  "none, simple, ascii, unicode; default: by the terminal" },
	{ OPT_NO_PROGRESS, "no-progress", NULL, "the same as --progress=none" },
	{ 'h', "help", NULL, "the most important options", TOOL_BASIC },
	{ 'H', "long-help", NULL, "all options, levels and codecs", TOOL_BASIC },
	{ OPT_MAN, "man", NULL, "show the manual page", TOOL_BASIC },
	{ OPT_VERSION, "version", NULL, "show the version", TOOL_BASIC },
	REFUSED(0, "recompress"),
	REFUSED(0, "rebuild-metadata"),
	REFUSED(0, "change-block-size"),
	REFUSED(0, "recompress-categories"),
	REFUSED(0, "no-metadata-version-history"),
	REFUSED(0, "no-check"),
	REFUSED(0, "remove-header"),
	{ 0 },
};

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
		if (settings_set(settings, id, args->value))
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
