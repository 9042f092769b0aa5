/* SPDX-License-Identifier: MIT */
/*
 * dwarfsextract: write what an image holds to a directory.
 *
 * Takes the command line, gives the tree and an exit code: 0 when everything was written,
 * 1 when something was not.
 */
#include "common.h"
#include "progress.h"

#include <string.h>
#include <unistd.h>

enum {
	OPT_SKIP_DEVICES = 256,
	OPT_SKIP_SPECIALS,
	OPT_CONTINUE,
	OPT_STDOUT_PROGRESS,
	OPT_LOG_LEVEL,
	OPT_MAN,
	OPT_VERSION,
};

#define REFUSED(id, name)                                                                \
	{                                                                                \
		id, name, "ARG", NULL, TOOL_UNSUPPORTED                                  \
	}

static const struct tool_option option_table[] = {
	{ 'i', "input", "IMAGE", "the image; also the first argument without -i",
	  TOOL_BASIC },
	{ 'o', "output", "DIRECTORY",
	  "where to write, made if missing; default: the\ncurrent directory",
	  TOOL_BASIC },
	{ 'O', "image-offset", "BYTES",
	  "where the image starts in its file, or auto, the\ndefault", TOOL_BASIC },
	{ OPT_SKIP_DEVICES, "skip-devices", NULL, "leave out devices", TOOL_BASIC },
	{ OPT_SKIP_SPECIALS, "skip-specials", NULL, "leave out fifos and sockets",
	  TOOL_BASIC },
	{ OPT_CONTINUE, "continue-on-error", NULL,
	  "write as much as possible; exit with 1 all the same", TOOL_BASIC },
	{ OPT_STDOUT_PROGRESS, "stdout-progress", NULL,
	  "print the share that is done on stdout", TOOL_BASIC },
	{ 'n', "num-workers", "N",
	  "threads that unpack blocks; default: one for each\nprocessor", TOOL_BASIC },
	{ 's', "cache-size", "SIZE", "decoded blocks to keep in memory; default 512m",
	  TOOL_BASIC },
	{ OPT_LOG_LEVEL, "log-level", "LEVEL",
	  "fatal, error, warn, info, verbose, debug, trace;\ndefault info", TOOL_BASIC },
	{ 'h', "help", NULL, "show this text", TOOL_BASIC },
	{ OPT_MAN, "man", NULL, "show the manual page", TOOL_BASIC },
	{ OPT_VERSION, "version", NULL, "show the version", TOOL_BASIC },
	REFUSED('f', "format"),
	REFUSED(0, "format-filters"),
	REFUSED(0, "format-options"),
	REFUSED(0, "pattern"),
	REFUSED(0, "disable-integrity-check"),
	REFUSED(0, "num-disk-writers"),
	REFUSED(0, "log-with-context"),
	REFUSED(0, "perfmon"),
	REFUSED(0, "perfmon-trace"),
	{ 0 },
};

struct settings {
	const char *input, *output;
	uint64_t offset, cache_bytes, workers;
	bool skip_devices, skip_specials, continue_on_error, stdout_progress;
	bool done; /* the help or the version was asked for and printed */
};

/* -- the command line ---------------------------------------------------------------- */

static void print_usage(void)
{
	printf("Usage: dwarfsextract -i IMAGE [-o DIRECTORY] [options]\n\n"
	       "Write what a DwarFS image holds to a directory.\n\n");
	tool_print_options(stdout, option_table, true);
}

static int take_log_level(const char *text)
{
	int level;

	if (tool_parse_log_level("--log-level", text, &level))
		return 1;
	tool_set_log_level(level);
	return 0;
}

/* 0 to go on, 1 after printing what is wrong. */
static int take_option(struct settings *settings, int id, const char *value)
{
	switch (id) {
	case 'i':
		settings->input = value;
		return 0;
	case 'o':
		settings->output = value;
		return 0;
	case 'O':
		return tool_parse_offset("--image-offset", value, &settings->offset);
	case 's':
		return tool_parse_bytes("--cache-size", value, &settings->cache_bytes);
	case 'n':
		return tool_parse_number("--num-workers", value, 0, 1024,
					 &settings->workers);
	case OPT_SKIP_DEVICES:
		settings->skip_devices = true;
		return 0;
	case OPT_SKIP_SPECIALS:
		settings->skip_specials = true;
		return 0;
	case OPT_CONTINUE:
		settings->continue_on_error = true;
		return 0;
	case OPT_STDOUT_PROGRESS:
		settings->stdout_progress = true;
		return 0;
	case OPT_LOG_LEVEL:
		return take_log_level(value);
	case OPT_MAN:
		return tool_show_man();
	case 'h':
		print_usage();
		break;
	case OPT_VERSION:
		tool_print_version();
		break;
	}
	settings->done = true;
	return 0;
}

