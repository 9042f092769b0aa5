/* SPDX-License-Identifier: MIT */
/*
 * codec/parts: the Blocks of an .xz stream, decoded in any order and by several threads,
 * give the same result as the whole; and the index is not trusted.
 */
#include "support/codec_data.h"
#include "support/effort.h"

#include <pthread.h>
#include <stdio.h>

#include "config.h"

#if HAVE_LZMA

#include <lzma.h>

#include "base/bytes.h"

enum { SIZE = 300000, PART_LOG = 16, PART = 1 << PART_LOG, COUNT = 5 };

static const char *const codecs[] = {
	"lzma:1:block_size=16",
	"lzma:level=6:block_size=16:check=none",
	"lzma:1:block_size=16:binary=x86:check=crc32",
};

/* A payload, its contents, and the parts according to its index. */
struct fixture {
	struct buffer packed;
	uint8_t data[SIZE];
	struct codec_part *parts;
	size_t count;
};

static void find_parts(struct fixture *fixture)
{
	dw_free(fixture->parts);
	assert_int_equal(dw_codec_parts(CODEC_LZMA, dw_buffer_span(&fixture->packed),
					&fixture->parts, &fixture->count, NULL),
			 0);
	assert_int_equal(fixture->count > 0, fixture->parts != NULL);
}

static void pack_as(struct fixture *fixture, const char *text, enum kind kind,
		    size_t size)
{
	auto_codec struct codec *codec = NULL;
	struct codec_spec spec;
	uint32_t id;

	fill(fixture->data, SIZE, kind);
	fixture->packed.size = 0;
	assert_int_equal(dw_codec_parse(text, &spec, NULL), 0);
	assert_int_equal(dw_codec_new(&spec, SIZE, &codec, NULL), 0);
	assert_int_equal(dw_codec_pack(codec, (struct span){ fixture->data, size },
				       &fixture->packed, &id, NULL),
			 0);
	assert_int_equal(id, CODEC_LZMA);
	find_parts(fixture);
}

static int open_fixture(void **state)
{
	*state = dw_calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int close_fixture(void **state)
{
	struct fixture *fixture = *state;

	dw_buffer_free(&fixture->packed);
	dw_free(fixture->parts);
	dw_free(fixture);
	return 0;
}

/* -- valid streams ------------------------------------------------------------------- */

/* One part at its offset, in steps, from a buffer that ends with the part. */
static int unpack_part(struct span in, const struct codec_part *part, uint8_t *out,
		       size_t step)
{
	auto_decoder struct decoder *decoder = NULL;
	int ret = dw_decoder_new_part(CODEC_LZMA, in, part, out + part->from, &decoder,
				      NULL);

	for (size_t upto = 0; ret == 0 && upto < part->size;) {
		upto = part->size - upto < step ? (size_t)part->size : upto + step;
		ret = dw_decoder_run(decoder, upto, NULL);
		if (ret < 0)
			assert_true(dw_decoder_run(decoder, upto, NULL) < 0);
		else
			assert_in_range(dw_decoder_done(decoder), upto, part->size);
	}
	return ret;
}

static void parts_cover_the_whole(void **state)
{
	struct fixture *fixture = *state;

	for (size_t c = 0; c < sizeof(codecs) / sizeof(codecs[0]); c++) {
		uint64_t stored = LZMA_STREAM_HEADER_SIZE, from = 0;

		pack_as(fixture, codecs[c], KIND_TEXT, SIZE);
		assert_int_equal(fixture->count, COUNT);
		for (size_t i = 0; i < COUNT; i++) {
			const struct codec_part *part = &fixture->parts[i];

			assert_int_equal(part->stored_from, stored);
			assert_int_equal(part->from, from);
			assert_int_equal(part->size, i + 1 < COUNT ? PART : SIZE % PART);
			stored += (part->stored_size + 3) / 4 * 4;
			from += part->size;
		}
		assert_int_equal(from, SIZE);
		assert_true(stored < fixture->packed.size);
	}
}

static void any_order_gives_the_same(void **state)
{
	static const size_t steps[] = { SIZE, 1000, 77777 };
	struct fixture *fixture = *state;
	auto_free uint8_t *out = exactly(SIZE);

	for (size_t c = 0; c < sizeof(codecs) / sizeof(codecs[0]); c++) {
		for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
			if (s < 2)
				pack_as(fixture, codecs[c], s ? KIND_TEXT : KIND_RUNS,
					SIZE);
			memset(out, 0xaa, SIZE);
			/* 2 0 3 1 4 */
			for (size_t i = 0, next = 2; i < COUNT; i++, next += 3) {
				const struct codec_part *part =
					&fixture->parts[next % COUNT];
				size_t stored = (size_t)(part->stored_from +
							 part->stored_size + 3) /
						4 * 4;
				auto_free uint8_t *in =
					copy_of(fixture->packed.data, stored);

				assert_int_equal(unpack_part((struct span){ in, stored },
							     part, out, steps[s]),
						 0);
			}
			assert_memory_equal(out, fixture->data, SIZE);
		}
	}
}

