/* SPDX-License-Identifier: MIT */
/*
 * base/context: the log, the number of workers and the shared block cache of a program.
 *
 * Takes settings; gives them to images and builders. Reference-counted, so that a
 * context, its images and its builders may be freed in any order. Settings are frozen by
 * the first user, so they can be read without a lock afterwards.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/context.h"
#include "base/machine/machine.h"

#define DEFAULT_CACHE_BYTES (UINT64_C(512) << 20)
#define CACHE_SHARE	    4 /* of the memory that the process may use: one part in */
#define MAX_WORKERS	    1024

struct dwarfs_context {
	atomic_uint references;
	atomic_bool in_use;
	uint32_t workers;
	_Atomic uint32_t active_workers; /* at most workers */
	_Atomic uint64_t cache_bytes;
	_Atomic uint32_t decode_limit;
	uint32_t finish_percent;
	struct latency *latency; /* NULL: no latencies are measured */
	int log_level;
	dwarfs_log_fn log;
	void *log_user;
	pthread_mutex_t log_lock;
	atomic_long
		log_process; /* that the lock is of; negative while it is initialized */
	/* Without a lock, which a child process could find taken by a thread that it lacks. */
	_Atomic(void *) shared;
	void (*_Atomic shared_destroy)(void *object);
};

static void set_workers(dwarfs_context *context, uint32_t workers)
{
	context->workers = workers;
	atomic_store(&context->active_workers, workers);
}

static void set_defaults(dwarfs_context *context)
{
	const struct machine machine = dw_machine();
	const uint64_t share = machine.memory_bytes / CACHE_SHARE;

	set_workers(context,
		    machine.processors > MAX_WORKERS ? MAX_WORKERS : machine.processors);
	atomic_init(&context->cache_bytes,
		    share < DEFAULT_CACHE_BYTES ? share : DEFAULT_CACHE_BYTES);
	context->finish_percent = 100;
}

int dwarfs_context_new(dwarfs_context **context_out, dwarfs_error **err)
{
	if (!context_out)
		return dw_fail_null(err, "context_out");

	dwarfs_context *context = dw_calloc(1, sizeof(*context));

	if (!context)
		return dw_fail_nomem(err);
	if (pthread_mutex_init(&context->log_lock, NULL) != 0) {
		dw_free(context);
		return dw_fail_nomem(err);
	}
	atomic_init(&context->log_process, (long)getpid());
	atomic_init(&context->references, 1);
	atomic_init(&context->shared, NULL);
	set_defaults(context);
	*context_out = context;
	return 0;
}

int dwarfs_context_new_with_allocator(const dwarfs_allocator *allocator,
				      dwarfs_context **context_out, dwarfs_error **err)
{
	int ret = dw_allocator_check(allocator, err);

	if (ret < 0)
		return ret;
	DW_USE_ALLOCATOR(allocator);
	return dwarfs_context_new(context_out, err);
}

void dwarfs_context_free(dwarfs_context *context)
{
	if (!context || atomic_fetch_sub(&context->references, 1) != 1)
		return;
	if (atomic_load(&context->shared))
		atomic_load (&context->shared_destroy)(atomic_load(&context->shared));
	pthread_mutex_destroy(&context->log_lock);
	dw_latency_free(context->latency);
	dw_free(context);
}

int dw_context_use(dwarfs_context *context, dwarfs_context **used_out, dwarfs_error **err)
{
	if (!context) {
		int ret = dwarfs_context_new(&context, err);

		if (ret < 0)
			return ret;
	} else {
		atomic_fetch_add(&context->references, 1);
	}
	atomic_store(&context->in_use, true);
	*used_out = context;
	return 0;
}

static int refuse_when_used(dwarfs_context *context, dwarfs_error **err)
{
	if (!atomic_load(&context->in_use))
		return 0;
	return dw_fail(err, DWARFS_ERR_INVALID,
		       "a context cannot be changed once an image or builder uses it");
}

int dwarfs_context_set_finish_percent(dwarfs_context *context, uint32_t percent,
				      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!context)
		return dw_fail_null(err, "context");

	int ret = refuse_when_used(context, err);

	if (ret < 0)
		return ret;
	if (percent > 100)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%" PRIu32 " percent: at most 100 are possible", percent);
	context->finish_percent = percent;
	return 0;
}

static int set_active_workers(dwarfs_context *context, uint32_t workers,
			      dwarfs_error **err)
{
	if (workers < (context->workers > 0) || workers > context->workers)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%" PRIu32
			       " workers: a context in use can have %d to %" PRIu32,
			       workers, context->workers > 0, context->workers);
	atomic_store(&context->active_workers, workers);
	return 0;
}

int dwarfs_context_set_workers(dwarfs_context *context, uint32_t workers,
			       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!context)
		return dw_fail_null(err, "context");

	if (atomic_load(&context->in_use))
		return set_active_workers(context, workers, err);
	if (workers > MAX_WORKERS)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%" PRIu32 " workers: at most %d are possible", workers,
			       MAX_WORKERS);
	set_workers(context, workers);
	return 0;
}

int dwarfs_context_set_timing(dwarfs_context *context, bool on, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!context)
		return dw_fail_null(err, "context");

	int ret = refuse_when_used(context, err);

	if (ret < 0 || on == (context->latency != NULL))
		return ret;
	if (!on)
		dw_latency_free(dw_steal(context->latency));
	else if (!(context->latency = dw_latency_new()))
		return dw_fail_nomem(err);
	return 0;
}

