/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/apply: from settings to a builder.
 *
 * Calls the setters of the library with the settings of the command line, and names the
 * option if one of them fails. Opens no input.
 */
#include "mkdwarfs/mkdwarfs.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include <dwarfs/rewrite.h>

bool has_encoder(const char *codec, size_t length)
{
	const char *help;
	size_t i;

	for (i = 0; (help = dwarfs_codec_help(i)); i++) {
		if (strncmp(help, codec, length) == 0 && strcspn(help, " ") == length)
			return true;
	}
	return false;
}

static int refuse_unknown_codec(const char *option, const char *codec)
{
	char names[256] = "";
	const char *help;
	size_t i;

	for (i = 0; (help = dwarfs_codec_help(i)); i++)
		tool_append_word(names, sizeof(names), help, strcspn(help, " "));
	return tool_error("unknown compression: %.*s for %s: use %s",
			  (int)strcspn(codec, ":"), codec, option, names);
}

static int refuse_codec(const dwarfs_error *err, const char *option, const char *codec)
{
	if (dwarfs_error_code(err) != DWARFS_ERR_NOMEM &&
	    dwarfs_error_code(err) != DWARFS_ERR_UNSUPPORTED &&
	    !has_encoder(codec, strcspn(codec, ":")))
		return refuse_unknown_codec(option, codec);
	return tool_fail(err, "invalid value '%s' for %s", codec, option);
}

static int set_codecs(dwarfs_builder *builder, const struct settings *s)
{
	static const char *const names[] = {
		[DWARFS_CODEC_METADATA] = "--metadata-compression",
		[DWARFS_CODEC_SCHEMA] = "--schema-compression",
		[DWARFS_CODEC_HISTORY] = "--history-compression",
	};
	auto_handle(dwarfs_error) *err = NULL;
	int use;

	for (use = DWARFS_CODEC_METADATA; use <= DWARFS_CODEC_HISTORY; use++) {
		const char *codec = s->codecs[use];

		if (codec && dwarfs_builder_set_codec(builder, use, codec, &err) < 0)
			return refuse_codec(err, names[use], codec);
	}
	return 0;
}

static int set_choice(dwarfs_builder *builder, const struct choice *choice,
		      dwarfs_error **err)
{
	switch (choice->option->id) {
	case 'C':
		return choice->category
			       ? dwarfs_builder_set_category_codec(
					 builder, choice->category, choice->value, err)
			       : dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
							  choice->value, err);
	case OPT_ORDER:
		return choice->category
			       ? dwarfs_builder_set_category_order(
					 builder, choice->category, choice->value, err)
			       : dwarfs_builder_set_order(builder, choice->value, err);
	case 'B':
		return dwarfs_builder_set_lookback(builder, choice->category,
						   choice->number, err);
	case 'W':
		return dwarfs_builder_set_window(builder, choice->category,
						 choice->number, err);
	case 'w':
		return dwarfs_builder_set_window_step(builder, choice->category,
						      choice->number, err);
	case OPT_XATTRS_INCLUDE:
	case OPT_XATTRS_EXCLUDE:
		return dwarfs_builder_add_xattr_rule(
			builder, choice->option->id == OPT_XATTRS_INCLUDE, choice->value,
			err);
	default:
		return dwarfs_builder_add_filter(builder, choice->value, err);
	}
}

static int refuse_choice(const struct choice *choice, const dwarfs_error *err)
{
	char label[TOOL_LABEL_ROOM];
	const char *name = tool_option_label(choice->option, label);

	if (choice->option->id == 'C' && !choice->category)
		return refuse_codec(err, name, choice->value);
	if (choice->option->id == 'C' &&
	    dwarfs_error_code(err) != DWARFS_ERR_UNSUPPORTED &&
	    !has_encoder(choice->value, strcspn(choice->value, ":")))
		return refuse_unknown_codec(name, choice->value);
	return tool_fail(err, "invalid value '%s%s%s' for %s",
			 choice->category ? choice->category : "",
			 choice->category ? "::" : "", choice->value, name);
}

static int set_choices(dwarfs_builder *builder, const struct settings *s)
{
	auto_handle(dwarfs_error) *err = NULL;
	size_t i;

	for (i = 0; i < s->choice_count; i++) {
		if (set_choice(builder, &s->choices[i], &err) < 0)
			return refuse_choice(&s->choices[i], err);
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
		return tool_fail(err, "invalid --time-resolution '%s'",
				 s->time_resolution);
	dwarfs_builder_set_keep_all_times(builder, s->keep_all_times);
	dwarfs_builder_set_keep_birth_times(builder, s->keep_birth_times);
	dwarfs_builder_set_xattrs(builder, !s->no_xattrs);
	dwarfs_builder_set_sparse_files(builder, !s->no_sparse_files);
	dwarfs_builder_set_hollow(builder, s->hollow);
	return 0;
}

static bool is_listed(const struct tool_list *list, const char *word)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		if (list->items[i] == word) /* this one, not an equal text */
			return true;
	}
	return false;
}

