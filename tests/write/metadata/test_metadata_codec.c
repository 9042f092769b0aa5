/* SPDX-License-Identifier: MIT */
/*
 * metadata/metadata_codec: metadata is compressed where the image gets noticeably smaller.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "write/items/assembly.h"
#include "write/metadata/metadata_codec.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

static bool packs(const struct build_run *run, uint64_t bytes, uint64_t section_bytes)
{
	return dw_metadata_codec(run, bytes, section_bytes).id != CODEC_NONE;
}

static void large_metadata_must_be_a_larger_share(void **state)
{
	struct build_options options = { 0 };
	const struct build_run run = { .options = &options };

	(void)state;
	options.codecs[DWARFS_CODEC_METADATA].id = CODEC_ZSTD;
	assert_true(packs(&run, KIB, 999 * KIB));
	assert_false(packs(&run, KIB, 1000 * KIB));
	assert_true(packs(&run, 2 * MIB, 98 * MIB));
	assert_false(packs(&run, 2 * MIB, 99 * MIB));
	assert_true(packs(&run, 10 * MIB, 190 * MIB));
	assert_false(packs(&run, 10 * MIB, 191 * MIB));
}

static void a_codec_that_was_set_is_used(void **state)
{
	struct build_options options = { 0 };
	const struct build_run run = { .options = &options };

	(void)state;
	options.codec_was_set[DWARFS_CODEC_METADATA] = true;
	assert_false(packs(&run, MIB, 0));
	options.codecs[DWARFS_CODEC_METADATA].id = CODEC_LZMA;
	assert_true(packs(&run, KIB, 1000 * MIB));
}

static void metadata_that_was_compressed_stays_so(void **state)
{
	struct build_options options = { 0 };
	struct source_image image = { .packs_metadata = true };
	struct source_image *images[] = { &image };
	struct assembly assembly = { .images = images, .image_count = 1 };
	const struct build_run run = { .options = &options, .assembly = &assembly };

	(void)state;
	options.codecs[DWARFS_CODEC_METADATA].id = CODEC_ZSTD;
	assert_true(packs(&run, 8 * MIB, 10000 * MIB));
	assert_false(packs(&run, 9 * MIB, 10000 * MIB));
	image.is_base = true;
	assert_false(packs(&run, 8 * MIB, 10000 * MIB));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_metadata_must_be_a_larger_share),
		cmocka_unit_test(a_codec_that_was_set_is_used),
		cmocka_unit_test(metadata_that_was_compressed_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
