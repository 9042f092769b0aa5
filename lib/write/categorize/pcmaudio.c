/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/pcmaudio: uncompressed audio.
 *
 * A file has metadata, whole frames of samples, and metadata again. Each container format
 * finds its samples in a file of its own (pcm_wav.c, pcm_aiff.c, pcm_caf.c).
 */
#include <string.h>

#include "base/bytes.h"
#include "write/categorize/pcm.h"

#define MIN_BITS     8
#define MAX_BITS     32
#define MAX_CHANNELS 8
#define MAX_CHUNKS   4096
#define MAX_HEADER   24 /* of a chunk */

static const struct pcm_format *const formats[] = {
	&dw_pcm_wav,
	&dw_pcm_w64,
	&dw_pcm_aiff,
	&dw_pcm_caf,
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

void dw_pcm_layout(struct pcm *pcm, uint32_t channels, uint32_t bits, uint64_t bytes)
{
	if (channels == 0)
		pcm->problem = "it has no channels";
	else if (bits < MIN_BITS)
		pcm->problem = "it has less than 8 bits per sample";
	else if (bytes == 0 || bits > 8 * bytes)
		pcm->problem = "samples do not fit into the bytes they are given";
	else if (channels > MAX_CHANNELS || bits > MAX_BITS || 8 * bytes > MAX_BITS)
		pcm->is_foreign = true;
	if (pcm->problem || pcm->is_foreign)
		return;
	pcm->samples.channels = (uint16_t)channels;
	pcm->samples.bits_per_sample = (uint8_t)bits;
	pcm->samples.bytes_per_sample = (uint8_t)bytes;
}

/* -- chunks -------------------------------------------------------------------------- */

uint64_t dw_pcm_size(const struct pcm_chunks *chunks, const uint8_t *from)
{
	if (chunks->size_bytes == 4)
		return chunks->big_endian ? dw_load_be32(from) : dw_load32(from);
	return chunks->big_endian ? dw_load_be64(from) : dw_load64(from);
}

int dw_pcm_next(struct pcm_chunks *chunks, struct pcm_chunk *chunk, struct pcm *pcm,
		dwarfs_error **err)
{
	size_t header_bytes = chunks->id_bytes + chunks->size_bytes, got;
	uint64_t size, left, padded;
	uint8_t header[MAX_HEADER];
	int ret;

	if (chunks->at >= chunks->file->size)
		return 0;
	ret = dw_category_read(chunks->file, chunks->at, header, header_bytes, &got, err);
	if (ret < 0)
		return ret;
	if (got < header_bytes || chunks->count++ >= MAX_CHUNKS) {
		pcm->problem =
			got < header_bytes ? "it is cut off" : "it has too many chunks";
		return 0;
	}
	size = dw_pcm_size(chunks, header + chunks->id_bytes);
	left = chunks->file->size - chunks->at - header_bytes;
	chunk->is_open = chunks->open_bytes && size >= chunks->open_bytes && size > left;
	if (chunk->is_open)
		size = left;
	else if (chunks->counts_header && !dw_sub(size, header_bytes, &size))
		size = UINT64_MAX;
	if (size > left) {
		pcm->problem = "a chunk runs past its end";
		return 0;
	}
	memcpy(chunk->id, header, chunks->id_bytes);
	chunk->start = chunks->at + header_bytes;
	chunk->bytes = size;
	padded = -(chunk->start + size) % chunks->alignment;
	chunks->at = chunk->start + size + padded;
	return 1;
}

int dw_pcm_read(const struct pcm_chunks *chunks, const struct pcm_chunk *chunk, void *to,
		size_t size, struct pcm *pcm, dwarfs_error **err)
{
	size_t got = 0;
	int ret = 0;

	if (chunk->bytes >= size)
		ret = dw_category_read(chunks->file, chunk->start, to, size, &got, err);
	if (ret == 0 && got < size)
		pcm->problem = "the description of its samples is cut off";
	return ret;
}

/* -- parts --------------------------------------------------------------------------- */

static int add_parts(const struct category_file *file, const struct pcm *pcm,
		     struct category_parts *parts, dwarfs_error **err)
{
	uint64_t frame = (uint64_t)pcm->samples.channels * pcm->samples.bytes_per_sample;
	uint64_t bytes = pcm->bytes - pcm->bytes % frame;
	int ret;

	if (bytes == 0)
		return 0;
	if ((ret = dw_parts_add(parts, CATEGORY_PCM_METADATA, 0, pcm->start, err)) < 0 ||
	    (ret = dw_parts_add_samples(parts, CATEGORY_PCM_WAVEFORM, &pcm->samples,
					bytes, err)) < 0)
		return ret;
	return dw_parts_add(parts, CATEGORY_PCM_METADATA, 0,
			    file->size - pcm->start - bytes, err);
}

static int categorize_pcmaudio(const struct categorizers *all, dwarfs_context *context,
			       const struct category_file *file,
			       struct category_parts *parts, dwarfs_error **err)
{
	/* All of these formats pad samples at the low end. */
	struct pcm pcm = { .samples.lsb_padding = true };
	const struct pcm_format *format = NULL;
	int ret;

	for (size_t i = 0; i < FORMAT_COUNT && !format; i++)
		if (formats[i]->is_this(file->head))
			format = formats[i];
	if (!format)
		return 0;
	if ((ret = format->parse(file, &pcm, err)) < 0)
		return ret;
	if (pcm.problem) {
		dw_category_warn(context, file, format->name, pcm.problem);
		return 0;
	}
	if (pcm.is_foreign || pcm.bytes == 0)
		return 0;
	return add_parts(file, &pcm, parts, err);
}

const struct categorizer_ops dw_categorizer_pcmaudio = {
	.name = "pcmaudio",
	.categorize = categorize_pcmaudio,
};
