/* SPDX-License-Identifier: MIT */
/*
 * build/builder: options and inputs. See <dwarfs/builder.h>.
 *
 * Each setter checks its own value. What a level chooses is looked up when the run
 * begins, so that the order of calls does not matter.
 */
#include <errno.h>
#include <string.h>

#include "build/assembly.h"
#include "build/builder.h"
#include "build/categorize/categorize.h"
#include "build/inputs.h"
#include "build/order/order.h"
#include "build/packer.h"
#include "os/file.h"

#define DEFAULT_LEVEL	   7
#define MAX_LEVEL	   9
#define MIN_BLOCK_BITS	   10
#define MAX_BLOCK_BITS	   30
#define DEFAULT_UMASK	   022
#define MAX_RESOLUTION_SEC UINT32_MAX
#define MAX_WINDOW_BITS	   24
#define MAX_STEP_BITS	   8
#define MAX_NICENESS	   19

/* As many blocks fit the cache of a reader anyway; from then on a directory may not be in
 * more than a few besides its own. */
#define NEAR_BYTES	   (UINT64_C(256) << 20)
#define FOREIGN_BYTES	   (UINT64_C(32) << 20)
#define MIN_FOREIGN_BLOCKS 2

/* -- levels -------------------------------------------------------------------------- */

/* Codecs from best to worst: the first that was built in is taken. */
struct codec_chain {
	const char *names[5];
};

static const struct codec_chain null_chain = { { "null" } };
static const struct codec_chain schema_chain = { { "zstd:level=16", "lzma:level=6",
						   "null" } };
static const struct codec_chain ricepp_chain = { { "ricepp", "zstd:level=8", "null" } };

/* zstd 19 with tables for a whole block of 16 MiB: within 0.3 % of level 22 in size, at
 * half of its time and three tenths of its memory. A larger hash table or more searches
 * gain less than 0.1 %. */
#define ZSTD_BEST "zstd:level=19:wlog=24:clog=24:hlog=21:slog=5"

/* lzma gains 1 % on text from following matches of up to 128 bytes to the end, another
 * 1 % from 273, and 8 % on logs; the last takes up to three times as long. */
#define LZMA_GOOD "lzma:level=9:binary=auto:nice=128"
#define LZMA_BEST "lzma:level=9:binary=auto:nice=273"

/* On what gets very small, less than half of the time of the best zstd, and 15 % smaller.
 * It is read in parts of 2 MiB, which on logs makes it 0.3 % larger than in one piece; with
 * the hash of the section it does without the check in the stream, which would take 7 %
 * of the time of unpacking. */
#define LZMA_DENSE "lzma:level=6:block_size=21:check=none"

/* Parts that a small cache can hold together with what lzma needs to unpack one. */
#define LZMA_BEST_DENSE LZMA_BEST ":block_size=23:check=none"

struct level {
	uint32_t block_bits;
	struct codec_chain blocks, metadata, waveform;
	const char *dense; /* codec for blocks that get very small, or NULL */
	const char *order;
	uint32_t window_bits, step_bits, waveform_window_bits;
};

