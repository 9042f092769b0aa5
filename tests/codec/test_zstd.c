/* SPDX-License-Identifier: MIT */
/*
 * codec/zstd: compression in blocks gives the same result as at once with the same
 * parameters, and can be cancelled soon; a payload can be unpacked in pieces.
 */
#include "support/codec_data.h"
#include "support/effort.h"

#include <stdio.h>

#include "config.h"

#if HAVE_ZSTD

#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <zstd.h>

enum { SIZE = 1 << 19 };

static size_t pack(const char *text, struct span in, struct buffer *out)
{
	auto_codec struct codec *codec = NULL;
	struct codec_spec spec;
	uint32_t id;

	out->size = 0;
	assert_int_equal(dw_codec_parse(text, &spec, NULL), 0);
	assert_int_equal(dw_codec_new(&spec, in.size, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, in, out, &id, NULL), 0);
	return out->size;
}

struct setting {
	ZSTD_cParameter id;
	int value;
};

/* Compress in one call, with the same parameters, and compare. */
static void expect_same(const char *text, const struct setting *settings, struct span in)
{
	auto_buffer struct buffer out = { 0 };
	size_t room = ZSTD_compressBound(in.size), got;
	auto_free uint8_t *whole = exactly(room);
	ZSTD_CCtx *context = ZSTD_createCCtx();

	for (; settings->value; settings++)
		assert_false(ZSTD_isError(
			ZSTD_CCtx_setParameter(context, settings->id, settings->value)));
	got = ZSTD_compress2(context, whole, room, in.data, in.size);
	assert_false(ZSTD_isError(got));
	ZSTD_freeCCtx(context);
	assert_int_equal(pack(text, in, &out), got);
	assert_memory_equal(out.data, whole, got);
}

static void packing_is_the_same_as_at_once(void **state)
{
	static const struct setting fast[] = { { ZSTD_c_compressionLevel, 3 },
					       { ZSTD_c_windowLog, 19 },
					       { 0 } };
	static const struct setting high[] = { { ZSTD_c_compressionLevel, 19 },
					       { ZSTD_c_windowLog, 19 },
					       { ZSTD_c_chainLog, 17 },
					       { ZSTD_c_hashLog, 16 },
					       { 0 } };
	static const struct setting most[] = { { ZSTD_c_compressionLevel, 22 },
					       { ZSTD_c_windowLog, 18 },
					       { ZSTD_c_searchLog, 4 },
					       { ZSTD_c_minMatch, 4 },
					       { ZSTD_c_targetLength, 64 },
					       { ZSTD_c_strategy, 8 },
					       { 0 } };
	static const struct setting far[] = { { ZSTD_c_compressionLevel, 2 },
					      { ZSTD_c_windowLog, 19 },
					      { ZSTD_c_enableLongDistanceMatching, 1 },
					      { ZSTD_c_ldmHashLog, 13 },
					      { ZSTD_c_ldmMinMatch, 32 },
					      { ZSTD_c_ldmBucketSizeLog, 2 },
					      { ZSTD_c_ldmHashRateLog, 4 },
					      { 0 } };
	auto_free uint8_t *data = exactly(SIZE);

	for (int kind = 0; kind < KIND_COUNT; kind++) {
		struct span in = { data, SIZE - 54321 };

		if (kind == KIND_RANDOM || (kind != KIND_RUNS && is_under_valgrind()))
			continue;
		fill(data, SIZE, kind);
		expect_same("zstd:3", fast, in);
		expect_same("zstd:19:clog=17:hlog=16", high, in);
		expect_same("zstd:wlog=18:slog=4:mml=4:tlen=64:strat=8", most, in);
		expect_same("zstd:2:long:lhlog=13:lmml=32:lblog=2:lhrlog=4", far, in);
	}
}

/* Without an explicit window it covers the whole block: a copy costs almost no bytes. */
static void windows_reach_over_the_block(void **state)
{
	auto_free uint8_t *data = exactly(2 * SIZE);
	auto_buffer struct buffer out = { 0 };
	struct span in = { data, 2 * SIZE };

	fill(data, SIZE, KIND_RANDOM);
	memcpy(data + SIZE, data, SIZE);
	assert_true(pack("zstd:1", in, &out) < SIZE + SIZE / 50);
	assert_true(pack("zstd:1:wlog=21", in, &out) < SIZE + SIZE / 50);
	assert_true(pack("zstd:1:wlog=31", in, &out) < SIZE + SIZE / 50);
	/* Hence it is stored when the window is too small for the copy. */
	assert_int_equal(pack("zstd:1:wlog=19", in, &out), 0);
}

