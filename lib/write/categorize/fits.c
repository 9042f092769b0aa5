/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/fits: FITS images with 16 bits per pixel.
 *
 * A FITS file is a sequence of units: header cards, then data, both padded to whole
 * records. Data of 16-bit images are one category, all other bytes another. Reads image
 * data only to find low bits that are never set.
 */
#include <string.h>

#include "base/bytes.h"
#include "write/categorize/ops.h"

#define RECORD_BYTES	  2880
#define CARD_BYTES	  80
#define VALUE_AT	  10
#define PIXEL_BITS	  16
#define PIXEL_BYTES	  2
#define MAX_RECORDS	  2048 /* of a header */
#define MAX_UNITS	  4096
#define MAX_AXES	  999
#define MAX_UNUSED_BITS	  8 /* the most that the codec can omit */
#define READ_BYTES	  ((size_t)64 << 10)
#define BAYER_COMPONENTS  2 /* colours of a line of a Bayer pattern */
#define NUMBER_DIGITS_MAX 18

/* A parsed header, which describes the data after it. */
struct fits_unit {
	uint64_t header_bytes, data_bytes;
	uint64_t pixels, width;
	int64_t bits, axes, axes_seen;
	int64_t groups, parameters;
	bool is_image; /* by its kind; not necessarily of 16 bits */
	bool is_bayer;
	bool is_done;
	const char *problem; /* what is malformed, or NULL */
};

static bool has_key(const char *card, const char *key)
{
	size_t length = strlen(key);

	return memcmp(card, key, length) == 0 &&
	       strspn(card + length, " ") >= 8 - length && card[8] == '=' &&
	       card[9] == ' ';
}

/* An integer after spaces, with only a comment after it. */
static bool read_number(const char *card, int64_t *value_out)
{
	const char *at = card + VALUE_AT;
	bool negative = false;
	int64_t value = 0;
	size_t digits;

	at += strspn(at, " ");
	if (*at == '-' || *at == '+')
		negative = *at++ == '-';
	digits = strspn(at, "0123456789");
	if (digits == 0 || digits > NUMBER_DIGITS_MAX)
		return false;
	for (; digits > 0; digits--)
		value = 10 * value + (*at++ - '0');
	if (*at != ' ' && *at != '/' && *at != '\0')
		return false;
	*value_out = negative ? -value : value;
	return true;
}

static bool has_text(const char *card)
{
	const char *at = card + VALUE_AT;

	at += strspn(at, " ");
	return at[0] == '\'' && at[1] != '\'' && at[1] != '\0';
}

/* NAXISn: axes come in order. */
static void read_axis(const char *card, struct fits_unit *unit)
{
	char key[9] = { 0 };
	int64_t length = 0;

	memcpy(key, card, 8);
	if (key[5] < '1' || key[5] > '9' || unit->axes_seen >= unit->axes ||
	    !read_number(card, &length))
		return;
	if (length < 0 || strtoll(key + 5, NULL, 10) != unit->axes_seen + 1 ||
	    !dw_mul(unit->pixels, (uint64_t)length, &unit->pixels)) {
		unit->problem = "its axes make no sense";
		return;
	}
	if (unit->axes_seen++ == 0)
		unit->width = (uint64_t)length;
}

/* Parse a header card, terminated by a NUL. */
static void read_card(const char *card, struct fits_unit *unit)
{
	bool good = true;

	if (has_key(card, "BITPIX"))
		good = read_number(card, &unit->bits);
	else if (has_key(card, "NAXIS"))
		good = read_number(card, &unit->axes) && unit->axes >= 0 &&
		       unit->axes <= MAX_AXES;
	else if (memcmp(card, "NAXIS", 5) == 0 && card[8] == '=')
		read_axis(card, unit);
	else if (has_key(card, "PCOUNT"))
		good = read_number(card, &unit->parameters);
	else if (has_key(card, "GCOUNT"))
		good = read_number(card, &unit->groups);
	else if (has_key(card, "BAYERPAT"))
		unit->is_bayer = has_text(card);
	else if (memcmp(card, "END", 3) == 0 && strspn(card + 3, " ") == CARD_BYTES - 3)
		unit->is_done = true;
	if (!good)
		unit->problem = "a number in its header is none";
}

