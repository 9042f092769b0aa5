/* SPDX-License-Identifier: MIT */
/*
 * read/image/image_info: properties of an open image: its position and sections, blocks and
 * categories, and how it was written.
 *
 * Takes an open image; reads the image header, and headers and decompressed sizes of sections, when
 * asked, and nothing else.
 */
#include "base/context.h"
#include "format/side.h"
#include "read/image/image.h"

/* -- identity ------------------------------------------------------------------------ */

uint32_t dwarfs_image_format_minor(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->minor;
}

uint64_t dwarfs_image_offset(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->start;
}

uint64_t dwarfs_image_bytes(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->bytes;
}

int dwarfs_image_read_header(const dwarfs_image *image, void *buffer, size_t bytes,
			     uint64_t offset, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || (!buffer && bytes > 0))
		return dw_fail_null(err, "image and buffer");
	if (bytes > image->start || offset > image->start - bytes)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "the image header has only %" PRIu64 " bytes",
			       image->start);
	return dwarfs_io_read(image->io, buffer, bytes, offset, err);
}

uint64_t dwarfs_image_block_bytes(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->view->block_size;
}

uint32_t dwarfs_image_block_count(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->block_count;
}

uint32_t dwarfs_image_inode_count(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->view->inode_count;
}

uint32_t dwarfs_image_entry_count(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->view->entry_count;
}

uint64_t dwarfs_image_original_bytes(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->view->total_fs_size;
}

uint64_t dwarfs_image_hardlink_bytes(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->view->total_hardlink_size;
}

const char *dwarfs_image_created_by(const dwarfs_image *image)
{
	if (!image)
		return NULL;
	return image->view->dwarfs_version;
}

bool dwarfs_image_created_on(const dwarfs_image *image, int64_t *seconds_out)
{
	if (!image || !seconds_out)
		return false;
	if (image->view->has_create_timestamp)
		*seconds_out = (int64_t)image->view->create_timestamp;
	return image->view->has_create_timestamp;
}

bool dwarfs_image_has_index(const dwarfs_image *image)
{
	if (!image)
		return false;
	return image->has_index;
}

bool dwarfs_image_is_mtime_only(const dwarfs_image *image)
{
	if (!image)
		return false;
	return image->view->mtime_only;
}

uint64_t dwarfs_image_time_resolution_ns(const dwarfs_image *image)
{
	if (!image)
		return 0;
	if (image->view->subsecond_multiplier)
		return image->view->subsecond_multiplier;
	return image->view->time_resolution * UINT64_C(1000000000);
}

uint32_t dwarfs_image_path_separator(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->view->has_path_separator ? (uint32_t)image->view->path_separator
					       : 0;
}

/* An item of a list that ends with NULL. */
static const char *null_terminated_item(char *const *list, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (!list[i])
			return NULL;
	return list[index];
}

const char *dwarfs_image_feature(const dwarfs_image *image, size_t index)
{
	if (!image)
		return NULL;
	return null_terminated_item(image->view->features, index);
}

const char *dwarfs_image_category(const dwarfs_image *image, size_t index)
{
	if (!image)
		return NULL;
	return null_terminated_item(image->view->categories, index);
}

const char *dwarfs_image_packing(const dwarfs_image *image, size_t index)
{
	if (!image)
		return NULL;
	return null_terminated_item(image->view->packing, index);
}

/* -- sections ------------------------------------------------------------------------ */

uint32_t dwarfs_image_section_count(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->section_count;
}

static int unpacked_bytes(const dwarfs_image *image, uint32_t section,
			  const struct section_header *header, uint64_t *value_out,
			  dwarfs_error **err)
{
	auto_stored struct stored stored = { 0 };
	uint8_t start[64];
	uint64_t size = header->length, at;
	int ret;

	if (dw_codec_size_at_end(header->compression)) {
		if ((ret = dw_stored_read(image, section, &stored, err)) < 0)
			return ret;
		return dw_codec_unpacked_size(header->compression,
					      dw_stored_payload(&stored), value_out, err);
	}
	if (header->compression == CODEC_NONE) {
		*value_out = size;
		return 0;
	}
	if (size > sizeof(start))
		size = sizeof(start);
	at = image->start + image->sections[section].offset +
	     dw_image_header_bytes(image);
	if ((ret = dwarfs_io_read(image->io, start, (size_t)size, at, err)) < 0)
		return ret;
	return dw_codec_unpacked_size(header->compression,
				      (struct span){ start, (size_t)size }, value_out,
				      err);
}

int dwarfs_image_section(const dwarfs_image *image, uint32_t section,
			 enum dwarfs_section_field field, uint64_t *value_out,
			 dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !value_out)
		return dw_fail_null(err, "image and value_out");

	struct section_header header;
	int ret;

	if (section >= image->section_count)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "section %" PRIu32 " of %" PRIu32 " does not exist",
			       section, image->section_count);
	switch (field) {
	case DWARFS_SECTION_FIELD_TYPE:
		*value_out = image->sections[section].type;
		return 0;
	case DWARFS_SECTION_FIELD_OFFSET:
		*value_out = image->sections[section].offset;
		return 0;
	default:
		break;
	}
	if ((ret = dw_locate_header(image, section, &header, err)) < 0)
		return ret;
	switch (field) {
	case DWARFS_SECTION_FIELD_COMPRESSION:
		*value_out = header.compression;
		return 0;
	case DWARFS_SECTION_FIELD_STORED_BYTES:
		*value_out = header.length;
		return 0;
	case DWARFS_SECTION_FIELD_NUMBER:
		*value_out = dw_image_is_v1(image) ? section : header.number;
		return 0;
	case DWARFS_SECTION_FIELD_BYTES:
		return unpacked_bytes(image, section, &header, value_out, err);
	default:
		return dw_fail(err, DWARFS_ERR_RANGE, "section field %d does not exist",
			       field);
	}
}

int64_t dwarfs_image_block_category(const dwarfs_image *image, uint32_t block)
{
	if (!image)
		return 0;

	const struct view *view = image->view;

	if (block >= view->block_categories.count)
		return -1;
	return (int64_t)dw_column_get(&view->block_categories,
				      view->block_categories_item, block);
}

const char *dwarfs_section_type_name(uint32_t type)
{
	switch (type) {
	case DWARFS_SECTION_BLOCK:
		return "BLOCK";
	case DWARFS_SECTION_SCHEMA:
		return "METADATA_V2_SCHEMA";
	case DWARFS_SECTION_METADATA:
		return "METADATA_V2";
	case DWARFS_SECTION_INDEX:
		return "SECTION_INDEX";
	case DWARFS_SECTION_HISTORY:
		return "HISTORY";
	default:
		return dw_side_name(type) ? dw_side_name(type) : "UNKNOWN";
	}
}
