/* SPDX-License-Identifier: MIT */
/*
 * write/images/kept_blocks: the blocks of source images that a new image keeps.
 *
 * find:   the blocks that are needed (needed_blocks.c), each of equal ones once
 *         (equal_blocks.c) -> places in the new image
 * write:  each block as it is stored, or compressed again
 * chunks: those of the image, moved to the new places
 */
#include <string.h>

#include "codec/codec.h"
#include "write/categorize/categorize.h"
#include "write/digests/digests.h"
#include "write/images/kept_blocks.h"
#include "write/images/needed_blocks.h"
#include "write/images/shared_blocks.h"
#include "write/items/assembly.h"

/* Of a block that is copied, searched for anchors at once. */
#define ANCHOR_PIECE_BYTES ((size_t)256 << 10)

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

/* -- writing --------------------------------------------------------------------------- */

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

/* -- chunks ---------------------------------------------------------------------------- */

static int add_chunk(struct chunks *chunks, struct fragment *fragment, struct chunk chunk,
		     dwarfs_error **err)
{
	fragment->size += chunk.size;
	return dw_chunks_append(chunks, fragment, chunk, err);
}

/* A chunk of an image, at its new place: where blocks are divided, several. */
static int add_moved_chunk(struct chunks *chunks, struct fragment *fragment,
			   const struct source_chunk *from,
			   const struct kept_place *place, dwarfs_error **err)
{
	uint64_t at = (uint64_t)place->offset + from->offset, left = from->size;

	if (place->unit == 0)
		return add_chunk(chunks, fragment,
				 (struct chunk){ place->number, from->offset, left },
				 err);
	while (left > 0) {
		uint64_t offset = at % place->unit, size = place->unit - offset;
		struct chunk chunk = { place->number + (uint32_t)(at / place->unit),
				       (uint32_t)offset, size < left ? size : left };
		int ret = add_chunk(chunks, fragment, chunk, err);

		if (ret < 0)
			return ret;
		at += chunk.size;
		left -= chunk.size;
	}
	return 0;
}

/* A chunk ends within its block. The size of a block whose codec is not known is 0. */
static int check_end(const struct source_image *image, const struct source_chunk *chunk,
		     bool is_divided, dwarfs_error **err)
{
	uint64_t bytes;
	int ret;

	if (image->is_lenient && !is_divided)
		return 0;
	if ((ret = dw_source_block_bytes(image, chunk->block, &bytes, err)) < 0)
		return ret;
	if ((bytes == 0 && !is_divided) ||
	    (chunk->offset <= bytes && chunk->size <= bytes - chunk->offset))
		return 0;
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "'%s': a chunk of %" PRIu64 " bytes at offset %" PRIu32
		       " exceeds block %" PRIu32 " of %" PRIu64 " bytes",
		       image->name, chunk->size, chunk->offset, chunk->block, bytes);
}

static int add_content_chunks(struct contents *contents, struct content *content,
			      const struct source_image *image,
			      const struct image_file *file,
			      const struct kept_blocks *kept, struct chunks *chunks,
			      dwarfs_error **err)
{
	struct fragment *fragment = &contents->fragments[content->first_fragment];
	int ret;

	fragment->first_chunk = chunks->count;
	fragment->chunk_count = 0;
	fragment->size = 0;
	for (uint32_t i = 0; i < file->chunk_count; i++) {
		const struct kept_place *place;
		struct source_chunk from;

		if ((ret = dw_source_chunk_get(image, file->first_chunk + i, &from,
					       err)) < 0)
			return ret;
		if (from.block == DW_NONE) {
			content->hole_bytes += from.size;
			ret = add_chunk(chunks, fragment,
					(struct chunk){ DW_NONE, 0, from.size }, err);
		} else {
			place = dw_kept_place(kept, file->image, from.block);
			if ((ret = check_end(image, &from, place->unit > 0, err)) == 0)
				ret = add_moved_chunk(chunks, fragment, &from, place,
						      err);
		}
		if (ret < 0)
			return ret;
	}
	return 0;
}

int dw_kept_blocks_add_chunks(struct build_run *run, const struct tree *tree,
			      struct contents *contents, const struct kept_blocks *kept,
			      struct chunks *chunks, dwarfs_error **err)
{
	for (size_t i = 0; i < contents->count && kept->image_count > 0; i++) {
		struct content *content = &contents->list[i];
		const struct image_file *file;
		int ret;

		if (content->kept_inode == DW_NONE)
			continue;
		file = dw_kept_file_of(run, &tree->inodes[content->kept_inode]);
		ret = add_content_chunks(contents, content,
					 run->assembly->images[file->image], file, kept,
					 chunks, err);
		if (ret < 0)
			return ret;
	}
	return 0;
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
