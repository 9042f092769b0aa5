/* SPDX-License-Identifier: MIT */
/*
 * build/budget: how much memory the making of blocks may take, and how to keep to it.
 */
#ifndef DW_BUILD_BUDGET_H
#define DW_BUILD_BUDGET_H

#include "build/builder.h"
#include "build/contents.h"

/* What the stages of making blocks take; see dw_budget_plan(). */
struct budget {
	uint32_t workers;
	uint32_t waiting;	 /* blocks that may wait for a worker */
	uint64_t index_bytes;	 /* for anchors, at most */
	uint64_t history_bytes;	 /* of stored bytes that are kept to be compared with */
};

/*
 * Plan for the streams of these contents. A limit that was given makes do with fewer
 * workers, then a coarser index and a shorter history, then compressors that take less,
 * then smaller blocks, and the log says so; DWARFS_ERR_LIMIT when that is not enough. The
 * default limit takes workers only, as the rest would change the image.
 *
 * May change the block size in options, and the codecs in settings.
 */
int dw_budget_plan(dwarfs_builder *builder, const struct contents *contents,
		   struct budget *budget_out, dwarfs_error **err);

#endif
