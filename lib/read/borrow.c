/* SPDX-License-Identifier: MIT */
/*
 * read/borrow: ranges of a file without a copy. See dwarfs_file_borrow() in
 * <dwarfs/file.h>.
 *
 * Takes a range of a file; gives parts, each of which is a pinned range of a cached
 * block, a range of zeros (for holes), or a copy if pinning would leave too little of the
 * cache's budget (dw_cache_hold()). All parts are released together.
 */
#include "os/pages.h"
#include "read/file.h"

/* The static page is part of every program that links the library, so it is small. Large
 * holes, and those after many parts, use an area of their own, whose pages take no memory. */
#define ZERO_BYTES  4096
#define AREA_BYTES  ((size_t)1 << 20)
#define SMALL_PARTS 4096

/* As dwarfs_file_borrow() says. */
#define MOST_PARTS ((size_t)1 << 18)

static const uint8_t zeros[ZERO_BYTES];

struct borrowed_part {
	const uint8_t *data;
	size_t bytes;
	struct cached cached; /* pinned in the cache, or */
	uint8_t *copy;	      /* copied; neither: a hole */
};

struct dwarfs_borrowed {
	dwarfs_image *image;
	size_t count, room, bytes;
	struct borrowed_part *parts;
	uint8_t *area; /* AREA_BYTES zeros, or NULL */
};

DW_DEFINE_AUTO(borrowed, dwarfs_borrowed *, dwarfs_borrowed_free)

static int add_borrowed_part(dwarfs_borrowed *borrowed, struct borrowed_part part,
			     dwarfs_error **err)
{
	int ret;

	if (borrowed->count == MOST_PARTS)
		return dw_fail(err, DWARFS_ERR_LIMIT,
			       "the range has more than %zu parts: borrow a shorter one",
			       MOST_PARTS);
	ret = dw_grow(&borrowed->parts, &borrowed->room, borrowed->count + 1, err);
	if (ret < 0)
		return ret;
	borrowed->parts[borrowed->count++] = part;
	borrowed->bytes += part.bytes;
	return 0;
}

static int add_zeros(dwarfs_borrowed *borrowed, size_t bytes, dwarfs_error **err)
{
	const bool is_large = bytes > AREA_BYTES || borrowed->count > SMALL_PARTS;
	const size_t most = is_large ? AREA_BYTES : ZERO_BYTES;
	int ret = 0;

	if (is_large && !borrowed->area && !(borrowed->area = dw_pages_new(AREA_BYTES)))
		return dw_fail_nomem(err);
	while (bytes > 0 && ret == 0) {
		struct borrowed_part part = { is_large ? borrowed->area : zeros,
					      bytes < most ? bytes : most };

		ret = add_borrowed_part(borrowed, part, err);
		bytes -= part.bytes;
	}
	return ret;
}

static int add_data(dwarfs_borrowed *borrowed, uint32_t inode,
		    const struct file_chunk *chunk, uint64_t skip, size_t bytes,
		    dwarfs_error **err)
{
	struct borrowed_part part = { 0 };
	int ret = dw_chunk_get(borrowed->image, inode, chunk, skip, bytes, &part.cached,
			       err);

	if (ret < 0)
		return ret;
	part.data = part.cached.data;
	part.bytes = part.cached.size;
	if (!dw_cache_hold(borrowed->image, &part.cached)) {
		part.copy = dw_malloc(part.bytes);
		if (part.copy)
			memcpy(part.copy, part.cached.data, part.bytes);
		dw_cache_put(borrowed->image, &part.cached);
		part.cached = (struct cached){ 0 };
		part.data = part.copy;
		if (!part.copy)
			return dw_fail_nomem(err);
	}
	if ((ret = add_borrowed_part(borrowed, part, err)) < 0) {
		if (!part.copy)
			dw_cache_put(borrowed->image, &part.cached);
		dw_free(part.copy);
	}
	return ret;
}

int dwarfs_file_borrow(const dwarfs_file *file, size_t bytes, uint64_t offset,
		       dwarfs_borrowed **out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(file);

	if (!file || !out)
		return dw_fail_null(err, "file and out");

	DW_LATENCY_SPAN(file->image->latency, DWARFS_LATENCY_READ);
	DW_AUTO(borrowed) dwarfs_borrowed *borrowed = dw_calloc(1, sizeof(*borrowed));
	const struct view *view = file->image->view;
	struct chunk_cursor cursor;
	int ret;

	if (!borrowed)
		return dw_fail_nomem(err);
	borrowed->image = dwarfs_image_ref(file->image);
	if ((ret = dw_chunk_seek(view, file->range, file->marks, offset, &cursor, err)) <
	    0)
		return ret;
	while (borrowed->bytes < bytes && cursor.index < file->range.end) {
		struct file_chunk chunk;
		size_t before = borrowed->bytes, part = bytes - before;

		if ((ret = dw_view_chunk(view, cursor.index, &chunk, err)) < 0)
			return ret;
		if (part > chunk.bytes - cursor.skip)
			part = (size_t)(chunk.bytes - cursor.skip);
		if (chunk.is_hole)
			ret = add_zeros(borrowed, part, err);
		else if (part > 0)
			ret = add_data(borrowed, file->inode, &chunk, cursor.skip, part,
				       err);
		if (ret < 0)
			return ret;
		cursor.skip += borrowed->bytes - before;
		if (cursor.skip == chunk.bytes) {
			cursor.skip = 0;
			cursor.index++;
		}
	}
	*out = dw_steal(borrowed);
	return 0;
}

size_t dwarfs_borrowed_count(const dwarfs_borrowed *borrowed)
{
	if (!borrowed)
		return 0;
	return borrowed->count;
}

const void *dwarfs_borrowed_part(const dwarfs_borrowed *borrowed, size_t index,
				 size_t *bytes_out)
{
	if (!borrowed || !bytes_out || index >= borrowed->count)
		return NULL;
	*bytes_out = borrowed->parts[index].bytes;
	return borrowed->parts[index].data;
}

size_t dwarfs_borrowed_bytes(const dwarfs_borrowed *borrowed)
{
	if (!borrowed)
		return 0;
	return borrowed->bytes;
}

void dwarfs_borrowed_free(dwarfs_borrowed *borrowed)
{
	DW_USE_ALLOCATOR_OF(borrowed);

	if (!borrowed)
		return;
	for (size_t i = 0; i < borrowed->count; i++) {
		struct borrowed_part *part = &borrowed->parts[i];

		if (part->cached.data)
			dw_cache_put(borrowed->image, &part->cached);
		dw_free(part->copy);
	}
	dw_free(borrowed->parts);
	dw_pages_free(borrowed->area, AREA_BYTES);
	dwarfs_image_free(borrowed->image);
	dw_free(borrowed);
}
