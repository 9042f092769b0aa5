/* SPDX-License-Identifier: MIT */
/*
 * base/progress: how often the callback is called, the two ways to cancel, and the time
 * left.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/progress.h"
#include "support/task.h"

struct watcher {
	int calls, phases[64], stop_at, stop_with;
	uint64_t bytes, elapsed_ns;
	const char *path;
};

static int watch(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct watcher *watcher = user;

	if (watcher->calls < 64)
		watcher->phases[watcher->calls] = dwarfs_progress_phase(progress);
	watcher->calls++;
	watcher->bytes = dwarfs_progress_number(progress, DWARFS_PROGRESS_DONE_BYTES);
	watcher->elapsed_ns =
		dwarfs_progress_number(progress, DWARFS_PROGRESS_ELAPSED_NS);
	watcher->path = dwarfs_progress_path(progress);
	if (watcher->calls != watcher->stop_at)
		return 0;
	if (watcher->stop_with < 0)
		dwarfs_error_set(err, watcher->stop_with, 0, "the user has left");
	return watcher->stop_with;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void ticks_are_limited_to_ten_a_second(void **state)
{
	struct watcher watcher = { 0 };
	auto_test_task dwarfs_task *task = new_task(watch, &watcher);
	struct dwarfs_progress progress;
	uint64_t began = now_ns(), took;

	dw_progress_start(&progress, task);
	while (now_ns() - began < UINT64_C(450000000))
		assert_int_equal(dw_progress_tick(&progress, NULL), 0);
	took = now_ns() - began;
	assert_in_range(watcher.calls, 2, 1 + took / 100000000);
	assert_in_range(watcher.elapsed_ns, 1, took);
}

static void each_change_of_phase_is_told(void **state)
{
	struct watcher watcher = { 0 };
	auto_test_task dwarfs_task *task = new_task(watch, &watcher);
	struct dwarfs_progress progress;

	dw_progress_start(&progress, task);
	for (int phase = DWARFS_PHASE_SCAN; phase <= DWARFS_PHASE_DONE; phase++)
		assert_int_equal(dw_progress_enter(&progress, phase, NULL), 0);
	assert_int_equal(watcher.calls, DWARFS_PHASE_DONE + 1);
	for (int phase = DWARFS_PHASE_SCAN; phase <= DWARFS_PHASE_DONE; phase++)
		assert_int_equal(watcher.phases[phase], phase);
}

static void the_callback_sees_the_numbers(void **state)
{
	struct watcher watcher = { 0 };
	auto_test_task dwarfs_task *task = new_task(watch, &watcher);
	struct dwarfs_progress progress;

	dw_progress_start(&progress, task);
	progress.bytes_done = 1;
	progress.bytes_total = 2;
	progress.bytes_out = 3;
	progress.items_done = 4;
	progress.items_total = 5;
	progress.path = "a/b";
	assert_int_equal(dw_progress_tick(&progress, NULL), 0);
	assert_int_equal(watcher.bytes, 1);
	assert_string_equal(watcher.path, "a/b");
	assert_int_equal(dwarfs_progress_number(&progress, DWARFS_PROGRESS_TOTAL_BYTES),
			 2);
	assert_int_equal(dwarfs_progress_number(&progress, DWARFS_PROGRESS_WRITTEN_BYTES),
			 3);
	assert_int_equal(dwarfs_progress_number(&progress, DWARFS_PROGRESS_DONE_ITEMS),
			 4);
	assert_int_equal(dwarfs_progress_number(&progress, DWARFS_PROGRESS_TOTAL_ITEMS),
			 5);
}

static void the_callback_can_stop(void **state)
{
	static const struct {
		int returned, code;
		const char *message;
	} cases[] = {
		{ 1, DWARFS_ERR_CANCELLED, "cancelled" },
		{ 77, DWARFS_ERR_CANCELLED, "cancelled" },
		{ DWARFS_ERR_CANCELLED, DWARFS_ERR_CANCELLED, "the user has left" },
		{ DWARFS_ERR_NO_SPACE, DWARFS_ERR_NO_SPACE, "the user has left" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_error dwarfs_error *err = NULL;
		struct watcher watcher = { .stop_at = 2, .stop_with = cases[i].returned };
		auto_test_task dwarfs_task *task = new_task(watch, &watcher);
		struct dwarfs_progress progress;

		dw_progress_start(&progress, task);
		assert_int_equal(dw_progress_enter(&progress, DWARFS_PHASE_SCAN, &err),
				 0);
		assert_null(err);
		assert_int_equal(dw_progress_enter(&progress, DWARFS_PHASE_WRITE, &err),
				 cases[i].code);
		assert_int_equal(dwarfs_error_code(err), cases[i].code);
		assert_string_equal(dwarfs_error_message(err), cases[i].message);
	}
}

static int fail_silently(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	return DWARFS_ERR_NO_SPACE;
}

/* Without a message the error has the code, and names the callback. */
static void a_reason_is_optional(void **state)
{
	auto_error dwarfs_error *err = NULL;
	auto_test_task dwarfs_task *task = new_task(fail_silently, NULL);
	struct dwarfs_progress progress;

	dw_progress_start(&progress, task);
	assert_int_equal(dw_progress_enter(&progress, DWARFS_PHASE_SCAN, &err),
			 DWARFS_ERR_NO_SPACE);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_NO_SPACE);
	assert_string_equal(dwarfs_error_message(err), "a callback failed");
}