/* A dry run has the size of the image only if it records the same command line. */
static int set_history(dwarfs_builder *builder, const struct settings *s, char **argv)
{
	auto_handle(dwarfs_error) *err = NULL;

	dwarfs_builder_set_history(builder, !s->no_history);
	dwarfs_builder_set_history_timestamps(builder, !s->no_history_timestamps);
	dwarfs_builder_set_create_timestamp(builder, !s->no_create_timestamp);
	if (s->no_history_command_line)
		return 0;
	for (; *argv; argv++) {
		if (!is_listed(&s->dry_run_words, *argv) &&
		    dwarfs_builder_add_history_argument(builder, *argv, &err) < 0)
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
	if (s->pack_metadata &&
	    dwarfs_builder_set_pack_metadata(builder, s->pack_metadata, &err) < 0)
		return tool_fail(err, "invalid value '%s' for --pack-metadata",
				 s->pack_metadata);
	if (s->max_similarity_bytes != TOOL_DEFAULT)
		dwarfs_builder_set_max_similarity_bytes(builder, s->max_similarity_bytes);
	if (dwarfs_builder_set_max_unused(builder, (uint32_t)s->max_unused, &err) < 0)
		return tool_fail(err, "invalid --max-unused");
	if (dwarfs_builder_set_on_conflict(builder, (enum dwarfs_conflict)s->on_conflict,
					   &err) < 0)
		return tool_fail(err, "invalid --on-conflict");
	if (dwarfs_builder_set_digests(builder, (enum dwarfs_digests_use)s->digests,
				       &err) < 0)
		return tool_fail(err, "invalid --digests");
	dwarfs_builder_set_trust_digests(builder, s->trust_digests);
	dwarfs_builder_set_section_index(builder, !s->no_section_index);
	dwarfs_builder_set_hardlink_table(builder, !s->no_hardlink_table);
	dwarfs_builder_set_remove_empty_directories(builder, s->remove_empty_directories);
	return 0;
}

static int refuse_file_hash(const dwarfs_error *err, const char *name)
{
	char names[1024] = "none";
	const char *known;
	size_t i;

	if (dwarfs_error_code(err) != DWARFS_ERR_INVALID)
		return tool_fail(err, NULL);
	for (i = 0; (known = dwarfs_digest_name(i)); i++)
		tool_append_word(names, sizeof(names), known, strlen(known));
	return tool_error("unknown file hash function: %s for --file-hash: use %s", name,
			  names);
}

static int set_effort(dwarfs_builder *builder, const struct settings *s)
{
	auto_handle(dwarfs_error) *err = NULL;

	if (s->memory_limit != TOOL_DEFAULT &&
	    dwarfs_builder_set_process_memory_limit(builder, s->memory_limit, &err) < 0)
		return tool_fail(err, "invalid --memory-limit");
	if (s->scan_workers != TOOL_DEFAULT &&
	    dwarfs_builder_set_scan_workers(builder, (uint32_t)s->scan_workers, &err) < 0)
		return tool_fail(err, "invalid --num-scanner-workers");
	if (dwarfs_builder_set_compress_niceness(builder, (int)s->niceness, &err) < 0)
		return tool_fail(err, "invalid --compress-niceness");
	if (s->file_hash && dwarfs_builder_set_file_hash(builder, s->file_hash, &err) < 0)
		return refuse_file_hash(err, s->file_hash);
	return 0;
}

static int set_hot_paths(dwarfs_builder *builder, const char *path)
{
	auto_free char **lines = NULL;
	auto_free char *text = NULL;
	char **line;

	if (!path)
		return 0;
	if (read_lines("hotness list", path, &lines, &text))
		return 1;
	for (line = lines; *line; line++) {
		auto_handle(dwarfs_error) *err = NULL;
		const int ret = dwarfs_builder_add_hot_path(builder, *line, &err);

		if (ret == DWARFS_ERR_INVALID)
			tool_log(DWARFS_LOG_WARN, "%s", dwarfs_error_message(err));
		else if (ret < 0)
			return tool_fail(err, NULL);
	}
	return 0;
}

static int set_categories(dwarfs_builder *builder, const struct settings *s)
{
	auto_handle(dwarfs_error) *err = NULL;

	if (s->categorizers &&
	    dwarfs_builder_set_categorizers(builder, s->categorizers, &err) < 0)
		return tool_fail(err, "invalid value '%s' for --categorize",
				 s->categorizers);
	if (s->has_probe &&
	    dwarfs_builder_set_incompressible(
		    builder, s->probe_min_bytes, s->probe_block_bytes, s->probe_ratio,
		    s->probe_zstd_level, s->probe_fragments, &err) < 0)
		/* The other options of the probe were checked when they were parsed. */
		return tool_fail(err, "invalid --incompressible-block-size");
	dwarfs_builder_set_category_names(builder, !s->no_category_names);
	dwarfs_builder_set_category_metadata(builder, !s->no_category_names &&
							      !s->no_category_metadata);
	return set_hot_paths(builder, s->hotness_list);
}

/* A reader takes the first image in a file for the one to open. */
static int check_header(const char *path, const char *data, size_t bytes)
{
	auto_handle(dwarfs_image) *image = NULL;
	auto_handle(dwarfs_io) *io = NULL;
	auto_handle(dwarfs_error) *err = NULL;

	if (dwarfs_io_from_memory(data, bytes, NULL, NULL, &io, &err) < 0)
		return tool_fail(err, NULL);
	if (dwarfs_image_open_io(NULL, io, NULL, &image, NULL) == 0)
		return tool_error("header file '%s' contains an image, which would be "
				  "opened instead of the new one",
				  path);
	return 0;
}

static int set_header(dwarfs_builder *builder, const struct settings *s)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_free char *data = NULL;
	size_t bytes = 0;

	if (!s->header)
		return 0;
	if (read_file("header file", s->header, &data, &bytes) ||
	    check_header(s->header, data, bytes))
		return 1;
	if (dwarfs_builder_set_header(builder, data, bytes, &err) < 0)
		return tool_fail(err, NULL);
	return 0;
}

int settings_apply(const struct settings *settings, char **argv, dwarfs_builder *builder)
{
	return set_layout(builder, settings) || set_effort(builder, settings) ||
	       set_codecs(builder, settings) || set_categories(builder, settings) ||
	       set_choices(builder, settings) || set_attributes(builder, settings) ||
	       set_history(builder, settings, argv) || set_header(builder, settings);
}
