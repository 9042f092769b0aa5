/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/section_search: find sections when headers do not lead from one to the
 * next.
 *
 * Where a header is missing or leads nowhere, the next one is searched for; the section
 * numbers tell how many are missing in between. A file in the image may itself be an
 * image: a header is accepted if it allows the data before it to be verified.
 */
#include "base/context.h"
#include "format/side.h"
#include "read/image/opening.h"
#include "read/salvage/header_scan.h"

#define LOOK_AHEAD (UINT64_C(64) << 20)

struct walk {
	struct dwarfs_image *image;
	size_t room;
	uint64_t at;
	struct place tail; /* the first header after which all are valid */
	bool has_tail;
};

static int add_found(struct walk *walk, uint64_t room, uint32_t type, dwarfs_error **err)
{
	struct dwarfs_image *image = walk->image;
	int ret = dw_grow(&image->sections, &walk->room, (size_t)image->section_count + 1,
			  err);

	if (ret == 0)
		image->sections[image->section_count++] =
			(struct section){ walk->at, room, type };
	return ret;
}

/* The sections between here and the next one found. The length is known only for a
 * single one. */
static int add_lost_sections(struct walk *walk, const struct place *next,
			     dwarfs_error **err)
{
	struct dwarfs_image *image = walk->image;
	const bool is_single = next->header.number == image->section_count + 1;

	dw_log(image->context, DWARFS_LOG_WARN,
	       "no good header at offset %" PRIu64 "; the next one is at %" PRIu64,
	       walk->at, next->at);
	/* The previous section is longer than it says, or is followed by other data. */
	if (next->header.number == image->section_count && image->section_count > 0) {
		struct section *last = &image->sections[image->section_count - 1];

		last->room = next->at - last->offset;
	}
	while (image->section_count < next->header.number) {
		int ret = add_found(walk, is_single ? next->at - walk->at : 0,
				    DW_SECTION_LOST, err);

		if (ret < 0)
			return ret;
	}
	walk->at = next->at;
	return 0;
}

/* The section that begins here, according to its header. */
static int add_good(struct walk *walk, const struct section_header *header,
		    dwarfs_error **err)
{
	const uint64_t room = DW_HEADER_BYTES + header->length;
	int ret = add_found(walk, room, header->type, err);

	walk->at += room;
	return ret < 0 ? ret : 1;
}

static int is_proved(const struct walk *walk, const struct place *next,
		     dwarfs_error **err)
{
	const uint32_t number = walk->image->section_count;

	if (next->header.number != number + 1)
		return 0;
	return dw_salvage_is_section(walk->image, walk->at, next->at - walk->at, number,
				     err);
}

/* Whether the tail may follow: not one whose sections were counted already, such as
 * those of another image. */
static bool may_be_tail(const struct walk *walk, uint64_t from)
{
	return walk->has_tail && walk->tail.at >= from &&
	       walk->tail.header.number >= walk->image->section_count;
}

/* The next header: one that allows the data before it to be verified; else the first
 * possible one, which may belong to an image in a file. */
static int find_next(const struct walk *walk, uint64_t from, struct place *next,
		     dwarfs_error **err)
{
	struct search search = {
		.minor = walk->image->minor,
		.from = from,
		.to = UINT64_MAX,
		.number = walk->image->section_count,
		.limit = DW_MOST_SECTIONS,
	};
	struct place place;
	bool is_found = false;
	int ret;

	if (may_be_tail(walk, from)) {
		*next = walk->tail;
		if ((ret = is_proved(walk, next, err)) != 0)
			return ret;
		search.to = walk->tail.at;
		search.limit = walk->tail.header.number;
	}
	while ((ret = dw_scan_find(walk->image, &search, &place, err)) > 0) {
		const int is_it = is_proved(walk, &place, err);

		if (!is_found || is_it > 0)
			*next = place;
		if (is_it != 0)
			return is_it;
		if (!is_found && place.at < search.to &&
		    search.to - place.at > LOOK_AHEAD)
			search.to = place.at + LOOK_AHEAD;
		is_found = true;
		search.from = place.at + 1;
	}
	if (ret < 0)
		return ret;
	return is_found || may_be_tail(walk, from);
}

/* 1 if there may be more. */
static int search_step(struct walk *walk, dwarfs_error **err)
{
	struct dwarfs_image *image = walk->image;
	struct section_header header;
	struct place next = { 0 };
	int ret = dw_scan_header(image, image->minor, walk->at, &header, err);
	const bool is_good = ret > 0 && header.number == image->section_count;

	if (is_good)
		ret = dw_scan_is_confirmed(image, walk->at, &header, err);
	if (ret < 0)
		return ret;
	if (is_good && ret > 0)
		return add_good(walk, &header, err);
	if ((ret = find_next(walk, walk->at + is_good, &next, err)) < 0)
		return ret;
	/* A section that leads beyond the next header is shorter than it says. */
	if (is_good &&
	    (ret == 0 || next.at >= walk->at + DW_HEADER_BYTES + header.length))
		return add_good(walk, &header, err);
	if (ret == 0)
		return 0;
	ret = add_lost_sections(walk, &next, err);
	return ret < 0 ? ret : 1;
}

