/* SPDX-License-Identifier: MIT */
/*
 * build/builder: what was asked for, what a run works on, and what it counted.
 */
#ifndef DW_BUILD_BUILDER_H
#define DW_BUILD_BUILDER_H

#include <dwarfs/builder.h>

#include "base/context.h"
#include "base/progress.h"
#include "build/chmod.h"
#include "codec/codec.h"
#include "os/output.h"

#define DW_CODEC_USES  (DWARFS_CODEC_HISTORY + 1)
#define DW_COUNT_KINDS (DWARFS_COUNT_CHUNKS + 1)

#define DW_NS_PER_SECOND UINT64_C(1000000000)

struct order_ops;

struct build_packing {
	bool chunk_table, directories, shared_files;
	bool names, names_index, symlinks, symlinks_index;
	bool force; /* also where it gets larger */
	bool plain; /* lists of strings instead of tables */
};

struct build_options {
	uint32_t block_bits;
	struct codec_spec codecs[DW_CODEC_USES];
	bool codec_was_set[DW_CODEC_USES];
	const struct order_ops *order;

	bool devices, specials, sparse_files;
	bool set_uid, set_gid, set_time;
	uint32_t uid, gid;
	struct os_time time;
	struct mode_change chmod;
	uint32_t umask;
	uint64_t resolution_ns;
	bool keep_all_times;

	struct build_packing packing;
	bool hardlink_table, section_index, create_timestamp;
	bool history, history_timestamps;
	char **arguments;
	size_t argument_count, argument_room;
	struct buffer header;
};

struct dwarfs_builder {
	dwarfs_context *context;
	struct build_options options;
	uint32_t level;
	bool block_bits_was_set, order_was_set;
	int root_fd;	 /* the input, or -1 */
	char *root_path; /* for messages */
	bool ran;
	dwarfs_progress_fn progress;
	void *progress_user;
	dwarfs_cancel *cancel;
	uint64_t counts[DW_COUNT_KINDS];
};

/* What the stages of a run share. */
struct build_run {
	dwarfs_context *context;
	const struct build_options *options;
	struct dwarfs_progress progress;
	struct output *output;
	int root_fd;
	const char *root_path;
	uint64_t *counts;
};

/* build/build.c: read the input, write the image. Counts up to failure too. */
int dw_build(dwarfs_builder *builder, struct output *output, dwarfs_error **err);

/*
 * Report something that could not be read as it is, and count it: "what 'root/path':
 * reason, consequence". Without a reason when errnum is 0.
 */
void dw_build_complain(struct build_run *run, const char *path, int errnum,
		       const char *what, const char *consequence);

#endif
