/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/metadata_codec: whether the tables of the metadata are compressed, and by what.
 */
#ifndef DW_WRITE_METADATA_METADATA_CODEC_H
#define DW_WRITE_METADATA_METADATA_CODEC_H

#include "write/build_run.h"
#include "write/pack/section_writer.h"

/*
 * The codec for metadata of this size, beside other sections of this size: that of the
 * options, or none where the image would not get noticeably smaller.
 */
struct codec_spec dw_metadata_codec(const struct build_run *run, uint64_t bytes,
				    uint64_t section_bytes);

/* Metadata, or which section about it, for messages. */
const char *dw_metadata_section_name(uint32_t type);

/* A denser codec to try besides this one, for metadata, or a section about it, of this size and while
 * so many chunks are in memory. False: there is none, not enough memory for it, or nothing that it could save is enough. */
bool dw_denser_metadata_codec(const struct build_run *run, uint32_t type,
			      const struct codec_spec *codec, uint64_t bytes,
			      uint64_t chunk_count, struct denser_codec *denser_out);

#endif
