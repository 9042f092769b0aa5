/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/unique_contents: contents of equal files, fragments side by side,
 * streams.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "write/inspect/unique_contents.h"

static void equal_files_have_the_same_contents(void **state)
{
	struct tree_inode inodes[4] = { { .next = DW_NONE, .size = 1 },
					{ .next = 3, .size = 9 },
					{ .next = DW_NONE, .size = 5 },
					{ .next = DW_NONE, .size = 9 } };
	struct tree tree = { .inodes = inodes, .inode_count = 4 };
	struct contents contents = { 0 };

	inodes[0].content = inodes[2].content = 77;
	assert_int_equal(dw_contents_add(&contents, &tree, 2, NULL), 0);
	assert_int_equal(dw_contents_add_fragment(&contents, 0, 5, NULL), 0);
	assert_int_equal(dw_contents_add(&contents, &tree, 1, NULL), 0);
	assert_int_equal(dw_contents_add_fragment(&contents, 2, 4, NULL), 0);
	assert_int_equal(dw_contents_add_fragment(&contents, 1, 5, NULL), 0);
	assert_int_equal(inodes[0].content, 77);
	assert_int_equal(inodes[2].content, 0);
	assert_int_equal(inodes[1].content, 1);
	assert_int_equal(inodes[3].content, 1);
	assert_int_equal(contents.list[1].inode, 1);
	assert_int_equal(contents.list[1].size, 9);
	assert_int_equal(contents.list[1].first_fragment, 1);
	assert_int_equal(contents.list[1].fragment_count, 2);
	assert_int_equal(contents.fragments[1].offset, 0); /* not in order */
	assert_int_equal(contents.fragments[2].offset, 4);
	assert_int_equal(contents.fragments[2].content, 1);
	assert_int_equal(contents.fragments[2].stream, 1);
	dw_contents_free(&contents);
	assert_int_equal(contents.count, 0);
}

static uint32_t find(struct streams *streams, uint32_t category, uint32_t variant,
		     const struct codec_samples *samples, const char *json)
{
	uint32_t number = DW_NONE;

	assert_int_equal(
		dw_streams_find(streams, category, variant, samples, json, &number, NULL),
		0);
	return number;
}

static void a_stream_is_of_one_kind(void **state)
{
	struct contents contents = { 0 };
	struct streams *streams = &contents.streams;
	struct codec_samples wide = { .is_known = true, .channels = 2 }, narrow = wide;
	struct codec_samples unknown = { .channels = 9 };

	narrow.bits_per_sample = 8;
	assert_int_equal(find(streams, 0, 0, NULL, NULL), 0);
	assert_int_equal(find(streams, 3, 0, NULL, NULL), 1);
	assert_int_equal(find(streams, 3, 1, NULL, NULL), 2);
	assert_int_equal(find(streams, 3, 1, &wide, NULL), 3);
	assert_int_equal(find(streams, 3, 1, &narrow, NULL), 4);
	assert_int_equal(find(streams, 3, 1, &wide, "{}"), 5);
	assert_int_equal(find(streams, 3, 1, &wide, "[]"), 6);
	assert_int_equal(find(streams, 3, 1, &unknown, NULL), 2); /* is ignored */
	assert_int_equal(find(streams, 0, 0, NULL, NULL), 0);
	assert_int_equal(find(streams, 3, 1, &narrow, NULL), 4);
	assert_int_equal(find(streams, 3, 1, &wide, "{}"), 5);
	assert_int_equal(streams->count, 7);
	dw_contents_free(&contents);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_files_have_the_same_contents),
		cmocka_unit_test(a_stream_is_of_one_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
