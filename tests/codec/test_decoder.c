/* SPDX-License-Identifier: MIT */
/*
 * codec/decoder: decompression in steps gives the same result as at once, for valid and
 * damaged payloads.
 */
#include "support/codec_data.h"
#include "support/effort.h"

#include <sys/mman.h>
#include <unistd.h>

#include "config.h"

#if HAVE_ZSTD
#include <zstd.h>
#endif

enum { LARGE = 3 << 20 };

static const char *const codecs[] = {
	"null",
	"lz4",
	"lz4hc:level=9",
	"zstd:level=1",
	"zstd:level=9",
	"lzma:level=0",
	"lzma:level=1:binary=x86",
	"brotli:quality=5",
	"lzma:level=1:block_size=17",
	"lzma:level=1:block_size=16:check=none",
};

static const size_t sizes[] = { 1, 2, 4095, 131072, 131073, 400000, 1 << 20 };

/* Compress; skips a codec that was not built in. */
static bool pack(const char *text, struct span in, struct buffer *out, uint32_t *id)
{
	auto_codec struct codec *codec = NULL;
	struct codec_spec spec;

	out->size = 0;
	if (dw_codec_parse(text, &spec, NULL) < 0)
		return false;
	assert_int_equal(dw_codec_new(&spec, in.size, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, in, out, id, NULL), 0);
	if (*id == CODEC_NONE)
		assert_int_equal(dw_buffer_append(out, in.data, in.size, NULL), 0);
	return true;
}

/* Every codec stores random bytes uncompressed: for large inputs "null" suffices. */
static bool is_slow_copy(size_t codec, int kind, size_t size)
{
	return kind == KIND_RANDOM && codec > 0 && size > 4095;
}

/* Decompress in steps of random sizes. */
static int unpack_in_steps(uint32_t id, struct span packed, uint8_t *out, size_t size,
			   uint32_t *random, size_t *steps_out)
{
	auto_decoder struct decoder *decoder = NULL;
	int ret = dw_decoder_new(id, packed, out, size, &decoder, NULL);

	*steps_out = 0;
	if (ret < 0)
		return ret;
	assert_int_equal(dw_decoder_done(decoder), 0);
	do {
		size_t before = dw_decoder_done(decoder);
		size_t upto = before + next_random(random) % (size / 4 + 2);

		if (upto > size)
			upto = size;
		if ((ret = dw_decoder_run(decoder, upto, NULL)) < 0) {
			assert_int_equal(dw_decoder_run(decoder, size, NULL),
					 DWARFS_ERR_CORRUPT);
			return ret;
		}
		assert_true(dw_decoder_done(decoder) >= upto);
		assert_true(dw_decoder_done(decoder) >= before);
		assert_true(dw_decoder_done(decoder) <= size);
		assert_true(dw_decoder_memory(decoder, before) <=
			    dw_decoder_memory(decoder, size));
		++*steps_out;
	} while (dw_decoder_done(decoder) < size);
	return 0;
}

static void steps_give_the_same(void **state)
{
	auto_buffer struct buffer packed = { 0 };
	const size_t count = sizeof(sizes) / sizeof(sizes[0]);
	const size_t used = is_under_valgrind() ? count - 2 : count;
	uint32_t random = 4711;

	for (size_t c = 0; c < sizeof(codecs) / sizeof(codecs[0]); c++) {
		for (size_t i = 0; i < used; i++) {
			for (int kind = 0; kind < KIND_COUNT; kind++) {
				auto_free uint8_t *data = exactly(sizes[i]);
				auto_free uint8_t *out = exactly(sizes[i]);
				struct span in = { data, sizes[i] };
				uint32_t id;
				size_t steps;

				if (is_slow_copy(c, kind, sizes[i]))
					continue;
				fill(data, sizes[i], kind);
				if (!pack(codecs[c], in, &packed, &id))
					continue;
				assert_int_equal(
					unpack_in_steps(id, dw_buffer_span(&packed), out,
							in.size, &random, &steps),
					0);
				assert_memory_equal(out, data, in.size);
			}
		}
	}
}

/* A small part of a large block takes a small part of the work. */
static void a_prefix_is_enough(void **state)
{
	static const char *const names[] = { "zstd:level=3", "lzma:level=1",
					     "brotli:quality=5", "lz4" };
	auto_free uint8_t *data = exactly(LARGE), *out = exactly(LARGE);
	auto_buffer struct buffer packed = { 0 };
	struct span in = { data, LARGE };

	fill(data, LARGE, KIND_TEXT);
	for (size_t c = 0; c < sizeof(names) / sizeof(names[0]); c++) {
		auto_decoder struct decoder *decoder = NULL;
		uint32_t id;

		if (!pack(names[c], in, &packed, &id))
			continue;
		memset(out, 0xaa, LARGE);
		assert_int_equal(dw_decoder_new(id, dw_buffer_span(&packed), out, LARGE,
						&decoder, NULL),
				 0);
		assert_int_equal(dw_decoder_run(decoder, 1000, NULL), 0);
		assert_true(dw_decoder_done(decoder) >= 1000);
		assert_true(dw_decoder_done(decoder) <= 1000 + (128 << 10));
		assert_memory_equal(out, data, dw_decoder_done(decoder));
		assert_int_equal(out[LARGE - 1], 0xaa);
	}
}

/* Other threads read decompressed bytes during the next steps, which do not write them
 * again. */
