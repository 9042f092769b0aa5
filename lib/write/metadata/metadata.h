/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/metadata: tree, contents and chunks -> METADATA and SCHEMA sections.
 */
#ifndef DW_WRITE_METADATA_METADATA_H
#define DW_WRITE_METADATA_METADATA_H

#include "format/freeze.h"
#include "write/segment/segment.h"

struct metadata_input {
	struct build_run *run;
	struct tree *tree; /* inodes get their numbers here */
	const struct contents *contents;
	const struct chunks *chunks;
	const struct block_streams *block_streams;
	uint32_t block_count;
	bool compressed; /* the result will be compressed: choose the encoding for that */
	bool has_create_timestamp;
	uint64_t create_timestamp; /* seconds since 1970 */
};

/* Make the tables and freeze them: the contents of the METADATA and SCHEMA sections. */
int dw_metadata(const struct metadata_input *input, struct buffer *schema_out,
		struct buffer *data_out, dwarfs_error **err);

#endif
