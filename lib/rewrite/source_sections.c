/* SPDX-License-Identifier: MIT */
/*
 * rewrite/source_sections: sections of an image that is an input: read, verified, and kept as they
 * are stored, or unpacked to be compressed again.
 */
#include <string.h>

#include <dwarfs/salvage.h>

#include "format/frozen.h"
#include "format/history_write.h"
#include "format/side.h"
#include "read/image/opening.h"
#include "rewrite/source_sections.h"

/* Larger ones are not read. */
#define MAX_HISTORY_BYTES (UINT64_C(4) << 20)

/* -- one section ----------------------------------------------------------------------- */

/* The size of a section when it is unpacked; 0 if its codec is not built in, or if it is
 * damaged and that is no error. */
static int get_unpacked_bytes(const dwarfs_image *image, uint32_t section,
			      const struct stored *stored,
			      struct stored_section *section_out, dwarfs_error **err)
{
	bool is_block = stored->header.type == DWARFS_SECTION_BLOCK;
	auto_error dwarfs_error *why = NULL;
	uint64_t bytes = 0;
	int ret = dw_codec_unpacked_size(stored->header.compression,
					 dw_stored_payload(stored), &bytes, &why);

	if (ret == 0 && is_block && bytes > image->view->block_size)
		ret = dw_fail(&why, DWARFS_ERR_CORRUPT,
			      "it announces %" PRIu64 " bytes where at most %" PRIu64
			      " are possible",
			      bytes, image->view->block_size);
	section_out->unpacked_bytes = ret == 0 ? bytes : 0;
	if (ret == 0 || ret == DWARFS_ERR_UNSUPPORTED || section_out->is_damaged ||
	    (is_block && image->trusts_blocks))
		return 0;
	dw_error_copy(err, ret, why);
	return dw_explain(err, ret, "section %" PRIu32 " (%s)", section,
			  dwarfs_section_type_name(stored->header.type));
}

/* Move the payload of a section into a buffer. Blocks are large: their memory is used again. */
static int take_payload(struct stored *stored, struct buffer *to, dwarfs_error **err)
{
	struct span payload = dw_stored_payload(stored);

	if (!stored->owned || to->data)
		return dw_buffer_append(to, payload.data, payload.size, err);
	memmove(stored->owned, payload.data, payload.size);
	*to = (struct buffer){ .data = dw_steal(stored->owned),
			       .size = payload.size,
			       .capacity = payload.size };
	stored->bytes = NULL; /* nothing is left to be freed */
	return 0;
}

int dw_source_take_section(const dwarfs_image *image, uint32_t section,
			   struct stored *stored, struct stored_section *section_out,
			   dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret = dw_verify_xxh3(image, section, stored, &why);

	if (ret < 0 && (ret != DWARFS_ERR_CHECKSUM || !image->trusts_blocks))
		return dw_error_copy(err, ret, why);
	section_out->header = stored->header;
	section_out->is_damaged = ret < 0;
	ret = get_unpacked_bytes(image, section, stored, section_out, err);
	return ret < 0 ? ret : take_payload(stored, &section_out->payload, err);
}

int dw_source_read_section(const dwarfs_image *image, uint32_t section,
			   struct stored_section *section_out, dwarfs_error **err)
{
	auto_stored struct stored stored = { 0 };
	int ret = dw_stored_read(image, section, &stored, err);

	return ret < 0 ? ret
		       : dw_source_take_section(image, section, &stored, section_out,
						err);
}

/* -- those that are copied --------------------------------------------------------------- */

/* Sections that the writer does not make itself: history, and types that are unknown. */
static bool is_copied(uint32_t type)
{
	return type == DWARFS_SECTION_HISTORY ||
	       (!dw_is_core_type(type) && !dw_side_name(type));
}

/* Append an empty section. */
static int append_section(struct source_image *to, struct stored_section **section_out,
			  dwarfs_error **err)
{
	int ret = dw_grow(&to->sections, &to->section_room, to->section_count + 1, err);

	if (ret < 0)
		return ret;
	*section_out = &to->sections[to->section_count++];
	**section_out = (struct stored_section){ 0 };
	return 0;
}

/* Complete a history that upstream's tools cannot print; it is stored uncompressed then. One
 * that cannot be decompressed is copied as it is. */
