/* SPDX-License-Identifier: MIT */
/*
 * read/image/opening: what the opening of an image reads in advance, and its progress.
 *
 * Takes the range of an image, later its sections; gives bytes that were read in few rounds.
 */
#include <string.h>

#include "os/pages.h"
#include "read/image/opening.h"

void dw_opening_free(struct opening *opening)
{
	if (!opening)
		return;
	for (size_t i = 0; i < opening->count; i++)
		dw_free(opening->list[i].data);
	dw_free(opening);
}

const uint8_t *dw_opening_find(const struct dwarfs_image *image, size_t bytes,
			       uint64_t offset)
{
	const struct opening *opening = image->opening;

	for (size_t i = 0; opening && i < opening->count; i++) {
		const struct held *held = &opening->list[i];

		if (held->data && offset >= held->offset && bytes <= held->bytes &&
		    offset - held->offset <= held->bytes - bytes)
			return held->data + (offset - held->offset);
	}
	return NULL;
}

uint8_t *dw_opening_take(const struct dwarfs_image *image, size_t bytes, uint64_t offset)
{
	struct opening *opening = image->opening;

	for (size_t i = 0; opening && i < opening->count; i++) {
		struct held *held = &opening->list[i];

		if (held->data && held->offset == offset && bytes <= held->bytes)
			return dw_steal(held->data);
	}
	return NULL;
}

int dw_image_read(const struct dwarfs_image *image, void *buffer, size_t bytes,
		  uint64_t offset, dwarfs_error **err)
{
	const uint8_t *held = dw_opening_find(image, bytes, offset);

	if (!held)
		return dwarfs_io_read(image->io, buffer, bytes, image->start + offset,
				      err);
	memcpy(buffer, held, bytes);
	return 0;
}

int dw_opening_tick(const struct dwarfs_image *image, dwarfs_error **err)
{
	return image->opening ? dw_progress_tick(&image->opening->progress, err) : 0;
}

/* Whether bytes are used in place, so that nothing is to be read in advance. */
static bool is_in_place(const struct dwarfs_image *image)
{
	return !image->opening || image->salvage || image->is_mapped ||
	       dw_io_memory(image->io);
}

/* A range that is not held yet; false if memory is exhausted. */
static bool add_range(struct dwarfs_image *image, struct dwarfs_io_range *ranges,
		      size_t *count, uint64_t offset, uint64_t bytes)
{
	struct opening *opening = image->opening;
	struct held *held = &opening->list[opening->count];

	if (bytes > SIZE_MAX - DW_FROZEN_PADDING)
		return false;
	if (bytes == 0 || dw_opening_find(image, (size_t)bytes, offset))
		return true;
	held->data = dw_pages_new_block((size_t)bytes + DW_FROZEN_PADDING, (size_t)bytes);
	if (!held->data)
		return false;
	memset(held->data + bytes, 0, DW_FROZEN_PADDING);
	held->offset = offset;
	held->bytes = (size_t)bytes;
	opening->count++;
	ranges[(*count)++] = (struct dwarfs_io_range){
		.buffer = held->data,
		.bytes = held->bytes,
		.offset = image->start + offset,
	};
	return true;
}

int dw_opening_read_ends(struct dwarfs_image *image, dwarfs_error **err)
{
	const bool is_kept = image->opening && image->opening->count > 0;
	struct dwarfs_io_range ranges[2];
	uint64_t head, tail;
	size_t count = 0;

	if (is_in_place(image))
		return 0;
	head = is_kept ? image->opening->list[0].bytes : OPENING_HEAD_BYTES;
	/* A small image is read at once. */
	if (head > image->bytes ||
	    (!is_kept && image->bytes <= OPENING_HEAD_BYTES + OPENING_TAIL_BYTES))
		head = image->bytes;
	tail = image->bytes - head;
	if (tail > OPENING_TAIL_BYTES)
		tail = OPENING_TAIL_BYTES;
	if ((!is_kept && !add_range(image, ranges, &count, 0, head)) ||
	    !add_range(image, ranges, &count, image->bytes - tail, tail))
		return dw_fail_nomem(err);
	return dw_io_read_many(image->io, ranges, count, err);
}

int dw_opening_keep(struct dwarfs_image *image, const void *data, size_t bytes,
		    dwarfs_error **err)
{
	struct dwarfs_io_range range;
	size_t count = 0;

	if (is_in_place(image))
		return 0;
	if (!add_range(image, &range, &count, 0, bytes))
		return dw_fail_nomem(err);
	memcpy(range.buffer, data, bytes);
	return 0;
}

int dw_opening_read_metadata(struct dwarfs_image *image, dwarfs_error **err)
{
	struct dwarfs_io_range ranges[3];
	bool has_schema = false, has_metadata = false;
	size_t count = 0;

	if (is_in_place(image))
		return 0;
	/* The first of each, in the order of the image; images with several are refused. */
	for (uint32_t i = 0; i < image->section_count; i++) {
		const struct section *section = &image->sections[i];
		const bool is_last = i + 2 == image->section_count; /* before the index */
		uint64_t bytes = section->room;
		bool is_whole = false;

		if (section->type == DWARFS_SECTION_SCHEMA && !has_schema) {
			is_whole = has_schema = true;
		} else if (section->type == DWARFS_SECTION_METADATA && !has_metadata) {
			has_metadata = true;
			is_whole = !dw_unpacks_in_pieces(image, i);
		}
		if (!is_whole && !is_last)
			continue;
		if (!is_whole && bytes > OPENING_LAST_BYTES)
			bytes = OPENING_LAST_BYTES;
		/* If there is too little memory, the one that needs it says so. */
		if (!add_range(image, ranges, &count, section->offset, bytes))
			break;
	}
	return dw_io_read_many(image->io, ranges, count, err);
}
