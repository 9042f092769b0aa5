/* SPDX-License-Identifier: MIT */
/*
 * write/digests/digests: the contents of the DIGESTS section of an image: the digest of
 * each contents, and anchors of each block.
 *
 * All functions are for the thread that runs the builder.
 */
#ifndef DW_WRITE_DIGESTS_DIGESTS_H
#define DW_WRITE_DIGESTS_DIGESTS_H

#include "write/digests/block_anchors.h"
#include "write/digests/content_hash.h"
#include "write/inspect/unique_contents.h"

struct build_run;
struct source_image;
struct stored_section;

struct digests {
	uint8_t *files; /* DW_FILE_DIGEST_BYTES by number of contents; zero: not known */
	size_t file_count, file_room;
	struct block_anchors anchors;
	struct content_hash hash; /* of the contents being stored */
};

/* Nothing is known yet; anchors are found with this shift. */
int dw_digests_new(unsigned shift, struct digests **digests_out, dwarfs_error **err);
void dw_digests_free(struct digests *digests);
DW_DEFINE_AUTO(digests, struct digests *, dw_digests_free)

/* Set the digest of contents; NULL: not known. */
int dw_digests_set_file(struct digests *digests, uint32_t content, const uint8_t *digest,
			dwarfs_error **err);

/* Contents from this number on are new. */
void dw_digests_cut(struct digests *digests, size_t count);

/* Set the digest of contents to that of the bytes that were hashed. */
int dw_digests_set_hashed(struct digests *digests, uint32_t content, dwarfs_error **err);

/* Hash contents that were stored in several fragments. They are read again. */
struct tree;
int dw_digests_add_divided(struct build_run *run, const struct tree *tree,
			   const struct contents *contents, dwarfs_error **err);

/* The anchors of a block that is kept: 1, or 0 if its image does not have them. */
int dw_digests_copy_block(struct digests *digests, uint32_t number,
			  const struct source_image *image, uint32_t block,
			  dwarfs_error **err);

#endif