static const struct level levels[MAX_LEVEL + 1] = {
	[0] = {
		.block_bits = 20,
		.blocks = { { "null" } },
		.metadata = { { "null" } },
		.waveform = { { "null" } },
		.order = "none",
	},
	[1] = {
		.block_bits = 20,
		.blocks = { { "lz4", "zstd:level=1", "lzma:level=1", "null" } },
		.metadata = { { "null" } },
		.waveform = { { "flac:level=3", "zstd:level=3", "null" } },
		.order = "path",
	},
	[2] = {
		.block_bits = 20,
		.blocks = { { "lz4hc:level=9", "zstd:level=4", "lzma:level=2", "null" } },
		.metadata = { { "null" } },
		.waveform = { { "flac:level=3", "zstd:level=3", "null" } },
		.order = "path",
	},
	[3] = {
		.block_bits = 21,
		.blocks = { { "lz4hc:level=9", "zstd:level=7", "lzma:level=3", "null" } },
		.metadata = { { "null" } },
		.waveform = { { "flac:level=3", "zstd:level=3", "null" } },
		.order = "auto",
		.window_bits = 8,
		.step_bits = 0,
	},
	[4] = {
		.block_bits = 22,
		.blocks = { { "zstd:level=11", "lzma:level=3", "lz4hc:level=9", "null" } },
		.metadata = { { "null" } },
		.waveform = { { "flac:level=3", "zstd:level=3", "null" } },
		.order = "auto",
		.window_bits = 8,
		.step_bits = 0,
	},
	[5] = {
		.block_bits = 23,
		.blocks = { { "zstd:level=19", "lzma:level=4", "lz4hc:level=9", "null" } },
		.metadata = { { "null" } },
		.waveform = { { "flac:level=5", "zstd:level=5", "null" } },
		.order = "auto",
		.window_bits = 8,
		.step_bits = 0,
		.waveform_window_bits = 20,
	},
	[6] = {
		.block_bits = 24,
		.blocks = { { ZSTD_BEST, "lzma:level=5", "lz4hc:level=9", "null" } },
		.dense = LZMA_DENSE,
		.metadata = { { "null" } },
		.waveform = { { "flac:level=5", "zstd:level=5", "null" } },
		.order = "auto",
		.window_bits = 8,
		.step_bits = 0,
		.waveform_window_bits = 20,
	},
	[7] = {
		.block_bits = 24,
		.blocks = { { ZSTD_BEST, "lzma:level=8", "lz4hc:level=9", "null" } },
		.dense = LZMA_DENSE,
		.metadata = { { "zstd:level=22", "lzma:level=9", "null" } },
		.waveform = { { "flac:level=5", "zstd:level=5", "null" } },
		.order = "auto",
		.window_bits = 8,
		.step_bits = 0,
		.waveform_window_bits = 20,
	},
	[8] = {
		.block_bits = 24,
		.blocks = { { LZMA_GOOD, "zstd:level=22", "lz4hc:level=9", "null" } },
		.dense = LZMA_BEST,
		.metadata = { { "lzma:level=9", "zstd:level=22", "null" } },
		.waveform = { { "flac:level=8", "zstd:level=8", "null" } },
		.order = "auto",
		.window_bits = 8,
		.step_bits = 0,
		.waveform_window_bits = 16,
	},
	[9] = {
		.block_bits = 26,
		.blocks = { { LZMA_BEST, "zstd:level=22", "lz4hc:level=9", "null" } },
		.dense = LZMA_BEST_DENSE,
		.metadata = { { "lzma:level=9", "zstd:level=22", "null" } },
		.waveform = { { "flac:level=8", "zstd:level=8", "null" } },
		.order = "auto",
		.window_bits = 8,
		.step_bits = 0,
		.waveform_window_bits = 16,
	},
};

static struct codec_spec first_built_in(const struct codec_chain *chain)
{
	struct codec_spec spec = { .id = CODEC_NONE };

	for (size_t i = 0; chain->names[i]; i++)
		if (dw_codec_parse(chain->names[i], &spec, NULL) == 0)
			return spec;
	return (struct codec_spec){ .id = CODEC_NONE };
}

/* -- settings of the categories ----------------------------------------------------- */

static struct settings_override *find_override(const struct build_options *options,
					       uint32_t category)
{
	for (size_t i = 0; i < options->override_count; i++)
		if (options->overrides[i].category == category)
			return &options->overrides[i];
	return NULL;
}

static int override_of(dwarfs_builder *builder, const char *name,
		       struct settings_override **override_out, dwarfs_error **err)
{
	struct build_options *options = &builder->options;
	uint32_t category = DW_ANY_CATEGORY;
	int ret;

	if (name)
		category = dw_category_find(&options->categorize, name, strlen(name));
	if (name && category == DW_ANY_CATEGORY)
		return dw_fail(err, DWARFS_ERR_INVALID, "unknown category: '%s'", name);
	*override_out = find_override(options, category);
	if (*override_out)
		return 0;
	if ((ret = dw_grow(&options->overrides, &options->override_room,
			   options->override_count + 1, err)) < 0)
		return ret;
	*override_out = &options->overrides[options->override_count++];
	**override_out = (struct settings_override){ .category = category };
	return 0;
}

