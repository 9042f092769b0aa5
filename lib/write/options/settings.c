/* SPDX-License-Identifier: MIT */
/*
 * write/options/settings: what levels choose, how each category is made into blocks, and the
 * setters of that. See <dwarfs/builder.h>.
 *
 * Each setter checks its own value. What a level chooses is looked up when the run
 * begins, so that the order of calls does not matter.
 */
#include <string.h>

#include "write/builder.h"
#include "write/categorize/categorize.h"
#include "write/order/order.h"
#include "write/pack/block_packer.h"

#define MAX_LEVEL	   9
#define MIN_BLOCK_BITS	   10
#define MAX_BLOCK_BITS	   30
#define MAX_WINDOW_BITS	   24
#define MAX_STEP_BITS	   8
#define MAX_NICENESS	   19
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
 * It is read in parts of 2 MiB, which on logs makes it 0.3 % larger than in one piece;
 * with the hash of the section it does without the check in the stream, which would take
 * 7 % of the time of unpacking. */
#define LZMA_DENSE "lzma:level=6:block_size=21:check=none"

/* Parts that a small cache can hold together with what lzma needs to unpack one. */
#define LZMA_BEST_DENSE LZMA_BEST ":block_size=23:check=none"

/*
 * Matches of 2^8 bytes with an anchor in each 2^8, 2^7 and 2^6, packed with zstd 9: bundles of
 * releases take 1, 0.98 and 0.977, near-equal sources of a compiler 1, 0.93 and 0.92 (zstd 3), a root
 * file system 1, 0.990 and 0.987. The index takes 13, 26 and 52 MiB for each 256 MiB.
 */
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
		.step_bits = 1,
	},
	[4] = {
		.block_bits = 22,
		.blocks = { { "zstd:level=11", "lzma:level=3", "lz4hc:level=9", "null" } },
		.metadata = { { "null" } },
		.waveform = { { "flac:level=3", "zstd:level=3", "null" } },
		.order = "auto",
		.window_bits = 8,
		.step_bits = 1,
	},
	[5] = {
		.block_bits = 23,
		.blocks = { { "zstd:level=19", "lzma:level=4", "lz4hc:level=9", "null" } },
		.metadata = { { "null" } },
		.waveform = { { "flac:level=5", "zstd:level=5", "null" } },
		.order = "auto",
		.window_bits = 8,
		.step_bits = 1,
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
		.step_bits = 1,
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
		.step_bits = 1,
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
		.step_bits = 2,
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
		.step_bits = 2,
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
	uint32_t blocks =
		(uint32_t)(builder->options.foreign_bytes >> builder->options.block_bits);

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

int dw_settings_resolve(dwarfs_builder *builder, dwarfs_error **err)
{
	apply_level(builder);
	return resolve_settings(builder, err);
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
		return dw_fail(err, DWARFS_ERR_INVALID, "unknown kind of section: %d", use);
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
