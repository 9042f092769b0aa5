/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/pcm_aiff: AIFF, and uncompressed AIFF-C.
 */
#include <string.h>

#include "base/bytes.h"
#include "write/categorize/pcm.h"

#define FORM_AT	  8
#define FIRST	  12
#define ALIGNMENT 2

/* The chunk that describes the sample layout. */
#define COMMON_BYTES	22
#define COMMON_CHANNELS 0
#define COMMON_FRAMES	2
#define COMMON_BITS	6
#define COMMON_KIND	18 /* of compression, AIFF-C only; the last of COMMON_BYTES */

/* Before the samples. */
#define SOUND_BYTES  8
#define SOUND_OFFSET 0

static bool is_compact(struct span head)
{
	return memcmp(head.data + FORM_AT, "AIFC", 4) == 0;
}

static bool is_aiff(struct span head)
{
	return head.size >= FIRST && memcmp(head.data, "FORM", 4) == 0 &&
	       (memcmp(head.data + FORM_AT, "AIFF", 4) == 0 || is_compact(head));
}

static bool is_kind(const uint8_t *kind, const char *letters)
{
	return memcmp(kind, letters, 4) == 0;
}

static int read_common(const struct pcm_chunks *chunks, const struct pcm_chunk *chunk,
		       struct pcm *pcm, uint64_t *frames_out, dwarfs_error **err)
{
	bool compact = is_compact(chunks->file->head);
	uint8_t common[COMMON_BYTES];
	const uint8_t *kind = common + COMMON_KIND;
	uint32_t bits;
	int ret = dw_pcm_read(chunks, chunk, common, compact ? COMMON_BYTES : COMMON_KIND,
			      pcm, err);

	if (ret < 0 || pcm->problem)
		return ret;
	pcm->samples.big_endian = true;
	if (compact && is_kind(kind, "sowt"))
		pcm->samples.big_endian = false;
	else if (compact && !is_kind(kind, "NONE") && !is_kind(kind, "twos"))
		pcm->is_foreign = true;
	bits = dw_load_be16(common + COMMON_BITS);
	if (!pcm->is_foreign)
		dw_pcm_layout(pcm, dw_load_be16(common + COMMON_CHANNELS), bits,
			      (bits + 7) / 8);
	*frames_out = dw_load_be32(common + COMMON_FRAMES);
	return 0;
}

static int read_sound(const struct pcm_chunks *chunks, const struct pcm_chunk *chunk,
		      struct pcm *pcm, dwarfs_error **err)
{
	uint8_t sound[SOUND_BYTES];
	uint64_t skip;
	int ret = dw_pcm_read(chunks, chunk, sound, sizeof(sound), pcm, err);

	if (ret < 0 || pcm->problem)
		return ret;
	skip = SOUND_BYTES + (uint64_t)dw_load_be32(sound + SOUND_OFFSET);
	if (skip > chunk->bytes) {
		pcm->problem = "samples begin past the end of their chunk";
		return 0;
	}
	pcm->start = chunk->start + skip;
	pcm->bytes = chunk->bytes - skip;
	return 0;
}

/* Limit the samples to the frame count, after both chunks were found. */
static void limit(struct pcm *pcm, uint64_t frames)
{
	uint64_t bytes = frames * pcm->samples.channels * pcm->samples.bytes_per_sample;

	if (bytes > pcm->bytes)
		pcm->problem = "it has fewer samples than it says";
	pcm->bytes = bytes;
}

static int parse_aiff(const struct category_file *file, struct pcm *pcm,
		      dwarfs_error **err)
{
	struct pcm_chunks chunks = { .file = file,
				     .id_bytes = 4,
				     .size_bytes = 4,
				     .alignment = ALIGNMENT,
				     .big_endian = true,
				     .at = FIRST };
	bool has_common = false, has_sound = false;
	struct pcm_chunk chunk;
	uint64_t frames = 0;
	int ret = 0;

	while ((!has_common || !has_sound) &&
	       (ret = dw_pcm_next(&chunks, &chunk, pcm, err)) > 0) {
		if (!has_common && memcmp(chunk.id, "COMM", 4) == 0) {
			ret = read_common(&chunks, &chunk, pcm, &frames, err);
			has_common = true;
		} else if (!has_sound && memcmp(chunk.id, "SSND", 4) == 0) {
			ret = read_sound(&chunks, &chunk, pcm, err);
			has_sound = true;
		}
		if (ret < 0 || pcm->problem || pcm->is_foreign)
			return ret < 0 ? ret : 0;
	}
	if (has_common && has_sound)
		limit(pcm, frames);
	else if (ret == 0 && !pcm->problem && (!has_common || frames))
		pcm->problem = "it has no samples, or does not describe them";
	return has_common && has_sound ? 0 : ret;
}

const struct pcm_format dw_pcm_aiff = { "AIFF", is_aiff, parse_aiff };