static void apply_override(const struct settings_override *override,
			   struct stream_settings *settings)
{
	if (!override)
		return;
	if (override->was_set[SETTING_CODEC]) {
		settings->codec = override->values.codec;
		settings->falls_back = settings->has_dense = false;
	}
	if (override->was_set[SETTING_ORDER])
		settings->order = override->values.order;
	if (override->was_set[SETTING_WINDOW])
		settings->window_bits = override->values.window_bits;
	if (override->was_set[SETTING_STEP])
		settings->step_bits = override->values.step_bits;
	if (override->was_set[SETTING_LOOKBACK])
		settings->lookback = override->values.lookback;
}

/* What a level chooses for a category that is not like the others. */
static void apply_category_level(const dwarfs_builder *builder, uint32_t category,
				 struct stream_settings *settings)
{
	const struct level *level = &levels[builder->level];

	if (category == CATEGORY_INCOMPRESSIBLE) {
		settings->codec = (struct codec_spec){ .id = CODEC_NONE };
		settings->has_dense = false;
	}
	if (category == CATEGORY_HOTNESS)
		settings->order = (struct order_spec){ .ops = &dw_order_hotness };
	if (builder->level == 0)
		return;
	if (category == CATEGORY_PCM_WAVEFORM) {
		settings->codec = first_built_in(&level->waveform);
		settings->has_dense = false;
		settings->falls_back =
			settings->codec.id == CODEC_FLAC && dw_packing_can_choose();
		settings->order = (struct order_spec){ .ops = &dw_order_revpath };
		settings->window_bits = level->waveform_window_bits;
	}
	if (category == CATEGORY_FITS_IMAGE) {
		settings->codec = first_built_in(&ricepp_chain);
		settings->has_dense = false;
		settings->order = (struct order_spec){ .ops = &dw_order_revpath };
		settings->window_bits = 0;
	}
}

/* How many blocks a directory may be in besides its own. */
static uint32_t foreign_blocks(const dwarfs_builder *builder)
{
	uint32_t blocks = (uint32_t)(builder->options.foreign_bytes >> builder->options.block_bits);

	if (builder->level == MAX_LEVEL)
		return UINT32_MAX;
	return blocks > MIN_FOREIGN_BLOCKS ? blocks : MIN_FOREIGN_BLOCKS;
}

static struct stream_settings settings_of(const dwarfs_builder *builder,
					  uint32_t category)
{
	const struct build_options *options = &builder->options;
	const struct level *level = &levels[builder->level];
	struct stream_settings settings = {
		.codec = options->codecs[DWARFS_CODEC_BLOCKS],
		.window_bits = level->window_bits,
		.step_bits = level->step_bits,
		.lookback = UINT32_MAX,
		.foreign_blocks = foreign_blocks(builder),
	};

	settings.has_dense = level->dense &&
			     !options->codec_was_set[DWARFS_CODEC_BLOCKS] &&
			     dw_packing_can_choose() &&
			     dw_codec_parse(level->dense, &settings.dense, NULL) == 0;
	/* An order of a level has no options, so it owns nothing. */
	(void)dw_order_parse(level->order, &settings.order, NULL);
	apply_override(find_override(options, DW_ANY_CATEGORY), &settings);
	apply_category_level(builder, category, &settings);
	apply_override(find_override(options, category), &settings);
	return settings;
}

const struct stream_settings *dw_stream_settings(const struct build_run *run,
						 uint32_t category)
{
	return &run->settings[category];
}

static int check_settings(const dwarfs_builder *builder, uint32_t category,
			  const struct stream_settings *settings, dwarfs_error **err)
{
	bool is_waveform = category == CATEGORY_PCM_WAVEFORM;
	bool is_image = category == CATEGORY_FITS_IMAGE;

	if ((settings->codec.id == CODEC_FLAC && !is_waveform) ||
	    (settings->codec.id == CODEC_RICEPP && !is_image))
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "codec %s needs a category with matching metadata, which "
			       "'%s' is not",
			       settings->codec.id == CODEC_FLAC ? "flac" : "ricepp",
			       dw_category_name(&builder->options.categorize, category));
	return 0;
}

