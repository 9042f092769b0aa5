/* SPDX-License-Identifier: MIT */
/*
 * read/image/locate: skip data before an image, and find its sections.
 *
 * Takes a source; gives the start of the image and its list of sections. The section
 * index is used if it exists and is consistent; otherwise the headers are followed.
 * Every offset is checked against the source, and every count before it is used.
 */
#include "format/side.h"
#include "hash/hash.h"
#include "read/image/image.h"
#include "read/image/opening.h"
#include "read/salvage/salvage.h"

#define FIRST_BYTES  ((size_t)4 << 10) /* enough for most images */
#define SCAN_BYTES   ((size_t)1 << 20)
#define NEEDLE_BYTES 7 /* magic and major version */

/* More sections than any writer puts between the last indexed one and the index. */
#define MAX_GAP_SECTIONS 64

/* -- the start ----------------------------------------------------------------------- */

/* Reads small ranges of a source; an I/O error ends the search. */
struct peek {
	dwarfs_io *io;
	const uint8_t *window; /* bytes that were read already, */
	uint64_t at;	       /* their offset */
	size_t size;	       /* and number */
	int failure;	       /* code of the first failure, or 0 */
	dwarfs_error **err;
};

static bool peek_bytes(struct peek *peek, uint64_t offset, void *bytes, size_t size)
{
	uint64_t end = dwarfs_io_bytes(peek->io);

	if (peek->failure < 0 || offset > end || end - offset < size)
		return false;
	if (offset >= peek->at && offset - peek->at <= peek->size &&
	    size <= peek->size - (size_t)(offset - peek->at)) {
		memcpy(bytes, peek->window + (offset - peek->at), size);
		return true;
	}
	peek->failure = dwarfs_io_read(peek->io, bytes, size, offset, peek->err);
	return peek->failure == 0;
}

/* A version 1 header at an offset of the source; false if it does not fit. */
static bool peek_v1(struct peek *peek, uint64_t offset, struct section_header *header)
{
	uint8_t bytes[DW_V1_HEADER_BYTES];

	if (!peek_bytes(peek, offset, bytes, sizeof(bytes)))
		return false;
	dw_section_header_parse_v1(bytes, header);
	return true;
}

static bool peek_v2(struct peek *peek, uint64_t offset, struct section_header *header)
{
	uint8_t bytes[DW_HEADER_BYTES];

	return peek_bytes(peek, offset, bytes, sizeof(bytes)) &&
	       dw_section_header_parse(bytes, header);
}

/* A second header must follow where the first one says: this excludes accidental
 * magics. */
static bool starts_v1(struct peek *peek, uint64_t at)
{
	struct section_header first, second;
	uint64_t next;

	if (!peek_v1(peek, at + DW_V1_FILE_HEADER_BYTES, &first) ||
	    (first.type != DWARFS_SECTION_BLOCK && first.type != DWARFS_SECTION_SCHEMA) ||
	    first.compression > DW_V1_MAX_COMPRESSION || first.length == 0)
		return false;
	next = at + DW_V1_FILE_HEADER_BYTES + DW_V1_HEADER_BYTES + first.length;
	if (!peek_v1(peek, next, &second) ||
	    next + DW_V1_HEADER_BYTES >= dwarfs_io_bytes(peek->io) ||
	    second.compression > DW_V1_MAX_COMPRESSION || second.length == 0)
		return false;
	if (first.type == DWARFS_SECTION_SCHEMA)
		return second.type == DWARFS_SECTION_METADATA;
	return second.type == DWARFS_SECTION_BLOCK ||
	       second.type == DWARFS_SECTION_SCHEMA;
}

static bool starts_v2(struct peek *peek, uint64_t at)
{
	struct section_header first, second;
	uint64_t next;

	if (!peek_v2(peek, at, &first) || first.number != 0 ||
	    !dw_add(at + DW_HEADER_BYTES, first.length, &next))
		return false;
	return peek_v2(peek, next, &second) && second.number == 1 &&
	       next + DW_HEADER_BYTES < dwarfs_io_bytes(peek->io);
}

static bool starts_here(struct peek *peek, uint64_t at)
{
	uint8_t minor;

	if (!peek_bytes(peek, at + NEEDLE_BYTES, &minor, 1))
		return false;
	return minor < 2 ? starts_v1(peek, at) : starts_v2(peek, at);
}

