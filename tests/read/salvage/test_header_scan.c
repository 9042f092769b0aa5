/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/header_scan: headers that are followed by another header, or whose hash
 * matches.
 */
#include "read/salvage/header_scan.h"
#include "support/craft.h"
#include "support/one_file.h"

/* An image of which only the source is known. */
static void begin(struct dwarfs_image *image, const void *bytes, size_t size)
{
	memset(image, 0, sizeof(*image));
	assert_int_equal(dwarfs_io_from_memory(bytes, size, NULL, NULL, &image->io, NULL),
			 0);
	image->bytes = size;
	image->minor = 5;
}

static const uint64_t offsets[] = { 0, ONE_FILE_SCHEMA, ONE_FILE_METADATA,
				    ONE_FILE_INDEX };

static void headers_have_their_version_and_end_in_the_image(void **state)
{
	struct section_header header;
	struct dwarfs_image image;
	uint8_t copy[sizeof(one_file)];

	memcpy(copy, one_file, sizeof(copy));
	begin(&image, copy, sizeof(copy));
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(dw_scan_header(&image, 5, offsets[i], &header, NULL), 1);
		assert_int_equal(header.number, i);
		assert_int_equal(
			dw_scan_header(&image, DW_ANY_MINOR, offsets[i], &header, NULL),
			1);
		assert_int_equal(dw_scan_header(&image, 4, offsets[i], &header, NULL), 0);
		assert_int_equal(dw_scan_header(&image, 5, offsets[i] + 1, &header, NULL),
				 0);
	}
	assert_int_equal(dw_scan_header(&image, 5, sizeof(copy) - 10, &header, NULL), 0);
	assert_int_equal(dw_scan_header(&image, 5, UINT64_MAX - 5, &header, NULL), 0);
	/* The last section may end with the image, and not after it. */
	copy[ONE_FILE_INDEX + 0x38]++;
	assert_int_equal(dw_scan_header(&image, 5, ONE_FILE_INDEX, &header, NULL), 0);
	copy[ONE_FILE_INDEX + 0x38] -= 2;
	assert_int_equal(dw_scan_header(&image, 5, ONE_FILE_INDEX, &header, NULL), 1);
	/* A version that the format does not have. */
	copy[7] = DW_FORMAT_MINOR_MAX + 1;
	assert_int_equal(dw_scan_header(&image, DW_ANY_MINOR, 0, &header, NULL), 0);
	copy[7] = 1;
	assert_int_equal(dw_scan_header(&image, DW_ANY_MINOR, 0, &header, NULL), 0);
	dwarfs_io_free(image.io);
}

static void damage_breaks_a_hash_or_a_chain(void **state)
{
	struct section_header header;
	struct dwarfs_image image;
	uint8_t copy[sizeof(one_file)];

	memcpy(copy, one_file, sizeof(copy));
	begin(&image, copy, sizeof(copy));
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(dw_scan_header(&image, 5, offsets[i], &header, NULL), 1);
		assert_int_equal(dw_scan_hash_matches(&image, offsets[i], &header, NULL),
				 1);
		assert_int_equal(dw_scan_leads_on(&image, offsets[i], &header, NULL), 1);
	}
	copy[ONE_FILE_SCHEMA + 64] ^= 1;
	assert_int_equal(dw_scan_header(&image, 5, ONE_FILE_SCHEMA, &header, NULL), 1);
	assert_int_equal(dw_scan_hash_matches(&image, ONE_FILE_SCHEMA, &header, NULL), 0);
	assert_int_equal(dw_scan_leads_on(&image, ONE_FILE_SCHEMA, &header, NULL), 1);
	copy[ONE_FILE_METADATA + 0x30] = 9;
	assert_int_equal(dw_scan_leads_on(&image, ONE_FILE_SCHEMA, &header, NULL), 0);
	dwarfs_io_free(image.io);
}

