/* SPDX-License-Identifier: MIT */
/*
 * Processor time of the library and of liblzma to decompress the same .xz streams.
 *
 *     bench-lzma FILE...
 *
 * The first 8 blocks of 16 MiB of each file are compressed by liblzma (level 6, no
 * check); both libraries decompress each block in turns, and the fastest of ROUNDS
 * counts. Their outputs are compared.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lzma.h>

#include "codec/encode/encode.h"

enum { BLOCK = 16 << 20, BLOCKS = 8, ROUNDS = 5 };

struct block {
	uint8_t *data, *packed, *out;
	size_t size, packed_size;
};

static double processor_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench-lzma: %s\n", what);
	exit(1);
}

static void pack(struct block *block)
{
	block->packed_size = 0;
	check(lzma_easy_buffer_encode(6, LZMA_CHECK_NONE, NULL, block->data, block->size,
				      block->packed, &block->packed_size,
				      lzma_stream_buffer_bound(BLOCK)) == LZMA_OK,
	      "cannot pack");
}

static double unpack_here(const struct block *block)
{
	const struct span in = { block->packed, block->packed_size };
	double began = processor_seconds();

	check(dw_codec_unpack(CODEC_LZMA, in, block->out, block->size, NULL) == 0,
	      "the library cannot unpack it");
	return processor_seconds() - began;
}

static double unpack_there(const struct block *block)
{
	uint64_t memory = UINT64_MAX;
	size_t at = 0, done = 0;
	double began = processor_seconds();

	check(lzma_stream_buffer_decode(&memory, 0, NULL, block->packed, &at,
					block->packed_size, block->out, &done,
					block->size) == LZMA_OK,
	      "liblzma cannot unpack it");
	return processor_seconds() - began;
}

static double lesser(double one, double other)
{
	return one < other ? one : other;
}

/* Adds to the seconds of both. */
static void measure(const struct block *block, double *here_out, double *there_out)
{
	double here = 1e9, there = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		memset(block->out, i, block->size);
		here = lesser(here, unpack_here(block));
		check(memcmp(block->out, block->data, block->size) == 0, "it differs");
		there = lesser(there, unpack_there(block));
	}
	*here_out += here;
	*there_out += there;
}

static void measure_file(const char *path, struct block *block)
{
	FILE *file = fopen(path, "rb");
	double here = 0, there = 0;
	uint64_t bytes = 0, packed = 0;

	check(file != NULL, "cannot open a file");
	for (int i = 0; i < BLOCKS; i++) {
		block->size = fread(block->data, 1, BLOCK, file);
		if (block->size == 0)
			break;
		pack(block);
		measure(block, &here, &there);
		bytes += block->size;
		packed += block->packed_size;
	}
	fclose(file);
	check(bytes > 0, "a file is empty");
	printf("%s: %" PRIu64 " bytes, packed %" PRIu64
	       "; library %.0f MB/s, liblzma %.0f MB/s of processor time, time %.2f\n",
	       path, bytes, packed, (double)bytes / here / 1e6,
	       (double)bytes / there / 1e6, here / there);
}

int main(int argc, char **argv)
{
	struct block block = { malloc(BLOCK), malloc(lzma_stream_buffer_bound(BLOCK)),
			       malloc(BLOCK), 0, 0 };

	check(argc > 1, "no FILE is given");
	check(block.data && block.packed && block.out, "out of memory");
	for (int i = 1; i < argc; i++)
		measure_file(argv[i], &block);
	free(block.data);
	free(block.packed);
	free(block.out);
	return 0;
}
