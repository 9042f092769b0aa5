/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/options: the options of mkdwarfs, and its help.
 *
 * Takes the command line, gives settings. An option is a row of the table below: its name,
 * its help, and where its argument goes; arguments that need more than that are parsed by
 * mkdwarfs/values.c. Checks which options exclude each other; what depends on the input or
 * on the library is checked where it is used.
 */
#include "mkdwarfs/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const conflict_ways[] = {
	[DWARFS_CONFLICT_LAST] = "last",
	[DWARFS_CONFLICT_FIRST] = "first",
	[DWARFS_CONFLICT_RENAME] = "rename",
	[DWARFS_CONFLICT_ERROR] = "error",
	NULL,
};
static const char *const digest_uses[] = {
	[DWARFS_DIGESTS_AUTO] = "auto",
	[DWARFS_DIGESTS_ALWAYS] = "always",
	[DWARFS_DIGESTS_NEVER] = "never",
	NULL,
};

static const struct tool_option options[] = {
	{ 'i', "input", "PATH",
	  "a directory, an archive or an image, or - for an\narchive from stdin; several "
	  "are merged in order; required",
	  TOOL_BASIC, TOOL_INTO_LIST(inputs) },
	{ 0, "input-list", "FILE",
	  "pack what the lines of FILE, or - for stdin, name;\nrelative to --input or "
	  "the current directory",
	  0, TOOL_INTO_TEXT(input_list) },
	{ 0, "input-format", "FORMAT", "of archives: see below; default: recognized", 0,
	  TOOL_INTO_TEXT(input_format) },
	{ 0, "strip-components", "N",
	  "leave out N names at the beginning of each path in\narchives", 0,
	  TOOL_INTO_NUMBER(strip, 0, UINT32_MAX) },
	{ 0, "prefix", "PATH", "put the input into this directory of the image", 0,
	  TOOL_INTO_TEXT(prefix) },
	{ 0, "whiteouts", NULL,
	  "archives are layers of a container image: .wh. files\nhide what is below", 0,
	  TOOL_INTO_FLAG(whiteouts) },
	{ 0, "continue-on-error", NULL,
	  "leave out entries of archives that no image can hold;\nexit with 2 then", 0,
	  TOOL_INTO_FLAG(continue_on_error) },
	{ 0, "repack", NULL,
	  "order and compress the files of images anew, instead\nof copying their "
	  "blocks",
	  0, TOOL_INTO_FLAG(repack) },
	{ 0, "base", "IMAGE",
	  "use data of this image, but not its entries, for an\nincremental snapshot; may be "
	  "repeated",
	  0, TOOL_INTO_LIST(bases) },
	{ 0, "base-trust", "TRUST",
	  "times (default): files of equal path, size and time as\nin a base are not read; "
	  "none: all are",
	  .kind = TOOL_PARSED, .parse = parse_base_trust, TOOL_GIVEN(has_base_trust) },
	{ 0, "on-conflict", "WAY",
	  "if several inputs have a path: last (default), first,\nrename, error",
	  TOOL_INTO_WORD(on_conflict, conflict_ways) },
	{ 0, "digests", "WHEN",
	  "store digests of the files, so that this image is appended\nto or merged faster: "
	  "auto (default: if they are less than\n0.5 % of it), always, never",
	  TOOL_INTO_WORD(digests, digest_uses) },
	{ 0, "trust-digests", NULL,
	  "files of images are equal if their sizes and digests are;\ntheir bytes are not "
	  "compared",
	  0, TOOL_INTO_FLAG(trust_digests) },
	{ 0, "max-unused", "PERCENT",
	  "store files anew that are in blocks of images of which\nmore is unused; default "
	  "100: none",
	  0, TOOL_INTO_NUMBER(max_unused, 0, 100) },
	{ 0, "recompress", "MODE",
	  "rewrite an image; compress again: all (default), block,\nmetadata, none",
	  TOOL_OPTIONAL, .kind = TOOL_PARSED, .parse = parse_recompress },
	{ 0, "recompress-categories", "[!]LIST",
	  "compress only blocks of these categories again, or all\nothers", 0,
	  TOOL_INTO_TEXT(recompress_categories) },
	{ 0, "rebuild-metadata", NULL,
	  "rewrite an image with new metadata, to which the options\nfor attributes apply",
	  0, TOOL_INTO_FLAG(rebuild_metadata) },
	{ 0, "change-block-size", NULL, "rewrite an image with blocks of the size of -S",
	  0, TOOL_INTO_FLAG(change_block_size) },
	{ 0, "no-metadata-version-history", NULL,
	  "do not store what wrote the metadata before", 0,
	  TOOL_INTO_FLAG(no_version_history) },
	{ 0, "no-check", NULL,
	  "do not check an image before it is rewritten; copy\ndamaged blocks as they are",
	  0, TOOL_INTO_FLAG(no_check) },
	{ 0, "spool-dir", "DIRECTORY",
	  "for what does not fit into memory of archives, and\ndecompressed blocks of images",
	  0, TOOL_INTO_TEXT(spool_dir) },
	{ 'o', "output", "FILE", "the image to make, or - for stdout; required",
	  TOOL_BASIC, TOOL_INTO_TEXT(output) },
	{ 'f', "force", NULL, "replace an existing image", TOOL_BASIC,
	  TOOL_INTO_FLAG(force) },
	{ 0, "dry-run", NULL,
	  "write nothing; show what would be copied, rewritten and\ndropped of images, and "
	  "how large the result would be",
	  0, TOOL_INTO_FLAG(dry_run) },
	{ 0, "no-sync", NULL, "do not wait until the image is on disk", 0,
	  TOOL_INTO_FLAG(no_sync) },
	{ 'l', "compress-level", "N", "0 (fast) to 9 (small); default 7", TOOL_BASIC,
	  .kind = TOOL_PARSED, .parse = parse_level },
	{ 'S', "block-size-bits", "N", "size of blocks: 2^N bytes, N from 10 to 30",
	  .kind = TOOL_PARSED, .parse = parse_block_bits },
	{ 'N', "num-workers", "N", "threads; default: one for each processor", 0,
	  TOOL_INTO_NUMBER(workers, 0, 1024) },
	{ 0, "num-scanner-workers", "N", "threads that read the input; default: as many",
	  0, TOOL_INTO_NUMBER(scan_workers, 0, 1024) },
	{ 0, "num-segmenter-workers", "N", "has no effect here", .max = 1024,
	  .kind = TOOL_PARSED, .parse = ignore_number },
	{ 0, "compress-niceness", "N", "nice value of threads that compress; default 5",
	  0, TOOL_INTO_NUMBER(niceness, 0, 19) },
	{ 'L', "memory-limit", "SIZE",
	  "of the whole process, or auto: a quarter of the\n"
	  "memory, by fewer threads only",
	  .kind = TOOL_PARSED, .parse = parse_memory_limit },
	{ 'C', "compression", "[CATEGORY::]CODEC", "of blocks: see below",
	  .kind = TOOL_PARSED, .parse = parse_choice },
	{ 0, "schema-compression", "CODEC", "of the metadata's layout", 0,
	  TOOL_INTO_TEXT(codecs[DWARFS_CODEC_SCHEMA]) },
	{ 0, "metadata-compression", "CODEC", "of the metadata", 0,
	  TOOL_INTO_TEXT(codecs[DWARFS_CODEC_METADATA]) },
	{ 0, "history-compression", "CODEC", "of the history", 0,
	  TOOL_INTO_TEXT(codecs[DWARFS_CODEC_HISTORY]) },
	{ OPT_ORDER, "order", "[CATEGORY::]ORDER",
	  "of files in blocks: none, path, revpath, auto,\nsimilarity, nilsimsa, "
	  "explicit:file=FILE",
	  .kind = TOOL_PARSED, .parse = parse_choice },
	{ 0, "max-similarity-size", "SIZE",
	  "larger files are not ordered by similarity, but stored\nfirst, by size", 0,
	  TOOL_INTO_BYTES(max_similarity_bytes) },
	{ 'W', "window-size", "[CATEGORY::]N",
	  "minimum length of shared parts: 2^N bytes; 0: whole files only", .max = 24,
	  .kind = TOOL_PARSED, .parse = parse_number_choice },
	{ 'w', "window-step", "[CATEGORY::]N",
	  "index density: 2^N anchors for each such part, N from 0 to 8", .max = 8,
	  .kind = TOOL_PARSED, .parse = parse_number_choice },
	{ 'B', "max-lookback-blocks", "[CATEGORY::]N",
	  "only in the last N blocks; default: in all", .max = UINT32_MAX,
	  .kind = TOOL_PARSED, .parse = parse_number_choice },
	{ 0, "bloom-filter-size", "[CATEGORY::]N", "has no effect here", .max = 10,
	  .kind = TOOL_PARSED, .parse = ignore_number },
	{ 0, "file-hash", "NAME",
	  "that finds equal files; none: store each; default\nxxh3-128", 0,
	  TOOL_INTO_TEXT(file_hash) },
	{ 0, "categorize", "LIST",
	  "store each type of contents in separate blocks: see\nbelow; without LIST "
	  "fits,pcmaudio,binary,\nincompressible",
	  TOOL_OPTIONAL, .kind = TOOL_PARSED, .parse = parse_categorizers },
	{ 0, "hotness-list", "FILE",
	  "file with paths for the categorizer hotness, most used first", 0,
	  TOOL_INTO_TEXT(hotness_list) },
	{ 0, "incompressible-min-input-size", "SIZE",
	  "smaller files are not probed; default 256", 0,
	  TOOL_INTO_BYTES(probe_min_bytes), TOOL_GIVEN(has_probe) },
	{ 0, "incompressible-block-size", "SIZE",
	  "bytes that are probed at a time; default 1m", 0,
	  TOOL_INTO_BYTES(probe_block_bytes), TOOL_GIVEN(has_probe) },
	{ 0, "incompressible-ratio", "R",
	  "compressed size divided by size from which data is\nincompressible; default 0.99",
	  .kind = TOOL_PARSED, .parse = parse_ratio, TOOL_GIVEN(has_probe) },
	{ 0, "incompressible-zstd-level", "N", "of the probe; default -1",
	  .kind = TOOL_PARSED, .parse = parse_zstd_level, TOOL_GIVEN(has_probe) },
	{ 0, "incompressible-fragments", NULL, "find incompressible parts of files, too",
	  0, TOOL_INTO_FLAG(probe_fragments), TOOL_GIVEN(has_probe) },
	{ 0, "no-category-names", NULL, "store no names of categories", 0,
	  TOOL_INTO_FLAG(no_category_names) },
	{ 0, "no-category-metadata", NULL,
	  "store nothing about the samples of categories", 0,
	  TOOL_INTO_FLAG(no_category_metadata) },
	{ 'F', "filter", "RULE",
	  "take (+ PATTERN) or leave out (- PATTERN), or read\nrules (. FILE); the first "
	  "that matches counts",
	  .kind = TOOL_PARSED, .parse = parse_choice_as_is, TOOL_GIVEN(has_filter) },
	{ 0, "debug-filter", "MODE",
	  "only show what the rules do: all (default), files,\nincluded, included-files, "
	  "excluded, excluded-files",
	  TOOL_OPTIONAL, .kind = TOOL_PARSED, .parse = parse_debug_filter },
	{ 0, "remove-empty-dirs", NULL, "leave out empty directories", 0,
	  TOOL_INTO_FLAG(remove_empty_directories) },
	{ 0, "set-owner", "USER", "give everything one owner", 0, TOOL_INTO_USER(owner),
	  TOOL_GIVEN(has_owner) },
	{ 0, "set-group", "GROUP", "give everything one group", 0, TOOL_INTO_GROUP(group),
	  TOOL_GIVEN(has_group) },
	{ 0, "set-time", "TIME",
	  "give everything one time: now, epoch, a date and\ntime in UTC, or seconds "
	  "since 1970",
	  .kind = TOOL_PARSED, .parse = parse_set_time, TOOL_GIVEN(has_time) },
	{ 0, "chmod", "MODES",
	  "change modes as chmod(1) does; D and F in front: only\n"
	  "directories, only others; norm: ug-st,=Xr",
	  0, TOOL_INTO_TEXT(chmod) },
	{ 0, "time-resolution", "N[UNIT]",
	  "step of times: ns, us, ms, s, m, h, d; default 1s", .kind = TOOL_PARSED,
	  .parse = parse_time_resolution },
	{ 0, "keep-all-times", NULL, "store access and change times, too", 0,
	  TOOL_INTO_FLAG(keep_all_times) },
	{ 0, "keep-birth-times", NULL, "store birth times, if the file system has them",
	  0, TOOL_INTO_FLAG(keep_birth_times) },
	{ 0, "no-xattrs", NULL, "store no extended attributes", 0,
	  TOOL_INTO_FLAG(no_xattrs) },
	{ OPT_XATTRS_INCLUDE, "xattrs-include", "GLOB",
	  "store only extended attributes with such names;\nmay be repeated",
	  .kind = TOOL_PARSED, .parse = parse_choice_as_is },
	{ OPT_XATTRS_EXCLUDE, "xattrs-exclude", "GLOB",
	  "store no extended attributes with such names;\nmay be repeated",
	  .kind = TOOL_PARSED, .parse = parse_choice_as_is },
	{ 0, "no-history", NULL, "store no history", 0, TOOL_INTO_FLAG(no_history) },
	{ 0, "no-history-timestamps", NULL, "store no time in the history", 0,
	  TOOL_INTO_FLAG(no_history_timestamps) },
	{ 0, "no-history-command-line", NULL, "store no command line in the history", 0,
	  TOOL_INTO_FLAG(no_history_command_line) },
	{ 0, "no-create-timestamp", NULL, "do not store when the image was made", 0,
	  TOOL_INTO_FLAG(no_create_timestamp) },
	{ 0, "no-section-index", NULL, "write no index of the sections", 0,
	  TOOL_INTO_FLAG(no_section_index) },
	{ 0, "no-hardlink-table", NULL, "let readers count hard links", 0,
	  TOOL_INTO_FLAG(no_hardlink_table) },
	{ 0, "header", "FILE", "image header: data to precede the image", 0,
	  TOOL_INTO_TEXT(header) },
	{ 0, "remove-header", NULL, "leave out the image header of the first image", 0,
	  TOOL_INTO_FLAG(remove_header) },
	{ 'P', "pack-metadata", "WORDS",
	  "auto, none, all, or some of chunk_table, directories,\n"
	  "shared_files, names, names_index, symlinks,\n"
	  "symlinks_index, force, plain; default auto",
	  0, TOOL_INTO_TEXT(pack_metadata) },
	{ 0, "no-sparse-files", NULL, "store holes as zeros", 0,
	  TOOL_INTO_FLAG(no_sparse_files) },
	{ 0, "hollow", NULL, "store sizes instead of contents: zeros on reading", 0,
	  TOOL_INTO_FLAG(hollow) },
	{ 0, "with-devices", NULL, "store devices", 0, TOOL_INTO_FLAG(with_devices) },
	{ 0, "with-specials", NULL, "store fifos and sockets", 0,
	  TOOL_INTO_FLAG(with_specials) },
	{ 0, "log-level", "LEVEL",
	  "fatal, error, warn, info, verbose, debug, trace;\ndefault info",
	  .kind = TOOL_PARSED, .parse = tool_take_log_level },
	{ 0, "log-with-context", NULL, "the time and the thread with each message",
	  .kind = TOOL_PARSED, .parse = tool_take_log_context },
	{ 0, "progress", "MODE", "none, simple, ascii, unicode; default: by the terminal",
	  .kind = TOOL_PARSED, .parse = parse_progress },
	{ 0, "no-progress", NULL, "the same as --progress=none", .kind = TOOL_PARSED,
	  .parse = parse_progress },
	{ 'h', "help", NULL, "the most important options", TOOL_BASIC },
	{ 'H', "long-help", NULL, "all options, levels and codecs", TOOL_BASIC },
	{ OPT_MAN, "man", NULL, "show the manual page", TOOL_BASIC },
	{ OPT_VERSION, "version", NULL, "show the version", TOOL_BASIC },
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

bool has_categorizer(const struct settings *s, const char *name, size_t length)
{
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
	for (i = 0; i < s->inputs.count; i++)
		users += strcmp(s->inputs.items[i], "-") == 0;
	if (users > 1)
		return tool_error("standard input can be read for one thing only");
	return 0;
}

static int check_list(const struct settings *s)
{
	if (!s->input_list)
		return 0;
	if (exclude(true, "input-list", s->has_filter, "filter") ||
	    exclude(true, "input-list", s->debug_filter, "debug-filter") ||
	    exclude(true, "input-list", s->prefix, "prefix"))
		return 1;
	if (s->inputs.count == 1 && access(s->inputs.items[0], F_OK) != 0)
		return tool_error("'%s' must be a directory: %s", s->inputs.items[0],
				  strerror(errno));
	return input_is_tree(s) ? 0
				: tool_error("--input-list needs one directory as input");
}

/* Options for categories that no file can have. The part of a category before '/' is its
 * categorizer. An image that is rewritten, or is an input, has categories of its own. */
static void tell_unused_categories(const struct settings *s)
{
	char label[TOOL_LABEL_ROOM];
	size_t i;

	if (s->hotness_list && !has_categorizer(s, "hotness", strlen("hotness")))
		tool_log(DWARFS_LOG_WARN, "--hotness-list has no effect without "
					  "--categorize=hotness");
	if (!s->hotness_list && has_categorizer(s, "hotness", strlen("hotness")))
		tool_log(DWARFS_LOG_WARN, "--categorize=hotness has no effect without "
					  "--hotness-list");
	if (s->has_probe &&
	    !has_categorizer(s, "incompressible", strlen("incompressible")))
		tool_log(DWARFS_LOG_WARN, "--incompressible-... has no effect without "
					  "--categorize=incompressible");
	for (i = 0; i < s->choice_count && !is_rewrite(s); i++) {
		const struct choice *choice = &s->choices[i];
		const char *category = choice->category;

		if (category && strcmp(category, "<default>") != 0 &&
		    !has_categorizer(s, category, strcspn(category, "/")))
			tool_log(
				DWARFS_LOG_WARN,
				"%s for the category '%s' has no effect on files without "
				"--categorize=%.*s",
				tool_option_label(choice->option, label), category,
				(int)strcspn(category, "/"), category);
	}
}

static int check_together(struct settings *s)
{
	if (!s->inputs.count && !s->input_list)
		return tool_error("option '--input' is required");
	if (!s->output && !s->debug_filter && !s->dry_run)
		return tool_error("option '--output' is required");
	if (exclude(s->hollow, "hollow", s->no_sparse_files, "no-sparse-files") ||
	    exclude(s->dry_run, "dry-run", s->debug_filter, "debug-filter") ||
	    check_stdin(s) || check_list(s) || rewrite_check(s))
		return 1;
	tell_unused_categories(s);
	return 0;
}

static int read_options(struct settings *settings, struct tool_args *args)
{
	const char *stray;
	int id;

	while ((id = tool_args_next(args)) != TOOL_ARGS_END) {
		if (id == TOOL_ARGS_BAD)
			return SETTINGS_BAD;
		if (args->option->kind == TOOL_ACTION)
			return show_help(id);
		if (tool_option_set(args->option, args->value, settings))
			return SETTINGS_BAD;
		if (strcmp(args->option->name, "dry-run") == 0 &&
		    tool_list_add(&settings->dry_run_words, args->word))
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
		.max_unused = 100,
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
	tool_list_free(&settings->inputs);
	tool_list_free(&settings->bases);
	tool_list_free(&settings->dry_run_words);
}
