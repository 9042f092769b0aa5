/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/chunk: find the chunk of a file that contains an offset.
 *
 * Takes the chunks of a file, checked by the view; gives a cursor.
 */
#include "read/metadata/chunk.h"
#include "read/metadata/chunk_sums.h"

int dw_chunk_marks_new(const struct view *view, struct chunk_range range,
		       struct chunk_marks **marks_out, dwarfs_error **err)
{
	uint64_t chunks = range.end - range.first;
	size_t count = (size_t)((chunks + DW_CHUNKS_PER_MARK - 1) / DW_CHUNKS_PER_MARK);
	auto_free struct chunk_marks *marks =
		dw_calloc(1, sizeof(*marks) + count * sizeof(uint64_t));

	if (!marks)
		return dw_fail_nomem(err);
	marks->count = count;
	for (uint64_t i = 0; i < chunks; i++) {
		struct file_chunk chunk;
		int ret = dw_view_chunk(view, range.first + i, &chunk, err);

		if (ret < 0)
			return ret;
		if (i % DW_CHUNKS_PER_MARK == 0)
			marks->offset[i / DW_CHUNKS_PER_MARK] = marks->bytes;
		marks->bytes += chunk.bytes;
		if (marks->bytes > INT64_MAX)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "metadata: a file is too large");
	}
	*marks_out = dw_steal(marks);
	return 0;
}

int dw_chunk_seek(const struct view *view, struct chunk_range range,
		  const struct chunk_marks *marks, uint64_t offset,
		  struct chunk_cursor *cursor_out, dwarfs_error **err)
{
	uint64_t index = range.first, at = 0;

	if (marks && marks->count > 0) {
		size_t low = 0, high = marks->count;

		while (high - low > 1) {
			size_t middle = low + (high - low) / 2;

			if (marks->offset[middle] <= offset)
				low = middle;
			else
				high = middle;
		}
		index += (uint64_t)low * DW_CHUNKS_PER_MARK;
		at = marks->offset[low];
	} else if (range.end - range.first >= DW_MANY_CHUNKS) {
		dw_sums_seek(view, range, offset, &index, &at);
	}
	for (; index < range.end; index++) {
		struct file_chunk chunk;
		int ret = dw_view_chunk(view, index, &chunk, err);

		if (ret < 0)
			return ret;
		if (offset - at < chunk.bytes)
			break;
		at += chunk.bytes;
	}
	*cursor_out = (struct chunk_cursor){
		.index = index,
		.skip = offset - at,
		.offset = offset,
	};
	return 0;
}