int dwarfs_context_set_log(dwarfs_context *context, enum dwarfs_log_level level,
			   dwarfs_log_fn log, void *user, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!context)
		return dw_fail_null(err, "context");

	int ret = refuse_when_used(context, err);

	if (ret < 0)
		return ret;
	if (level < DWARFS_LOG_FATAL || level > DWARFS_LOG_TRACE)
		return dw_fail(err, DWARFS_ERR_RANGE, "log level %d does not exist",
			       level);
	context->log_level = level;
	context->log = log;
	context->log_user = user;
	return 0;
}

int dwarfs_context_set_span(dwarfs_context *context, dwarfs_span_fn span, void *user,
			    dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!context)
		return dw_fail_null(err, "context");

	int ret = dwarfs_context_set_timing(context, true, err);

	if (ret < 0)
		return ret;
	dw_latency_tell(context->latency, span, user);
	return 0;
}

struct latency *dw_context_latency(const dwarfs_context *context)
{
	return context->latency;
}

uint64_t dwarfs_context_latency(const dwarfs_context *context, enum dwarfs_latency what,
				enum dwarfs_latency_number number)
{
	if (!context)
		return 0;
	return dw_latency_number(context->latency, what, number);
}

uint64_t dwarfs_context_latency_quantile(const dwarfs_context *context,
					 enum dwarfs_latency what, uint32_t permille)
{
	if (!context)
		return 0;
	return dw_latency_quantile(context->latency, what, permille);
}

uint64_t dwarfs_context_latency_bucket(const dwarfs_context *context,
				       enum dwarfs_latency what, uint32_t index,
				       uint64_t *from_ns_out, uint64_t *until_ns_out)
{
	if (!context || !from_ns_out || !until_ns_out)
		return 0;
	return dw_latency_bucket(context->latency, what, index, from_ns_out,
				 until_ns_out);
}

uint32_t dw_context_finish_percent(const dwarfs_context *context)
{
	return context->finish_percent;
}

uint32_t dw_context_workers(const dwarfs_context *context)
{
	return context->workers;
}

const _Atomic uint32_t *dw_context_active_workers(const dwarfs_context *context)
{
	return &context->active_workers;
}

uint64_t dw_context_cache_bytes(const dwarfs_context *context)
{
	return atomic_load(&context->cache_bytes);
}

void dw_context_note_cache_bytes(dwarfs_context *context, uint64_t bytes)
{
	atomic_store(&context->cache_bytes, bytes);
}

uint32_t dw_context_decode_limit(const dwarfs_context *context)
{
	return atomic_load(&context->decode_limit);
}

void dw_context_note_decode_limit(dwarfs_context *context, uint32_t times)
{
	atomic_store(&context->decode_limit, times);
}

int dw_context_shared(dwarfs_context *context,
		      int (*make)(dwarfs_context *context, void **object_out,
				  dwarfs_error **err),
		      void (*destroy)(void *object), void **object_out, bool *is_new_out,
		      dwarfs_error **err)
{
	void *object = atomic_load(&context->shared), *made;
	int ret;

	*is_new_out = false;
	if (!object) {
		if ((ret = make(context, &made, err)) < 0)
			return ret;
		/* First, for a child process that begins in between. It is always the same. */
		atomic_store(&context->shared_destroy, destroy);
		if (atomic_compare_exchange_strong(&context->shared, &object, made)) {
			object = made;
			*is_new_out = true;
		} else {
			destroy(made);
		}
	}
	*object_out = object;
	return 0;
}

void *dw_context_peek(const dwarfs_context *context)
{
	return atomic_load(&((dwarfs_context *)context)->shared);
}

bool dw_log_wants(const dwarfs_context *context, int level)
{
	return context->log && level <= context->log_level;
}

/* A child process gets a new lock: that of its parent may be taken by a thread that it lacks. */
static void lock_log(dwarfs_context *context)
{
	const long own = (long)getpid();
	long process = atomic_load(&context->log_process);

	while (process != own) {
		if (process == -own)
			sched_yield();
		else if (atomic_compare_exchange_strong(&context->log_process, &process,
							-own)) {
			pthread_mutex_init(&context->log_lock, NULL);
			atomic_store(&context->log_process, own);
		}
		process = atomic_load(&context->log_process);
	}
	pthread_mutex_lock(&context->log_lock);
}

void dw_log(dwarfs_context *context, int level, const char *format, ...)
{
	char short_text[512];
	auto_free char *long_text = NULL;
	const char *text = short_text;
	va_list args;
	int length;

	if (!dw_log_wants(context, level))
		return;
	va_start(args, format);
	length = vsnprintf(short_text, sizeof(short_text), format, args);
	va_end(args);
	if (length >= (int)sizeof(short_text)) {
		long_text = dw_malloc((size_t)length + 1);
		if (long_text) {
			va_start(args, format);
			vsnprintf(long_text, (size_t)length + 1, format, args);
			va_end(args);
			text = long_text;
		}
	}
	lock_log(context);
	context->log(level, text, context->log_user);
	pthread_mutex_unlock(&context->log_lock);
}
