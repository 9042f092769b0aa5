/* SPDX-License-Identifier: MIT */
/*
 * rewrite/rewrite: write an image anew. See <dwarfs/rewrite.h>.
 *
 * With a rebuild, the entries of the image become those of the builder, which runs as
 * usual. Without one, the sections are copied one by one (write/build.c), and only blocks
 * and metadata are compressed again, if requested.
 */
#include <string.h>

#include "read/image/image.h"
#include "rewrite/add_image.h"
#include "rewrite/image_source.h"
#include "rewrite/source_sections.h"
#include "rewrite/versions.h"
#include "write/builder.h"
#include "write/images/source_image.h"
#include "write/categorize/categorize.h"

#define ALL_PARTS                                                                        \
	(DWARFS_REWRITE_BLOCKS | DWARFS_REWRITE_METADATA | DWARFS_REWRITE_REBUILD |      \
	 DWARFS_REWRITE_BLOCK_SIZE)

/* -- options --------------------------------------------------------------------------- */

int dwarfs_builder_set_recompress_categories(dwarfs_builder *builder,
					     const char *categories, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);

	char *copy = categories ? dw_strdup(categories) : NULL;

	if (categories && !copy)
		return dw_fail_nomem(err);
	dw_free(builder->options.recompress_categories);
	builder->options.recompress_categories = copy;
	return 0;
}

void dwarfs_builder_set_version_history(dwarfs_builder *builder, bool store)
{
	if (!builder)
		return;
	builder->options.version_history = store;
}

int dwarfs_builder_set_max_unused(dwarfs_builder *builder, uint32_t percent,
				  dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	if (percent > 100)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%" PRIu32 " percent of a block: it is 0 to 100", percent);
	builder->options.max_unused = percent;
	return 0;
}

static int check_parts(uint32_t parts, dwarfs_error **err)
{
	uint32_t needed = DWARFS_REWRITE_BLOCKS | DWARFS_REWRITE_REBUILD;

	if (parts & ~(uint32_t)ALL_PARTS)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "no such part of an image: 0x%" PRIx32,
			       parts & ~(uint32_t)ALL_PARTS);
	if ((parts & DWARFS_REWRITE_BLOCK_SIZE) && (parts & needed) != needed)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "another block size needs all blocks compressed again and "
			       "the metadata rebuilt");
	return 0;
}

static int check_builder(const dwarfs_builder *builder, dwarfs_error **err)
{
	if (builder->ran)
		return dw_fail_ran(err);
	if (builder->assembly || builder->root_fd >= 0)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "the builder has an input already");
	return 0;
}

/* Attributes cannot become more exact than they are, and holes stay holes. */
static int check_attributes(const dwarfs_builder *builder, const dwarfs_image *image,
			    dwarfs_error **err)
{
	const struct build_options *options = &builder->options;
	uint64_t from = dwarfs_image_time_resolution_ns(image),
		 to = options->resolution_ns;

	if (!options->sparse_files && image->view->has_holes)
		return dw_fail(
			err, DWARFS_ERR_INVALID,
			"cannot disable sparse files when the input filesystem uses "
			"them");
	if (!options->resolution_was_set || from == 0)
		return 0;
	if (to < from)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "cannot give times a resolution of %" PRIu64
			       " ns: that of the image is %" PRIu64 " ns",
			       to, from);
	if (to % from != 0)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "a time resolution of %" PRIu64
			       " ns is not a multiple of that of the image, %" PRIu64
			       " ns",
			       to, from);
	return 0;
}

/* -- which blocks ---------------------------------------------------------------------- */

/* Whether a list of names with commas between them has a name. */
static bool has_name(const char *list, const char *name)
{
	size_t bytes = strlen(name);

	for (; *list; list += *list == ',') {
		size_t length = strcspn(list, ",");

		if (length == bytes && memcmp(list, name, bytes) == 0)
			return true;
		list += length;
	}
	return false;
}

/* Each name of the list is that of a category of the image. */
static int check_categories(const dwarfs_image *image, const char *list,
			    dwarfs_error **err)
{
	for (; *list; list += *list == ',') {
		size_t length = strcspn(list, ",");
		bool is_known = length == 0;
		const char *name;

		for (size_t i = 0; (name = dwarfs_image_category(image, i)); i++)
			is_known |=
				strlen(name) == length && memcmp(name, list, length) == 0;
		if (!is_known)
			return dw_fail(err, DWARFS_ERR_INVALID,
				       "no category '%.*s' in input filesystem",
				       (int)length, list);
		list += length;
	}
	return 0;
}

