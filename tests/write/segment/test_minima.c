/* SPDX-License-Identifier: MIT */
/*
 * write/segment/minima: the shortest matches that are worth a chunk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/encode/encode.h"
#include "write/segment/density.h"
#include "write/segment/matcher.h"
#include "write/segment/minima.h"

static struct stream_settings settings_of(const char *codec, uint32_t window_bits)
{
	struct stream_settings settings = { .window_bits = window_bits, .lookback = 16 };

	assert_int_equal(dw_codec_parse(codec, &settings.codec, NULL), 0);
	return settings;
}

static void bytes_that_compress_well_need_longer_matches(void **state)
{
	struct stream_settings settings = settings_of("null", 6);

	/* As long as it takes to save what two chunks cost, but never below the window. */
	assert_int_equal(dw_match_minima(&settings, DENSITY_UNIT, 1, false).far, 64);
	assert_int_equal(dw_match_minima(&settings, DENSITY_UNIT / 8, 1, false).far, 256);
	assert_int_equal(dw_match_minima(&settings, DENSITY_UNIT / 8, 1, true).far, 256);
	assert_int_equal(dw_match_minima(&settings, 1, 1, false).far, 4096);
	settings = settings_of("null", 12);
	assert_int_equal(dw_match_minima(&settings, DENSITY_UNIT, 1, false).far, 4096);
	assert_int_equal(dw_match_minima(&settings, DENSITY_UNIT, 1, true).far, 512);
}

static void a_codec_finds_short_matches_in_its_block(void **state)
{
	struct stream_settings settings = settings_of("null", 6);
	struct match_minima minima =
		dw_match_minima(&settings, DENSITY_UNIT / 2, 1, false);

	assert_int_equal(minima.near, minima.far);
	assert_int_equal(dw_least_entropy(&settings, false), 0);
	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	settings = settings_of("zstd", 6);
	minima = dw_match_minima(&settings, DENSITY_UNIT / 2, 1, false);
	assert_int_equal(minima.far, 128);
	assert_int_equal(minima.near, 1024);
	assert_int_equal(dw_least_entropy(&settings, false), 64);
	assert_int_equal(dw_match_minima(&settings, DENSITY_UNIT / 8, 1, false).far, 512);
	assert_int_equal(dw_match_minima(&settings, DENSITY_UNIT / 8, 1, true).far, 256);
	assert_int_equal(dw_least_entropy(&settings, true), 32);
}

static void matches_are_measured_in_frames_and_within_a_piece(void **state)
{
	struct stream_settings settings = settings_of("null", 6);

	assert_int_equal(dw_match_minima(&settings, DENSITY_UNIT, 4, false).far, 256);
	settings = settings_of("null", 24);
	assert_int_equal(dw_match_minima(&settings, DENSITY_UNIT, 1, false).far,
			 MATCH_PIECE_BYTES / 2);
	assert_int_equal(dw_match_minima(&settings, DENSITY_UNIT, 1, false).near,
			 MATCH_PIECE_BYTES / 2);
}

static void windows_after_kept_blocks_are_smaller(void **state)
{
	struct stream_settings settings = settings_of("null", 12);

	assert_int_equal(dw_match_window_bits(&settings, false), 12);
	assert_int_equal(dw_match_window_bits(&settings, true), 9);
	settings.window_bits = 9;
	assert_int_equal(dw_match_window_bits(&settings, true), 6);
	settings.window_bits = 8;
	assert_int_equal(dw_match_window_bits(&settings, true), 5);
	settings.window_bits = 7;
	assert_int_equal(dw_match_window_bits(&settings, true), 5);
	settings.window_bits = 4;
	assert_int_equal(dw_match_window_bits(&settings, true), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_that_compress_well_need_longer_matches),
		cmocka_unit_test(a_codec_finds_short_matches_in_its_block),
		cmocka_unit_test(matches_are_measured_in_frames_and_within_a_piece),
		cmocka_unit_test(windows_after_kept_blocks_are_smaller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
