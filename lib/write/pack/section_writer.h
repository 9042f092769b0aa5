/* SPDX-License-Identifier: MIT */
/*
 * write/pack/section_writer: number, hash and write sections, and the section index.
 */
#ifndef DW_WRITE_PACK_SECTION_WRITER_H
#define DW_WRITE_PACK_SECTION_WRITER_H

#include "format/section.h"
#include "hash/hash.h"
#include "write/build_run.h"

/* State of an image being written. */
struct section_writer {
	struct build_run *run;
	uint64_t *index; /* entries of the section index */
	size_t count, room;
	uint32_t unlisted; /* side sections after the listed ones, not in the index */
	uint64_t bytes;	   /* from the start of the image */
	uint64_t metadata_xxh3;
};

void dw_section_writer_free(struct section_writer *sections);

/*
 * Fill the header of a section with its hashes. Needs number, type and compression; any
 * thread may do it, with a hash state of its own.
 */
void dw_section_seal(struct section_header *header, struct span data, struct xxh3 *hash);

/* Write a section whose header is sealed; its number must be the next one. */
int dw_section_writer_write(struct section_writer *sections,
			    const struct section_header *header, struct span data,
			    dwarfs_error **err);

/* The same for a section of which some bytes are in the output already: dw_sink_share(). */
int dw_section_writer_write_shared(struct section_writer *sections,
				   const struct section_header *header, struct span data,
				   dwarfs_error **err);

/* Pack, seal and write a section other than a block. Those of our own, which the index
 * does not list, must come last. */
int dw_section_writer_pack(struct section_writer *sections, uint32_t type,
			   const struct codec_spec *codec, struct span data,
			   dwarfs_error **err);

/* A codec that takes longer, and what it must save to be used: a number of bytes, and a share of this
 * section and those written before, in parts of SHARE_OF_ALL. */
struct denser_codec {
	struct codec_spec codec;
	uint64_t least_bytes;
	uint32_t least_share;
};

#define SHARE_OF_ALL UINT32_C(1000000)

/* A section that is packed and not yet written. All zero: none. */
struct packed_section {
	uint32_t type, compression;
	struct span stored;  /* `bytes`, or the data that was to be packed */
	struct buffer bytes; /* as packed */
};

void dw_packed_section_free(struct packed_section *packed);
#define auto_packed_section __attribute__((cleanup(dw_packed_section_free)))

/* Pack a section that follows those written, without writing it. With a denser codec, that one is
 * used if it saves enough; it is tried only if three quarters of what the first codec leaves would
 * be enough. NULL: none. records: which bytes are records; NULL: not known. The data must exist as
 * long as the result. */
int dw_section_pack(const struct section_writer *sections, uint32_t type,
		    const struct codec_spec *codec, const struct denser_codec *denser,
		    struct span data, const struct record_ranges *records,
		    struct packed_section *packed_out, dwarfs_error **err);

/* Seal and write it. */
int dw_section_writer_write_packed(struct section_writer *sections,
				   const struct packed_section *packed,
				   dwarfs_error **err);

/* Write a section as it is stored in another image, with the next number. A damaged one
 * keeps its hashes, which stay wrong. */
struct stored_section;
int dw_section_writer_copy(struct section_writer *sections,
			   const struct stored_section *section, dwarfs_error **err);

/* Write the section index. */
int dw_section_writer_write_index(struct section_writer *sections, dwarfs_error **err);

#endif
