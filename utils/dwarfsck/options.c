/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/options: the command line of dwarfsck.
 */
#include "dwarfsck/dwarfsck.h"

#include <string.h>

enum { OPT_VERSION = 256, OPT_MAN };

/* -- arguments ----------------------------------------------------------------------- */

/* By the level that includes them. */
static const struct {
	const char *name;
	unsigned detail;
	char level;
} detail_names[] = {
	{ "version", DETAIL_VERSION, '1' },
	{ "metadata_summary", DETAIL_SUMMARY, '1' },
	{ "frozen_analysis", DETAIL_ANALYSIS, '2' },
	{ "history", DETAIL_HISTORY, '2' },
	{ "frozen_details", DETAIL_FROZEN, '3' },
	{ "metadata_details", DETAIL_METADATA, '3' },
	{ "section_details", DETAIL_SECTIONS, '3' },
	{ "directory_tree", DETAIL_TREE, '4' },
	{ "frozen_layout", DETAIL_LAYOUT, '4' },
	{ "chunk_details", DETAIL_CHUNKS, '5' },
	{ "metadata_full_dump", DETAIL_DUMP, '6' },
	{ "schema_raw_dump", DETAIL_SCHEMA, '7' },
};

#define DETAIL_COUNT (sizeof(detail_names) / sizeof(*detail_names))

static int add_detail(const char *name, size_t length, unsigned *details)
{
	size_t i;

	for (i = 0; i < DETAIL_COUNT; i++) {
		if (strlen(detail_names[i].name) == length &&
		    memcmp(detail_names[i].name, name, length) == 0) {
			*details |= detail_names[i].detail;
			return 0;
		}
	}
	return tool_error(
		"invalid detail '%.*s' for -d (--detail): use a level from 0 to 7, or "
		"names that --help lists",
		(int)length, name);
}

