/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/unique_contents: what is stored once: the bytes that one file or several equal ones
 * have, and the fragments they consist of.
 */
#ifndef DW_WRITE_INSPECT_UNIQUE_CONTENTS_H
#define DW_WRITE_INSPECT_UNIQUE_CONTENTS_H

#include "codec/codec.h"
#include "write/tree/tree.h"

/*
 * A kind of bytes that has blocks of its own: a category, and how its samples lie where
 * its codec must know. Streams are numbered in the order of their blocks in the image;
 * stream 0 is the default category, which takes all that no categorizer claims.
 */
struct stream {
	uint32_t category; /* see categorize/categorize.h */
	uint32_t variant;  /* of the category, such as an architecture; 0: none */
	struct codec_samples samples;
	char *metadata_json; /* what the image says of them; NULL: nothing */
};

struct streams {
	struct stream *list;
	size_t count, room;
};

/* A run of the bytes of some contents, all of one stream. */
struct fragment {
	uint64_t offset; /* in the contents, as scanned */
	uint64_t size;	 /* as stored; until then as scanned */
	uint64_t first_chunk;
	uint32_t chunk_count;
	uint32_t stream;
	uint32_t content;
};

#define FINGERPRINT_BYTES 32

/* What an order knows of contents; which kind it is depends on the order of the stream
 * that has most of them. All zero where there is none. */
struct fingerprint {
	uint8_t bytes[FINGERPRINT_BYTES];
};

struct content {
	uint64_t size;	     /* as stored; until then as scanned */
	uint64_t hole_bytes; /* of them, in holes */
	uint32_t inode; /* the first file; the others follow by tree_inode.next */
	uint32_t first_fragment;
	uint32_t fragment_count; /* in the order of their bytes; 0: empty contents */
	bool differs;		 /* from what was scanned, and that was reported */
};

/* In scan order of their first file. */
struct contents {
	struct content *list;
	size_t count, room;
	struct fragment *fragments;
	size_t fragment_count, fragment_room;
	struct fingerprint *fingerprints; /* one for each content, or NULL */
	struct streams streams;
};

void dw_contents_free(struct contents *contents);

/* Append contents that the file and those that follow it share, without fragments. */
int dw_contents_add(struct contents *contents, struct tree *tree, uint32_t inode,
		    dwarfs_error **err);

/* Append a fragment to the last of the contents. */
int dw_contents_add_fragment(struct contents *contents, uint32_t stream, uint64_t size,
			     dwarfs_error **err);

/* The number of a stream, which is made when it is new. */
int dw_streams_find(struct streams *streams, uint32_t category, uint32_t variant,
		    const struct codec_samples *samples, const char *metadata_json,
		    uint32_t *number_out, dwarfs_error **err);

#endif
