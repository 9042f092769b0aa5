/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/pcm_caf: Core Audio Format.
 */
#include <string.h>

#include "base/bytes.h"
#include "write/categorize/pcm.h"

#define FIRST	8
#define VERSION 1

/* The chunk that describes the sample layout. */
#define DESCRIPTION_BYTES    32
#define DESCRIPTION_ID	     8
#define DESCRIPTION_FLAGS    12
#define DESCRIPTION_PACKET   16 /* bytes */
#define DESCRIPTION_FRAMES   20 /* of a packet */
#define DESCRIPTION_CHANNELS 24
#define DESCRIPTION_BITS     28
#define FLAG_FLOAT	     1
#define FLAG_LITTLE_ENDIAN   2

#define EDIT_COUNT_BYTES 4 /* before the samples */

static bool is_caf(struct span head)
{
	return head.size >= FIRST && memcmp(head.data, "caff", 4) == 0 &&
	       dw_load_be16(head.data + 4) == VERSION;
}

static int read_description(const struct pcm_chunks *chunks,
			    const struct pcm_chunk *chunk, struct pcm *pcm,
			    dwarfs_error **err)
{
	uint8_t description[DESCRIPTION_BYTES];
	uint32_t channels, packet, flags;
	int ret = dw_pcm_read(chunks, chunk, description, sizeof(description), pcm, err);

	if (ret < 0 || pcm->problem)
		return ret;
	flags = dw_load_be32(description + DESCRIPTION_FLAGS);
	channels = dw_load_be32(description + DESCRIPTION_CHANNELS);
	packet = dw_load_be32(description + DESCRIPTION_PACKET);
	if (memcmp(description + DESCRIPTION_ID, "lpcm", 4) != 0 || flags & FLAG_FLOAT) {
		pcm->is_foreign = true;
		return 0;
	}
	pcm->samples.big_endian = !(flags & FLAG_LITTLE_ENDIAN);
	if (dw_load_be32(description + DESCRIPTION_FRAMES) != 1)
		pcm->problem = "packets are not of one frame";
	else if (channels && packet % channels != 0)
		pcm->problem = "the frame size is not a whole number of samples";
	else
		dw_pcm_layout(pcm, channels, dw_load_be32(description + DESCRIPTION_BITS),
			      channels ? packet / channels : 0);
	return 0;
}

static int parse_caf(const struct category_file *file, struct pcm *pcm,
		     dwarfs_error **err)
{
	struct pcm_chunks chunks = { .file = file,
				     .id_bytes = 4,
				     .size_bytes = 8,
				     .alignment = 1,
				     .big_endian = true,
				     .open_bytes = UINT64_MAX,
				     .at = FIRST };
	bool has_description = false;
	struct pcm_chunk chunk;
	int ret;

	while ((ret = dw_pcm_next(&chunks, &chunk, pcm, err)) > 0) {
		if (!has_description) {
			if (memcmp(chunk.id, "desc", 4) != 0)
				pcm->problem =
					"it does not begin with a description of samples";
			else
				ret = read_description(&chunks, &chunk, pcm, err);
			if (ret < 0 || pcm->problem || pcm->is_foreign)
				return ret < 0 ? ret : 0;
			has_description = true;
		} else if (memcmp(chunk.id, "data", 4) == 0) {
			if (chunk.bytes < EDIT_COUNT_BYTES) {
				pcm->problem = "the samples are cut off";
				return 0;
			}
			pcm->start = chunk.start + EDIT_COUNT_BYTES;
			pcm->bytes = chunk.bytes - EDIT_COUNT_BYTES;
			return 0;
		}
	}
	if (ret == 0 && !pcm->problem)
		pcm->problem = "it has no samples";
	return ret;
}

const struct pcm_format dw_pcm_caf = { "CAF", is_caf, parse_caf };
