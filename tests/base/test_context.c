/* SPDX-License-Identifier: MIT */
/*
 * base/context: settings until the first use, references, the shared object, the log.
 */
#include <pthread.h>
#ifdef __linux__
#include <sched.h>
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"

static void defaults_are_as_documented(void **state)
{
	const uint64_t quarter = dwarfs_usable_memory() / 4;
	auto_context dwarfs_context *context = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_true(dw_context_cache_bytes(context) ==
		    (quarter < UINT64_C(512) << 20 ? quarter : UINT64_C(512) << 20));
	assert_int_equal(dw_context_workers(context), dwarfs_usable_processors());
	for (int level = DWARFS_LOG_FATAL; level <= DWARFS_LOG_TRACE; level++)
		assert_false(dw_log_wants(context, level));
	dwarfs_context_free(NULL);
}

static void log_nothing(enum dwarfs_log_level level, const char *message, void *user)
{
}

static void settings_have_ranges(void **state)
{
	auto_context dwarfs_context *context = NULL;
	auto_error dwarfs_error *err = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 1024, &err), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 1025, &err),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dw_context_workers(context), 1024);
	assert_int_equal(dwarfs_context_set_workers(context, 0, &err), 0);
	assert_int_equal(dw_context_workers(context), 0);
	assert_int_equal(dwarfs_context_set_cache_bytes(context, UINT64_MAX, NULL), 0);
	assert_true(dw_context_cache_bytes(context) > UINT64_MAX / 2);
	assert_int_equal(dwarfs_context_set_cache_bytes(context, 0, NULL), 0);
	assert_true(dw_context_cache_bytes(context) == 0);
	assert_int_equal(dwarfs_context_set_log(context, -1, log_nothing, NULL, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_context_set_log(context, DWARFS_LOG_TRACE + 1,
						log_nothing, NULL, NULL),
			 DWARFS_ERR_RANGE);
	assert_false(dw_log_wants(context, DWARFS_LOG_FATAL));
}

static void the_first_use_freezes_settings(void **state)
{
	dwarfs_context *context = NULL, *used = NULL;
	auto_error dwarfs_error *err = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_cache_bytes(context, 77, NULL), 0);
	assert_int_equal(dw_context_use(context, &used, NULL), 0);
	assert_ptr_equal(context, used);
	assert_int_equal(dwarfs_context_set_log(context, 0, log_nothing, NULL, &err),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_INVALID);
	/* The owner may release it before the user. */
	dwarfs_context_free(context);
	assert_true(dw_context_cache_bytes(used) == 77);
	dwarfs_context_free(used);
}

static void fewer_workers_may_be_active_later(void **state)
{
	auto_context dwarfs_context *context = NULL, *used = NULL;
	const _Atomic uint32_t *active;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	active = dw_context_active_workers(context);
	assert_int_equal(atomic_load(active), dw_context_workers(context));
	assert_int_equal(dwarfs_context_set_workers(context, 5, NULL), 0);
	assert_int_equal(dw_context_use(context, &used, NULL), 0);
	assert_int_equal(atomic_load(active), 5);
	assert_int_equal(dwarfs_context_set_workers(context, 1, NULL), 0);
	assert_int_equal(atomic_load(active), 1);
	assert_int_equal(dwarfs_context_set_workers(context, 5, NULL), 0);
	assert_int_equal(atomic_load(active), 5);
	assert_int_equal(dwarfs_context_set_workers(context, 6, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_context_set_workers(context, 0, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(atomic_load(active), 5);
	assert_int_equal(dw_context_workers(context), 5);
}

static void without_workers_none_can_be_active(void **state)
{
	auto_context dwarfs_context *context = NULL, *used = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 0, NULL), 0);
	assert_int_equal(dw_context_use(context, &used, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 0, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 1, NULL), DWARFS_ERR_RANGE);
}

#ifdef __linux__
static void the_default_is_what_this_thread_may_use(void **state)
{
	auto_context dwarfs_context *context = NULL;
	cpu_set_t before, one;
	int processor = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(processor, &before))
		processor++;
	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(dw_context_workers(context), 1);
}
#endif

static void without_one_there_is_a_private_one(void **state)
{
	auto_context dwarfs_context *first = NULL, *second = NULL;

	assert_int_equal(dw_context_use(NULL, &first, NULL), 0);
	assert_int_equal(dw_context_use(NULL, &second, NULL), 0);
	assert_ptr_not_equal(first, second);
	assert_int_equal(dwarfs_context_set_finish_percent(first, 1, NULL),
			 DWARFS_ERR_INVALID);
}

static atomic_int objects_made, objects_ended, objects_new;

