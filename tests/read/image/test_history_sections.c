/* SPDX-License-Identifier: MIT */
/*
 * read/image/history: histories of any number of sections, joined, bounded or broken.
 */
#include "format/thrift.h"
#include "read/known.h"

static void its_history_is_empty(void **state)
{
	dwarfs_image *image = open_one_file();
	dwarfs_history *history = NULL;
	int64_t seconds;

	assert_int_equal(dwarfs_history_new(image, &history, NULL), 0);
	dwarfs_image_free(image);
	assert_int_equal(dwarfs_history_count(history), 0);
	assert_string_equal(dwarfs_history_text(history, 0, DWARFS_HISTORY_VERSION), "");
	assert_null(dwarfs_history_item(history, 0, DWARFS_HISTORY_ARGUMENTS, 0));
	assert_false(dwarfs_history_time(history, 0, &seconds));
	dwarfs_history_free(history);
	dwarfs_history_free(NULL);
}

static int read_history(const struct craft *craft, size_t *count_out)
{
	auto_test_image dwarfs_image *image = craft_open(craft, NULL);
	dwarfs_history *history = NULL;
	int ret = dwarfs_history_new(image, &history, NULL);

	if (ret < 0)
		return ret;
	*count_out = dwarfs_history_count(history);
	assert_string_equal(
		dwarfs_history_text(history, *count_out - 1, DWARFS_HISTORY_SYSTEM),
		"ttt");
	assert_null(dwarfs_history_item(history, 0, DWARFS_HISTORY_ARGUMENTS, 0));
	assert_string_equal(dwarfs_history_text(history, *count_out, 0), "");
	dwarfs_history_free(history);
	return 0;
}

static void histories_are_joined_and_bounded(void **state)
{
	auto_craft struct craft craft = { 0 };
	size_t count = 0;

	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	add_history(&craft, 0, 0);
	add_history(&craft, 2, 0);
	add_history(&craft, 20, 3);
	assert_int_equal(read_history(&craft, &count), 0);
	assert_int_equal(count, 22);
	/* Steps of one byte each, and then more bytes than a history may have. */
	add_history(&craft, 60000, 0);
	add_history(&craft, 1, 3);
	assert_int_equal(read_history(&craft, &count), 0);
	assert_int_equal(count, 60023);
	add_history(&craft, 6000, 0);
	assert_int_equal(read_history(&craft, &count), DWARFS_ERR_CORRUPT);
}

static void large_histories_are_refused_together(void **state)
{
	auto_craft struct craft craft = { 0 };
	size_t count;

	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	for (int i = 0; i < 5; i++)
		add_history(&craft, 1, 1 << 20);
	assert_int_equal(read_history(&craft, &count), DWARFS_ERR_CORRUPT);
}

static void broken_histories_are_refused(void **state)
{
	/* A list of 2^40 steps; one of 3 steps that are missing; an unexpected type. */
	static const char *const bad[] = { "ü ", "<", "x", "" };

	for (size_t i = 0; i < 4; i++) {
		auto_craft struct craft craft = { 0 };
		size_t count;

		for (int part = 0; part < 3; part++)
			add_part(&craft, part);
		craft_section(&craft, DWARFS_SECTION_HISTORY, 0, bad[i], strlen(bad[i]));
		assert_int_equal(read_history(&craft, &count), DWARFS_ERR_CORRUPT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_history_is_empty),
		cmocka_unit_test(histories_are_joined_and_bounded),
		cmocka_unit_test(large_histories_are_refused_together),
		cmocka_unit_test(broken_histories_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