/* The first card of a unit is its type. */
static bool read_kind(const char *card, bool is_first, struct fits_unit *unit)
{
	if (is_first) {
		unit->is_image = true;
		return has_key(card, "SIMPLE");
	}
	unit->is_image = has_key(card, "XTENSION") &&
			 memcmp(card + VALUE_AT, "'IMAGE   '", 10) == 0;
	return has_key(card, "XTENSION");
}

static bool is_pixel_type(int64_t bits)
{
	return bits == 8 || bits == PIXEL_BITS || bits == 32 || bits == 64 ||
	       bits == -32 || bits == -64;
}

static void finish_header(struct fits_unit *unit)
{
	uint64_t values = 0;

	if (unit->axes < 0 || unit->axes_seen != unit->axes || unit->groups < 0 ||
	    unit->parameters < 0 || !is_pixel_type(unit->bits)) {
		unit->problem = "its header says not how large its data are";
		return;
	}
	if (unit->axes > 0 && !dw_add(unit->pixels, (uint64_t)unit->parameters, &values))
		unit->problem = "its data are too large";
	if (!dw_mul(values, (uint64_t)unit->groups, &values) ||
	    !dw_mul(values, (uint64_t)(unit->bits < 0 ? -unit->bits : unit->bits) / 8,
		    &unit->data_bytes))
		unit->problem = "its data are too large";
}

/*
 * Read a header. *found_out: whether there is one; unit->problem is set if it is invalid.
 */
static int read_unit(const struct category_file *file, uint64_t start,
		     struct fits_unit *unit, bool *found_out, dwarfs_error **err)
{
	char record[RECORD_BYTES], card[CARD_BYTES + 1] = { 0 };
	size_t got;
	int ret;

	*unit = (struct fits_unit){ .axes = -1, .pixels = 1, .groups = 1 };
	*found_out = false;
	for (unsigned i = 0; i < MAX_RECORDS && !unit->is_done && !unit->problem; i++) {
		ret = dw_category_read(file, start + unit->header_bytes, record,
				       sizeof(record), &got, err);
		if (ret < 0)
			return ret;
		if (i == 0 && got >= CARD_BYTES) {
			memcpy(card, record, CARD_BYTES);
			*found_out = read_kind(card, start == 0, unit);
		}
		if (!*found_out)
			return 0;
		if (got < sizeof(record))
			break;
		for (size_t at = 0; at < sizeof(record) && !unit->is_done;
		     at += CARD_BYTES) {
			memcpy(card, record + at, CARD_BYTES);
			read_card(card, unit);
		}
		unit->header_bytes += sizeof(record);
	}
	if (!unit->is_done && !unit->problem)
		unit->problem = "its header has no end";
	if (!unit->problem)
		finish_header(unit);
	if (!unit->problem && unit->data_bytes > file->size - start - unit->header_bytes)
		unit->problem = "its data run past its end";
	return 0;
}

/* -- images -------------------------------------------------------------------------- */

static bool is_image(const struct fits_unit *unit)
{
	return unit->is_image && unit->bits == PIXEL_BITS && unit->parameters == 0 &&
	       unit->groups == 1 && unit->data_bytes > 0;
}

/* The bits that are set in any pixel. */
static uint16_t used_bits(const uint8_t *data, size_t size)
{
	uint64_t bits = 0;
	size_t at = 0;

	for (; at + 8 <= size; at += 8)
		bits |= dw_load64(data + at);
	for (; at + PIXEL_BYTES <= size; at += PIXEL_BYTES)
		bits |= dw_load16(data + at);
	bits |= bits >> 32;
	bits |= bits >> 16;
	return dw_swap16((uint16_t)bits); /* big-endian in the file */
}

