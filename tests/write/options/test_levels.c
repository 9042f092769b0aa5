/* SPDX-License-Identifier: MIT */
/*
 * write/options/levels: the settings of levels, and those of some categories.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/categorize/categorize.h"
#include "write/options/levels.h"
#include "write/order/order.h"
#include "write/pack/block_sample.h"

static struct stream_settings settings_of(uint32_t level, uint32_t category)
{
	struct stream_settings settings = {
		.codec = dw_level_codec(level, DWARFS_CODEC_BLOCKS),
	};

	dw_level_apply(level, &settings);
	dw_level_apply_category(level, category, &settings);
	return settings;
}

static void every_level_is_complete(void **state)
{
	uint32_t bits = 0;

	for (uint32_t level = 0; level <= DW_MAX_LEVEL; level++) {
		struct stream_settings settings = settings_of(level, CATEGORY_DEFAULT);

		assert_in_range(dw_level_block_bits(level), bits, 30);
		bits = dw_level_block_bits(level);
		assert_non_null(settings.order.ops);
		assert_true(settings.step_bits <= settings.window_bits);
		assert_int_equal(settings.window_bits, level >= 8   ? 8
						       : level >= 3 ? 7
								    : 0);
		assert_int_equal(settings.step_bits, level >= 8 ? 2 : level >= 3 ? 1 : 0);
		assert_true(settings.has_dense ==
			    (level >= 5 && dw_codec_can_pack(CODEC_LZMA) &&
			     dw_has_fast_codec()));
		assert_true(settings.dense_has_numbers ==
			    (settings.has_dense && level >= 6));
		assert_true(settings.has_literal ==
			    (level >= 5 && dw_codec_can_pack(CODEC_ZSTD)));
	}
	assert_int_equal(bits, 26);
}

static void level_0_does_not_compress(void **state)
{
	for (int use = 0; use < DW_CODEC_USES; use++)
		assert_int_equal(dw_level_codec(0, use).id, CODEC_NONE);
	assert_ptr_equal(settings_of(0, CATEGORY_DEFAULT).order.ops, &dw_order_none);
	assert_int_equal(settings_of(0, CATEGORY_PCM_WAVEFORM).codec.id, CODEC_NONE);
	assert_ptr_equal(settings_of(0, CATEGORY_FITS_IMAGE).order.ops, &dw_order_none);
}

static void metadata_is_compressed_from_level_3_on(void **state)
{
	bool has_zstd = dw_codec_can_pack(CODEC_ZSTD),
	     has_lzma = dw_codec_can_pack(CODEC_LZMA);

	for (uint32_t level = 0; level <= DW_MAX_LEVEL; level++) {
		struct codec_spec spec = dw_level_codec(level, DWARFS_CODEC_METADATA),
				  dense;

		assert_int_equal(spec.id != CODEC_NONE,
				 (level >= 3 && has_zstd) || (level >= 7 && has_lzma));
		assert_true(level > 7 || !has_zstd || level < 3 || spec.id == CODEC_ZSTD);
		assert_int_equal(dw_level_dense_metadata(level, &dense),
				 level == 7 && has_lzma);
	}
}

static void categories_differ_where_that_is_better(void **state)
{
	struct stream_settings usual = settings_of(7, CATEGORY_DEFAULT);
	struct stream_settings other = settings_of(7, CATEGORY_INCOMPRESSIBLE);

	assert_int_equal(other.codec.id, CODEC_NONE);
	assert_false(other.has_dense);
	assert_false(settings_of(9, CATEGORY_INCOMPRESSIBLE).has_literal);
	assert_false(settings_of(9, CATEGORY_PCM_WAVEFORM).has_literal);
	assert_ptr_equal(other.order.ops, usual.order.ops);
	other = settings_of(7, CATEGORY_HOTNESS);
	assert_ptr_equal(other.order.ops, &dw_order_hotness);
	assert_int_equal(other.codec.id, usual.codec.id);
	other = settings_of(7, CATEGORY_PCM_WAVEFORM);
	assert_ptr_equal(other.order.ops, &dw_order_revpath);
	assert_int_equal(other.window_bits, 10);
	assert_int_equal(settings_of(1, CATEGORY_PCM_WAVEFORM).window_bits, 0);
	assert_int_equal(settings_of(1, CATEGORY_PCM_WAVEFORM).step_bits, 0);
	assert_int_equal(settings_of(3, CATEGORY_PCM_WAVEFORM).window_bits, 10);
	assert_int_equal(settings_of(3, CATEGORY_PCM_WAVEFORM).step_bits, 2);
	other = settings_of(7, CATEGORY_FITS_IMAGE);
	assert_ptr_equal(other.order.ops, &dw_order_revpath);
	assert_int_equal(other.window_bits, 10);
	other = settings_of(7, CATEGORY_PCM_METADATA);
	assert_int_equal(other.codec.id, usual.codec.id);
	assert_int_equal(other.window_bits, usual.window_bits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_level_is_complete),
		cmocka_unit_test(level_0_does_not_compress),
		cmocka_unit_test(metadata_is_compressed_from_level_3_on),
		cmocka_unit_test(categories_differ_where_that_is_better),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