struct job {
	pthread_t thread;
	struct span in;
	const struct codec_part *part;
	uint8_t *out;
	int ret;
};

static void *run_job(void *argument)
{
	struct job *job = argument;

	job->ret = unpack_part(job->in, job->part, job->out, 5000);
	return NULL;
}

static void threads_do_not_meet(void **state)
{
	struct fixture *fixture = *state;
	auto_free uint8_t *out = exactly(SIZE);
	struct job jobs[COUNT];

	pack_as(fixture, codecs[0], KIND_TEXT, SIZE);
	for (size_t i = 0; i < COUNT; i++) {
		jobs[i] = (struct job){ .in = dw_buffer_span(&fixture->packed),
					.part = &fixture->parts[i],
					.out = out };
		assert_int_equal(pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]),
				 0);
	}
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(pthread_join(jobs[i].thread, NULL), 0);
		assert_int_equal(jobs[i].ret, 0);
	}
	assert_memory_equal(out, fixture->data, SIZE);
}

/* It is decompressed directly to its offset, without a window. */
static void a_part_takes_little(void **state)
{
	struct fixture *fixture = *state;
	auto_decoder struct decoder *decoder = NULL;
	auto_free uint8_t *out = exactly(PART);
	uint64_t before;

	pack_as(fixture, "lzma:9:block_size=16", KIND_TEXT, SIZE);
	assert_int_equal(dw_decoder_new_part(CODEC_LZMA, dw_buffer_span(&fixture->packed),
					     &fixture->parts[1], out, &decoder, NULL),
			 0);
	before = dw_decoder_memory(decoder, 0);
	assert_int_equal(dw_decoder_memory(decoder, PART), before);
	assert_int_equal(dw_decoder_run(decoder, PART, NULL), 0);
	assert_int_equal(dw_decoder_memory(decoder, PART), before);
}

static void small_parts_pack_in_little_memory(void **state)
{
	struct codec_spec whole, parts;

	assert_int_equal(dw_codec_parse("lzma:9", &whole, NULL), 0);
	assert_int_equal(dw_codec_parse("lzma:9:block_size=20", &parts, NULL), 0);
	assert_true(dw_codec_memory(&parts, 64 << 20) <
		    dw_codec_memory(&whole, 64 << 20) / 20);
}

static void what_is_in_one_piece_has_no_parts(void **state)
{
	static const char *const others[] = { "zstd:1", "lz4", "brotli:1", "null" };
	struct fixture *fixture = *state;
	auto_free uint8_t *plain = NULL;
	size_t size;

	pack_as(fixture, "lzma:1:dict_size=16", KIND_TEXT, PART);
	assert_int_equal(fixture->count, 0);
	size = fixture->packed.size;
	plain = copy_of(fixture->packed.data, size);
	/* Contents of at most one part are encoded as without parts. */
	pack_as(fixture, "lzma:1:block_size=16", KIND_TEXT, PART);
	assert_int_equal(fixture->count, 0);
	assert_int_equal(fixture->packed.size, size);
	assert_memory_equal(fixture->packed.data, plain, size);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct codec_part *parts = fixture->parts;
		struct codec_spec spec;
		size_t count = 99;

		if (dw_codec_parse(others[i], &spec, NULL) < 0)
			continue;
		assert_int_equal(dw_codec_parts(spec.id, dw_buffer_span(&fixture->packed),
						&parts, &count, NULL),
				 0);
		assert_int_equal(count, 0);
		assert_null(parts);
	}
}

/* -- damaged streams ----------------------------------------------------------------- */

