/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/stage: what the modules of this folder share while files are inspected.
 */
#ifndef DW_WRITE_INSPECT_STAGE_H
#define DW_WRITE_INSPECT_STAGE_H

#include "format/metadata.h"
#include "pool/pipeline.h"
#include "write/inspect/digest_match.h"
#include "write/inspect/file_reader.h"
#include "write/inspect/unique_contents.h"

/* A kept file by where its chunks are. */
struct kept_subject {
	uint32_t image;
	uint64_t first_chunk;
	uint32_t subject;
};

struct stage {
	struct file_reader reader;
	struct tree *tree;
	struct build_run *run;
	struct pipeline pipeline;
	struct categorizers *categorizers;
	struct subject *subjects;
	size_t subject_count, subject_room;
	struct kept_subject *kept; /* files whose blocks are kept, by position */
	size_t kept_count;
	uint8_t *is_matched; /* by subject: kept, and another file has its digest */
	uint8_t *fingerprint_kinds;
	uint32_t *forced;
	dwarfs_category_fn callback;
	bool has_set;
};

static inline bool dw_is_file(const struct tree_inode *inode)
{
	return (inode->mode & DW_S_IFMT) == DW_S_IFREG;
}

static inline uint64_t dw_subject_bytes(const struct stage *stage, size_t subject)
{
	return stage->tree->inodes[stage->subjects[subject].inode].size;
}

/* After all files were read: list the unique contents and their fragments, with the files that
 * have them, fingerprints, digests, and bytes that stay in memory. Changes the tree. */
int dw_assign_contents(struct stage *stage, struct contents *contents,
		       dwarfs_error **err);

#endif
