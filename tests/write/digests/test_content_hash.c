/* SPDX-License-Identifier: MIT */
/*
 * write/digests/content_hash: the digest is that of <dwarfs/digest.h>, holes included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "write/digests/content_hash.h"

#define ALL_BYTES 20000
#define HOLE_FROM 1000
#define HOLE_TO	  11000

static uint8_t data[ALL_BYTES];

static int fill_data(void **state)
{
	for (size_t i = 0; i < ALL_BYTES; i++)
		data[i] = i >= HOLE_FROM && i < HOLE_TO ? 0 : (uint8_t)(i * 11 + i / 99);
	return 0;
}

static void expect_digest(const uint8_t *found, const uint8_t *bytes, size_t size)
{
	char wanted[DWARFS_DIGEST_HEX_BUFFER_BYTES], hex[2 * DW_FILE_DIGEST_BYTES + 1];
	dwarfs_digest *digest = NULL;

	assert_int_equal(dwarfs_digest_new("xxh3-128", &digest, NULL), 0);
	dwarfs_digest_update(digest, bytes, size);
	dwarfs_digest_finish(digest, wanted);
	dwarfs_digest_free(digest);
	for (size_t i = 0; i < DW_FILE_DIGEST_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", found[i]);
	assert_string_equal(hex, wanted);
}

static void bytes_are_hashed(void **state)
{
	uint8_t digest[DW_FILE_DIGEST_BYTES];
	struct content_hash hash;

	assert_int_equal(dw_content_hash_init(&hash, NULL), 0);
	for (size_t size = 0; size <= ALL_BYTES; size += 1999) {
		dw_content_hash_begin(&hash);
		dw_content_hash_add(&hash, data, size / 3);
		dw_content_hash_add(&hash, data + size / 3, size - size / 3);
		assert_true(dw_content_hash_end(&hash, digest));
		expect_digest(digest, data, size);
		dw_content_hash_once(data, size, digest);
		expect_digest(digest, data, size);
	}
	dw_content_hash_free(&hash);
}

static void holes_are_zeros(void **state)
{
	uint8_t digest[DW_FILE_DIGEST_BYTES];
	struct content_hash hash;

	assert_int_equal(dw_content_hash_init(&hash, NULL), 0);
	dw_content_hash_begin(&hash);
	dw_content_hash_add(&hash, data, HOLE_FROM);
	dw_content_hash_add_hole(&hash, HOLE_TO - HOLE_FROM);
	dw_content_hash_add(&hash, data + HOLE_TO, ALL_BYTES - HOLE_TO);
	assert_true(dw_content_hash_end(&hash, digest));
	expect_digest(digest, data, ALL_BYTES);
	dw_content_hash_free(&hash);
}

/* Otherwise a hole of terabytes would take minutes. */
static void very_long_holes_have_no_digest(void **state)
{
	uint8_t digest[DW_FILE_DIGEST_BYTES];
	struct content_hash hash;

	assert_int_equal(dw_content_hash_init(&hash, NULL), 0);
	dw_content_hash_begin(&hash);
	dw_content_hash_add_hole(&hash, 1);
	dw_content_hash_add_hole(&hash, UINT64_MAX - 1);
	dw_content_hash_add_hole(&hash, 1);
	assert_false(dw_content_hash_end(&hash, digest));
	dw_content_hash_begin(&hash);
	assert_true(dw_content_hash_end(&hash, digest));
	dw_content_hash_free(&hash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_hashed),
		cmocka_unit_test(holes_are_zeros),
		cmocka_unit_test(very_long_holes_have_no_digest),
	};

	return cmocka_run_group_tests(tests, fill_data, NULL);
}
