/* SPDX-License-Identifier: MIT */
/*
 * read/image/image: an open image, for the files of this module.
 */
#ifndef DW_READ_IMAGE_IMAGE_H
#define DW_READ_IMAGE_IMAGE_H

#include <stdatomic.h>

#include <dwarfs/image.h>

#include "base/context.h"
#include "codec/codec.h"
#include "format/section.h"
#include "pool/threads.h"
#include "read/cache/cache.h"
#include "os/io.h"
#include "read/metadata/view.h"

/* A section, as far as known without its header. */
struct section {
	uint64_t offset; /* of its header, from the start of the image */
	uint64_t room;	 /* bytes until the next section */
	uint32_t type;
};

/* The stored bytes of a section after its header, contiguous so that hashes need no
 * copy. */
struct stored {
	struct section_header header;
	const uint8_t *bytes; /* header, then header.length bytes */
	size_t header_bytes;
	struct range taken; /* range of the payload that was read: all, or as requested */
	uint8_t *owned;	    /* read, and followed by DW_FROZEN_PADDING bytes; or */
	uint8_t *pages;	    /* only `taken` was read; both NULL: bytes of the source */
	dwarfs_io *io;	    /* which outlives this */
	bool is_proved;	    /* hashes were verified before (salvage) */
};

/* Hashes the metadata while the image is in use. */
struct verifier {
	struct threads threads; /* one, or none */
	atomic_bool stop;
	atomic_int state; /* 1: not finished, 0: matches, < 0: does not match */
};

struct dwarfs_image {
	atomic_uint references;
	char gap[DW_APART_BYTES]; /* each open file changes `references` */
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

	uint32_t xattr_sections; /* number of such sections; one is allowed */
	uint32_t xattr_section;	 /* the last of them */
	struct lazy xattrs;	 /* their bytes, after they were checked */

	uint32_t digest_sections; /* likewise: see metadata/image_digests.c */
	uint32_t digest_section;
	struct lazy digests;

	struct view *view;
	struct stored metadata_stored; /* if the view uses it in place */
	uint8_t *metadata_owned;       /* otherwise */
	bool is_lazy;		       /* hashes are verified late */
	bool is_mapped;		       /* use pages of a mapped file instead of copies */
	bool trusts_blocks;	       /* block hashes are not verified */
	struct verifier verifier;
	struct salvage *salvage; /* NULL: damage is an error */
	struct opening *opening; /* while it is opened */