/* The section found in one_file with some damage; -1: none. */
static int found(const uint8_t *bytes, struct search search)
{
	struct dwarfs_image image;
	struct place place = { 0 };
	int ret, number = -1;

	begin(&image, bytes, sizeof(one_file));
	search.minor = 5;
	ret = dw_scan_find(&image, &search, &place, NULL);
	dwarfs_io_free(image.io);
	for (int i = 0; i < 4 && ret == 1; i++)
		if (offsets[i] == place.at)
			number = i;
	return number;
}

static void the_first_acceptable_header_is_found(void **state)
{
	const struct search all = { .to = UINT64_MAX, .limit = DW_MOST_SECTIONS };
	struct search search = all;
	uint8_t copy[sizeof(one_file)];

	memcpy(copy, one_file, sizeof(copy));
	assert_int_equal(found(copy, all), 0);
	search.from = 1;
	assert_int_equal(found(copy, search), 1);
	search.to = ONE_FILE_SCHEMA;
	assert_int_equal(found(copy, search), -1);
	search.to++;
	assert_int_equal(found(copy, search), 1);
	search = all;
	search.number = 2;
	assert_int_equal(found(copy, search), 2);
	search.limit = 2;
	assert_int_equal(found(copy, search), -1);
	/* A header that is followed by no other header, and whose hash does not match, is
	 * skipped. */
	search = all;
	search.from = 1;
	copy[ONE_FILE_SCHEMA + 64] ^= 1;
	assert_int_equal(found(copy, search), 1);
	copy[ONE_FILE_METADATA + 0x30] = 9;
	assert_int_equal(found(copy, search), 3);
}

/* The bytes of one read end within the magic of the header, or adjacent to it. */
static void headers_across_two_windows_are_found(void **state)
{
	enum { HEAD = 8 };
	const size_t size = DW_SCAN_BYTES + sizeof(one_file);
	auto_free uint8_t *bytes = dw_calloc(1, size);

	for (size_t before = 0; before <= HEAD; before++) {
		const struct search search = { .minor = 5,
					       .to = UINT64_MAX,
					       .limit = DW_MOST_SECTIONS };
		struct dwarfs_image image;
		struct place place = { 0 };

		memset(bytes, 0, size);
		memcpy(bytes + DW_SCAN_BYTES - before, one_file, sizeof(one_file));
		begin(&image, bytes, DW_SCAN_BYTES - before + sizeof(one_file));
		assert_int_equal(dw_scan_find(&image, &search, &place, NULL), 1);
		assert_int_equal(place.at, DW_SCAN_BYTES - before);
		dwarfs_io_free(image.io);
	}
}

/* A source of which the second 4096 are damaged. */
static int read_some(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		     dwarfs_error **err, void *user)
{
	if (offset + bytes > 4096 && offset < 8192)
		return *(const int *)user;
	memset(buffer, 'r', bytes);
	*bytes_out = bytes;
	return 0;
}

static void damaged_bytes_are_zeros(void **state)
{
	struct dwarfs_image image = { 0 };
	int code = DWARFS_ERR_CORRUPT;
	uint8_t bytes[10000];

	assert_int_equal(
		dwarfs_io_new(read_some, sizeof(bytes), NULL, &code, &image.io, NULL), 0);
	assert_int_equal(dw_scan_read(&image, bytes, sizeof(bytes), 0, NULL), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], i >= 4096 && i < 8192 ? 0 : 'r');
	code = DWARFS_ERR_IO;
	assert_int_equal(dw_scan_read(&image, bytes, sizeof(bytes), 0, NULL), code);
	dwarfs_io_free(image.io);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_have_their_version_and_end_in_the_image),
		cmocka_unit_test(damage_breaks_a_hash_or_a_chain),
		cmocka_unit_test(the_first_acceptable_header_is_found),
		cmocka_unit_test(headers_across_two_windows_are_found),
		cmocka_unit_test(damaged_bytes_are_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
