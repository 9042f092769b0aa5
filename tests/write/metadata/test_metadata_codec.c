/* SPDX-License-Identifier: MIT */
/*
 * metadata/metadata_codec: metadata is compressed where the image gets noticeably smaller.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/encode/encode.h"
#include "write/budget/budget.h"
#include "write/items/assembly.h"
#include "write/metadata/metadata_codec.h"
#include "write/segment/segment.h"

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

static bool set_denser_codec(struct build_options *options)
{
	options->has_dense_metadata =
		dw_codec_parse("lzma:level=9:adapt", &options->dense_metadata, NULL) == 0;
	return options->has_dense_metadata;
}

static void a_denser_codec_must_save_more_for_larger_tables(void **state)
{
	struct build_options options = { 0 };
	const struct budget budget = { .metadata_bytes = UINT64_MAX };
	const struct build_run run = { .options = &options, .budget = &budget };
	struct codec_spec codec = { .id = CODEC_ZSTD };
	struct denser_codec denser;

	(void)state;
	if (!set_denser_codec(&options))
		skip();
	assert_true(dw_denser_metadata_codec(&run, DWARFS_SECTION_METADATA, &codec,
					     100 * KIB, 0, &denser));
	assert_int_equal(denser.codec.id, CODEC_LZMA);
	assert_int_equal(denser.least_bytes, 4096);
	assert_int_equal(denser.least_share, SHARE_OF_ALL / 100);
	assert_true(dw_denser_metadata_codec(&run, DWARFS_SECTION_METADATA, &codec,
					     3 * MIB, 0, &denser));
	assert_int_equal(denser.least_share, SHARE_OF_ALL / 100 * 12);
	assert_true(dw_denser_metadata_codec(&run, DWARFS_SECTION_METADATA, &codec,
					     25 * MIB - KIB, 0, &denser));
	assert_false(dw_denser_metadata_codec(&run, DWARFS_SECTION_METADATA, &codec,
					      25 * MIB, 0, &denser));
	codec.id = CODEC_NONE;
	assert_false(dw_denser_metadata_codec(&run, DWARFS_SECTION_METADATA, &codec, KIB,
					      0, &denser));
	codec.id = CODEC_LZMA;
	assert_false(dw_denser_metadata_codec(&run, DWARFS_SECTION_METADATA, &codec, KIB,
					      0, &denser));
	codec.id = CODEC_ZSTD;
	options.has_dense_metadata = false;
	assert_false(dw_denser_metadata_codec(&run, DWARFS_SECTION_METADATA, &codec, KIB,
					      0, &denser));
}

static void a_denser_codec_needs_memory_besides_both_results(void **state)
{
	struct build_options options = { 0 };
	struct budget budget = { .metadata_bytes = UINT64_MAX };
	auto_context dwarfs_context *context = NULL;
	struct build_run run = { .options = &options, .budget = &budget };
	const struct codec_spec codec = { .id = CODEC_ZSTD };
	struct denser_codec denser;
	uint64_t needed;

	(void)state;
	if (!set_denser_codec(&options))
		skip();
	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	run.context = context;
	assert_true(dw_denser_metadata_codec(&run, DWARFS_SECTION_METADATA, &codec, MIB,
					     10, &denser));
	needed = 3 * MIB + dw_codec_memory(&denser.codec, MIB + MIB / 2) +
		 10 * sizeof(struct chunk);
	budget.metadata_bytes = needed;
	assert_true(dw_denser_metadata_codec(&run, DWARFS_SECTION_METADATA, &codec, MIB,
					     10, &denser));
	budget.metadata_bytes--;
	assert_false(dw_denser_metadata_codec(&run, DWARFS_SECTION_METADATA, &codec, MIB,
					      10, &denser));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_metadata_must_be_a_larger_share),
		cmocka_unit_test(a_codec_that_was_set_is_used),
		cmocka_unit_test(metadata_that_was_compressed_stays_so),
		cmocka_unit_test(a_denser_codec_must_save_more_for_larger_tables),
		cmocka_unit_test(a_denser_codec_needs_memory_besides_both_results),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
