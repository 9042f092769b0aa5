/* SPDX-License-Identifier: MIT */
/*
 * write/input/source: read the contents of input files, from memory or from disk.
 *
 * Small files that inspect has read are kept in memory within a budget. All other
 * contents are read from the file. Callers use one interface for both.
 */
#ifndef DW_WRITE_INPUT_SOURCE_H
#define DW_WRITE_INPUT_SOURCE_H

#include <stdatomic.h>

#include "write/build_run.h"
#include "write/input/descriptor_users.h"
#include "write/input/input_file.h"
#include "write/inspect/unique_contents.h"

/* -- one file, while it is read ----------------------------------------------------- */

/* Contents being read, by one thread. dw_source_begin() and dw_source_end() are
 * paired. */
struct source {
	struct span kept; /* all bytes if they are in memory; data is NULL otherwise */
	uint64_t size;	  /* size: as scanned, or less if the file was truncated */
	bool is_shorter;  /* the file was truncated */

	/* private to source.c */
	struct input_file input_file; /* unless it is kept or hollow */
	bool is_open, is_hollow, may_have_holes;
	uint64_t run_from, run_to; /* known run of data without holes */
	struct kept_slab *slab;
};

/*
 * Begin to read contents from their first file: 0, or a negative errno value (ESTALE if
 * it is no longer a regular file); then dw_source_end() must not be called. Thread-safe.
 */
int dw_source_begin(struct build_run *run, const struct tree *tree,
		    const struct contents *contents, uint32_t content,
		    struct source *source);

/* Copy bytes at an offset. Returns their number, less than size only at the end of the
 * file, or a negative errno value. */
int64_t dw_source_read_at(struct source *source, void *buffer, size_t size,
			  uint64_t offset);

/*
 * The next run of data at or after from, up to end: [*start_out, *end_out); both are end
 * if only a hole is left. All bytes are data unless sparse files are stored. 0 or a
 * negative errno value.
 */
int dw_source_next_data(struct source *source, uint64_t from, uint64_t end,
			uint64_t *start_out, uint64_t *end_out);

/* Whether the file still has its scanned size and time, to be called after reading: 1, 0,
 * or a negative errno value. */
int dw_source_is_unchanged(const struct source *source);

/* End reading. Kept bytes are freed, as each contents is stored once, but not in a trial of an order. */
void dw_source_end(struct source *source);

/*
 * Copy some bytes of contents without consuming kept ones. Returns their number, or a
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

/* All sources of a run: run->sources, made by dw_inspect(). */
struct sources;

int dw_sources_new(struct sources **sources_out, const struct build_run *run,
		   const struct tree *tree, dwarfs_error **err);
void dw_sources_free(struct sources *sources); /* NULL is accepted */

/* Those that open input files in this run. */
struct descriptor_users *dw_sources_descriptor_users(struct sources *sources);

/* -- keeping bytes, for inspect.c --------------------------------------------------- */

/* Memory for kept bytes, owned by the worker that fills it, then by the files in it. */
struct kept_slab {
	struct sources *sources;
	size_t used;
	atomic_uint users; /* files not consumed yet, and the worker */
	uint8_t *data;	   /* KEPT_SLAB_BYTES */
};

/* The bytes of some contents in a slab; NULL when they were consumed. */
struct kept {
	struct kept_slab *slab;
	uint32_t offset, size;
	uint32_t content;
};

void dw_kept_free(struct kept *list, size_t count);

/* A new slab, or NULL if the budget is used up; release it at the end. */
struct kept_slab *dw_kept_slab_new(struct sources *sources);
void dw_kept_slab_release(struct kept_slab *slab);

/* Hand over the kept bytes, sorted by number of contents. Takes ownership of the list. */
void dw_sources_set_kept(struct sources *sources, struct kept *list, size_t count);

#endif
