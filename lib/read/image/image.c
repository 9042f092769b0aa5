/* SPDX-License-Identifier: MIT */
/*
 * read/image/image: open an image. The calls, from the top down (read/file.c has those of a
 * read):
 *
 *	dwarfs_image_open()
 *	  dwarfs_io_open()		io.c		the source of bytes
 *	  dwarfs_image_open_io()	open_source():
 *	    dw_image_begin()
 *	      dw_cache_of()		cache/		the block cache of the context
 *	      dw_locate_start()		locate.c	skip a prefix before the image
 *	      dw_locate_sections()	locate.c	by the index, or by headers
 *	    load_view()
 *	      dw_stored_read()		verify.c	the stored bytes of a section
 *	      dw_verify_xxh3()		verify.c	their hash
 *	      dw_unpack_section()	decompress.c	decompress them
 *	      dw_view_new()		metadata/	find tables, check bounds
 *	    check_v1()			check/		all rules, for version 1
 *	    dw_image_find_xattrs()	xattr.c		locate the extended attributes
 *	    dw_image_find_digests()	image_digests.c	locate the digests
 *	    dw_verifier_start()		verify.c	hash metadata on a thread
 *
 * Takes a path or a source and options; gives an image that never changes afterwards.
 * Reads the index, the schema and the metadata, but no block: blocks belong to the
 * context's cache.
 */
#include "base/context.h"
#include "read/image/image.h"
#include "read/image/opening.h"
#include "read/salvage/salvage.h"

struct dwarfs_image_options {
	uint64_t offset, bytes;
	bool is_lazy, trusts_blocks, is_mapped;
	int salvage;
	const dwarfs_task *task; /* or NULL */
};

int dwarfs_image_options_new(dwarfs_image_options **options_out, dwarfs_error **err)
{
	if (!options_out)
		return dw_fail_null(err, "options_out");

	dwarfs_image_options *options = dw_calloc(1, sizeof(*options));

	if (!options)
		return dw_fail_nomem(err);
	options->offset = DWARFS_OFFSET_AUTO;
	options->bytes = DWARFS_SIZE_AUTO;
	*options_out = options;
	return 0;
}

void dwarfs_image_options_free(dwarfs_image_options *options)
{
	dw_free(options);
}

void dwarfs_image_options_set_offset(dwarfs_image_options *options, uint64_t offset)
{
	if (!options)
		return;
	options->offset = offset;
}

void dwarfs_image_options_set_bytes(dwarfs_image_options *options, uint64_t bytes)
{
	if (!options)
		return;
	options->bytes = bytes;
}

void dwarfs_image_options_set_verify(dwarfs_image_options *options,
				     enum dwarfs_verify mode)
{
	if (!options)
		return;
	options->is_lazy = mode == DWARFS_VERIFY_LAZY;
	options->trusts_blocks = mode == DWARFS_VERIFY_NO_BLOCKS;
}

void dwarfs_image_options_set_task(dwarfs_image_options *options, const dwarfs_task *task)
{
	if (!options)
		return;
	options->task = task;
}

void dwarfs_image_options_set_mapped(dwarfs_image_options *options, bool is_mapped)
{
	if (!options)
		return;
	options->is_mapped = is_mapped;
}

void dwarfs_image_options_set_salvage(dwarfs_image_options *options,
				      enum dwarfs_salvage mode)
{
	if (!options)
		return;

	const bool is_known =
		mode == DWARFS_SALVAGE_INTACT || mode == DWARFS_SALVAGE_ZEROS;

	options->salvage = is_known ? (int)mode : DWARFS_SALVAGE_OFF;
}

dwarfs_image *dwarfs_image_ref(const dwarfs_image *image)
{
	if (!image)
		return NULL;

	dwarfs_image *mutable = (dwarfs_image *)image;

	atomic_fetch_add(&mutable->references, 1);
	return mutable;
}

void dwarfs_image_free(dwarfs_image *image)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || atomic_fetch_sub(&image->references, 1) != 1)
		return;
	if (image->slots)
		dw_cache_forget(image);
	dw_free(image->slots);
	dw_image_free_xattrs(image);
	dw_image_free_digests(image);
	dw_verifier_free(&image->verifier);
	dw_view_free(image->view);
	dw_stored_free(&image->metadata_stored);
	dw_free(image->metadata_owned);
	dw_free(image->blocks);
	dw_free(image->sections);
	dw_salvage_free(image->salvage);
	dw_opening_free(image->opening);
	dwarfs_io_free(image->io);
	dwarfs_context_free(image->context);
	dw_free(image);
}

