/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/category_options: setters for categories. See <dwarfs/builder.h>.
 */
#include <stdio.h>
#include <string.h>

#include "hash/hash.h"
#include "write/categorize/ops.h"
#include "write/builder.h"

#define DEFAULT_MIN_INPUT_BYTES 256
#define DEFAULT_PROBE_BYTES	(UINT64_C(1) << 20)
#define DEFAULT_RATIO		0.99
#define DEFAULT_ZSTD_LEVEL	(-1)
#define MIN_PROBE_BYTES		UINT64_C(1024)
#define MAX_PROBE_BYTES		(UINT64_C(1) << 30)
#define MIN_ZSTD_LEVEL		(-131072)
#define MAX_ZSTD_LEVEL		22
#define MAX_NAME_BYTES		255
#define MIN_SLOTS		16 /* a power of 2 */

void dw_categorize_options_init(struct categorize_options *options)
{
	*options = (struct categorize_options){
		.min_input_bytes = DEFAULT_MIN_INPUT_BYTES,
		.probe_bytes = DEFAULT_PROBE_BYTES,
		.ratio = DEFAULT_RATIO,
		.zstd_level = DEFAULT_ZSTD_LEVEL,
	};
}

void dw_categorize_options_free(struct categorize_options *options)
{
	for (size_t i = 0; i < options->hot_count; i++)
		dw_free(options->hot_paths[i]);
	for (size_t i = 0; i < options->name_count; i++)
		dw_free(options->names[i]);
	dw_free(options->hot_paths);
	dw_free(options->hot_slots);
	dw_free(options->names);
	*options = (struct categorize_options){ 0 };
}

/* -- categorizers -------------------------------------------------------------------- */

/* "unknown categorizer: fit: use fits, pcmaudio, ..." */
static int refuse_categorizer(const char *name, size_t length, dwarfs_error **err)
{
	char names[256] = "";
	size_t used = 0;

	for (int i = 0; i < CATEGORIZER_COUNT && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 i ? ", " : "",
					 dw_categorizer((enum categorizer)i)->name);
	return dw_fail(err, DWARFS_ERR_INVALID, "unknown categorizer: %.*s: use %s",
		       (int)length, name, names);
}

static int find_categorizer(const char *name, size_t length,
			    enum categorizer *categorizer_out, dwarfs_error **err)
{
	for (int i = 0; i < CATEGORIZER_COUNT; i++) {
		const struct categorizer_ops *ops = dw_categorizer((enum categorizer)i);
		const char *missing = ops->missing ? ops->missing() : NULL;

		if (strlen(ops->name) != length || memcmp(ops->name, name, length) != 0)
			continue;
		if (missing)
			return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
				       "categorizer '%s': %s", ops->name, missing);
		*categorizer_out = (enum categorizer)i;
		return 0;
	}
	return refuse_categorizer(name, length, err);
}

int dwarfs_builder_set_categorizers(dwarfs_builder *builder, const char *names,
				    dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !names)
		return dw_fail_null(err, "builder and names");
	if (builder->ran)
		return dw_fail_ran(err);

	enum categorizer list[CATEGORIZER_COUNT], found;
	bool is_given[CATEGORIZER_COUNT] = { false };
	size_t count = 0, length;
	int ret;

	for (const char *at = names; *names; at += length + 1) {
		length = strcspn(at, ",");
		if ((ret = find_categorizer(at, length, &found, err)) < 0)
			return ret;
		if (is_given[found])
			return dw_fail(err, DWARFS_ERR_INVALID,
				       "categorizer '%.*s' is given twice", (int)length,
				       at);
		is_given[found] = true;
		list[count++] = found;
		if (!at[length])
			break;
	}
	memcpy(builder->options.categorize.list, list, count * sizeof(*list));
	builder->options.categorize.count = count;
	return 0;
}

int dwarfs_builder_set_incompressible(dwarfs_builder *builder, uint64_t min_input_bytes,
				      uint64_t block_bytes, double ratio, int zstd_level,
				      bool fragments, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);

	struct categorize_options *options = &builder->options.categorize;

	if (block_bytes < MIN_PROBE_BYTES || block_bytes > MAX_PROBE_BYTES)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "incompressible: block size %" PRIu64
			       ": must be between 1 KiB and 1 GiB",
			       block_bytes);
	if (!(ratio > 0 && ratio <= 1))
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "incompressible: a ratio is above 0 and at most 1");
	if (zstd_level < MIN_ZSTD_LEVEL || zstd_level > MAX_ZSTD_LEVEL)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "incompressible: zstd has levels from %d to %d, not %d",
			       MIN_ZSTD_LEVEL, MAX_ZSTD_LEVEL, zstd_level);
	options->min_input_bytes = min_input_bytes;
	options->probe_bytes = block_bytes;
	options->ratio = ratio;
	options->zstd_level = zstd_level;
	options->fragments = fragments;
	return 0;
}

