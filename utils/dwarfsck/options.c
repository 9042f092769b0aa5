/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/options: the command line of dwarfsck.
 */
#include "dwarfsck/dwarfsck.h"

#include <stdlib.h>
#include <string.h>

enum {
	OPT_VERSION = 256,
	OPT_MAN,
	OPT_CHECKSUM,
	OPT_INTEGRITY,
	OPT_NO_CHECK,
	OPT_LOG_LEVEL,
	OPT_LOG_CONTEXT,
	OPT_DIFF,
	OPT_DIFF_IGNORE,
	OPT_DIFF_RESOLUTION,
	OPT_CAT,
	OPT_SALVAGE,
	OPT_SALVAGE_ZEROS,
	OPT_EXPORT,
	OPT_RAW,
	OPT_HUGE_HOLES,
};

static const struct tool_option options[] = {
	{ 'i', "input", "IMAGE", "the image; --input may be omitted", TOOL_BASIC },
	{ 'd', "detail", "LEVEL",
	  "0 to 7, or names separated by commas: version,\n"
	  "metadata_summary, frozen_analysis, history,\n"
	  "frozen_details, metadata_details, section_details,\n"
	  "directory_tree, frozen_layout, chunk_details,\n"
	  "metadata_full_dump, schema_raw_dump; default 2",
	  TOOL_BASIC },
	{ 'q', "quiet", NULL, "print errors only", TOOL_BASIC },
	{ 'v', "verbose", NULL, "more details: modes and times in lists", TOOL_BASIC },
	{ 'O', "image-offset", "N", "where the image starts, or auto; default auto",
	  TOOL_BASIC },
	{ 'H', "print-header", NULL, "write the data before the image to stdout",
	  TOOL_BASIC },
	{ 'l', "list", NULL, "list all entries, like tar -t", TOOL_BASIC },
	{ OPT_RAW, "raw", NULL, "print names as they are, not as ls does", TOOL_BASIC },
	{ '0', "null", NULL, "the same, and end lines with NUL", TOOL_BASIC },
	{ OPT_CHECKSUM, "checksum", "ALGORITHM",
	  "print a checksum of each file, like sha256sum", TOOL_BASIC },
	{ OPT_HUGE_HOLES, "allow-huge-holes", NULL,
	  "compute checksums of files with holes of any size", TOOL_BASIC },
	{ OPT_CAT, "cat", "PATH",
	  "write the contents of a file to stdout; may be\nrepeated", TOOL_BASIC },
	{ OPT_DIFF, "diff", NULL,
	  "compare two images, directories or archives:\ndwarfsck --diff A B",
	  TOOL_BASIC },
	{ OPT_DIFF_IGNORE, "diff-ignore", "WORDS",
	  "do not compare: only-a, only-b, type, mode, owner,\n"
	  "group, mtime, size, contents, target, device,\n"
	  "links, xattr; separated by commas",
	  TOOL_BASIC },
	{ OPT_DIFF_RESOLUTION, "diff-resolution", "STEP",
	  "compare times in such steps (ns, ms, s, 2s, ...);\ndefault: s", TOOL_BASIC },
	{ OPT_SALVAGE, "salvage", "DIRECTORY",
	  "extract intact files from a damaged image", TOOL_BASIC },
	{ OPT_SALVAGE_ZEROS, "salvage-zeros", NULL,
	  "also partly damaged files, with zeros for lost\ndata", TOOL_BASIC },
	{ 'n', "num-workers", "N", "threads; default: one for each processor",
	  TOOL_BASIC },
	{ 's', "cache-size", "SIZE", "for decoded blocks; default 512m", TOOL_BASIC },
	{ OPT_INTEGRITY, "check-integrity", NULL,
	  "check SHA-512/256 and decode every block", TOOL_BASIC },
	{ OPT_NO_CHECK, "no-check", NULL, "check the metadata only", TOOL_BASIC },
	{ 'j', "json", NULL, "print everything as JSON", TOOL_BASIC },
	{ OPT_EXPORT, "export-metadata", "FILE",
	  "write the tables of the metadata as JSON;\n\"-\" is stdout", TOOL_BASIC },
	{ OPT_LOG_LEVEL, "log-level", "LEVEL",
	  "fatal, error, warn, info, verbose, debug, trace;\ndefault info", TOOL_BASIC },
	{ OPT_LOG_CONTEXT, "log-with-context", NULL,
	  "begin messages with the time and the thread", TOOL_BASIC },
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

/* -- the command line ---------------------------------------------------------------- */

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
		"invalid detail '%.*s' for --detail: use a level from 0 to 7, or "
		"names that --help lists",
		(int)length, name);
}

