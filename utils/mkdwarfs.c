/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs: pack a directory into an image.
 *
 * Gives the settings to a builder, shows its progress, and says what came out. Exits with
 * 0, with 1 when no image was made, or with 2 when one was made but something was not
 * readable.
 */
#include "mkdwarfs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A name before its options that no line of the library's list begins with. */
static bool is_unknown_codec(const char *codec)
{
	const size_t length = strcspn(codec, ":");
	const char *help;
	size_t i;

	for (i = 0; (help = dwarfs_codec_help(i)); i++) {
		if (strncmp(help, codec, length) == 0 && strcspn(help, " ") == length)
			return false;
	}
	return true;
}

static int set_codecs(dwarfs_builder *builder, const struct settings *s)
{
	static const char *const names[] = {
		[DWARFS_CODEC_BLOCKS] = "compression",
		[DWARFS_CODEC_METADATA] = "metadata-compression",
		[DWARFS_CODEC_SCHEMA] = "schema-compression",
		[DWARFS_CODEC_HISTORY] = "history-compression",
	};
	auto_handle(dwarfs_error) *err = NULL;
	int use;

	for (use = DWARFS_CODEC_BLOCKS; use <= DWARFS_CODEC_HISTORY; use++) {
		const char *codec = s->codecs[use];

		if (!codec || dwarfs_builder_set_codec(builder, use, codec, &err) == 0)
			continue;
		if (dwarfs_error_code(err) != DWARFS_ERR_NOMEM &&
		    dwarfs_error_code(err) != DWARFS_ERR_UNSUPPORTED &&
		    is_unknown_codec(codec))
			return tool_error("unknown compression: %.*s",
					  (int)strcspn(codec, ":"), codec);
		return tool_fail(err, "invalid --%s '%s'", names[use], codec);
	}
	return 0;
}

static int set_attributes(dwarfs_builder *builder, const struct settings *s)
{
	auto_handle(dwarfs_error) *err = NULL;
	const mode_t mask = umask(0);

	umask(mask);
	if (s->has_owner)
		dwarfs_builder_set_owner(builder, s->owner);
	if (s->has_group)
		dwarfs_builder_set_group(builder, s->group);
	if (s->has_time && dwarfs_builder_set_time(builder, s->time_seconds,
						   s->time_nanoseconds, &err) < 0)
		return tool_fail(err, "invalid --set-time");
	if (dwarfs_builder_set_umask(builder, mask & 0777, &err) < 0)
		return tool_fail(err, NULL);
	if (s->chmod && dwarfs_builder_set_chmod(builder, s->chmod, &err) < 0)
		return tool_fail(err, "invalid metadata option: --chmod '%s'", s->chmod);
	if (s->time_resolution_ns != TOOL_DEFAULT &&
	    dwarfs_builder_set_time_resolution(builder, s->time_resolution_ns, &err) < 0)
		return tool_fail(err, "invalid time resolution");
	dwarfs_builder_set_keep_all_times(builder, s->keep_all_times);
	dwarfs_builder_set_devices(builder, s->with_devices);
	dwarfs_builder_set_specials(builder, s->with_specials);
	dwarfs_builder_set_sparse_files(builder, !s->no_sparse_files);
	return 0;
}

static int set_history(dwarfs_builder *builder, const struct settings *s, char **argv)
{
	auto_handle(dwarfs_error) *err = NULL;

	dwarfs_builder_set_history(builder, !s->no_history);
	dwarfs_builder_set_history_timestamps(builder, !s->no_history_timestamps);
	dwarfs_builder_set_create_timestamp(builder, !s->no_create_timestamp);
	if (s->no_history_command_line)
		return 0;
	for (; *argv; argv++) {
		if (dwarfs_builder_add_history_argument(builder, *argv, &err) < 0)
			return tool_fail(err, NULL);
	}
	return 0;
}