/* -- hot paths ----------------------------------------------------------------------- */

/* Paths may be the output of find(1): remove "./" and "/" in front. */
static const char *below_root(const char *path)
{
	while (*path == '/' || (path[0] == '.' && (path[1] == '/' || !path[1])))
		path++;
	return path;
}

/* The slot of a path, or the empty one for it. A slot holds the number + 1. */
static uint32_t *find_hot_slot(const struct categorize_options *options, const char *path)
{
	uint64_t hash[2];
	size_t i;

	dw_xxh3_128(path, strlen(path), hash);
	for (i = hash[0] & (options->hot_slot_count - 1); options->hot_slots[i];
	     i = (i + 1) & (options->hot_slot_count - 1))
		if (strcmp(options->hot_paths[options->hot_slots[i] - 1], path) == 0)
			break;
	return &options->hot_slots[i];
}

uint32_t dw_hotness_rank(const struct categorize_options *options, const char *path)
{
	return options->hot_count ? *find_hot_slot(options, path) - 1 : UINT32_MAX;
}

/* Keep at least half of the slots empty. */
static int make_slots(struct categorize_options *options, dwarfs_error **err)
{
	struct categorize_options wider = *options;

	if (2 * (options->hot_count + 1) <= options->hot_slot_count)
		return 0;
	wider.hot_slot_count =
		options->hot_slot_count ? 2 * options->hot_slot_count : MIN_SLOTS;
	wider.hot_slots = dw_calloc(wider.hot_slot_count, sizeof(*wider.hot_slots));
	if (!wider.hot_slots)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < options->hot_count; i++)
		*find_hot_slot(&wider, options->hot_paths[i]) = (uint32_t)i + 1;
	dw_free(options->hot_slots);
	options->hot_slots = wider.hot_slots;
	options->hot_slot_count = wider.hot_slot_count;
	return 0;
}

int dwarfs_builder_add_hot_path(dwarfs_builder *builder, const char *path,
				dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !path)
		return dw_fail_null(err, "builder and path");
	if (builder->ran)
		return dw_fail_ran(err);

	struct categorize_options *options = &builder->options.categorize;
	auto_free char *copy = dw_strdup(below_root(path));
	uint32_t *slot;
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if (!*copy)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "empty path in hotness list: '%s'", path);
	if (options->hot_count >= UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many paths in hotness list");
	if ((ret = make_slots(options, err)) < 0 ||
	    (ret = dw_grow(&options->hot_paths, &options->hot_room,
			   options->hot_count + 1, err)) < 0)
		return ret;
	slot = find_hot_slot(options, copy);
	if (*slot)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "duplicate path in hotness list: %s", path);
	options->hot_paths[options->hot_count++] = dw_steal(copy);
	*slot = (uint32_t)options->hot_count;
	return 0;
}

/* -- user-defined categories --------------------------------------------------------- */

static bool is_name(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length > MAX_NAME_BYTES)
		return false;
	for (; *name; name++)
		if ((unsigned char)*name <= ' ' || *name == 0x7f ||
		    strchr(",:!<>", *name))
			return false;
	return true;
}

int dwarfs_builder_add_category(dwarfs_builder *builder, const char *name,
				dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !name)
		return dw_fail_null(err, "builder and name");
	if (builder->ran)
		return dw_fail_ran(err);

	struct categorize_options *options = &builder->options.categorize;
	auto_free char *copy = dw_strdup(name);
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if (!is_name(name))
		return dw_fail(err, DWARFS_ERR_INVALID, "invalid category name '%s'",
			       name);
	if (dw_category_find(options, name, strlen(name)) != DW_ANY_CATEGORY)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "a category named '%s' exists already", name);
	if ((ret = dw_grow(&options->names, &options->name_room, options->name_count + 1,
			   err)) < 0)
		return ret;
	options->names[options->name_count++] = dw_steal(copy);
	return 0;
}

void dwarfs_builder_set_category_callback(dwarfs_builder *builder,
					  dwarfs_category_fn callback, void *user)
{
	if (!builder)
		return;
	builder->options.categorize.callback = callback;
	builder->options.categorize.callback_user = user;
}