static bool is_wanted(const dwarfs_image *image, uint32_t block, const char *list)
{
	int64_t number = dwarfs_image_block_category(image, block);
	const char *name =
		number < 0 ? NULL : dwarfs_image_category(image, (size_t)number);

	if (!list || !name)
		return true;
	return *list == '!' ? !has_name(list + 1, name) : has_name(list, name);
}

/* Choose what is done with each block. */
static int choose_actions(const dwarfs_builder *builder, const dwarfs_image *image,
			  uint32_t parts, struct source_image *source, dwarfs_error **err)
{
	const char *list = builder->options.recompress_categories;
	int ret;

	if (!(parts & DWARFS_REWRITE_BLOCKS))
		return 0;
	if ((list &&
	     (ret = check_categories(image, *list == '!' ? list + 1 : list, err)) < 0) ||
	    (ret = dw_source_load_codecs(image, source, err)) < 0)
		return ret;
	source->changes_block_size = (parts & DWARFS_REWRITE_BLOCK_SIZE) != 0;
	for (uint32_t i = 0; i < source->block_count; i++) {
		struct source_block *block = &source->blocks[i];

		if (is_wanted(image, i, list))
			block->action = BLOCK_COMPRESS;
	}
	return 0;
}

/* -- the two ways ---------------------------------------------------------------------- */

static int rebuild(dwarfs_builder *builder, dwarfs_image *image, uint32_t parts,
		   dwarfs_sink *sink, dwarfs_error **err)
{
	struct source_image *source;
	int ret;

	if ((ret = dw_import_image(builder, image, (struct span){ 0 }, DWARFS_KEEP_BLOCKS,
				   &source, err)) < 0 ||
	    (ret = choose_actions(builder, image, parts, source, err)) < 0)
		return ret;
	if (!(parts & DWARFS_REWRITE_BLOCK_SIZE)) {
		builder->options.block_bits = source->block_bits;
		builder->block_bits_was_set = true;
	}
	return dwarfs_builder_write(builder, sink, err);
}

static int copy(dwarfs_builder *builder, dwarfs_image *image, uint32_t parts,
		dwarfs_sink *sink, dwarfs_error **err)
{
	__attribute__((cleanup(dw_cleanup_source_image))) struct source_image *source =
		NULL;
	int ret;

	if ((ret = dw_source_of_image(builder, image, true, &source, err)) < 0)
		return ret;
	if (builder->options.digests == DWARFS_DIGESTS_ALWAYS && !source->has_digests)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "digests are made only if the metadata is rebuilt");
	if ((ret = dw_source_load_sections(image, (parts & DWARFS_REWRITE_METADATA) != 0,
					   source, err)) < 0 ||
	    (ret = choose_actions(builder, image, parts, source, err)) < 0 ||
	    (ret = dw_settings_resolve(builder, err)) < 0)
		return ret;
	if (builder->options.block_bits < source->block_bits)
		builder->options.block_bits = source->block_bits;
	builder->options.least_block_bits = source->block_bits;
	if ((ret = dw_sink_begin(sink, err)) < 0)
		return ret;
	builder->ran = true;
	/* The files are not visited. */
	builder->counts[DWARFS_COUNT_BYTES_IN] = dwarfs_image_original_bytes(image);
	return dw_build_copy(builder, source, sink, err);
}

int dwarfs_rewrite(dwarfs_image *image, uint32_t parts, dwarfs_builder *builder,
		   dwarfs_sink *sink, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);
	int ret;

	if (!image || !builder || !sink)
		return dw_fail_null(err, "image, builder and sink");
	if ((ret = check_parts(parts, err)) < 0 ||
	    (ret = check_builder(builder, err)) < 0 ||
	    (ret = check_attributes(builder, image, err)) < 0)
		return ret;
	return parts & DWARFS_REWRITE_REBUILD ? rebuild(builder, image, parts, sink, err)
					      : copy(builder, image, parts, sink, err);
}
