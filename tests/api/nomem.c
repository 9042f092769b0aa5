/* SPDX-License-Identifier: MIT */
/*
 * api/nomem: out of memory, at each allocation in turn.
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "nomem.h"

/* Failing allocations of each operation; of more a sample is taken. DWARFS_NOMEM_POINTS
 * sets fewer, for valgrind. */
#define MAX_POINTS 1500

#define LESS_BYTES (3 * (1 << BLOCK_BITS) + 13) /* of BIG_BYTES */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *data, size_t size);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *data, size_t size);

/* Count down; at 0 this allocation fails, and optionally all later ones. */
static atomic_long countdown = -1;
static atomic_bool for_good;
static atomic_long count;

/* With errno, as the C library sets it: if linked statically, its own calls are
 * redirected, too. */
static bool fails(void)
{
	long left;

	atomic_fetch_add(&count, 1);
	left = atomic_load(&countdown);
	if (left < 0)
		return false;
	left = atomic_fetch_sub(&countdown, 1);
	if (left > 0)
		return false;
	errno = left == 0 || atomic_load(&for_good) ? ENOMEM : errno;
	if (atomic_load(&for_good)) {
		atomic_store(&countdown, 0);
		return true;
	}
	return left == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *data, size_t size)
{
	return fails() ? NULL : __real_realloc(data, size);
}

/* -- the test ------------------------------------------------------------------------ */

static long max_points(void)
{
	const char *text = getenv("DWARFS_NOMEM_POINTS");
	long points = text ? atol(text) : 0;

	return points > 0 && points < MAX_POINTS ? points : MAX_POINTS;
}

void nomem_everywhere(const struct fixture *fixture, nomem_operation run, bool all)
{
	dwarfs_error *err = NULL;
	long total, n, step, most = max_points();
	int ret, failed = 0;

	atomic_store(&countdown, -1);
	atomic_store(&count, 0);
	assert_success(run(fixture, &err), err);
	total = atomic_load(&count);
	assert_true(total > 5);
	step = total / most + 1;
	for (n = 0; n < total; n += n < most / 2 ? 1 : step) {
		atomic_store(&for_good, all);
		atomic_store(&countdown, n);
		ret = run(fixture, &err);
		atomic_store(&countdown, -1);
		if (ret < 0 && ret != DWARFS_ERR_NOMEM)
			fail_msg("allocation %ld of %ld: %d, %s", n, total, ret,
				 dwarfs_error_message(err));
		failed += ret < 0;
		if (ret < 0)
			assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_NOMEM);
		dwarfs_error_free(err);
		err = NULL;
	}
	assert_true(failed > 5);
}

void nomem_stop(void)
{
	atomic_store(&countdown, -1);
}

int nomem_setup(void **state)
{
	const struct fixture *fixture;
	dwarfs_builder *builder;
	char path[200];
	int ret = fixture_setup(state);

	if (ret != 0)
		return ret;
	fixture = *state;
	/* Three blocks and some more: thousands of operations read them. */
	snprintf(path, sizeof(path), "%s/big", fixture->tree);
	ret = truncate(path, LESS_BYTES);
	snprintf(path, sizeof(path), "%s/dir/copy", fixture->tree);
	if (ret != 0 || truncate(path, LESS_BYTES) != 0)
		return -1;
	(void)setxattr(path, "user.one", "1", 1, 0);
	(void)setxattr(path, "user.two", "", 0, 0);
	snprintf(path, sizeof(path), "%s/dir/sub", fixture->tree);
	(void)setxattr(path, "user.one", "1", 1, 0);
	builder = new_builder(fixture, NULL);
	ret = dwarfs_builder_write_path(builder, fixture->path, true, NULL);
	dwarfs_builder_free(builder);
	return ret;
}

int nomem_new_builder(int level, dwarfs_context **context_out,
		      dwarfs_builder **builder_out, dwarfs_error **err)
{
	int ret;

	if ((ret = dwarfs_context_new(context_out, err)) < 0 ||
	    (ret = dwarfs_context_set_workers(*context_out, 0, err)) < 0 ||
	    (ret = dwarfs_builder_new(*context_out, builder_out, err)) < 0)
		return ret;
	return dwarfs_builder_set_level(*builder_out, level, err);
}