static int resolve_settings(dwarfs_builder *builder, dwarfs_error **err)
{
	size_t count = CATEGORY_COUNT + builder->options.categorize.name_count;
	int ret;

	free(builder->totals);
	free(builder->settings);
	builder->total_count = count;
	builder->totals = dw_calloc(count, sizeof(*builder->totals));
	builder->settings = dw_calloc(count, sizeof(*builder->settings));
	if (!builder->totals || !builder->settings)
		return dw_fail_nomem(err);
	for (uint32_t category = 0; category < count; category++) {
		builder->settings[category] = settings_of(builder, category);
		builder->settings[category].fallback =
			builder->settings[CATEGORY_DEFAULT].codec;
		ret = check_settings(builder, category, &builder->settings[category],
				     err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void apply_level(dwarfs_builder *builder)
{
	const struct level *level = &levels[builder->level];
	struct build_options *options = &builder->options;
	const struct codec_chain *rest = builder->level ? &schema_chain : &null_chain;
	const struct codec_chain *chains[DW_CODEC_USES] = {
		[DWARFS_CODEC_BLOCKS] = &level->blocks,
		[DWARFS_CODEC_METADATA] = &level->metadata,
		[DWARFS_CODEC_SCHEMA] = rest,
		[DWARFS_CODEC_HISTORY] = rest,
	};

	if (!builder->block_bits_was_set)
		options->block_bits = level->block_bits;
	for (int use = 0; use < DW_CODEC_USES; use++)
		if (!options->codec_was_set[use])
			options->codecs[use] = first_built_in(chains[use]);
}

static const struct build_packing pack_auto = { .is_auto = true,
						.names = true,
						.symlinks = true };

/* -- life ---------------------------------------------------------------------------- */

int dwarfs_builder_new(dwarfs_context *context, dwarfs_builder **builder_out,
		       dwarfs_error **err)
{
	dwarfs_builder *builder = dw_calloc(1, sizeof(*builder));
	int ret;

	if (!builder)
		return dw_fail_nomem(err);
	if ((ret = dw_context_use(context, &builder->context, err)) < 0) {
		free(builder);
		return ret;
	}
	builder->root_fd = -1;
	builder->spool_bytes = UINT64_MAX;
	builder->level = DEFAULT_LEVEL;
	builder->options = (struct build_options){
		.sparse_files = true,
		.umask = DEFAULT_UMASK,
		.resolution_ns = DW_NS_PER_SECOND,
		.packing = pack_auto,
		.hardlink_table = true,
		.section_index = true,
		.create_timestamp = true,
		.history = true,
		.history_timestamps = true,
		.category_names = true,
		.category_metadata = true,
		.max_similarity_bytes = UINT64_MAX,
		.near_bytes = NEAR_BYTES,
		.foreign_bytes = FOREIGN_BYTES,
		.input = {
			.file_hash = "xxh3-128",
			.workers = UINT32_MAX,
		},
	};
	dw_categorize_options_init(&builder->options.categorize);
	*builder_out = builder;
	return 0;
}

dwarfs_context *dwarfs_builder_context(const dwarfs_builder *builder)
{
	return builder->context;
}

void dwarfs_builder_free(dwarfs_builder *builder)
{
	struct build_options *options;

	if (!builder)
		return;
	options = &builder->options;
	dw_mode_change_free(&options->chmod);
	dw_xattr_rules_free(&options->xattrs);
	for (size_t i = 0; i < options->argument_count; i++)
		free(options->arguments[i]);
	free(options->arguments);
	for (size_t i = 0; i < options->override_count; i++)
		dw_order_spec_free(&options->overrides[i].values.order);
	free(options->overrides);
	dw_categorize_options_free(&options->categorize);
	dw_input_options_free(&options->input);
	dw_buffer_free(&options->header);
	free(builder->settings);
	free(builder->totals);
	dw_assembly_free(builder->assembly);
	free(builder->spool_directory);
	dw_fd_close(builder->root_fd);
	free(builder->root_path);
	dwarfs_context_free(builder->context);
	free(builder);
}

/* -- how blocks are made ------------------------------------------------------------- */

int dwarfs_builder_set_level(dwarfs_builder *builder, uint32_t level, dwarfs_error **err)
{
	if (level > MAX_LEVEL)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "invalid compression level %" PRIu32 ": it is 0 to %d",
			       level, MAX_LEVEL);
	builder->level = level;
	return 0;
}

int dwarfs_builder_set_block_bits(dwarfs_builder *builder, uint32_t bits,
				  dwarfs_error **err)
{
	if (bits < MIN_BLOCK_BITS || bits > MAX_BLOCK_BITS)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "block size must be between %d and %d bits, not %" PRIu32,
			       MIN_BLOCK_BITS, MAX_BLOCK_BITS, bits);
	builder->options.block_bits = bits;
	builder->block_bits_was_set = true;
	return 0;
}

int dwarfs_builder_set_codec(dwarfs_builder *builder, int use, const char *codec,
			     dwarfs_error **err)
{
	struct codec_spec spec;
	int ret;

	if (use < 0 || use >= DW_CODEC_USES)
		return dw_fail(err, DWARFS_ERR_INVALID, "no sections of kind %d", use);
	if ((ret = dw_codec_parse(codec, &spec, err)) < 0)
		return ret;
	builder->options.codecs[use] = spec;
	builder->options.codec_was_set[use] = true;
	return 0;
}

int dwarfs_builder_set_category_codec(dwarfs_builder *builder, const char *category,
				      const char *codec, dwarfs_error **err)
{
	struct settings_override *override;
	struct codec_spec spec;
	int ret;

	if (!category)
		return dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, codec, err);
	if ((ret = dw_codec_parse(codec, &spec, err)) < 0 ||
	    (ret = override_of(builder, category, &override, err)) < 0)
		return ret;
	override->values.codec = spec;
	override->was_set[SETTING_CODEC] = true;
	return 0;
}

