/* SPDX-License-Identifier: MIT */
/*
 * codec: each allocation in turn fails, also in libraries; the result is always
 * DWARFS_ERR_NOMEM, never a crash, an exit or another error.
 */
#include "support/codec_data.h"

#include <stdio.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

/* How many allocations succeed before all fail; negative: all succeed. */
static long allowed = -1;

static bool refuses(void)
{
	if (allowed > 0)
		allowed--;
	else if (allowed == 0)
		return true;
	return false;
}

void *malloc(size_t size)
{
	return refuses() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return refuses() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return refuses() ? NULL : __libc_realloc(memory, size);
}

enum { SIZE = 8000, MOST = 10000 };

/* Bytes as 16-bit stereo audio, or as the lines of two images. */
static const struct codec_samples samples = {
	.is_known = true, .bytes_per_sample = 2, .bits_per_sample = 16, .channels = 2
};

static int pack(const struct codec_spec *spec, struct span in, struct buffer *out,
		uint32_t *id, dwarfs_error **err)
{
	auto_codec struct codec *codec = NULL;
	int ret = dw_codec_new(spec, in.size, &codec, err);

	return ret < 0 ? ret : dw_codec_pack(codec, in, out, id, err);
}

static void check_unpacking(uint32_t id, struct span packed, uint8_t *out)
{
	int ret = DWARFS_ERR_NOMEM;

	for (long count = 0; ret != 0; count++) {
		dwarfs_error *err = NULL;
		uint64_t size;

		assert_true(count < MOST);
		allowed = count;
		ret = dw_codec_unpack(id, packed, out, SIZE, &err);
		if (ret == 0)
			ret = dw_codec_unpacked_size(id, packed, &size, &err);
		allowed = -1;
		assert_true(ret == 0 || ret == DWARFS_ERR_NOMEM);
		assert_int_equal(dwarfs_error_code(err), ret);
		dwarfs_error_free(err);
	}
}

static int unpack_parts(uint32_t id, struct span packed, uint8_t *out, size_t *count_out,
			dwarfs_error **err)
{
	auto_free struct codec_part *parts = NULL;
	int ret = dw_codec_parts(id, packed, &parts, count_out, err);

	for (size_t i = 0; ret == 0 && i < *count_out; i++) {
		auto_decoder struct decoder *decoder = NULL;

		ret = dw_decoder_new_part(id, packed, &parts[i], out + parts[i].from,
					  &decoder, err);
		if (ret == 0)
			ret = dw_decoder_run(decoder, (size_t)parts[i].size, err);
	}
	return ret;
}

static void check_parts(uint32_t id, struct span packed, uint8_t *out, bool has_parts)
{
	int ret = DWARFS_ERR_NOMEM;
	size_t parts = 0;

	for (long count = 0; ret != 0; count++) {
		dwarfs_error *err = NULL;

		assert_true(count < MOST);
		allowed = count;
		ret = unpack_parts(id, packed, out, &parts, &err);
		allowed = -1;
		assert_true(ret == 0 || ret == DWARFS_ERR_NOMEM);
		assert_int_equal(dwarfs_error_code(err), ret);
		dwarfs_error_free(err);
	}
	assert_int_equal(parts > 1, has_parts);
}

static void check_codec(const char *text, const uint8_t *data)
{
	struct span in = { data, SIZE };
	auto_free uint8_t *back = exactly(SIZE);
	struct codec_spec spec;
	int ret = dw_codec_parse(text, &spec, NULL);

	if (ret == DWARFS_ERR_UNSUPPORTED)
		return;
	assert_int_equal(ret, 0);
	spec.samples = samples;
	ret = DWARFS_ERR_NOMEM;
	for (long count = 0; ret != 0; count++) {
		auto_buffer struct buffer out = { 0 };
		dwarfs_error *err = NULL;
		uint32_t id = 0;

		assert_true(count < MOST);
		allowed = count;
		ret = pack(&spec, in, &out, &id, &err);
		allowed = -1;
		assert_true(ret == 0 || ret == DWARFS_ERR_NOMEM);
		assert_int_equal(dwarfs_error_code(err), ret);
		dwarfs_error_free(err);
		if (ret == 0) {
			check_unpacking(id, dw_buffer_span(&out), back);
			assert_memory_equal(back, data, SIZE);
			memset(back, 0, spec.part_log ? SIZE : 0);
			check_parts(id, dw_buffer_span(&out), back, spec.part_log != 0);
		}
	}
	assert_memory_equal(back, data, SIZE);
}

static void every_allocation_may_fail_with_samples(void **state)
{
	auto_free uint8_t *data = exactly(SIZE);

	for (unsigned i = 0; i < SIZE; i++)
		data[i] = i % 2 ? 0 : (uint8_t)(i % 400 / 4);
	check_codec("flac", data);
	check_codec("ricepp", data);
}

static void texts_of_samples_may_fail(void **state)
{
	int ret = DWARFS_ERR_NOMEM;

	for (long count = 0; ret != 0; count++) {
		auto_buffer struct buffer out = { 0 };

		assert_true(count < MOST);
		allowed = count;
		ret = dw_samples_to_json(&dw_samples_image, &samples, &out, NULL);
		allowed = -1;
		assert_true(ret == 0 || ret == DWARFS_ERR_NOMEM);
	}
}

static void every_allocation_may_fail(void **state)
{
	static const char *const each[] = { "lz4",
					    "lz4hc",
					    "zstd:1",
					    "zstd",
					    "lzma:1",
					    "lzma:1:binary=x86",
					    "lzma:1:block_size=12",
					    "brotli",
					    "brotli:quality=5" };
	auto_free uint8_t *data = exactly(SIZE);

	fill(data, SIZE, KIND_TEXT);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		check_codec(each[i], data);
}

/* Blocks that lzma adapts to have at least 256 KiB: only packing is done so often. */
static void every_allocation_of_adapting_may_fail(void **state)
{
	enum { ADAPTED = 256 << 10 };
	auto_free uint8_t *data = exactly(ADAPTED);
	struct codec_spec spec;
	int ret = dw_codec_parse("lzma:level=3:nice=128:adapt", &spec, NULL);

	(void)state;
	if (ret == DWARFS_ERR_UNSUPPORTED)
		skip();
	assert_int_equal(ret, 0);
	for (size_t i = 0; i < ADAPTED; i++)
		data[i] = (uint8_t)(i / 100 + i % 100);
	ret = DWARFS_ERR_NOMEM;
	for (long count = 0; ret != 0; count++) {
		auto_buffer struct buffer out = { 0 };
		dwarfs_error *err = NULL;
		uint32_t id = 0;

		assert_true(count < MOST);
		allowed = count;
		ret = pack(&spec, (struct span){ data, ADAPTED }, &out, &id, &err);
		allowed = -1;
		assert_true(ret == 0 || ret == DWARFS_ERR_NOMEM);
		assert_int_equal(dwarfs_error_code(err), ret);
		dwarfs_error_free(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_may_fail),
		cmocka_unit_test(every_allocation_of_adapting_may_fail),
		cmocka_unit_test(every_allocation_may_fail_with_samples),
		cmocka_unit_test(texts_of_samples_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("allocations can be made to fail with glibc only, and not under sanitizers");
	return 77;
}

#endif