dwarfs_context *dwarfs_image_context(const dwarfs_image *image)
{
	if (!image)
		return NULL;
	return image->context;
}

DW_DEFINE_AUTO(image, dwarfs_image *, dwarfs_image_free)
#define auto_image DW_AUTO(image)

static int set_source_range(dwarfs_image *image, const dwarfs_image_options *options,
			    dwarfs_error **err)
{
	uint64_t size = dwarfs_io_bytes(image->io);
	uint64_t offset = options ? options->offset : DWARFS_OFFSET_AUTO;
	int ret;

	if (offset == DWARFS_OFFSET_AUTO) {
		ret = image->salvage ? dw_salvage_start(image, err)
				     : dw_locate_start(image, err);
		if (ret < 0)
			return ret;
	} else if (offset > size) {
		return dw_fail(err, DWARFS_ERR_NOT_IMAGE,
			       "not a DwarFS image: offset %" PRIu64
			       " is past the end at %" PRIu64,
			       offset, size);
	} else {
		image->start = offset;
	}
	image->bytes = size - image->start;
	if (!options || options->bytes == DWARFS_SIZE_AUTO)
		return 0;
	if (options->bytes > image->bytes)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "an image of %" PRIu64
			       " bytes cannot be at offset %" PRIu64 " of %" PRIu64
			       " bytes",
			       options->bytes, image->start, size);
	image->bytes = options->bytes;
	return 0;
}

static uint64_t metadata_limit(const dwarfs_image *image, uint32_t section)
{
	uint64_t stored = image->sections[section].room, limit;

	if (!dw_mul(stored, (uint64_t)DW_METADATA_RATIO, &limit))
		return UINT64_MAX;
	return limit < DW_METADATA_LIMIT ? DW_METADATA_LIMIT : limit;
}

/* Whether metadata can be used in place: not compressed, and with DW_FROZEN_PADDING
 * readable bytes after it. */
static bool stays_in_place(const dwarfs_image *image, const struct stored *stored)
{
	uint64_t end = image->start + image->sections[image->metadata].offset +
		       stored->header_bytes + stored->header.length;

	return stored->header.compression == CODEC_NONE &&
	       (stored->owned || dwarfs_io_bytes(image->io) - end >= DW_FROZEN_PADDING);
}

static int load_metadata(dwarfs_image *image, struct span *metadata_out,
			 dwarfs_error **err)
{
	struct stored *stored = &image->metadata_stored;
	bool in_place;
	uint64_t size;
	int ret;

	if (dw_unpacks_in_pieces(image, image->metadata) &&
	    dw_unpack_in_pieces(image, image->metadata,
				metadata_limit(image, image->metadata), DW_FROZEN_PADDING,
				&image->metadata_owned, &size)) {
		*metadata_out = (struct span){ image->metadata_owned, (size_t)size };
		return 0;
	}
	ret = image->is_lazy ? dw_stored_look(image, image->metadata, stored, err)
			     : dw_stored_read(image, image->metadata, stored, err);
	if (ret < 0)
		return ret;
	in_place = stays_in_place(image, stored);
	if (!(in_place && image->is_lazy) &&
	    (ret = dw_verify_xxh3(image, image->metadata, stored, err)) < 0)
		return ret;
	if (in_place) {
		*metadata_out = dw_stored_payload(stored);
		return 0;
	}
	ret = dw_unpack_section(image, image->metadata, stored,
				metadata_limit(image, image->metadata), DW_FROZEN_PADDING,
				&image->metadata_owned, &size, err);
	dw_stored_free(stored);
	if (ret == 0)
		*metadata_out = (struct span){ image->metadata_owned, (size_t)size };
	return ret;
}

static int load_view(dwarfs_image *image, dwarfs_error **err)
{
	auto_free uint8_t *schema = NULL;
	struct span metadata;
	uint64_t schema_size;
	int ret;

	if (image->schema == DW_SECTION_LOST || image->metadata == DW_SECTION_LOST)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "the metadata is lost");
	if ((ret = dw_load_section(image, image->schema, DW_METADATA_LIMIT, 0, &schema,
				   &schema_size, err)) < 0 ||
	    (ret = load_metadata(image, &metadata, err)) < 0)
		return ret;
	return dw_view_new((struct span){ schema, (size_t)schema_size }, metadata,
			   image->block_count, &image->view, err);
}