static int complete_history(struct stored_section *section, dwarfs_error **err)
{
	auto_buffer struct buffer plain = { 0 }, whole = { 0 };
	uint64_t size = section->unpacked_bytes;
	int ret;

	if (section->is_damaged || size == 0 || size > MAX_HISTORY_BYTES)
		return 0;
	if ((ret = dw_buffer_reserve(&plain, (size_t)size, err)) < 0)
		return ret;
	ret = dw_codec_unpack(section->header.compression,
			      dw_buffer_span(&section->payload), plain.data, (size_t)size,
			      NULL);
	if (ret < 0)
		return ret == DWARFS_ERR_NOMEM ? dw_fail_nomem(err) : 0;
	plain.size = (size_t)size;
	if ((ret = dw_history_complete(dw_buffer_span(&plain), &whole, err)) <= 0)
		return ret;
	dw_buffer_free(&section->payload);
	section->payload = whole;
	whole = (struct buffer){ 0 };
	section->header.compression = CODEC_NONE;
	section->header.length = section->unpacked_bytes = section->payload.size;
	return 0;
}

/* Read a section that is copied. */
static int load_copied(const dwarfs_image *image, uint32_t number,
		       struct stored_section *section, dwarfs_error **err)
{
	int ret = dw_source_read_section(image, number, section, err);

	if (ret < 0 || section->header.type != DWARFS_SECTION_HISTORY)
		return ret;
	return complete_history(section, err);
}

int dw_source_load_other_sections(const dwarfs_image *image, struct source_image *to,
				  dwarfs_error **err)
{
	for (uint32_t i = 0; i < image->section_count; i++) {
		struct stored_section *section;
		int ret;

		if (!is_copied(image->sections[i].type))
			continue;
		if ((ret = append_section(to, &section, err)) < 0 ||
		    (ret = load_copied(image, i, section, err)) < 0)
			return ret;
	}
	return 0;
}

/* Load a section unpacked, to be compressed again. Records of metadata are then read in place,
 * which needs the padding. */
static int load_unpacked(const dwarfs_image *image, uint32_t number,
			 struct stored_section *section, dwarfs_error **err)
{
	struct stored_section packed = { 0 };
	uint64_t size;
	int ret = dw_source_read_section(image, number, &packed, err);

	if (ret < 0 || packed.is_damaged) {
		*section = packed;
		return ret;
	}
	size = packed.unpacked_bytes;
	section->header = packed.header;
	section->is_unpacked = true;
	if (size > SIZE_MAX - DW_FROZEN_PADDING)
		ret = dw_fail_nomem(err);
	else if ((ret = dw_buffer_reserve(&section->payload,
					  (size_t)size + DW_FROZEN_PADDING, err)) == 0)
		ret = dw_codec_unpack(packed.header.compression,
				      dw_buffer_span(&packed.payload),
				      section->payload.data, (size_t)size, err);
	section->payload.size = (size_t)size;
	dw_stored_section_free(&packed);
	return ret;
}

int dw_source_load_sections(const dwarfs_image *image, bool unpack_metadata,
			    struct source_image *to, dwarfs_error **err)
{
	uint32_t blocks = 0;

	for (uint32_t i = 0; i < image->section_count; i++) {
		uint32_t type = image->sections[i].type;
		bool unpack = dw_side_name(type) ||
			      (unpack_metadata && (type == DWARFS_SECTION_METADATA ||
						   type == DWARFS_SECTION_SCHEMA));
		struct stored_section *section;
		int ret;

		blocks += type == DWARFS_SECTION_BLOCK;
		if (type == DWARFS_SECTION_BLOCK || type == DWARFS_SECTION_INDEX ||
		    (type == DWARFS_SECTION_DIGESTS && !to->has_digests))
			continue;
		/* They get another binding to the metadata: that they have must be right. */
		ret = type == DWARFS_SECTION_XATTRS ? dw_image_need_xattrs(image, err)
						    : 0;
		if (ret < 0)
			return dw_explain(err, ret, "section %" PRIu32, i);
		if ((ret = append_section(to, &section, err)) < 0 ||
		    (ret = unpack ? load_unpacked(image, i, section, err)
				  : load_copied(image, i, section, err)) < 0)
			return ret;
		section->blocks_before = blocks;
	}
	return 0;
}

int dw_source_load_codecs(const dwarfs_image *image, struct source_image *to,
			  dwarfs_error **err)
{
	for (uint32_t i = 0; i < image->block_count; i++) {
		struct section_header header;
		int ret;

		if (dwarfs_image_block_is_lost(image, i))
			continue;
		if ((ret = dw_locate_header(image, image->blocks[i], &header, err)) < 0)
			return ret;
		to->blocks[i].compression = header.compression;
	}
	return 0;
}
