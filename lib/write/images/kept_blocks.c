/* SPDX-License-Identifier: MIT */
/*
 * write/images/kept_blocks: the blocks of source images that a new image keeps.
 *
 * Finds the blocks that are needed (needed_blocks.c), each of equal ones once
 * (equal_blocks.c), and gives them places in the new image. kept_block_writer.c writes
 * them, and kept_chunks.c moves the chunks to the new places.
 */
#include "codec/codec.h"
#include "write/categorize/categorize.h"
#include "write/images/kept_blocks.h"
#include "write/images/needed_blocks.h"
#include "write/items/assembly.h"
#include "write/segment/segmenter.h"

void dw_kept_blocks_free(struct kept_blocks *kept)
{
	for (size_t i = 0; i < kept->image_count; i++)
		dw_free(kept->places[i]);
	dw_free(kept->places);
	dw_free(kept->list);
	*kept = (struct kept_blocks){ 0 };
}

/* -- where they go --------------------------------------------------------------------- */

static int compare_streams(const void *left, const void *right)
{
	const struct kept_block *a = left, *b = right;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	return a->block < b->block ? -1 : a->block > b->block;
}

/* The stream of a block: of its category, with the metadata that the image has of it. */
static int find_stream(struct contents *contents, const struct source_block *block,
		       uint32_t *stream_out, dwarfs_error **err)
{
	const struct samples_kind *kind = dw_category_samples(block->category);
	struct codec_samples samples = { 0 };

	if (kind && block->metadata_json)
		dw_samples_from_json(kind, block->metadata_json, &samples);
	return dw_streams_find(&contents->streams, block->category, 0, &samples,
			       block->metadata_json, stream_out, err);
}

/* Whether the codec that a block is to be compressed with can compress it. */
static int check_codec(const struct build_run *run, const struct contents *contents,
		       const struct kept_block *kept, dwarfs_error **err)
{
	const struct stream *stream = &contents->streams.list[kept->stream];
	const struct codec_spec *codec = &run->settings[stream->category].codec;
	const struct samples_kind *kind = dw_codec_samples(codec->id);
	int ret = kind ? dw_samples_check(kind, &stream->samples, err) : 0;

	return ret < 0 ? dw_explain(err, ret,
				    "'%s': block %" PRIu32 " of category '%s': %s",
				    kept->image->name, kept->block,
				    dw_category_name(&run->options->categorize,
						     stream->category),
				    dw_codec_name(codec->id))
		       : 0;
}

/* What is stored uncompressed, and would be again, is copied. */
static void choose_action(const struct build_run *run, const struct source_image *image,
			  uint32_t number)
{
	struct source_block *block = &image->blocks[number];

	if (block->action == BLOCK_COMPRESS && block->compression == CODEC_NONE &&
	    !image->changes_block_size &&
	    run->settings[block->category].codec.id == CODEC_NONE)
		block->action = BLOCK_COPY;
}

static int list_blocks(struct build_run *run, struct source_image *image,
		       const struct kept_place *places, struct contents *contents,
		       struct kept_blocks *kept, dwarfs_error **err)
{
	for (uint32_t i = 0; i < image->block_count; i++) {
		struct kept_block *block;
		int ret;

		if (places[i].number == DW_NONE)
			continue;
		if ((ret = dw_grow(&kept->list, &kept->room, kept->count + 1, err)) < 0)
			return ret;
		choose_action(run, image, i);
		block = &kept->list[kept->count];
		*block = (struct kept_block){ image, i, 0 };
		if ((ret = find_stream(contents, &image->blocks[i], &block->stream,
				       err)) < 0 ||
		    (image->blocks[i].action == BLOCK_COMPRESS &&
		     (ret = check_codec(run, contents, block, err)) < 0))
			return ret;
		kept->count++;
	}
	return 0;
}

/* Divide the bytes of the blocks of each stream into new blocks, from number *next on. */
static int divide_blocks(const struct build_run *run, const struct contents *contents,
			 struct kept_blocks *kept, size_t from, struct kept_place *places,
			 uint64_t *next, dwarfs_error **err)
{
	uint64_t at = 0, bytes;
	size_t unit = 0;
	int ret;

	qsort(kept->list + from, kept->count - from, sizeof(*kept->list),
	      compare_streams);
	for (size_t i = from; i < kept->count; i++) {
		const struct kept_block *block = &kept->list[i];

		if (i == from || block->stream != block[-1].stream) {
			*next += unit ? (at + unit - 1) / unit : 0;
			unit = dw_block_bytes(run->options,
					      &contents->streams.list[block->stream]);
			at = 0;
		}
		if ((ret = dw_source_block_bytes(block->image, block->block, &bytes,
						 err)) < 0)
			return ret;
		if (*next + (at + bytes) / unit >= UINT32_MAX)
			return dw_fail(err, DWARFS_ERR_RANGE,
				       "too many blocks for one image");
		places[block->block].number = (uint32_t)(*next + at / unit);
		places[block->block].offset = (uint32_t)(at % unit);
		places[block->block].unit = unit;
		at += bytes;
	}
	*next += unit ? (at + unit - 1) / unit : 0;
	kept->are_divided = true;
	return 0;
}