static int set_layout(dwarfs_builder *builder, const struct settings *s)
{
	auto_handle(dwarfs_error) *err = NULL;

	if (s->level != TOOL_DEFAULT &&
	    dwarfs_builder_set_level(builder, (uint32_t)s->level, &err) < 0)
		return tool_fail(err, "invalid compression level");
	if (s->block_bits != TOOL_DEFAULT &&
	    dwarfs_builder_set_block_bits(builder, (uint32_t)s->block_bits, &err) < 0)
		return tool_fail(err, "invalid block size");
	if (s->order && dwarfs_builder_set_order(builder, s->order, &err) < 0)
		return tool_fail(err, "invalid inode order mode '%s'", s->order);
	if (s->pack_metadata &&
	    dwarfs_builder_set_pack_metadata(builder, s->pack_metadata, &err) < 0)
		return tool_fail(
			err,
			"the argument ('%s') for option '--pack-metadata' is invalid",
			s->pack_metadata);
	dwarfs_builder_set_section_index(builder, !s->no_section_index);
	dwarfs_builder_set_hardlink_table(builder, !s->no_hardlink_table);
	return 0;
}

/* The whole of a file in memory. */
static int read_file(const char *path, char **data_out, size_t *bytes_out)
{
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_io *io = NULL;
	char *data;
	uint64_t bytes;
	int ret;

	if (dwarfs_io_open(path, &io, &err) < 0)
		return tool_fail(err, "cannot open header file");
	bytes = dwarfs_io_bytes(io);
	data = bytes < SIZE_MAX ? malloc(bytes + 1) : NULL;
	if (!data) {
		dwarfs_io_free(io);
		return tool_error("cannot read header file '%s': out of memory", path);
	}
	ret = bytes ? dwarfs_io_read(io, data, bytes, 0, &err) : 0;
	dwarfs_io_free(io);
	if (ret < 0) {
		free(data);
		return tool_fail(err, "cannot read header file");
	}
	*data_out = data;
	*bytes_out = bytes;
	return 0;
}

static int set_header(dwarfs_builder *builder, const struct settings *s)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_free char *data = NULL;
	size_t bytes = 0;

	if (!s->header)
		return 0;
	if (read_file(s->header, &data, &bytes))
		return 1;
	if (dwarfs_builder_set_header(builder, data, bytes, &err) < 0)
		return tool_fail(err, NULL);
	return 0;
}

static int set_input(dwarfs_builder *builder, const struct settings *s)
{
	auto_handle(dwarfs_error) *err = NULL;
	int ret = dwarfs_builder_add_directory(builder, s->input, &err);

	if (ret == DWARFS_ERR_NOT_DIR)
		return tool_fail(err, NULL);
	if (ret == DWARFS_ERR_NOT_FOUND)
		return tool_fail(err, "'%s' must be a directory", s->input);
	if (ret < 0)
		return tool_fail(err, "cannot read input");
	return 0;
}

static int explain_failure(const struct settings *s, const dwarfs_error *err)
{
	switch (dwarfs_error_code(err)) {
	case DWARFS_ERR_EXISTS:
		return tool_error(
			"output file already exists: '%s' (--force replaces it)",
			s->output);
	case DWARFS_ERR_CANCELLED:
		return tool_error("interrupted, no image was made");
	default:
		/* Where it happened, unless the message says so itself. */
		if (strcmp(s->output, "-") == 0)
			return tool_fail(err, "standard output");
		if (strstr(dwarfs_error_message(err), s->output) ||
		    dwarfs_error_path(err))
			return tool_fail(err, NULL);
		return tool_fail(err, "'%s'", s->output);
	}
}

static int write_image(dwarfs_builder *builder, const struct settings *s)
{
	auto_handle(dwarfs_cancel) *cancel = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	auto_progress struct progress *progress = NULL;
	int ret;

	if (dwarfs_cancel_new(&cancel, &err) < 0)
		return tool_fail(err, NULL);
	if (!(progress = progress_new(s->progress_mode)))
		return 1;
	dwarfs_builder_set_progress(builder, progress_show, progress);
	dwarfs_builder_set_cancel(builder, cancel);

	tool_catch_signals(cancel);
	if (strcmp(s->output, "-") == 0)
		ret = dwarfs_builder_write_fd(builder, STDOUT_FILENO, &err);
	else
		ret = dwarfs_builder_write_path(builder, s->output, s->force, &err);
	tool_catch_signals(NULL);

	dwarfs_builder_set_cancel(builder, NULL);
	dwarfs_builder_set_progress(builder, NULL, NULL);
	if (ret < 0) {
		progress_free(progress);
		progress = NULL;
		return explain_failure(s, err);
	}
	return 0;
}

