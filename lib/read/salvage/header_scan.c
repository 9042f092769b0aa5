/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/header_scan: find headers in arbitrary bytes.
 *
 * A header is accepted if it leads to the next one or to the end of the image, or if its
 * hash matches.
 */
#include "hash/hash.h"
#include "read/salvage/header_scan.h"

#define SCRAP_BYTES  ((size_t)4096)
#define NEEDLE_BYTES 7 /* magic and major version */

/* Unreadable ranges are filled with zeros. */
void dw_scan_read(const struct dwarfs_image *image, uint8_t *bytes, size_t size,
		  uint64_t at)
{
	if (dwarfs_io_read(image->io, bytes, size, image->start + at, NULL) == 0)
		return;
	for (size_t done = 0; done < size; done += SCRAP_BYTES) {
		const size_t part = size - done < SCRAP_BYTES ? size - done : SCRAP_BYTES;

		if (dwarfs_io_read(image->io, bytes + done, part,
				   image->start + at + done, NULL) < 0)
			memset(bytes + done, 0, part);
	}
}

/* Whether the bytes can be a header: its version is right, and it is within the image. */
bool dw_scan_header(const struct dwarfs_image *image, uint32_t minor, uint64_t at,
		    struct section_header *header)
{
	uint8_t bytes[DW_HEADER_BYTES];

	if (at > image->bytes || image->bytes - at < sizeof(bytes) ||
	    dwarfs_io_read(image->io, bytes, sizeof(bytes), image->start + at, NULL) <
		    0 ||
	    !dw_section_header_parse(bytes, header))
		return false;
	if (minor == DW_ANY_MINOR
		    ? header->minor < 2 || header->minor > DW_FORMAT_MINOR_MAX
		    : header->minor != minor)
		return false;
	return header->length <= image->bytes - at - DW_HEADER_BYTES;
}

bool dw_scan_hash_matches(const struct dwarfs_image *image, uint64_t at,
			  const struct section_header *header)
{
	const uint64_t size = DW_HEADER_BYTES - DW_HEADER_XXH3_FROM + header->length;
	auto_free uint8_t *bytes = size <= SIZE_MAX ? dw_malloc((size_t)size) : NULL;

	return bytes &&
	       dwarfs_io_read(image->io, bytes, (size_t)size,
			      image->start + at + DW_HEADER_XXH3_FROM, NULL) == 0 &&
	       dw_xxh3_64(bytes, (size_t)size) == header->xxh3;
}

bool dw_scan_leads_on(const struct dwarfs_image *image, uint64_t at,
		      const struct section_header *header)
{
	const uint64_t end = at + DW_HEADER_BYTES + header->length;
	struct section_header next;

	return end == image->bytes || (dw_scan_header(image, header->minor, end, &next) &&
				       next.number == header->number + 1);
}

static bool accepts(const struct dwarfs_image *image, const struct search *search,
		    uint64_t at, struct place *place)
{
	struct section_header header;

	if (at >= search->to || !dw_scan_header(image, search->minor, at, &header) ||
	    header.number < search->number || header.number >= search->limit)
		return false;
	if (!dw_scan_leads_on(image, at, &header) &&
	    !dw_scan_hash_matches(image, at, &header))
		return false;
	*place = (struct place){ at, header };
	return true;
}

/* 1: found, 0: none. */
int dw_scan_find(const struct dwarfs_image *image, const struct search *search,
		 struct place *place, dwarfs_error **err)
{
	static const char needle[] = DW_MAGIC "\x02";
	auto_free uint8_t *window = dw_malloc(DW_SCAN_BYTES);
	uint64_t at = search->from;

	if (!window)
		return dw_fail_nomem(err);
	while (at < image->bytes && at < search->to) {
		const uint64_t left = image->bytes - at;
		const size_t size = left < DW_SCAN_BYTES ? (size_t)left : DW_SCAN_BYTES;
		const uint8_t *hit = window;

		dw_scan_read(image, window, size, at);
		while ((hit = memmem(hit, size - (size_t)(hit - window), needle,
				     NEEDLE_BYTES))) {
			if (accepts(image, search, at + (uint64_t)(hit - window), place))
				return 1;
			hit += NEEDLE_BYTES;
		}
		if (size < DW_SCAN_BYTES)
			break;
		at += size - (NEEDLE_BYTES - 1);
	}
	return 0;
}