/* Magics after which no readable image starts. */
struct hits {
	uint64_t place; /* the first one, unless its header is that of a first section */
	bool is_any, is_header;
};

static void note_hit(struct hits *hits, struct peek *peek, uint64_t at)
{
	struct section_header header;
	bool is_header = peek_v2(peek, at, &header) && header.number == 0;

	if (hits->is_any && (hits->is_header || !is_header))
		return;
	*hits = (struct hits){ .place = at, .is_any = true, .is_header = is_header };
}

static int fail_version(const uint8_t *magic, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
		       "format version %u.%u is not supported", magic[6], magic[7]);
}

/* Whether the source begins with the magic and another major version. A control character is
 * expected there, so that text is not taken for a version. */
static bool has_other_version(struct dwarfs_image *image, uint8_t magic[8])
{
	return dwarfs_io_bytes(image->io) >= 8 &&
	       dwarfs_io_read(image->io, magic, 8, 0, NULL) == 0 &&
	       memcmp(magic, DW_MAGIC, DW_MAGIC_BYTES) == 0 &&
	       magic[6] != DW_FORMAT_MAJOR && magic[6] < ' ';
}

/* Explain why there is no image: no magic was found, or the image is damaged, and how.
 * A magic that no header follows is an accident; and even with one, the source may not
 * be meant as an image. */
static int fail_start(struct dwarfs_image *image, const struct hits *hits,
		      dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	uint8_t magic[8];
	int ret;

	if (!image->salvage && (!hits->is_any || hits->place > 0) &&
	    has_other_version(image, magic))
		return fail_version(magic, err);
	if (!hits->is_any || image->salvage || (!hits->is_header && hits->place > 0))
		return dw_fail(err, DWARFS_ERR_NOT_IMAGE, "not a DwarFS image");
	image->start = hits->place;
	image->bytes = dwarfs_io_bytes(image->io) - hits->place;
	ret = dw_locate_sections(image, &why);
	if (ret == 0)
		ret = dw_fail(&why, DWARFS_ERR_CORRUPT,
			      "section 0 is not followed by another one");
	if (ret == DWARFS_ERR_NOMEM || hits->place == 0)
		return dw_error_copy(err, ret, why);
	return dw_fail(err, DWARFS_ERR_NOT_IMAGE,
		       "not a DwarFS image: what begins at offset %" PRIu64
		       " is damaged: %s",
		       hits->place, dwarfs_error_message(why));
}

int dw_locate_start(struct dwarfs_image *image, dwarfs_error **err)
{
	static const char needle[] = DW_MAGIC "\x02";
	uint64_t end = dwarfs_io_bytes(image->io), at = 0;
	struct peek peek = { .io = image->io, .err = err };
	struct hits hits = { 0 };
	auto_free uint8_t *window = dw_malloc(SCAN_BYTES);

	if (!window)
		return dw_fail_nomem(err);
	while (at < end) {
		const size_t most = at == 0 ? FIRST_BYTES : SCAN_BYTES;
		const size_t size = end - at < most ? (size_t)(end - at) : most;
		const uint8_t *hit = window;
		int ret = dw_opening_tick(image, err);

		if (ret == 0)
			ret = dwarfs_io_read(image->io, window, size, at, err);

		if (ret < 0)
			return ret;
		peek.window = window;
		peek.at = at;
		peek.size = size;
		while ((hit = memmem(hit, size - (size_t)(hit - window), needle,
				     NEEDLE_BYTES))) {
			uint64_t place = at + (uint64_t)(hit - window);

			if (starts_here(&peek, place)) {
				image->start = place;
				return dw_opening_keep(
					image, hit, size - (size_t)(hit - window), err);
			}
			note_hit(&hits, &peek, place);
			if (peek.failure < 0)
				return peek.failure;
			hit += NEEDLE_BYTES;
		}
		if (size < most)
			break;
		at += size - (NEEDLE_BYTES -
			      1); /* a magic may cross the boundary of two reads */
	}
	return fail_start(image, &hits, err);
}

/* -- the sections -------------------------------------------------------------------- */

