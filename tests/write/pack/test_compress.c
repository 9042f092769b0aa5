/* SPDX-License-Identifier: MIT */
/*
 * write/pack/compress: blocks become sections in their order, for any number of workers;
 * numbers, counts, and reuse of memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "codec/codec.h"
#include "write/pack/compress.h"
#include "write/builder.h"

#define BLOCK_BYTES 65536

struct lab {
	struct build_run run;
	struct build_options options;
	uint64_t counts[DW_COUNT_KINDS];
	struct category_total totals[2];
	struct section_writer sections;
	struct block_streams streams;
	struct compressor *compressor;
	struct buffer written;
	int fail_after; /* calls of the sink; negative: never */
};

static int append(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	struct lab *lab = user;

	if (lab->fail_after == 0)
		return dw_fail(err, DWARFS_ERR_IO, "the sink is full");
	lab->fail_after--;
	return dw_buffer_append(&lab->written, data, bytes, err);
}

static void begin(struct lab *lab, uint32_t workers)
{
	const struct budget budget = { .workers = workers, .waiting = 2 };

	*lab = (struct lab){ .fail_after = -1 };
	assert_int_equal(dw_context_use(NULL, &lab->run.context, NULL), 0);
	lab->run.options = &lab->options;
	lab->run.counts = lab->counts;
	lab->run.totals = lab->totals;
	lab->sections.run = &lab->run;
	dw_progress_start(&lab->run.progress, NULL);
	assert_int_equal(dwarfs_sink_new(append, NULL, lab, &lab->run.output, NULL), 0);
	assert_int_equal(dw_compressor_new(&lab->sections, &budget, &lab->streams,
					   &lab->compressor, NULL),
			 0);
}

static void end(struct lab *lab)
{
	dw_compressor_free(lab->compressor);
	dw_block_streams_free(&lab->streams);
	dw_section_writer_free(&lab->sections);
	dwarfs_sink_free(lab->run.output);
	dw_buffer_free(&lab->written);
	dwarfs_context_free(lab->run.context);
}

static void turn(struct lab *lab, uint32_t stream, uint32_t category, enum codec_id codec,
		 size_t block_bytes)
{
	const struct packing packing = { .codec = { .id = codec, .level = 1 } };

	assert_int_equal(dw_compressor_turn(lab->compressor, stream, category, &packing,
					    block_bytes, NULL),
			 0);
}

static struct block *open_block(struct lab *lab)
{
	struct block *block = NULL;

	assert_int_equal(dw_compressor_open(lab->compressor, &block, NULL), 0);
	assert_int_equal(block->size, 0);
	assert_int_equal(block->references, 1);
	return block;
}

/* Submit a block of one repeated byte. */
static int submit(struct lab *lab, uint8_t byte, size_t size, dwarfs_error **err)
{
	struct block *block = open_block(lab);

	memset(block->data, byte, size);
	block->size = size;
	block->input_bytes = 2 * size;
	return dw_compressor_close(lab->compressor, block, err);
}

/* Check the next section in the output: its number, and that it has these bytes. */
static void expect_block(const struct lab *lab, size_t *at, uint32_t number, uint8_t byte,
			 size_t size, bool is_smaller)
{
	static uint8_t out[BLOCK_BYTES];
	struct section_header header;
	struct span payload;

	assert_true(*at + DW_HEADER_BYTES <= lab->written.size);
	assert_true(dw_section_header_parse(lab->written.data + *at, &header));
	payload = (struct span){ lab->written.data + *at + DW_HEADER_BYTES,
				 (size_t)header.length };
	assert_int_equal(header.type, DWARFS_SECTION_BLOCK);
	assert_int_equal(header.number, number);
	assert_int_equal(payload.size < size, is_smaller);
	memset(out, ~byte, sizeof(out));
	assert_int_equal(dw_codec_unpack(header.compression, payload, out, size, NULL),
			 0);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(out[i], byte);
	*at += DW_HEADER_BYTES + payload.size;
}

