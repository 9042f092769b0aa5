/* SPDX-License-Identifier: MIT */
/*
 * write/images/source_image: what a source image owns is freed with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/images/source_image.h"

static void count_call(void *user)
{
	++*(int *)user;
}

/* With a sanitizer, what is not freed is reported. */
static void everything_is_freed_once(void **state)
{
	static const struct source_image_ops ops = { .release = count_call };
	struct source_image *image = dw_calloc(1, sizeof(*image));
	int calls = 0;

	assert_non_null(image);
	image->ops = &ops;
	image->user = &calls;
	image->name = dw_strdup("name");
	image->blocks = dw_calloc(3, sizeof(*image->blocks));
	assert_int_equal(dw_grow(&image->sections, &image->section_room, 2, NULL), 0);
	image->sections[0] = image->sections[1] = (struct stored_section){ 0 };
	image->section_count = 2;
	assert_int_equal(dw_buffer_append(&image->sections[1].payload, "abc", 3, NULL),
			 0);
	assert_int_equal(dw_grow(&image->versions, &image->version_room, 1, NULL), 0);
	image->versions[0] =
		(struct source_version){ .dwarfs_version = dw_strdup("version") };
	image->version_count = 1;
	dw_source_image_free(image);
	assert_int_equal(calls, 1);
}

static void half_made_and_none(void **state)
{
	static const struct source_image_ops ops = { .release = count_call };
	struct source_image *image = dw_calloc(1, sizeof(*image));
	struct stored_section section = { 0 };
	int calls = 0;

	assert_non_null(image);
	image->ops = &ops;
	image->user = &calls;
	dw_source_image_free(image);
	assert_int_equal(calls, 1);
	dw_source_image_free(NULL);
	assert_int_equal(dw_buffer_append(&section.payload, "abc", 3, NULL), 0);
	dw_stored_section_free(&section);
	assert_null(section.payload.data);
	dw_stored_section_free(&section);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_freed_once),
		cmocka_unit_test(half_made_and_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