static int parse_details(const char *text, unsigned *details_out)
{
	size_t length, i;

	*details_out = 0;
	if (strlen(text) == 1 && *text >= '0' && *text <= '9') {
		if (*text > '7')
			return tool_error("invalid level '%s' for -d (--detail): must be "
					  "between 0 and 7",
					  text);
		for (i = 0; i < DETAIL_COUNT; i++)
			if (detail_names[i].level <= *text)
				*details_out |= detail_names[i].detail;
		return 0;
	}
	for (;;) {
		length = strcspn(text, ",");
		if (add_detail(text, length, details_out))
			return 1;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

static int parse_detail_option(const struct tool_option *option, const char *text,
			       void *settings)
{
	struct settings *s = settings;

	(void)option;
	return parse_details(text, &s->details);
}

static int parse_checksum(const struct tool_option *option, const char *text,
			  void *settings)
{
	struct settings *s = settings;
	char names[1024] = "";
	const char *name;
	size_t i;

	for (i = 0; (name = dwarfs_digest_name(i)); i++) {
		if (strcmp(name, text) == 0) {
			s->checksum = text;
			return 0;
		}
		tool_append_word(names, sizeof(names), name, strlen(name));
	}
	return tool_error("checksum algorithm not available: %s for --%s: use %s", text,
			  option->name, names);
}

static int parse_ignored(const struct tool_option *option, const char *text,
			 void *settings)
{
	struct settings *s = settings;

	for (;;) {
		const size_t length = strcspn(text, ",");
		char words[512] = "";
		const char *word;
		int kind;

		for (kind = 0; kind < DWARFS_DIFFERENCE_TROUBLE; kind++) {
			word = dwarfs_difference_word(kind);
			if (strlen(word) == length && memcmp(word, text, length) == 0)
				break;
			tool_append_word(words, sizeof(words), word, strlen(word));
		}
		if (kind == DWARFS_DIFFERENCE_TROUBLE)
			return tool_error("invalid word '%.*s' for --%s: use %s",
					  (int)length, text, option->name, words);
		s->ignored |= 1u << kind;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

static int parse_resolution(const struct tool_option *option, const char *text,
			    void *settings)
{
	struct settings *s = settings;

	return tool_parse_time_resolution(option->name, text, &s->resolution_ns);
}

/* -- the command line ---------------------------------------------------------------- */

static const struct tool_option options[] = {
	{ 'i', "input", "IMAGE", "the image; --input may be omitted", TOOL_BASIC,
	  TOOL_INTO_TEXT(input) },
	{ 'd', "detail", "LEVEL",
	  "0 to 7, or names separated by commas: version,\n"
	  "metadata_summary, frozen_analysis, history,\n"
	  "frozen_details, metadata_details, section_details,\n"
	  "directory_tree, frozen_layout, chunk_details,\n"
	  "metadata_full_dump, schema_raw_dump; default 2",
	  TOOL_BASIC, .kind = TOOL_PARSED, .parse = parse_detail_option,
	  TOOL_GIVEN(has_details) },
	{ 'q', "quiet", NULL, "print errors only", TOOL_BASIC, TOOL_INTO_FLAG(quiet) },
	{ 'v', "verbose", NULL, "more details: modes and times in lists", TOOL_BASIC,
	  TOOL_INTO_FLAG(verbose) },
	{ 'O', "image-offset", "N", "where the image starts, or auto; default auto",
	  TOOL_BASIC, TOOL_INTO_OFFSET(offset) },
	{ 'H', "print-header", NULL, "write the image header to stdout", TOOL_BASIC,
	  TOOL_INTO_FLAG(print_header) },
	{ 'l', "list", NULL, "list all entries, like tar -t", TOOL_BASIC,
	  TOOL_INTO_FLAG(list) },
	{ 0, "raw", NULL, "print names as they are, not as ls does", TOOL_BASIC,
	  TOOL_INTO_FLAG(raw) },
	{ '0', "null", NULL, "the same, and end lines with NUL", TOOL_BASIC,
	  TOOL_INTO_FLAG(null) },
	{ 0, "checksum", "ALGORITHM", "print a checksum of each file, like sha256sum",
	  TOOL_BASIC, .kind = TOOL_PARSED, .parse = parse_checksum },
	{ 0, "allow-huge-holes", NULL,
	  "compute checksums of files with holes of any size", TOOL_BASIC,
	  TOOL_INTO_FLAG(allow_huge_holes) },
	{ 0, "cat", "PATH", "write the contents of a file to stdout; may be\nrepeated",
	  TOOL_BASIC, TOOL_INTO_LIST(cats) },
	{ 0, "diff", NULL,
	  "compare two images, directories or archives:\ndwarfsck --diff A B", TOOL_BASIC,
	  TOOL_INTO_FLAG(diff) },
	{ 0, "diff-ignore", "WORDS",
	  "do not compare: only-a, only-b, type, mode, owner,\n"
	  "group, mtime, size, contents, target, device,\n"
	  "links, xattr; separated by commas",
	  TOOL_BASIC, .kind = TOOL_PARSED, .parse = parse_ignored },
	{ 0, "diff-resolution", "STEP",
	  "compare times in such steps (ns, ms, s, 2s, ...);\ndefault: s", TOOL_BASIC,
	  .kind = TOOL_PARSED, .parse = parse_resolution },
	{ 0, "salvage", "DIRECTORY", "extract intact files from a damaged image",
	  TOOL_BASIC, TOOL_INTO_TEXT(salvage) },
	{ 0, "salvage-zeros", NULL,
	  "also partly damaged files, with zeros for lost\ndata", TOOL_BASIC,
	  TOOL_INTO_FLAG(zeros) },
	{ 'n', "num-workers", "N", "threads; default: one for each processor", TOOL_BASIC,
	  TOOL_INTO_NUMBER(workers, 0, 1024) },
	{ 's', "cache-size", "SIZE", "for decompressed blocks; default 512m", TOOL_BASIC,
	  TOOL_INTO_BYTES(cache_bytes) },
	{ 0, "check-integrity", NULL, "check SHA-512/256 and decompress every block",
	  TOOL_BASIC, TOOL_INTO_FLAG(integrity) },
	{ 0, "no-check", NULL, "check the metadata only", TOOL_BASIC,
	  TOOL_INTO_FLAG(no_check) },
	{ 'j', "json", NULL, "print everything as JSON", TOOL_BASIC,
	  TOOL_INTO_FLAG(json) },
	{ 0, "export-metadata", "FILE",
	  "write the tables of the metadata as JSON;\n\"-\" is stdout", TOOL_BASIC,
	  TOOL_INTO_TEXT(export_to) },
	{ 0, "log-level", "LEVEL",
	  "fatal, error, warn, info, verbose, debug, trace;\ndefault info", TOOL_BASIC,
	  .kind = TOOL_PARSED, .parse = tool_take_log_level },
	{ 0, "log-with-context", NULL, "begin messages with the time and the thread",
	  TOOL_BASIC, .kind = TOOL_PARSED, .parse = tool_take_log_context },
	{ 'h', "help", NULL, "show this", TOOL_BASIC },
	{ OPT_MAN, "man", NULL, "show the manual page", TOOL_BASIC },
	{ OPT_VERSION, "version", NULL, "show the version", TOOL_BASIC },
	{ 0 },
};

static void print_usage(void)
{
	size_t i;

	printf("Usage: dwarfsck IMAGE [options]\n"
	       "       dwarfsck --diff A B [options]\n\n"
	       "Check, list and compare DwarFS images.\n\n");
	tool_print_options(stdout, options, true);
	printf("\nChecksum algorithms:");
	for (i = 0; dwarfs_digest_name(i); i++)
		printf("%s %s", i % 8 ? "" : "\n ", dwarfs_digest_name(i));
	printf("\n");
}

static int show_check_help(struct settings *s, int id)
{
	s->done = true;
	if (id == OPT_MAN)
		return tool_show_man();
	if (id == OPT_VERSION)
		tool_print_version();
	else
		print_usage();
	return 0;
}

/* Options that the original tool accepts where they have no effect. */
static void warn_of_ignored(const struct settings *s)
{
	if (s->quiet)
		return;
	if (s->verbose && (s->json || (!s->list && !s->diff)))
		tool_log(DWARFS_LOG_WARN, "--verbose has no effect without a list of "
					  "--list, or --diff");
	if (s->has_details &&
	    (s->json || s->list || s->diff || s->checksum || s->salvage || s->export_to ||
	     s->print_header || s->cats.count > 0))
		tool_log(DWARFS_LOG_WARN,
			 "--detail has no effect: no summary is printed");
}

/* How names are printed, where none are. */
static int check_names(const struct settings *s)
{
	if ((s->raw || s->null) &&
	    (s->json || s->print_header || s->export_to || s->cats.count > 0))
		return tool_error(
			"--raw and --null are for lists: --json, --print-header, "
			"--export-metadata and --cat have none");
	if (s->null && !s->list && !s->checksum && !s->diff && !s->salvage)
		return tool_error("--null needs --list, --checksum, --diff or --salvage");
	return 0;
}

static int check_settings(const struct settings *s)
{
	if (s->diff && !s->input_b)
		return tool_error("--diff needs two images, directories or archives");
	if (!s->input)
		return tool_error("no image: option '--input' is required");
	if (s->no_check && s->integrity)
		return tool_error(
			"--no-check and --check-integrity are mutually exclusive");
	if (s->print_header && (s->json || s->integrity || s->export_to))
		return tool_error("--print-header is mutually exclusive with --json, "
				  "--export-metadata and --check-integrity");
	if (s->integrity && (s->diff || s->cats.count > 0))
		return tool_error(
			"--check-integrity is mutually exclusive with --cat and "
			"--diff");
	if (check_names(s))
		return 1;
	if (s->zeros && !s->salvage)
		return tool_error("--salvage-zeros needs --salvage");
	if (s->allow_huge_holes && !s->checksum)
		return tool_error("--allow-huge-holes needs --checksum");
	if ((s->ignored || s->resolution_ns) && !s->diff)
		return tool_error("--diff-ignore and --diff-resolution need --diff");
	if (s->print_header + (s->list || s->json) + s->diff + (s->checksum != NULL) +
		    (s->export_to != NULL) + (s->salvage != NULL) + (s->cats.count > 0) >
	    1)
		return tool_error(
			"--print-header, --list or --json, --checksum, --cat, "
			"--diff, --salvage and --export-metadata are mutually exclusive");
	warn_of_ignored(s);
	return 0;
}

/* The image, the other side of a comparison, or further files to print. */
static int take_image_or_path(struct settings *s, const char *word)
{
	if (!s->input) {
		s->input = word;
		return 0;
	}
	if (s->diff && !s->input_b) {
		s->input_b = word;
		return 0;
	}
	if (s->cats.count > 0)
		return tool_list_add(&s->cats, word);
	return tool_error("unrecognized argument '%s'", word);
}

void settings_free(struct settings *s)
{
	tool_list_free(&s->cats);
}

int settings_parse(struct settings *s, int argc, char **argv)
{
	auto_args args = { 0 };
	const char *word;
	int id;

	*s = (struct settings){
		.offset = DWARFS_OFFSET_AUTO,
		.workers = TOOL_DEFAULT,
		.cache_bytes = TOOL_DEFAULT,
	};
	parse_details("2", &s->details);
	if (argc <= 1)
		return show_check_help(s, 'h');
	if (tool_args_init(&args, argc, argv, options))
		return 1;

	while ((id = tool_args_next(&args)) != TOOL_ARGS_END) {
		if (id == TOOL_ARGS_BAD)
			return 1;
		if (args.option->kind == TOOL_ACTION)
			return show_check_help(s, id);
		if (tool_option_set(args.option, args.value, s))
			return 1;
	}
	while ((word = tool_args_positional(&args)))
		if (take_image_or_path(s, word))
			return 1;
	return check_settings(s);
}
