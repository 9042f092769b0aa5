/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/input: the input: a directory, a list of paths, and filter rules; archives and
 * several inputs are in mkdwarfs/archive.c.
 */
#include "mkdwarfs/mkdwarfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Read a whole stream and append a zero byte; *data_out is set even on failure. */
static int read_whole_input(FILE *in, char **data_out, size_t *bytes_out)
{
	size_t room = 1 << 16;
	size_t used = 0;
	char *data = malloc(room);
	int error = 0;

	while (data) {
		char *larger;

		used += fread(data + used, 1, room - used - 1, in);
		if (ferror(in))
			error = errno;
		if (used < room - 1)
			break;
		room *= 2;
		larger = realloc(data, room);
		if (!larger)
			free(data);
		data = larger;
	}
	*data_out = data;
	*bytes_out = used;
	if (!data)
		return ENOMEM;
	data[used] = '\0';
	return error;
}

int read_file(const char *what, const char *path, char **data_out, size_t *bytes_out)
{
	const bool is_stdin = strcmp(path, "-") == 0;
	FILE *in = is_stdin ? stdin : fopen(path, "re");
	int error;

	if (!in)
		return tool_error("cannot open %s '%s': %s", what, path, strerror(errno));
	error = read_whole_input(in, data_out, bytes_out);
	if (!is_stdin)
		fclose(in);
	if (error)
		return tool_error("cannot read %s '%s': %s", what, path, strerror(error));
	return 0;
}

/* Whether all lines end with CR LF, as in text files of Windows. Otherwise a CR at the end of
 * a line belongs to a name. */
static bool has_crlf(const char *text)
{
	const char *at = text;

	while ((at = strchr(at, '\n'))) {
		if (at == text || at[-1] != '\r')
			return false;
		at++;
	}
	return strchr(text, '\n') != NULL;
}

static size_t count_lines(const char *text)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

/* The lines of a text, split in place; NULL if out of memory. */
static char **split_lines(char *text)
{
	const bool crlf = has_crlf(text);
	size_t count = count_lines(text);
	char **lines = calloc(count + 1, sizeof(*lines));

	if (!lines)
		return NULL;
	count = 0;
	while (text) {
		char *line = strsep(&text, "\n");

		if (crlf && text)
			text[-2] = '\0';
		if (*line)
			lines[count++] = line;
	}
	return lines;
}

int read_lines(const char *what, const char *path, char ***lines_out, char **text_out)
{
	size_t bytes;

	if (read_file(what, path, text_out, &bytes))
		return 1;
	/* A name has no zero bytes, so the text has none either. */
	if (strlen(*text_out) != bytes)
		return tool_error("cannot read %s '%s': line %zu contains a NUL", what,
				  path, count_lines(*text_out));
	if (!(*lines_out = split_lines(*text_out)))
		return tool_error("cannot read %s '%s': out of memory", what, path);
	return 0;
}

/* -- the input ---------------------------------------------------------------------- */

static int add_directory(dwarfs_builder *builder, const char *path)
{
	auto_handle(dwarfs_error) *err = NULL;
	int ret = dwarfs_builder_add_directory(builder, path, &err);

	if (ret == DWARFS_ERR_NOT_DIR)
		return tool_fail(err, NULL);
	if (ret == DWARFS_ERR_NOT_FOUND)
		return tool_fail(err, "'%s' must be a directory", path);
	if (ret < 0)
		return tool_fail(err, "cannot read input");
	return 0;
}

static int add_input_list(dwarfs_builder *builder, const char *list)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_free char **lines = NULL;
	auto_free char *text = NULL;
	char **line;

	if (read_lines("input list", list, &lines, &text))
		return 1;
	/* Nothing listed is nothing taken but the root. */
	if (!*lines && dwarfs_builder_add_path(builder, "", &err) < 0)
		return tool_fail(err, NULL);
	for (line = lines; *line; line++) {
		if (dwarfs_builder_add_path(builder, *line, &err) < 0)
			return tool_fail(err, "input list");
	}
	return 0;
}

int input_apply(const struct settings *settings, dwarfs_builder *builder,
		struct watch *watch)
{
	if (inputs_check(settings))
		return 1;
	dwarfs_builder_set_devices(builder, settings->with_devices);
	dwarfs_builder_set_specials(builder, settings->with_specials);
	if (!input_is_tree(settings))
		return inputs_merge(settings, builder, watch);
	if (add_directory(builder,
			  settings->inputs.count ? settings->inputs.items[0] : "."))
		return 1;
	return settings->input_list ? add_input_list(builder, settings->input_list) : 0;
}

/* -- rules -------------------------------------------------------------------------- */

static int show_entry(const char *path, bool is_directory, bool included,
		      dwarfs_error **err, void *user)
{
	const struct filter_report *report = user;
	const char *sign = included ? "+ " : "- ";

	if (!*path || (included && !report->included) ||
	    (!included && !report->excluded) || (is_directory && report->files_only))
		return 0;
	if (!report->included || !report->excluded)
		sign = "";
	return printf("%s%s/%s%s\n", sign, report->root, path, is_directory ? "/" : "") <
			       0
		       ? dwarfs_error_set(err, DWARFS_ERR_CANCELLED, 0, "cannot print")
		       : 0;
}

int filter_show(const struct settings *settings, dwarfs_builder *builder)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_free char *root = NULL;
	struct filter_report report = settings->report;
	int ret;

	if (input_is_tree(settings) &&
	    !(root = realpath(settings->inputs.items[0], NULL)))
		return tool_error("cannot read input: '%s': %s",
				  settings->inputs.items[0], strerror(errno));
	report.root = !root || strcmp(root, "/") == 0 ? "" : root;
	dwarfs_builder_set_filter_report(builder, show_entry, &report);
	ret = dwarfs_builder_scan(builder, &err);
	if (ret < 0 && dwarfs_error_code(err) != DWARFS_ERR_CANCELLED)
		return tool_fail(err, NULL);
	return tool_finish(0);
}