int dwarfs_builder_set_category_order(dwarfs_builder *builder, const char *category,
				      const char *order, dwarfs_error **err)
{
	struct settings_override *override;
	struct order_spec spec;
	int ret;

	if ((ret = override_of(builder, category, &override, err)) < 0 ||
	    (ret = dw_order_parse(order, &spec, err)) < 0)
		return ret;
	dw_order_spec_free(&override->values.order);
	override->values.order = spec;
	override->was_set[SETTING_ORDER] = true;
	return 0;
}

int dwarfs_builder_set_order(dwarfs_builder *builder, const char *order,
			     dwarfs_error **err)
{
	return dwarfs_builder_set_category_order(builder, NULL, order, err);
}

/* A number of a category that lies in a range. */
static int set_number(dwarfs_builder *builder, const char *category, enum setting setting,
		      uint32_t value, uint32_t max, const char *what, dwarfs_error **err)
{
	struct settings_override *override;
	int ret;

	if (value > max)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%s must be between 0 and %" PRIu32 ", not %" PRIu32, what,
			       max, value);
	if ((ret = override_of(builder, category, &override, err)) < 0)
		return ret;
	if (setting == SETTING_WINDOW)
		override->values.window_bits = value;
	else if (setting == SETTING_STEP)
		override->values.step_bits = value;
	else
		override->values.lookback = value;
	override->was_set[setting] = true;
	return 0;
}

int dwarfs_builder_set_window(dwarfs_builder *builder, const char *category,
			      uint32_t bits, dwarfs_error **err)
{
	return set_number(builder, category, SETTING_WINDOW, bits, MAX_WINDOW_BITS,
			  "window size", err);
}

int dwarfs_builder_set_window_step(dwarfs_builder *builder, const char *category,
				   uint32_t bits, dwarfs_error **err)
{
	return set_number(builder, category, SETTING_STEP, bits, MAX_STEP_BITS,
			  "window step", err);
}

int dwarfs_builder_set_lookback(dwarfs_builder *builder, const char *category,
				uint32_t blocks, dwarfs_error **err)
{
	return set_number(builder, category, SETTING_LOOKBACK, blocks, UINT32_MAX,
			  "lookback", err);
}

