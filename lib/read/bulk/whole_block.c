/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/whole_block: decode a block once, into its own memory.
 *
 * Takes a block and how much of it is needed; gives its bytes. If it is in the cache,
 * its bytes are taken from there; the cache is not changed.
 */
#include "os/pages.h"
#include "read/bulk/whole_block.h"
#include "read/file.h"

/* Pages that were used before are cheaper: the system has to clear new ones. */
static int grow_pages(struct whole *whole, size_t bytes, dwarfs_error **err)
{
	if (whole->page_bytes >= bytes)
		return 0;
	dw_pages_free(whole->pages, whole->page_bytes);
	whole->pages = dw_pages_new(bytes);
	whole->page_bytes = whole->pages ? bytes : 0;
	return whole->pages ? 0 : dw_fail_nomem(err);
}

static int decode_block(const dwarfs_image *image, struct whole *whole,
			dwarfs_error **err)
{
	struct span payload = dw_stored_payload(&whole->stored);
	uint32_t codec = whole->stored.header.compression;
	auto_decoder struct decoder *decoder = NULL;
	uint64_t size;
	int ret = dw_codec_unpacked_size(codec, payload, &size, err);

	if (ret < 0)
		return ret;
	if (size > image->view->block_size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "it announces %" PRIu64 " bytes where at most %" PRIu64
			       " are possible",
			       size, image->view->block_size);
	/* Only readers of what exceeds the block fail. */
	if (size < whole->need)
		whole->need = size;
	if (codec == CODEC_NONE) {
		whole->bytes = payload.data;
		return 0;
	}
	if ((ret = grow_pages(whole, size ? (size_t)size : 1, err)) < 0)
		return ret;
	whole->bytes = whole->pages;
	if ((ret = dw_decoder_new(codec, payload, whole->pages, (size_t)size, &decoder,
				  err)) < 0)
		return ret;
	return dw_decoder_run(decoder, (size_t)whole->need, err);
}

int dw_whole_load(dwarfs_image *image, uint32_t block, struct whole *whole,
		  dwarfs_error **err)
{
	uint32_t section = image->blocks[block];
	uint64_t began;
	int ret;

	if (dw_cache_peek(image, block, (struct range){ 0, whole->need },
			  &whole->cached)) {
		if (dw_cache_hold(image, &whole->cached)) {
			whole->bytes = whole->cached.data;
			return 0;
		}
		dw_cache_put(image, &whole->cached);
		whole->cached = (struct cached){ 0 };
	}
	DW_LATENCY_SPAN(image->latency, DWARFS_LATENCY_DECODE);
	began = dw_latency_begin(image->latency);
	if ((ret = dw_stored_read(image, section, &whole->stored, err)) == 0)
		ret = dw_verify_block(image, section, &whole->stored, err);
	dw_latency_end(image->latency, DWARFS_LATENCY_LOAD, began);
	if (ret < 0)
		return dw_name_source(image, ret, err);
	if ((ret = decode_block(image, whole, err)) < 0) {
		dw_explain(err, ret, "section %" PRIu32 " (BLOCK)", section);
		return dw_name_source(image, ret, err);
	}
	if (whole->bytes == whole->pages)
		dw_stored_free(&whole->stored);
	return 0;
}

void dw_whole_release(dwarfs_image *image, struct whole *whole)
{
	if (whole->cached.data)
		dw_cache_put(image, &whole->cached);
	dw_pages_free(whole->pages, whole->page_bytes);
	dw_stored_free(&whole->stored);
	*whole = (struct whole){ 0 };
}

int dw_whole_has(const struct whole *whole, const struct piece *piece, dwarfs_error **err)
{
	if (piece->is_hole || piece->offset + piece->bytes <= whole->need)
		return 0;
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "metadata: a chunk extends past the %" PRIu64
		       " bytes of block %" PRIu32,
		       whole->need, piece->block);
}
