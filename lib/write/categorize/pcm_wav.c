/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/pcm_wav: WAV and W64, which differ in ids, sizes and padding only.
 *
 * WAV has three more forms: RIFX is big-endian, RF64 (also called BW64) stores large
 * sizes in a chunk of their own. A program that writes to a pipe cannot fill in sizes
 * afterwards, so they may be missing.
 */
#include <string.h>

#include "base/bytes.h"
#include "write/categorize/pcm.h"

#define ID_BYTES_W64 16

static const uint8_t w64_riff[ID_BYTES_W64] = { 'r',  'i',  'f',  'f',	0x2e, 0x91,
						0xcf, 0x11, 0xa5, 0xd6, 0x28, 0xdb,
						0x04, 0xc1, 0x00, 0x00 };
/* The bytes after the four letters of all other ids. */
static const uint8_t w64_tail[ID_BYTES_W64 - 4] = { 0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1,
						    0x00, 0xc0, 0x4f, 0x8e, 0xdb, 0x8a };

#define WAV_SIZE_AT    4
#define WAV_FORM_AT    8
#define WAV_FIRST      12
#define W64_FORM_AT    24
#define W64_FIRST      40
#define W64_ALIGNMENT  8
#define WAV_ALIGNMENT  2
#define UNSIGNED_BITS  8 /* samples of up to this many bits are unsigned */
#define MIN_BITS_KNOWN 1

/* Sizes that mean unknown: all ones, or slightly less than 2 GiB. */
#define WAV_OPEN_BYTES 0x7fff0000

/* The chunk with the sizes of RF64. */
#define SIZES_BYTES 16
#define SIZES_DATA  8

/* The chunk that describes the sample layout. */
#define FORMAT_BYTES	      16
#define FORMAT_BYTES_EXTENDED 40
#define FORMAT_TAG	      0
#define FORMAT_CHANNELS	      2
#define FORMAT_FRAME_BYTES    12
#define FORMAT_BITS	      14
#define FORMAT_VALID_BITS     18
#define FORMAT_SUBFORMAT      24
#define TAG_PCM		      1
#define TAG_EXTENSIBLE	      0xfffe

/* The first half consists of numbers. */
static const uint8_t subformat_pcm[2][16] = {
	{ 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80, 0x00, 0x00, 0xaa, 0x00,
	  0x38, 0x9b, 0x71 },
	{ 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x10, 0x80, 0x00, 0x00, 0xaa, 0x00,
	  0x38, 0x9b, 0x71 },
};

static bool is_wav(struct span head)
{
	return head.size >= WAV_FIRST &&
	       (memcmp(head.data, "RIFF", 4) == 0 || memcmp(head.data, "RIFX", 4) == 0 ||
		memcmp(head.data, "RF64", 4) == 0 || memcmp(head.data, "BW64", 4) == 0) &&
	       memcmp(head.data + WAV_FORM_AT, "WAVE", 4) == 0;
}

static bool is_big_endian(struct span head)
{
	return memcmp(head.data, "RIFX", 4) == 0;
}

static bool is_w64_id(const uint8_t *id, const char *letters)
{
	return memcmp(id, letters, 4) == 0 &&
	       memcmp(id + 4, w64_tail, sizeof(w64_tail)) == 0;
}

static bool is_w64(struct span head)
{
	return head.size >= W64_FIRST &&
	       memcmp(head.data, w64_riff, sizeof(w64_riff)) == 0 &&
	       is_w64_id(head.data + W64_FORM_AT, "wave");
}

static bool is_id(const struct pcm_chunks *chunks, const struct pcm_chunk *chunk,
		  const char *letters)
{
	return chunks->id_bytes == 4 ? memcmp(chunk->id, letters, 4) == 0
				     : is_w64_id(chunk->id, letters);
}

static uint32_t load_chunk16(const struct pcm_chunks *chunks, const uint8_t *from)
{
	return chunks->big_endian ? dw_load_be16(from) : dw_load16(from);
}

/* In the extended form, bits is the container size, and a second field the bits in
 * use. */
static void set_wav_layout(const struct pcm_chunks *chunks, struct pcm *pcm,
			   const uint8_t format[FORMAT_BYTES_EXTENDED])
{
	uint32_t channels = load_chunk16(chunks, format + FORMAT_CHANNELS);
	uint32_t bits = load_chunk16(chunks, format + FORMAT_BITS);
	uint32_t frame = load_chunk16(chunks, format + FORMAT_FRAME_BYTES);

	if (load_chunk16(chunks, format + FORMAT_TAG) == TAG_EXTENSIBLE) {
		uint32_t valid = load_chunk16(chunks, format + FORMAT_VALID_BITS);

		if (valid > bits)
			pcm->problem = "more bits are used than there are";
		else if (valid >= MIN_BITS_KNOWN)
			bits = valid;
	}
	if (channels && frame % channels != 0)
		pcm->problem = "the frame size is not a whole number of samples";
	if (!pcm->problem)
		dw_pcm_layout(pcm, channels, bits, channels ? frame / channels : 0);
	pcm->samples.is_unsigned = bits <= UNSIGNED_BITS;
	pcm->samples.big_endian = chunks->big_endian;
}

