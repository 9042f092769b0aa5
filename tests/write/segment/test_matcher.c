/* SPDX-License-Identifier: MIT */
/*
 * write/segment/matcher: which stored bytes are found, and the work of the search.
 *
 * A store that keeps all it stored in one run of bytes, so that places are offsets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/entropy.h"
#include "write/segment/matcher.h"

#define MIB ((size_t)1 << 20)

struct store {
	struct matcher_options options;
	struct stored_window *history;
	struct matcher *matcher;
	struct block *blocks;
	size_t block_count, room;
	uint8_t *bytes;
	size_t size;
	uint64_t literals; /* since the last match */
	uint64_t matched, matches;
	uint64_t smallest; /* match */
};

static struct store *new_store(struct matcher_options options, size_t room)
{
	struct store *store = dw_calloc(1, sizeof(*store));

	assert_non_null(store);
	store->options = options;
	store->room = room / options.block_bytes + 2;
	store->bytes = dw_malloc(store->room * options.block_bytes);
	store->blocks = dw_calloc(store->room, sizeof(*store->blocks));
	store->smallest = UINT64_MAX;
	assert_true(store->bytes && store->blocks);
	assert_int_equal(dw_stored_window_new(NULL, NULL, NULL, NULL, options.block_bytes,
					      store->room * options.block_bytes,
					      &store->history, NULL),
			 0);
	assert_int_equal(dw_matcher_new(&options, store->history, &store->matcher, NULL),
			 0);
	return store;
}

static void free_store(struct store *store)
{
	dw_matcher_free(store->matcher);
	dw_stored_window_free(store->history);
	dw_free(store->blocks);
	dw_free(store->bytes);
	dw_free(store);
}

/* There is always a block with free space. */
static void open_block(struct store *store)
{
	size_t bytes = store->options.block_bytes;
	struct block *block;

	if (store->block_count > 0 && store->blocks[store->block_count - 1].size < bytes)
		return;
	assert_true(store->block_count < store->room);
	block = &store->blocks[store->block_count];
	*block = (struct block){
		.number = (uint32_t)store->block_count,
		.data = store->bytes + store->block_count * bytes,
		.room = bytes,
		.references = 1, /* so that it is never flushed */
	};
	store->block_count++;
	dw_stored_window_turn(store->history, block);
}

static void add_bytes(struct store *store, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		open_block(store);
		store->bytes[store->size++] = data[i];
		store->blocks[store->block_count - 1].size++;
		store->literals = store->size % store->options.block_bytes == 1
					  ? 1
					  : store->literals + 1;
	}
}

static void add_piece(struct store *store, const uint8_t *data, size_t size,
		      uint64_t offset)
{
	size_t done = 0, at;

	dw_matcher_begin(store->matcher, data, size, offset);
	while (dw_matcher_next(store->matcher, done, &at)) {
		struct match match;

		add_bytes(store, data + done, at - done);
		open_block(store);
		done = at;
		if (!dw_matcher_look(store->matcher, store->size, store->literals,
				     &match))
			continue;
		assert_true(match.back <= store->literals && match.back <= at);
		store->size -= match.back;
		store->blocks[store->block_count - 1].size -= match.back;
		store->literals = 0;
		done = at - match.back + match.size;
		assert_true(done <= size && match.size > 0);
		assert_true(match.place + match.size <= store->size);
		assert_memory_equal(store->bytes + match.place, data + at - match.back,
				    match.size);
		assert_int_equal((offset + at - match.back) % store->options.granularity,
				 0);
		store->matched += match.size;
		store->matches++;
		if (match.size < store->smallest)
			store->smallest = match.size;
	}
	add_bytes(store, data + done, size - done);
}

/* A separate file. */
static void add(struct store *store, const uint8_t *data, size_t size)
{
	store->literals = 0;
	for (size_t at = 0; at < size; at += MATCH_PIECE_BYTES)
		add_piece(store, data + at,
			  size - at < MATCH_PIECE_BYTES ? size - at : MATCH_PIECE_BYTES,
			  at);
}

static struct matcher_options usual(size_t block_bytes)
{
	return (struct matcher_options){
		.block_bytes = block_bytes,
		.granularity = 1,
		.far_minimum = 512,
		.near_minimum = 512,
		.shift = 7,
		.total_bytes = 8 * MIB,
		.index_bytes = 8 * MIB,
		.lookback = UINT32_MAX,
	};
}

