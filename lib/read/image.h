/* SPDX-License-Identifier: MIT */
/*
 * read/image: an open image, as the files of this room see it.
 */
#ifndef DW_READ_IMAGE_H
#define DW_READ_IMAGE_H

#include <stdatomic.h>

#include <dwarfs/image.h>

#include "base/context.h"
#include "codec/codec.h"
#include "format/section.h"
#include "pool/threads.h"
#include "read/cache/cache.h"
#include "read/io.h"
#include "read/metadata/view.h"

/* A section, as far as it is known without reading its header. */
struct section {
	uint64_t offset; /* of its header, from the start of the image */
	uint64_t room;	 /* bytes from there to the next section */
	uint32_t type;
};

/* The stored bytes of a section with its header in front, so that hashes need no copy. */
struct stored {
	struct section_header header;
	const uint8_t *bytes; /* header, then header.length bytes */
	size_t header_bytes;
	struct range taken; /* of them, behind the header: all, or what was asked for */
	uint8_t *owned;	    /* read, with DW_FROZEN_PADDING bytes behind; NULL: they are
			     * those of the source, or: */
	uint8_t *pages;	    /* nothing else of them is there than what was asked for */
	dwarfs_io *io;	    /* which outlives this */
	bool is_proved;	    /* its hashes need no look any more */
};

/* The hash of the metadata, when it is computed while the image is in use. */
struct verifier {
	struct threads threads; /* one, or none */
	atomic_bool stop;
	atomic_int state; /* 1: not known yet, 0: it matches, < 0: it does not */
};

struct dwarfs_image {
	atomic_uint references;
	dwarfs_context *context;
	dwarfs_io *io;
	uint64_t start, bytes; /* the image within its source */
	uint32_t minor;
	bool has_index;

	struct section *sections;
	uint32_t section_count;
	uint32_t *blocks; /* section of each block */
	uint32_t block_count;
	uint32_t schema, metadata; /* sections */

	uint32_t xattr_sections; /* how many; there should be one at most */
	uint32_t xattr_section;	 /* the last of them */
	struct lazy xattrs;	 /* its bytes, once they were checked */

	struct view *view;
	struct stored metadata_stored; /* when the view looks at it */
	uint8_t *metadata_owned;       /* else */
	bool is_lazy;		       /* hashes are looked at late */
	bool is_mapped;		       /* the pages of a file are used, not copies */
	bool trusts_blocks;	       /* their hashes are not looked at */
	struct verifier verifier;
	struct salvage *salvage; /* NULL: damage is an error */

	struct cache *cache;	 /* the context's */
	struct latency *latency; /* the context's; NULL: no times are taken */
	struct slot *slots;	 /* by block; for the cache */
};

static inline bool dw_image_is_v1(const struct dwarfs_image *image)
{
	return image->minor < 2;
}
static inline size_t dw_image_header_bytes(const struct dwarfs_image *image)
{
	return dw_image_is_v1(image) ? DW_V1_HEADER_BYTES : DW_HEADER_BYTES;
}

/* -- image.c ------------------------------------------------------------------------- */

/* The first half of opening: everything but the metadata. */
int dw_image_begin(dwarfs_context *context, dwarfs_io *io,
		   const dwarfs_image_options *options, int salvage,
		   struct dwarfs_image **image_out, dwarfs_error **err);

/* -- locate.c ------------------------------------------------------------------------ */

/* Find where the image starts: image->start, at or after 0. */
int dw_locate_start(struct dwarfs_image *image, dwarfs_error **err);
/* Check the version at image->start, and list the sections. */
int dw_locate_sections(struct dwarfs_image *image, dwarfs_error **err);
/* Read and check the header of a section against what is known of it. */
int dw_locate_header(const struct dwarfs_image *image, uint32_t section,
		     struct section_header *header_out, dwarfs_error **err);
/* The same, of a header that was read. */
int dw_locate_parse(const struct dwarfs_image *image, uint32_t section,
		    const uint8_t *bytes, struct section_header *header_out,
		    dwarfs_error **err);

