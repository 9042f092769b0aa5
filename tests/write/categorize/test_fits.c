/* SPDX-License-Identifier: MIT */
/*
 * Images in FITS files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/categorized.h"

static int setup(void **state)
{
	*state = categorized_new("fits");
	return 0;
}

static int teardown(void **state)
{
	categorized_free(*state);
	return 0;
}

static void put_card(struct bytes *bytes, const char *text)
{
	char card[81];

	snprintf(card, sizeof(card), "%-80s", text);
	put(bytes, card, 80);
}

/* Lines, ended by NULL, and the rest of the record. */
static void put_header(struct bytes *bytes, const char *const *lines)
{
	while (*lines)
		put_card(bytes, *lines++);
	put_card(bytes, "END");
	while (bytes->size % 2880)
		append_text(bytes, " ");
}

static void put_pixels(struct bytes *bytes, size_t count, uint16_t pixel)
{
	while (count-- > 0)
		put_big(bytes, pixel, 2);
}

static void pad(struct bytes *bytes)
{
	put_zeros(bytes, (2880 - bytes->size % 2880) % 2880);
}

static const char *const small_image[] = {
	"SIMPLE  =                    T",
	"BITPIX  =                   16",
	"NAXIS   =                    2",
	"NAXIS1  =                   10",
	"NAXIS2  =                    3",
	"BZERO   =                32768",
	NULL,
};

static void unused_bits_are_counted(void **state)
{
	static const struct {
		uint16_t pixel;
		unsigned unused;
	} cases[] = { { 1, 0 },	   { 2, 1 }, { 0x8000, 8 }, { 0x100, 8 },
		      { 0x80, 7 }, { 0, 8 }, { 0xffff, 0 }, { 0x9ffc, 2 } };
	struct categorized *all = *state;
	struct bytes bytes;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* in the first pixel, in the last, and not between */
		for (size_t at = 0; at < 30; at += 29) {
			bytes.size = 0;
			put_header(&bytes, small_image);
			put_pixels(&bytes, at, 0);
			put_pixels(&bytes, 1, cases[i].pixel);
			put_pixels(&bytes, 29 - at, 0);
			memset(bytes.data + bytes.size, 0xff, 2820); /* is ignored */
			bytes.size += 2820;
			assert_parts(
				all, &bytes,
				"fits/metadata 2880, fits/image 60, fits/metadata 2820");
			assert_int_equal(samples_of(all)->unused_lsb_count,
					 cases[i].unused);
			assert_int_equal(samples_of(all)->channels, 1);
			assert_true(samples_of(all)->big_endian);
		}
	}
}

/* More than one read, and only the last pixel differs. */
static void large_images_are_read_to_the_end(void **state)
{
	static const char *const lines[] = {
		"SIMPLE  =                    T",
		"BITPIX  =                   16",
		"NAXIS   =                    1",
		"NAXIS1  = 100001 / odd",
		NULL,
	};
	struct categorized *all = *state;
	struct bytes header = { .size = 0 };
	size_t size = 2880 + 200002;
	uint8_t *data = dw_calloc(1, size);

	assert_non_null(data);
	put_header(&header, lines);
	memcpy(data, header.data, header.size);
	data[size - 1] = 0x10;
	assert_string_equal(categorize(all, data, size),
			    "fits/metadata 2880, fits/image 200002");
	assert_int_equal(samples_of(all)->unused_lsb_count, 4);
	dw_free(data);
}

static void bayer_patterns_have_two_components(void **state)
{
	static const char *lines[] = {
		"SIMPLE  =                    T",
		"BITPIX  =                   16",
		"NAXIS   =                    2",
		"NAXIS1  =                   10",
		"NAXIS2  =                    3",
		"BAYERPAT= 'RGGB    '",
		NULL,
	};
	struct categorized *all = *state;
	struct bytes bytes = { .size = 0 };

	put_header(&bytes, lines);
	put_pixels(&bytes, 30, 1);
	assert_parts(all, &bytes, "fits/metadata 2880, fits/image 60");
	assert_int_equal(samples_of(all)->channels, 2);
	lines[3] = "NAXIS1  =                   15";
	lines[4] = "NAXIS2  =                    2";
	bytes.size = 0;
	put_header(&bytes, lines);
	put_pixels(&bytes, 30, 1);
	assert_parts(all, &bytes, "fits/metadata 2880, fits/image 60");
	assert_int_equal(samples_of(all)->channels,
			 1); /* lines begin with either colour */
}