/* Directory entries: the same names in each directory, and numbers that grow. */
static void fill_records(uint8_t *data, size_t size)
{
	uint32_t number = 0;

	memset(data, 0, size); /* also what follows the last whole record */
	for (size_t i = 0; i + 5 <= size; i += 5) {
		size_t name = i / 5 % 700 * 7919 % 3001;

		number += i / 5 % 3 == 0 ? 24 : 1;
		data[i] = (uint8_t)name;
		data[i + 1] = (uint8_t)(name >> 8);
		data[i + 2] = (uint8_t)number;
		data[i + 3] = (uint8_t)(number >> 8);
		data[i + 4] = (uint8_t)(number >> 16);
	}
}

/* Of a small block the sample is all. A codec chooses for each block anew. */
static void adapt_gives_the_smaller_of_two(void **state)
{
	static const size_t sizes[] = { 2, 100, 60000, 256 << 10, 300000 };
	auto_free uint8_t *data = exactly(SIZE);
	auto_buffer struct buffer out = { 0 };
	auto_codec struct codec *codec = NULL;
	struct codec_spec spec;
	size_t differ = 0;

	assert_int_equal(
		dw_codec_parse("zstd:19:hlog=16:clog=16:slog=4:adapt", &spec, NULL), 0);
	assert_int_equal(dw_codec_new(&spec, SIZE, &codec, NULL), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int kind = is_under_valgrind() ? KIND_COUNT : 0; kind <= KIND_COUNT;
		     kind++) {
			struct span in = { data, sizes[i] };
			size_t three, four;
			uint32_t id;

			if (kind < KIND_COUNT && in.size > 256 << 10)
				continue;
			if (kind < KIND_COUNT)
				fill(data, in.size, kind);
			else
				fill_records(data, in.size);
			three = pack("zstd:19:wlog=20:hlog=16:clog=16:slog=4", in, &out);
			four = pack("zstd:19:wlog=20:hlog=16:clog=16:slog=4:mml=4", in,
				    &out);
			differ += three != four;
			out.size = 0;
			assert_int_equal(dw_codec_pack(codec, in, &out, &id, NULL), 0);
			if (in.size > 256 << 10)
				assert_true(out.size == three || out.size == four);
			else
				assert_int_equal(out.size, four < three ? four : three);
		}
	assert_true(differ > 0);
}

/* -- the switch --------------------------------------------------------------------- */

static atomic_bool stop;
static atomic_uint_fast64_t meter;

/* Not before packing has begun. */
static void throw_switch(int signal)
{
	(void)signal;
	if (atomic_load(&meter) > 0)
		atomic_store(&stop, true);
}

/* A signal interrupts the packing thread itself: another thread might not run until packing
 * ends, as under valgrind, which lets one thread run at a time. */