/* Give the needed blocks of an image their places, from number *next on. */
static int place_blocks(struct build_run *run, struct source_image *image,
			struct kept_place *places, struct contents *contents,
			struct kept_blocks *kept, uint64_t *next, dwarfs_error **err)
{
	size_t from = kept->count;
	int ret = list_blocks(run, image, places, contents, kept, err);

	if (ret < 0)
		return ret;
	if (image->changes_block_size)
		return kept->count == from ? 0
					   : divide_blocks(run, contents, kept, from,
							   places, next, err);
	if (*next + (kept->count - from) >= UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many blocks for one image");
	for (size_t i = from; i < kept->count; i++)
		places[kept->list[i].block].number = (uint32_t)(*next)++;
	return 0;
}

/* Places of all blocks of an image; none is needed yet. */
static int add_places(struct kept_blocks *kept, const struct source_image *image,
		      dwarfs_error **err)
{
	struct kept_place *places = dw_calloc(image->block_count, sizeof(*places));

	if (!places)
		return dw_fail_nomem(err);
	for (uint32_t i = 0; i < image->block_count; i++) {
		places[i].image = (uint32_t)kept->image_count;
		places[i].block = i;
	}
	dw_needed_blocks_clear(image, places);
	kept->places[kept->image_count++] = places;
	return 0;
}

int dw_kept_blocks_find(struct build_run *run, const struct tree *tree,
			struct contents *contents, struct kept_blocks *kept,
			dwarfs_error **err)
{
	const struct assembly *assembly = run->assembly;
	uint64_t next = 0;
	int ret;

	if (!assembly || assembly->image_count == 0)
		return 0;
	kept->places = dw_calloc(assembly->image_count, sizeof(*kept->places));
	if (!kept->places)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < assembly->image_count; i++)
		if ((ret = add_places(kept, assembly->images[i], err)) < 0)
			return ret;
	if ((ret = dw_needed_blocks_find(run, tree, contents, kept, err)) < 0)
		return ret;
	for (size_t i = 0; i < assembly->image_count; i++)
		if ((ret = place_blocks(run, assembly->images[i], kept->places[i],
					contents, kept, &next, err)) < 0)
			return ret;
	return 0;
}

int dw_kept_blocks_find_all(struct build_run *run, struct source_image *image,
			    struct contents *contents, struct kept_blocks *kept,
			    dwarfs_error **err)
{
	uint64_t next = 0;
	int ret;

	if (!(kept->places = dw_calloc(1, sizeof(*kept->places))))
		return dw_fail_nomem(err);
	if ((ret = add_places(kept, image, err)) < 0)
		return ret;
	for (uint32_t i = 0; i < image->block_count; i++)
		kept->places[0][i].number = 0;
	return place_blocks(run, image, kept->places[0], contents, kept, &next, err);
}

uint64_t dw_kept_blocks_most_input(const struct kept_blocks *kept)
{
	uint64_t most = 0;

	for (size_t i = 0; i < kept->count; i++) {
		const struct source_image *image = kept->list[i].image;

		if (image->changes_block_size)
			most += dw_kept_blocks_bytes(kept, i, 0);
		else if (image->blocks[kept->list[i].block].action == BLOCK_COMPRESS)
			most += UINT64_C(1) << image->block_bits;
	}
	return most;
}

uint64_t dw_kept_blocks_bytes(const struct kept_blocks *kept, size_t index,
			      uint64_t unknown)
{
	const struct kept_block *block = &kept->list[index];
	uint64_t bytes;

	return block->image->ops->block_bytes(block->image->user, block->block, &bytes,
					      NULL) == 0
		       ? bytes
		       : unknown;
}

int64_t dw_kept_blocks_read(const struct kept_blocks *kept, size_t index, void *buffer,
			    size_t size, uint64_t offset, dwarfs_error **err)
{
	const struct kept_block *block = &kept->list[index];

	int64_t got = block->image->ops->read_block(block->image->user, block->block,
						    buffer, size, offset, err);

	return got < 0 ? dw_explain(err, (int)got, "'%s'", block->image->name) : got;
}
