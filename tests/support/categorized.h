/* SPDX-License-Identifier: MIT */
/*
 * categorized: the result of categorizers, as a text.
 */
#ifndef TESTS_SUPPORT_CATEGORIZED_H
#define TESTS_SUPPORT_CATEGORIZED_H

#include <stddef.h>
#include <stdint.h>

#include "write/categorize/categorize.h"

struct categorized {
	dwarfs_context *context;
	dwarfs_builder *builder;
	struct category_parts parts; /* of the last file */
	char warnings[1024];	     /* about it */
	char text[4096];
};

/* For cmocka: a builder with these categorizers, and its end. */
struct categorized *categorized_new(const char *categorizers);
void categorized_free(struct categorized *all);

/*
 * Categorize bytes as a file of this name. Returns "category size, category size", "" for
 * no parts. Checks that the parts cover the file.
 */
const char *categorize_as(struct categorized *all, const char *name, const void *data,
			  size_t size);
const char *categorize(struct categorized *all, const void *data, size_t size);

/* The same for a file, of which the first bytes are in memory. Skips the test if the test
 * data lack this file. */
const char *categorize_input(struct categorized *all, const char *name);

/* Of the last file: the samples of its first part that has any. */
const struct codec_samples *samples_of(const struct categorized *all);

/* Deterministic noise. */
void fill_random(uint8_t *data, size_t size, uint64_t seed);

/* -- building files ------------------------------------------------------------------ */

/* Bytes appended one after the other. */
struct bytes {
	uint8_t data[64 << 10];
	size_t size;
};

void put(struct bytes *bytes, const void *data, size_t size);
void append_text(struct bytes *bytes, const char *text);
void put_zeros(struct bytes *bytes, size_t count);
void put_little(struct bytes *bytes, uint64_t value, unsigned size);
void put_big(struct bytes *bytes, uint64_t value, unsigned size);

struct wav {
	uint32_t tag, channels, bits, frame; /* frame 0: the right value */
	uint32_t valid_bits;		     /* 0xfffe only */
	uint32_t format_bytes;		     /* of the chunk; 0: the right size */
	uint32_t data_bytes;
	int data_excess; /* added to the size in the header */
};

/* A WAV file with silence. */
void make_wav(const struct wav *wav, struct bytes *out);

/* They have these parts, without a warning. */
void assert_parts(struct categorized *all, const struct bytes *bytes,
		  const char *expected);

/* They are of the default category, with a warning that has these words. */
void assert_malformed(struct categorized *all, const struct bytes *bytes,
		      const char *words);

/* They are of the default category, without a warning. */
void assert_nothing(struct categorized *all, const struct bytes *bytes);

/* Wherever they are cut off, they are of the default category. */
void assert_no_prefix(struct categorized *all, const struct bytes *bytes);

#endif
