/* SPDX-License-Identifier: MIT */
/*
 * read/xattr: extended attributes. See <dwarfs/xattr.h>.
 *
 * They are stored in a separate section, which contains the hash of the metadata it
 * belongs to. The section is decompressed and checked at its first use, and then kept.
 */
#include <dwarfs/xattr.h>

#include "format/xattrs.h"
#include "read/image/image.h"

/* Maximum size of the section: as for other metadata, plus this for each inode. */
#define PER_INODE 64

void dw_image_find_xattrs(struct dwarfs_image *image)
{
	for (uint32_t i = 0; i < image->section_count; i++) {
		if (image->sections[i].type != DWARFS_SECTION_XATTRS)
			continue;
		image->xattr_section = i;
		image->xattr_sections++;
	}
}

void dw_image_free_xattrs(struct dwarfs_image *image)
{
	dw_lazy_free(&image->xattrs);
}

/* -- loading ------------------------------------------------------------------------- */

static uint64_t limit_of(const struct dwarfs_image *image)
{
	uint64_t stored = image->sections[image->xattr_section].room, limit;

	if (!dw_mul(stored, (uint64_t)DW_METADATA_RATIO, &limit))
		return UINT64_MAX;
	if (limit < DW_METADATA_LIMIT)
		limit = DW_METADATA_LIMIT;
	return limit + (uint64_t)image->view->inode_count * PER_INODE;
}

static int check_owner(const struct dwarfs_image *image, const struct xattr_table *table,
		       dwarfs_error **err)
{
	struct section_header header;
	int ret = dw_locate_header(image, image->metadata, &header, err);

	if (ret < 0)
		return ret;
	if (table->metadata_xxh3 != header.xxh3 ||
	    table->inode_count != image->view->inode_count)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "extended attributes: they belong to other metadata");
	return 0;
}

static int load_attributes(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	const struct dwarfs_image *image = owner;
	auto_free uint8_t *data = NULL;
	struct xattr_table table;
	uint64_t size;
	int ret;

	if (image->xattr_sections > 1)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "the image has %" PRIu32
			       " sections of extended attributes",
			       image->xattr_sections);
	if ((ret = dw_load_section(image, image->xattr_section, limit_of(image), 0, &data,
				   &size, err)) < 0 ||
	    (ret = dw_xattr_table_check((struct span){ data, (size_t)size }, &table,
					err)) < 0 ||
	    (ret = check_owner(image, &table, err)) < 0)
		return ret;
	*items_out = (uint32_t *)(void *)dw_steal(data);
	return 0;
}

int dw_image_need_xattrs(const struct dwarfs_image *image, dwarfs_error **err)
{
	return image->xattr_sections
		       ? dw_lazy_need(&image->xattrs, load_attributes, image, err)
		       : 0;
}

bool dwarfs_image_has_xattrs(const dwarfs_image *image)
{
	if (!image)
		return false;
	return image->xattr_sections > 0;
}

/* -- looking up ---------------------------------------------------------------------- */

/* The attributes of an inode: pairs [*first_out, *end_out) of the table. */
static int find_attributes(const dwarfs_image *image, uint32_t inode,
			   struct xattr_table *table, uint32_t *first_out,
			   uint32_t *end_out, dwarfs_error **err)
{
	int ret;

	if (inode >= image->view->inode_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "inode %" PRIu32 " does not exist",
			       inode);
	*first_out = *end_out = 0;
	if (!image->xattr_sections)
		return 0;
	if ((ret = dw_image_need_xattrs(image, err)) < 0)
		return ret;
	*table = dw_xattr_table_look((const uint8_t *)dw_lazy_items(&image->xattrs));
	dw_xattr_table_pairs(table, inode, first_out, end_out);
	return 0;
}

int dwarfs_image_xattr_name(const dwarfs_image *image, size_t index,
			    const char **name_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !name_out)
		return dw_fail_null(err, "image and name_out");

	struct xattr_table table;
	int ret = dw_image_need_xattrs(image, err);

	if (ret < 0 || !image->xattr_sections)
		return ret;
	table = dw_xattr_table_look((const uint8_t *)dw_lazy_items(&image->xattrs));
	if (index >= table.name_count)
		return 0;
	*name_out = dw_xattr_table_any_name(&table, (uint32_t)index);
	return 1;
}

static int fail_room(dwarfs_error **err, size_t room, size_t need)
{
	return dw_fail(err, DWARFS_ERR_RANGE, "buffer too small: %zu bytes, %zu needed",
		       room, need);
}

int dwarfs_xattr_list(const dwarfs_image *image, dwarfs_inode inode, char *buffer,
		      size_t room, size_t *bytes_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image)
		return dw_fail_null(err, "image");

	struct xattr_table table;
	uint32_t first, end;
	size_t bytes = 0;
	int ret = find_attributes(image, inode.number, &table, &first, &end, err);

	if (ret < 0)
		return ret;
	for (uint32_t pair = first; pair < end; pair++)
		bytes += dw_xattr_table_name(&table, pair).size + 1;
	if (bytes_out)
		*bytes_out = bytes;
	if (!buffer)
		return 0;
	if (bytes > room)
		return fail_room(err, room, bytes);
	for (uint32_t pair = first; pair < end; pair++) {
		struct span name = dw_xattr_table_name(&table, pair);

		memcpy(buffer, name.data, name.size + 1);
		buffer += name.size + 1;
	}
	return 0;
}

/* Sets are short, so they are searched from their start. */
int dwarfs_xattr_get(const dwarfs_image *image, dwarfs_inode inode, const char *name,
		     void *buffer, size_t room, size_t *bytes_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !name)
		return dw_fail_null(err, "image and name");

	struct xattr_table table;
	uint32_t pair, end;
	struct span value;
	int ret = find_attributes(image, inode.number, &table, &pair, &end, err);

	if (ret < 0)
		return ret;
	while (pair < end &&
	       strcmp((const char *)dw_xattr_table_name(&table, pair).data, name) != 0)
		pair++;
	if (pair == end)
		return dw_fail(err, DWARFS_ERR_NOT_FOUND,
			       "inode %" PRIu32 " has no attribute '%s'", inode.number,
			       name);
	value = dw_xattr_table_value(&table, pair);
	if (bytes_out)
		*bytes_out = value.size;
	if (!buffer)
		return 0;
	if (value.size > room)
		return fail_room(err, room, value.size);
	if (value.size > 0)
		memcpy(buffer, value.data, value.size);
	return 0;
}

int dwarfs_xattr_at(const dwarfs_image *image, dwarfs_inode inode, size_t index,
		    const char **name_out, const void **value_out, size_t *bytes_out,
		    dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !name_out || !value_out || !bytes_out)
		return dw_fail_null(err, "image, name_out, value_out and bytes_out");

	struct xattr_table table;
	uint32_t first, end;
	struct span value;
	int ret = find_attributes(image, inode.number, &table, &first, &end, err);

	if (ret < 0)
		return ret;
	if (index >= end - first)
		return 0;
	value = dw_xattr_table_value(&table, first + (uint32_t)index);
	*name_out =
		(const char *)dw_xattr_table_name(&table, first + (uint32_t)index).data;
	*value_out = value.data;
	*bytes_out = value.size;
	return 1;
}
