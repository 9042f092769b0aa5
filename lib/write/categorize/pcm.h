/* SPDX-License-Identifier: MIT */
/*
 * categorize/pcm: what the container formats of the pcmaudio categorizer share.
 */
#ifndef DW_WRITE_CATEGORIZE_PCM_H
#define DW_WRITE_CATEGORIZE_PCM_H

#include "write/categorize/ops.h"

/* What was found in a file: samples, or why there are none. */
struct pcm {
	struct codec_samples samples;
	uint64_t start, bytes; /* of the samples; no bytes: none */
	const char *problem;   /* what is malformed, or NULL */
	bool is_foreign;       /* well-formed, but of samples that are not for FLAC */
};

struct pcm_format {
	const char *name; /* for people */
	bool (*is_this)(struct span head);

	/* Find the samples. Negative only when the file cannot be read. */
	int (*parse)(const struct category_file *file, struct pcm *pcm,
		     dwarfs_error **err);
};

extern const struct pcm_format dw_pcm_wav;
extern const struct pcm_format dw_pcm_w64;
extern const struct pcm_format dw_pcm_aiff;
extern const struct pcm_format dw_pcm_caf;

/*
 * Say how samples lie, those of a channel in so many bytes. Sets problem or is_foreign
 * when they are not for FLAC; the other members of samples are left alone.
 */
void dw_pcm_layout(struct pcm *pcm, uint32_t channels, uint32_t bits, uint64_t bytes);

/* -- chunks -------------------------------------------------------------------------- */

/* A file that is a row of chunks: an id, a size, data. */
struct pcm_chunks {
	const struct category_file *file;
	uint8_t id_bytes, size_bytes; /* 4 or 16, 4 or 8 */
	uint8_t alignment; /* of chunks, counted from the first byte of the file */
	bool big_endian;
	bool counts_header; /* sizes are those of id, size and data */
	/* A size of at least this that runs past the end of the file is that of a writer
	 * who could not know it, and means up to the end; 0: there are none. */
	uint64_t open_bytes;
	uint64_t at;
	uint32_t count;
};

struct pcm_chunk {
	uint8_t id[16];
	uint64_t start, bytes; /* of the data; within the file */
	bool is_open;	       /* up to the end of the file, see open_bytes */
};

/* A size as the headers of chunks have it. */
uint64_t dw_pcm_size(const struct pcm_chunks *chunks, const uint8_t *from);

/*
 * The next chunk: 1, 0 at the end of the file, or negative when it cannot be read. Sets
 * the problem when there is no whole chunk.
 */
int dw_pcm_next(struct pcm_chunks *chunks, struct pcm_chunk *chunk, struct pcm *pcm,
		dwarfs_error **err);

/* Read the first bytes of a chunk; sets the problem when it has fewer. */
int dw_pcm_read(const struct pcm_chunks *chunks, const struct pcm_chunk *chunk, void *to,
		size_t size, struct pcm *pcm, dwarfs_error **err);

#endif
