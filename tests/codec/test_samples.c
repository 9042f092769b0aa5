/* SPDX-License-Identifier: MIT */
/*
 * codec/samples: texts as images of other writers have them, there and back; all others
 * are refused.
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

static struct span span_of(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static struct codec_samples there_and_back(enum codec_id id, const char *text)
{
	auto_buffer struct buffer out = { 0 };
	struct codec_samples samples;

	assert_int_equal(dw_samples_from_json(id, span_of(text), &samples, NULL), 0);
	assert_true(samples.is_known);
	assert_int_equal(dw_samples_to_json(id, &samples, &out, NULL), 0);
	assert_int_equal(out.size, strlen(text));
	assert_string_equal((const char *)out.data, text);
	return samples;
}

static void texts_of_images_come_back(void **state)
{
	struct codec_samples samples = there_and_back(CODEC_RICEPP, pixels);

	assert_int_equal(samples.bytes_per_sample, 2);
	assert_int_equal(samples.channels, 2);
	assert_int_equal(samples.unused_lsb_count, 2);
	assert_true(samples.big_endian);
	samples = there_and_back(CODEC_FLAC, sound);
	assert_int_equal(samples.bits_per_sample, 24);
	assert_int_equal(samples.bytes_per_sample, 3);
	assert_int_equal(samples.channels, 1);
	assert_true(samples.big_endian && samples.lsb_padding && !samples.is_unsigned);
	samples = there_and_back(CODEC_FLAC, other_sound);
	assert_int_equal(samples.channels, 8);
	assert_true(!samples.big_endian && !samples.lsb_padding && samples.is_unsigned);
}

static void order_and_space_do_not_matter(void **state)
{
	struct codec_samples samples;

	assert_int_equal(dw_samples_from_json(
				 CODEC_RICEPP,
				 span_of(" { \"unused_lsb_count\" : 0,\n\"endianness\":"
					 "\"little\",\t\"component_count\":1,"
					 "\"bytes_per_sample\":2 } "),
				 &samples, NULL),
			 0);
	assert_int_equal(samples.channels, 1);
	assert_false(samples.big_endian);
}

static void refuse(enum codec_id id, const char *text, const char *names)
{
	struct codec_samples samples = { .channels = 77 };
	dwarfs_error *err = NULL;

	assert_int_equal(dw_samples_from_json(id, span_of(text), &samples, &err),
			 DWARFS_ERR_CORRUPT);
	assert_non_null(strstr(dwarfs_error_message(err), names));
	assert_int_equal(samples.channels, 77);
	dwarfs_error_free(err);
}

static void other_texts_are_refused(void **state)
{
	refuse(CODEC_RICEPP, "", "0 bytes");
	refuse(CODEC_RICEPP, "[]", "object");
	refuse(CODEC_RICEPP, "7", "JSON");
	refuse(CODEC_RICEPP, "{}", "missing");
	refuse(CODEC_RICEPP, "{\"bytes_per_sample\":2", "JSON");
	refuse(CODEC_RICEPP, sound, "component_count");
	refuse(CODEC_FLAC, pixels, "number_of_channels");
	refuse(CODEC_RICEPP,
	       "{\"bytes_per_sample\":2,\"component_count\":2,\"endianness\":\"big\","
	       "\"unused_lsb_count\":2,\"more\":1}",
	       "not known");
	refuse(CODEC_RICEPP,
	       "{\"bytes_per_sample\":2,\"bytes_per_sample\":2,\"component_count\":2,"
	       "\"endianness\":\"big\",\"unused_lsb_count\":2}",
	       "JSON");
	refuse(CODEC_RICEPP,
	       "{\"bytes_per_sample\":2,\"component_count\":2,\"endianness\":\"middle\","
	       "\"unused_lsb_count\":2}",
	       "endianness");
	refuse(CODEC_RICEPP,
	       "{\"bytes_per_sample\":2,\"component_count\":\"2\",\"endianness\":\"big\","
	       "\"unused_lsb_count\":2}",
	       "component_count");
	refuse(CODEC_RICEPP,
	       "{\"bytes_per_sample\":2,\"component_count\":65538,\"endianness\":\"big\","
	       "\"unused_lsb_count\":2}",
	       "component_count");
	refuse(CODEC_RICEPP,
	       "{\"bytes_per_sample\":2,\"component_count\":3,\"endianness\":\"big\","
	       "\"unused_lsb_count\":2}",
	       "3 channels");
	refuse(CODEC_RICEPP,
	       "{\"bytes_per_sample\":258,\"component_count\":2,\"endianness\":\"big\","
	       "\"unused_lsb_count\":2}",
	       "bytes_per_sample");
	refuse(CODEC_RICEPP,
	       "{\"bytes_per_sample\":2,\"component_count\":2,\"endianness\":\"big\","
	       "\"unused_lsb_count\":-1}",
	       "unused_lsb_count");
	refuse(CODEC_FLAC,
	       "{\"bits_per_sample\":24,\"bytes_per_sample\":2,\"endianness\":\"big\","
	       "\"number_of_channels\":1,\"padding\":\"lsb\",\"signedness\":\"signed\"}",
	       "24 bits in 2 bytes");
}

/* Whatever the damage, there is an answer, and what is accepted is sound. */
static void damage_is_survived(void **state)
{
	uint32_t random = 99;

	for (unsigned round = 0; round < 20000; round++) {
		const char *text = round % 2 ? pixels : sound;
		enum codec_id id = round % 2 ? CODEC_RICEPP : CODEC_FLAC;
		size_t size = strlen(text);
		auto_free uint8_t *broken = copy_of((const uint8_t *)text, size);
		struct codec_samples samples;
		dwarfs_error *err = NULL;
		int ret;

		for (unsigned i = 0; i <= round % 3; i++)
			broken[next_random(&random) % size] =
				(uint8_t)next_random(&random);
		if (round % 5 == 0)
			size = next_random(&random) % size;
		ret = dw_samples_from_json(id, (struct span){ broken, size }, &samples,
					   &err);
		assert_int_equal(dwarfs_error_code(err), ret);
		assert_true(ret == DWARFS_ERR_CORRUPT ||
			    (ret == 0 && dw_samples_check(id, &samples, NULL) == 0));
		dwarfs_error_free(err);
	}
}

static void what_cannot_be_packed_has_no_text(void **state)
{
	struct codec_samples samples = { .is_known = true, .channels = 1 };
	auto_buffer struct buffer out = { 0 };

	assert_int_equal(dw_samples_to_json(CODEC_FLAC, &samples, &out, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dw_samples_to_json(CODEC_ZSTD, &samples, &out, NULL),
			 DWARFS_ERR_INVALID);
	samples.bytes_per_sample = 2;
	samples.is_known = false;
	assert_int_equal(dw_samples_to_json(CODEC_RICEPP, &samples, &out, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(out.size, 0);
	assert_int_equal(
		dw_samples_from_json(CODEC_ZSTD, span_of(pixels), &samples, NULL),
		DWARFS_ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_images_come_back),
		cmocka_unit_test(order_and_space_do_not_matter),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(damage_is_survived),
		cmocka_unit_test(what_cannot_be_packed_has_no_text),
	};

	/* Built without JSON. */
	if (!dw_codec_can_pack(CODEC_RICEPP))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
