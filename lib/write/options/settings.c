/* SPDX-License-Identifier: MIT */
/*
 * write/options/settings: the settings of each category of data, and their setters. See
 * <dwarfs/builder.h>.
 *
 * Each setter checks its own value. The choices of the level (levels.c) are applied when
 * the run begins, so that the order of the calls does not matter.
 */
#include <string.h>

#include "base/machine/limits.h"
#include "write/builder.h"
#include "write/categorize/categorize.h"
#include "write/items/assembly.h"
#include "write/options/levels.h"
#include "write/order/order.h"

#define MIN_BLOCK_BITS	   10
#define MAX_BLOCK_BITS	   30
#define MAX_WINDOW_BITS	   24
#define MAX_STEP_BITS	   8
#define MAX_NICENESS	   19
#define MIN_FOREIGN_BLOCKS 2

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
		dw_use_one_codec(settings);
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

/* How many blocks a directory may refer to besides those its own bytes fill. */
static uint32_t foreign_blocks(const dwarfs_builder *builder)
{
	uint32_t blocks =
		(uint32_t)(builder->options.foreign_bytes >> builder->options.block_bits);

	if (builder->level == DW_MAX_LEVEL)
		return UINT32_MAX;
	return blocks > MIN_FOREIGN_BLOCKS ? blocks : MIN_FOREIGN_BLOCKS;
}

static struct stream_settings settings_of(const dwarfs_builder *builder,
					  uint32_t category)
{
	const struct build_options *options = &builder->options;
	struct stream_settings settings = {
		.codec = options->codecs[DWARFS_CODEC_BLOCKS],
		.lookback = UINT32_MAX,
		.foreign_blocks = foreign_blocks(builder),
	};

	dw_level_apply(builder->level, &settings);
	if (options->codec_was_set[DWARFS_CODEC_BLOCKS])
		dw_use_one_codec(&settings);
	apply_override(find_override(options, DW_ANY_CATEGORY), &settings);
	dw_level_apply_category(builder->level, category, &settings);
	apply_override(find_override(options, category), &settings);
	return settings;
}

const struct stream_settings *dw_stream_settings(const struct build_run *run,
						 uint32_t category)
{
	return &run->settings[category];
}

static int check_codec_category(const dwarfs_builder *builder, uint32_t category,
				const struct stream_settings *settings,
				dwarfs_error **err)
{
	const struct samples_kind *samples = dw_codec_samples(settings->codec.id);

	if (samples && samples != dw_category_samples(category))
		return dw_fail(
			err, DWARFS_ERR_INVALID,
			"codec %s needs a category with matching metadata, which '%s' is not",
			dw_codec_name(settings->codec.id),
			dw_category_name(&builder->options.categorize, category));
	return 0;
}

static int resolve_settings(dwarfs_builder *builder, dwarfs_error **err)
{
	size_t count = CATEGORY_COUNT + builder->options.categorize.name_count;
	int ret;

	dw_free(builder->totals);
	dw_free(builder->settings);
	builder->total_count = count;
	builder->totals = dw_calloc(count, sizeof(*builder->totals));
	builder->settings = dw_calloc(count, sizeof(*builder->settings));
	if (!builder->totals || !builder->settings)
		return dw_fail_nomem(err);
	for (uint32_t category = 0; category < count; category++) {
		builder->settings[category] = settings_of(builder, category);
		builder->settings[category].fallback =
			builder->settings[CATEGORY_DEFAULT].codec;
		ret = check_codec_category(builder, category,
					   &builder->settings[category], err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void apply_level(dwarfs_builder *builder)
{
	struct build_options *options = &builder->options;

	if (!builder->block_bits_was_set)
		options->block_bits = dw_level_block_bits(builder->level);
	options->least_block_bits = dw_assembly_block_bits(builder->assembly);
	if (options->block_bits < options->least_block_bits)
		options->block_bits = options->least_block_bits;
	/* The places of the new blocks are planned before the budget. */
	if (dw_assembly_changes_block_size(builder->assembly))
		options->least_block_bits = options->block_bits;
	for (int use = 0; use < DW_CODEC_USES; use++)
		if (!options->codec_was_set[use])
			options->codecs[use] = dw_level_codec(builder->level, use);
	options->has_dense_metadata =
		!options->codec_was_set[DWARFS_CODEC_METADATA] &&
		dw_level_dense_metadata(builder->level, &options->dense_metadata);
}

/* A time is rounded down to the resolution, which must not pass the least one. */
static int check_set_time(const struct build_options *options, dwarfs_error **err)
{
	const int64_t step = (int64_t)(options->resolution_ns / DW_NS_PER_SECOND);
	const int64_t seconds = options->time.seconds;

	if (!options->set_time || step <= 1 || seconds % step == 0 ||
	    seconds - seconds % step >= INT64_MIN + step)
		return 0;
	return dw_fail(err, DWARFS_ERR_RANGE,
		       "the time %" PRId64 " cannot be rounded down to a multiple of "
		       "%" PRId64 " seconds",
		       seconds, step);
}

int dw_settings_resolve(dwarfs_builder *builder, dwarfs_error **err)
{
	const struct build_options *options = &builder->options;
	int ret = check_set_time(options, err);

	if (ret < 0)
		return ret;
	if ((options->set_uid && options->uid == DW_NO_ID) ||
	    (options->set_gid && options->gid == DW_NO_ID))
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "no user or group can have the number %" PRIu32, DW_NO_ID);
	apply_level(builder);
	return resolve_settings(builder, err);
}

/* -- setters ------------------------------------------------------------------------- */

int dwarfs_builder_set_level(dwarfs_builder *builder, uint32_t level, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	if (level > DW_MAX_LEVEL)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "invalid compression level %" PRIu32 ": it is 0 to %d",
			       level, DW_MAX_LEVEL);
	builder->level = level;
	return 0;
}

int dwarfs_builder_set_block_bits(dwarfs_builder *builder, uint32_t bits,
				  dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	if (bits < MIN_BLOCK_BITS || bits > MAX_BLOCK_BITS)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "block size must be between %d and %d bits, not %" PRIu32,
			       MIN_BLOCK_BITS, MAX_BLOCK_BITS, bits);
	builder->options.block_bits = bits;
	builder->block_bits_was_set = true;
	return 0;
}

