/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/header_scan: find headers in arbitrary bytes.
 *
 * A header is accepted if it leads to the next one or to the end of the image, or if its
 * hash matches.
 */
#include "hash/hash.h"
#include "read/image/opening.h"
#include "read/salvage/header_scan.h"

#define SCRAP_BYTES  ((size_t)4096)
#define NEEDLE_BYTES 7 /* magic and major version */

int dw_scan_get(const struct dwarfs_image *image, void *bytes, size_t size, uint64_t at,
		dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret = dw_opening_tick(image, err);

	if (ret < 0)
		return ret;
	ret = dwarfs_io_read(image->io, bytes, size, image->start + at, &why);
	if (ret < 0 && !dw_salvage_is_damage(image, ret))
		return dw_error_copy(err, ret, why);
	return ret == 0;
}

int dw_scan_read(const struct dwarfs_image *image, uint8_t *bytes, size_t size,
		 uint64_t at, dwarfs_error **err)
{
	int ret = dw_scan_get(image, bytes, size, at, err);

	if (ret != 0)
		return ret < 0 ? ret : 0;
	for (size_t done = 0; done < size; done += SCRAP_BYTES) {
		const size_t part = size - done < SCRAP_BYTES ? size - done : SCRAP_BYTES;

		ret = dw_scan_get(image, bytes + done, part, at + done, err);
		if (ret < 0)
			return ret;
		if (ret == 0)
			memset(bytes + done, 0, part);
	}
	return 0;
}

int dw_scan_header(const struct dwarfs_image *image, uint32_t minor, uint64_t at,
		   struct section_header *header, dwarfs_error **err)
{
	uint8_t bytes[DW_HEADER_BYTES];
	int ret;

	if (at > image->bytes || image->bytes - at < sizeof(bytes))
		return 0;
	if ((ret = dw_scan_get(image, bytes, sizeof(bytes), at, err)) <= 0)
		return ret;
	if (!dw_section_header_parse(bytes, header))
		return 0;
	if (minor == DW_ANY_MINOR
		    ? header->minor < 2 || header->minor > DW_FORMAT_MINOR_MAX
		    : header->minor != minor)
		return 0;
	return header->length <= image->bytes - at - DW_HEADER_BYTES;
}

int dw_scan_hash_matches(const struct dwarfs_image *image, uint64_t at,
			 const struct section_header *header, dwarfs_error **err)
{
	const uint64_t size = DW_HEADER_BYTES - DW_HEADER_XXH3_FROM + header->length;
	auto_free uint8_t *bytes = size <= SIZE_MAX ? dw_malloc((size_t)size) : NULL;
	int ret;

	/* A length that is too large for the memory counts as damaged. */
	if (!bytes)
		return 0;
	ret = dw_scan_get(image, bytes, (size_t)size, at + DW_HEADER_XXH3_FROM, err);
	return ret <= 0 ? ret : dw_xxh3_64(bytes, (size_t)size) == header->xxh3;
}

int dw_scan_leads_on(const struct dwarfs_image *image, uint64_t at,
		     const struct section_header *header, dwarfs_error **err)
{
	const uint64_t end = at + DW_HEADER_BYTES + header->length;
	struct section_header next;
	int ret;

	if (end == image->bytes)
		return 1;
	ret = dw_scan_header(image, header->minor, end, &next, err);
	return ret <= 0 ? ret : next.number == header->number + 1;
}

int dw_scan_is_confirmed(const struct dwarfs_image *image, uint64_t at,
			 const struct section_header *header, dwarfs_error **err)
{
	int ret = dw_scan_leads_on(image, at, header, err);

	return ret != 0 ? ret : dw_scan_hash_matches(image, at, header, err);
}

static int accepts(const struct dwarfs_image *image, const struct search *search,
		   uint64_t at, struct place *place, dwarfs_error **err)
{
	struct section_header header;
	int ret;

	if (at >= search->to)
		return 0;
	if ((ret = dw_scan_header(image, search->minor, at, &header, err)) <= 0)
		return ret;
	if (header.number < search->number || header.number >= search->limit)
		return 0;
	if ((ret = dw_scan_is_confirmed(image, at, &header, err)) > 0)
		*place = (struct place){ at, header };
	return ret;
}

int dw_scan_find(const struct dwarfs_image *image, const struct search *search,
		 struct place *place, dwarfs_error **err)
{
	static const char needle[] = DW_MAGIC "\x02";
	auto_free uint8_t *window = dw_malloc(DW_SCAN_BYTES);
	uint64_t at = search->from;
	int ret;

	if (!window)
		return dw_fail_nomem(err);
	while (at < image->bytes && at < search->to) {
		const uint64_t left = image->bytes - at;
		const size_t size = left < DW_SCAN_BYTES ? (size_t)left : DW_SCAN_BYTES;
		const uint8_t *hit = window;

		if ((ret = dw_scan_read(image, window, size, at, err)) < 0)
			return ret;
		while ((hit = memmem(hit, size - (size_t)(hit - window), needle,
				     NEEDLE_BYTES))) {
			ret = accepts(image, search, at + (uint64_t)(hit - window), place,
				      err);
			if (ret != 0)
				return ret;
			hit += NEEDLE_BYTES;
		}
		if (size < DW_SCAN_BYTES)
			break;
		at += size - (NEEDLE_BYTES - 1);
	}
	return 0;
}
