/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/archive: archives, and several inputs merged in order.
 *
 * Directories and archives become items of a builder one after the other; later entries
 * replace earlier ones. Archives are read from files, pipes or standard input.
 */
#include "mkdwarfs/mkdwarfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TOOL_DEFINE_AUTO(dwarfs_archive_import, dwarfs_archive_import)

static bool is_stdin(const char *input)
{
	return strcmp(input, "-") == 0;
}

static bool is_input_directory(const char *input)
{
	struct stat status;

	return !is_stdin(input) && stat(input, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool has_archives(const struct settings *settings)
{
	size_t i;

	for (i = 0; i < settings->inputs.count; i++) {
		const char *input = settings->inputs.items[i];

		if (!is_input_directory(input) && !is_image(input))
			return true;
	}
	return false;
}

static bool has_images(const struct settings *settings)
{
	size_t i;

	for (i = 0; i < settings->inputs.count; i++) {
		const char *input = settings->inputs.items[i];

		if (!is_input_directory(input) &&
		    (is_image(input) || is_image_with_header(input)))
			return true;
	}
	return false;
}

static int check_archive_options(const struct settings *settings)
{
	const char *option = NULL;

	if (settings->input_format)
		option = "input-format";
	else if (settings->strip)
		option = "strip-components";
	else if (settings->whiteouts)
		option = "whiteouts";
	else if (settings->continue_on_error)
		option = "continue-on-error";
	if (option && !has_archives(settings))
		return tool_error("option '--%s' needs an archive as input", option);
	if (settings->spool_dir && !has_archives(settings) && !has_images(settings) &&
	    settings->bases.count == 0)
		return tool_error("option '--spool-dir' needs an archive or an image as "
				  "input");
	return 0;
}

static int check_image_options(const struct settings *settings)
{
	const char *option = NULL;

	if (settings->has_base_trust && settings->bases.count == 0)
		return tool_error("option '--base-trust' needs --base");
	if (settings->repack)
		option = "repack";
	else if (settings->trust_digests && settings->bases.count == 0)
		option = "trust-digests";
	else if (settings->max_unused < 100 && settings->bases.count == 0)
		option = "max-unused";
	if ((!option && !settings->remove_header) || has_images(settings))
		return 0;
	if (option)
		return tool_error("option '--%s' needs an image as input", option);
	tool_log(DWARFS_LOG_WARN, "--remove-header has no effect: no input is an image");
	return 0;
}

static int check_prefix(const struct settings *settings)
{
	const char *at = settings->prefix ? settings->prefix : "";

	for (; *at; at += strcspn(at, "/")) {
		at += strspn(at, "/");
		if (strncmp(at, "..", 2) == 0 && (at[2] == '\0' || at[2] == '/'))
			return tool_error(
				"invalid --prefix: prefix '%s': has '..' in its path",
				settings->prefix);
	}
	return 0;
}

int inputs_check(const struct settings *settings)
{
	return check_prefix(settings) || check_archive_options(settings) ||
	       check_image_options(settings);
}

bool input_is_tree(const struct settings *settings)
{
	if (settings->inputs.count == 0)
		return true;
	return settings->inputs.count == 1 && !settings->prefix &&
	       settings->bases.count == 0 &&
	       is_input_directory(settings->inputs.items[0]);
}

/* "a/b" of "/a//b/"; ".." was refused before. Free it. */
static char *clean_prefix(const char *prefix)
{
	char *clean = calloc(1, strlen(prefix) + 1);
	char *end = clean;

	while (clean && *prefix) {
		const size_t bytes = strcspn(prefix, "/");

		if (bytes > 0 && !(bytes == 1 && *prefix == '.')) {
			if (end > clean)
				*end++ = '/';
			memcpy(end, prefix, bytes);
			end += bytes;
		}
		prefix += bytes;
		prefix += *prefix == '/';
	}
	return clean;
}

static int add_tree(dwarfs_builder *builder, const struct settings *settings,
		    const char *path)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_free char *prefix = clean_prefix(settings->prefix ? settings->prefix : "");
	int ret;

	if (!prefix)
		return tool_error("out of memory");
	ret = dwarfs_builder_begin_layer(builder, &err);
	if (ret == 0)
		ret = dwarfs_builder_add_tree(builder, path, prefix, strlen(prefix),
					      &err);
	if (ret == DWARFS_ERR_CANCELLED)
		return tool_error("interrupted: no image was made");
	if (ret < 0)
		return tool_fail(err, "cannot read input '%s'", path);
	return 0;
}

static int add_input_image(dwarfs_builder *builder, const struct settings *settings,
			   const struct watch *watch, size_t number)
{
	auto_free char *prefix = clean_prefix(settings->prefix ? settings->prefix : "");

	if (!prefix)
		return tool_error("out of memory");
	return image_add(settings, builder, watch, settings->inputs.items[number], prefix,
			 number == 0);
}

static int explain_import_failure(const struct settings *settings, const char *input,
				  const dwarfs_error *err)
{
	const char *message = dwarfs_error_message(err);

	if (dwarfs_error_code(err) == DWARFS_ERR_CANCELLED)
		return tool_error("interrupted: no image was made");
	if (is_stdin(input))
		return tool_fail(err, "standard input");
	if (dwarfs_error_code(err) == DWARFS_ERR_UNSUPPORTED && !settings->input_format &&
	    strstr(message, "not an archive"))
		return tool_error("'%s' must be a directory or an archive", input);
	return tool_fail(err, strstr(message, input) ? NULL : "'%s'", input);
}

static int import_stdin(dwarfs_archive_import *import, dwarfs_error **err)
{
	auto_handle(dwarfs_io) *io = NULL;
	int ret = dwarfs_io_from_stream(STDIN_FILENO, &io, err);

	return ret < 0 ? ret : dwarfs_archive_import_io(import, io, err);
}

/* A file that is not an archive may be an image with a header. */
static bool is_other_image(const struct settings *settings, const char *input,
			   const dwarfs_error *err)
{
	return dwarfs_error_code(err) == DWARFS_ERR_UNSUPPORTED && !is_stdin(input) &&
	       !settings->input_format && is_image_with_header(input);
}

static int add_archive(dwarfs_archive_import *import, dwarfs_builder *builder,
		       const struct settings *settings, const struct watch *watch,
		       size_t number)
{
	const char *input = settings->inputs.items[number];
	auto_handle(dwarfs_error) *err = NULL;
	struct stat status;
	int ret;

	if (is_stdin(input) && isatty(STDIN_FILENO))
		return tool_error(
			"standard input is a terminal: redirect an archive to it, or use "
			"-i FILE");
	if (!is_stdin(input) && stat(input, &status) < 0)
		return tool_error("'%s' must be a directory or an archive: %s", input,
				  strerror(errno));
	ret = is_stdin(input) ? import_stdin(import, &err)
			      : dwarfs_archive_import_path(import, input, &err);
	/* Entries left out were reported. */
	if (ret < 0 && is_other_image(settings, input, err))
		return add_input_image(builder, settings, watch, number);
	if (ret < 0 && !dwarfs_archive_import_is_complete(import))
		return explain_import_failure(settings, input, err);
	return 0;
}

static int refuse_format(const dwarfs_error *err, const char *format)
{
	char names[512] = "auto";
	const char *help;
	size_t i;

	if (dwarfs_error_code(err) != DWARFS_ERR_INVALID)
		return tool_fail(err, "invalid --input-format");
	for (i = 0; (help = dwarfs_archive_import_format_help(i)); i++)
		tool_append_word(names, sizeof(names), help, strcspn(help, " "));
	return tool_error("invalid value '%s' for --input-format: use %s", format, names);
}

/* Archives were not built in: that matters if an input is one. */
static int check_no_archives(const struct settings *settings, const dwarfs_error *err)
{
	size_t i;

	for (i = 0; i < settings->inputs.count; i++) {
		const char *input = settings->inputs.items[i];

		if (is_stdin(input))
			return tool_fail(err, "standard input");
		if (!is_input_directory(input) && !is_image(input) &&
		    !is_image_with_header(input))
			return tool_fail(err, "cannot read '%s'", input);
	}
	return 0;
}

/* No import if none is needed. */
static int new_import(const struct settings *settings, dwarfs_builder *builder,
		      const struct watch *watch, dwarfs_archive_import **import_out)
{
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_archive_import *import = NULL;
	int ret = dwarfs_archive_import_new(builder, &import, &err);

	if (ret == DWARFS_ERR_UNSUPPORTED)
		return check_no_archives(settings, err);
	if (ret < 0)
		return tool_fail(err, "cannot read '%s'", settings->inputs.items[0]);
	*import_out = import;
	if (settings->input_format &&
	    dwarfs_archive_import_set_format(import, settings->input_format, &err) < 0)
		return refuse_format(err, settings->input_format);
	if (settings->prefix &&
	    dwarfs_archive_import_set_prefix(import, settings->prefix, &err) < 0)
		return tool_fail(err, "invalid --prefix");
	if (settings->spool_dir &&
	    dwarfs_archive_import_set_spool(import, settings->spool_dir, &err) < 0)
		return tool_fail(err, NULL);
	dwarfs_archive_import_set_strip_components(import, (uint32_t)settings->strip);
	dwarfs_archive_import_set_whiteouts(import, settings->whiteouts);
	dwarfs_archive_import_set_continue_on_error(import, settings->continue_on_error);
	dwarfs_archive_import_set_task(import, watch->task);
	return 0;
}

int inputs_merge(const struct settings *settings, dwarfs_builder *builder,
		 struct watch *watch)
{
	auto_handle(dwarfs_archive_import) *import = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	int code = 0;
	size_t i;

	if (settings->spool_dir &&
	    dwarfs_builder_set_spool(builder, settings->spool_dir, UINT64_MAX, &err) < 0)
		return tool_fail(err, "invalid --spool-dir");
	if (has_archives(settings) && new_import(settings, builder, watch, &import))
		return 1;
	code = bases_add(settings, builder, watch);
	for (i = 0; i < settings->inputs.count && code == 0; i++) {
		const char *input = settings->inputs.items[i];

		if (is_input_directory(input))
			code = add_tree(builder, settings, input);
		else if (is_image(input) || !import)
			/* Without an import all files were images. One that cannot be opened any
			 * more is named with the reason. */
			code = add_input_image(builder, settings, watch, i);
		else
			code = add_archive(import, builder, settings, watch, i);
	}
	if (!import)
		return code;
	watch->warnings += dwarfs_archive_import_warnings(import);
	watch->failures += dwarfs_archive_import_failures(import);
	return code;
}
