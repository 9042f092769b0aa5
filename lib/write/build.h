/* SPDX-License-Identifier: MIT */
/*
 * write/build: declarations shared by build.c, build_sections.c and build_copy.c.
 */
#ifndef DW_WRITE_BUILD_H
#define DW_WRITE_BUILD_H

#include "write/budget/budget.h"
#include "write/budget/memory_estimate.h"
#include "write/images/kept_blocks.h"
#include "write/pack/section_writer.h"
#include "write/tree/tree.h"

/* State of a run: the results of each stage. */
struct build {
	struct build_run run;
	dwarfs_builder *builder;
	struct workload workload;
	struct budget budget;
	struct tree tree;
	struct contents contents;
	struct fragment_list *lists; /* of each stream, in their order */
	size_t list_count;
	struct kept_blocks kept; /* kept from images */
	struct chunks chunks;
	struct block_streams block_streams;
	struct section_writer sections;
	uint64_t now; /* seconds since 1970 */
};

/* -- stages that both runs have --------------------------------------------------- */

/* Which memory limit the run keeps. */
void dw_build_choose_limit(struct build *build);

int dw_build_user_header(struct build *build, dwarfs_error **err);

/* Write the section index, and commit the output. */
int dw_build_finish(struct build *build, dwarfs_error **err);

/* Copy an image instead of running the stages of build.c. */
int dw_build_run_copy(struct build *build, struct source_image *image,
		      dwarfs_error **err);

/* -- sections after the blocks, in this order ----------------------------------------- */

int dw_build_metadata(struct build *build, dwarfs_error **err);

/* Change a codec until the memory limit allows it for a section of this type and so many bytes, to
 * CODEC_NONE if no option is enough, and warn of that. */
void dw_build_fit_codec(const struct build *build, uint32_t type, uint64_t bytes,
			struct codec_spec *codec);

/* History of the images of the input, if it is kept, and of this run. */
int dw_build_history(struct build *build, dwarfs_error **err);

/* Sections of the images of the input that the writer does not make itself. */
int dw_build_copied_sections(struct build *build, dwarfs_error **err);

/* Nothing if no entry has extended attributes. */
int dw_build_xattrs(struct build *build, dwarfs_error **err);

/* Collect digests from here on, if a section of them is to be written. */
int dw_build_new_digests(struct build *build, dwarfs_error **err);

/* Nothing if no section is to be written or it would take too much of the image. */
int dw_build_digests(struct build *build, dwarfs_error **err);

#endif