/*
 * Decompress both ways, from a buffer of exactly this size. If there are parts, either
 * both ways succeed with the same result, or both fail. Returns the number of valid
 * parts.
 */
static size_t compare_ways(struct span bad, size_t size)
{
	auto_free uint8_t *in = copy_of(bad.data, bad.size);
	auto_free uint8_t *whole = exactly(size), *out = exactly(size);
	auto_free struct codec_part *parts = NULL;
	size_t count, good = 0;
	uint64_t announced, end = 0;
	int ret;

	bad.data = in;
	ret = dw_codec_unpack(CODEC_LZMA, bad, whole, size, NULL);
	assert_int_equal(dw_codec_parts(CODEC_LZMA, bad, &parts, &count, NULL), 0);
	if (count == 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(parts[i].from, end);
		assert_true(parts[i].size > 0);
		end += parts[i].size;
	}
	assert_int_equal(dw_codec_unpacked_size(CODEC_LZMA, bad, &announced, NULL), 0);
	assert_int_equal(announced, end);
	if (end != size)
		return 0;
	for (size_t i = 0; i < count; i++)
		good += unpack_part(bad, &parts[i], out, size) == 0;
	assert_int_equal(good == count, ret == 0);
	if (ret == 0)
		assert_memory_equal(out, whole, size);
	return good;
}

static void damage_is_the_same_both_ways(void **state)
{
	static const char *const each[] = { "lzma:1:block_size=12",
					    "lzma:1:block_size=12:check=none" };
	enum { SMALL = 3 * 4096 + 100 };
	struct fixture *fixture = *state;
	/* Which bits and lengths: each 7th bit is another one of its byte, too. */
	const size_t bit_step = is_under_valgrind() ? 7 : 3;
	const size_t length_step = is_under_valgrind() ? 2 : 1;
	const int rounds = is_under_valgrind() ? 300 : 500;
	uint32_t random = 31;

	for (size_t c = 0; c < 2; c++) {
		struct span in;

		pack_as(fixture, each[c], KIND_TEXT, SMALL);
		in = dw_buffer_span(&fixture->packed);
		assert_int_equal(compare_ways(in, SMALL), 4);
		for (size_t bit = 0; bit < 8 * in.size; bit += bit_step) {
			fixture->packed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			compare_ways(in, SMALL);
			fixture->packed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		for (size_t size = 0; size < in.size; size += length_step)
			assert_int_equal(
				compare_ways((struct span){ in.data, size }, SMALL), 0);
		for (int round = 0; round < rounds; round++) {
			auto_free uint8_t *bad = copy_of(in.data, in.size);

			for (int i = 0; i < 3; i++)
				bad[next_random(&random) % in.size] =
					(uint8_t)next_random(&random);
			compare_ways((struct span){ bad, in.size }, SMALL);
		}
	}
}

static void damage_stays_in_its_part(void **state)
{
	struct fixture *fixture = *state;
	auto_free uint8_t *out = exactly(SIZE);
	struct span in;

	pack_as(fixture, codecs[0], KIND_TEXT, SIZE);
	in = dw_buffer_span(&fixture->packed);
	fixture->packed.data[fixture->parts[2].stored_from + 5000] ^= 1;
	for (size_t i = 0; i < COUNT; i++) {
		const struct codec_part *part = &fixture->parts[i];
		int ret = unpack_part(in, part, out, SIZE);

		assert_int_equal(ret, i == 2 ? DWARFS_ERR_CORRUPT : 0);
		if (i != 2)
			assert_memory_equal(out + part->from, fixture->data + part->from,
					    part->size);
	}
}

/* A part that does not belong to this payload, as when a file changes while it is
 * open. */
static void parts_of_another_payload(void **state)
{
	struct fixture *fixture = *state;
	auto_free uint8_t *out = exactly(2 * SIZE);
	struct codec_part part;
	struct span in;

	pack_as(fixture, codecs[0], KIND_TEXT, SIZE);
	in = dw_buffer_span(&fixture->packed);
	for (size_t size = 0; size < in.size; size += 97) {
		auto_free uint8_t *cut = copy_of(in.data, size);
		const struct codec_part *last = &fixture->parts[COUNT - 1];

		if (size < (last->stored_from + last->stored_size + 3) / 4 * 4)
			assert_int_equal(
				unpack_part((struct span){ cut, size }, last, out, SIZE),
				DWARFS_ERR_CORRUPT);
	}
	for (int what = 0; what < 7; what++) {
		part = fixture->parts[1];
		part.stored_from += what == 0 ? 4 : what == 1 ? in.size : 0;
		part.stored_from = what == 2 ? UINT64_MAX - 8 : part.stored_from;
		part.stored_size += what == 3 ? 4 : 0;
		part.stored_size = what == 4 ? UINT64_MAX - 1 : part.stored_size;
		part.stored_size = what == 5 ? 0 : part.stored_size;
		part.size += what == 6 ? 1 : 0;
		assert_int_equal(unpack_part(in, &part, out, SIZE), DWARFS_ERR_CORRUPT);
	}
}

/* -- streams by other writers -------------------------------------------------------- */

/* The components of a stream, and its defects. */
struct recipe {
	size_t sizes[4]; /* of the Blocks; up to count */
	size_t count;
	bool with_sizes; /* before the Blocks */
	int64_t lie;	 /* added to the first size in the index, taken from the second */
	int64_t stored_lie;
	lzma_check other_check; /* in the footer, if not 0 */
};

static void add_block(struct buffer *out, struct span in, bool with_sizes,
		      lzma_vli *unpadded_out)
{
	lzma_options_lzma options;
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options },
				  { LZMA_VLI_UNKNOWN, NULL } };
	lzma_block block = { .version = 1,
			     .check = LZMA_CHECK_CRC64,
			     .filters = filters,
			     .compressed_size = LZMA_VLI_UNKNOWN,
			     .uncompressed_size = LZMA_VLI_UNKNOWN };
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t room = in.size + 1000;

	assert_false(lzma_lzma_preset(&options, 1));
	if (with_sizes)
		block.compressed_size = block.uncompressed_size = room;
	assert_int_equal(lzma_block_header_size(&block), LZMA_OK);
	assert_int_equal(dw_buffer_reserve(out, out->size + room + 1000, NULL), 0);
	assert_int_equal(lzma_block_encoder(&stream, &block), LZMA_OK);
	stream.next_in = in.data;
	stream.avail_in = in.size;
	stream.next_out = out->data + out->size + block.header_size;
	stream.avail_out = room;
	assert_int_equal(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
	*unpadded_out = lzma_block_unpadded_size(&block);
	if (!with_sizes)
		block.compressed_size = block.uncompressed_size = LZMA_VLI_UNKNOWN;
	assert_int_equal(lzma_block_header_encode(&block, out->data + out->size),
			 LZMA_OK);
	out->size += block.header_size + room - stream.avail_out;
	lzma_end(&stream);
}