static int check_version(struct dwarfs_image *image, dwarfs_error **err)
{
	uint8_t bytes[8];
	int ret;

	if (image->bytes < sizeof(bytes))
		return dw_fail(err, DWARFS_ERR_NOT_IMAGE,
			       "not a DwarFS image: %" PRIu64 " bytes are too few",
			       image->bytes);
	if ((ret = dw_image_read(image, bytes, sizeof(bytes), 0, err)) < 0)
		return ret;
	if (memcmp(bytes, DW_MAGIC, DW_MAGIC_BYTES) != 0)
		return dw_error_at_offset(
			err,
			dw_fail(err, DWARFS_ERR_NOT_IMAGE,
				"not a DwarFS image: no magic at offset %" PRIu64,
				image->start),
			image->start);
	if (bytes[6] != DW_FORMAT_MAJOR || bytes[7] > DW_FORMAT_MINOR_MAX)
		return fail_version(bytes, err);
	image->minor = bytes[7];
	return 0;
}

static int parse_header(const struct dwarfs_image *image, const uint8_t *bytes,
			struct section_header *header_out)
{
	if (dw_image_is_v1(image)) {
		dw_section_header_parse_v1(bytes, header_out);
		header_out->minor = image->minor;
		return 0;
	}
	if (!dw_section_header_parse(bytes, header_out) ||
	    header_out->minor != image->minor)
		return DWARFS_ERR_CORRUPT;
	return 0;
}

static int fail_section_header(const struct dwarfs_image *image, uint32_t section,
			       uint64_t offset, const char *what, dwarfs_error **err)
{
	int ret = dw_fail(err, DWARFS_ERR_CORRUPT,
			  "section %" PRIu32 " at offset %" PRIu64 ": %s", section,
			  offset, what);

	return dw_error_at_offset(err, ret, image->start + offset);
}

int dw_locate_parse(const struct dwarfs_image *image, uint32_t section,
		    const uint8_t *bytes, struct section_header *header_out,
		    dwarfs_error **err)
{
	const struct section *known = &image->sections[section];
	size_t header_bytes = dw_image_header_bytes(image);

	if (parse_header(image, bytes, header_out) < 0)
		return fail_section_header(image, section, known->offset,
					   "there is no header", err);
	if (header_out->type != known->type)
		return fail_section_header(image, section, known->offset,
					   "its type is not that of the index", err);
	/* There may be sections between the last listed one and the index. */
	if (header_out->length > known->room - header_bytes ||
	    (header_out->length != known->room - header_bytes &&
	     section + 2 != image->section_count))
		return fail_section_header(image, section, known->offset,
					   "its length is not that of the index", err);
	return 0;
}

int dw_locate_header(const struct dwarfs_image *image, uint32_t section,
		     struct section_header *header_out, dwarfs_error **err)
{
	uint8_t bytes[DW_HEADER_BYTES];
	int ret;

	if (image->salvage)
		return dw_salvage_header(image, section, header_out, err);
	if ((ret = dw_image_read(image, bytes, dw_image_header_bytes(image),
				 image->sections[section].offset, err)) < 0)
		return ret;
	return dw_locate_parse(image, section, bytes, header_out, err);
}

static int add_section(struct dwarfs_image *image, size_t *capacity, uint64_t offset,
		       uint64_t room, uint32_t type, dwarfs_error **err)
{
	int ret;

	if (image->section_count == UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "too many sections");
	ret = dw_grow(&image->sections, capacity, (size_t)image->section_count + 1, err);
	if (ret < 0)
		return ret;
	image->sections[image->section_count++] =
		(struct section){ .offset = offset, .room = room, .type = type };
	return 0;
}

/* Follow the headers from the first section to the end of the image. */
static int walk_headers(struct dwarfs_image *image, dwarfs_error **err)
{
	size_t header_bytes = dw_image_header_bytes(image), capacity = 0;
	uint64_t at = dw_image_is_v1(image) ? DW_V1_FILE_HEADER_BYTES : 0;

	while (at < image->bytes) {
		struct section_header header;
		uint8_t bytes[DW_HEADER_BYTES];
		int ret = dw_opening_tick(image, err);

		if (ret < 0)
			return ret;
		if (image->bytes - at < header_bytes)
			return fail_section_header(image, image->section_count, at,
						   "the image ends within its header",
						   err);
		if ((ret = dw_image_read(image, bytes, header_bytes, at, err)) < 0)
			return ret;
		if (parse_header(image, bytes, &header) < 0)
			return fail_section_header(image, image->section_count, at,
						   "there is no header", err);
		if (header.length > image->bytes - at - header_bytes)
			return fail_section_header(image, image->section_count, at,
						   "it runs past the end of the image",
						   err);
		ret = add_section(image, &capacity, at, header_bytes + header.length,
				  header.type, err);
		if (ret < 0)
			return ret;
		at += header_bytes + header.length;
	}
	return 0;
}

