/* SPDX-License-Identifier: MIT */
/*
 * format/section: headers of sections, as bytes.
 */
#include "format/section.h"

bool dw_section_header_parse(const uint8_t *bytes, struct section_header *header_out)
{
	if (memcmp(bytes, DW_MAGIC, DW_MAGIC_BYTES) != 0 || bytes[6] != DW_FORMAT_MAJOR)
		return false;
	header_out->minor = bytes[7];
	memcpy(header_out->sha512_256, bytes + DW_HEADER_SHA_AT, 32);
	header_out->xxh3 = dw_load64(bytes + DW_HEADER_XXH3_AT);
	header_out->number = dw_load32(bytes + 0x30);
	header_out->type = dw_load16(bytes + 0x34);
	header_out->compression = dw_load16(bytes + 0x36);
	header_out->length = dw_load64(bytes + 0x38);
	return true;
}

void dw_section_header_parse_v1(const uint8_t *bytes, struct section_header *header_out)
{
	*header_out = (struct section_header){
		.type = dw_load16(bytes),
		.compression = bytes[2],
		.length = dw_load32(bytes + 4),
	};
}

void dw_section_header_store(const struct section_header *header, uint8_t *bytes)
{
	memcpy(bytes, DW_MAGIC, DW_MAGIC_BYTES);
	bytes[6] = DW_FORMAT_MAJOR;
	bytes[7] = DW_FORMAT_MINOR_WRITTEN;
	memcpy(bytes + DW_HEADER_SHA_AT, header->sha512_256, 32);
	dw_store64(bytes + DW_HEADER_XXH3_AT, header->xxh3);
	dw_store32(bytes + 0x30, header->number);
	dw_store16(bytes + 0x34, (uint16_t)header->type);
	dw_store16(bytes + 0x36, (uint16_t)header->compression);
	dw_store64(bytes + 0x38, header->length);
}