static void start_timer(long interval_us)
{
	struct itimerval timer = { { 0, interval_us }, { 0, interval_us } };
	struct sigaction action = { .sa_handler = throw_switch, .sa_flags = SA_RESTART };

	if (interval_us)
		assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* In the middle of a block; the next block is not affected. */
static void a_switch_ends_packing_midway(void **state)
{
	enum { LARGE = 1 << 20, NEXT = 200000 };
	auto_codec struct codec *codec = NULL;
	auto_buffer struct buffer out = { 0 }, other = { 0 };
	auto_free uint8_t *data = exactly(LARGE);
	struct codec_spec spec;
	uint32_t id;
	int ret;

	fill(data, LARGE, KIND_TEXT);
	assert_int_equal(dw_codec_parse("zstd:19", &spec, NULL), 0);
	assert_int_equal(dw_codec_new(&spec, LARGE, &codec, NULL), 0);
	dw_codec_set_stop(codec, &stop);
	dw_codec_set_meter(codec, &meter);
	start_timer(5000);
	ret = dw_codec_pack(codec, (struct span){ data, LARGE }, &out, &id, NULL);
	start_timer(0);
	assert_int_equal(ret, DWARFS_ERR_CANCELLED);
	assert_int_equal(out.size, 0);
	/* No effect of a signal that is delivered only now. */
	dw_codec_set_meter(codec, NULL);
	atomic_store(&meter, 0);
	atomic_store(&stop, false);
	assert_int_equal(
		dw_codec_pack(codec, (struct span){ data, NEXT }, &out, &id, NULL), 0);
	dw_codec_free(dw_steal(codec));
	assert_int_equal(dw_codec_new(&spec, LARGE, &codec, NULL), 0);
	assert_int_equal(
		dw_codec_pack(codec, (struct span){ data, NEXT }, &other, &id, NULL), 0);
	assert_int_equal(out.size, other.size);
	assert_memory_equal(out.data, other.data, out.size);
}

/* Unpack to this many bytes what is passed in pieces of one size. */
static int feed(struct span in, size_t piece_bytes, uint8_t *out, size_t size)
{
	auto_decoder struct decoder *decoder = NULL;
	struct span piece = in;
	int ret;

	assert_int_equal(dw_decoder_new_fed(CODEC_ZSTD, out, size, &decoder, NULL), 0);
	do {
		piece.size = in.size < piece_bytes ? in.size : piece_bytes;
		piece.data = in.data;
		in.data += piece.size;
		in.size -= piece.size;
		ret = dw_decoder_feed(decoder, piece, in.size == 0, NULL);
	} while (ret == 0 && in.size > 0);
	if (ret == 0)
		assert_int_equal(dw_decoder_done(decoder), size);
	else /* for ever */
		assert_int_equal(dw_decoder_feed(decoder, piece, true, NULL), ret);
	return ret;
}

static void pieces_of_any_size_are_unpacked(void **state)
{
	static const size_t sizes[] = { 1, 2, 1000, 65536, SIZE };
	auto_free uint8_t *data = exactly(SIZE), *out = exactly(SIZE);
	auto_buffer struct buffer packed = { 0 };
	struct span in;

	assert_true(dw_codec_can_be_fed(CODEC_ZSTD));
	assert_false(dw_codec_can_be_fed(CODEC_LZMA));
	assert_false(dw_codec_can_be_fed(77));
	fill_records(data, SIZE);
	pack("zstd:3", (struct span){ data, SIZE }, &packed);
	in = (struct span){ packed.data, packed.size };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memset(out, 0, SIZE);
		assert_int_equal(feed(in, sizes[i], out, SIZE), 0);
		assert_memory_equal(out, data, SIZE);
		/* More or fewer bytes than expected, and a payload that is cut off. */
		assert_int_equal(feed(in, sizes[i], out, SIZE - 1), DWARFS_ERR_CORRUPT);
		assert_int_equal(
			feed((struct span){ in.data, in.size - 1 }, sizes[i], out, SIZE),
			DWARFS_ERR_CORRUPT);
		assert_int_equal(feed((struct span){ in.data, 0 }, sizes[i], out, SIZE),
				 DWARFS_ERR_CORRUPT);
	}
}

static void two_frames_are_unpacked_as_at_once(void **state)
{
	auto_free uint8_t *data = exactly(2 * SIZE), *out = exactly(2 * SIZE);
	auto_buffer struct buffer packed = { 0 }, second = { 0 };

	fill_records(data, 2 * SIZE);
	pack("zstd:3", (struct span){ data, SIZE }, &packed);
	pack("zstd:1", (struct span){ data + SIZE, SIZE }, &second);
	assert_int_equal(dw_buffer_append(&packed, second.data, second.size, NULL), 0);
	for (size_t bytes = 100; bytes < SIZE; bytes *= 10) {
		const struct span in = { packed.data, packed.size };

		assert_int_equal(feed(in, bytes, out, 2 * SIZE), 0);
		assert_memory_equal(out, data, 2 * SIZE);
		assert_int_equal(feed(in, bytes, out, SIZE), DWARFS_ERR_CORRUPT);
	}
	assert_int_equal(dw_codec_unpack(CODEC_ZSTD,
					 (struct span){ packed.data, packed.size }, out,
					 2 * SIZE, NULL),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packing_is_the_same_as_at_once),
		cmocka_unit_test(windows_reach_over_the_block),
		cmocka_unit_test(adapt_gives_the_smaller_of_two),
		cmocka_unit_test(a_switch_ends_packing_midway),
		cmocka_unit_test(pieces_of_any_size_are_unpacked),
		cmocka_unit_test(two_frames_are_unpacked_as_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("this library was built without zstd");
	return 77;
}

#endif
