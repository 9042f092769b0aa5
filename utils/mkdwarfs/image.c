/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/image: images as inputs.
 *
 * Distinguishes images from archives. Adds their entries to a builder, which copies their
 * blocks; or rewrites one image.
 */
#include "mkdwarfs/mkdwarfs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dwarfs/rewrite.h>

/* For blocks that are read to compare them: most are read once, in their order. Blocks of higher
 * levels are larger and decompressed slowly, and so packing at these levels takes more memory
 * than this: to append a release to 23 at level 7 takes 1.2 s of processor time with 128 MiB,
 * 3.5 s with 64 MiB. */
#define CACHE_BYTES	  (UINT64_C(32) << 20)
#define LARGE_CACHE_BYTES (UINT64_C(128) << 20)
#define LARGE_CACHE_LEVEL 5

/* The cache holds at least four blocks of an image that is added to others, but takes at most this
 * share of a memory limit, or what is given to files that are stored anew. */
#define LEAST_CACHE_BLOCKS 4
#define LIMIT_SHARE	   4

/* For files that are stored anew: they are read in the order in which they are stored, which goes
 * back and forth between the blocks of all images. 24 releases at level 7 take 5 times the
 * processor time with a cache of 64 MiB. An eighth of the memory at most. */
#define REPACK_CACHE_BYTES (UINT64_C(1) << 30)
#define REPACK_CACHE_SHARE 8

static bool is_regular_file(const char *path)
{
	struct stat status;

	return strcmp(path, "-") != 0 && stat(path, &status) == 0 &&
	       S_ISREG(status.st_mode);
}

