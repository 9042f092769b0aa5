/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/image_start: the start and the version of a damaged image.
 *
 * Takes a source; uses the section index if most headers agree with it; otherwise the
 * first section, or what can be verified as the first section; otherwise any header.
 */
#include "read/salvage/header_scan.h"

#define SAMPLES 32 /* headers examined */

/* Use the whole source. */
static void use_all(struct dwarfs_image *image)
{
	image->start = 0;
	image->bytes = dwarfs_io_bytes(image->io);
}

/* An entry of an index at an offset of the source; 0 where it is damaged. */
static int read_entry(const struct dwarfs_image *image, const struct place *place,
		      uint64_t entry, uint64_t *word_out, dwarfs_error **err)
{
	uint8_t bytes[8] = { 0 };
	int ret = dw_scan_get(image, bytes, sizeof(bytes),
			      place->at + DW_HEADER_BYTES + 8 * entry, err);

	*word_out = ret > 0 ? dw_load64(bytes) : 0;
	return ret < 0 ? ret : 0;
}

/* Whether the image may start there: most of a sample of sections have headers then. */
static int start_is_plausible(const struct dwarfs_image *image, const struct place *place,
			      uint64_t start, dwarfs_error **err)
{
	const uint64_t count = place->header.length / 8;
	const uint64_t every = count / SAMPLES + 1;
	struct section_header header;
	unsigned good = 0, looked_at = 0;

	for (uint64_t i = 0; i < count; i += every, looked_at++) {
		uint64_t word;
		int ret = read_entry(image, place, i, &word, err);

		if (ret == 0)
			ret = dw_scan_header(image, place->header.minor,
					     start + (word & DW_INDEX_OFFSET_MASK),
					     &header, err);
		if (ret < 0)
			return ret;
		good += ret > 0;
	}
	return 2 * good > looked_at;
}

/* The index stores the offset of its own header. */
static int start_from_index(const struct dwarfs_image *image, const struct place *place,
			    uint64_t *start_out, dwarfs_error **err)
{
	uint64_t word, offset;
	int ret;

	if (place->header.type != DWARFS_SECTION_INDEX || place->header.length < 8)
		return 0;
	ret = read_entry(image, place, place->header.length / 8 - 1, &word, err);
	if (ret < 0)
		return ret;
	offset = word & DW_INDEX_OFFSET_MASK;
	if (word >> DW_INDEX_OFFSET_BITS != DWARFS_SECTION_INDEX || offset > place->at)
		return 0;
	ret = start_is_plausible(image, place, place->at - offset, err);
	if (ret > 0)
		*start_out = place->at - offset;
	return ret;
}

/* Whether a valid index is at this offset and ends with the source, and its start. */
static int ask_index_at(const struct dwarfs_image *image, uint64_t at,
			uint64_t *start_out, dwarfs_error **err)
{
	struct place place = { .at = at };
	int ret = dw_scan_header(image, DW_ANY_MINOR, at, &place.header, err);

	if (ret <= 0 || at + DW_HEADER_BYTES + place.header.length != image->bytes)
		return ret < 0 ? ret : 0;
	ret = dw_scan_hash_matches(image, at, &place.header, err);
	return ret <= 0 ? ret : start_from_index(image, &place, start_out, err);
}

/* An index at the end of the source: the start that it gives, or UINT64_MAX. */
static int ask_index(const struct dwarfs_image *image, uint64_t *start_out,
		     dwarfs_error **err)
{
	const uint64_t end = image->bytes;
	const size_t size = end < DW_SCAN_BYTES ? (size_t)end : DW_SCAN_BYTES;
	auto_free uint8_t *window = dw_malloc(size + 1);
	const uint8_t *hit = window;
	int ret;

	*start_out = UINT64_MAX;
	if (!window)
		return dw_fail_nomem(err);
	if ((ret = dw_scan_read(image, window, size, end - size, err)) < 0)
		return ret;
	while ((hit = memmem(hit, size - (size_t)(hit - window), DW_MAGIC,
			     DW_MAGIC_BYTES))) {
		ret = ask_index_at(image, end - size + (uint64_t)(hit - window),
				   start_out, err);
		if (ret != 0)
			return ret < 0 ? ret : 0;
		hit += DW_MAGIC_BYTES;
	}
	return 0;
}

/* Whether the source begins with a section with a damaged header: then an image found
 * further on is one stored in a file. */
static int begins_with_section(struct dwarfs_image *image, dwarfs_error **err)
{
	const struct search search = {
		.minor = DW_ANY_MINOR,
		.from = 1,
		.to = UINT64_MAX,
		.number = 1,
		.limit = DW_MOST_SECTIONS,
	};
	uint8_t bytes[DW_HEADER_BYTES];
	struct place next;
	uint64_t length;
	int ret;

	if (image->bytes < sizeof(bytes))
		return 0;
	if ((ret = dw_scan_get(image, bytes, sizeof(bytes), 0, err)) <= 0)
		return ret;
	length = dw_load64(bytes + DW_HEADER_BYTES - 8);
	if (length <= image->bytes - sizeof(bytes) &&
	    (ret = dw_salvage_is_section(image, 0, sizeof(bytes) + length, 0, err)) != 0)
		return ret;
	ret = dw_scan_find(image, &search, &next, err);
	return ret <= 0 ? ret : dw_salvage_is_section(image, 0, next.at, 0, err);
}

/* From any header: if the first section is lost, the image starts with the source. */
static int start_from_any(struct dwarfs_image *image, dwarfs_error **err)
{
	const struct search search = {
		.minor = DW_ANY_MINOR,
		.to = UINT64_MAX,
		.limit = DW_MOST_SECTIONS,
	};
	struct place place;
	int ret;

	use_all(image);
	if ((ret = dw_scan_find(image, &search, &place, err)) < 0)
		return ret;
	if (ret == 0)
		return dw_fail(err, DWARFS_ERR_NOT_IMAGE,
			       "not a DwarFS image: it has no section of one");
	if (place.header.number == 0)
		image->start = place.at;
	return 0;
}

int dw_salvage_start(struct dwarfs_image *image, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	uint64_t indexed, found = UINT64_MAX;
	int ret;

	use_all(image);
	if ((ret = ask_index(image, &indexed, err)) < 0)
		return ret;
	ret = dw_locate_start(image, &why);
	if (ret < 0 && !dw_salvage_is_damage(image, ret))
		return dw_error_copy(err, ret, why);
	if (ret == 0)
		found = image->start;
	use_all(image);
	/* An image found after the start that the index gives is stored in a file. */
	if (indexed <= found && indexed != UINT64_MAX) {
		image->start = indexed;
		return 0;
	}
	if (found == 0)
		return 0;
	if ((ret = begins_with_section(image, err)) != 0)
		return ret < 0 ? ret : 0;
	if (found == UINT64_MAX)
		return start_from_any(image, err);
	image->start = found;
	return 0;
}

int dw_salvage_version(struct dwarfs_image *image, dwarfs_error **err)
{
	const struct search search = {
		.minor = DW_ANY_MINOR,
		.to = UINT64_MAX,
		.limit = DW_MOST_SECTIONS,
	};
	struct place place;
	int ret = dw_scan_find(image, &search, &place, err);

	if (ret == 0)
		return dw_fail(err, DWARFS_ERR_NOT_IMAGE,
			       "not a DwarFS image: it has no section of one");
	if (ret < 0)
		return ret;
	image->minor = place.header.minor;
	return 0;
}
