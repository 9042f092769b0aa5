/* SPDX-License-Identifier: MIT */
/*
 * write/builder: create and free a builder, set its input, run it. See
 * <dwarfs/builder.h>.
 *
 * The setters of its options are in options/ and in the folders of the stages.
 */
#include <errno.h>
#include <string.h>

#include "os/file_io.h"
#include "write/builder.h"
#include "write/categorize/categorize.h"
#include "write/items/assembly.h"
#include "write/options/input_options.h"
#include "write/order/order.h"

#define DEFAULT_LEVEL 7
#define DEFAULT_UMASK 022

/* A reader caches the first NEAR_BYTES in any case. In data stored after them, a
 * directory may refer to FOREIGN_BYTES of blocks other than its own. */
#define NEAR_BYTES    (UINT64_C(256) << 20)
#define FOREIGN_BYTES (UINT64_C(32) << 20)

/* -- create and free ----------------------------------------------------------------- */

int dwarfs_builder_new(dwarfs_context *context, dwarfs_builder **builder_out,
		       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!builder_out)
		return dw_fail_null(err, "builder_out");

	dwarfs_builder *builder = dw_calloc(1, sizeof(*builder));
	int ret;

	if (!builder)
		return dw_fail_nomem(err);
	if ((ret = dw_context_use(context, &builder->context, err)) < 0) {
		dw_free(builder);
		return ret;
	}
	builder->root_fd = -1;
	builder->spool_bytes = UINT64_MAX;
	builder->level = DEFAULT_LEVEL;
	builder->options = (struct build_options){
		.sparse_files = true,
		.umask = DEFAULT_UMASK,
		.resolution_ns = DW_NS_PER_SECOND,
		.packing = dw_packing_auto(),
		.hardlink_table = true,
		.section_index = true,
		.create_timestamp = true,
		.version_history = true,
		.max_unused = 100,
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
	if (!builder)
		return NULL;
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
		dw_free(options->arguments[i]);
	dw_free(options->arguments);
	for (size_t i = 0; i < options->override_count; i++)
		dw_order_spec_free(&options->overrides[i].values.order);
	dw_free(options->overrides);
	dw_categorize_options_free(&options->categorize);
	dw_input_options_free(&options->input);
	dw_buffer_free(&options->header);
	dw_free(options->recompress_categories);
	dw_free(builder->settings);
	dw_free(builder->totals);
	dw_assembly_free(builder->assembly);
	dw_free(builder->spool_directory);
	dw_fd_close(builder->root_fd);
	dw_free(builder->root_path);
	dwarfs_context_free(builder->context);
	dw_free(builder);
}

/* -- input --------------------------------------------------------------------------- */

int dwarfs_builder_add_directory(dwarfs_builder *builder, const char *path,
				 dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !path)
		return dw_fail_null(err, "builder and path");
	if (builder->ran)
		return dw_fail_ran(err);

	auto_free char *copy = dw_strdup(path);
	auto_fd int fd = -1;
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if (builder->root_fd >= 0)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "the builder has an input already: '%s'",
			       builder->root_path);
	if (builder->assembly)
		return dw_fail(
			err, DWARFS_ERR_INVALID,
			"the builder has items already, so it cannot have a directory");
	ret = dw_dir_open(path, &fd);
	if (ret == -ENOTDIR)
		ret = dw_fail(err, DWARFS_ERR_NOT_DIR, "'%s' must be a directory", path);
	else if (ret < 0)
		ret = dw_fail_errno(err, -ret, "cannot open '%s'", path);
	if (ret < 0)
		return dw_error_at_path(err, ret, path);
	for (size_t end = strlen(copy); end > 1 && copy[end - 1] == '/';)
		copy[--end] = '\0'; /* messages append '/' and the path below */
	builder->root_fd = fd;
	fd = -1;
	builder->root_path = dw_steal(copy);
	return 0;
}

/* -- run ----------------------------------------------------------------------------- */

void dwarfs_builder_set_task(dwarfs_builder *builder, const dwarfs_task *task)
{
	if (!builder)
		return;
	builder->task = task;
}

static int check_ready(dwarfs_builder *builder, dwarfs_error **err)
{
	if (builder->root_fd < 0 && !builder->assembly)
		return dw_fail(err, DWARFS_ERR_INVALID, "the builder has no input");
	if (builder->assembly && builder->options.input.paths)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "a list of paths needs a directory");
	if (builder->ran)
		return dw_fail(err, DWARFS_ERR_INVALID, "a builder runs only once");
	return dw_settings_resolve(builder, err);
}

int dwarfs_builder_write(dwarfs_builder *builder, dwarfs_sink *sink, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	int ret;

	if (!builder || !sink)
		return dw_fail_null(err, "builder and sink");
	if ((ret = check_ready(builder, err)) < 0 || (ret = dw_sink_begin(sink, err)) < 0)
		return ret;
	builder->ran = true;
	return dw_build(builder, sink, err);
}

int dwarfs_builder_write_path(dwarfs_builder *builder, const char *path, bool overwrite,
			      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	auto_sink dwarfs_sink *sink = NULL;
	int ret;

	if (!builder || !path)
		return dw_fail_null(err, "builder and path");
	if ((ret = check_ready(builder, err)) < 0 ||
	    (ret = dwarfs_sink_open(path, overwrite, &sink, err)) < 0)
		return ret;
	return dwarfs_builder_write(builder, sink, err);
}

int dwarfs_builder_scan(dwarfs_builder *builder, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");

	int ret = check_ready(builder, err);

	if (ret < 0)
		return ret;
	builder->ran = true;
	return dw_build_scan(builder, err);
}

uint64_t dwarfs_builder_count(const dwarfs_builder *builder, enum dwarfs_count count)
{
	if (!builder)
		return 0;
	if (count < 0 || count >= DW_COUNT_KINDS)
		return 0;
	return builder->counts[count];
}

size_t dwarfs_builder_category_count(const dwarfs_builder *builder)
{
	if (!builder)
		return 0;
	return builder->total_count;
}

const char *dwarfs_builder_category_name(const dwarfs_builder *builder, size_t index)
{
	if (!builder)
		return NULL;
	if (index >= builder->total_count)
		return NULL;
	return dw_category_name(&builder->options.categorize, (uint32_t)index);
}

int dwarfs_builder_category_bytes(const dwarfs_builder *builder, size_t index,
				  uint64_t *in_out, uint64_t *stored_out,
				  uint64_t *packed_out)
{
	if (!builder || !in_out || !stored_out || !packed_out)
		return DWARFS_ERR_INVALID;
	if (index >= builder->total_count)
		return DWARFS_ERR_RANGE;
	*in_out = builder->totals[index].in;
	*stored_out = builder->totals[index].stored;
	*packed_out = builder->totals[index].packed;
	return 0;
}
