/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/samples: the layouts of samples that codecs pack, and the JSON text of a layout that
 * images store with the category of a block.
 */
#include <stdio.h>
#include <string.h>

#include "codec/encode/encode.h"

#define MAX_TEXT_BYTES 256 /* all values are numbers or one of two words */

struct samples_kind {
	/* Whether a block of such samples can be packed. */
	bool (*can_pack)(const struct codec_samples *samples);

	/* Compact JSON with sorted keys. */
	void (*describe)(const struct codec_samples *samples, char text[MAX_TEXT_BYTES]);

	/* The opposite. */
	void (*parse)(const char *text, struct codec_samples *samples);
};

static const char *endianness(const struct codec_samples *samples)
{
	return samples->big_endian ? "big" : "little";
}

/* The value of a key in an object of numbers and words: where it begins, after a quote if it
 * has one; NULL if there is none. */
static const char *find_value(const char *text, const char *key)
{
	const char *start = text;
	size_t bytes = strlen(key);

	for (; (text = strstr(text, key)); text += bytes) {
		const char *at = text + bytes;

		if (text == start || text[-1] != '"' || *at++ != '"')
			continue;
		at += strspn(at, " \t\r\n");
		if (*at++ != ':')
			continue;
		at += strspn(at, " \t\r\n");
		return *at == '"' ? at + 1 : at;
	}
	return NULL;
}

/* A number of at most max; 0 if it is missing or another. */
static unsigned number_of(const char *text, const char *key, unsigned max)
{
	const char *value = find_value(text, key);
	unsigned number = 0;

	for (; value && *value >= '0' && *value <= '9'; value++) {
		number = number * 10 + (unsigned)(*value - '0');
		if (number > max)
			return 0;
	}
	return number;
}

static bool is_word(const char *text, const char *key, const char *word)
{
	const char *value = find_value(text, key);
	size_t bytes = strlen(word);

	return value && strncmp(value, word, bytes) == 0 && value[bytes] == '"';
}

/* -- audio --------------------------------------------------------------------------- */

static bool can_pack_audio(const struct codec_samples *samples)
{
	return samples->bytes_per_sample >= 1 && samples->bytes_per_sample <= 4 &&
	       samples->bits_per_sample >= 8 &&
	       samples->bits_per_sample <= 8 * samples->bytes_per_sample &&
	       samples->channels >= 1 && samples->channels <= 8;
}

static void describe_audio(const struct codec_samples *samples, char text[MAX_TEXT_BYTES])
{
	snprintf(text, MAX_TEXT_BYTES,
		 "{\"bits_per_sample\":%d,\"bytes_per_sample\":%d,"
		 "\"endianness\":\"%s\",\"number_of_channels\":%d,"
		 "\"padding\":\"%s\",\"signedness\":\"%s\"}",
		 samples->bits_per_sample, samples->bytes_per_sample, endianness(samples),
		 samples->channels, samples->lsb_padding ? "lsb" : "msb",
		 samples->is_unsigned ? "unsigned" : "signed");
}

static void parse_audio(const char *text, struct codec_samples *samples)
{
	samples->bits_per_sample = (uint8_t)number_of(text, "bits_per_sample", 32);
	samples->bytes_per_sample = (uint8_t)number_of(text, "bytes_per_sample", 4);
	samples->channels = (uint16_t)number_of(text, "number_of_channels", 8);
	samples->big_endian = is_word(text, "endianness", "big");
	samples->lsb_padding = is_word(text, "padding", "lsb");
	samples->is_unsigned = is_word(text, "signedness", "unsigned");
}

const struct samples_kind dw_samples_audio = { can_pack_audio, describe_audio,
					       parse_audio };

/* -- images -------------------------------------------------------------------------- */

static bool can_pack_image(const struct codec_samples *samples)
{
	return samples->bytes_per_sample == 2 && samples->unused_lsb_count <= 8 &&
	       samples->channels >= 1 && samples->channels <= 2;
}

static void describe_image(const struct codec_samples *samples, char text[MAX_TEXT_BYTES])
{
	snprintf(text, MAX_TEXT_BYTES,
		 "{\"bytes_per_sample\":%d,\"component_count\":%d,"
		 "\"endianness\":\"%s\",\"unused_lsb_count\":%d}",
		 samples->bytes_per_sample, samples->channels, endianness(samples),
		 samples->unused_lsb_count);
}

static void parse_image(const char *text, struct codec_samples *samples)
{
	samples->bytes_per_sample = (uint8_t)number_of(text, "bytes_per_sample", 4);
	samples->channels = (uint16_t)number_of(text, "component_count", 2);
	samples->unused_lsb_count = (uint8_t)number_of(text, "unused_lsb_count", 8);
	samples->big_endian = is_word(text, "endianness", "big");
}

const struct samples_kind dw_samples_image = { can_pack_image, describe_image,
					       parse_image };

/* -- both ---------------------------------------------------------------------------- */

int dw_samples_check(const struct samples_kind *kind, const struct codec_samples *samples,
		     dwarfs_error **err)
{
	if (!samples->is_known)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "packs samples, but their layout is not known");
	if (!kind->can_pack(samples))
		return dw_fail(
			err, DWARFS_ERR_INVALID,
			"cannot pack %u channels of samples of %u bits in %u bytes",
			samples->channels, samples->bits_per_sample,
			samples->bytes_per_sample);
	return 0;
}

int dw_samples_to_json(const struct samples_kind *kind,
		       const struct codec_samples *samples, struct buffer *out,
		       dwarfs_error **err)
{
	char text[MAX_TEXT_BYTES];
	int ret = dw_samples_check(kind, samples, err);

	if (ret < 0)
		return ret;
	kind->describe(samples, text);
	ret = dw_buffer_append(out, text, strlen(text) + 1, err);
	if (ret == 0)
		out->size--;
	return ret;
}

void dw_samples_from_json(const struct samples_kind *kind, const char *text,
			  struct codec_samples *samples_out)
{
	*samples_out = (struct codec_samples){ 0 };
	kind->parse(text, samples_out);
	samples_out->is_known = kind->can_pack(samples_out);
}