/* -- sections that the index does not list ------------------------------------------- */

/* The last section that the index lists, and those after it up to the index. Accepts all of
 * them or none: none if there is data that is not a section, or one of a type that the
 * index must list. Gives how many there are: 0, or more than one. */
static int walk_gap(const struct dwarfs_image *image, struct section *gap,
		    uint32_t *count_out, dwarfs_error **err)
{
	const struct section *last = &image->sections[image->section_count - 2];
	uint64_t at = last->offset, end = last->offset + last->room;
	uint32_t count = 0;

	*count_out = 0;
	while (at < end) {
		struct section_header header;
		uint8_t bytes[DW_HEADER_BYTES];
		int ret;

		if (end - at < sizeof(bytes) || count == MAX_GAP_SECTIONS)
			return 0;
		if ((ret = dw_image_read(image, bytes, sizeof(bytes), at, err)) < 0)
			return ret;
		if (parse_header(image, bytes, &header) < 0 ||
		    header.length > end - at - sizeof(bytes) ||
		    (count > 0 && dw_is_core_type(header.type)))
			return 0;
		gap[count++] = (struct section){ .offset = at,
						 .room = sizeof(bytes) + header.length,
						 .type = header.type };
		at += sizeof(bytes) + header.length;
	}
	*count_out = count > 1 ? count : 0;
	return 0;
}

/* Insert the sections that the index does not list before it. */
static int list_gap(struct dwarfs_image *image, size_t *capacity, dwarfs_error **err)
{
	struct section index = image->sections[image->section_count - 1];
	struct section gap[MAX_GAP_SECTIONS];
	uint32_t count;
	int ret = walk_gap(image, gap, &count, err);

	if (ret < 0 || count == 0)
		return ret;
	image->section_count--;
	image->sections[image->section_count - 1].room = gap[0].room;
	for (uint32_t i = 1; i < count; i++)
		if ((ret = add_section(image, capacity, gap[i].offset, gap[i].room,
				       gap[i].type, err)) < 0)
			return ret;
	return add_section(image, capacity, index.offset, index.room, index.type, err);
}

/* Whether these offsets can be the sections of the image; if so, sets image->sections. */
static int take_index(struct dwarfs_image *image, const uint8_t *index, uint64_t count,
		      dwarfs_error **err)
{
	size_t capacity = 0;
	int ret;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t word = dw_load64(index + i * 8), next = image->bytes;
		uint64_t offset = word & DW_INDEX_OFFSET_MASK;

		if (i + 1 < count)
			next = dw_load64(index + (i + 1) * 8) & DW_INDEX_OFFSET_MASK;
		if ((i == 0 && offset != 0) || offset > next || next > image->bytes ||
		    next - offset < DW_HEADER_BYTES) {
			dw_free(image->sections);
			image->sections = NULL;
			image->section_count = 0;
			return 0;
		}
		ret = add_section(image, &capacity, offset, next - offset,
				  (uint32_t)(word >> DW_INDEX_OFFSET_BITS), err);
		if (ret < 0)
			return ret;
	}
	image->has_index = true;
	if ((ret = dw_opening_read_metadata(image, err)) < 0)
		return ret;
	return list_gap(image, &capacity, err);
}