bool is_image(const char *path)
{
	char magic[6] = "";
	/* A pipe would be read from, or waited for. */
	int fd = is_regular_file(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	bool is = fd >= 0 && read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
		  memcmp(magic, "DWARFS", sizeof(magic)) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

bool is_image_with_header(const char *path)
{
	auto_handle(dwarfs_image) *image = NULL;

	return is_regular_file(path) &&
	       dwarfs_image_open(NULL, path, NULL, &image, NULL) == 0;
}

static uint64_t repack_cache_bytes(void)
{
	const uint64_t share = dwarfs_usable_memory() / REPACK_CACHE_SHARE;

	if (share < LARGE_CACHE_BYTES)
		return LARGE_CACHE_BYTES;
	return share < REPACK_CACHE_BYTES ? share : REPACK_CACHE_BYTES;
}

static bool has_limit(const struct settings *settings)
{
	return settings->memory_limit != TOOL_DEFAULT && settings->memory_limit != 0;
}

/* The share of an explicit memory limit, rounded down to a power of two. The memory that is
 * needed, which an error names, includes the cache: it must not grow with each byte of the
 * limit, so that the amount named is enough when it is given. */
static uint64_t share_of_limit(const struct settings *settings)
{
	uint64_t bytes = 1;

	while (bytes <= settings->memory_limit / LIMIT_SHARE / 2)
		bytes *= 2;
	return bytes;
}

static uint64_t image_cache_bytes(const struct settings *settings)
{
	uint64_t share;

	if (has_limit(settings)) {
		share = share_of_limit(settings);
		return share < CACHE_BYTES ? share : CACHE_BYTES;
	}
	if (settings->repack || settings->max_unused < 100)
		return repack_cache_bytes();
	return settings->level >= LARGE_CACHE_LEVEL ? LARGE_CACHE_BYTES : CACHE_BYTES;
}

/* Before the first image is opened. */
static int set_cache(const struct settings *settings, dwarfs_builder *builder)
{
	auto_handle(dwarfs_error) *err = NULL;

	if (dwarfs_context_set_cache_bytes(dwarfs_builder_context(builder),
					   image_cache_bytes(settings), &err) < 0)
		return tool_fail(err, NULL);
	return 0;
}

/* Bytes next to each other in a file may be in different blocks of an image, so that one block
 * in the cache would be decompressed again and again. */
static int hold_blocks(const struct settings *settings, dwarfs_context *context,
		       const dwarfs_image *image)
{
	auto_handle(dwarfs_error) *err = NULL;
	uint64_t least = LEAST_CACHE_BLOCKS * (uint64_t)dwarfs_image_block_bytes(image);
	uint64_t most =
		has_limit(settings) ? share_of_limit(settings) : repack_cache_bytes();

	if (least > most)
		least = most;
	if (least <= dwarfs_context_cache_count(context, DWARFS_CACHE_BUDGET) ||
	    dwarfs_context_set_cache_bytes(context, least, &err) == 0)
		return 0;
	return tool_fail(err, NULL);
}

/* Open an image, also one that follows a header. */
static int open_image(const struct settings *settings, const char *path,
		      const struct watch *watch, dwarfs_builder *builder,
		      bool verify_blocks, dwarfs_image **image_out)
{
	auto_handle(dwarfs_image_options) *options = NULL;
	auto_handle(dwarfs_error) *err = NULL;

	if (dwarfs_image_options_new(&options, &err) < 0)
		return tool_fail(err, NULL);
	dwarfs_image_options_set_task(options, watch->task);
	if (!verify_blocks)
		dwarfs_image_options_set_verify(options, DWARFS_VERIFY_NO_BLOCKS);
	if (dwarfs_image_open(dwarfs_builder_context(builder), path, options, image_out,
			      &err) < 0)
		return tool_fail(err,
				 strstr(dwarfs_error_message(err), path) ? NULL : "'%s'",
				 path);
	return 0;
}

/* The image keeps the header of the first one, unless it gets another or none. */
static int keep_header(dwarfs_builder *builder, const struct settings *settings,
		       const dwarfs_image *image)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_free char *header = NULL;
	const uint64_t bytes = dwarfs_image_offset(image);

	if (settings->header || settings->remove_header || bytes == 0)
		return 0;
	if (bytes > SIZE_MAX || !(header = malloc((size_t)bytes)))
		return tool_error("out of memory");
	if (dwarfs_image_read_header(image, header, (size_t)bytes, 0, &err) < 0 ||
	    dwarfs_builder_set_header(builder, header, (size_t)bytes, &err) < 0)
		return tool_fail(err, NULL);
	return 0;
}

int image_add(const struct settings *settings, dwarfs_builder *builder,
	      const struct watch *watch, const char *path, const char *prefix,
	      bool is_first)
{
	auto_handle(dwarfs_image) *image = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	int ret;

	if (open_image(settings, path, watch, builder, true, &image) ||
	    hold_blocks(settings, dwarfs_builder_context(builder), image) ||
	    (is_first && keep_header(builder, settings, image)))
		return 1;
	ret = dwarfs_builder_begin_layer(builder, &err);
	if (ret == 0)
		ret = dwarfs_builder_add_image(
			builder, image, prefix, strlen(prefix),
			settings->repack ? DWARFS_REPACK : DWARFS_KEEP_BLOCKS, &err);
	if (ret == DWARFS_ERR_CANCELLED)
		return tool_error("interrupted: no image was made");
	return ret < 0 ? tool_fail(err, "'%s'", path) : 0;
}

int bases_add(const struct settings *settings, dwarfs_builder *builder,
	      const struct watch *watch)
{
	size_t i;

	if (set_cache(settings, builder))
		return 1;
	for (i = 0; i < settings->bases.count; i++) {
		auto_handle(dwarfs_image) *image = NULL;
		auto_handle(dwarfs_error) *err = NULL;
		const char *path = settings->bases.items[i];

		if (open_image(settings, path, watch, builder, true, &image) ||
		    hold_blocks(settings, dwarfs_builder_context(builder), image))
			return 1;
		if (dwarfs_builder_add_base(builder, image,
					    settings->trusts_no_base
						    ? DWARFS_BASE_TRUST_NONE
						    : DWARFS_BASE_TRUST_TIMES,
					    &err) < 0)
			return tool_fail(err, "'%s'", path);
	}
	return 0;
}

/* -- rewriting ---------------------------------------------------------------------- */

bool is_rewrite(const struct settings *settings)
{
	return settings->recompress || settings->rebuild_metadata ||
	       settings->change_block_size;
}

/* Options that have no meaning without a rewrite, or without blocks compressed again. */
static int check_alone(const struct settings *s)
{
	const char *option = NULL;

	if (s->recompress_categories)
		return tool_error("option '--recompress-categories' needs --recompress");
	if (s->no_version_history)
		option = "no-metadata-version-history";
	else if (s->no_check)
		option = "no-check";
	if (!option)
		return 0;
	return tool_error("option '--%s' needs --recompress, --rebuild-metadata or "
			  "--change-block-size",
			  option);
}

static int check_modes(const struct settings *s)
{
	const char *mode = s->recompress;

	if (s->change_block_size && mode && strcmp(mode, "all") != 0)
		return tool_error(
			"--change-block-size compresses everything again, which "
			"--recompress=%s excludes",
			mode);
	if (s->change_block_size && s->recompress_categories)
		return tool_error(
			"--change-block-size compresses everything again, which "
			"--recompress-categories excludes");
	if (s->rebuild_metadata && mode && strcmp(mode, "all") != 0 &&
	    strcmp(mode, "metadata") != 0)
		return tool_error("--rebuild-metadata writes new metadata, which "
				  "--recompress=%s excludes",
				  mode);
	if (s->recompress_categories && !mode)
		return tool_error("--recompress-categories chooses blocks, which only "
				  "--recompress compresses again");
	if (s->recompress_categories && mode && strcmp(mode, "all") != 0 &&
	    strcmp(mode, "block") != 0)
		return tool_error("--recompress-categories chooses blocks, which "
				  "--recompress=%s leaves as they are",
				  mode);
	return 0;
}

static uint32_t parts_of(const struct settings *s)
{
	const char *mode = s->recompress;
	uint32_t parts = 0;

	if (s->change_block_size)
		return DWARFS_REWRITE_BLOCKS | DWARFS_REWRITE_METADATA |
		       DWARFS_REWRITE_REBUILD | DWARFS_REWRITE_BLOCK_SIZE;
	if (!mode)
		mode = "metadata";
	if (strcmp(mode, "all") == 0 || strcmp(mode, "block") == 0)
		parts |= DWARFS_REWRITE_BLOCKS;
	if (strcmp(mode, "all") == 0 || strcmp(mode, "metadata") == 0)
		parts |= DWARFS_REWRITE_METADATA;
	if (s->rebuild_metadata)
		parts |= DWARFS_REWRITE_REBUILD;
	return parts;
}

/* An option, and whether it was given. */
struct given {
	bool is_given;
	const char *name;
};

static const char *first_given(const struct given *list, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (list[i].is_given)
			return list[i].name;
	}
	return NULL;
}

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

