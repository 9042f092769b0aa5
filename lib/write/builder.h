/* SPDX-License-Identifier: MIT */
/*
 * write/builder: the handle of <dwarfs/builder.h>, and what runs it.
 */
#ifndef DW_WRITE_BUILDER_H
#define DW_WRITE_BUILDER_H

#include "base/context.h"
#include "os/sink.h"
#include "write/options/build_options.h"

#define DW_COUNT_KINDS (DWARFS_COUNT_BYTES_DROPPED + 1)

struct assembly;
struct category_total;

/* A builder runs once: what changes it afterwards would do nothing. */
#define dw_fail_ran(err) dw_fail(err, DWARFS_ERR_INVALID, "the builder has run")

struct dwarfs_builder {
	dwarfs_context *context;
	struct build_options options;
	uint32_t level;
	bool block_bits_was_set;
	int root_fd;		   /* the input, or -1 */
	char *root_path;	   /* for messages */
	struct assembly *assembly; /* or items that were added one by one */
	int on_conflict;	   /* a dwarfs_conflict */
	char *spool_directory;	   /* NULL: the default */
	uint64_t spool_bytes;
	bool ran;
	const dwarfs_task *task; /* or NULL */
	uint64_t counts[DW_COUNT_KINDS];
	struct category_total *totals;	  /* by category, as settings */
	struct stream_settings *settings; /* of the run */
	size_t total_count;
};

/* write/options/settings.c: compute builder->settings from level and overrides. */
int dw_settings_resolve(dwarfs_builder *builder, dwarfs_error **err);

/* write/build.c: read the input, write the image. The counts are valid after a failure,
 * too. */
int dw_build(dwarfs_builder *builder, dwarfs_sink *output, dwarfs_error **err);

/* write/build.c: write an image with the blocks and the sections of another one, in its
 * order, and one more entry of history. */
struct source_image;
int dw_build_copy(dwarfs_builder *builder, struct source_image *image,
		  dwarfs_sink *output, dwarfs_error **err);

/* write/build.c: scan the input and count its entries; write nothing. */
int dw_build_scan(dwarfs_builder *builder, dwarfs_error **err);

#endif
