/* SPDX-License-Identifier: MIT */
/*
 * write/images/kept_block_writer: write the blocks that were kept.
 *
 * Each as it is stored, or compressed again; or their bytes in blocks of another size.
 * The anchors of a block that is copied are those of its image, or are searched for.
 */
#include "codec/codec.h"
#include "write/digests/digests.h"
#include "write/images/kept_blocks.h"
#include "write/images/needed_blocks.h"
#include "write/images/shared_blocks.h"
#include "write/segment/segmenter.h"

/* Of a block that is copied, searched for anchors at once. */
#define ANCHOR_PIECE_BYTES ((size_t)256 << 10)

/* Blocks that are compressed again, one stream after the other. */
struct block_writer {
	struct build_run *run;
	const struct contents *contents;
	struct compressor *compressor;
	struct shared_blocks shared;
	uint32_t stream; /* that the compressor is set up for, or DW_NONE */
	size_t block_bytes;
	struct block *open; /* being filled, or NULL */
};

static int close_block(struct block_writer *writer, dwarfs_error **err)
{
	struct block *block = dw_steal(writer->open);

	if (!block)
		return 0;
	block->input_bytes = block->size;
	return dw_compressor_close(writer->compressor, block, err);
}

/* Set the compressor up for the stream of a block. A block that stays one is compressed whole,
 * also if it ends within a sample. */
static int turn_to_stream(struct block_writer *writer, const struct kept_block *block,
			  dwarfs_error **err)
{
	const struct build_options *options = writer->run->options;
	uint32_t number = block->stream;
	const struct stream *stream = &writer->contents->streams.list[number];
	struct packing packing = dw_packing_of(writer->run->settings, stream->category);
	int ret;

	if (writer->stream == number)
		return 0;
	packing.codec.samples = stream->samples;
	writer->block_bytes = block->image->changes_block_size
				      ? dw_block_bytes(options, stream)
				      : (size_t)1 << options->block_bits;
	if ((ret = close_block(writer, err)) < 0 ||
	    (ret = dw_compressor_turn(writer->compressor, number, stream->category,
				      &packing, writer->block_bytes, err)) < 0)
		return ret;
	writer->stream = number;
	return 0;
}

/* Read the bytes of a block into new ones, of another block size. */
static int pack_block_again(struct block_writer *writer, const struct kept_blocks *kept,
			    size_t index, dwarfs_error **err)
{
	uint64_t at = 0;
	int64_t got;
	int ret = turn_to_stream(writer, &kept->list[index], err);

	if (ret < 0)
		return ret;
	do {
		size_t room;

		if (!writer->open && (ret = dw_compressor_open(writer->compressor,
							       &writer->open, err)) < 0)
			return ret;
		room = writer->block_bytes - writer->open->size;
		got = dw_kept_blocks_read(kept, index,
					  writer->open->data + writer->open->size, room,
					  at, err);
		if (got < 0)
			return (int)got;
		writer->open->size += (size_t)got;
		at += (uint64_t)got;
		if (writer->open->size == writer->block_bytes &&
		    (ret = close_block(writer, err)) < 0)
			return ret;
		if ((uint64_t)got < room)
			break;
	} while (got > 0);
	return 0;
}

/* Decompress a block that was read into a new one. */
static int unpack_block(struct block_writer *writer, const struct kept_block *block,
			const struct stored_section *section, dwarfs_error **err)
{
	int ret;

	if ((ret = turn_to_stream(writer, block, err)) < 0)
		return ret;
	if (section->unpacked_bytes > writer->block_bytes)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "'%s': block %" PRIu32 " has %" PRIu64 " bytes",
			       block->image->name, block->block, section->unpacked_bytes);
	if ((ret = dw_compressor_open(writer->compressor, &writer->open, err)) < 0)
		return ret;
	ret = dw_codec_unpack(section->header.compression,
			      dw_buffer_span(&section->payload), writer->open->data,
			      (size_t)section->unpacked_bytes, err);
	if (ret < 0)
		return dw_explain(err, ret, "'%s': block %" PRIu32, block->image->name,
				  block->block);
	writer->open->size = (size_t)section->unpacked_bytes;
	return close_block(writer, err);
}

/* Find the anchors of a block that is copied. A block that cannot be read has none. */
static int find_anchors(struct block_writer *writer, const struct kept_blocks *kept,
			size_t index, struct anchor_list *list, dwarfs_error **err)
{
	unsigned shift = writer->run->digests->anchors.shift;
	auto_free uint8_t *piece = dw_malloc(ANCHOR_PIECE_BYTES);
	uint64_t at = 0;
	int64_t got;

	if (!piece)
		return dw_fail_nomem(err);
	do {
		int ret;

		got = dw_kept_blocks_read(kept, index, piece, ANCHOR_PIECE_BYTES, at,
					  NULL);
		if (got == DWARFS_ERR_NOMEM)
			return dw_fail_nomem(err);
		if (got < 0) {
			dw_anchor_list_free(list);
			return 0;
		}
		if ((ret = dw_anchor_list_add(list, piece, (size_t)got, (uint32_t)at,
					      shift, err)) < 0)
			return ret;
		at += (uint64_t)got;
	} while (got == (int64_t)ANCHOR_PIECE_BYTES);
	return 0;
}