static void add_stream(struct buffer *out, const uint8_t *data,
		       const struct recipe *recipe)
{
	lzma_stream_flags flags = { .check = LZMA_CHECK_CRC64 };
	lzma_index *index = lzma_index_init(NULL);

	assert_int_equal(dw_buffer_reserve(out, out->size + 100, NULL), 0);
	assert_int_equal(lzma_stream_header_encode(&flags, out->data + out->size),
			 LZMA_OK);
	out->size += LZMA_STREAM_HEADER_SIZE;
	for (size_t i = 0; i < recipe->count; i++) {
		int64_t sign = i == 0 ? 1 : i == 1 ? -1 : 0;
		lzma_vli unpadded;

		add_block(out, (struct span){ data, recipe->sizes[i] },
			  recipe->with_sizes, &unpadded);
		assert_int_equal(
			lzma_index_append(
				index, NULL,
				unpadded + (lzma_vli)(sign * recipe->stored_lie),
				recipe->sizes[i] + (lzma_vli)(sign * recipe->lie)),
			LZMA_OK);
		data += recipe->sizes[i];
	}
	assert_int_equal(dw_buffer_reserve(out, out->size + 1000, NULL), 0);
	assert_int_equal(
		lzma_index_buffer_encode(index, out->data, &out->size, out->capacity),
		LZMA_OK);
	flags.backward_size = lzma_index_size(index);
	if (recipe->other_check)
		flags.check = recipe->other_check;
	assert_int_equal(lzma_stream_footer_encode(&flags, out->data + out->size),
			 LZMA_OK);
	out->size += LZMA_STREAM_HEADER_SIZE;
	lzma_index_end(index, NULL);
}

