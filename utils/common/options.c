/* SPDX-License-Identifier: MIT */
/*
 * common/options: the command line of a program, from one table of its options.
 *
 * The names for getopt_long(), the lines of the help and the member of the settings that an
 * argument goes to come from the table.
 */
#include "common/common.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Long options are numbered by their index in the table, after all letters. */
enum { FIRST_LONG = 0x10000 };

static bool is_letter(int id)
{
	return id > ' ' && id < 127;
}

static int argument_kind(const struct tool_option *option)
{
	if (option->flags & TOOL_OPTIONAL)
		return optional_argument;
	return option->argument ? required_argument : no_argument;
}

int tool_args_init(struct tool_args *args, int argc, char **argv,
		   const struct tool_option *options)
{
	struct option *longs;
	char *shorts;
	size_t count = 0;
	size_t i;

	while (options[count].name)
		count++;

	*args = (struct tool_args){ .argc = argc, .argv = argv, .options = options };
	args->longs = longs = calloc(count + 1, sizeof(*longs));
	args->shorts = shorts = calloc(count + 1, 3);
	if (!longs || !shorts)
		return tool_error("out of memory");

	*shorts++ = ':';
	for (i = 0; i < count; i++) {
		const int kind = argument_kind(&options[i]);

		longs[i] = (struct option){ options[i].name, kind, NULL,
					    FIRST_LONG + (int)i };
		if (!is_letter(options[i].id))
			continue;
		*shorts++ = (char)options[i].id;
		if (kind != no_argument)
			*shorts++ = ':';
		if (kind == optional_argument)
			*shorts++ = ':';
	}

	opterr = 0;
	optind = 1;
	return 0;
}

static const struct tool_option *find_letter(const struct tool_args *args, int letter)
{
	const struct tool_option *option;

	for (option = args->options; option->name; option++) {
		if (option->id == letter)
			return option;
	}
	return NULL;
}

/* A long name that is not in the table, or the beginning of several that are. */
static int refuse_long(const struct tool_option *option, const char *word)
{
	const size_t bytes = strcspn(word, "=");
	char names[512] = "";
	size_t count = 0;

	for (; bytes > 2 && option->name; option++) {
		const size_t used = strlen(names);

		if (strncmp(option->name, word + 2, bytes - 2) != 0)
			continue;
		snprintf(names + used, sizeof(names) - used, "%s--%s", count ? ", " : "",
			 option->name);
		count++;
	}
	if (count > 1)
		return tool_error("option '%.*s' is ambiguous: %s", (int)bytes, word,
				  names);
	return tool_error("unrecognized option '%.*s'", (int)bytes, word);
}

static int refuse_unknown(const struct tool_args *args, bool missing_argument)
{
	if (missing_argument && optopt >= FIRST_LONG)
		tool_error("option '--%s' needs an argument",
			   args->options[optopt - FIRST_LONG].name);
	else if (missing_argument)
		tool_error("option '-%c' needs an argument", optopt);
	else if (optopt >= FIRST_LONG)
		tool_error("option '--%s' takes no argument",
			   args->options[optopt - FIRST_LONG].name);
	else if (optopt)
		tool_error("unrecognized option '-%c'", optopt);
	else
		refuse_long(args->options, args->argv[optind - 1]);
	return TOOL_ARGS_BAD;
}

int tool_args_next(struct tool_args *args)
{
	const struct tool_option *option;
	int found;

	args->option = NULL;
	args->value = NULL;
	found = getopt_long(args->argc, args->argv, args->shorts, args->longs, NULL);
	if (found == -1)
		return TOOL_ARGS_END;
	if (found == '?' || found == ':')
		return refuse_unknown(args, found == ':');

	option = found >= FIRST_LONG ? &args->options[found - FIRST_LONG]
				     : find_letter(args, found);
	args->option = option;
	args->value = optarg;
	args->word = args->argv[optind - 1];
	return option->id;
}

const char *tool_option_label(const struct tool_option *option,
			      char buffer[TOOL_LABEL_ROOM])
{
	if (is_letter(option->id))
		snprintf(buffer, TOOL_LABEL_ROOM, "-%c (--%s)", option->id, option->name);
	else
		snprintf(buffer, TOOL_LABEL_ROOM, "%s%s",
			 option->name[0] == '-' ? "" : "--", option->name);
	return buffer;
}

int tool_option_set(const struct tool_option *option, const char *text, void *settings)
{
	char label[TOOL_LABEL_ROOM];
	const char *name = tool_option_label(option, label);
	char *base = settings;
	void *target = base + option->target;

	if (option->given)
		*(bool *)(void *)(base + option->given) = true;
	switch (option->kind) {
	case TOOL_FLAG:
		*(bool *)target = true;
		return 0;
	case TOOL_TEXT:
		*(const char **)target = text;
		return 0;
	case TOOL_LIST:
		return tool_list_add(target, text);
	case TOOL_NUMBER:
		return tool_parse_number(name, text, option->min, option->max, target);
	case TOOL_BYTES:
		return tool_parse_bytes(name, text, target);
	case TOOL_OFFSET:
		return tool_parse_offset(name, text, target);
	case TOOL_USER:
		return tool_parse_user(name, text, target);
	case TOOL_GROUP:
		return tool_parse_group(name, text, target);
	case TOOL_WORD:
		return tool_parse_word(name, text, option->words, target);
	case TOOL_PARSED:
		return option->parse(option, text, settings);
	case TOOL_ACTION:
		break;
	}
	return tool_error("option '--%s' has no value to set", option->name);
}

int tool_list_add(struct tool_list *list, const char *item)
{
	const char **grown = reallocarray(list->items, list->count + 1, sizeof(*grown));

	if (!grown)
		return tool_error("out of memory");
	list->items = grown;
	list->items[list->count++] = item;
	return 0;
}

void tool_list_free(struct tool_list *list)
{
	free(list->items);
	*list = (struct tool_list){ 0 };
}

const char *tool_args_positional(struct tool_args *args)
{
	return optind < args->argc ? args->argv[optind++] : NULL;
}

void tool_args_free(struct tool_args *args)
{
	free(args->longs);
	free(args->shorts);
	args->longs = NULL;
	args->shorts = NULL;
}

static void print_option(FILE *out, const struct tool_option *option)
{
	const int column = 34;
	const char *line = option->help;
	int width = 0;

	if (is_letter(option->id))
		width += fprintf(out, "  -%c, --%s", option->id, option->name);
	else
		width += fprintf(out, "      --%s", option->name);
	if (option->argument && (option->flags & TOOL_OPTIONAL))
		width += fprintf(out, "[=%s]", option->argument);
	else if (option->argument)
		width += fprintf(out, " %s", option->argument);
	if (width >= column - 1) {
		fputc('\n', out);
		width = 0;
	}

	while (line) {
		const char *end = strchr(line, '\n');
		const int length = end ? (int)(end - line) : (int)strlen(line);

		fprintf(out, "%*s%.*s\n", column - width, "", length, line);
		width = 0;
		line = end ? end + 1 : NULL;
	}
}

void tool_print_options(FILE *out, const struct tool_option *options, bool all)
{
	for (; options->name; options++) {
		if (all || (options->flags & TOOL_BASIC))
			print_option(out, options);
	}
}

void tool_print_version(void)
{
	printf("%s %s\n", tool_name(), dwarfs_version_string());
}

int tool_show_man(void)
{
	execlp("man", "man", tool_name(), (char *)NULL);
	return tool_error("cannot run man");
}