int dwarfs_builder_set_memory_limit(dwarfs_builder *builder, uint64_t bytes,
				    dwarfs_error **err)
{
	builder->options.memory_limit = bytes;
	return 0;
}

int dwarfs_builder_set_compress_niceness(dwarfs_builder *builder, int niceness,
					 dwarfs_error **err)
{
	if (niceness < 0 || niceness > MAX_NICENESS)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "niceness must be between 0 and %d, not %d", MAX_NICENESS,
			       niceness);
	builder->options.compress_niceness = niceness;
	return 0;
}

void dwarfs_builder_set_category_names(dwarfs_builder *builder, bool store)
{
	builder->options.category_names = store;
}

void dwarfs_builder_set_category_metadata(dwarfs_builder *builder, bool store)
{
	builder->options.category_metadata = store;
}

/* -- what is stored of each entry ---------------------------------------------------- */

void dwarfs_builder_set_devices(dwarfs_builder *builder, bool store)
{
	builder->options.devices = store;
}

void dwarfs_builder_set_specials(dwarfs_builder *builder, bool store)
{
	builder->options.specials = store;
}

void dwarfs_builder_set_sparse_files(dwarfs_builder *builder, bool store)
{
	builder->options.sparse_files = store;
}

void dwarfs_builder_set_owner(dwarfs_builder *builder, uint32_t uid)
{
	builder->options.set_uid = true;
	builder->options.uid = uid;
}

void dwarfs_builder_set_group(dwarfs_builder *builder, uint32_t gid)
{
	builder->options.set_gid = true;
	builder->options.gid = gid;
}

int dwarfs_builder_set_time(dwarfs_builder *builder, uint64_t seconds,
			    uint32_t nanoseconds, dwarfs_error **err)
{
	if (seconds > INT64_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE, "time %" PRIu64 " is out of range",
			       seconds);
	if (nanoseconds >= DW_NS_PER_SECOND)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%" PRIu32 " nanoseconds are no fraction of a second",
			       nanoseconds);
	builder->options.set_time = true;
	builder->options.time = (struct os_time){ (int64_t)seconds, nanoseconds };
	return 0;
}

int dwarfs_builder_set_chmod(dwarfs_builder *builder, const char *modes,
			     dwarfs_error **err)
{
	struct mode_change change;
	int ret = dw_mode_change_parse(modes, &change, err);

	if (ret < 0)
		return ret;
	dw_mode_change_free(&builder->options.chmod);
	builder->options.chmod = change;
	return 0;
}

int dwarfs_builder_set_umask(dwarfs_builder *builder, uint32_t umask, dwarfs_error **err)
{
	if (umask > 0777)
		return dw_fail(err, DWARFS_ERR_RANGE, "umask %" PRIo32 " is over 777",
			       umask);
	builder->options.umask = umask;
	return 0;
}

int dwarfs_builder_set_time_resolution(dwarfs_builder *builder, uint64_t resolution_ns,
				       dwarfs_error **err)
{
	if (resolution_ns == 0)
		return dw_fail(err, DWARFS_ERR_RANGE, "time resolution must be nonzero");
	if (resolution_ns < DW_NS_PER_SECOND && DW_NS_PER_SECOND % resolution_ns != 0)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "time resolution of %" PRIu64
			       " ns does not divide one second",
			       resolution_ns);
	if (resolution_ns > DW_NS_PER_SECOND && resolution_ns % DW_NS_PER_SECOND != 0)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "time resolution of %" PRIu64
			       " ns is not a whole number of seconds",
			       resolution_ns);
	if (resolution_ns / DW_NS_PER_SECOND > MAX_RESOLUTION_SEC)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "time resolution of %" PRIu64 " ns is too coarse",
			       resolution_ns);
	builder->options.resolution_ns = resolution_ns;
	return 0;
}

void dwarfs_builder_set_keep_all_times(dwarfs_builder *builder, bool keep)
{
	builder->options.keep_all_times = keep;
}

void dwarfs_builder_set_keep_birth_times(dwarfs_builder *builder, bool keep)
{
	builder->options.keep_birth_times = keep;
}

void dwarfs_builder_set_xattrs(dwarfs_builder *builder, bool keep)
{
	builder->options.xattrs.drop = !keep;
}

