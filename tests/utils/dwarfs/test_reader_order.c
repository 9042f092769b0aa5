/* SPDX-License-Identifier: MIT */
/*
 * utils/dwarfs_order: detection of readers of a directory, and how far ahead blocks are
 * decoded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dwarfs/mount.h"

#define SHARE	 ((uint64_t)8 << 20)
#define DIR_END	 20
#define MANY	 1000
#define READERS	 2
#define FAR_AWAY 100000

static struct order new_order(void)
{
	struct order order;

	order_init(&order, SHARE, READERS);
	return order;
}

/* What the look-ahead reports at its end: how far it decoded, and which ends it
 * passed. */
static void look_ahead(struct stream *stream, uint32_t to, uint32_t dir_end)
{
	stream->mark = stream->ahead;
	stream->ahead = to;
	stream->dir_end = dir_end;
}

static void two_files_in_a_row_are_a_reader(void **state)
{
	struct order order = new_order();
	bool wants_more;
	size_t first = order_note(&order, 5, &wants_more);

	assert_false(wants_more);
	assert_int_equal(order_note(&order, 6, &wants_more), first);
	assert_true(wants_more);
	assert_int_equal(order.streams[first].ahead, 7);
	assert_true(order.streams[first].window > 0);
	assert_true(order.streams[first].window <= SHARE);
}

static void it_is_time_for_more_at_the_mark(void **state)
{
	struct order order = new_order();
	bool wants_more;
	size_t number = order_note(&order, 5, &wants_more);

	order_note(&order, 6, &wants_more);
	look_ahead(&order.streams[number], 10, MANY);
	look_ahead(&order.streams[number], 15, MANY);
	for (uint32_t entry = 7; entry < 10; entry++) {
		assert_int_equal(order_note(&order, entry, &wants_more), number);
		assert_false(wants_more);
	}
	order_note(&order, 10, &wants_more);
	assert_true(wants_more);
}

/* A small distance after the end of a directory, until several ends were passed. */
static void ends_of_directories_are_passed_by_walkers_only(void **state)
{
	struct order order = new_order();
	bool wants_more;
	size_t number = order_note(&order, 5, &wants_more);
	struct stream *stream = &order.streams[number];
	uint64_t little = order_beyond(stream);

	assert_true(little > 0);
	assert_true(little <= (uint64_t)1 << 20);
	for (uint32_t entry = 6; entry < DIR_END; entry++) {
		order_note(&order, entry, &wants_more);
		stream->dir_end = DIR_END;
	}
	assert_int_equal(order_beyond(stream), little);
	for (uint32_t end = DIR_END; end < 4 * DIR_END; end += DIR_END) {
		stream->dir_end = end;
		order_note(&order, end, &wants_more);
		assert_int_equal(order_note(&order, end + 1, &wants_more), number);
	}
	assert_int_equal(order_beyond(stream), UINT64_MAX);
}

/* One end counts once, for any number of files before the next one. */
static void an_end_is_passed_once(void **state)
{
	struct order order = new_order();
	bool wants_more;
	struct stream *stream =
		&order.streams[order_note(&order, DIR_END - 1, &wants_more)];

	stream->dir_end = DIR_END;
	for (uint32_t entry = DIR_END; entry < 2 * DIR_END; entry++)
		order_note(&order, entry, &wants_more);
	assert_true(order_beyond(stream) <= (uint64_t)1 << 20);
}

static void readers_share_the_window(void **state)
{
	struct order order = new_order();
	bool wants_more;
	size_t first = order_note(&order, 5, &wants_more), second;

	order_note(&order, 6, &wants_more);
	order.streams[first].window = SHARE;
	second = order_note(&order, FAR_AWAY, &wants_more);
	assert_int_not_equal(first, second);
	order_note(&order, FAR_AWAY + 1, &wants_more);
	assert_true(wants_more);
	order_note(&order, 7, &wants_more);
	assert_true(order.streams[first].window <= SHARE / 2);
	/* A third reader alone keeps all processors busy. */
	order_note(&order, 2 * FAR_AWAY, &wants_more);
	order_note(&order, 2 * FAR_AWAY + 1, &wants_more);
	assert_false(wants_more);
}

static void backwards_is_no_order(void **state)
{
	struct order order = new_order();
	bool wants_more;
	size_t number = order_note(&order, MANY, &wants_more);
	uint32_t turn = order.streams[number].turn;

	for (uint32_t entry = MANY - 1; entry > MANY - 10; entry--) {
		assert_int_equal(order_note(&order, entry, &wants_more), number);
		assert_false(wants_more);
	}
	/* Work begun for the other direction is obsolete. */
	assert_int_not_equal(order.streams[number].turn, turn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_files_in_a_row_are_a_reader),
		cmocka_unit_test(it_is_time_for_more_at_the_mark),
		cmocka_unit_test(ends_of_directories_are_passed_by_walkers_only),
		cmocka_unit_test(an_end_is_passed_once),
		cmocka_unit_test(readers_share_the_window),
		cmocka_unit_test(backwards_is_no_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
