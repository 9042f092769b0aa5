/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck: check an image, and tell what it holds.
 *
 * Reads the command line, opens the image, runs the check, and leaves the telling to the
 * other files. Exits with 0, with 1 for errors, or with 2 when there is no header to
 * print.
 */
#include "dwarfsck.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"

enum {
	OPT_VERSION = 256,
	OPT_MAN,
	OPT_CHECKSUM,
	OPT_INTEGRITY,
	OPT_NO_CHECK,
	OPT_LOG_LEVEL,
};

struct settings {
	const char *input;
	unsigned details;
	bool quiet;
	bool verbose;
	uint64_t offset;
	bool print_header;
	bool list;
	const char *checksum;
	uint64_t workers;
	uint64_t cache_bytes;
	bool integrity;
	bool no_check;
	bool json;
	bool done; /* help was printed */
};

static const struct tool_option options[] = {
	{ 'i', "input", "IMAGE", "the image; the word may stand alone, too", TOOL_BASIC },
	{ 'd', "detail", "LEVEL",
	  "0 to 4, or names separated by commas: version,\n"
	  "metadata_summary, history, metadata_details,\n"
	  "section_details, directory_tree; default 2",
	  TOOL_BASIC },
	{ 'q', "quiet", NULL, "print errors only", TOOL_BASIC },
	{ 'v', "verbose", NULL, "tell more: modes and times in lists", TOOL_BASIC },
	{ 'O', "image-offset", "N", "where the image starts, or auto; default auto",
	  TOOL_BASIC },
	{ 'H', "print-header", NULL, "write what stands before the image to stdout",
	  TOOL_BASIC },
	{ 'l', "list", NULL, "list all entries, like tar -t", TOOL_BASIC },
	{ OPT_CHECKSUM, "checksum", "ALGORITHM",
	  "print a checksum of each file, like sha256sum", TOOL_BASIC },
	{ 'n', "num-workers", "N", "threads; default: one for each processor",
	  TOOL_BASIC },
	{ 's', "cache-size", "SIZE", "for decoded blocks; default 512m", TOOL_BASIC },
	{ OPT_INTEGRITY, "check-integrity", NULL,
	  "check SHA-512/256 and decode every block", TOOL_BASIC },
	{ OPT_NO_CHECK, "no-check", NULL, "check the metadata only", TOOL_BASIC },
	{ 'j', "json", NULL, "print everything as JSON", TOOL_BASIC },
	{ OPT_LOG_LEVEL, "log-level", "LEVEL",
	  "fatal, error, warn, info, verbose, debug, trace;\ndefault info", TOOL_BASIC },
	{ 'h', "help", NULL, "show this", TOOL_BASIC },
	{ OPT_MAN, "man", NULL, "show the manual page", TOOL_BASIC },
	{ OPT_VERSION, "version", NULL, "show the version", TOOL_BASIC },
	{ 0, "export-metadata", "FILE", NULL, TOOL_UNSUPPORTED },
	{ 0, "log-with-context", NULL, NULL, TOOL_UNSUPPORTED },
	{ 0 },
};

static void print_usage(void)
{
	size_t i;

	printf("Usage: dwarfsck IMAGE [options]\n\nCheck a DwarFS image, and tell what "
	       "it "
	       "holds.\n\n");
	tool_print_options(stdout, options, true);
	printf("\nChecksum algorithms:");
	for (i = 0; dwarfs_digest_name(i); i++)
		printf("%s %s", i % 8 ? "" : "\n ", dwarfs_digest_name(i));
	printf("\n");
}

/* -- the command line ---------------------------------------------------------------- */

static const struct {
	const char *name;
	unsigned detail; /* 0: known, but not supported */
} detail_names[] = {
	{ "version", DETAIL_VERSION },
	{ "metadata_summary", DETAIL_SUMMARY },
	{ "history", DETAIL_HISTORY },
	{ "metadata_details", DETAIL_METADATA },
	{ "section_details", DETAIL_SECTIONS },
	{ "directory_tree", DETAIL_TREE },
	{ "frozen_analysis", 0 },
	{ "frozen_details", 0 },
	{ "frozen_layout", 0 },
	{ "chunk_details", 0 },
	{ "metadata_full_dump", 0 },
	{ "schema_raw_dump", 0 },
};

static int add_detail(const char *name, size_t length, unsigned *details)
{
	size_t i;

	for (i = 0; i < sizeof(detail_names) / sizeof(*detail_names); i++) {
		if (strlen(detail_names[i].name) != length ||
		    memcmp(detail_names[i].name, name, length) != 0)
			continue;
		if (detail_names[i].detail == 0)
			return tool_error(
				"option '--detail=%s' is not supported by this version",
				detail_names[i].name);
		*details |= detail_names[i].detail;
		return 0;
	}
	return tool_error("invalid detail '%.*s' for --detail", (int)length, name);
}

