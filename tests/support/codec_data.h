/* SPDX-License-Identifier: MIT */
/*
 * Contents of different kinds for the tests of codecs, and damaged payloads.
 */
#ifndef TESTS_SUPPORT_CODEC_DATA_H
#define TESTS_SUPPORT_CODEC_DATA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/encode/encode.h"
#include "support/random.h"

enum kind { KIND_TEXT, KIND_RUNS, KIND_RANDOM, KIND_ZEROS, KIND_COUNT };

static inline void fill(uint8_t *data, size_t size, enum kind kind)
{
	static const char *const words[] = { "section ", "block ", "chunk ",  "entry ",
					     "inode ",	 "the ",   "of a ",   "image\n",
					     "0x10 ",	 "and ",   "offset ", "in " };
	uint32_t random = 0x9E3779B9u + (uint32_t)kind;
	size_t at = 0;

	while (at < size) {
		uint32_t number = next_random(&random);
		const char *word = words[number % (sizeof(words) / sizeof(words[0]))];
		size_t length = kind == KIND_TEXT   ? strlen(word)
				: kind == KIND_RUNS ? 1 + number % 300
						    : 1;

		if (length > size - at)
			length = size - at;
		if (kind == KIND_TEXT)
			memcpy(data + at, word, length);
		else
			memset(data + at, kind == KIND_ZEROS ? 0 : (int)(number >> 24),
			       length);
		at += length;
	}
}

/* Memory of exactly this size, so that tools detect accesses beyond it. */
static inline uint8_t *exactly(size_t size)
{
	uint8_t *memory = dw_malloc(size ? size : 1);

	assert_non_null(memory);
	return memory;
}

static inline uint8_t *copy_of(const uint8_t *data, size_t size)
{
	uint8_t *copy = exactly(size);

	if (size)
		memcpy(copy, data, size);
	return copy;
}

/* Decompress damaged bytes: any result is accepted. */
static inline void survive(uint32_t id, const uint8_t *data, size_t size, size_t expected)
{
	auto_free uint8_t *in = copy_of(data, size);
	auto_free uint8_t *out = exactly(expected);
	struct span span = { in, size };
	dwarfs_error *err = NULL;
	uint64_t announced;
	int ret;

	ret = dw_codec_unpacked_size(id, span, &announced, &err);
	assert_true(ret <= 0);
	assert_int_equal(ret, dwarfs_error_code(err));
	dwarfs_error_free(err);
	err = NULL;
	ret = dw_codec_unpack(id, span, out, expected, &err);
	assert_true(ret == 0 || ret == DWARFS_ERR_CORRUPT ||
		    ret == DWARFS_ERR_UNSUPPORTED || ret == DWARFS_ERR_NOMEM);
	assert_int_equal(ret, dwarfs_error_code(err));
	dwarfs_error_free(err);
}

/* Every truncation must be refused; flipped bits must not cause a crash. */
static inline void survive_damage(uint32_t id, const uint8_t *data, size_t size,
				  size_t expected)
{
	uint32_t random = 12345;

	for (size_t length = 0; length < size; length++) {
		auto_free uint8_t *in = copy_of(data, length);
		auto_free uint8_t *out = exactly(expected);
		struct span span = { in, length };
		int ret = dw_codec_unpack(id, span, out, expected, NULL);

		assert_true(ret == DWARFS_ERR_CORRUPT || ret == DWARFS_ERR_UNSUPPORTED);
		survive(id, data, length, expected);
	}
	for (size_t bit = 0; bit < 8 * size; bit++) {
		auto_free uint8_t *broken = copy_of(data, size);

		broken[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		survive(id, broken, size, expected);
	}
	for (unsigned round = 0; round < 500; round++) {
		auto_free uint8_t *broken = copy_of(data, size);

		for (unsigned i = 0; i < 4; i++)
			broken[next_random(&random) % size] =
				(uint8_t)next_random(&random);
		survive(id, broken, size, expected);
	}
}

/* The expected size applies, not the one that the payload announces. */
static inline void refuse_other_sizes(uint32_t id, const uint8_t *data, size_t size,
				      size_t expected)
{
	size_t others[] = { 0, expected - 1, expected + 1, 2 * expected };
	struct span span = { data, size };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		auto_free uint8_t *out = exactly(others[i]);

		assert_int_equal(dw_codec_unpack(id, span, out, others[i], NULL),
				 DWARFS_ERR_CORRUPT);
	}
}

#endif