static int make_object(dwarfs_context *context, void **object_out, dwarfs_error **err)
{
	atomic_fetch_add(&objects_made, 1);
	*object_out = dw_malloc(1);
	return 0;
}

static int make_nothing(dwarfs_context *context, void **object_out, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_IO, "not today");
}

static void end_object(void *object)
{
	atomic_fetch_add(&objects_ended, 1);
	dw_free(object);
}

static void *share(void *data)
{
	void *object = NULL;
	bool is_new = false;

	if (dw_context_shared(data, make_object, end_object, &object, &is_new, NULL) < 0)
		return NULL;
	atomic_fetch_add(&objects_new, is_new);
	return object;
}

/* Several threads may make one; all but the first are freed at once. */
static void there_is_one_shared_object(void **state)
{
	dwarfs_context *context = NULL;
	pthread_t threads[8];
	void *objects[8], *none = &none;
	bool is_new = true;

	atomic_store(&objects_made, 0);
	atomic_store(&objects_ended, 0);
	atomic_store(&objects_new, 0);
	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dw_context_shared(context, make_nothing, end_object, &none,
					   &is_new, NULL),
			 DWARFS_ERR_IO);
	assert_ptr_equal(none, &none);
	assert_false(is_new);
	assert_null(dw_context_peek(context));
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, share, context), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], &objects[i]);
	for (int i = 0; i < 8; i++)
		assert_ptr_equal(objects[i], objects[0]);
	assert_non_null(objects[0]);
	assert_ptr_equal(dw_context_peek(context), objects[0]);
	assert_int_equal(atomic_load(&objects_new), 1);
	assert_int_equal(atomic_load(&objects_made), atomic_load(&objects_ended) + 1);
	dwarfs_context_free(context);
	assert_int_equal(atomic_load(&objects_ended), atomic_load(&objects_made));
}

struct journal {
	int calls, level, inside;
	char text[2048];
};

/* Not atomic on purpose: a context makes one call at a time. */
static void write_journal(enum dwarfs_log_level level, const char *message, void *user)
{
	struct journal *journal = user;

	journal->inside++;
	journal->calls++;
	journal->level = level;
	snprintf(journal->text, sizeof(journal->text), "%s", message);
	journal->inside--;
}

static void the_log_passes_on_its_level_and_above(void **state)
{
	auto_context dwarfs_context *context = NULL;
	struct journal journal = { 0 };
	char text[1500];

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	dw_log(context, DWARFS_LOG_FATAL, "nobody listens");
	assert_int_equal(dwarfs_context_set_log(context, DWARFS_LOG_WARN, write_journal,
						&journal, NULL),
			 0);
	assert_true(dw_log_wants(context, DWARFS_LOG_WARN));
	assert_false(dw_log_wants(context, DWARFS_LOG_INFO));
	dw_log(context, DWARFS_LOG_INFO, "too quiet");
	assert_int_equal(journal.calls, 0);
	dw_log(context, DWARFS_LOG_ERROR, "block %d of %s", 3, "x");
	assert_int_equal(journal.calls, 1);
	assert_int_equal(journal.level, DWARFS_LOG_ERROR);
	assert_string_equal(journal.text, "block 3 of x");
	for (size_t size = 500; size < sizeof(text); size++) {
		memset(text, 'y', size);
		text[size] = '\0';
		dw_log(context, DWARFS_LOG_WARN, "%s", text);
		assert_string_equal(journal.text, text);
	}
}

static void *log_much(void *data)
{
	for (int i = 0; i < 500; i++)
		dw_log(data, DWARFS_LOG_ERROR, "message %d", i);
	return NULL;
}

static void the_log_is_called_one_at_a_time(void **state)
{
	auto_context dwarfs_context *context = NULL;
	struct journal journal = { 0 };
	pthread_t threads[4];

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_log(context, DWARFS_LOG_TRACE, write_journal,
						&journal, NULL),
			 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, log_much, context), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(journal.calls, 4 * 500);
	assert_int_equal(journal.inside, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_as_documented),
		cmocka_unit_test(settings_have_ranges),
		cmocka_unit_test(the_first_use_freezes_settings),
		cmocka_unit_test(fewer_workers_may_be_active_later),
		cmocka_unit_test(without_workers_none_can_be_active),
#ifdef __linux__
		cmocka_unit_test(the_default_is_what_this_thread_may_use),
#endif
		cmocka_unit_test(without_one_there_is_a_private_one),
		cmocka_unit_test(there_is_one_shared_object),
		cmocka_unit_test(the_log_passes_on_its_level_and_above),
		cmocka_unit_test(the_log_is_called_one_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