static int parse_details(const char *text, unsigned *details_out)
{
	size_t length, i;

	*details_out = 0;
	if (strlen(text) == 1 && *text >= '0' && *text <= '9') {
		if (*text > '7')
			return tool_error("invalid level '%s' for --detail: must be "
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

static int parse_checksum(const char *text, const char **algorithm_out)
{
	size_t i;

	for (i = 0; dwarfs_digest_name(i); i++) {
		if (strcmp(dwarfs_digest_name(i), text) == 0) {
			*algorithm_out = text;
			return 0;
		}
	}
	return tool_error("checksum algorithm not available: %s", text);
}

static int parse_ignored(const char *text, unsigned *ignored)
{
	for (;;) {
		const size_t length = strcspn(text, ",");
		const char *word;
		int kind;

		for (kind = 0; kind < DWARFS_DIFFERENCE_TROUBLE; kind++) {
			word = dwarfs_difference_word(kind);
			if (strlen(word) == length && memcmp(word, text, length) == 0)
				break;
		}
		if (kind == DWARFS_DIFFERENCE_TROUBLE)
			return tool_error("invalid word '%.*s' for --diff-ignore",
					  (int)length, text);
		*ignored |= 1u << kind;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

static int add_cat(struct settings *s, const char *path)
{
	const char **grown = reallocarray(s->cats, s->cat_count + 1, sizeof(*s->cats));

	if (!grown)
		return tool_error("out of memory");
	s->cats = grown;
	s->cats[s->cat_count++] = path;
	return 0;
}

static int set_flag(bool *flag)
{
	*flag = true;
	return 0;
}

/* Options that choose an action. */
static int parse_action(struct settings *s, int id, const char *value)
{
	switch (id) {
	case OPT_CAT:
		return add_cat(s, value);
	case OPT_DIFF:
		return set_flag(&s->diff);
	case OPT_DIFF_IGNORE:
		return parse_ignored(value, &s->ignored);
	case OPT_DIFF_RESOLUTION:
		return tool_parse_time_resolution("diff-resolution", value,
						  &s->resolution_ns);
	case OPT_SALVAGE:
		s->salvage = value;
		return 0;
	case OPT_SALVAGE_ZEROS:
		return set_flag(&s->zeros);
	case OPT_RAW:
		return set_flag(&s->raw);
	case '0':
		return set_flag(&s->null);
	case OPT_EXPORT:
		s->export_to = value;
		return 0;
	case OPT_HUGE_HOLES:
		return set_flag(&s->allow_huge_holes);
	default:
		return tool_error("option %d is not handled", id);
	}
}

static int parse_option(struct settings *s, int id, const char *value)
{
	switch (id) {
	case 'i':
		s->input = value;
		return 0;
	case 'd':
		return parse_details(value, &s->details);
	case 'q':
		return set_flag(&s->quiet);
	case 'v':
		return set_flag(&s->verbose);
	case 'O':
		return tool_parse_offset("image-offset", value, &s->offset);
	case 'H':
		return set_flag(&s->print_header);
	case 'l':
		return set_flag(&s->list);
	case OPT_CHECKSUM:
		return parse_checksum(value, &s->checksum);
	case 'n':
		return tool_parse_number("num-workers", value, 0, 1024, &s->workers);
	case 's':
		return tool_parse_bytes("cache-size", value, &s->cache_bytes);
	case OPT_INTEGRITY:
		return set_flag(&s->integrity);
	case OPT_NO_CHECK:
		return set_flag(&s->no_check);
	case 'j':
		return set_flag(&s->json);
	case OPT_LOG_LEVEL:
		return tool_take_log_level(value);
	case OPT_LOG_CONTEXT:
		tool_set_log_context(true);
		return 0;
	default:
		return parse_action(s, id, value);
	}
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
	if (s->zeros && !s->salvage)
		return tool_error("--salvage-zeros needs --salvage");
	if (s->allow_huge_holes && !s->checksum)
		return tool_error("--allow-huge-holes needs --checksum");
	if ((s->ignored || s->resolution_ns) && !s->diff)
		return tool_error("--diff-ignore and --diff-resolution need --diff");
	if (s->print_header + (s->list || s->json) + s->diff + (s->checksum != NULL) +
		    (s->export_to != NULL) + (s->salvage != NULL) + (s->cat_count > 0) >
	    1)
		return tool_error(
			"--print-header, --list or --json, --checksum, --cat, "
			"--diff, --salvage and --export-metadata are mutually exclusive");
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
	if (s->cat_count > 0)
		return add_cat(s, word);
	return tool_error("unrecognized argument '%s'", word);
}

void settings_free(struct settings *s)
{
	free(s->cats);
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
		if (id == 'h' || id == OPT_MAN || id == OPT_VERSION)
			return show_check_help(s, id);
		if (parse_option(s, id, args.value))
			return 1;
	}
	while ((word = tool_args_positional(&args)))
		if (take_image_or_path(s, word))
			return 1;
	return check_settings(s);
}