/* -- verify.c ------------------------------------------------------------------------ */

void dw_stored_free(struct stored *stored);
static inline void dw_cleanup_stored(struct stored *stored)
{
	dw_stored_free(stored);
}
#define auto_stored DW_AUTO(stored)
static inline struct span dw_stored_payload(const struct stored *stored)
{
	return (struct span){ stored->bytes + stored->header_bytes,
			      (size_t)stored->header.length };
}

/* Read a section, without any check of its hashes; of a source that is in memory or
 * mapped, only see where it is. */
int dw_stored_read(const struct dwarfs_image *image, uint32_t section,
		   struct stored *stored_out, dwarfs_error **err);
/*
 * The same, but of a block whose header is known only what one of its parts needs: its
 * first bytes, which are known, too, and a range, which may be cut off at the end. All
 * else is not to be looked at.
 */
int dw_stored_read_part(const struct dwarfs_image *image, uint32_t section,
			const struct section_header *header, struct span head,
			struct range part, struct stored *stored_out, dwarfs_error **err);
/* The same as dw_stored_read(), but of a mapped file nothing is read yet. */
int dw_stored_look(const struct dwarfs_image *image, uint32_t section,
		   struct stored *stored_out, dwarfs_error **err);
/* Compare hashes; images of version 1 have none. CHECKSUM on a mismatch. */
int dw_verify_xxh3(const struct dwarfs_image *image, uint32_t section,
		   const struct stored *stored, dwarfs_error **err);
/* The same for a block, unless the opener wants no such check. */
int dw_verify_block(const struct dwarfs_image *image, uint32_t section,
		    const struct stored *stored, dwarfs_error **err);
/* Whether that looks at anything. */
bool dw_verifies_blocks(const struct dwarfs_image *image);
/* Compare what was taken of a block with an XXH3 of it. */
int dw_verify_part(const struct dwarfs_image *image, uint32_t section,
		   const struct stored *stored, uint64_t xxh3, dwarfs_error **err);
int dw_verify_sha(const struct dwarfs_image *image, uint32_t section,
		  const struct stored *stored, dwarfs_error **err);

/* Compare the XXH3 of image->metadata_stored in the background, and tell the view if it
 * does not match. */
int dw_verifier_start(struct dwarfs_image *image, dwarfs_error **err);
void dw_verifier_free(struct verifier *verifier);

/* -- history.c ----------------------------------------------------------------------- */

/* Whether one section of history can be decoded. */
int dw_history_check(const struct dwarfs_image *image, uint32_t section,
		     dwarfs_error **err);

/* -- xattr.c ------------------------------------------------------------------------- */

/* See where the section of extended attributes is; it is read when it is needed. */
int dw_image_find_xattrs(struct dwarfs_image *image, dwarfs_error **err);
void dw_image_free_xattrs(struct dwarfs_image *image);
/* See that it is read, if there is one: whatever is wrong with it comes out. */
int dw_image_need_xattrs(const struct dwarfs_image *image, dwarfs_error **err);

/* -- find.c -------------------------------------------------------------------------- */

/* Go from the entry of a directory to that of a name in it, which may be "." or "..". */
int dw_find_step(const dwarfs_image *image, const char *name, size_t size,
		 uint32_t *entry, dwarfs_error **err);

/* -- decompress.c -------------------------------------------------------------------- */

/*
 * Unpack a section into new memory of at most max_bytes, with padding zero bytes behind
 * it. The caller frees *data_out.
 */
int dw_unpack_section(const struct dwarfs_image *image, uint32_t section,
		      const struct stored *stored, uint64_t max_bytes, size_t padding,
		      uint8_t **data_out, uint64_t *size_out, dwarfs_error **err);
/* Read, verify and unpack. */
int dw_load_section(const struct dwarfs_image *image, uint32_t section,
		    uint64_t max_bytes, size_t padding, uint8_t **data_out,
		    uint64_t *size_out, dwarfs_error **err);

#endif