/* Use the section index if it is valid; otherwise the headers are followed. */
static int try_index(struct dwarfs_image *image, dwarfs_error **err)
{
	auto_free uint8_t *section = NULL;
	struct section_header header;
	uint8_t last[8];
	uint64_t word, offset, size;
	int ret;

	if (image->minor < 4 || image->bytes < DW_HEADER_BYTES + sizeof(last))
		return 0;
	if ((ret = dw_image_read(image, last, sizeof(last), image->bytes - sizeof(last),
				 err)) < 0)
		return ret;
	word = dw_load64(last);
	offset = word & DW_INDEX_OFFSET_MASK;
	if (word >> DW_INDEX_OFFSET_BITS != DWARFS_SECTION_INDEX ||
	    offset > image->bytes - DW_HEADER_BYTES)
		return 0;
	size = image->bytes - offset;
	if ((size - DW_HEADER_BYTES) % 8 != 0 || size - DW_HEADER_BYTES < 3 * 8 ||
	    size > SIZE_MAX)
		return 0;
	/* The header first: its size must be checked before memory is allocated. */
	uint8_t bytes[DW_HEADER_BYTES];
	if ((ret = dw_image_read(image, bytes, sizeof(bytes), offset, err)) < 0)
		return ret;
	if (!dw_section_header_parse(bytes, &header) || header.minor != image->minor ||
	    header.type != DWARFS_SECTION_INDEX || header.compression != CODEC_NONE ||
	    header.length != size - DW_HEADER_BYTES)
		return 0;
	section = dw_malloc((size_t)size);
	if (!section)
		return dw_fail_nomem(err);
	if ((ret = dw_image_read(image, section, (size_t)size, offset, err)) < 0)
		return ret;
	if (dw_xxh3_64(section + DW_HEADER_XXH3_FROM,
		       (size_t)size - DW_HEADER_XXH3_FROM) != header.xxh3)
		return 0;
	return take_index(image, section + DW_HEADER_BYTES, header.length / 8, err);
}

/* Find which sections are blocks, schema and metadata. */
static int classify_sections(struct dwarfs_image *image, dwarfs_error **err)
{
	uint32_t schemas = 0, metadatas = 0, blocks = 0;

	for (uint32_t i = 0; i < image->section_count; i++)
		blocks += image->sections[i].type == DWARFS_SECTION_BLOCK;
	image->blocks = dw_calloc(blocks, sizeof(*image->blocks));
	if (!image->blocks)
		return dw_fail_nomem(err);
	for (uint32_t i = 0; i < image->section_count; i++) {
		switch (image->sections[i].type) {
		case DWARFS_SECTION_BLOCK:
			image->blocks[image->block_count++] = i;
			break;
		case DWARFS_SECTION_SCHEMA:
			image->schema = i;
			schemas++;
			break;
		case DWARFS_SECTION_METADATA:
			image->metadata = i;
			metadatas++;
			break;
		default:
			if (dw_image_is_v1(image))
				return dw_fail(err, DWARFS_ERR_CORRUPT,
					       "section %" PRIu32
					       " has the unknown type %" PRIu32,
					       i, image->sections[i].type);
		}
	}
	if (schemas == 0)
		image->schema = DW_SECTION_LOST;
	if (metadatas == 0)
		image->metadata = DW_SECTION_LOST;
	/* If there are several, the last one counts. */
	if (!image->salvage && (schemas != 1 || metadatas != 1))
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "the image has %" PRIu32 " schema and %" PRIu32
			       " metadata sections instead of one each%s",
			       schemas, metadatas,
			       schemas > 1 && metadatas > 1
				       ? ": if several images follow each other, give "
					 "its size with -o imagesize of dwarfs(1) or "
					 "dwarfs_image_options_set_bytes()"
				       : "");
	return 0;
}

/* With salvage, every section that can be found. */
static int find_sections(struct dwarfs_image *image, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret = check_version(image, &why);

	if (ret < 0 && !dw_salvage_is_damage(image, ret))
		return dw_error_copy(err, ret, why);
	if (ret < 0 && (ret = dw_salvage_version(image, err)) < 0)
		return ret;
	ret = try_index(image, &why);
	if (ret < 0 && !dw_salvage_is_damage(image, ret))
		return dw_error_copy(err, ret, why);
	if (!image->has_index && (ret = dw_salvage_walk(image, err)) < 0)
		return ret;
	if ((ret = classify_sections(image, err)) < 0)
		return ret;
	return dw_salvage_ready(image, err);
}

int dw_locate_sections(struct dwarfs_image *image, dwarfs_error **err)
{
	struct section_header first;
	int ret;

	if (image->salvage)
		return find_sections(image, err);
	if ((ret = dw_opening_read_ends(image, err)) < 0 ||
	    (ret = check_version(image, err)) < 0 || (ret = try_index(image, err)) < 0)
		return ret;
	if (!image->has_index && (ret = walk_headers(image, err)) < 0)
		return ret;
	/* With an index the first header may not have been read yet. */
	if (image->has_index && (ret = dw_locate_header(image, 0, &first, err)) < 0)
		return ret;
	return classify_sections(image, err);
}