static int count_unused(const struct category_file *file, uint64_t start, uint64_t bytes,
			unsigned *count_out, dwarfs_error **err)
{
	auto_free uint8_t *data = dw_malloc(READ_BYTES);
	uint16_t bits = 1 << MAX_UNUSED_BITS;
	size_t size, got;
	int ret;

	if (!data)
		return dw_fail_nomem(err);
	for (uint64_t at = 0; at < bytes && !(bits & 1); at += size) {
		size = bytes - at < READ_BYTES ? (size_t)(bytes - at) : READ_BYTES;
		ret = dw_category_read(file, start + at, data, size, &got, err);
		if (ret < 0)
			return ret;
		bits |= used_bits(data, got);
		if (got < size)
			break;
	}
	*count_out = (unsigned)__builtin_ctz(bits);
	return 0;
}

static int add_image_data(const struct category_file *file, const struct fits_unit *unit,
			  uint64_t start, struct category_parts *parts,
			  dwarfs_error **err)
{
	struct codec_samples samples = {
		.big_endian = true,
		.bytes_per_sample = PIXEL_BYTES,
		.channels = 1,
	};
	unsigned unused = 0;
	int ret = count_unused(file, start, unit->data_bytes, &unused, err);

	if (ret < 0)
		return ret;
	samples.unused_lsb_count = (uint8_t)unused;
	if (unit->is_bayer && unit->width % BAYER_COMPONENTS == 0)
		samples.channels = BAYER_COMPONENTS;
	return dw_parts_add_samples(parts, CATEGORY_FITS_IMAGE, &samples,
				    unit->data_bytes, err);
}

static int add_unit(const struct category_file *file, const struct fits_unit *unit,
		    uint64_t start, struct category_parts *parts, bool *has_image,
		    dwarfs_error **err)
{
	int ret = dw_parts_add(parts, CATEGORY_FITS_METADATA, 0, unit->header_bytes, err);

	if (ret < 0)
		return ret;
	if (!is_image(unit))
		return dw_parts_add(parts, CATEGORY_FITS_METADATA, 0, unit->data_bytes,
				    err);
	*has_image = true;
	return add_image_data(file, unit, start + unit->header_bytes, parts, err);
}

/* Padding after the last record, which may be missing at the end of the file. */
static uint64_t padding_of(const struct category_file *file, uint64_t end)
{
	uint64_t short_of = end % RECORD_BYTES ? RECORD_BYTES - end % RECORD_BYTES : 0;

	return short_of < file->size - end ? short_of : file->size - end;
}

/* Add all units; bytes after the last valid one are metadata. */
static int add_units(const struct category_file *file, struct fits_unit *unit,
		     struct category_parts *parts, dwarfs_error **err)
{
	uint64_t at = 0, padding;
	bool has_image = false, found = true;
	int ret;

	for (unsigned i = 0; i < MAX_UNITS && found && !unit->problem; i++) {
		if ((ret = add_unit(file, unit, at, parts, &has_image, err)) < 0)
			return ret;
		at += unit->header_bytes + unit->data_bytes;
		padding = padding_of(file, at);
		at += padding;
		if ((ret = dw_parts_add(parts, CATEGORY_FITS_METADATA, 0, padding, err)) <
			    0 ||
		    (ret = read_unit(file, at, unit, &found, err)) < 0)
			return ret;
	}
	if (!has_image) {
		dw_category_parts_free(parts);
		return 0;
	}
	return dw_parts_add(parts, CATEGORY_FITS_METADATA, 0, file->size - at, err);
}

static int categorize_fits(const struct categorizers *all, dwarfs_context *context,
			   const struct category_file *file, struct category_parts *parts,
			   dwarfs_error **err)
{
	struct fits_unit unit;
	bool found;
	int ret;

	if (file->head.size < CARD_BYTES ||
	    memcmp(file->head.data, "SIMPLE  = ", 10) != 0)
		return 0;
	if ((ret = read_unit(file, 0, &unit, &found, err)) < 0)
		return ret;
	if (unit.problem) {
		dw_category_warn(context, file, "FITS", unit.problem);
		return 0;
	}
	return found ? add_units(file, &unit, parts, err) : 0;
}

const struct categorizer_ops dw_categorizer_fits = {
	.name = "fits",
	.categorize = categorize_fits,
};