static size_t parts_of(struct fixture *fixture, const struct recipe *recipe, size_t size)
{
	fixture->packed.size = 0;
	add_stream(&fixture->packed, fixture->data, recipe);
	find_parts(fixture);
	compare_ways(dw_buffer_span(&fixture->packed), size);
	return fixture->count;
}

static void streams_of_others(void **state)
{
	struct recipe recipe = { .sizes = { 5000, 70000, 1 }, .count = 3 };
	struct fixture *fixture = *state;
	auto_free uint8_t *out = exactly(SIZE);

	fill(fixture->data, SIZE, KIND_TEXT);
	/* Sizes in the index only, or in both headers and index. */
	for (int i = 0; i < 2; i++) {
		recipe.with_sizes = i;
		assert_int_equal(parts_of(fixture, &recipe, 75001), 3);
		for (size_t k = 3; k-- > 0;)
			assert_int_equal(unpack_part(dw_buffer_span(&fixture->packed),
						     &fixture->parts[k], out, 999),
					 0);
		assert_memory_equal(out, fixture->data, 75001);
	}
}

static void an_index_that_lies(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture->data, SIZE, KIND_TEXT);
	for (int i = 0; i < 8; i++) {
		struct recipe recipe = { .sizes = { 50000, 60000 },
					 .count = 2,
					 .with_sizes = i % 2,
					 .lie = i < 4 ? (i < 2 ? 1 : -10000) : 0,
					 .stored_lie = i >= 4 ? (i < 6 ? 1 : 4) : 0 };

		assert_int_equal(parts_of(fixture, &recipe, 110000), 2);
		assert_true(compare_ways(dw_buffer_span(&fixture->packed), 110000) < 2);
	}
}

static void odd_streams_have_no_parts(void **state)
{
	struct recipe recipe = { .sizes = { 5000, 0, 7000 }, .count = 3 };
	struct fixture *fixture = *state;
	auto_free uint8_t *out = exactly(SIZE);
	struct buffer *packed = &fixture->packed;

	fill(fixture->data, SIZE, KIND_TEXT);
	/* An empty Block in between. */
	assert_int_equal(parts_of(fixture, &recipe, 12000), 0);
	assert_int_equal(
		dw_codec_unpack(CODEC_LZMA, dw_buffer_span(packed), out, 12000, NULL), 0);
	/* Two streams, or zeros at the end. */
	recipe = (struct recipe){ .sizes = { 5000, 7000 }, .count = 2 };
	assert_int_equal(parts_of(fixture, &recipe, 12000), 2);
	add_stream(packed, fixture->data, &recipe);
	find_parts(fixture);
	assert_int_equal(fixture->count, 0);
	assert_int_equal(
		dw_codec_unpack(CODEC_LZMA, dw_buffer_span(packed), out, 24000, NULL), 0);
	assert_memory_equal(out + 12000, fixture->data, 12000);
	assert_int_equal(parts_of(fixture, &recipe, 12000), 2);
	assert_int_equal(dw_buffer_append(packed, "\0\0\0", 4, NULL), 0);
	find_parts(fixture);
	assert_int_equal(fixture->count, 0);
	assert_int_equal(
		dw_codec_unpack(CODEC_LZMA, dw_buffer_span(packed), out, 12000, NULL), 0);
	/* Header and footer contradict each other. */
	recipe.other_check = LZMA_CHECK_CRC32;
	assert_int_equal(parts_of(fixture, &recipe, 12000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_cover_the_whole),
		cmocka_unit_test(any_order_gives_the_same),
		cmocka_unit_test(threads_do_not_meet),
		cmocka_unit_test(a_part_takes_little),
		cmocka_unit_test(small_parts_pack_in_little_memory),
		cmocka_unit_test(what_is_in_one_piece_has_no_parts),
		cmocka_unit_test(damage_is_the_same_both_ways),
		cmocka_unit_test(damage_stays_in_its_part),
		cmocka_unit_test(parts_of_another_payload),
		cmocka_unit_test(streams_of_others),
		cmocka_unit_test(an_index_that_lies),
		cmocka_unit_test(odd_streams_have_no_parts),
	};
	const struct CMUnitTest with_threads[] = {
		cmocka_unit_test(threads_do_not_meet),
	};

	if (IS_THREAD_SANITIZED)
		return cmocka_run_group_tests(with_threads, open_fixture, close_fixture);
	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}

#else

int main(void)
{
	puts("this library was built without lzma");
	return 77;
}

#endif
