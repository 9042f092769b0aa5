/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/values: the arguments of options that the table of options alone cannot parse.
 *
 * Checks the form of each, and prints what is wrong with it. What is text stays in the
 * command line.
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

static int add_choice(struct settings *s, const struct tool_option *option,
		      const char *category, size_t length, const char *value)
{
	struct choice *list = realloc(s->choices, (s->choice_count + 1) * sizeof(*list));
	char *copy = NULL;

	if (!list)
		return tool_error("out of memory");
	s->choices = list;
	if (category && !(copy = strndup(category, length)))
		return tool_error("out of memory");
	list[s->choice_count++] =
		(struct choice){ .option = option, .category = copy, .value = value };
	return 0;
}

int parse_choice_as_is(const struct tool_option *option, const char *text, void *settings)
{
	return add_choice(settings, option, NULL, 0, text);
}

int parse_choice(const struct tool_option *option, const char *text, void *settings)
{
	const char *value = value_after_category(text);
	char label[TOOL_LABEL_ROOM];

	if (!value)
		return add_choice(settings, option, NULL, 0, text);
	if (value - text == 2)
		return tool_error("invalid value '%s' for %s: no category before '::'",
				  text, tool_option_label(option, label));
	return add_choice(settings, option, text, (size_t)(value - text) - 2, value);
}

int parse_number_choice(const struct tool_option *option, const char *text,
			void *settings)
{
	struct settings *s = settings;
	char label[TOOL_LABEL_ROOM];
	uint64_t number;

	if (parse_choice(option, text, s) ||
	    tool_parse_number(tool_option_label(option, label),
			      s->choices[s->choice_count - 1].value, option->min,
			      option->max, &number))
		return 1;
	s->choices[s->choice_count - 1].number = (uint32_t)number;
	return 0;
}

int ignore_number(const struct tool_option *option, const char *text, void *settings)
{
	const bool by_category = *option->argument == '[';
	const char *value = by_category ? value_after_category(text) : NULL;
	uint64_t number;

	(void)settings;
	if (tool_parse_number(option->name, value ? value : text, option->min,
			      option->max, &number))
		return 1;
	tool_log(DWARFS_LOG_WARN,
		 "--%s has no effect: one thread with an index of the whole image "
		 "finds equal parts",
		 option->name);
	return 0;
}

int parse_memory_limit(const struct tool_option *option, const char *text, void *settings)
{
	struct settings *s = settings;
	char label[TOOL_LABEL_ROOM];

	if (strcmp(text, "auto") == 0) {
		s->memory_limit = 0;
		return 0;
	}
	if (tool_parse_bytes(tool_option_label(option, label), text, &s->memory_limit))
		return 1;
	if (s->memory_limit == 0)
		return tool_error("invalid size '%s' for %s: use a size above 0, or auto",
				  text, label);
	return 0;
}

int parse_categorizers(const struct tool_option *option, const char *text, void *settings)
{
	struct settings *s = settings;

	if (text && !*text)
		return tool_error("invalid value '' for --%s: use names of categorizers, "
				  "or the option without '='",
				  option->name);
	s->categorizers = text ? text : "fits,pcmaudio,binary,incompressible";
	return 0;
}

int parse_recompress(const struct tool_option *option, const char *text, void *settings)
{
	static const char *const modes[] = { "all", "block", "metadata", "none" };
	struct settings *s = settings;
	size_t i;

	if (!text)
		text = "all";
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(text, modes[i]) == 0) {
			s->recompress = modes[i];
			return 0;
		}
	}
	return tool_error("invalid mode '%s' for --%s: use all, block, metadata or none",
			  text, option->name);
}

int parse_base_trust(const struct tool_option *option, const char *text, void *settings)
{
	struct settings *s = settings;

	s->trusts_no_base = strcmp(text, "none") == 0;
	if (s->trusts_no_base || strcmp(text, "times") == 0)
		return 0;
	return tool_error("invalid value '%s' for --%s: use times or none", text,
			  option->name);
}

int parse_ratio(const struct tool_option *option, const char *text, void *settings)
{
	struct settings *s = settings;
	char *end;

	s->probe_ratio = strtod(text, &end);
	if (end == text || *end || !(s->probe_ratio > 0 && s->probe_ratio <= 1))
		return tool_error("invalid number '%s' for --%s: must be above 0 and at "
				  "most 1",
				  text, option->name);
	return 0;
}

int parse_zstd_level(const struct tool_option *option, const char *text, void *settings)
{
	struct settings *s = settings;
	const char *digits = text + (*text == '-');
	const long level =
		strtol(text, NULL, 10); /* the nearest number if it overflows */

	if (!*digits || digits[strspn(digits, "0123456789")] || level < -131072 ||
	    level > 22)
		return tool_error("invalid number '%s' for --%s: must be between -131072 "
				  "and 22",
				  text, option->name);
	s->probe_zstd_level = (int)level;
	return 0;
}

int parse_debug_filter(const struct tool_option *option, const char *text, void *settings)
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
	struct settings *s = settings;
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(text ? text : "all", modes[i].name) != 0)
			continue;
		s->debug_filter = true;
		s->report = modes[i].report;
		return 0;
	}
	return tool_error("invalid mode '%s' for --%s: use all, files, included, "
			  "included-files, excluded or excluded-files",
			  text, option->name);
}

int parse_level(const struct tool_option *option, const char *text, void *settings)
{
	struct settings *s = settings;
	char label[TOOL_LABEL_ROOM];

	if (strlen(text) != 1 || *text < '0' || *text > '9')
		return tool_error("invalid compression level '%s' for %s: must be "
				  "between 0 and 9",
				  text, tool_option_label(option, label));
	s->level = (uint64_t)(*text - '0');
	return 0;
}

int parse_block_bits(const struct tool_option *option, const char *text, void *settings)
{
	struct settings *s = settings;
	char label[TOOL_LABEL_ROOM];

	/* strtoul() gives the largest number if it overflows. */
	if (!*text || text[strspn(text, "0123456789")] ||
	    (s->block_bits = strtoul(text, NULL, 10)) < 10 || s->block_bits > 30)
		return tool_error(
			"invalid number '%s' for %s: must be between 10 and 30; "
			"the block size must be between 2^10 and 2^30 bytes",
			text, tool_option_label(option, label));
	return 0;
}

int parse_set_time(const struct tool_option *option, const char *text, void *settings)
{
	struct settings *s = settings;

	(void)option;
	return parse_time_point(text, &s->time_seconds, &s->time_nanoseconds);
}

int parse_time_resolution(const struct tool_option *option, const char *text,
			  void *settings)
{
	struct settings *s = settings;

	s->time_resolution = text;
	return tool_parse_time_resolution(option->name, text, &s->time_resolution_ns);
}

int parse_progress(const struct tool_option *option, const char *text, void *settings)
{
	struct settings *s = settings;

	(void)option;
	return progress_parse_mode(text ? text : "none", &s->progress_mode);
}