int dwarfs_builder_set_codec(dwarfs_builder *builder, enum dwarfs_codec_use use,
			     const char *codec, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !codec)
		return dw_fail_null(err, "builder and codec");
	if (builder->ran)
		return dw_fail_ran(err);

	struct codec_spec spec;
	int ret;

	if (use < 0 || use >= DW_CODEC_USES)
		return dw_fail(err, DWARFS_ERR_INVALID, "unknown kind of section: %d",
			       use);
	if ((ret = dw_codec_parse(codec, &spec, err)) < 0)
		return ret;
	if (use != DWARFS_CODEC_BLOCKS && dw_codec_samples(spec.id))
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "codec %s compresses samples, which only blocks contain",
			       dw_codec_name(spec.id));
	builder->options.codecs[use] = spec;
	builder->options.codec_was_set[use] = true;
	return 0;
}

int dwarfs_builder_set_category_codec(dwarfs_builder *builder, const char *category,
				      const char *codec, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !codec)
		return dw_fail_null(err, "builder and codec");
	if (builder->ran)
		return dw_fail_ran(err);

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
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !order)
		return dw_fail_null(err, "builder and order");
	if (builder->ran)
		return dw_fail_ran(err);

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
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !order)
		return dw_fail_null(err, "builder and order");
	if (builder->ran)
		return dw_fail_ran(err);
	return dwarfs_builder_set_category_order(builder, NULL, order, err);
}

/* Set a number of a category after checking its range. */
static int set_category_number(dwarfs_builder *builder, const char *category,
			       enum setting setting, uint32_t value, uint32_t max,
			       const char *what, dwarfs_error **err)
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
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	return set_category_number(builder, category, SETTING_WINDOW, bits,
				   MAX_WINDOW_BITS, "window size", err);
}

int dwarfs_builder_set_window_step(dwarfs_builder *builder, const char *category,
				   uint32_t bits, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	return set_category_number(builder, category, SETTING_STEP, bits, MAX_STEP_BITS,
				   "window step", err);
}

int dwarfs_builder_set_lookback(dwarfs_builder *builder, const char *category,
				uint32_t blocks, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	return set_category_number(builder, category, SETTING_LOOKBACK, blocks,
				   UINT32_MAX, "lookback", err);
}

static void note_memory_limit(struct build_options *options)
{
	uint64_t own = options->own_limit, process = options->process_limit;

	options->memory_limit = own && (!process || own < process) ? own : process;
}

int dwarfs_builder_set_memory_limit(dwarfs_builder *builder, uint64_t bytes,
				    dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	builder->options.own_limit = bytes;
	note_memory_limit(&builder->options);
	return 0;
}

int dwarfs_builder_set_process_memory_limit(dwarfs_builder *builder, uint64_t bytes,
					    dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	builder->options.process_limit = bytes;
	note_memory_limit(&builder->options);
	return 0;
}

int dwarfs_builder_set_compress_niceness(dwarfs_builder *builder, int niceness,
					 dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	if (niceness < 0 || niceness > MAX_NICENESS)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "niceness must be between 0 and %d, not %d", MAX_NICENESS,
			       niceness);
	builder->options.compress_niceness = niceness;
	return 0;
}

void dwarfs_builder_set_category_names(dwarfs_builder *builder, bool store)
{
	if (!builder)
		return;
	builder->options.category_names = store;
}

void dwarfs_builder_set_category_metadata(dwarfs_builder *builder, bool store)
{
	if (!builder)
		return;
	builder->options.category_metadata = store;
}
