/* SPDX-License-Identifier: MIT */
/*
 * write/images/shared_blocks: blocks of a source image that its file shares with the output.
 *
 * Blocks that are consecutive in the file of an image, and in the output at an offset
 * that differs by whole blocks of the file system, are shared with the output by one
 * call, if the file system supports that (dw_sink_share()). So an append to an image
 * writes only new data, and the old and the new image together occupy the space of the
 * old blocks once.
 *
 * Shared blocks are read from the output, not from their image, and verified like all
 * others: so the bytes of the new image are verified, even if another process changes the
 * old one meanwhile. Bytes next to a shared range, and headers that change, are read from
 * the image and written.
 */
#include "write/images/shared_blocks.h"

/* With fewer bytes it is not worth the system calls. */
#define LEAST_BYTES 16384

static int find_place(const struct kept_block *block, struct stored_place *place_out,
		      dwarfs_error **err)
{
	const struct source_image *image = block->image;
	int ret;

	*place_out = (struct stored_place){ .fd = -1 };
	if (image->blocks[block->block].action != BLOCK_COPY ||
	    image->changes_block_size || !image->ops->stored_place)
		return 0;
	ret = image->ops->stored_place(image->user, block->block, place_out, err);
	return ret < 0 ? dw_explain(err, ret, "'%s'", image->name) : 0;
}

int dw_shared_blocks_begin(struct build_run *run, const struct kept_blocks *kept,
			   size_t first, size_t end, struct shared_blocks *shared_out,
			   dwarfs_error **err)
{
	struct stored_place place = { .fd = -1 };
	uint64_t bytes;
	int fd, ret;

	*shared_out = (struct shared_blocks){ .end = first };
	if (first < end && (ret = find_place(&kept->list[first], &place, err)) < 0)
		return ret;
	if ((fd = place.fd) < 0)
		return 0;
	*shared_out = (struct shared_blocks){
		first + 1, place.offset, dw_sink_bytes(run->output), { 0, 0 }
	};
	for (bytes = place.bytes; shared_out->end < end; bytes += place.bytes) {
		if ((ret = find_place(&kept->list[shared_out->end], &place, err)) < 0)
			return ret;
		if (place.fd != fd || place.offset != shared_out->start + bytes)
			break;
		shared_out->end++;
	}
	return bytes < LEAST_BYTES
		       ? 0
		       : dw_sink_share(run->output, fd, shared_out->start, bytes,
				       &run->progress, &shared_out->bytes, err);
}

static int load_part(struct build_run *run, const struct kept_block *block,
		     uint64_t place, struct partial_section *part,
		     struct stored_section *section_out, dwarfs_error **err)
{
	const struct source_image *image = block->image;
	int ret = dw_sink_read_shared(run->output, part->data + part->from,
				      part->to - part->from, place + part->from, err);

	if (ret < 0)
		return ret;
	ret = image->ops->complete_block(image->user, block->block, part, section_out,
					 err);
	section_out->is_shared = true;
	return ret < 0 ? dw_explain(err, ret, "'%s'", image->name) : 1;
}

int dw_shared_blocks_load(struct build_run *run, const struct kept_blocks *kept,
			  const struct shared_blocks *shared, size_t index,
			  struct stored_section *section_out, dwarfs_error **err)
{
	uint64_t from = shared->bytes.from, to = shared->bytes.to, place, end;
	struct partial_section part = { 0 };
	struct stored_place stored;
	int ret;

	if (index >= shared->end || from == to)
		return 0;
	if ((ret = find_place(&kept->list[index], &stored, err)) < 0)
		return ret;
	place = shared->place + (stored.offset - shared->start);
	end = place + stored.bytes;
	from = from < place ? place : from;
	to = to > end ? end : to;
	if (stored.fd < 0 || from >= to || to <= place + DW_HEADER_BYTES)
		return 0;
	part.size = (size_t)stored.bytes;
	part.from = (size_t)(from - place);
	part.to = (size_t)(to - place);
	if (!(part.data = dw_malloc(part.size)))
		return dw_fail_nomem(err);
	ret = load_part(run, &kept->list[index], place, &part, section_out, err);
	dw_free(part.data);
	return ret;
}
