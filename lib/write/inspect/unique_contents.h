/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/unique_contents: contents that are stored once, their fragments and
 * streams.
 *
 * Contents are the bytes of one file or of several equal files. A fragment is a part of
 * them that belongs to one stream. Fragments of the same contents are consecutive and
 * cover them. When fragments are ordered, one may be replaced by several.
 */
#ifndef DW_WRITE_INSPECT_UNIQUE_CONTENTS_H
#define DW_WRITE_INSPECT_UNIQUE_CONTENTS_H

#include "codec/encode/encode.h"
#include "write/tree/tree.h"

/*
 * Fragments that share blocks: of one category, and with the same sample layout if the
 * codec depends on it. Streams are numbered in the order of their blocks; stream 0 is the
 * default category.
 */
struct stream {
	uint32_t category; /* see categorize/categorize.h */
	uint32_t variant;  /* of the category, such as an architecture; 0: none */
	struct codec_samples samples;
	char *metadata_json; /* metadata of the category for the image, or NULL */
};

struct streams {
	struct stream *list;
	size_t count, room;
};

/* Part of contents that belongs to one stream. */
struct fragment {
	uint64_t offset; /* in the contents, as scanned */
	uint64_t size;	 /* as stored; until then as scanned */
	uint64_t first_chunk;
	uint32_t chunk_count;
	uint32_t stream; /* DW_NONE: in blocks that are kept, or of no contents */
	uint32_t content;
	uint32_t group; /* of fragments that may have something in common; by the order */
};

#define FINGERPRINT_BYTES 32

/* Fingerprint for an order; its kind depends on the order of the stream with most of the
 * bytes. All zero: none. */
struct fingerprint {
	uint8_t bytes[FINGERPRINT_BYTES];
};

struct content {
	uint64_t size;	     /* as stored; until then as scanned */
	uint64_t hole_bytes; /* of which in holes */
	uint32_t inode;	     /* first file; others are linked by tree_inode.next */
	uint32_t first_fragment;
	uint32_t fragment_count; /* in the order of their offsets; 0: empty contents */
	bool differs;		 /* changed since the scan, and reported */
	uint32_t kept_inode;	 /* a file of them whose blocks are kept, or DW_NONE;
				    then the only fragment is of no stream */
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

/* The size of these fragments together. */
static inline uint64_t dw_fragments_bytes(const struct contents *contents,
					  const uint32_t *numbers, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += contents->fragments[numbers[i]].size;
	return bytes;
}

/* Append contents, without fragments, of a file and of those linked to it. */
int dw_contents_add(struct contents *contents, struct tree *tree, uint32_t inode,
		    dwarfs_error **err);

/* Append a fragment to the last of the contents. */
int dw_contents_add_fragment(struct contents *contents, uint32_t stream, uint64_t size,
			     dwarfs_error **err);

/* Find or add a stream. */
int dw_streams_find(struct streams *streams, uint32_t category, uint32_t variant,
		    const struct codec_samples *samples, const char *metadata_json,
		    uint32_t *number_out, dwarfs_error **err);

#endif
