/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/image_digests: the section with digests of contents and anchors of blocks.
 *
 * Reading files does not use it: it lets a writer find equal data without decompressing
 * (rewrite/). It contains the hash of the metadata it belongs to. The section is
 * decompressed and checked at its first use, and then kept.
 */
#include "format/side/digest_table.h"
#include "read/image/image.h"

/* Maximum size of the section: for anchors a ratio of their compressed size, plus what its
 * other tables need. */
#define MIN_ANCHOR_LIMIT (UINT64_C(1) << 20)
#define MAX_ANCHOR_RATIO 64

void dw_image_find_digests(struct dwarfs_image *image)
{
	for (uint32_t i = 0; i < image->section_count; i++) {
		if (image->sections[i].type != DWARFS_SECTION_DIGESTS)
			continue;
		image->digest_section = i;
		image->digest_sections++;
	}
}

void dw_image_free_digests(struct dwarfs_image *image)
{
	dw_lazy_free(&image->digests);
}

/* Contents of the chunk table. */
static uint64_t content_count(const struct dwarfs_image *image)
{
	uint64_t count = image->view->chunk_table.count;

	return count > 0 ? count - 1 : 0;
}

static uint64_t digest_limit(const struct dwarfs_image *image)
{
	uint64_t stored = image->sections[image->digest_section].room, limit;

	if (!dw_mul(stored, (uint64_t)MAX_ANCHOR_RATIO, &limit))
		return UINT64_MAX;
	return limit + MIN_ANCHOR_LIMIT + content_count(image) * DW_FILE_DIGEST_BYTES +
	       (uint64_t)image->block_count * sizeof(uint32_t);
}

static int check_digest_owner(const struct dwarfs_image *image,
			      const struct digest_table *table, dwarfs_error **err)
{
	struct section_header header;
	int ret = dw_locate_header(image, image->metadata, &header, err);

	if (ret < 0)
		return ret;
	if (table->metadata_xxh3 != header.xxh3 ||
	    (table->file_count > 0 && table->file_count != content_count(image)) ||
	    (table->block_count > 0 && table->block_count != image->block_count))
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "digests: they belong to other metadata");
	return 0;
}

static int load_digest_table(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	const struct dwarfs_image *image = owner;
	auto_free uint8_t *data = NULL;
	struct digest_table table;
	uint64_t size;
	int ret;

	if (image->digest_sections > 1)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "the image has %" PRIu32 " sections of digests",
			       image->digest_sections);
	if ((ret = dw_load_section(image, image->digest_section, digest_limit(image), 0,
				   &data, &size, err)) < 0 ||
	    (ret = dw_digest_table_check((struct span){ data, (size_t)size },
					 image->view->block_size, &table, err)) < 0 ||
	    (ret = check_digest_owner(image, &table, err)) < 0)
		return ret;
	*items_out = (uint32_t *)(void *)dw_steal(data);
	return 0;
}

int dw_image_need_digests(const struct dwarfs_image *image,
			  struct digest_table *table_out, dwarfs_error **err)
{
	int ret;

	if (!image->digest_sections)
		return 0;
	if ((ret = dw_lazy_need(&image->digests, load_digest_table, image, err)) < 0)
		return ret;
	*table_out =
		dw_digest_table_look((const uint8_t *)dw_lazy_items(&image->digests));
	return 1;
}