/* The anchors of a block that is copied: those that its image lists. Without these, the block
 * is decompressed only if digests are wanted in any case. */
static int add_anchors(struct block_writer *writer, const struct kept_blocks *kept,
		       size_t index, uint32_t number, dwarfs_error **err)
{
	const struct kept_block *block = &kept->list[index];
	struct digests *digests = writer->run->digests;
	__attribute__((cleanup(dw_anchor_list_free))) struct anchor_list list = { 0 };
	int ret;

	if (!digests)
		return 0;
	if ((ret = dw_digests_copy_block(digests, number, block->image, block->block,
					 err)) != 0 ||
	    writer->run->options->digests != DWARFS_DIGESTS_ALWAYS)
		return ret < 0 ? ret : 0;
	if ((ret = find_anchors(writer, kept, index, &list, err)) < 0)
		return ret;
	return dw_block_anchors_set(&digests->anchors, number, &list, err);
}

static int load_kept_block(struct block_writer *writer, const struct kept_blocks *kept,
			   size_t index, struct stored_section *section,
			   dwarfs_error **err)
{
	const struct kept_block *block = &kept->list[index];
	const struct source_image *image = block->image;
	int ret = dw_shared_blocks_load(writer->run, kept, &writer->shared, index,
					section, err);

	if (ret != 0)
		return ret;
	ret = image->ops->load_block(image->user, block->block, section, err);
	return ret < 0 ? dw_explain(err, ret, "'%s'", image->name) : 0;
}

/* A damaged block cannot be compressed again: if the image is read in spite of that, it is copied.
 * Nor can one without bytes, or whose codec is not known. */
static bool can_be_packed(const struct stored_section *section)
{
	return !section->is_damaged && section->unpacked_bytes > 0;
}

/* Of a block that was read: correct the total, which has a block size for it. */
static void correct_total(struct build_run *run, const struct source_image *image,
			  const struct stored_section *section)
{
	uint64_t bytes = can_be_packed(section) ? section->unpacked_bytes : 0;

	run->progress.bytes_total -= (UINT64_C(1) << image->block_bits) - bytes;
}

static int write_kept_block(struct block_writer *writer, const struct kept_blocks *kept,
			    size_t index, dwarfs_error **err)
{
	const struct kept_block *block = &kept->list[index];
	struct source_image *image = block->image;
	__attribute__((
		cleanup(dw_stored_section_free))) struct stored_section section = { 0 };
	uint64_t bytes;
	uint32_t number;
	bool is_packed;
	int ret;

	if ((ret = dw_source_stored_bytes(image, block->block, &bytes, err)) < 0)
		return ret;
	if (image->changes_block_size) {
		dw_source_block_count(writer->run, image, block->block,
				      DWARFS_COUNT_BLOCKS_REWRITTEN, bytes);
		return pack_block_again(writer, kept, index, err);
	}
	if ((ret = dw_compressor_await_copies(writer->compressor, bytes, err)) < 0)
		return ret;
	if ((ret = load_kept_block(writer, kept, index, &section, err)) < 0)
		return ret;
	image->blocks[block->block].compression = section.header.compression;
	is_packed = image->blocks[block->block].action == BLOCK_COMPRESS;
	if (is_packed)
		correct_total(writer->run, image, &section);
	if (is_packed && can_be_packed(&section)) {
		dw_source_block_count(writer->run, image, block->block,
				      DWARFS_COUNT_BLOCKS_REWRITTEN,
				      section.payload.size);
		return unpack_block(writer, block, &section, err);
	}
	dw_source_block_count(writer->run, image, block->block,
			      DWARFS_COUNT_BLOCKS_COPIED, section.payload.size);
	if ((ret = dw_compressor_copy(writer->compressor, block->stream,
				      image->blocks[block->block].category, &section,
				      &number, err)) < 0)
		return ret;
	return add_anchors(writer, kept, index, number, err);
}

int dw_kept_blocks_write(struct build_run *run, const struct contents *contents,
			 const struct kept_blocks *kept, size_t first, size_t end,
			 struct compressor *compressor, dwarfs_error **err)
{
	struct block_writer writer = { .run = run,
				       .contents = contents,
				       .compressor = compressor,
				       .stream = DW_NONE };
	int ret = dw_shared_blocks_begin(run, kept, first, end, &writer.shared, err);

	for (size_t i = first; i < end && ret == 0; i++) {
		if (i > first && kept->list[i].image != kept->list[i - 1].image &&
		    (ret = close_block(&writer, err)) < 0)
			break;
		if ((ret = write_kept_block(&writer, kept, i, err)) == 0)
			ret = dw_progress_tick(&run->progress, err);
	}
	if (ret == 0)
		return close_block(&writer, err);
	dw_block_release(compressor, writer.open);
	return ret;
}
