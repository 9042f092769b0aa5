/* SPDX-License-Identifier: MIT */
/*
 * read/image/decompress: decompress a section into memory.
 *
 * Takes the stored bytes of a section; gives its contents. Used for schema, metadata and
 * other small sections; blocks are decoded by cache/ and bulk/.
 */
#include "os/pages.h"
#include "read/image/image.h"

#define PREPARED_BYTES ((size_t)8 << 20)

int dw_unpack_section(const struct dwarfs_image *image, uint32_t section,
		      const struct stored *stored, uint64_t max_bytes, size_t padding,
		      uint8_t **data_out, uint64_t *size_out, dwarfs_error **err)
{
	uint32_t codec = stored->header.compression;
	struct span payload = dw_stored_payload(stored);
	auto_free uint8_t *data = NULL;
	uint64_t size, room;
	int ret;

	if ((ret = dw_codec_unpacked_size(codec, payload, &size, err)) == 0 &&
	    size > max_bytes)
		ret = dw_fail(err, DWARFS_ERR_CORRUPT,
			      "it announces %" PRIu64 " bytes where at most %" PRIu64
			      " are possible",
			      size, max_bytes);
	if (ret == 0) {
		if (!dw_add(size, (uint64_t)padding, &room) || room > SIZE_MAX ||
		    /* A forged size takes little memory. */
		    !(data = dw_pages_new_block((size_t)room, PREPARED_BYTES)))
			return dw_fail_nomem(err);
		ret = dw_codec_unpack(codec, payload, data, (size_t)size, err);
	}
	if (ret < 0)
		return dw_explain(err, ret, "section %" PRIu32 " (%s)", section,
				  dwarfs_section_type_name(stored->header.type));
	memset(data + size, 0, padding);
	*data_out = dw_steal(data);
	*size_out = size;
	return 0;
}

/*
 * No codec stores a section in more than twice its bytes: a longer one is refused before it
 * is read. In a sparse file such a section costs its author nothing.
 */
static int check_length(const struct dwarfs_image *image, uint32_t section,
			uint64_t max_bytes, dwarfs_error **err)
{
	const uint64_t frame = 65536;
	struct section_header header;
	int ret;

	if (image->salvage || max_bytes > (UINT64_MAX - frame) / 2)
		return 0;
	if ((ret = dw_locate_header(image, section, &header, err)) < 0)
		return ret;
	if (header.length <= 2 * max_bytes + frame)
		return 0;
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "section %" PRIu32 " (%s) has %" PRIu64
		       " stored bytes, where at most %" PRIu64 " are possible",
		       section, dwarfs_section_type_name(header.type), header.length,
		       2 * max_bytes + frame);
}

int dw_load_section(const struct dwarfs_image *image, uint32_t section,
		    uint64_t max_bytes, size_t padding, uint8_t **data_out,
		    uint64_t *size_out, dwarfs_error **err)
{
	auto_stored struct stored stored = { 0 };
	int ret;

	if ((ret = check_length(image, section, max_bytes, err)) < 0 ||
	    (ret = dw_stored_read(image, section, &stored, err)) < 0 ||
	    (ret = dw_verify_xxh3(image, section, &stored, err)) < 0)
		return ret;
	return dw_unpack_section(image, section, &stored, max_bytes, padding, data_out,
				 size_out, err);
}
