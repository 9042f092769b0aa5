/* SPDX-License-Identifier: MIT */
/*
 * codec/samples: the layout of samples as JSON, in the form that images keep it in.
 *
 * Only who writes an image, or packs its blocks anew, needs these texts.
 */
#include <string.h>

#include "codec/codec.h"
#include "config.h"

#if HAVE_JANSSON

#include <jansson.h>
#include <stdio.h>

#define MAX_TEXT_BYTES 4096

/* -- writing ------------------------------------------------------------------------- */

/* Compact, with sorted keys; all values are numbers or words, so nothing is escaped. */
static void samples_to_json(enum codec_id id, const struct codec_samples *samples,
			    char *text, size_t room)
{
	const char *endianness = samples->big_endian ? "big" : "little";

	if (id == CODEC_RICEPP)
		snprintf(text, room,
			 "{\"bytes_per_sample\":%d,\"component_count\":%d,"
			 "\"endianness\":\"%s\",\"unused_lsb_count\":%d}",
			 samples->bytes_per_sample, samples->channels, endianness,
			 samples->unused_lsb_count);
	else
		snprintf(text, room,
			 "{\"bits_per_sample\":%d,\"bytes_per_sample\":%d,"
			 "\"endianness\":\"%s\",\"number_of_channels\":%d,"
			 "\"padding\":\"%s\",\"signedness\":\"%s\"}",
			 samples->bits_per_sample, samples->bytes_per_sample, endianness,
			 samples->channels, samples->lsb_padding ? "lsb" : "msb",
			 samples->is_unsigned ? "unsigned" : "signed");
}

static int fail_codec(dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_INVALID, "only FLAC and RICEPP pack samples");
}

int dw_samples_to_json(enum codec_id id, const struct codec_samples *samples,
		       struct buffer *out, dwarfs_error **err)
{
	char text[256];
	int ret;

	if (id != CODEC_FLAC && id != CODEC_RICEPP)
		return fail_codec(err);
	ret = dw_samples_check(id, samples, err);
	if (ret < 0)
		return ret;
	samples_to_json(id, samples, text, sizeof(text));
	ret = dw_buffer_append(out, text, strlen(text) + 1, err);
	if (ret == 0)
		out->size--;
	return ret;
}

/* -- reading ------------------------------------------------------------------------- */

/* The values of an object are taken one by one; the first error stays. */
struct taker {
	const json_t *object;
	size_t taken;
	const char *wrong; /* name of the value, or NULL */
};

static unsigned take_json_number(struct taker *taker, const char *name, unsigned most)
{
	const json_t *value = json_object_get(taker->object, name);

	taker->taken++;
	if (json_is_integer(value) && json_integer_value(value) >= 0 &&
	    json_integer_value(value) <= (json_int_t)most)
		return (unsigned)json_integer_value(value);
	if (!taker->wrong)
		taker->wrong = name;
	return 0;
}

/* Which of two words it is: false for the first. */
static bool take_json_word(struct taker *taker, const char *name, const char *no,
			   const char *yes)
{
	const json_t *value = json_object_get(taker->object, name);
	const char *word = json_string_value(value);

	taker->taken++;
	if (word && json_string_length(value) == strlen(word)) {
		if (strcmp(word, no) == 0)
			return false;
		if (strcmp(word, yes) == 0)
			return true;
	}
	if (!taker->wrong)
		taker->wrong = name;
	return false;
}

static void take_samples(struct taker *taker, enum codec_id id,
			 struct codec_samples *samples)
{
	samples->is_known = true;
	samples->big_endian = take_json_word(taker, "endianness", "little", "big");
	samples->bytes_per_sample =
		(uint8_t)take_json_number(taker, "bytes_per_sample", UINT8_MAX);
	if (id == CODEC_RICEPP) {
		samples->channels =
			(uint16_t)take_json_number(taker, "component_count", UINT16_MAX);
		samples->unused_lsb_count =
			(uint8_t)take_json_number(taker, "unused_lsb_count", UINT8_MAX);
		return;
	}
	samples->channels =
		(uint16_t)take_json_number(taker, "number_of_channels", UINT16_MAX);
	samples->bits_per_sample =
		(uint8_t)take_json_number(taker, "bits_per_sample", UINT8_MAX);
	samples->lsb_padding = take_json_word(taker, "padding", "msb", "lsb");
	samples->is_unsigned = take_json_word(taker, "signedness", "signed", "unsigned");
}

static int from_object(enum codec_id id, const json_t *object,
		       struct codec_samples *samples_out, dwarfs_error **err)
{
	struct taker taker = { .object = object };
	struct codec_samples samples = { 0 };
	auto_error dwarfs_error *why = NULL;

	if (!json_is_object(object))
		return dw_fail(err, DWARFS_ERR_CORRUPT, "samples: not a JSON object");
	take_samples(&taker, id, &samples);
	if (taker.wrong)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "samples: '%s' is missing or has an unknown value",
			       taker.wrong);
	if (json_object_size(object) != taker.taken)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "samples: there are properties that are not known");
	if (dw_samples_check(id, &samples, &why) < 0)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "samples: %s",
			       dwarfs_error_message(why));
	*samples_out = samples;
	return 0;
}

int dw_samples_from_json(enum codec_id id, struct span text,
			 struct codec_samples *samples_out, dwarfs_error **err)
{
	json_error_t why;
	json_t *object;
	int ret;

	if (id != CODEC_FLAC && id != CODEC_RICEPP)
		return fail_codec(err);
	if (text.size == 0 || text.size > MAX_TEXT_BYTES)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "samples: a text of %zu bytes describes none", text.size);
	object = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES,
			    &why);
	/* Exhausted memory leaves no text; at some places jansson takes it for bad
	 * syntax. */
	if (!object && !why.text[0])
		return dw_fail_nomem(err);
	if (!object)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "samples: no JSON at byte %d",
			       why.position);
	ret = from_object(id, object, samples_out, err);
	json_decref(object);
	return ret;
}

#else

int dw_samples_to_json(enum codec_id id, const struct codec_samples *samples,
		       struct buffer *out, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_UNSUPPORTED, "JSON is not built in");
}

int dw_samples_from_json(enum codec_id id, struct span text,
			 struct codec_samples *samples_out, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_UNSUPPORTED, "JSON is not built in");
}

#endif
