/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/name_pivots: the numbers of names among all names of an image.
 */
#include <stdio.h>

#include "base/bytes.h"
#include "read/image/image.h"
#include "read/metadata/name_pivots.h"
#include "support/model.h"

static dwarfs_image *open_model(struct craft *craft, const struct model *model)
{
	static const uint8_t block[1024];

	craft_section(craft, DWARFS_SECTION_BLOCK, 0, block, sizeof(block));
	model_craft(model, craft);
	return craft_open(craft, NULL);
}

static int search(const struct view *view, const void *text, size_t size,
		  uint64_t *number)
{
	struct key key;

	dw_key_init(&key, (struct span){ text, size });
	return dw_pivots_find(view, &key, number);
}

/* Names 1 to FILES are the files; a name with a byte more is before the next one. */
static void each_name_has_its_number(void **state)
{
	for (int packed = 0; packed < 2; packed++) {
		auto_model struct model *model = model_new(packed);
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = open_model(&craft, model);

		for (uint32_t file = 0; file < FILES; file++) {
			struct span name = model_name(model, file);
			char longer[NAME_BYTES + 1];
			uint64_t number = 0;

			assert_int_equal(
				search(image->view, name.data, name.size, &number), 1);
			assert_int_equal(number, file + 1);
			memcpy(longer, name.data, name.size);
			longer[name.size] = '!';
			assert_int_equal(
				search(image->view, longer, name.size + 1, &number), 0);
			assert_int_equal(number, file + 2);
		}
	}
}

static void names_outside_have_the_first_and_last_number(void **state)
{
	auto_model struct model *model = model_new(false);
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = open_model(&craft, model);
	uint64_t number = 77;

	assert_int_equal(search(image->view, "a", 1, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(search(image->view, "z", 1, &number), 0);
	assert_int_equal(number, FILES + 1);
}

/* Names that differ only after the bytes that a pivot keeps. */
static void long_names_are_compared_whole(void **state)
{
	enum { NAMES = 100, BYTES = 40 };
	static char text[NAMES][BYTES + 1];
	struct view view = { 0 };
	uint8_t buffer[NAMES * BYTES + 8] = { 0 };
	uint32_t offsets[NAMES + 3] = { 0 };

	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(text[i], sizeof(text[i]), "%035u%05u", 0, 2 * i);
		memcpy(buffer + (size_t)i * BYTES, text[i], BYTES);
		dw_store32(&offsets[i + 1], (i + 1) * BYTES);
	}
	view.names = (struct strings){
		.count = NAMES,
		.is_compact = true,
		.buffer = { buffer, NAMES * BYTES },
		.index = { .first = (const uint8_t *)offsets,
			   .count = NAMES + 1,
			   .stride = 32 },
		.index_column = dw_column(0, 32),
	};
	view.frozen = (struct frozen){ .data = buffer, .size = NAMES * BYTES };
	for (uint32_t i = 0; i < NAMES; i++) {
		uint64_t number = 0;

		assert_int_equal(search(&view, text[i], BYTES, &number), 1);
		assert_int_equal(number, i);
		text[i][BYTES - 1]++;
		assert_int_equal(search(&view, text[i], BYTES, &number), 0);
		assert_int_equal(number, i + 1);
	}
	dw_lazy_free(&view.pivots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_has_its_number),
		cmocka_unit_test(names_outside_have_the_first_and_last_number),
		cmocka_unit_test(long_names_are_compared_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