/* Options that say how inputs are read or merged. */
static const char *of_inputs(const struct settings *s)
{
	const struct given list[] = {
		{ s->input_list, "input-list" },
		{ s->bases.count > 0, "base" },
		{ s->has_base_trust, "base-trust" },
		{ s->repack, "repack" },
		{ s->on_conflict != DWARFS_CONFLICT_LAST, "on-conflict" },
		{ s->prefix, "prefix" },
		{ s->whiteouts, "whiteouts" },
		{ s->strip > 0, "strip-components" },
		{ s->input_format, "input-format" },
		{ s->continue_on_error, "continue-on-error" },
		{ s->spool_dir, "spool-dir" },
		{ s->debug_filter, "debug-filter" },
		{ s->hollow, "hollow" },
		{ s->categorizers, "categorize" },
		{ s->with_devices, "with-devices" },
		{ s->with_specials, "with-specials" },
		{ s->file_hash, "file-hash" },
		{ s->trust_digests, "trust-digests" },
		{ s->block_bits != TOOL_DEFAULT && !s->change_block_size,
		  "block-size-bits" },
	};

	return first_given(list, COUNT_OF(list));
}

/* Options that change attributes, the tree or what the metadata has. */
static const char *of_metadata(const struct settings *s)
{
	size_t i;
	const struct given list[] = {
		{ s->has_owner, "set-owner" },
		{ s->has_group, "set-group" },
		{ s->has_time, "set-time" },
		{ s->chmod, "chmod" },
		{ s->time_resolution_ns != TOOL_DEFAULT, "time-resolution" },
		{ s->pack_metadata, "pack-metadata" },
		{ s->keep_all_times, "keep-all-times" },
		{ s->keep_birth_times, "keep-birth-times" },
		{ s->has_filter, "filter" },
		{ s->remove_empty_directories, "remove-empty-dirs" },
		{ s->no_xattrs, "no-xattrs" },
		{ s->no_hardlink_table, "no-hardlink-table" },
		{ s->no_category_names, "no-category-names" },
		{ s->no_category_metadata, "no-category-metadata" },
		{ s->no_version_history, "no-metadata-version-history" },
		{ s->max_unused < 100, "max-unused" },
	};

	for (i = 0; i < s->choice_count; i++) {
		const struct tool_option *option = s->choices[i].option;

		if (option->id == OPT_XATTRS_INCLUDE || option->id == OPT_XATTRS_EXCLUDE)
			return option->name;
	}
	return first_given(list, COUNT_OF(list));
}

