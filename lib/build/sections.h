/* SPDX-License-Identifier: MIT */
/*
 * build/sections: number, hash, write, index.
 */
#ifndef DW_BUILD_SECTIONS_H
#define DW_BUILD_SECTIONS_H

#include "build/builder.h"
#include "format/section.h"
#include "hash/hash.h"

/* What has been written of an image. */
struct sections {
	struct build_run *run;
	uint64_t *index; /* an entry of the section index for each */
	size_t count, room;
	uint32_t unlisted; /* sections that it leaves out, behind the others */
	uint64_t bytes;	   /* from the start of the image */
	uint64_t metadata_xxh3;
};

void dw_sections_free(struct sections *sections);

/*
 * Fill the header of a section with its hashes. Needs number, type and compression; any
 * thread may do it, with a hash state of its own.
 */
void dw_section_seal(struct section_header *header, struct span data, struct xxh3 *hash);

/* Write a section whose header is sealed; its number must be the next one. */
int dw_sections_write(struct sections *sections, const struct section_header *header,
		      struct span data, dwarfs_error **err);

/* Pack, seal and write a section other than a block. Those of our own, which the index
 * does not list, must come last. */
int dw_sections_pack(struct sections *sections, uint32_t type,
		     const struct codec_spec *codec, struct span data,
		     uint64_t *stored_out, dwarfs_error **err);

/* Write the section index. */
int dw_sections_write_index(struct sections *sections, dwarfs_error **err);

#endif