static void blocks_are_written_in_order(void **state)
{
	static const uint32_t workers[] = { 0, 1, 3 };
	enum { BLOCKS = 20 };
	enum codec_id codec = dw_codec_can_pack(CODEC_ZSTD) ? CODEC_ZSTD : CODEC_NONE;

	for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++) {
		size_t at = 0, stored = 0;
		struct lab lab;

		begin(&lab, workers[w]);
		turn(&lab, 5, 0, CODEC_NONE, BLOCK_BYTES);
		for (uint8_t i = 0; i < BLOCKS; i++) {
			if (i == BLOCKS / 2)
				turn(&lab, 6, 1, codec, BLOCK_BYTES);
			assert_int_equal(submit(&lab, i, BLOCK_BYTES - i, NULL), 0);
			stored += BLOCK_BYTES - i;
		}
		assert_int_equal(dw_compressor_finish(lab.compressor, NULL), 0);
		assert_int_equal(dw_sink_commit(lab.run.output, NULL), 0);
		for (uint8_t i = 0; i < BLOCKS; i++) {
			expect_block(&lab, &at, i, i, BLOCK_BYTES - i,
				     i >= BLOCKS / 2 && codec != CODEC_NONE);
			assert_int_equal(lab.streams.list[i], i < BLOCKS / 2 ? 5 : 6);
		}
		assert_int_equal(at, lab.written.size);
		assert_int_equal(lab.streams.count, BLOCKS);
		assert_int_equal(lab.counts[DWARFS_COUNT_BLOCKS], BLOCKS);
		assert_int_equal(lab.counts[DWARFS_COUNT_BYTES_STORED], stored);
		assert_int_equal(lab.counts[DWARFS_COUNT_BYTES_BLOCKS],
				 at - BLOCKS * DW_HEADER_BYTES);
		assert_int_equal(lab.totals[0].stored + lab.totals[1].stored, stored);
		assert_int_equal(lab.totals[0].packed, lab.totals[0].stored);
		end(&lab);
	}
}

/* Also with codecs that are freed after each block. */
static void blocks_are_awaited(void **state)
{
	enum codec_id codec = dw_codec_can_pack(CODEC_ZSTD) ? CODEC_ZSTD : CODEC_NONE;
	size_t at = 0;
	struct lab lab;

	begin(&lab, 3);
	turn(&lab, 0, 0, codec, BLOCK_BYTES);
	dw_compressor_free_codecs(lab.compressor);
	for (uint8_t i = 0; i < 8; i++) {
		uint32_t most = i % 3, least = i + 1 - most;

		assert_int_equal(submit(&lab, i, BLOCK_BYTES, NULL), 0);
		assert_int_equal(dw_compressor_await_blocks(lab.compressor, most, NULL),
				 0);
		assert_in_range(lab.counts[DWARFS_COUNT_BLOCKS], least, i + 1);
	}
	assert_int_equal(dw_compressor_finish(lab.compressor, NULL), 0);
	assert_int_equal(dw_sink_commit(lab.run.output, NULL), 0);
	for (uint8_t i = 0; i < 8; i++)
		expect_block(&lab, &at, i, i, BLOCK_BYTES, codec != CODEC_NONE);
	end(&lab);
}

/* A block without bytes is not written, and its number is used for the next one. */
static void empty_blocks_are_not_written(void **state)
{
	struct lab lab;
	struct block *block;
	size_t at = 0;

	begin(&lab, 0);
	turn(&lab, 0, 0, CODEC_NONE, BLOCK_BYTES);
	assert_int_equal(submit(&lab, 1, 100, NULL), 0);
	block = open_block(&lab);
	assert_int_equal(block->number, 1);
	assert_int_equal(lab.streams.count, 2);
	assert_int_equal(dw_compressor_close(lab.compressor, block, NULL), 0);
	assert_int_equal(lab.streams.count, 1);
	assert_int_equal(submit(&lab, 2, 100, NULL), 0);
	assert_int_equal(dw_compressor_finish(lab.compressor, NULL), 0);
	assert_int_equal(dw_sink_commit(lab.run.output, NULL), 0);
	expect_block(&lab, &at, 0, 1, 100, false);
	expect_block(&lab, &at, 1, 2, 100, false);
	assert_int_equal(at, lab.written.size);
	end(&lab);
}

