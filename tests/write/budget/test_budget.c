/* SPDX-License-Identifier: MIT */
/*
 * write/budget/budget: the settings of a run under a memory limit, which depend on
 * nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dwarfs/dwarfs.h>

#include "write/budget/budget.h"
#include "write/builder.h"
#include "write/budget/memory_estimate.h"
#include "write/categorize/categorize.h"
#include "write/options/levels.h"
#include "write/order/order.h"

#define MIB UINT64_C(0x100000)

/* Orders are tried by another level of zstd. */
#define MEDIUM "zstd:level=7"

/* A builder as at the start of a run, with one stream. */
struct fixture {
	dwarfs_context *context;
	dwarfs_builder builder;
	struct stream_settings settings[CATEGORY_COUNT];
	struct stream stream;
	struct fragment fragment;
	struct contents contents;
	struct workload load;
};

static void set_up(struct fixture *fixture, uint32_t workers, uint64_t limit)
{
	struct stream_settings settings = {
		.order = { .ops = &dw_order_path },
		.window_bits = 9,
		.step_bits = 2,
		.lookback = UINT32_MAX,
	};

	memset(fixture, 0, sizeof(*fixture));
	assert_int_equal(dwarfs_context_new(&fixture->context, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(fixture->context, workers, NULL), 0);
	assert_int_equal(dw_codec_parse("null", &settings.codec, NULL), 0);
	for (size_t i = 0; i < CATEGORY_COUNT; i++)
		fixture->settings[i] = settings;
	fixture->builder.context = fixture->context;
	fixture->builder.options.block_bits = 24;
	fixture->builder.options.memory_limit = limit;
	fixture->builder.settings = fixture->settings;
	fixture->builder.total_count = CATEGORY_COUNT;
	fixture->contents.streams.list = &fixture->stream;
	fixture->contents.streams.count = 1;
	fixture->contents.fragments = &fixture->fragment;
	fixture->contents.fragment_count = 1;
	fixture->load = (struct workload){
		.base = 8 * MIB,
		.entries = 1000,
		.inodes = 1000,
		.names = 1000,
		.name_bytes = 20000,
		.files = 1000,
		.contents = 1000,
		.fragments = 1000,
		.bytes = 4096 * MIB,
		.small_bytes = 10 * MIB,
	};
}

static int plan(struct fixture *fixture, struct budget *budget, dwarfs_error **err)
{
	int ret = dw_budget_begin(&fixture->builder, &fixture->load, 4, budget, err);

	if (ret < 0)
		return ret;
	fixture->fragment.size = fixture->load.bytes;
	return dw_budget_plan(&fixture->builder, &fixture->load, &fixture->contents,
			      budget, err);
}

static void without_a_limit_nothing_is_bounded(void **state)
{
	struct fixture fixture;
	struct budget budget;

	set_up(&fixture, 1, 0);
	assert_int_equal(plan(&fixture, &budget, NULL), 0);
	assert_int_equal(fixture.builder.options.block_bits, 24);
	assert_true(budget.max_chunks == UINT64_MAX);
	assert_true(budget.metadata_bytes == UINT64_MAX);
	assert_int_equal(budget.readers, 4);
	assert_true(budget.index_bytes >= 256 * MIB);
	dwarfs_context_free(fixture.context);
}

/* They are filled faster than they are packed, and take much memory. */
static void large_blocks_are_not_queued(void **state)
{
	static const struct {
		uint32_t block_bits, waiting;
	} cases[] = { { 16, 64 }, { 20, 5 }, { 22, 2 }, { 24, 1 }, { 25, 0 }, { 26, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fixture fixture;
		struct budget budget;

		set_up(&fixture, 1, 0);
		fixture.builder.options.block_bits = cases[i].block_bits;
		assert_int_equal(plan(&fixture, &budget, NULL), 0);
		assert_int_equal(budget.waiting, cases[i].waiting);
		assert_int_equal(budget.workers, 1);
		dwarfs_context_free(fixture.context);
	}
}

static void workers_go_first(void **state)
{
	struct fixture fixture;
	struct budget budget;

	set_up(&fixture, 16, 900 * MIB);
	assert_int_equal(plan(&fixture, &budget, NULL), 0);
	assert_in_range(budget.workers, 2, 15);
	assert_true(budget.index_bytes >= 256 * MIB);
	assert_int_equal(fixture.builder.options.block_bits, 24);
	assert_true(budget.window_bytes > 0);
	dwarfs_context_free(fixture.context);
}

/* The text files of a few programs, of which a chunk has 700 bytes on average, need 90
 * MiB: a limit of 150 MiB and more changes nothing, for any number of workers. */
static void a_limit_that_suffices_costs_nothing(void **state)
{
	for (uint32_t workers = 0; workers <= 4; workers++) {
		struct fixture fixture;
		struct budget budget;

		set_up(&fixture, workers, 150 * MIB);
		fixture.builder.options.block_bits = 21;
		for (size_t i = 0; i < CATEGORY_COUNT; i++) {
			fixture.settings[i].window_bits = 8;
			fixture.settings[i].step_bits = 0;
		}
		fixture.load.entries = fixture.load.inodes = 142637;
		fixture.load.names = 5000;
		fixture.load.directories = 57296;
		fixture.load.files = 85341;
		fixture.load.fragments = fixture.load.contents = 16125;
		fixture.load.bytes = 141 * MIB;
		assert_int_equal(plan(&fixture, &budget, NULL), 0);
		assert_true(budget.max_chunks >= 200000);
		assert_true(budget.max_chunks < UINT64_MAX);
		assert_true(budget.index_bytes >= 256 * MIB);
		assert_true(budget.window_bytes >= 48 * MIB);
		assert_int_equal(fixture.builder.options.block_bits, 21);
		dwarfs_context_free(fixture.context);
	}
}

/* Blocks of 64 MiB and what packs them take no more than the contents need, except for blocks
 * of images that are packed again. */
static void a_small_tree_needs_little(void **state)
{
	for (int packs_again = 0; packs_again <= 1; packs_again++) {
		struct fixture fixture;
		struct budget budget;

		set_up(&fixture, 4, 100 * MIB);
		fixture.builder.options.block_bits = 26;
		fixture.load.bytes = 10 * MIB;
		fixture.load.packs_again = packs_again;
		assert_int_equal(plan(&fixture, &budget, NULL), 0);
		assert_int_equal(fixture.builder.options.block_bits == 26, !packs_again);
		if (!packs_again) {
			assert_int_equal(budget.workers, 4);
			assert_true(budget.index_bytes >= 256 * MIB);
		}
		dwarfs_context_free(fixture.context);
	}
}

/* Contents of blocks that are copied need no memory. */
static void contents_without_a_stream_do_not_count(void **state)
{
	struct fragment fragments[2] = { { .size = 10 * MIB },
					 { .size = 4000 * MIB, .stream = DW_NONE } };
	struct fixture fixture;
	struct budget budget = { 0 };

	set_up(&fixture, 4, 120 * MIB);
	fixture.builder.options.block_bits = 26;
	fixture.contents.fragments = fragments;
	fixture.contents.fragment_count = 2;
	assert_int_equal(dw_budget_plan(&fixture.builder, &fixture.load,
					&fixture.contents, &budget, NULL),
			 0);
	assert_int_equal(fixture.builder.options.block_bits, 26);
	dwarfs_context_free(fixture.context);
}

/* All settings that affect the image are the same. */
static void plans_do_not_depend_on_workers(void **state)
{
	for (uint64_t limit = 24; limit < 1200; limit += limit / 4) {
		struct budget first = { 0 };
		uint32_t block_bits = 0;

		for (uint32_t workers = 0; workers <= 8; workers++) {
			struct fixture fixture;
			struct budget budget;
			int ret;

			set_up(&fixture, workers, limit * MIB);
			ret = plan(&fixture, &budget, NULL);
			dwarfs_context_free(fixture.context);
			if (ret == DWARFS_ERR_LIMIT)
				continue;
			assert_int_equal(ret, 0);
			if (block_bits == 0) {
				first = budget;
				block_bits = fixture.builder.options.block_bits;
			}
			assert_int_equal(fixture.builder.options.block_bits, block_bits);
			assert_int_equal(budget.index_bytes, first.index_bytes);
			assert_int_equal(budget.max_chunks, first.max_chunks);
			assert_int_equal(budget.shingles, first.shingles);
			assert_int_equal(budget.tries_orders, first.tries_orders);
			assert_int_equal(budget.metadata_bytes, first.metadata_bytes);
		}
	}
}

/* Orders are tried as blocks are packed; what their lists and a larger codec take must be left. */
static void orders_are_tried_where_there_is_memory(void **state)
{
	static const struct {
		const char *codec;
		uint64_t limit, bytes;
		bool tries_orders;
		uint32_t workers, trial_workers;
	} cases[] = {
		{ "lz4", 0, 16 * MIB, true, 64, 64 }, /* also with 32 bits */
		{ MEDIUM, 4000 * MIB, 16 * MIB, true, 64, 40 },
		{ MEDIUM, 1000 * MIB, 64 * MIB, true, 64, 6 },
		{ MEDIUM, 600 * MIB, 512 * MIB, true, 6, 1 },
		{ MEDIUM, 200 * MIB, 16 * MIB, true, 14, 1 },
		{ MEDIUM, 120 * MIB, 512 * MIB, false, 1, 1 },
		{ MEDIUM, 48 * MIB, 20000 * MIB, true, 1, 1 }, /* smaller blocks */
		{ "lz4", 600 * MIB, 512 * MIB, true, 6, 6 },   /* by itself */
		{ "lz4", 120 * MIB, 512 * MIB, true, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct codec_spec codec;
		struct fixture fixture;
		struct budget budget;

		if (dw_codec_parse(cases[i].codec, &codec, NULL) < 0)
			continue; /* not built in */
		set_up(&fixture, 64, cases[i].limit);
		fixture.settings[CATEGORY_DEFAULT].codec = codec;
		fixture.settings[CATEGORY_DEFAULT].order.ops = &dw_order_auto;
		fixture.load.bytes = cases[i].bytes;
		assert_int_equal(plan(&fixture, &budget, NULL), 0);
		assert_int_equal(budget.tries_orders, cases[i].tries_orders);
		assert_int_equal(budget.workers, cases[i].workers);
		assert_int_equal(budget.trial_workers, cases[i].trial_workers);
		dwarfs_context_free(fixture.context);
	}
}

/* First, dense blocks are left to the codec of a trial; then numbers. */
static void trials_do_with_fewer_codecs(void **state)
{
	unsigned kinds[3] = { 0 };

	if (!dw_codec_can_pack(CODEC_ZSTD) || !dw_codec_can_pack(CODEC_LZMA))
		skip();
	for (uint64_t limit = 60 * MIB; limit <= 400 * MIB; limit += 2 * MIB) {
		struct fixture fixture;
		struct trial_codecs *codecs;
		struct budget budget;

		set_up(&fixture, 1, limit);
		dw_level_apply(7, &fixture.settings[CATEGORY_DEFAULT]);
		assert_int_equal(dw_codec_parse("zstd:level=19",
						&fixture.settings[CATEGORY_DEFAULT].codec,
						NULL),
				 0);
		fixture.settings[CATEGORY_DEFAULT].order.ops = &dw_order_auto;
		fixture.load.bytes = MIB;
		assert_int_equal(plan(&fixture, &budget, NULL), 0);
		codecs = &budget.trial_codecs;
		assert_true(codecs->has_numbers || !codecs->has_dense);
		if (budget.tries_orders)
			kinds[codecs->has_dense + codecs->has_numbers]++;
		dwarfs_context_free(fixture.context);
	}
	assert_true(kinds[2] > 0);
	assert_true(kinds[1] > 0);
	assert_true(kinds[0] > 0);
}

/* That of level 5 goes with the codec for literals, before blocks become smaller. */
static void dense_codecs_cost_no_larger_blocks(void **state)
{
	unsigned had = 0, had_not = 0;

	if (!dw_codec_can_pack(CODEC_ZSTD) || !dw_codec_can_pack(CODEC_LZMA))
		skip();
	for (uint64_t limit = 30 * MIB; limit <= 300 * MIB; limit += 2 * MIB) {
		struct fixture with, without;
		struct budget budget;

		for (unsigned i = 0; i < 2; i++) {
			struct fixture *one = i == 0 ? &with : &without;

			set_up(one, 1, limit);
			dw_level_apply(5, &one->settings[CATEGORY_DEFAULT]);
			assert_int_equal(
				dw_codec_parse("zstd:level=19",
					       &one->settings[CATEGORY_DEFAULT].codec,
					       NULL),
				0);
			one->builder.options.block_bits = 23;
			one->load.bytes = 64 * MIB;
		}
		without.settings[CATEGORY_DEFAULT].has_dense = false;
		assert_int_equal(plan(&with, &budget, NULL), 0);
		assert_int_equal(plan(&without, &budget, NULL), 0);
		assert_int_equal(with.builder.options.block_bits,
				 without.builder.options.block_bits);
		had += with.settings[CATEGORY_DEFAULT].has_dense;
		had_not += !with.settings[CATEGORY_DEFAULT].has_dense;
		dwarfs_context_free(with.context);
		dwarfs_context_free(without.context);
	}
	assert_true(had > 0 && had_not > 0);
}

/* Otherwise segments end in the middle of the input, which costs more than a coarser index. */
static void a_quarter_is_for_chunks(void **state)
{
	for (uint64_t limit = 48 * MIB; limit <= 400 * MIB; limit += 8 * MIB) {
		struct fixture fixture;
		struct budget budget;

		set_up(&fixture, 1, limit);
		fixture.builder.options.block_bits = 21;
		fixture.load.bytes = 2048 * MIB;
		assert_int_equal(plan(&fixture, &budget, NULL), 0);
		assert_true(budget.max_chunks >= limit / 4 / ESTIMATE_PER_CHUNK);
		dwarfs_context_free(fixture.context);
	}
}

static void the_amount_that_is_named_does(void **state)
{
	dwarfs_error *err = NULL;
	struct fixture fixture;
	struct budget budget;
	const char *text;
	uint64_t least;

	set_up(&fixture, 3, MIB);
	assert_int_equal(plan(&fixture, &budget, &err), DWARFS_ERR_LIMIT);
	text = strstr(dwarfs_error_message(err), "at least ");
	assert_non_null(text);
	least = strtoull(text + strlen("at least "), NULL, 10);
	dwarfs_error_free(err);
	dwarfs_context_free(fixture.context);

	set_up(&fixture, 3, least * MIB);
	assert_int_equal(plan(&fixture, &budget, NULL), 0);
	assert_in_range(budget.readers, 1, 4);
	dwarfs_context_free(fixture.context);
	set_up(&fixture, 3, (least - 1) * MIB);
	assert_int_equal(plan(&fixture, &budget, NULL), DWARFS_ERR_LIMIT);
	dwarfs_context_free(fixture.context);
}

/* The codec for literals is left out before anything else becomes worse, but where what was done
 * instead leaves room for it. */
static void codecs_for_literals_go_first(void **state)
{
	struct fixture fixture, alone;
	struct budget budget;
	int had = 0, had_not = 0;

	if (!dw_codec_can_pack(CODEC_LZMA) || !dw_codec_can_pack(CODEC_ZSTD))
		skip();
	for (uint64_t limit = 20; limit <= 400; limit += 10) {
		struct stream_settings *settings = &fixture.settings[0];

		for (int with = 0; with < 2; with++) {
			struct fixture *one = with ? &fixture : &alone;

			set_up(one, 1, limit * MIB);
			one->load.bytes = 64 * MIB;
			assert_int_equal(dw_codec_parse("lzma:level=9",
							&one->settings[0].codec, NULL),
					 0);
			assert_int_equal(dw_codec_parse("zstd:level=19:clog=19:hlog=19",
							&one->settings[0].literal, NULL),
					 0);
			one->settings[0].has_literal = with;
		}
		if (plan(&alone, &budget, NULL) == 0) {
			assert_int_equal(plan(&fixture, &budget, NULL), 0);
			had += settings->has_literal;
			had_not += !settings->has_literal;
			assert_int_equal(fixture.builder.options.block_bits,
					 alone.builder.options.block_bits);
			assert_int_equal(
				dw_codec_memory(&settings->codec, 1 << 24),
				dw_codec_memory(&alone.settings[0].codec, 1 << 24));
		} else {
			assert_int_equal(plan(&fixture, &budget, NULL), DWARFS_ERR_LIMIT);
		}
		dwarfs_context_free(fixture.context);
		dwarfs_context_free(alone.context);
	}
	assert_true(had > 3);
	assert_true(had_not > 3);
}

static void records_alone_can_be_too_much(void **state)
{
	struct fixture fixture;
	struct budget budget;

	set_up(&fixture, 1, 200 * MIB);
	fixture.load.entries = fixture.load.inodes = fixture.load.names = 4000000;
	fixture.load.name_bytes = 80000000;
	assert_int_equal(plan(&fixture, &budget, NULL), DWARFS_ERR_LIMIT);
	dwarfs_context_free(fixture.context);
}

static void metadata_makes_do(void **state)
{
	struct budget budget = { .metadata_bytes = 24 * MIB };
	struct codec_spec codec;

	assert_int_equal(dw_codec_parse("null", &codec, NULL), 0);
	assert_true(dw_budget_metadata_codec(&budget, 0, MIB, &codec));
	assert_false(dw_budget_metadata_codec(&budget, 0, 13 * MIB, &codec));
	budget.metadata_bytes = UINT64_MAX;
	assert_true(dw_budget_metadata_codec(&budget, 0, 13 * MIB, &codec));
	if (dw_codec_parse("zstd:level=22", &codec, NULL) < 0)
		return;
	budget.metadata_bytes = 24 * MIB;
	assert_true(dw_codec_memory(&codec, 4 * MIB) > 24 * MIB);
	assert_true(dw_budget_metadata_codec(&budget, 0, 4 * MIB, &codec));
	assert_true(dw_codec_memory(&codec, 4 * MIB) <= 16 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit_nothing_is_bounded),
		cmocka_unit_test(large_blocks_are_not_queued),
		cmocka_unit_test(workers_go_first),
		cmocka_unit_test(a_limit_that_suffices_costs_nothing),
		cmocka_unit_test(a_small_tree_needs_little),
		cmocka_unit_test(contents_without_a_stream_do_not_count),
		cmocka_unit_test(plans_do_not_depend_on_workers),
		cmocka_unit_test(orders_are_tried_where_there_is_memory),
		cmocka_unit_test(trials_do_with_fewer_codecs),
		cmocka_unit_test(dense_codecs_cost_no_larger_blocks),
		cmocka_unit_test(a_quarter_is_for_chunks),
		cmocka_unit_test(the_amount_that_is_named_does),
		cmocka_unit_test(codecs_for_literals_go_first),
		cmocka_unit_test(records_alone_can_be_too_much),
		cmocka_unit_test(metadata_makes_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
