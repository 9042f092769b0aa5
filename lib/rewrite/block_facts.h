/* SPDX-License-Identifier: MIT */
/*
 * rewrite/block_facts: properties of the blocks of an image.
 */
#ifndef DW_REWRITE_BLOCK_FACTS_H
#define DW_REWRITE_BLOCK_FACTS_H

#include "write/builder.h"
#include "write/images/source_image.h"

struct block_facts {
	struct source_block *blocks; /* of all blocks of the image */
	char **texts;		     /* metadata of categories */
	size_t text_count;
};

void dw_block_facts_free(struct block_facts *facts);

/* Categories that the builder does not know are added to it. */
int dw_block_facts_load(dwarfs_builder *builder, const dwarfs_image *image,
			struct block_facts *facts, dwarfs_error **err);

#endif