static void what_is_done_is_left_alone(void **state)
{
	const size_t large = is_under_valgrind() ? LARGE / 8 : LARGE / 3;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	auto_free uint8_t *data = exactly(large);
	auto_buffer struct buffer packed = { 0 };
	struct span in = { data, large };
	uint32_t random = 17, id;

	for (size_t c = 0; c < sizeof(codecs) / sizeof(codecs[0]); c++) {
		for (int kind = 0; kind < KIND_COUNT; kind++) {
			auto_decoder struct decoder *decoder = NULL;
			uint8_t *out;

			if (is_slow_copy(c, kind, large))
				continue;
			out = mmap(NULL, large, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			assert_true(out != MAP_FAILED);
			fill(data, large, kind);
			if (!pack(codecs[c], in, &packed, &id)) {
				munmap(out, large);
				continue;
			}
			assert_int_equal(dw_decoder_new(id, dw_buffer_span(&packed), out,
							large, &decoder, NULL),
					 0);
			for (size_t upto = 0; upto < large;) {
				size_t done = dw_decoder_done(decoder);

				if (done >= page) /* no effect in emulators */
					assert_int_equal(mprotect(out, done / page * page,
								  PROT_READ),
							 0);
				upto = done + 1 + next_random(&random) % 200000;
				upto = upto < large ? upto : large;
				assert_int_equal(dw_decoder_run(decoder, upto, NULL), 0);
			}
			assert_memory_equal(out, data, large);
			munmap(out, large);
		}
	}
}

/* Both functions accept the same payloads, and neither accesses bytes outside the
 * buffers. */
static void damage_is_found(void **state)
{
	const size_t full = is_under_valgrind() ? 180000 : 300000;
	auto_free uint8_t *data = exactly(full);
	auto_buffer struct buffer packed = { 0 };
	struct span in = { data, full };
	uint32_t random = 99;

	fill(data, full, KIND_TEXT);
	for (size_t c = 0; c < sizeof(codecs) / sizeof(codecs[0]); c++) {
		uint32_t id;

		if (!pack(codecs[c], in, &packed, &id) || id == CODEC_NONE)
			continue;
		for (int round = 0; round < 60; round++) {
			auto_free uint8_t *bad = copy_of(packed.data, packed.size);
			auto_free uint8_t *out = exactly(full), *other = exactly(full);
			size_t size = packed.size, steps;
			int at_once, stepwise;

			if (round % 3 == 0)
				size = next_random(&random) % packed.size;
			else
				bad[next_random(&random) % packed.size] ^=
					(uint8_t)(1u << next_random(&random) % 8);
			at_once = dw_codec_unpack(id, (struct span){ bad, size }, out,
						  full, NULL);
			stepwise = unpack_in_steps(id, (struct span){ bad, size }, other,
						   full, &random, &steps);
			assert_int_equal(at_once < 0, stepwise < 0);
			if (at_once == 0)
				assert_memory_equal(out, other, full);
		}
		/* And a wrong size of the block. */
		for (int wrong = -1; wrong <= 1; wrong += 2) {
			auto_free uint8_t *out = exactly(full + (size_t)wrong);
			size_t steps;

			assert_true(unpack_in_steps(id, dw_buffer_span(&packed), out,
						    full + (size_t)wrong, &random,
						    &steps) < 0);
		}
	}
}

#if HAVE_ZSTD
/* Frames as by other writers: with a checksum, followed by frames without contents. */
static void other_frames(void **state)
{
	static const uint8_t skippable[] = {
		0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3
	};
	auto_free uint8_t *data = exactly(LARGE), *out = exactly(LARGE);
	size_t room = ZSTD_compressBound(LARGE), size, steps;
	auto_free uint8_t *frame = exactly(room + sizeof(skippable));
	ZSTD_CCtx *context = ZSTD_createCCtx();
	uint32_t random = 5;

	fill(data, LARGE, KIND_TEXT);
	memset(data + LARGE / 2, 7, LARGE / 4); /* blocks that are runs */
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	size = ZSTD_compress2(context, frame, room, data, LARGE);
	ZSTD_freeCCtx(context);
	assert_int_equal(unpack_in_steps(CODEC_ZSTD, (struct span){ frame, size }, out,
					 LARGE, &random, &steps),
			 0);
	assert_memory_equal(out, data, LARGE);
	memcpy(frame + size, skippable, sizeof(skippable));
	assert_int_equal(unpack_in_steps(CODEC_ZSTD,
					 (struct span){ frame, size + sizeof(skippable) },
					 out, LARGE, &random, &steps),
			 0);
	/* Truncation at the end is detected, too. */
	for (size_t less = 1; less < 12; less++)
		assert_true(
			unpack_in_steps(
				CODEC_ZSTD,
				(struct span){ frame, size + sizeof(skippable) - less },
				out, LARGE, &random, &steps) < 0 ||
			less == sizeof(skippable));
	frame[size - 1] ^= 1; /* the checksum */
	assert_true(unpack_in_steps(CODEC_ZSTD, (struct span){ frame, size }, out, LARGE,
				    &random, &steps) < 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_give_the_same),
		cmocka_unit_test(a_prefix_is_enough),
		cmocka_unit_test(what_is_done_is_left_alone),
		cmocka_unit_test(damage_is_found),
#if HAVE_ZSTD
		cmocka_unit_test(other_frames),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
