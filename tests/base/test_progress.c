/* SPDX-License-Identifier: MIT */
/*
 * base/progress: how often the callback is called, and the two ways to stop.
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

struct watcher {
	int calls, phases[64], stop_at;
	uint64_t bytes, elapsed_ns;
	const char *path;
};

static int watch(const dwarfs_progress *progress, void *user)
{
	struct watcher *watcher = user;

	if (watcher->calls < 64)
		watcher->phases[watcher->calls] = dwarfs_progress_phase(progress);
	watcher->calls++;
	watcher->bytes = dwarfs_progress_bytes_done(progress);
	watcher->elapsed_ns = dwarfs_progress_elapsed_ns(progress);
	watcher->path = dwarfs_progress_path(progress);
	return watcher->calls == watcher->stop_at;
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
	struct dwarfs_progress progress;
	uint64_t began = now_ns(), took;

	dw_progress_start(&progress, watch, &watcher, NULL);
	while (now_ns() - began < UINT64_C(450000000))
		assert_int_equal(dw_progress_tick(&progress, NULL), 0);
	took = now_ns() - began;
	assert_in_range(watcher.calls, 2, 1 + took / 100000000);
	assert_in_range(watcher.elapsed_ns, 1, took);
}

static void each_change_of_phase_is_told(void **state)
{
	struct watcher watcher = { 0 };
	struct dwarfs_progress progress;

	dw_progress_start(&progress, watch, &watcher, NULL);
	for (int phase = DWARFS_PHASE_SCAN; phase <= DWARFS_PHASE_DONE; phase++)
		assert_int_equal(dw_progress_enter(&progress, phase, NULL), 0);
	assert_int_equal(watcher.calls, DWARFS_PHASE_DONE + 1);
	for (int phase = DWARFS_PHASE_SCAN; phase <= DWARFS_PHASE_DONE; phase++)
		assert_int_equal(watcher.phases[phase], phase);
}

static void the_callback_sees_the_numbers(void **state)
{
	struct watcher watcher = { 0 };
	struct dwarfs_progress progress;

	dw_progress_start(&progress, watch, &watcher, NULL);
	progress.bytes_done = 1;
	progress.bytes_total = 2;
	progress.bytes_out = 3;
	progress.items_done = 4;
	progress.items_total = 5;
	progress.path = "a/b";
	assert_int_equal(dw_progress_tick(&progress, NULL), 0);
	assert_int_equal(watcher.bytes, 1);
	assert_string_equal(watcher.path, "a/b");
	assert_int_equal(dwarfs_progress_bytes_total(&progress), 2);
	assert_int_equal(dwarfs_progress_bytes_out(&progress), 3);
	assert_int_equal(dwarfs_progress_items_done(&progress), 4);
	assert_int_equal(dwarfs_progress_items_total(&progress), 5);
}

static void the_callback_can_stop(void **state)
{
	auto_error dwarfs_error *err = NULL;
	struct watcher watcher = { .stop_at = 2 };
	struct dwarfs_progress progress;

	dw_progress_start(&progress, watch, &watcher, NULL);
	assert_int_equal(dw_progress_enter(&progress, DWARFS_PHASE_SCAN, &err), 0);
	assert_int_equal(dw_progress_enter(&progress, DWARFS_PHASE_WRITE, &err),
			 DWARFS_ERR_CANCELLED);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_CANCELLED);
}

static void the_switch_stops_without_a_callback(void **state)
{
	dwarfs_cancel *cancel = NULL;
	struct dwarfs_progress progress;

	assert_int_equal(dwarfs_cancel_new(&cancel, NULL), 0);
	assert_false(dwarfs_cancel_is_set(cancel));
	dw_progress_start(&progress, NULL, NULL, cancel);
	assert_int_equal(dw_progress_tick(&progress, NULL), 0);
	dwarfs_cancel_set(cancel);
	assert_true(dwarfs_cancel_is_set(cancel));
	assert_int_equal(dw_progress_tick(&progress, NULL), DWARFS_ERR_CANCELLED);
	assert_int_equal(dw_progress_enter(&progress, DWARFS_PHASE_DONE, NULL),
			 DWARFS_ERR_CANCELLED);
	dwarfs_cancel_free(cancel);
	dwarfs_cancel_set(NULL);
	assert_false(dwarfs_cancel_is_set(NULL));
	dwarfs_cancel_free(NULL);
}

static dwarfs_cancel *cancel_of_signal;

static void on_signal(int number)
{
	dwarfs_cancel_set(cancel_of_signal);
}

static void a_signal_handler_can_stop(void **state)
{
	struct sigaction action = { .sa_handler = on_signal }, old;
	struct dwarfs_progress progress;

	assert_int_equal(dwarfs_cancel_new(&cancel_of_signal, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	dw_progress_start(&progress, NULL, NULL, cancel_of_signal);
	raise(SIGUSR1);
	assert_int_equal(dw_progress_tick(&progress, NULL), DWARFS_ERR_CANCELLED);
	sigaction(SIGUSR1, &old, NULL);
	dwarfs_cancel_free(cancel_of_signal);
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
		cmocka_unit_test(the_switch_stops_without_a_callback),
		cmocka_unit_test(a_signal_handler_can_stop),
		cmocka_unit_test(phases_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