int dwarfs_builder_add_xattr_rule(dwarfs_builder *builder, bool include, const char *glob,
				  dwarfs_error **err)
{
	return dw_xattr_rules_add(&builder->options.xattrs, include, glob, err);
}

/* -- what is stored of the image ----------------------------------------------------- */

static const struct build_packing pack_all = {
	.chunk_table = true,
	.directories = true,
	.shared_files = true,
	.names = true,
	.names_index = true,
	.symlinks = true,
	.symlinks_index = true,
};

static bool set_packing(struct build_packing *packing, const char *word, size_t length)
{
	const struct {
		const char *word;
		bool *flag;
	} flags[] = {
		{ "chunk_table", &packing->chunk_table },
		{ "directories", &packing->directories },
		{ "shared_files", &packing->shared_files },
		{ "names", &packing->names },
		{ "names_index", &packing->names_index },
		{ "symlinks", &packing->symlinks },
		{ "symlinks_index", &packing->symlinks_index },
		{ "force", &packing->force },
		{ "plain", &packing->plain },
	};

	if (length == 3 && memcmp(word, "all", 3) == 0) {
		bool force = packing->force, plain = packing->plain;

		*packing = pack_all;
		packing->force = force;
		packing->plain = plain;
		return true;
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strlen(flags[i].word) == length &&
		    memcmp(flags[i].word, word, length) == 0) {
			*flags[i].flag = true;
			return true;
		}
	}
	return false;
}

int dwarfs_builder_set_pack_metadata(dwarfs_builder *builder, const char *words,
				     dwarfs_error **err)
{
	struct build_packing packing = { 0 };

	if (strcmp(words, "none") == 0 || strcmp(words, "auto") == 0) {
		builder->options.packing = *words == 'a' ? pack_auto : packing;
		return 0;
	}
	for (const char *word = words;; word++) {
		size_t length = strcspn(word, ",");

		if (!set_packing(&packing, word, length))
			return dw_fail(err, DWARFS_ERR_INVALID,
				       "no such way to pack metadata: '%.*s'",
				       (int)length, word);
		word += length;
		if (*word == '\0')
			break;
	}
	builder->options.packing = packing;
	return 0;
}

void dwarfs_builder_set_hardlink_table(dwarfs_builder *builder, bool store)
{
	builder->options.hardlink_table = store;
}

void dwarfs_builder_set_section_index(dwarfs_builder *builder, bool write)
{
	builder->options.section_index = write;
}

void dwarfs_builder_set_create_timestamp(dwarfs_builder *builder, bool store)
{
	builder->options.create_timestamp = store;
}

void dwarfs_builder_set_history(dwarfs_builder *builder, bool write)
{
	builder->options.history = write;
}

void dwarfs_builder_set_history_timestamps(dwarfs_builder *builder, bool store)
{
	builder->options.history_timestamps = store;
}

int dwarfs_builder_add_history_argument(dwarfs_builder *builder, const char *argument,
					dwarfs_error **err)
{
	struct build_options *options = &builder->options;
	auto_free char *copy = strdup(argument);
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if ((ret = dw_grow(&options->arguments, &options->argument_room,
			   options->argument_count + 1, err)) < 0)
		return ret;
	options->arguments[options->argument_count++] = dw_steal(copy);
	return 0;
}

int dwarfs_builder_set_header(dwarfs_builder *builder, const void *data, size_t bytes,
			      dwarfs_error **err)
{
	auto_buffer struct buffer header = { 0 };
	int ret = dw_buffer_append(&header, data, bytes, err);

	if (ret < 0)
		return ret;
	dw_buffer_free(&builder->options.header);
	builder->options.header = header;
	header = (struct buffer){ 0 };
	return 0;
}

/* -- input --------------------------------------------------------------------------- */