static int parse_details(const char *text, unsigned *details_out)
{
	static const unsigned levels[] = {
		0,
		DETAIL_VERSION | DETAIL_SUMMARY,
		DETAIL_VERSION | DETAIL_SUMMARY | DETAIL_HISTORY,
		DETAIL_VERSION | DETAIL_SUMMARY | DETAIL_HISTORY | DETAIL_METADATA |
			DETAIL_SECTIONS,
		DETAIL_VERSION | DETAIL_SUMMARY | DETAIL_HISTORY | DETAIL_METADATA |
			DETAIL_SECTIONS | DETAIL_TREE,
	};
	size_t length;

	if (strlen(text) == 1 && *text >= '0' && *text <= '9') {
		if (*text > '7')
			return tool_error("invalid level '%s' for --detail", text);
		if (*text > '4')
			return tool_error(
				"option '--detail=%s' is not supported by this version",
				text);
		*details_out = levels[*text - '0'];
		return 0;
	}

	*details_out = 0;
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

static int set_log_level(const char *value)
{
	int level;

	if (tool_parse_log_level("log-level", value, &level))
		return 1;
	tool_set_log_level(level);
	return 0;
}

static int set(bool *flag)
{
	*flag = true;
	return 0;
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
		return set(&s->quiet);
	case 'v':
		return set(&s->verbose);
	case 'O':
		return tool_parse_offset("image-offset", value, &s->offset);
	case 'H':
		return set(&s->print_header);
	case 'l':
		return set(&s->list);
	case OPT_CHECKSUM:
		return parse_checksum(value, &s->checksum);
	case 'n':
		return tool_parse_number("num-workers", value, 0, 1024, &s->workers);
	case 's':
		return tool_parse_bytes("cache-size", value, &s->cache_bytes);
	case OPT_INTEGRITY:
		return set(&s->integrity);
	case OPT_NO_CHECK:
		return set(&s->no_check);
	case 'j':
		return set(&s->json);
	case OPT_LOG_LEVEL:
		return set_log_level(value);
	default:
		return tool_error("option %d is not handled", id);
	}
}

static int show_help(struct settings *s, int id)
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
	if (!s->input)
		return tool_error("no image: option '--input' is required");
	if (s->no_check && s->integrity)
		return tool_error(
			"--no-check and --check-integrity are mutually exclusive");
	if (s->print_header && (s->json || s->integrity))
		return tool_error("--print-header is mutually exclusive with --json and "
				  "--check-integrity");
	if (s->print_header + s->list + s->json + (s->checksum != NULL) > 1)
		return tool_error(
			"--print-header, --list, --checksum and --json are mutually "
			"exclusive");
	return 0;
}

static int parse_settings(struct settings *s, int argc, char **argv)
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
		return show_help(s, 'h');
	if (tool_args_init(&args, argc, argv, options))
		return 1;

	while ((id = tool_args_next(&args)) != TOOL_ARGS_END) {
		if (id == TOOL_ARGS_BAD)
			return 1;
		if (id == 'h' || id == OPT_MAN || id == OPT_VERSION)
			return show_help(s, id);
		if (parse_option(s, id, args.value))
			return 1;
	}
	while ((word = tool_args_positional(&args))) {
		if (s->input)
			return tool_error("unrecognized argument '%s'", word);
		s->input = word;
	}
	return check_settings(s);
}

/* -- the check ----------------------------------------------------------------------- */

void report_free(struct report *report)
{
	size_t i;

	for (i = 0; i < report->count; i++)
		free(report->findings[i].message);
	free(report->findings);
	report->findings = NULL;
	report->count = 0;
}

enum section_state report_state(const struct report *report, uint32_t section)
{
	enum section_state state = SECTION_GOOD;
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct finding *finding = &report->findings[i];

		if (finding->section != (int64_t)section)
			continue;
		if (finding->checksum)
			return SECTION_CHECKSUM;
		if (finding->severity == DWARFS_FINDING_ERROR)
			state = SECTION_DAMAGED;
		else if (state == SECTION_GOOD)
			state = SECTION_ODD;
	}
	return state;
}

/* What the callbacks of a check need. */
struct checking {
	const dwarfs_image *image;
	const char *path;
	struct report *report;
	struct progress *progress;
};

static void print_finding(const struct checking *checking, const struct finding *finding)
{
	const char *what = "error";
	const char *type;

	if (finding->severity != DWARFS_FINDING_ERROR) {
		tool_log(DWARFS_LOG_WARN, "'%s': %s", checking->path, finding->message);
		return;
	}
	if (finding->section < 0) {
		tool_error("'%s': %s", checking->path, finding->message);
		return;
	}
	if (checking->report->level == DWARFS_CHECK_INTEGRITY)
		what = "integrity check error";
	else if (finding->checksum)
		what = "checksum error";
	type = dwarfs_section_type_name((uint32_t)section_fact(
		checking->image, (uint32_t)finding->section, DWARFS_SECTION_FIELD_TYPE));
	tool_error("'%s': %s in section: %s: %s", checking->path, what, type,
		   finding->message);
}

