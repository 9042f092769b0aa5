/* SPDX-License-Identifier: MIT */
/*
 * build/contents: what is stored once: the bytes that one file or several equal ones
 * have.
 */
#ifndef DW_BUILD_CONTENTS_H
#define DW_BUILD_CONTENTS_H

#include "build/tree.h"

struct content {
	uint64_t size;	     /* as stored; until then as scanned */
	uint64_t hole_bytes; /* of them, in holes */
	uint64_t first_chunk;
	uint32_t chunk_count;
	uint32_t inode;	   /* the first file; the others follow by tree_inode.next */
	uint32_t category; /* see categorize/categorize.h */
};

/* In scan order of their first file. */
struct contents {
	struct content *list;
	size_t count, room;
};

static inline void dw_contents_free(struct contents *contents)
{
	free(contents->list);
	*contents = (struct contents){ 0 };
}

/* Append contents that the file and those that follow it share. */
int dw_contents_add(struct contents *contents, struct tree *tree, uint32_t inode,
		    dwarfs_error **err);

#endif
