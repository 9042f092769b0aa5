/* SPDX-License-Identifier: MIT */
/*
 * write/build_run: what the stages of a run share.
 */
#ifndef DW_WRITE_BUILD_RUN_H
#define DW_WRITE_BUILD_RUN_H

#include "base/context.h"
#include "base/progress.h"
#include "os/sink.h"
#include "write/options/build_options.h"

/* For temporary files, if no other directory was set. */
#define DW_SPOOL_DIRECTORY "/tmp"

struct assembly;
struct budget;
struct digests;
struct sources;

/* Bytes of a category: read, stored in blocks, and compressed. */
struct category_total {
	uint64_t in, stored, packed;
	uint32_t codecs; /* of the blocks: one bit for each id below 32 */
};

/* Entries found after the tree exceeded the memory limit: counted, to tell which limit
 * would suffice, and not stored. */
struct excess {
	bool is_full; /* only directories are added to the tree */
	uint64_t entries, files, name_bytes;
	uint64_t bytes,
		small_bytes; /* of all files, and of those small enough to be kept */
};

/* What the stages of a run share. */
struct build_run {
	dwarfs_context *context;
	const struct build_options *options;
	struct dwarfs_progress progress;
	dwarfs_sink *output;
	const char *spool_directory; /* for temporary files; NULL: the default */
	uint64_t base_bytes;	     /* memory before the run that counts for the limit */
	struct excess excess;
	bool is_trial; /* files that change are not reported, files in memory stay there */
	const struct budget *budget;
	struct sources *sources;   /* made by dw_inspect(); freed with the run */
	struct digests *digests;   /* NULL: the image gets none */
	struct assembly *assembly; /* NULL: the input is a directory */
	int root_fd;
	const char *root_path;
	uint64_t *counts;
	struct category_total *totals;		/* by category */
	const struct stream_settings *settings; /* by category */
	const struct order_spec *useless_order; /* its list fits no path; reported */
};

/* Settings of a category in this run. */
const struct stream_settings *dw_stream_settings(const struct build_run *run,
						 uint32_t category);

/* Fail if the error is a lack of descriptors, which is no property of the input:
 * "what 'root/path': reason". Otherwise 0. */
int dw_build_check_descriptors(const struct build_run *run, const char *path, int errnum,
			       const char *what, dwarfs_error **err);

/*
 * Log and count an input error: "what 'root/path': reason, consequence"; without a reason
 * if errnum is 0. Fails for a lack of descriptors only.
 */
int dw_build_complain(struct build_run *run, const char *path, int errnum,
		      const char *what, const char *consequence, dwarfs_error **err);

#endif
