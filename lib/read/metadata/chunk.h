/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/chunk: from a range of a file to the chunks that hold it.
 */
#ifndef DW_READ_METADATA_CHUNK_H
#define DW_READ_METADATA_CHUNK_H

#include "read/metadata/view.h"

/* A place in a file: a chunk, and how far into it. */
struct chunk_cursor {
	uint64_t index;	 /* of the chunk */
	uint64_t skip;	 /* bytes of it before the place */
	uint64_t offset; /* of the place, from the start of the file */
};

/*
 * Where every so many chunks of a file begin, so that a place in the middle of many
 * chunks is found without adding up all sizes before it. NULL-safe: without marks all are
 * added up.
 */
struct chunk_marks {
	uint64_t bytes; /* of the whole file */
	size_t count;
	uint64_t offset[]; /* of chunk first + i * DW_CHUNKS_PER_MARK */
};
#define DW_CHUNKS_PER_MARK 64

/* Check all chunks of a file and make its marks; free() them. */
int dw_chunk_marks_new(const struct view *view, struct chunk_range range,
		       struct chunk_marks **marks_out, dwarfs_error **err);

/*
 * The place of an offset; index == range.end when it is at or past the end of the file.
 */
int dw_chunk_seek(const struct view *view, struct chunk_range range,
		  const struct chunk_marks *marks, uint64_t offset,
		  struct chunk_cursor *cursor_out, dwarfs_error **err);

#endif
