/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/ops: the function table of a categorizer, and shared helpers.
 */
#ifndef DW_WRITE_CATEGORIZE_OPS_H
#define DW_WRITE_CATEGORIZE_OPS_H

#include "write/categorize/categorize.h"

struct probes;

struct categorizer_ops {
	const char *name; /* as written on the command line */

	/* Why this build does not support it, or NULL if it does; the pointer may be
	 * NULL. */
	const char *(*missing)(void);

	/* Append the parts of the file, all or none. Parts appended before a failure are
	 * ignored. */
	int (*categorize)(const struct categorizers *all, dwarfs_context *context,
			  const struct category_file *file, struct category_parts *parts,
			  dwarfs_error **err);
};

extern const struct categorizer_ops dw_categorizer_fits;
extern const struct categorizer_ops dw_categorizer_pcmaudio;
extern const struct categorizer_ops dw_categorizer_binary;
extern const struct categorizer_ops dw_categorizer_incompressible;
extern const struct categorizer_ops dw_categorizer_hotness;

struct categorizers {
	const struct categorize_options *options;
	struct probes *probes; /* of incompressible, or NULL */
};

/* The function table of a categorizer. */
const struct categorizer_ops *dw_categorizer(enum categorizer number);

/*
 * Append a part. An empty one is omitted; one of the same kind as the last is joined with
 * it.
 */
int dw_parts_add(struct category_parts *parts, uint32_t category, uint32_t variant,
		 uint64_t size, dwarfs_error **err);

/* Append a part of known samples, never joined. */
int dw_parts_add_samples(struct category_parts *parts, uint32_t category,
			 const struct codec_samples *samples, uint64_t size,
			 dwarfs_error **err);

/*
 * Read at an offset. *got_out is less than size only at the end of the file, which may
 * have been truncated since the scan.
 */
int dw_category_read(const struct category_file *file, uint64_t offset, void *to,
		     size_t size, size_t *got_out, dwarfs_error **err);

/* Log why a file is not of the category that it seems to be of. */
void dw_category_warn(dwarfs_context *context, const struct category_file *file,
		      const char *kind, const char *problem);

/* -- incompressible ------------------------------------------------------------------ */

int dw_probes_new(const struct categorize_options *options, struct probes **probes_out,
		  dwarfs_error **err);
void dw_probes_free(struct probes *probes);

/* Upper bound of the memory of one worker, about, in bytes. */
uint64_t dw_probe_memory(const struct categorize_options *options);

#endif