static void take_finding(int severity, int code, int64_t section, const char *message,
			 void *user)
{
	struct checking *checking = user;
	struct report *report = checking->report;
	struct finding finding = { severity, section, code == DWARFS_ERR_CHECKSUM,
				   strdup(message) };
	struct finding *grown;

	if (report->count == report->capacity) {
		const size_t capacity = 2 * report->capacity + 16;

		grown = realloc(report->findings, capacity * sizeof(*grown));
		if (grown) {
			report->findings = grown;
			report->capacity = capacity;
		}
	}
	if (!finding.message || report->count == report->capacity) {
		report->out_of_memory = true;
		free(finding.message);
		return;
	}
	report->findings[report->count++] = finding;
	print_finding(checking, &finding);
}

static int show_progress(const dwarfs_progress *progress, void *user)
{
	const struct checking *checking = user;

	return progress_show(progress, checking->progress);
}

/* Returns the exit code, with all findings printed on stderr. */
static int check_image(const dwarfs_image *image, const struct settings *s, int level,
		       struct report *report)
{
	auto_progress struct progress *progress = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	const bool show = !s->quiet && isatty(STDERR_FILENO);
	struct checking checking = { image, s->input, report, NULL };
	int ret;

	report->level = level;
	progress = progress_new(show ? PROGRESS_AUTO : PROGRESS_NONE);
	if (!progress)
		return 1;
	checking.progress = progress;
	ret = dwarfs_image_check(image, report->level, take_finding, show_progress,
				 &checking, &report->errors, &err);
	progress_free(progress);
	progress = NULL;

	if (report->out_of_memory)
		return tool_error("out of memory: not all findings are shown");
	if (ret < 0 && report->errors == 0)
		return tool_fail(err, "%s", s->input);
	return ret < 0 || report->errors > 0;
}

/* -- what is asked for --------------------------------------------------------------- */

static dwarfs_image *open_image(const struct settings *s)
{
	auto_handle(dwarfs_context) *context =
		tool_context_new(s->workers, s->cache_bytes);
	auto_handle(dwarfs_image_options) *image_options = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_image *image;

	if (!context)
		return NULL;
	if (dwarfs_image_options_new(&image_options, &err) < 0) {
		tool_fail(err, NULL);
		return NULL;
	}
	dwarfs_image_options_set_offset(image_options, s->offset);
	if (dwarfs_image_open(context, s->input, image_options, &image, &err) < 0) {
		tool_fail(err, NULL);
		return NULL;
	}
	return image;
}

static int print_header(const dwarfs_image *image)
{
	auto_handle(dwarfs_error) *err = NULL;
	const uint64_t end = dwarfs_image_offset(image);
	uint64_t at;
	char buffer[65536];

	if (end == 0) {
		tool_error("the image has no header");
		return 2;
	}
	for (at = 0; at < end;) {
		const size_t bytes =
			end - at < sizeof(buffer) ? end - at : sizeof(buffer);

		if (dwarfs_image_read_header(image, buffer, bytes, at, &err) < 0)
			return tool_fail(err, "cannot read the header");
		if (fwrite(buffer, 1, bytes, stdout) != bytes)
			break;
		at += bytes;
	}
	return 0;
}

/* The level that was asked for, or that which suits what else was asked for. */
static int check_level(const struct settings *s, int level)
{
	if (s->integrity)
		return DWARFS_CHECK_INTEGRITY;
	return s->no_check ? DWARFS_CHECK_METADATA : level;
}

/* Check, then tell; the worse exit code counts. */
static int check_and_tell(const dwarfs_image *image, const struct settings *s)
{
	auto_report report = { .level = -1 };
	const int checked =
		check_image(image, s, check_level(s, DWARFS_CHECK_CHECKSUMS), &report);
	int told = 0;

	if (s->json)
		told = print_json(image, &report);
	else if (!s->quiet)
		told = print_info(image, s->details, &report);
	return checked ? checked : told;
}

/* Checks the metadata unless more was asked for, and shows what is there in any case. */
static int list_contents(const dwarfs_image *image, const struct settings *s)
{
	auto_report report = { .level = -1 };
	const int checked =
		check_image(image, s, check_level(s, DWARFS_CHECK_METADATA), &report);
	int told;

	told = s->list ? print_list(image, s->verbose)
		       : print_checksums(image, s->checksum, s->workers);
	return checked ? checked : told;
}

static int run(const struct settings *s)
{
	auto_handle(dwarfs_image) *image = open_image(s);

	if (!image)
		return 1;
	if (s->print_header)
		return print_header(image);
	if (s->list || s->checksum)
		return list_contents(image, s);
	return check_and_tell(image, s);
}

int main(int argc, char **argv)
{
	struct settings settings;
	int ret;

	tool_start("dwarfsck");
	ret = parse_settings(&settings, argc, argv);
	if (ret || settings.done)
		return tool_finish(ret);
	if (settings.quiet && tool_log_level() > DWARFS_LOG_ERROR)
		tool_set_log_level(DWARFS_LOG_ERROR);
	return tool_finish(run(&settings));
}