int dwarfs_builder_add_directory(dwarfs_builder *builder, const char *path,
				 dwarfs_error **err)
{
	auto_free char *copy = strdup(path);
	auto_fd int fd = -1;
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if (builder->root_fd >= 0)
		return dw_fail(err, DWARFS_ERR_INVALID, "there is an input already: '%s'",
			       builder->root_path);
	if (builder->assembly)
		return dw_fail(err, DWARFS_ERR_INVALID, "there are items already");
	ret = dw_dir_open(path, &fd);
	if (ret == -ENOTDIR)
		ret = dw_fail(err, DWARFS_ERR_NOT_DIR, "'%s' must be a directory", path);
	else if (ret < 0)
		ret = dw_fail_errno(err, -ret, "cannot open '%s'", path);
	if (ret < 0)
		return dw_error_at_path(err, ret, path);
	for (size_t end = strlen(copy); end > 1 && copy[end - 1] == '/';)
		copy[--end] = '\0'; /* for messages: "dir/", then the rest */
	builder->root_fd = fd;
	fd = -1;
	builder->root_path = dw_steal(copy);
	return 0;
}

/* -- run ----------------------------------------------------------------------------- */

void dwarfs_builder_set_progress(dwarfs_builder *builder, dwarfs_progress_fn progress,
				 void *user)
{
	builder->progress = progress;
	builder->progress_user = user;
}

void dwarfs_builder_set_cancel(dwarfs_builder *builder, dwarfs_cancel *cancel)
{
	builder->cancel = cancel;
}

static int begin(dwarfs_builder *builder, dwarfs_error **err)
{
	if (builder->root_fd < 0 && !builder->assembly)
		return dw_fail(err, DWARFS_ERR_INVALID, "there is no input");
	if (builder->assembly && builder->options.input.paths)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "a list of paths needs a directory");
	if (builder->ran)
		return dw_fail(err, DWARFS_ERR_INVALID, "a builder runs only once");
	apply_level(builder);
	return resolve_settings(builder, err);
}

static int run(dwarfs_builder *builder, struct output *output, dwarfs_error **err)
{
	builder->ran = true;
	return dw_build(builder, output, err);
}

int dwarfs_builder_write_path(dwarfs_builder *builder, const char *path, bool overwrite,
			      dwarfs_error **err)
{
	auto_output struct output *output = NULL;
	int ret;

	if ((ret = begin(builder, err)) < 0 ||
	    (ret = dw_output_create(path, overwrite, &output, err)) < 0)
		return ret;
	return run(builder, output, err);
}

int dwarfs_builder_write_fd(dwarfs_builder *builder, int fd, dwarfs_error **err)
{
	auto_output struct output *output = NULL;
	int ret;

	if ((ret = begin(builder, err)) < 0 ||
	    (ret = dw_output_to_fd(fd, &output, err)) < 0)
		return ret;
	return run(builder, output, err);
}

int dwarfs_builder_write_callback(dwarfs_builder *builder, dwarfs_write_fn write,
				  void *user, dwarfs_error **err)
{
	auto_output struct output *output = NULL;
	int ret;

	if ((ret = begin(builder, err)) < 0 ||
	    (ret = dw_output_to_function(write, user, &output, err)) < 0)
		return ret;
	return run(builder, output, err);
}

int dwarfs_builder_scan(dwarfs_builder *builder, dwarfs_error **err)
{
	int ret = begin(builder, err);

	if (ret < 0)
		return ret;
	builder->ran = true;
	return dw_build_scan(builder, err);
}

uint64_t dwarfs_builder_count(const dwarfs_builder *builder, int count)
{
	if (count < 0 || count >= DW_COUNT_KINDS)
		return 0;
	return builder->counts[count];
}

size_t dwarfs_builder_category_count(const dwarfs_builder *builder)
{
	return builder->total_count;
}

const char *dwarfs_builder_category_name(const dwarfs_builder *builder, size_t index)
{
	if (index >= builder->total_count)
		return NULL;
	return dw_category_name(&builder->options.categorize, (uint32_t)index);
}

int dwarfs_builder_category_bytes(const dwarfs_builder *builder, size_t index,
				  uint64_t *in_out, uint64_t *stored_out,
				  uint64_t *packed_out)
{
	if (index >= builder->total_count)
		return DWARFS_ERR_RANGE;
	*in_out = builder->totals[index].in;
	*stored_out = builder->totals[index].stored;
	*packed_out = builder->totals[index].packed;
	return 0;
}
