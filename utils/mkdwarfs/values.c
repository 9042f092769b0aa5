/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/values: from the value of one option to the settings.
 *
 * Checks the form of each value, and prints what is wrong with it. Values that are text
 * stay in the command line.
 */
#include "mkdwarfs/options.h"

#include <stdlib.h>
#include <string.h>

/* The value in "category::value"; NULL without a category. */
static const char *value_after_category(const char *text)
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
	const char *value = value_after_category(text);

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
	const char *value = value_after_category(text);
	uint64_t bits;

	if (tool_parse_number("bloom-filter-size", value ? value : text, 0, 10, &bits))
		return 1;
	tool_log(DWARFS_LOG_WARN, "--bloom-filter-size has no effect: equal parts are "
				  "found by an index of the whole image");
	return 0;
}

static int parse_segmenters(const char *text)
{
	uint64_t count;

	if (tool_parse_number("num-segmenter-workers", text, 0, 1024, &count))
		return 1;
	tool_log(DWARFS_LOG_WARN, "--num-segmenter-workers has no effect: one thread is "
				  "enough to find equal parts");
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
		return tool_error(
			"invalid size '%s' for --memory-limit: use a size above "
			"0, or auto",
			text);
	return 0;
}

static int parse_ratio(const char *text, double *ratio_out)
{
	char *end;

	*ratio_out = strtod(text, &end);
	if (end == text || *end || !(*ratio_out > 0 && *ratio_out <= 1))
		return tool_error("invalid number '%s' for --incompressible-ratio: must "
				  "be above 0 and at most 1",
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
		"invalid mode '%s' for --debug-filter: use all, files, included, "
		"included-files, excluded or excluded-files",
		text);
}

static int parse_level(const char *value, uint64_t *level_out)
{
	if (strlen(value) != 1 || *value < '0' || *value > '9')
		return tool_error(
			"invalid compression level '%s' for --compress-level: must be "
			"between 0 and 9",
			value);
	*level_out = (uint64_t)(*value - '0');
	return 0;
}

static int parse_block_bits(const char *value, uint64_t *bits_out)
{
	if (tool_parse_number("block-size-bits", value, 0, UINT32_MAX, bits_out))
		return 1;
	if (*bits_out < 10 || *bits_out > 30)
		return tool_error("invalid number '%s' for --block-size-bits: the block "
				  "size must be between 2^10 and 2^30 bytes",
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

/* Options that set one flag each. */
static int parse_flag(struct settings *s, int id)
{
	switch (id) {
	case 'f':
		return set(&s->force);
	case OPT_NO_SYNC:
		return set(&s->no_sync);
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
	case OPT_LOG_CONTEXT:
		tool_set_log_context(true);
		return 0;
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
	case OPT_CONTINUE:
		return set(&s->continue_on_error);
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

/* What every entry gets. */
static int parse_attribute(struct settings *s, int id, const char *value)
{
	switch (id) {
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
		s->time_resolution = value;
		return tool_parse_time_resolution("time-resolution", value,
						  &s->time_resolution_ns);
	default:
		return parse_categorizers(s, id, value);
	}
}

int settings_set(struct settings *settings, int id, const char *value)
{
	struct settings *s = settings;

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
	case OPT_HEADER:
		return set_text(&s->header, value);
	case 'P':
		return set_text(&s->pack_metadata, value);
	case OPT_LOG_LEVEL:
		return tool_take_log_level(value);
	case OPT_PROGRESS:
		return progress_parse_mode(value, &s->progress_mode);
	case OPT_INPUT_LIST:
		return set_text(&s->input_list, value);
	case OPT_DEBUG_FILTER:
		return parse_debug_filter(value, s);
	default:
		return parse_attribute(s, id, value);
	}
}
