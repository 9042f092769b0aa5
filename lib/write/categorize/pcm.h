/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/pcm: helpers of the container formats of pcmaudio.
 */
#ifndef DW_WRITE_CATEGORIZE_PCM_H
#define DW_WRITE_CATEGORIZE_PCM_H

#include "write/categorize/ops.h"

/* Samples found in a file, or why there are none. */
struct pcm {
	struct codec_samples samples;
	uint64_t start, bytes; /* of the samples; bytes is 0 if there are none */
	const char *problem;   /* what is malformed, or NULL */
	bool is_foreign;       /* valid, but FLAC does not support the samples */
};

struct pcm_format {
	const char *name; /* for messages */
	bool (*is_this)(struct span head);

	/* Find the samples. Negative only if the file cannot be read. */
	int (*parse)(const struct category_file *file, struct pcm *pcm,
		     dwarfs_error **err);
};

extern const struct pcm_format dw_pcm_wav;
extern const struct pcm_format dw_pcm_w64;
extern const struct pcm_format dw_pcm_aiff;
extern const struct pcm_format dw_pcm_caf;

/*
 * Set the sample layout, with bytes per sample of a channel. Sets problem or is_foreign
 * if FLAC cannot encode it; other members of samples are unchanged.
 */
void dw_pcm_layout(struct pcm *pcm, uint32_t channels, uint32_t bits, uint64_t bytes);

/* -- chunks -------------------------------------------------------------------------- */

/* A file that is a sequence of chunks: id, size, data. */
struct pcm_chunks {
	const struct category_file *file;
	uint8_t id_bytes, size_bytes; /* 4 or 16, 4 or 8 */
	uint8_t alignment; /* of chunks, counted from the first byte of the file */
	bool big_endian;
	bool counts_header; /* sizes include id and size */
	/* A size of at least this that exceeds the file was written by a program that did
	 * not know it, and means the rest of the file; 0: there is no such size. */
	uint64_t open_bytes;
	uint64_t at;
	uint32_t count;
};

struct pcm_chunk {
	uint8_t id[16];
	uint64_t start, bytes; /* of the data; within the file */
	bool is_open;	       /* up to the end of the file, see open_bytes */
};

/* Load a size of a chunk header. */
uint64_t dw_pcm_size(const struct pcm_chunks *chunks, const uint8_t *from);

/*
 * The next chunk: 1, 0 at the end of the file, or negative if it cannot be read. Sets
 * pcm->problem if the chunk is incomplete.
 */
int dw_pcm_next(struct pcm_chunks *chunks, struct pcm_chunk *chunk, struct pcm *pcm,
		dwarfs_error **err);

/* Read the first bytes of a chunk; sets pcm->problem if it is shorter. */
int dw_pcm_read(const struct pcm_chunks *chunks, const struct pcm_chunk *chunk, void *to,
		size_t size, struct pcm *pcm, dwarfs_error **err);

#endif