static uint8_t *random_bytes(size_t size, uint32_t seed)
{
	uint8_t *data = dw_malloc(size);

	assert_non_null(data);
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525u + 1013904223u;
		data[i] = (uint8_t)(seed >> 24);
	}
	return data;
}

static void matches_are_found_at_any_shift(void **state)
{
	enum { SIZE = 20000, MOST = 70 };
	uint8_t *old = random_bytes(SIZE, 1), *other = random_bytes(SIZE + MOST, 2);

	(void)state;
	for (size_t shift = 0; shift <= MOST; shift++) {
		struct store *store = new_store(usual(MIB), MIB);

		memcpy(other + shift, old, SIZE);
		add(store, old, SIZE);
		assert_int_equal(store->matched, 0);
		add(store, other, SIZE + MOST);
		assert_int_equal(store->matched, SIZE); /* all bytes, either side */
		assert_int_equal(store->matches, 1);
		free_store(store);
	}
	dw_free(old);
	dw_free(other);
}

static void matches_go_across_pieces_and_blocks(void **state)
{
	size_t size = 2 * MIB + 77777;
	uint8_t *data = random_bytes(size, 3);
	struct store *store = new_store(usual(96 << 10), 6 * MIB);

	(void)state;
	add(store, data, size);
	assert_int_equal(store->matched, 0);
	add(store, data, size);
	/* At the ends of pieces some bytes may be missed, and short tails in the next
	 * block. */
	assert_true(store->matched > size - 30 * 600);
	assert_true(store->matches < 3 * (size / (96 << 10)) + 3);
	free_store(store);
	dw_free(data);
}

static void what_has_too_little_entropy_is_no_match(void **state)
{
	enum { SIZE = 20000 };
	struct matcher_options options = usual(MIB);
	uint8_t *data = random_bytes(SIZE, 6);
	struct store *store;

	(void)state;
	for (size_t i = 0; i < 2 * DW_ENTROPY_FEW; i++)
		data[i] = (uint8_t)(data[i] & 1); /* 128 bytes in 1024 */
	options.least_entropy = 120;
	store = new_store(options, MIB);
	add(store, data, SIZE);
	add(store, data + 100, 800); /* 100 bytes of entropy */
	assert_int_equal(store->matched, 0);
	add(store, data + 300, 1100); /* long */
	assert_int_equal(store->matched, 1100);
	add(store, data + 5000, 600); /* more than 500 */
	assert_int_equal(store->matched, 1700);
	free_store(store);
	dw_free(data);
}

static void what_is_too_short_is_no_match(void **state)
{
	struct matcher_options options = usual(64 << 10);
	uint8_t *data = random_bytes(200000, 4), *other;
	struct store *store;
	uint64_t before;

	(void)state;
	options.near_minimum = 4000;
	options.far_minimum = 1000;
	store = new_store(options, MIB);
	add(store, data, 150000); /* blocks 0 to 2 */
	other = random_bytes(8000, 5);
	memcpy(other + 1000, data + 10000, 900);
	add(store, other, 8000);
	assert_int_equal(store->matched, 0); /* far, too short */
	memcpy(other + 1000, data + 20000, 1500);
	add(store, other + 1000, 1500);
	assert_int_equal(store->matched, 1500); /* far */
	before = store->matched;
	add(store, data + 140000, 3000); /* near, too short */
	assert_int_equal(store->matched, before);
	add(store, data + 133000, 5000); /* near */
	assert_int_equal(store->matched, before + 5000);
	dw_free(other);
	free_store(store);
	dw_free(data);
}

static void frames_are_not_cut(void **state)
{
	struct matcher_options options = usual(60000);
	uint8_t *data = random_bytes(30000, 6), *other = random_bytes(40000, 7);
	struct store *store;

	(void)state;
	options.granularity = 6;
	store = new_store(options, MIB);
	add(store, data, 30000);
	memcpy(other + 3, data, 30000);
	add(store, other, 36000);
	assert_int_equal(store->matched, 0); /* same bytes, other frames */
	memcpy(other + 12, data, 30000);
	add(store, other, 36000);
	assert_true(store->matched >= 29988);
	assert_int_equal(store->matched % 6, 0);
	free_store(store);
	dw_free(data);
	dw_free(other);
}

static void blocks_beyond_the_lookback_are_left_alone(void **state)
{
	uint8_t *data = random_bytes(10000, 8), *rest = random_bytes(5 * 65536, 9);

	(void)state;
	for (uint32_t lookback = 1; lookback <= 8; lookback++) {
		struct matcher_options options = usual(65536);
		struct store *store;

		options.lookback = lookback;
		store = new_store(options, MIB);
		add(store, data, 10000);
		add(store, rest, 4 * 65536); /* now in block 4 */
		add(store, data, 10000);
		assert_int_equal(store->matched, lookback > 4 ? 10000 : 0);
		free_store(store);
	}
	dw_free(data);
	dw_free(rest);
}