static void a_task_stops_without_a_callback(void **state)
{
	auto_test_task dwarfs_task *task = new_task(NULL, NULL);
	struct dwarfs_progress progress;

	assert_false(dwarfs_task_is_cancelled(task));
	dw_progress_start(&progress, task);
	assert_int_equal(dw_progress_tick(&progress, NULL), 0);
	dwarfs_task_cancel(task);
	assert_true(dwarfs_task_is_cancelled(task));
	assert_int_equal(dw_progress_tick(&progress, NULL), DWARFS_ERR_CANCELLED);
	assert_int_equal(dw_progress_enter(&progress, DWARFS_PHASE_DONE, NULL),
			 DWARFS_ERR_CANCELLED);
	dwarfs_task_cancel(NULL);
	assert_false(dwarfs_task_is_cancelled(NULL));
	dwarfs_task_free(NULL);
	dwarfs_task_set_progress(NULL, watch, NULL);
	assert_int_equal(dwarfs_task_new(NULL, NULL), DWARFS_ERR_INVALID);
}

static dwarfs_task *task_of_signal;

static void on_signal(int number)
{
	dwarfs_task_cancel(task_of_signal);
}

static void a_signal_handler_can_stop(void **state)
{
	struct sigaction action = { .sa_handler = on_signal }, old;
	struct dwarfs_progress progress;

	task_of_signal = new_task(NULL, NULL);
	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	dw_progress_start(&progress, task_of_signal);
	raise(SIGUSR1);
	assert_int_equal(dw_progress_tick(&progress, NULL), DWARFS_ERR_CANCELLED);
	sigaction(SIGUSR1, &old, NULL);
	dwarfs_task_free(task_of_signal);
}

#define SECOND UINT64_C(1000000000)

static void nothing_is_known_before_there_are_totals(void **state)
{
	struct dwarfs_progress progress = { .bytes_done = 50, .bytes_total = 100 };

	for (int phase = DWARFS_PHASE_SCAN; phase <= DWARFS_PHASE_ORDER; phase++) {
		progress.phase = phase;
		assert_true(dw_progress_remaining(&progress, 10 * SECOND) == UINT64_MAX);
	}
	progress.phase = DWARFS_PHASE_EXTRACT;
	assert_true(dw_progress_remaining(&progress, SECOND / 10) == UINT64_MAX);
	progress.bytes_done = 0;
	assert_true(dw_progress_remaining(&progress, 10 * SECOND) == UINT64_MAX);
	progress.phase = DWARFS_PHASE_DONE;
	assert_int_equal(dw_progress_remaining(&progress, 10 * SECOND), 0);
}

