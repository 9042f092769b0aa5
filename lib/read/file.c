/* SPDX-License-Identifier: MIT */
/*
 * read/file: read the contents of a file. The calls of a read, from the top down
 * (read/image/image.c has those of opening an image):
 *
 *	dwarfs_read(), dwarfs_file_read()
 *	  read_range()
 *	    dw_chunk_seek()		metadata/chunk.c	offset -> chunk
 *	    dw_view_chunk()		metadata/stat.c		check the chunk
 *	    read_chunk()
 *	      dw_cache_get_for()	cache/cache.c		decoded bytes, pinned
 *	        dw_cache_decode()	cache/decode_job.c	on a miss
 *	          dw_stored_read()	image/verify.c		read the section
 *	          dw_verify_block()	image/verify.c		verify its hash
 *	          dw_decoder_run()	codec/codec.c		decompress
 *	      memcpy()						into the caller's buffer
 *	      dw_cache_put()		cache/cache.c		release the pin
 *
 * Takes an inode or an open file, an offset and a size; gives bytes. Holes are zeros. To
 * read without a copy see read/borrow.c.
 */
#include "read/file.h"

int dw_chunk_get(const dwarfs_image *image, uint32_t inode,
		 const struct file_chunk *chunk, uint64_t skip, size_t size,
		 struct cached *cached_out, dwarfs_error **err)
{
	struct range range = { chunk->offset + skip, size };

	if (chunk->block >= image->block_count)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "metadata: a chunk is in block %" PRIu32 " of %" PRIu32,
			       chunk->block, image->block_count);
	return dw_cache_get_for((dwarfs_image *)image,
				(struct chunk_reader){ inode, chunk->index },
				chunk->block, range, cached_out, err);
}

/* Copy from one chunk; size is within it. */
static int read_chunk(const dwarfs_image *image, uint32_t inode,
		      const struct file_chunk *chunk, uint64_t skip, uint8_t *out,
		      size_t size, dwarfs_error **err)
{
	struct cached cached;
	int ret;

	if (chunk->is_hole) {
		memset(out, 0, size);
		return 0;
	}
	for (size_t done = 0; done < size; done += cached.size) {
		ret = dw_chunk_get(image, inode, chunk, skip + done, size - done, &cached,
				   err);
		if (ret < 0)
			return ret;
		memcpy(out + done, cached.data, cached.size);
		dw_cache_put((dwarfs_image *)image, &cached);
	}
	return 0;
}

static int read_range(const dwarfs_image *image, uint32_t inode, struct chunk_range range,
		      const struct chunk_marks *marks, uint8_t *out, size_t bytes,
		      uint64_t offset, size_t *bytes_out, dwarfs_error **err)
{
	DW_LATENCY_SPAN(image->latency, DWARFS_LATENCY_READ);
	struct chunk_cursor cursor;
	size_t done = 0;
	int ret = dw_chunk_seek(image->view, range, marks, offset, &cursor, err);

	if (ret < 0)
		return ret;
	while (done < bytes && cursor.index < range.end) {
		struct file_chunk chunk;
		uint64_t left;
		size_t part;

		if ((ret = dw_view_chunk(image->view, cursor.index, &chunk, err)) < 0)
			return ret;
		left = chunk.bytes - cursor.skip;
		part = left < bytes - done ? (size_t)left : bytes - done;
		ret = read_chunk(image, inode, &chunk, cursor.skip, out + done, part,
				 err);
		if (ret < 0)
			return ret;
		done += part;
		cursor.skip = 0;
		cursor.index++;
	}
	*bytes_out = done;
	return 0;
}

int dwarfs_read(const dwarfs_image *image, dwarfs_inode inode, void *buffer, size_t bytes,
		uint64_t offset, size_t *bytes_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !bytes_out || (!buffer && bytes > 0))
		return dw_fail_null(err, "image, bytes_out and buffer");

	struct chunk_range range;
	int ret = dw_view_chunk_range(image->view, inode.number, &range, err);

	if (ret < 0)
		return ret;
	return read_range(image, inode.number, range, NULL, buffer, bytes, offset,
			  bytes_out, err);
}

int dwarfs_file_open(const dwarfs_image *image, dwarfs_inode inode,
		     dwarfs_file **file_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !file_out)
		return dw_fail_null(err, "image and file_out");

	auto_free struct chunk_marks *marks = NULL;
	struct chunk_range range;
	dwarfs_file *file;
	int ret;

	if ((ret = dw_view_chunk_range(image->view, inode.number, &range, err)) < 0 ||
	    (ret = dw_chunk_marks_new(image->view, range, &marks, err)) < 0)
		return ret;
	file = dw_calloc(1, sizeof(*file));
	if (!file)
		return dw_fail_nomem(err);
	file->image = dwarfs_image_ref(image);
	file->inode = inode.number;
	file->range = range;
	file->marks = dw_steal(marks);
	*file_out = file;
	return 0;
}

void dwarfs_file_free(dwarfs_file *file)
{
	DW_USE_ALLOCATOR_OF(file);

	if (!file)
		return;

	dwarfs_image_free(file->image);
	dw_free(file->marks);
	dw_free(file);
}

uint64_t dwarfs_file_bytes(const dwarfs_file *file)
{
	if (!file)
		return 0;
	return file->marks->bytes;
}