/* Images without hashes are accepted only if they obey every rule of the format. */
static int check_v1(dwarfs_image *image, dwarfs_error **err)
{
	if (!dw_image_is_v1(image) || image->salvage)
		return 0;
	return dw_view_check(image->view, image->block_count, NULL, NULL, err);
}

int dw_image_begin(dwarfs_context *context, dwarfs_io *io,
		   const dwarfs_image_options *options, int salvage,
		   dwarfs_image **image_out, dwarfs_error **err)
{
	auto_image dwarfs_image *image = NULL;
	int ret;

	if (dwarfs_io_is_stream(io))
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "%s is a stream, which can be read only from its start",
			       dw_io_title(io));
	if (!(image = dw_calloc(1, sizeof(*image))))
		return dw_fail_nomem(err);
	atomic_init(&image->references, 1);
	image->io = dw_io_ref(io);
	if (salvage != DWARFS_SALVAGE_OFF && !(image->salvage = dw_salvage_new(salvage)))
		return dw_fail_nomem(err);
	image->is_lazy = options && options->is_lazy && !image->salvage;
	image->trusts_blocks = options && options->trusts_blocks;
	image->is_mapped = options && options->is_mapped;
	if (!(image->opening = dw_calloc(1, sizeof(*image->opening))))
		return dw_fail_nomem(err);
	dw_progress_start(&image->opening->progress, options ? options->task : NULL);
	if ((ret = dw_progress_enter(&image->opening->progress, DWARFS_PHASE_OPEN, err)) <
	    0)
		return ret;
	if (image->is_mapped)
		dw_io_make_map(io);
	if ((ret = dw_context_use(context, &image->context, err)) < 0 ||
	    (ret = dw_cache_of(image->context, &image->cache, err)) < 0 ||
	    (ret = set_source_range(image, options, err)) < 0 ||
	    (ret = dw_locate_sections(image, err)) < 0)
		return ret;
	*image_out = dw_steal(image);
	return 0;
}

static int open_io(dwarfs_context *context, dwarfs_io *io,
		   const dwarfs_image_options *options, dwarfs_image **image_out,
		   dwarfs_error **err)
{
	const int salvage = options ? options->salvage : DWARFS_SALVAGE_OFF;
	auto_image dwarfs_image *image = NULL;
	struct opening *opening;
	int ret;

	if ((ret = dw_image_begin(context, io, options, salvage, &image, err)) < 0 ||
	    (ret = load_view(image, err)) < 0 || (ret = check_v1(image, err)) < 0 ||
	    (ret = dw_opening_tick(image, err)) < 0)
		return ret;
	image->latency = dw_context_latency(image->context);
	dw_image_find_xattrs(image);
	dw_image_find_digests(image);
	if ((ret = dw_salvage_xattrs(image, err)) < 0)
		return ret;
	image->slots = dw_calloc(image->block_count, sizeof(*image->slots));
	if (!image->slots)
		return dw_fail_nomem(err);
	opening = dw_steal(image->opening);
	if (image->is_lazy && !dw_image_is_v1(image) && image->metadata_stored.bytes)
		ret = dw_verifier_start(image, err);
	if (ret == 0)
		dw_progress_done(&opening->progress);
	dw_opening_free(opening);
	if (ret < 0)
		return ret;
	*image_out = dw_steal(image);
	return 0;
}

int dwarfs_image_open_io(dwarfs_context *context, dwarfs_io *io,
			 const dwarfs_image_options *options, dwarfs_image **image_out,
			 dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!io || !image_out)
		return dw_fail_null(err, "io and image_out");

	int ret = open_io(context, io, options, image_out, err);

	if (ret < 0 && dwarfs_io_name(io)) {
		dw_explain(err, ret, "'%s'", dwarfs_io_name(io));
		dw_error_at_path(err, ret, dwarfs_io_name(io));
	}
	return ret;
}

int dwarfs_image_open(dwarfs_context *context, const char *path,
		      const dwarfs_image_options *options, dwarfs_image **image_out,
		      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!path || !image_out)
		return dw_fail_null(err, "path and image_out");

	auto_io dwarfs_io *io = NULL;
	int ret;

	if ((ret = dwarfs_io_open(path, &io, err)) < 0)
		return ret;
	return dwarfs_image_open_io(context, io, options, image_out, err);
}