	struct cache *cache;	 /* the context's */
	struct latency *latency; /* the context's; NULL: no latencies are measured */
	struct slot *slots;	 /* by block, for the cache */
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

/* Open all but the metadata. */
int dw_image_begin(dwarfs_context *context, dwarfs_io *io,
		   const dwarfs_image_options *options, int salvage,
		   struct dwarfs_image **image_out, dwarfs_error **err);

/* -- locate.c ------------------------------------------------------------------------ */

/* Find where the image starts: image->start, at or after 0. */
int dw_locate_start(struct dwarfs_image *image, dwarfs_error **err);
/* Check the version at image->start, and list the sections. */
int dw_locate_sections(struct dwarfs_image *image, dwarfs_error **err);
/* Read a section's header and check it against what is known of the section. */
int dw_locate_header(const struct dwarfs_image *image, uint32_t section,
		     struct section_header *header_out, dwarfs_error **err);
/* The same for a header that was read already. */
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

/* No block compresses to so many bytes: such a section is refused before memory is
 * allocated. */
bool dw_is_too_long_for_block(const struct dwarfs_image *image,
			      const struct section_header *header);
/* Read a section without verifying it; if the source is in memory or mapped, only
 * locate it. */
int dw_stored_read(const struct dwarfs_image *image, uint32_t section,
		   struct stored *stored_out, dwarfs_error **err);
/* Read only what decoding a part of a block needs: a range of the payload, which may
 * be cut off at its end; header and first bytes are known. Other bytes of *stored_out
 * are undefined. */
int dw_stored_read_part(const struct dwarfs_image *image, uint32_t section,
			const struct section_header *header, struct span head,
			struct range part, struct stored *stored_out, dwarfs_error **err);
/* A section of which all bytes, with its header, but these are read from the source; takes
 * whole. */
int dw_stored_complete(const struct dwarfs_image *image, uint32_t section, uint8_t *whole,
		       size_t size, struct range known, struct stored *stored_out,
		       dwarfs_error **err);
/* As dw_stored_read(), but without reading pages of a mapped file. */
int dw_stored_look(const struct dwarfs_image *image, uint32_t section,
		   struct stored *stored_out, dwarfs_error **err);
/* Compare hashes; images of version 1 have none. CHECKSUM on a mismatch. */
int dw_verify_xxh3(const struct dwarfs_image *image, uint32_t section,
		   const struct stored *stored, dwarfs_error **err);
/* The same for a block, unless the image was opened without block verification. */
int dw_verify_block(const struct dwarfs_image *image, uint32_t section,
		    const struct stored *stored, dwarfs_error **err);
/* The code of a failure to read a block; an error that says that the image is damaged gets the
 * name of its source, in the message and as path, as it has the offset in that source. */
int dw_name_source(const struct dwarfs_image *image, int ret, dwarfs_error **err);
/* Whether dw_verify_block() compares anything. */
bool dw_verifies_blocks(const struct dwarfs_image *image);
/* Compare the part of a block that was read with an XXH3. */
int dw_verify_part(const struct dwarfs_image *image, uint32_t section,
		   const struct stored *stored, uint64_t xxh3, dwarfs_error **err);
int dw_verify_sha(const struct dwarfs_image *image, uint32_t section,
		  const struct stored *stored, dwarfs_error **err);
/* Read a section of any size in pieces, and compare its XXH3 and, if wanted, its SHA-512/256. */
int dw_verify_in_pieces(const struct dwarfs_image *image, uint32_t section, bool with_sha,
			struct section_header *header_out, dwarfs_error **err);

/* Compare the XXH3 of image->metadata_stored in the background; a mismatch is stored
 * in the view. */
int dw_verifier_start(struct dwarfs_image *image, dwarfs_error **err);
void dw_verifier_free(struct verifier *verifier);

/* -- history.c ----------------------------------------------------------------------- */

/* Whether one section of history can be decoded. */
int dw_history_check(const struct dwarfs_image *image, uint32_t section,
		     dwarfs_error **err);

/* -- xattr.c ------------------------------------------------------------------------- */

/* Locate the section of extended attributes; it is read at its first use. */
void dw_image_find_xattrs(struct dwarfs_image *image);
void dw_image_free_xattrs(struct dwarfs_image *image);
/* Read the section if there is one; an error if it is invalid. */
int dw_image_need_xattrs(const struct dwarfs_image *image, dwarfs_error **err);

/* -- metadata/image_digests.c -------------------------------------------------------- */

/* Locate the section of digests; it is read at its first use. */
void dw_image_find_digests(struct dwarfs_image *image);
void dw_image_free_digests(struct dwarfs_image *image);
/* Read the section: 1, 0 if there is none, or an error if it is invalid. */
struct digest_table;
int dw_image_need_digests(const struct dwarfs_image *image,
			  struct digest_table *table_out, dwarfs_error **err);

/* -- find.c -------------------------------------------------------------------------- */

/* From the entry of a directory to that of a name in it, which may be "." or "..". */
int dw_find_step(const dwarfs_image *image, const char *name, size_t size,
		 dwarfs_entry *entry, dwarfs_error **err);
/* Name the path in the error of a lookup, instead of numbers of inodes. The missing name stays if
 * links were followed: it may be that of a target. Returns the code. */
int dw_find_failed(const char *path, bool through_links, int code, dwarfs_error **err);

/* -- decompress.c -------------------------------------------------------------------- */

/* Decompress a section into new memory of at most max_bytes, followed by padding zero
 * bytes. The caller frees *data_out. */
int dw_unpack_section(const struct dwarfs_image *image, uint32_t section,
		      const struct stored *stored, uint64_t max_bytes, size_t padding,
		      uint8_t **data_out, uint64_t *size_out, dwarfs_error **err);
/* Whether a section is large, and of a file, so that it is not read in advance. */
bool dw_unpacks_in_pieces(const struct dwarfs_image *image, uint32_t section);
/* Read, verify and decompress such a section, as by dw_load_section(). False for any failure, which
 * that one reports, and for codecs that need all of a payload. */
#define DW_STORED_PIECE_BYTES ((size_t)32 << 10)
bool dw_unpack_in_pieces(const struct dwarfs_image *image, uint32_t section,
			 uint64_t max_bytes, size_t padding, uint8_t **data_out,
			 uint64_t *size_out);
/* Read, verify and decompress. */
int dw_load_section(const struct dwarfs_image *image, uint32_t section,
		    uint64_t max_bytes, size_t padding, uint8_t **data_out,
		    uint64_t *size_out, dwarfs_error **err);

#endif