static void memory_is_reused_after_the_last_reference(void **state)
{
	struct lab lab;
	struct block *first, *next;

	begin(&lab, 0);
	turn(&lab, 0, 0, CODEC_NONE, BLOCK_BYTES);
	first = open_block(&lab);
	dw_block_reference(first);
	memset(first->data, 7, first->size = 10);
	assert_int_equal(dw_compressor_close(lab.compressor, first, NULL), 0);
	assert_int_equal(dw_compressor_finish(lab.compressor, NULL), 0);
	next = open_block(&lab);
	assert_ptr_not_equal(next, first);
	assert_int_equal(first->data[9], 7); /* still referenced */
	dw_block_release(lab.compressor, first);
	assert_ptr_equal(open_block(&lab), first);
	dw_block_release(lab.compressor, next);
	dw_block_release(lab.compressor, first);
	dw_block_release(lab.compressor, NULL);
	/* A stream with larger blocks does not use them. */
	turn(&lab, 1, 0, CODEC_NONE, 2 * BLOCK_BYTES);
	next = open_block(&lab);
	assert_int_equal(next->room, 2 * BLOCK_BYTES);
	dw_block_release(lab.compressor, next);
	/* One with smaller ones uses these. */
	turn(&lab, 2, 0, CODEC_NONE, 10);
	assert_ptr_equal(open_block(&lab), next);
	first = open_block(&lab);
	assert_int_equal(first->room, 10);
	dw_block_release(lab.compressor, next);
	dw_block_release(lab.compressor, first);
	end(&lab);
}

/* The share of a written block counts as done, that of a waiting one as announced. */
static void progress_counts_input_bytes(void **state)
{
	struct lab lab;

	begin(&lab, 0);
	turn(&lab, 0, 0, CODEC_NONE, BLOCK_BYTES);
	assert_int_equal(submit(&lab, 1, 1000, NULL), 0);
	assert_int_equal(submit(&lab, 2, 500, NULL), 0);
	assert_int_equal(dw_compressor_finish(lab.compressor, NULL), 0);
	lab.run.progress.refresh(&lab.run.progress, lab.run.progress.refresh_user);
	assert_int_equal(lab.run.progress.bytes_done, 3000);
	assert_int_equal(lab.run.progress.work_known, 1500);
	assert_int_equal(lab.run.progress.work_known_bytes, 3000);
	dw_compressor_free(lab.compressor);
	lab.compressor = NULL;
	assert_null(lab.run.progress.refresh);
	end(&lab);
}

static void a_failing_output_ends_the_run(void **state)
{
	static const uint32_t workers[] = { 0, 2 };

	for (size_t w = 0; w < 2; w++) {
		dwarfs_error *err = NULL;
		struct lab lab;
		int ret = 0;

		begin(&lab, workers[w]);
		lab.fail_after = 3;
		turn(&lab, 0, 0, CODEC_NONE, BLOCK_BYTES);
		for (uint8_t i = 0; i < 50 && ret == 0; i++)
			ret = submit(&lab, i, BLOCK_BYTES, &err);
		if (ret == 0)
			ret = dw_compressor_finish(lab.compressor, &err);
		assert_int_equal(ret, DWARFS_ERR_IO);
		assert_non_null(strstr(dwarfs_error_message(err), "the sink is full"));
		assert_true(lab.counts[DWARFS_COUNT_BLOCKS] < 50);
		dwarfs_error_free(err);
		end(&lab);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_written_in_order),
		cmocka_unit_test(blocks_are_awaited),
		cmocka_unit_test(empty_blocks_are_not_written),
		cmocka_unit_test(memory_is_reused_after_the_last_reference),
		cmocka_unit_test(progress_counts_input_bytes),
		cmocka_unit_test(a_failing_output_ends_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