/* Where following the headers from here ends. */
static int follow_headers(const struct dwarfs_image *image, struct place place,
			  uint64_t *end_out, dwarfs_error **err)
{
	int ret;

	while ((ret = dw_scan_leads_on(image, place.at, &place.header, err)) > 0) {
		place.at += DW_HEADER_BYTES + place.header.length;
		if (place.at == image->bytes)
			break;
		ret = dw_scan_header(image, image->minor, place.at, &place.header, err);
		if (ret <= 0)
			break;
	}
	*end_out = place.at;
	return ret < 0 ? ret : 0;
}

static int find_tail(struct walk *walk, dwarfs_error **err)
{
	struct search search = {
		.minor = walk->image->minor,
		.to = UINT64_MAX,
		.limit = DW_MOST_SECTIONS,
	};
	int ret;

	while ((ret = dw_scan_find(walk->image, &search, &walk->tail, err)) > 0) {
		uint64_t end;

		if ((ret = follow_headers(walk->image, walk->tail, &end, err)) < 0)
			return ret;
		walk->has_tail = end == walk->image->bytes;
		if (walk->has_tail)
			return 0;
		search.from = end > walk->tail.at ? end : end + 1;
	}
	return ret;
}

static int walk_v1(struct walk *walk, dwarfs_error **err)
{
	struct dwarfs_image *image = walk->image;

	walk->at = DW_V1_FILE_HEADER_BYTES;
	while (image->bytes - walk->at >= DW_V1_HEADER_BYTES) {
		struct section_header header;
		uint8_t bytes[DW_V1_HEADER_BYTES];
		int ret = dw_scan_get(image, bytes, sizeof(bytes), walk->at, err);

		if (ret <= 0)
			return ret;
		dw_section_header_parse_v1(bytes, &header);
		if (header.length > image->bytes - walk->at - sizeof(bytes))
			return 0;
		if ((ret = add_found(walk, sizeof(bytes) + header.length, header.type,
				     err)) < 0)
			return ret;
		walk->at += sizeof(bytes) + header.length;
	}
	return 0;
}

/* -- types of lost sections ---------------------------------------------------------- */

/* By what can be verified of it. */
static int ask_header(struct dwarfs_image *image, uint32_t section, dwarfs_error **err)
{
	auto_stored struct stored stored = { 0 };
	auto_error dwarfs_error *why = NULL;
	const uint32_t type = image->sections[section].type;
	int ret;

	image->sections[section].type = DW_SECTION_LOST;
	ret = dw_salvage_read(image, section, &stored, &why);
	if (ret < 0 && !dw_salvage_is_damage(image, ret))
		return dw_error_copy(err, ret, why);
	if (ret == 0)
		image->sections[section].type = stored.header.type;
	else if (dw_is_core_type(type) || dw_side_name(type))
		image->sections[section].type = type;
	return 0;
}

/* Blocks are verified when they are read, unless one of them may be another section. */
static int ask_headers(struct dwarfs_image *image, bool of_blocks, dwarfs_error **err)
{
	int ret = 0;

	for (uint32_t i = 0; i < image->section_count && ret == 0; i++)
		if ((image->sections[i].type == DWARFS_SECTION_BLOCK) == of_blocks &&
		    (ret = dw_opening_tick(image, err)) == 0)
			ret = ask_header(image, i, err);
	return ret;
}

static bool has_type(const struct dwarfs_image *image, uint32_t type)
{
	for (uint32_t i = 0; i < image->section_count; i++)
		if (image->sections[i].type == type)
			return true;
	return false;
}

/* By the sections after them: first blocks, then the schema, then the metadata. */
static void guess_types(struct dwarfs_image *image)
{
	const bool has_schema = has_type(image, DWARFS_SECTION_SCHEMA);
	bool is_before_blocks = false;

	for (uint32_t i = image->section_count; i-- > 0;) {
		struct section *section = &image->sections[i];

		if (section->type == DWARFS_SECTION_BLOCK ||
		    section->type == DWARFS_SECTION_SCHEMA)
			is_before_blocks = true;
		if (section->type != DW_SECTION_LOST)
			continue;
		if (is_before_blocks)
			section->type = DWARFS_SECTION_BLOCK;
		else if (!has_schema && i + 1 < image->section_count &&
			 section[1].type == DWARFS_SECTION_METADATA)
			section->type = DWARFS_SECTION_SCHEMA;
		is_before_blocks |= section->type == DWARFS_SECTION_SCHEMA;
	}
}

int dw_salvage_walk(struct dwarfs_image *image, dwarfs_error **err)
{
	struct walk walk = { .image = image };
	int ret = 1;

	dw_log(image->context, DWARFS_LOG_WARN,
	       "there is no good section index: the sections are searched for");
	if (dw_image_is_v1(image)) {
		ret = walk_v1(&walk, err);
	} else {
		if ((ret = find_tail(&walk, err)) == 0)
			ret = 1;
		while (ret > 0 && image->bytes - walk.at >= DW_HEADER_BYTES)
			ret = search_step(&walk, err);
		if (ret >= 0)
			ret = ask_headers(image, false, err);
		if (ret >= 0 && !(has_type(image, DWARFS_SECTION_SCHEMA) &&
				  has_type(image, DWARFS_SECTION_METADATA)))
			ret = ask_headers(image, true, err);
		guess_types(image);
	}
	if (ret >= 0 && walk.at < image->bytes)
		dw_log(image->context, DWARFS_LOG_WARN,
		       "nothing is known of the bytes from offset %" PRIu64 " on",
		       walk.at);
	return ret < 0 ? ret : 0;
}
