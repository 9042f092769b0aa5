/* SPDX-License-Identifier: MIT */
/*
 * write/options/input_options: setters for the selection and the reading of the input,
 * and the accessors of dwarfs_input. See <dwarfs/builder.h>.
 *
 * Setters only; scan.c and inspect.c apply them.
 */
#include <string.h>
#include <strings.h>

#include "hash/hash.h"
#include "write/categorize/categorize.h"
#include "write/options/filter.h"
#include "write/options/input_options.h"
#include "write/builder.h"

#define MAX_WORKERS 1024

/* -- accessors for callbacks --------------------------------------------------------- */

const char *dwarfs_input_path(const dwarfs_input *input)
{
	if (!input)
		return NULL;
	return input->path;
}

uint32_t dwarfs_input_mode(const dwarfs_input *input)
{
	if (!input)
		return 0;
	return input->mode;
}

uint64_t dwarfs_input_bytes(const dwarfs_input *input)
{
	if (!input)
		return 0;
	return input->size;
}

uint32_t dwarfs_input_uid(const dwarfs_input *input)
{
	if (!input)
		return 0;
	return input->uid;
}

uint32_t dwarfs_input_gid(const dwarfs_input *input)
{
	if (!input)
		return 0;
	return input->gid;
}

int64_t dwarfs_input_mtime(const dwarfs_input *input)
{
	if (!input)
		return 0;
	return input->mtime;
}

static int find_selectable_category(const struct build_options *options, const char *name,
				    uint32_t *category_out, dwarfs_error **err)
{
	*category_out = dw_category_find(&options->categorize, name, strlen(name));
	if (*category_out == DW_ANY_CATEGORY)
		return dw_fail(err, DWARFS_ERR_INVALID, "unknown category: %s", name);
	if (*category_out == CATEGORY_PCM_WAVEFORM ||
	    *category_out == CATEGORY_FITS_IMAGE)
		return dw_fail(
			err, DWARFS_ERR_INVALID,
			"category '%s' is only for its categorizer, which knows the "
			"layout of samples",
			name);
	return 0;
}

int dw_input_category(struct build_run *run, const struct tree *tree, uint32_t inode,
		      uint32_t *category_out, dwarfs_error **err)
{
	const struct categorize_options *options = &run->options->categorize;
	const struct tree_inode *from = &tree->inodes[inode];
	auto_buffer struct buffer path = { 0 };
	struct dwarfs_input input = {
		.size = from->size,
		.mtime = from->mtime,
		.mode = from->mode,
		.uid = from->uid,
		.gid = from->gid,
	};
	auto_error dwarfs_error *why = NULL;
	const char *name = NULL;
	int ret;

	if ((ret = dw_tree_path(tree, from->entry, &path, err)) < 0)
		return ret;
	input.path = (const char *)path.data;
	ret = options->callback(&input, &name, &why, options->callback_user);
	if (ret != 0)
		return dw_callback_fail(ret, &why, err);
	*category_out = DW_ANY_CATEGORY;
	return name ? find_selectable_category(run->options, name, category_out, err) : 0;
}

/* -- options ------------------------------------------------------------------------- */

uint32_t dw_input_workers(const struct build_run *run)
{
	uint32_t workers = run->options->input.workers;

	return workers == UINT32_MAX ? dw_context_workers(run->context) : workers;
}

void dw_input_options_free(struct input_options *options)
{
	dw_filter_free(options->filter);
	for (size_t i = 0; i < options->path_count; i++)
		dw_free(options->paths[i]);
	dw_free(options->paths);
}

void dwarfs_builder_set_include(dwarfs_builder *builder, dwarfs_include_fn include,
				void *user)
{
	if (!builder)
		return;
	builder->options.input.include = include;
	builder->options.input.include_user = user;
}

void dwarfs_builder_set_filter_report(dwarfs_builder *builder,
				      dwarfs_filter_report_fn report, void *user)
{
	if (!builder)
		return;
	builder->options.input.report = report;
	builder->options.input.report_user = user;
}

void dwarfs_builder_set_remove_empty_directories(dwarfs_builder *builder, bool remove)
{
	if (!builder)
		return;
	builder->options.input.remove_empty_directories = remove;
}

int dwarfs_builder_add_filter(dwarfs_builder *builder, const char *rule,
			      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !rule)
		return dw_fail_null(err, "builder and rule");
	if (builder->ran)
		return dw_fail_ran(err);

	struct input_options *options = &builder->options.input;
	int ret;

	if (!options->filter && (ret = dw_filter_new(&options->filter, err)) < 0)
		return ret;
	return dw_filter_add(options->filter, rule, err);
}

int dwarfs_builder_add_path(dwarfs_builder *builder, const char *path, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !path)
		return dw_fail_null(err, "builder and path");
	if (builder->ran)
		return dw_fail_ran(err);

	struct input_options *options = &builder->options.input;
	auto_free char *copy = dw_strdup(path);
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if ((ret = dw_grow(&options->paths, &options->path_room, options->path_count + 1,
			   err)) < 0)
		return ret;
	options->paths[options->path_count++] = dw_steal(copy);
	return 0;
}

int dwarfs_builder_set_file_hash(dwarfs_builder *builder, const char *name,
				 dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !name)
		return dw_fail_null(err, "builder and name");
	if (builder->ran)
		return dw_fail_ran(err);

	const char *known;

	if (strcmp(name, "none") == 0) {
		builder->options.input.file_hash = NULL;
		return 0;
	}
	for (size_t i = 0; (known = dwarfs_digest_name(i)) != NULL; i++) {
		if (strcasecmp(known, name) == 0) {
			builder->options.input.file_hash = known;
			return 0;
		}
	}
	return dw_fail(err, DWARFS_ERR_INVALID, "unknown file hash function: %s", name);
}

void dwarfs_builder_set_hollow(dwarfs_builder *builder, bool hollow)
{
	if (!builder)
		return;
	builder->options.input.hollow = hollow;
}

int dwarfs_builder_set_scan_workers(dwarfs_builder *builder, uint32_t workers,
				    dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	if (workers > MAX_WORKERS)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%" PRIu32 " workers: at most %d are possible", workers,
			       MAX_WORKERS);
	builder->options.input.workers = workers;
	return 0;
}