int dwarfs_file_read(const dwarfs_file *file, void *buffer, size_t bytes, uint64_t offset,
		     size_t *bytes_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(file);

	if (!file || !bytes_out || (!buffer && bytes > 0))
		return dw_fail_null(err, "file, bytes_out and buffer");
	return read_range(file->image, file->inode, file->range, file->marks, buffer,
			  bytes, offset, bytes_out, err);
}

int dwarfs_file_readv(const dwarfs_file *file, const struct dwarfs_iovec *pieces,
		      size_t count, uint64_t offset, size_t *bytes_out,
		      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(file);

	size_t done = 0;

	if (!file || !bytes_out || (!pieces && count > 0))
		return dw_fail_null(err, "file, pieces and bytes_out");
	for (size_t i = 0; i < count; i++) {
		size_t got;
		int ret = dwarfs_file_read(file, pieces[i].data, pieces[i].bytes,
					   offset + done, &got, err);

		if (ret < 0)
			return ret;
		done += got;
		if (got < pieces[i].bytes)
			break;
	}
	*bytes_out = done;
	return 0;
}

uint64_t dwarfs_file_chunk_count(const dwarfs_file *file)
{
	if (!file)
		return 0;
	return file->range.end - file->range.first;
}

int dwarfs_file_chunk(const dwarfs_file *file, uint64_t index, int64_t *block_out,
		      uint64_t *offset_out, uint64_t *bytes_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(file);

	if (!file || !block_out || !offset_out || !bytes_out)
		return dw_fail_null(err, "file, block_out, offset_out and bytes_out");

	struct file_chunk chunk;
	int ret;

	if (index >= dwarfs_file_chunk_count(file))
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "chunk %" PRIu64 " of %" PRIu64 " does not exist", index,
			       dwarfs_file_chunk_count(file));
	ret = dw_view_chunk(file->image->view, file->range.first + index, &chunk, err);
	if (ret < 0)
		return ret;
	*block_out = chunk.is_hole ? -1 : (int64_t)chunk.block;
	*offset_out = chunk.is_hole ? 0 : chunk.offset;
	*bytes_out = chunk.bytes;
	return 0;
}

/* The first offset at or after this one that is (or is not) in a hole; the end of the
 * file if there is none. */
static int seek(const dwarfs_file *file, uint64_t offset, bool want_hole,
		uint64_t *offset_out, dwarfs_error **err)
{
	const struct view *view = file->image->view;
	struct chunk_cursor cursor;
	int ret = dw_chunk_seek(view, file->range, file->marks, offset, &cursor, err);

	if (ret < 0)
		return ret;
	for (; cursor.index < file->range.end; cursor.index++) {
		struct file_chunk chunk;

		if ((ret = dw_view_chunk(view, cursor.index, &chunk, err)) < 0)
			return ret;
		if (chunk.is_hole == want_hole)
			break;
		cursor.offset += chunk.bytes - cursor.skip;
		cursor.skip = 0;
	}
	*offset_out = cursor.offset;
	return 0;
}

static int fail_past(uint64_t offset, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_NOT_FOUND,
		       "no data or hole at or after offset %" PRIu64, offset);
}

bool dwarfs_file_is_cached(const dwarfs_file *file, size_t bytes, uint64_t offset)
{
	DW_USE_ALLOCATOR_OF(file);
	struct chunk_cursor cursor;

	if (!file || dw_chunk_seek(file->image->view, file->range, file->marks, offset,
				   &cursor, NULL) < 0)
		return false;
	for (; bytes > 0 && cursor.index < file->range.end;
	     cursor.index++, cursor.skip = 0) {
		struct file_chunk chunk;
		uint64_t part = bytes;

		if (dw_view_chunk(file->image->view, cursor.index, &chunk, NULL) < 0)
			return false;
		if (part > chunk.bytes - cursor.skip)
			part = chunk.bytes - cursor.skip;
		if (!chunk.is_hole &&
		    (chunk.block >= file->image->block_count ||
		     !dw_cache_has(file->image, chunk.block,
				   (struct range){ chunk.offset + cursor.skip, part })))
			return false;
		bytes -= (size_t)part;
	}
	return true;
}

int dwarfs_file_seek_data(const dwarfs_file *file, uint64_t offset, uint64_t *offset_out,
			  dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(file);

	if (!file || !offset_out)
		return dw_fail_null(err, "file and offset_out");

	uint64_t found;
	int ret;

	if (offset >= file->marks->bytes)
		return fail_past(offset, err);
	if ((ret = seek(file, offset, false, &found, err)) < 0)
		return ret;
	if (found >= file->marks->bytes)
		return fail_past(offset, err);
	*offset_out = found;
	return 0;
}

int dwarfs_file_seek_hole(const dwarfs_file *file, uint64_t offset, uint64_t *offset_out,
			  dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(file);

	if (!file || !offset_out)
		return dw_fail_null(err, "file and offset_out");
	if (offset >= file->marks->bytes)
		return fail_past(offset, err);
	return seek(file, offset, true, offset_out, err);
}

#define HOLES_ALWAYS_FINE   (UINT64_C(64) << 30)
#define HOLES_FOR_EACH_BYTE 1024

bool dwarfs_holes_are_huge(uint64_t hole_bytes, uint64_t data_bytes)
{
	return hole_bytes > HOLES_ALWAYS_FINE &&
	       hole_bytes / HOLES_FOR_EACH_BYTE >= data_bytes;
}
