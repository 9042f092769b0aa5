/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/samples: descriptions of layouts equal those of other writers, and a
 * layout that no codec supports has none.
 */
#include "support/codec_data.h"

static const char pixels[] = "{\"bytes_per_sample\":2,\"component_count\":2,"
			     "\"endianness\":\"big\",\"unused_lsb_count\":2}";
static const char sound[] = "{\"bits_per_sample\":24,\"bytes_per_sample\":3,"
			    "\"endianness\":\"big\",\"number_of_channels\":1,"
			    "\"padding\":\"lsb\",\"signedness\":\"signed\"}";
static const char other_sound[] = "{\"bits_per_sample\":8,\"bytes_per_sample\":1,"
				  "\"endianness\":\"little\",\"number_of_channels\":8,"
				  "\"padding\":\"msb\",\"signedness\":\"unsigned\"}";

static void expect_text(const struct samples_kind *kind,
			const struct codec_samples *samples, const char *text)
{
	auto_buffer struct buffer out = { 0 };

	assert_int_equal(dw_samples_to_json(kind, samples, &out, NULL), 0);
	assert_int_equal(out.size, strlen(text));
	assert_string_equal((const char *)out.data, text);
}

static void texts_are_those_of_images(void **state)
{
	expect_text(&dw_samples_image,
		    &(struct codec_samples){ .is_known = true,
					     .big_endian = true,
					     .bytes_per_sample = 2,
					     .unused_lsb_count = 2,
					     .channels = 2 },
		    pixels);
	expect_text(&dw_samples_audio,
		    &(struct codec_samples){ .is_known = true,
					     .big_endian = true,
					     .lsb_padding = true,
					     .bytes_per_sample = 3,
					     .bits_per_sample = 24,
					     .channels = 1 },
		    sound);
	expect_text(&dw_samples_audio,
		    &(struct codec_samples){ .is_known = true,
					     .is_unsigned = true,
					     .bytes_per_sample = 1,
					     .bits_per_sample = 8,
					     .channels = 8 },
		    other_sound);
}

static void refuse(const struct samples_kind *kind, struct codec_samples samples,
		   const char *why)
{
	auto_buffer struct buffer out = { 0 };
	dwarfs_error *err = NULL;

	assert_int_equal(dw_samples_to_json(kind, &samples, &out, &err),
			 DWARFS_ERR_INVALID);
	assert_non_null(strstr(dwarfs_error_message(err), why));
	assert_int_equal(out.size, 0);
	assert_int_equal(dw_samples_check(kind, &samples, NULL), DWARFS_ERR_INVALID);
	dwarfs_error_free(err);
}

static void what_cannot_be_packed_has_no_text(void **state)
{
	struct codec_samples audio = { .is_known = true,
				       .bytes_per_sample = 2,
				       .bits_per_sample = 16,
				       .channels = 2 };
	struct codec_samples image = { .is_known = true,
				       .bytes_per_sample = 2,
				       .channels = 1 };
	struct codec_samples other;

	assert_int_equal(dw_samples_check(&dw_samples_audio, &audio, NULL), 0);
	assert_int_equal(dw_samples_check(&dw_samples_image, &image, NULL), 0);
	other = audio;
	other.is_known = false;
	refuse(&dw_samples_audio, other, "not known");
	other = audio;
	other.bits_per_sample = 17;
	refuse(&dw_samples_audio, other, "17 bits in 2 bytes");
	other.bits_per_sample = 7;
	refuse(&dw_samples_audio, other, "7 bits");
	other = audio;
	other.channels = 9;
	refuse(&dw_samples_audio, other, "9 channels");
	other.channels = 0;
	refuse(&dw_samples_audio, other, "0 channels");
	other = image;
	other.is_known = false;
	refuse(&dw_samples_image, other, "not known");
	other = image;
	other.channels = 3;
	refuse(&dw_samples_image, other, "3 channels");
	other = image;
	other.unused_lsb_count = 9;
	refuse(&dw_samples_image, other, "cannot pack");
	other = image;
	other.bytes_per_sample = 4;
	refuse(&dw_samples_image, other, "in 4 bytes");
}

