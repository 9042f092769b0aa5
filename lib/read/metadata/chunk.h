/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/chunk: find the chunk of a file that contains an offset.
 */
#ifndef DW_READ_METADATA_CHUNK_H
#define DW_READ_METADATA_CHUNK_H

#include "read/metadata/view.h"

/* A position in a file: a chunk, and an offset in it. */
struct chunk_cursor {
	uint64_t index;	 /* of the chunk */
	uint64_t skip;	 /* bytes of the chunk before the position */
	uint64_t offset; /* of the position, from the start of the file */
};

/* Offsets of every DW_CHUNKS_PER_MARK-th chunk of a file, so that a seek need not add
 * up all sizes before it. NULL-safe: without marks all sizes are added up. */
struct chunk_marks {
	uint64_t bytes; /* of the whole file */
	size_t count;
	uint64_t offset[]; /* of chunk first + i * DW_CHUNKS_PER_MARK */
};
#define DW_CHUNKS_PER_MARK 64

/* Check all chunks of a file and create its marks; free() them. */
int dw_chunk_marks_new(const struct view *view, struct chunk_range range,
		       struct chunk_marks **marks_out, dwarfs_error **err);

/* The position of an offset; index == range.end at or after the end of the file. */
int dw_chunk_seek(const struct view *view, struct chunk_range range,
		  const struct chunk_marks *marks, uint64_t offset,
		  struct chunk_cursor *cursor_out, dwarfs_error **err);

#endif
