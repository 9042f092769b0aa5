/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/dwarfsck: check, list and compare images.
 *
 * Parses the command line, opens the image and runs the check; other files print the
 * results. Exits with 0, with 1 for errors, or with 2 if there is no header to print;
 * after a comparison with 1 for differences and 2 for errors.
 */
#include "dwarfsck/dwarfsck.h"

#include <string.h>

/* -- settings ------------------------------------------------------------------------ */

dwarfs_image_options *image_options_new(const struct settings *s)
{
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_image_options *options;

	if (dwarfs_image_options_new(&options, &err) < 0) {
		tool_fail(err, NULL);
		return NULL;
	}
	dwarfs_image_options_set_offset(options, s->offset);
	return options;
}

static dwarfs_image *open_image_to_check(const struct settings *s)
{
	auto_handle(dwarfs_context) *context =
		tool_context_new(s->workers, s->cache_bytes);
	auto_handle(dwarfs_image_options) *image_options = image_options_new(s);
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_image *image;

	if (!context || !image_options)
		return NULL;
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
		tool_error("there is no image header");
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

/* The level that was requested, or the default for the requested action. */
static int check_level(const struct settings *s, int level)
{
	if (s->integrity)
		return DWARFS_CHECK_INTEGRITY;
	return s->no_check ? DWARFS_CHECK_METADATA : level;
}

/* Check, then print; the worse exit code is returned. */
static int check_and_tell(const dwarfs_image *image, const struct settings *s)
{
	auto_report report = { .level = -1 };
	const int checked =
		check_image(image, s, check_level(s, DWARFS_CHECK_CHECKSUMS), &report);
	int told = 0;

	if (s->json && !s->quiet)
		told = print_json(image, &report, s->list);
	else if (!s->quiet)
		told = print_info(image, s->details, &report);
	return checked ? checked : told;
}

static int tell_contents(const dwarfs_image *image, const struct settings *s)
{
	if (s->list)
		return print_list(image, s->verbose);
	if (s->export_to)
		return export_metadata(image, s->input, s->export_to);
	return print_checksums(image, s);
}

/* Check the metadata, or more if requested, and print the intact entries in any case. */
static int list_contents(const dwarfs_image *image, const struct settings *s)
{
	auto_report report = { .level = -1 };
	const int checked =
		check_image(image, s, check_level(s, DWARFS_CHECK_METADATA), &report);
	const int told = tell_contents(image, s);

	return checked ? checked : told;
}

static int run_check(const struct settings *s)
{
	auto_handle(dwarfs_image) *image = NULL;

	if (s->diff)
		return print_differences(s);
	if (s->salvage)
		return salvage(s);
	image = open_image_to_check(s);
	if (!image)
		return 1;
	if (s->cats.count > 0)
		return print_files(image, s->cats.items, s->cats.count);
	if (s->print_header)
		return print_header(image);
	if ((s->list && !s->json) || s->checksum || s->export_to)
		return list_contents(image, s);
	return check_and_tell(image, s);
}

/* If 1 means that there are differences, a failure of output is 2. */
static int finish_check(const struct settings *s, int code)
{
	if (s->diff && code < 2)
		return tool_finish(0) ? 2 : code;
	return tool_finish(code);
}

int main(int argc, char **argv)
{
	auto_settings settings;
	int ret;

	tool_start("dwarfsck");
	ret = settings_parse(&settings, argc, argv);
	if (ret || settings.done)
		return tool_finish(ret && settings.diff ? 2 : ret);
	set_names(settings.raw || settings.null, settings.null ? '\0' : '\n');
	if (settings.quiet && tool_log_level() > DWARFS_LOG_ERROR)
		tool_set_log_level(DWARFS_LOG_ERROR);
	return finish_check(&settings, run_check(&settings));
}
