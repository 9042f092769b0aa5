/* SPDX-License-Identifier: MIT */
/*
 * write/images/source_image: sizes of blocks of a source image; free one.
 */
#include "write/images/source_image.h"

int dw_source_block_bytes(const struct source_image *image, uint32_t block,
			  uint64_t *bytes_out, dwarfs_error **err)
{
	int ret = image->ops->block_bytes(image->user, block, bytes_out, err);

	return ret < 0 ? dw_explain(err, ret, "'%s'", image->name) : 0;
}

int dw_source_stored_bytes(const struct source_image *image, uint32_t block,
			   uint64_t *bytes_out, dwarfs_error **err)
{
	int ret = image->ops->stored_bytes(image->user, block, bytes_out, err);

	return ret < 0 ? dw_explain(err, ret, "'%s'", image->name) : 0;
}

void dw_stored_section_free(struct stored_section *section)
{
	dw_buffer_free(&section->payload);
}

void dw_source_image_free_versions(struct source_image *image)
{
	for (size_t i = 0; i < image->version_count; i++)
		dw_free(image->versions[i].dwarfs_version);
	dw_free(image->versions);
}

void dw_source_image_free(struct source_image *image)
{
	if (!image)
		return;
	for (size_t i = 0; i < image->section_count; i++)
		dw_stored_section_free(&image->sections[i]);
	dw_free(image->sections);
	dw_source_image_free_versions(image);
	dw_free(image->blocks);
	dw_free(image->name);
	image->ops->release(image->user);
	dw_free(image);
}