/* Equal hashes do not suffice: here the stored bytes have changed. */
static void bytes_are_compared(void **state)
{
	uint8_t *data = random_bytes(10000, 10);
	struct store *store = new_store(usual(MIB), MIB);

	(void)state;
	add(store, data, 10000);
	for (size_t i = 0; i < 10000; i += 400)
		store->bytes[i] ^= 1;
	add(store, data, 10000);
	assert_int_equal(store->matched, 0);
	free_store(store);
	dw_free(data);
}

static void noted_bytes_are_found(void **state)
{
	uint8_t *data = random_bytes(10000, 11);
	struct store *store = new_store(usual(MIB), MIB);

	(void)state;
	open_block(store);
	dw_matcher_note(store->matcher, data, 10000, store->size);
	add_bytes(store, data, 10000);
	add(store, data, 10000);
	assert_int_equal(store->matched, 10000);
	free_store(store);
	dw_free(data);
}

/* -- work --------------------------------------------------------------------------- */

#define KINDS 10

static void fill(uint8_t *data, size_t size, int kind)
{
	static const uint8_t letters[] = "ACGT";
	uint8_t *common = random_bytes(300, 12), *noise = random_bytes(size, 13);

	for (size_t i = 0; i < size; i++) {
		uint8_t random = noise[i];

		switch (kind) {
		case 0:
			data[i] = 0;
			break;
		case 1:
			data[i] = 0xff;
			break;
		case 2:
			data[i] = i % 2 ? 0xff : 'G';
			break;
		case 3:
			data[i] = (uint8_t)(i % 7);
			break;
		case 4:
			data[i] = (uint8_t)(i % 251);
			break;
		case 5:
			data[i] = noise[i % 1000];
			break;
		case 6:
			data[i] = letters[random % 4];
			break;
		case 7:
			data[i] = random % 2;
			break;
		/* Equal anchors whose surroundings differ. */
		case 8:
			data[i] = i % 512 < 300 ? common[i % 512] : random;
			break;
		/* Equal runs with occasional differences. */
		default:
			data[i] = i % 1501 == 0 ? random : common[i % 300];
			break;
		}
	}
	dw_free(common);
	dw_free(noise);
}

static void work_is_linear_whatever_the_data(void **state)
{
	size_t size = 3 * MIB;
	uint8_t *data = dw_malloc(size);

	(void)state;
	assert_non_null(data);
	for (int kind = 0; kind < KINDS; kind++) {
		for (size_t minimum = 512; minimum <= 16384; minimum *= 32) {
			struct matcher_options options = usual(512 << 10);
			struct store *store;

			options.near_minimum = options.far_minimum = minimum;
			store = new_store(options, size);
			fill(data, size, kind);
			add(store, data, size);
			/* The credit, plus one match with up to three shorter
			 * candidates. */
			assert_true(dw_matcher_work(store->matcher) <
				    size * 64 + store->matched * 4 + 2 * MIB);
			free_store(store);
		}
	}
	dw_free(data);
}

static void runs_and_short_periods_are_stored_once(void **state)
{
	size_t size = 8 * MIB;
	uint8_t *data = dw_malloc(size);

	(void)state;
	assert_non_null(data);
	for (int kind = 0; kind <= 5; kind++) {
		struct store *store = new_store(usual(16 * MIB), size);

		fill(data, size, kind);
		add(store, data, size);
		assert_true(store->size < MIB + 4096);
		assert_true(store->matches <= 2 * size / ANCHOR_LULL + 8);
		free_store(store);
	}
	dw_free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_are_found_at_any_shift),
		cmocka_unit_test(matches_go_across_pieces_and_blocks),
		cmocka_unit_test(what_is_too_short_is_no_match),
		cmocka_unit_test(what_has_too_little_entropy_is_no_match),
		cmocka_unit_test(frames_are_not_cut),
		cmocka_unit_test(blocks_beyond_the_lookback_are_left_alone),
		cmocka_unit_test(bytes_are_compared),
		cmocka_unit_test(noted_bytes_are_found),
		cmocka_unit_test(work_is_linear_whatever_the_data),
		cmocka_unit_test(runs_and_short_periods_are_stored_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