static void every_unit_is_looked_at(void **state)
{
	static const char *const primary[] = {
		"SIMPLE  =                    T",
		"BITPIX  =                    8",
		"NAXIS   =                    0",
		NULL,
	};
	static const char *const table[] = {
		"XTENSION= 'BINTABLE'",		  "BITPIX  =                    8",
		"NAXIS   =                    2", "NAXIS1  =                    7",
		"NAXIS2  =                    3", "PCOUNT  =                    9",
		"GCOUNT  =                    1", NULL,
	};
	static const char *const image[] = {
		"XTENSION= 'IMAGE   '",
		"BITPIX  =                   16",
		"NAXIS   =                    3",
		"NAXIS1  =                    2",
		"NAXIS2  =                    3",
		"NAXIS3  =                    4",
		"PCOUNT  =                    0",
		"GCOUNT  =                    1",
		NULL,
	};
	struct categorized *all = *state;
	struct bytes bytes = { .size = 0 };

	put_header(&bytes, primary);
	put_header(&bytes, table);
	put_zeros(&bytes, 30);
	pad(&bytes);
	assert_nothing(all, &bytes); /* not an image of 16 bits */
	put_header(&bytes, image);
	put_pixels(&bytes, 24, 2);
	pad(&bytes);
	put_header(&bytes, image);
	put_pixels(&bytes, 24, 4);
	assert_parts(all, &bytes,
		     "fits/metadata 11520, fits/image 48, fits/metadata 5712, "
		     "fits/image 48");
	append_text(&bytes, "and something else");
	assert_parts(all, &bytes,
		     "fits/metadata 11520, fits/image 48, fits/metadata 5712, "
		     "fits/image 48, fits/metadata 18");
}

static void malformed_fits_is_reported(void **state)
{
	static const char *const no_axis[] = {
		"SIMPLE  =                    T",
		"BITPIX  =                   16",
		"NAXIS   =                    2",
		"NAXIS1  =                   10",
		NULL,
	};
	static const char *const swapped[] = {
		"SIMPLE  =                    T", "BITPIX  =                   16",
		"NAXIS   =                    2", "NAXIS2  =                   10",
		"NAXIS1  =                   10", NULL,
	};
	static const char *const huge[] = {
		"SIMPLE  =                    T", "BITPIX  =                   16",
		"NAXIS   =                    2", "NAXIS1  = 999999999999999999",
		"NAXIS2  = 999999999999999999",	  NULL,
	};
	static const char *const many_groups[] = {
		"SIMPLE  =                    T", "BITPIX  =                   16",
		"NAXIS   =                    1", "NAXIS1  = 999999999999999999",
		"GCOUNT  = 999999999999999999",	  NULL,
	};
	static const char *const no_size[] = {
		"SIMPLE  =                    T",
		"NAXIS   =                    0",
		NULL,
	};
	static const char *const seven[] = {
		"SIMPLE  =                    T",
		"BITPIX  =                    7",
		"NAXIS   =                    1",
		"NAXIS1  =                   10",
		NULL,
	};
	static const char *const negative[] = {
		"SIMPLE  =                    T",
		"BITPIX  =                   16",
		"NAXIS   =                    1",
		"NAXIS1  =                  -10",
		NULL,
	};
	static const char *const no_number[] = {
		"SIMPLE  =                    T",
		"BITPIX  =                   16",
		"NAXIS   =                 many",
		NULL,
	};
	static const char *const *const cases[] = { no_axis,	 swapped,  huge,
						    many_groups, no_size,  seven,
						    negative,	 no_number };
	struct categorized *all = *state;
	struct bytes bytes = { .size = 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bytes.size = 0;
		put_header(&bytes, cases[i]);
		put_zeros(&bytes, 2880);
		assert_malformed(all, &bytes, "not a valid FITS file");
	}
	bytes.size = 0;
	put_header(&bytes, small_image);
	put_pixels(&bytes, 29, 1);
	assert_malformed(all, &bytes, "past its end");
	assert_no_prefix(all, &bytes);
	memset(bytes.data + 480, ' ', sizeof(bytes.data) - 480);
	bytes.size = sizeof(bytes.data);
	assert_malformed(all, &bytes, "no end");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(unused_bits_are_counted),
		TEST(large_images_are_read_to_the_end),
		TEST(bayer_patterns_have_two_components),
		TEST(every_unit_is_looked_at),
		TEST(malformed_fits_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
