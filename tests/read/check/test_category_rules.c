/* SPDX-License-Identifier: MIT */
/*
 * read/check/category_rules: texts that categorizers store for blocks.
 */
#include "read/tree.h"

static void tell(enum dwarfs_finding severity, int code, int64_t section,
		 const char *message, void *user)
{
	const char *expected = user;

	assert_int_equal(severity, DWARFS_FINDING_ERROR);
	if (!expected || !strstr(message, expected))
		fail_msg("%s", message);
}

/* One block and two texts. */
static void each_block_has_at_most_one_existing_text(void **state)
{
	static const struct span texts[] = { TEXT("{}"), TEXT("{1}") };
	static const struct {
		struct freeze_pair32 pairs[2];
		size_t count;
		const char *message; /* NULL: it is valid */
	} cases[] = {
		{ .count = 0 },
		{ { { 0, 0 } }, 1, NULL },
		{ { { 0, 1 } }, 1, NULL },
		{ { { 0, 2 } }, 1, "block 0 has category metadata that does not exist" },
		{ { { 1, 0 } }, 1, "for block 1 of 1" },
		{ { { 0, 0 }, { 0, 1 } }, 2, "not sorted by block" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_craft struct craft craft = { 0 };
		struct freeze_metadata metadata = tree();
		auto_test_image dwarfs_image *image = NULL;

		metadata.has_category_metadata_json = true;
		metadata.category_metadata_json = (struct freeze_table)TABLE(texts, 2);
		metadata.has_block_category_metadata = true;
		metadata.block_category_metadata =
			(struct freeze_table)TABLE(cases[i].pairs, cases[i].count);
		image = open_metadata(&craft, &metadata);
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_METADATA, tell,
						    (void *)cases[i].message, NULL, NULL,
						    NULL),
				 cases[i].message ? DWARFS_ERR_CORRUPT : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_block_has_at_most_one_existing_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
