/* SPDX-License-Identifier: MIT */
/*
 * write/images/source_image: free a source image.
 */
#include "write/images/source_image.h"

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
