/* SPDX-License-Identifier: MIT */
/*
 * write/input/source: the bytes of the files of the input.
 *
 * Small files that were read already stay in memory, as far as there is room; all others
 * are read when they are needed. Who reads need not know.
 */
#ifndef DW_WRITE_INPUT_SOURCE_H
#define DW_WRITE_INPUT_SOURCE_H

#include <stdatomic.h>

#include "write/builder.h"
#include "write/input/input_file.h"
#include "write/inspect/unique_contents.h"

/* -- one file, while it is read ----------------------------------------------------- */

/* What is being read. Local to one thread; end what was begun. */
struct source {
	struct span kept; /* all bytes, when they are in memory; data is NULL otherwise */
	uint64_t size;	  /* bytes to be had: as scanned, or fewer */
	bool is_shorter;  /* fewer */

	/* private to source.c */
	struct input_file input_file; /* unless it is kept or hollow */
	bool is_open, is_hollow, may_have_holes;
	uint64_t run_from, run_to; /* data without holes, as far as is known */
	struct kept_slab *slab;
};

/*
 * Begin to read contents by their first file: 0, or a negative errno value (ESTALE when
 * it is no regular file any more), and then there is nothing to end. On any thread.
 */
int dw_source_begin(struct build_run *run, const struct tree *tree,
		    const struct contents *contents, uint32_t content,
		    struct source *source);

/* Copy bytes from a place: how many, fewer only at the end of the file, or a negative
 * errno value. Works for kept bytes, too. */
int64_t dw_source_read_at(struct source *source, void *buffer, size_t size,
			  uint64_t offset);

/*
 * The next run of data at or behind from, up to end: [*start_out, *end_out); both are end
 * when only a hole is left. All is data where the options want no holes. 0 or a negative
 * errno value.
 */
int dw_source_next_data(struct source *source, uint64_t from, uint64_t end,
			uint64_t *start_out, uint64_t *end_out);

/* Whether the file still has size and time as scanned, asked when it has been read: 1, 0,
 * or a negative errno value. */
int dw_source_is_unchanged(const struct source *source);

/* Done: kept bytes are freed, as nobody asks for the same contents again. */
void dw_source_end(struct source *source);

/*
 * Look at some bytes of contents before their turn comes; kept ones stay. How many, or a
 * negative errno value.
 */
int64_t dw_source_peek(struct build_run *run, const struct tree *tree,
		       const struct contents *contents, uint32_t content, void *buffer,
		       size_t size, uint64_t offset);

/* -- all files of a run ------------------------------------------------------------- */

/* Bytes of small files that are kept in memory between inspection and segmenting. */
#define KEPT_FILE_BYTES	 ((size_t)64 << 10) /* the largest file that is kept */
#define KEPT_SLAB_BYTES	 ((size_t)1 << 20)
#define KEPT_TOTAL_BYTES ((size_t)32 << 20)
#define KEPT_SHARE	 16 /* one part of the memory limit in, when that is less */

/* What a run knows of them: run->sources, made by dw_inspect(). */
struct sources;

int dw_sources_new(struct sources **sources_out, const struct build_run *run,
		   const struct tree *tree, dwarfs_error **err);
void dw_sources_free(struct sources *sources); /* NULL is accepted */

/* Memory that is in use for kept bytes now. On any thread. */
uint64_t dw_sources_kept_bytes(const struct sources *sources);

/* -- keeping bytes, for inspect.c --------------------------------------------------- */

/* A place for kept bytes: of the worker that fills it, then of the files in it. */
struct kept_slab {
	struct sources *sources;
	size_t used;
	atomic_uint users; /* files that were not consumed, and the worker */
	uint8_t *data;	   /* KEPT_SLAB_BYTES */
};

/* The bytes of some contents in a slab; NULL when they were consumed. */
struct kept {
	struct kept_slab *slab;
	uint32_t offset, size;
	uint32_t content;
};

void dw_kept_free(struct kept *list, size_t count);

/* A slab for a worker, NULL when there is no room for another; let it go in the end. */
struct kept_slab *dw_kept_slab_new(struct sources *sources);
void dw_kept_slab_release(struct kept_slab *slab);

/* Hand over what was kept, ascending by number of contents. Takes the list. */
void dw_sources_set_kept(struct sources *sources, struct kept *list, size_t count);

#endif