static void bytes_go_on_as_fast_as_in_their_phase(void **state)
{
	struct dwarfs_progress progress = {
		.phase = DWARFS_PHASE_EXTRACT,
		.phase_started_ns = 100 * SECOND,
		.phase_started_bytes = 1000,
		.bytes_done = 1200,
		.bytes_total = 2000,
	};

	assert_int_equal(dw_progress_remaining(&progress, 110 * SECOND), 40 * SECOND);
	progress.bytes_done = 2000;
	assert_int_equal(dw_progress_remaining(&progress, 110 * SECOND), 0);
}

/* Half of the input was scanned, and a fifth of that is to be packed. */
static void work_counts_where_there_is_some(void **state)
{
	struct dwarfs_progress progress = {
		.phase = DWARFS_PHASE_WRITE,
		.bytes_done = 400,
		.bytes_total = 1000,
		.work_known = 100,
		.work_known_bytes = 500,
	};

	dw_progress_refresh(&progress, 50 * SECOND); /* its start */
	progress.work_done = 40;
	dw_progress_refresh(&progress, 54 * SECOND);
	assert_int_equal(dw_progress_remaining(&progress, 54 * SECOND), 16 * SECOND);
	progress.work_known = 120;
	progress.work_known_bytes = 1000;
	assert_int_equal(dw_progress_remaining(&progress, 54 * SECOND), 8 * SECOND);
	progress.work_done = 120;
	assert_int_equal(dw_progress_remaining(&progress, 62 * SECOND), 0);
}

static void add_work(struct dwarfs_progress *progress, void *user)
{
	progress->work_known = progress->work_known_bytes = 1000;
	progress->work_done += *(uint64_t *)user;
}

/* Blocks packed at a constant rate: the announced time is right throughout. */
static void a_steady_build_is_foreseen(void **state)
{
	uint64_t step = 5;
	struct dwarfs_progress progress = {
		.phase = DWARFS_PHASE_WRITE,
		.bytes_total = 1000,
		.refresh = add_work,
		.refresh_user = &step,
	};

	for (uint64_t at = 1; at <= 200; at++) {
		uint64_t left;

		dw_progress_refresh(&progress, at * SECOND);
		left = dw_progress_remaining(&progress, at * SECOND);
		if (at > 1)
			assert_int_equal(left, (200 - at) * SECOND);
	}
}

static void a_phase_begins_without_work(void **state)
{
	struct dwarfs_progress progress;

	dw_progress_start(&progress, NULL);
	progress.work_known = progress.work_known_bytes = progress.work_done = 7;
	assert_int_equal(dw_progress_enter(&progress, DWARFS_PHASE_METADATA, NULL), 0);
	assert_int_equal(progress.work_known, 0);
	assert_int_equal(progress.work_done, 0);
}

static void phases_have_names(void **state)
{
	for (int phase = DWARFS_PHASE_SCAN; phase <= DWARFS_PHASE_DONE; phase++)
		assert_string_not_equal(dwarfs_phase_name(phase), "working");
	assert_string_equal(dwarfs_phase_name(-1), "working");
	assert_string_equal(dwarfs_phase_name(DWARFS_PHASE_DONE + 1), "working");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_limited_to_ten_a_second),
		cmocka_unit_test(each_change_of_phase_is_told),
		cmocka_unit_test(the_callback_sees_the_numbers),
		cmocka_unit_test(the_callback_can_stop),
		cmocka_unit_test(a_reason_is_optional),
		cmocka_unit_test(a_task_stops_without_a_callback),
		cmocka_unit_test(a_signal_handler_can_stop),
		cmocka_unit_test(nothing_is_known_before_there_are_totals),
		cmocka_unit_test(bytes_go_on_as_fast_as_in_their_phase),
		cmocka_unit_test(work_counts_where_there_is_some),
		cmocka_unit_test(a_steady_build_is_foreseen),
		cmocka_unit_test(a_phase_begins_without_work),
		cmocka_unit_test(phases_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
