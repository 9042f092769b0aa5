/* SPDX-License-Identifier: MIT */
/*
 * read/preload: load parts of an image into memory before they are needed.
 *
 * Takes an open image; what is loaded belongs to the cache or the view.
 */
#include <errno.h>

#include "os/pages.h"
#include "read/image/image.h"

int dwarfs_image_preload_block(const dwarfs_image *image, uint32_t block,
			       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image)
		return dw_fail_null(err, "image");

	dwarfs_image *mutable = (dwarfs_image *)image;
	struct cached cached;
	uint64_t bytes;
	int ret;

	if (block >= image->block_count)
		return dw_fail(err, DWARFS_ERR_RANGE, "block %" PRIu32 " of %" PRIu32,
			       block, image->block_count);
	ret = dwarfs_image_section(image, image->blocks[block],
				   DWARFS_SECTION_FIELD_BYTES, &bytes, err);
	if (ret < 0 || bytes == 0)
		return ret;
	for (uint64_t done = 0; done < bytes; done += cached.size) {
		struct range rest = { done, bytes - done };

		if ((ret = dw_cache_get(mutable, block, rest, &cached, err)) < 0)
			return ret;
		dw_cache_put(mutable, &cached);
	}
	return 0;
}

int dwarfs_image_lock_metadata(const dwarfs_image *image, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image)
		return dw_fail_null(err, "image");

	const struct frozen *frozen = &image->view->frozen;
	int errnum = dw_pages_lock(frozen->data, (size_t)frozen->size);

	if (errnum != 0)
		return dw_fail_errno(err, errnum,
				     "locking %" PRIu64 " bytes of metadata in memory",
				     frozen->size);
	return 0;
}