static int read_format(const struct pcm_chunks *chunks, const struct pcm_chunk *chunk,
		       struct pcm *pcm, dwarfs_error **err)
{
	uint8_t format[FORMAT_BYTES_EXTENDED] = { 0 };
	size_t size = chunk->bytes < sizeof(format) ? FORMAT_BYTES : sizeof(format);
	int ret = dw_pcm_read(chunks, chunk, format, size, pcm, err);
	uint32_t tag = load_chunk16(chunks, format + FORMAT_TAG);

	if (ret < 0 || pcm->problem)
		return ret;
	if (tag == TAG_EXTENSIBLE && size < sizeof(format))
		pcm->problem = "the description of its samples is cut off";
	else if (tag != TAG_PCM &&
		 (tag != TAG_EXTENSIBLE ||
		  memcmp(format + FORMAT_SUBFORMAT, subformat_pcm[chunks->big_endian],
			 sizeof(subformat_pcm[0])) != 0))
		pcm->is_foreign = true;
	else
		set_wav_layout(chunks, pcm, format);
	return 0;
}

static int read_sizes(const struct pcm_chunks *chunks, const struct pcm_chunk *chunk,
		      struct pcm *pcm, uint64_t *data_bytes_out, dwarfs_error **err)
{
	uint8_t sizes[SIZES_BYTES] = { 0 };
	int ret = dw_pcm_read(chunks, chunk, sizes, sizeof(sizes), pcm, err);

	*data_bytes_out = dw_load64(sizes + SIZES_DATA);
	return ret;
}

/* Whether the size in the file header was not filled in either. */
static bool is_unfinished(const struct pcm_chunks *chunks, const struct pcm_chunk *chunk)
{
	const struct category_file *file = chunks->file;
	uint64_t size = dw_pcm_size(chunks, file->head.data + WAV_SIZE_AT);

	return chunks->open_bytes && (size + WAV_FORM_AT <= chunk->start ||
				      (size >= chunks->open_bytes && size > file->size));
}

/*
 * The samples of the chunk; all bytes after its header if its size was never filled in.
 * Other data in there costs little.
 */
static void set_samples(const struct pcm_chunks *chunks, const struct pcm_chunk *chunk,
			uint64_t data_bytes, struct pcm *pcm)
{
	pcm->start = chunk->start;
	pcm->bytes = chunk->bytes;
	if (chunk->is_open && data_bytes != 0 && data_bytes != UINT64_MAX) {
		if (data_bytes > chunk->bytes)
			pcm->problem = "a chunk runs past its end";
		pcm->bytes = data_bytes;
	} else if (chunk->bytes == 0 && is_unfinished(chunks, chunk)) {
		pcm->bytes = chunks->file->size - chunk->start;
	}
}

static int parse_chunks(struct pcm_chunks *chunks, struct pcm *pcm, dwarfs_error **err)
{
	struct pcm_chunk chunk;
	uint64_t data_bytes = 0; /* from RF64 */
	bool has_format = false;
	int ret;

	while ((ret = dw_pcm_next(chunks, &chunk, pcm, err)) > 0) {
		if (is_id(chunks, &chunk, "data")) {
			if (!has_format)
				pcm->problem = "samples come before their description";
			else
				set_samples(chunks, &chunk, data_bytes, pcm);
			return 0;
		}
		if (is_id(chunks, &chunk, "ds64") &&
		    ((ret = read_sizes(chunks, &chunk, pcm, &data_bytes, err)) < 0 ||
		     pcm->problem))
			return ret;
		if (!is_id(chunks, &chunk, "fmt "))
			continue;
		if (has_format)
			pcm->problem = "it describes its samples twice";
		else
			ret = read_format(chunks, &chunk, pcm, err);
		if (ret < 0 || pcm->problem || pcm->is_foreign)
			return ret < 0 ? ret : 0;
		has_format = true;
	}
	if (ret == 0 && !pcm->problem)
		pcm->problem = "it has no samples";
	return ret;
}

static int parse_wav(const struct category_file *file, struct pcm *pcm,
		     dwarfs_error **err)
{
	struct pcm_chunks chunks = { .file = file,
				     .id_bytes = 4,
				     .size_bytes = 4,
				     .alignment = WAV_ALIGNMENT,
				     .big_endian = is_big_endian(file->head),
				     .open_bytes = WAV_OPEN_BYTES,
				     .at = WAV_FIRST };

	return parse_chunks(&chunks, pcm, err);
}

static int parse_w64(const struct category_file *file, struct pcm *pcm,
		     dwarfs_error **err)
{
	struct pcm_chunks chunks = { .file = file,
				     .id_bytes = ID_BYTES_W64,
				     .size_bytes = 8,
				     .alignment = W64_ALIGNMENT,
				     .counts_header = true,
				     .at = W64_FIRST };

	return parse_chunks(&chunks, pcm, err);
}

const struct pcm_format dw_pcm_wav = { "WAV", is_wav, parse_wav };
const struct pcm_format dw_pcm_w64 = { "W64", is_w64, parse_w64 };