/* Options for files that are ordered and segmented. */
static const char *of_files(const struct settings *s)
{
	const struct given list[] = {
		{ s->max_similarity_bytes != TOOL_DEFAULT, "max-similarity-size" },
		{ s->hotness_list, "hotness-list" },
		{ s->has_probe, "incompressible-..." },
	};
	size_t i;

	/* Files that are stored anew. */
	if ((s->rewrite_parts & DWARFS_REWRITE_REBUILD) && s->max_unused < 100)
		return NULL;
	for (i = 0; i < s->choice_count; i++) {
		const struct tool_option *option = s->choices[i].option;

		if (option->id == OPT_ORDER || option->id == 'B' || option->id == 'W' ||
		    option->id == 'w')
			return option->name;
	}
	return first_given(list, COUNT_OF(list));
}

static int check_meaning(const struct settings *s)
{
	const char *option = of_inputs(s);

	if (option)
		return tool_error(
			"option '--%s' has no meaning for an image that is rewritten%s",
			option,
			strcmp(option, "block-size-bits") == 0
				? " without --change-block-size"
				: "");
	option = of_files(s);
	if (option)
		return tool_error(
			"option '--%s' needs --rebuild-metadata and --max-unused here",
			option);
	option = s->rewrite_parts & DWARFS_REWRITE_REBUILD ? NULL : of_metadata(s);
	if (option)
		return tool_error("option '--%s' needs --rebuild-metadata here", option);
	return 0;
}

int rewrite_check(struct settings *settings)
{
	if (!is_rewrite(settings))
		return check_alone(settings);
	if (settings->inputs.count != 1)
		return tool_error("one image is needed as input to rewrite it");
	if (check_modes(settings))
		return 1;
	settings->rewrite_parts = parts_of(settings);
	return check_meaning(settings);
}

static int check_image(const dwarfs_image *image, const struct settings *settings,
		       const struct watch *watch)
{
	auto_handle(dwarfs_error) *err = NULL;

	if (settings->no_check)
		return 0;
	switch (dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, NULL, NULL, watch->task,
				   NULL, &err)) {
	case 0:
		return 0;
	case DWARFS_ERR_CANCELLED:
		return tool_error("interrupted: no image was made");
	default:
		return tool_fail(err, "'%s': input filesystem is corrupt",
				 settings->inputs.items[0]);
	}
}

int rewrite_image(const struct settings *settings, dwarfs_builder *builder,
		  const struct watch *watch, dwarfs_sink *sink)
{
	auto_handle(dwarfs_image) *image = NULL;
	auto_handle(dwarfs_error) *err = NULL;

	if (set_cache(settings, builder) ||
	    open_image(settings, settings->inputs.items[0], watch, builder,
		       !settings->no_check, &image) ||
	    check_image(image, settings, watch) || keep_header(builder, settings, image))
		return 1;
	dwarfs_builder_set_version_history(builder, !settings->no_version_history);
	if (dwarfs_builder_set_recompress_categories(
		    builder, settings->recompress_categories, &err) < 0)
		return tool_fail(err, NULL);
	if (dwarfs_rewrite(image, settings->rewrite_parts, builder, sink, &err) == 0)
		return 0;
	if (dwarfs_error_code(err) == DWARFS_ERR_CANCELLED)
		return tool_error("interrupted: no image was made");
	return tool_fail(err, NULL);
}