static int parse(int argc, char **argv, struct settings *settings)
{
	auto_args args = { 0 };
	int id;

	if (tool_args_init(&args, argc, argv, option_table))
		return 1;
	while ((id = tool_args_next(&args)) != TOOL_ARGS_END) {
		if (id == TOOL_ARGS_BAD || take_option(settings, id, args.value))
			return 1;
		if (settings->done)
			return 0;
	}
	if (!settings->input)
		settings->input = tool_args_positional(&args);
	if (!settings->input)
		return tool_error("no image given; see dwarfsextract --help");
	if (tool_args_positional(&args))
		return tool_error("patterns are not supported by this version");
	if (strcmp(settings->output, "-") == 0)
		return tool_error(
			"writing an archive to '-' is not supported by this version");
	return 0;
}

/* -- the extraction ------------------------------------------------------------------ */

/* What watches the extraction. */
struct watch {
	struct progress *display; /* may be NULL */
	bool percent;		  /* print the share that is done on stdout */
	int printed;		  /* the share printed last, -1 for none */
};

static int share_done(const dwarfs_progress *state)
{
	uint64_t done = dwarfs_progress_bytes_done(state);
	uint64_t total = dwarfs_progress_bytes_total(state);

	if (dwarfs_progress_phase(state) == DWARFS_PHASE_DONE)
		return 100;
	if (total == 0 || done >= total)
		return total == 0 ? 0 : 99;
	return (int)((double)done / (double)total * 100.0);
}

static int show(const dwarfs_progress *state, void *user)
{
	struct watch *watch = user;
	int share = share_done(state);

	if (watch->percent && share != watch->printed) {
		printf("\r%3d%%%s", share, share == 100 ? "\n" : "");
		fflush(stdout);
		watch->printed = share;
	}
	return watch->display ? progress_show(state, watch->display) : 0;
}

static dwarfs_image *open_image(const struct settings *settings)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_context) *context = NULL;
	auto_handle(dwarfs_image_options) *how = NULL;
	dwarfs_image *image;

	context = tool_context_new(settings->workers, settings->cache_bytes);
	if (!context)
		return NULL;
	if (dwarfs_image_options_new(&how, &err) < 0) {
		tool_fail(err, NULL);
		return NULL;
	}
	dwarfs_image_options_set_offset(how, settings->offset);
	if (dwarfs_image_open(context, settings->input, how, &image, &err) < 0) {
		tool_fail(err, NULL);
		return NULL;
	}
	return image;
}

static int extract_image(const struct settings *settings, const dwarfs_image *image,
			 dwarfs_cancel *cancel, struct watch *watch)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_extract) *extract = NULL;
	uint64_t failures;
	int ret;

	if (dwarfs_extract_new(image, &extract, &err) < 0)
		return tool_fail(err, NULL);
	dwarfs_extract_set_skip_devices(extract, settings->skip_devices);
	dwarfs_extract_set_skip_specials(extract, settings->skip_specials);
	dwarfs_extract_set_continue_on_error(extract, settings->continue_on_error);
	dwarfs_extract_set_cancel(extract, cancel);
	if (watch->display || watch->percent)
		dwarfs_extract_set_progress(extract, show, watch);

	ret = dwarfs_extract_to_directory(extract, settings->output, &err);
	progress_free(watch->display);
	watch->display = NULL;
	if (ret == 0)
		return 0;
	failures = dwarfs_extract_failures(extract);
	if (ret == DWARFS_ERR_CANCELLED || !settings->continue_on_error || failures == 0)
		return tool_fail(err, "%s: extraction aborted", settings->input);
	return tool_error("extraction finished with %llu error%s",
			  (unsigned long long)failures, failures == 1 ? "" : "s");
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.output = ".",
		.offset = DWARFS_OFFSET_AUTO,
		.cache_bytes = TOOL_DEFAULT,
		.workers = TOOL_DEFAULT,
	};
	struct watch watch = { .printed = -1 };
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_image) *image = NULL;
	auto_handle(dwarfs_cancel) *cancel = NULL;
	int code;

	tool_start("dwarfsextract");
	if (argc <= 1) {
		print_usage();
		return tool_finish(0);
	}
	if (parse(argc, argv, &settings))
		return 1;
	if (settings.done)
		return tool_finish(0);
	if (dwarfs_cancel_new(&cancel, &err) < 0)
		return tool_fail(err, NULL);
	tool_catch_signals(cancel);
	image = open_image(&settings);
	if (!image)
		return 1;
	watch.percent = settings.stdout_progress;
	if (isatty(STDERR_FILENO) && !watch.percent)
		watch.display = progress_new(PROGRESS_AUTO);
	code = extract_image(&settings, image, cancel, &watch);
	tool_catch_signals(NULL);
	return tool_finish(code);
}
