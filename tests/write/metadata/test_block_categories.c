/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/block_categories: the categories that have blocks, and their metadata.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "support/small_tables.h"
#include "write/categorize/categorize.h"

/* Blocks 0 and 2 are waveforms, with metadata; block 1 is of the default category. */
static struct small_tables *with_streams(void)
{
	struct small_tables *all = small_tables_new();
	uint32_t first, second;

	assert_int_equal(dw_streams_find(&all->contents.streams, CATEGORY_PCM_WAVEFORM, 0,
					 NULL, "{1}", &first, NULL),
			 0);
	assert_int_equal(dw_streams_find(&all->contents.streams, CATEGORY_PCM_WAVEFORM, 1,
					 NULL, "{1}", &second, NULL),
			 0);
	all->blocks.list[0] = first;
	all->blocks.list[1] = 0;
	all->blocks.list[2] = second;
	all->options.categorize.count = 1;
	all->options.category_names = all->options.category_metadata = true;
	return all;
}

static void expect_name(struct span name, const char *text)
{
	assert_int_equal(name.size, strlen(text));
	assert_memory_equal(name.data, text, name.size);
}

static void only_categories_with_blocks_have_numbers(void **state)
{
	struct small_tables *all = with_streams();
	const struct freeze_metadata *out = &all->tables.out;
	const struct span *names;
	const uint32_t *blocks;

	assert_int_equal(dw_tables_fill_block_categories(&all->tables, NULL), 0);
	assert_true(out->has_category_names && out->has_block_categories);
	names = out->category_names.data;
	blocks = out->block_categories.data;
	assert_int_equal(out->category_names.count, 2);
	expect_name(names[0], "<default>");
	expect_name(names[1], "pcmaudio/waveform");
	assert_int_equal(out->block_categories.count, 3);
	assert_int_equal(blocks[0], 1);
	assert_int_equal(blocks[1], 0);
	assert_int_equal(blocks[2], 1);
	small_tables_free(all);
}

static void equal_metadata_is_stored_once(void **state)
{
	struct small_tables *all = with_streams();
	const struct freeze_metadata *out = &all->tables.out;
	const struct freeze_pair32 *pairs;

	assert_int_equal(dw_tables_fill_block_categories(&all->tables, NULL), 0);
	assert_true(out->has_category_metadata_json && out->has_block_category_metadata);
	assert_int_equal(out->category_metadata_json.count, 1);
	expect_name(*(const struct span *)out->category_metadata_json.data, "{1}");
	pairs = out->block_category_metadata.data;
	assert_int_equal(out->block_category_metadata.count, 2);
	assert_int_equal(pairs[0].first, 0);
	assert_int_equal(pairs[0].second, 0);
	assert_int_equal(pairs[1].first, 2);
	assert_int_equal(pairs[1].second, 0);
	small_tables_free(all);
}

static void nothing_is_stored_unless_asked_for(void **state)
{
	struct small_tables *all = with_streams();

	all->options.category_metadata = false;
	assert_int_equal(dw_tables_fill_block_categories(&all->tables, NULL), 0);
	assert_true(all->tables.out.has_category_names);
	assert_false(all->tables.out.has_category_metadata_json);
	small_tables_free(all);
	all = with_streams();
	all->options.category_names = false;
	assert_int_equal(dw_tables_fill_block_categories(&all->tables, NULL), 0);
	assert_false(all->tables.out.has_category_names);
	small_tables_free(all);
	all = with_streams();
	all->options.categorize.count = 0;
	assert_int_equal(dw_tables_fill_block_categories(&all->tables, NULL), 0);
	assert_false(all->tables.out.has_category_names);
	small_tables_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_categories_with_blocks_have_numbers),
		cmocka_unit_test(equal_metadata_is_stored_once),
		cmocka_unit_test(nothing_is_stored_unless_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