static void codecs_say_what_they_pack(void **state)
{
	assert_ptr_equal(dw_codec_samples(CODEC_RICEPP), &dw_samples_image);
	assert_null(dw_codec_samples(CODEC_NONE));
	if (dw_codec_can_pack(CODEC_FLAC))
		assert_ptr_equal(dw_codec_samples(CODEC_FLAC), &dw_samples_audio);
	if (dw_codec_can_pack(CODEC_ZSTD))
		assert_null(dw_codec_samples(CODEC_ZSTD));
}

static struct codec_samples parsed(const struct samples_kind *kind, const char *text)
{
	struct codec_samples samples;

	memset(&samples, 0xff, sizeof(samples));
	dw_samples_from_json(kind, text, &samples);
	return samples;
}

static void texts_are_read_again(void **state)
{
	static const struct {
		const struct samples_kind *kind;
		const char *text;
	} cases[] = { { &dw_samples_image, pixels },
		      { &dw_samples_audio, sound },
		      { &dw_samples_audio, other_sound } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct codec_samples samples = parsed(cases[i].kind, cases[i].text);

		assert_true(samples.is_known);
		expect_text(cases[i].kind, &samples, cases[i].text);
	}
}

/* As other writers may lay them out. */
static void spaces_and_other_keys_do_not_matter(void **state)
{
	struct codec_samples samples =
		parsed(&dw_samples_audio,
		       " { \"signedness\" : \"signed\",\n\t\"x_bits_per_sample\": 1,\n"
		       "\"text\": \"bits_per_sample\", \"bits_per_sample\" :\t24 ,"
		       "\"padding\":\r\n\"lsb\", \"bytes_per_sample\": 3,"
		       "\"number_of_channels\":1,\"endianness\":\"big\" } ");

	assert_true(samples.is_known);
	expect_text(&dw_samples_audio, &samples, sound);
}

static void hostile_texts_are_of_no_samples(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"{}",
		"}{",
		"null",
		"\"",
		"\"bits_per_sample\"",
		"\"bits_per_sample\":",
		"\"bits_per_sample\":\"",
		"bits_per_sample:16,bytes_per_sample:2,number_of_channels:2",
		"{\"bits_per_sample\":-16,\"bytes_per_sample\":2,\"number_of_channels\":2}",
		"{\"bits_per_sample\":4294967312,\"bytes_per_sample\":2,"
		"\"number_of_channels\":2}",
		"{\"bits_per_sample\":16,\"bytes_per_sample\":258,\"number_of_channels\":2}",
		"{\"bits_per_sample\":16,\"bytes_per_sample\":2,"
		"\"number_of_channels\":65538}",
		"{\"bits_per_sample\":"
		"16161616161616161616161616161616161616161616161616161616161616161616,"
		"\"bytes_per_sample\":2,\"number_of_channels\":2}",
		"{\"bytes_per_sample\":2,\"component_count\":258}",
		"{\"bytes_per_sample\":2,\"component_count\":1,\"unused_lsb_count\":9000000}x",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct codec_samples audio = parsed(&dw_samples_audio, texts[i]);
		struct codec_samples image = parsed(&dw_samples_image, texts[i]);

		assert_false(audio.is_known);
		assert_int_not_equal(dw_samples_check(&dw_samples_audio, &audio, NULL),
				     0);
		/* A number that is too large counts as missing: none of the last one. */
		if (i < sizeof(texts) / sizeof(*texts) - 1)
			assert_false(image.is_known);
		else
			assert_int_equal(image.unused_lsb_count, 0);
	}
}

/* Each beginning of a text, in memory of its own, so that a sanitizer sees what is read after
 * its end. */
static void truncated_texts_are_read_within_their_bounds(void **state)
{
	for (size_t bytes = 0; bytes < strlen(sound); bytes++) {
		char *text = dw_strndup(sound, bytes);
		struct codec_samples samples;

		assert_non_null(text);
		samples = parsed(&dw_samples_audio, text);
		assert_true(bytes > 80 || !samples.is_known);
		dw_samples_from_json(&dw_samples_image, text, &samples);
		assert_false(samples.is_known);
		dw_free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_those_of_images),
		cmocka_unit_test(what_cannot_be_packed_has_no_text),
		cmocka_unit_test(codecs_say_what_they_pack),
		cmocka_unit_test(texts_are_read_again),
		cmocka_unit_test(spaces_and_other_keys_do_not_matter),
		cmocka_unit_test(hostile_texts_are_of_no_samples),
		cmocka_unit_test(truncated_texts_are_read_within_their_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
