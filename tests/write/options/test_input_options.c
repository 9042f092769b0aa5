/* SPDX-License-Identifier: MIT */
/*
 * write/options/input_options: categories that a callback chooses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/write_run.h"
#include "write/inspect/sparse_hash.h"

/* WAV: a description, four samples. */
static const uint8_t sound[] = "RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x44\xac\0\0"
			       "\x88\x58\1\0\2\0\x10\0data\x08\0\0\0\1\0\2\0\3\0\4";

static int default_for_b(const dwarfs_input *input, const char **category_out,
			 dwarfs_error **err, void *user)
{
	if (*dwarfs_input_path(input) == *(const char *)user)
		*category_out = "<default>";
	return 0;
}

/* The bytes of the default category among the audio in files a and b. */
static uint64_t default_bytes(const struct place *place, uint32_t workers, char decided)
{
	dwarfs_builder *builder = new_builder(place, workers);
	uint64_t bytes = 0, stored, packed;

	assert_int_equal(dwarfs_builder_set_categorizers(builder, "pcmaudio", NULL), 0);
	dwarfs_builder_set_category_callback(builder, default_for_b, &decided);
	assert_int_equal(build(builder, place), 0);
	for (size_t i = 0; i < dwarfs_builder_category_count(builder); i++)
		if (strcmp(dwarfs_builder_category_name(builder, i), "<default>") == 0)
			assert_int_equal(dwarfs_builder_category_bytes(builder, i, &bytes,
								       &stored, &packed),
					 0);
	dwarfs_builder_free(builder);
	dwarfs_image_free(open_image(place));
	assert_int_equal(unlink(place->image), 0);
	return bytes;
}

static void default_is_an_answer_too(void **state)
{
	uint8_t other[sizeof(sound)];

	memcpy(other, sound, sizeof(sound));
	other[44] ^= 1;
	put_file(*state, "a", sound, sizeof(sound));
	put_file(*state, "b", other, sizeof(other));
	put_file(*state, "c", other, sizeof(other)); /* like the first of them */
	for (uint32_t workers = 0; workers < 4; workers++) {
		assert_int_equal(default_bytes(*state, workers, '-'), 0);
		assert_int_equal(default_bytes(*state, workers, 'a'), sizeof(sound));
		assert_int_equal(default_bytes(*state, workers, 'b'), sizeof(sound));
		assert_int_equal(default_bytes(*state, workers, 'c'), 0);
	}
}

static int unknown(const dwarfs_input *input, const char **category_out,
		   dwarfs_error **err, void *user)
{
	*category_out = "not a category";
	return 0;
}

static void unknown_categories_end_the_run(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 1);

	put_text(*state, "a", "a");
	dwarfs_builder_set_category_callback(builder, unknown, NULL);
	assert_int_equal(build(builder, *state), DWARFS_ERR_INVALID);
	assert_non_null(strstr(all_messages(), "unknown category: not a category"));
	dwarfs_builder_free(builder);
}

static int waveform(const dwarfs_input *input, const char **category_out,
		    dwarfs_error **err, void *user)
{
	*category_out = "pcmaudio/waveform";
	return 0;
}

/* The layout of the samples would be unknown. */
static void categories_of_samples_are_not_for_callbacks(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 1);

	put_text(*state, "a", "a");
	dwarfs_builder_set_category_callback(builder, waveform, NULL);
	assert_int_equal(build(builder, *state), DWARFS_ERR_INVALID);
	assert_non_null(strstr(all_messages(), "'pcmaudio/waveform'"));
	dwarfs_builder_free(builder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(default_is_an_answer_too),
		TEST(unknown_categories_end_the_run),
		TEST(categories_of_samples_are_not_for_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
