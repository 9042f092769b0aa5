/* SPDX-License-Identifier: MIT */
/*
 * rewrite/versions: each rebuild adds the version of the image that it was made from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "read/image/image.h"
#include "rewrite/versions.h"
#include "support/made_image.h"

static void no_free(void *user)
{
	(void)user;
}

/* A source that has versions only. */
static struct source_image *new_source(void)
{
	static const struct source_image_ops ops = { .release = no_free };
	struct source_image *source = dw_calloc(1, sizeof(*source));

	assert_non_null(source);
	source->ops = &ops;
	return source;
}

static void make(struct made_image *made)
{
	auto_made_builder dwarfs_builder *builder = made_builder();

	made_add_text(builder, "file", "text");
	assert_int_equal(dwarfs_builder_set_time_resolution(builder, 1000, NULL), 0);
	made_finish(builder, made);
}

static void rebuild(const struct made_image *from, bool stores_versions,
		    struct made_image *to)
{
	auto_made_builder dwarfs_builder *builder = made_builder();

	dwarfs_builder_set_version_history(builder, stores_versions);
	assert_int_equal(made_rewrite(from, DWARFS_REWRITE_REBUILD, builder, to, NULL),
			 0);
	made_open(to, DWARFS_VERIFY_EAGER);
}

static void expect_own(const struct source_version *version)
{
	assert_int_equal(version->major, 2);
	assert_int_equal(version->minor, 5);
	assert_int_equal(version->block_size, 4096);
	assert_non_null(strstr(version->dwarfs_version, "libdwarfs"));
	assert_true(version->has_options);
	assert_true(version->mtime_only);
	assert_true(version->has_subsecond_multiplier);
	assert_int_equal(version->subsecond_multiplier, 1000);
}

static void each_rebuild_adds_one(void **state)
{
	auto_made struct made_image made = { 0 }, once = { 0 }, twice = { 0 };
	const struct made_image *images[] = { &made, &once, &twice };

	make(&made);
	rebuild(&made, true, &once);
	rebuild(&once, true, &twice);
	for (size_t i = 0; i < 3; i++) {
		struct source_image *source = new_source();

		assert_int_equal(dw_versions_load(images[i]->image, source, NULL), 0);
		assert_int_equal(source->version_count, i + 1);
		for (size_t j = 0; j <= i; j++)
			expect_own(&source->versions[j]);
		dw_source_image_free(source);
	}
}

static void they_can_be_left_out(void **state)
{
	auto_made struct made_image made = { 0 }, once = { 0 }, twice = { 0 };
	struct source_image *source = new_source();

	make(&made);
	rebuild(&made, true, &once);
	rebuild(&once, false, &twice);
	assert_int_equal(dw_versions_load(twice.image, source, NULL), 0);
	assert_int_equal(source->version_count, 1);
	dw_source_image_free(source);
}

/* Versions of several images follow each other. */
static void they_are_appended(void **state)
{
	auto_made struct made_image made = { 0 }, once = { 0 };
	struct source_image *source = new_source();

	make(&made);
	rebuild(&made, true, &once);
	assert_int_equal(dw_versions_load(made.image, source, NULL), 0);
	assert_int_equal(dw_versions_load(once.image, source, NULL), 0);
	assert_int_equal(source->version_count, 3);
	dw_source_image_free(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rebuild_adds_one),
		cmocka_unit_test(they_can_be_left_out),
		cmocka_unit_test(they_are_appended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
