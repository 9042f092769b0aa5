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
};

static const char *endianness(const struct codec_samples *samples)
{
	return samples->big_endian ? "big" : "little";
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

const struct samples_kind dw_samples_audio = { can_pack_audio, describe_audio };

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

const struct samples_kind dw_samples_image = { can_pack_image, describe_image };

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