/* ", 3 hard links" or nothing for none */
static const char *also(uint64_t count, const char *what, char buffer[64])
{
	buffer[0] = '\0';
	if (count)
		snprintf(buffer, 64, ", %" PRIu64 " %s", count, what);
	return buffer;
}

static void summarize(const dwarfs_builder *builder, uint64_t elapsed_ns)
{
	const uint64_t in = dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_IN);
	const uint64_t out = dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_OUT);
	const uint64_t skipped = dwarfs_builder_count(builder, DWARFS_COUNT_SKIPPED);
	const uint64_t holes = dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_HOLES);
	char text[4][64];
	char size[4][TOOL_TEXT_ROOM];

	tool_log(DWARFS_LOG_INFO, "%" PRIu64 " directories, %" PRIu64 " files%s%s%s%s",
		 dwarfs_builder_count(builder, DWARFS_COUNT_DIRECTORIES),
		 dwarfs_builder_count(builder, DWARFS_COUNT_FILES),
		 also(dwarfs_builder_count(builder, DWARFS_COUNT_HARDLINKS),
		      "of them hard links", text[0]),
		 also(dwarfs_builder_count(builder, DWARFS_COUNT_LINKS), "symbolic links",
		      text[1]),
		 also(dwarfs_builder_count(builder, DWARFS_COUNT_DEVICES), "devices",
		      text[2]),
		 also(dwarfs_builder_count(builder, DWARFS_COUNT_SPECIALS),
		      "fifos and sockets", text[3]));
	if (skipped)
		tool_log(DWARFS_LOG_INFO,
			 "%" PRIu64 " devices, fifos and sockets were left out "
			 "(--with-devices, --with-specials)",
			 skipped);
	tool_log(DWARFS_LOG_INFO, "input %s, of which %s in %" PRIu64 " duplicates%s%s",
		 tool_format_bytes(in, size[0]),
		 tool_format_bytes(
			 dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_DUPLICATE),
			 size[1]),
		 dwarfs_builder_count(builder, DWARFS_COUNT_DUPLICATES),
		 holes ? ", in holes " : "",
		 holes ? tool_format_bytes(holes, size[2]) : "");
	tool_log(DWARFS_LOG_VERBOSE,
		 "%" PRIu64 " blocks, %" PRIu64 " chunks; blocks %s before and %s after "
		 "compression; metadata %s",
		 dwarfs_builder_count(builder, DWARFS_COUNT_BLOCKS),
		 dwarfs_builder_count(builder, DWARFS_COUNT_CHUNKS),
		 tool_format_bytes(
			 dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_STORED),
			 size[0]),
		 tool_format_bytes(
			 dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_BLOCKS),
			 size[1]),
		 tool_format_bytes(
			 dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_METADATA),
			 size[2]));
	tool_log(DWARFS_LOG_INFO, "image %s, ratio %.2f, in %s",
		 tool_format_bytes(out, size[0]), out ? (double)in / (double)out : 0.0,
		 tool_format_duration(elapsed_ns, size[1]));
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int make_image(const struct settings *s, char **argv)
{
	auto_handle(dwarfs_context) *context = tool_context_new(s->workers, TOOL_DEFAULT);
	auto_handle(dwarfs_builder) *builder = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	const uint64_t start = now_ns();
	uint64_t errors;

	if (!context)
		return 1;
	if (dwarfs_builder_new(context, &builder, &err) < 0)
		return tool_fail(err, NULL);
	if (set_layout(builder, s) || set_codecs(builder, s) ||
	    set_attributes(builder, s) || set_history(builder, s, argv) ||
	    set_header(builder, s) || set_input(builder, s) || write_image(builder, s))
		return 1;

	summarize(builder, now_ns() - start);
	errors = dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS);
	if (errors) {
		tool_error("filesystem created with %" PRIu64 " error%s", errors,
			   errors == 1 ? "" : "s");
		return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct settings settings;

	tool_start("mkdwarfs");
	switch (settings_parse(&settings, argc, argv)) {
	case SETTINGS_DONE:
		return tool_finish(0);
	case SETTINGS_BAD:
		return 1;
	}

	if (strcmp(settings.output, "-") == 0 && isatty(STDOUT_FILENO) && !settings.force)
		return tool_error(
			"an image is not for a terminal (--force writes it there)");
	return make_image(&settings, argv);
}
