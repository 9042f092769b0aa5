/* SPDX-License-Identifier: MIT */
/*
 * write/images/base_images: the data of a base is used, but not its entries.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "format/section.h"
#include "read/image/image.h"
#include "support/made_image.h"

#define BIG_BYTES 10000

static uint8_t big[BIG_BYTES], other[BIG_BYTES];

static void make_base(struct made_image *made)
{
	auto_made_builder dwarfs_builder *builder = made_builder();

	for (size_t i = 0; i < BIG_BYTES; i++) {
		big[i] = (uint8_t)(i * 7 + i / 256);
		other[i] = (uint8_t)(i * 13 + i / 99);
	}
	made_add(builder, "big", big, BIG_BYTES);
	made_add_text(builder, "gone", "is not in the new image");
	made_finish(builder, made);
}

static dwarfs_builder *builder_with(const struct made_image *base,
				    enum dwarfs_base_trust trust)
{
	dwarfs_builder *builder = made_builder();

	assert_int_equal(dwarfs_builder_add_base(builder, base->image, trust, NULL), 0);
	return builder;
}

/* The first block is that of the base. */
static bool uses_base(const struct made_image *made, const struct made_image *base)
{
	struct span old = made_section(base, DWARFS_SECTION_BLOCK, 0);
	struct span new = made_section(made, DWARFS_SECTION_BLOCK, 0);

	return old.size == new.size &&memcmp(old.data, new.data, old.size) == 0;
}

static void equal_contents_are_those_of_the_base(void **state)
{
	static const enum dwarfs_base_trust all[] = { DWARFS_BASE_TRUST_TIMES,
						      DWARFS_BASE_TRUST_NONE };
	auto_made struct made_image base = { 0 };

	make_base(&base);
	for (size_t i = 0; i < 2; i++) {
		auto_made_builder dwarfs_builder *builder = builder_with(&base, all[i]);
		auto_made struct made_image made = { 0 };

		made_add(builder, "d/moved", big, BIG_BYTES);
		made_add_text(builder, "new", "text");
		made_finish(builder, &made);
		assert_true(uses_base(&made, &base));
		assert_false(made_has(&made, "big"));
		assert_false(made_has(&made, "gone"));
		made_expect(&made, "d/moved", big, BIG_BYTES);
		made_expect_text(&made, "new", "text");
		assert_int_equal(dwarfs_image_entry_count(made.image), 4);
	}
}

static void nothing_is_kept_that_is_not_needed(void **state)
{
	auto_made struct made_image base = { 0 }, made = { 0 }, wanted = { 0 };
	auto_made_builder dwarfs_builder *builder = NULL, *plain = made_builder();

	make_base(&base);
	builder = builder_with(&base, DWARFS_BASE_TRUST_NONE);
	made_add(builder, "other", other, BIG_BYTES); /* of the same size */
	made_finish(builder, &made);
	made_add(plain, "other", other, BIG_BYTES);
	made_finish(plain, &wanted);
	assert_true(uses_base(&made, &wanted));
	assert_int_equal(made_section(&made, DWARFS_SECTION_BLOCK, 3).size, 0);
	made_expect(&made, "other", other, BIG_BYTES);
}

/* A base that tells when its data were read: long after the time of its files. */
static void make_dated_base(struct made_image *made)
{
	auto_made_builder dwarfs_builder *builder = made_builder();

	make_base(made); /* fills the arrays */
	made_image_free(made);
	dwarfs_builder_set_create_timestamp(builder, true);
	made_add(builder, "big", big, BIG_BYTES);
	made_finish(builder, made);
}

/* Whether the contents of the base are taken for those of a file of equal time. */
static bool is_trusted(const struct made_image *base)
{
	auto_made_builder dwarfs_builder *builder =
		builder_with(base, DWARFS_BASE_TRUST_TIMES);
	auto_made struct made_image made = { 0 };
	bool is_trusted;

	made_add(builder, "big", other, BIG_BYTES);
	made_finish(builder, &made);
	is_trusted = uses_base(&made, base);
	made_expect(&made, "big", is_trusted ? big : other, BIG_BYTES);
	return is_trusted;
}

static dwarfs_builder *rebuilder(bool has_versions)
{
	dwarfs_builder *builder = made_builder();

	dwarfs_builder_set_create_timestamp(builder, true);
	dwarfs_builder_set_version_history(builder, has_versions);
	return builder;
}

/* Without the time when its data were read, or with one of another program. */
static void a_base_of_unknown_age_is_not_trusted(void **state)
{
	auto_made struct made_image none = { 0 }, dated = { 0 }, of_none = { 0 };
	auto_made_builder dwarfs_builder *builder = rebuilder(true);
	int64_t seconds;

	make_base(&none);
	assert_false(is_trusted(&none));
	assert_int_equal(
		made_rewrite(&none, DWARFS_REWRITE_REBUILD, builder, &of_none, NULL), 0);
	made_open(&of_none, DWARFS_VERIFY_EAGER);
	assert_false(dwarfs_image_created_on(of_none.image, &seconds));
	assert_false(is_trusted(&of_none));
	make_dated_base(&dated);
	assert_true(is_trusted(&dated));
}

/* The time of an image that is made from others is the oldest of them. */
static void a_rebuilt_base_is_as_old_as_its_data(void **state)
{
	auto_made struct made_image base = { 0 };
	int64_t old, seconds;

	make_dated_base(&base);
	assert_true(dwarfs_image_created_on(base.image, &old));
	base.image->view->create_timestamp = 1; /* a second after the time of the file */
	for (int i = 0; i < 2; i++) {
		auto_made_builder dwarfs_builder *builder = rebuilder(i == 1);
		auto_made struct made_image made = { 0 };

		assert_int_equal(
			made_rewrite(&base, DWARFS_REWRITE_REBUILD, builder, &made, NULL),
			0);
		made_open(&made, DWARFS_VERIFY_EAGER);
		assert_true(dwarfs_image_created_on(made.image, &seconds));
		assert_int_equal(seconds, 1);
		assert_false(is_trusted(&made));
	}
}

/* Path, size and time are the same, the bytes are not. */
static void times_are_trusted_only_if_wanted(void **state)
{
	auto_made struct made_image base = { 0 };

	make_dated_base(&base);
	for (int trust = 0; trust < 2; trust++) {
		auto_made_builder dwarfs_builder *builder = builder_with(
			&base, trust ? DWARFS_BASE_TRUST_TIMES : DWARFS_BASE_TRUST_NONE);
		auto_made struct made_image made = { 0 };

		made_add(builder, "big", other, BIG_BYTES);
		made_finish(builder, &made);
		made_expect(&made, "big", trust ? big : other, BIG_BYTES);
	}
}

static void another_time_is_not_trusted(void **state)
{
	auto_made struct made_image base = { 0 }, made = { 0 };
	auto_made_builder dwarfs_builder *builder = NULL;
	dwarfs_item *item = NULL;

	make_dated_base(&base);
	builder = builder_with(&base, DWARFS_BASE_TRUST_TIMES);
	assert_int_equal(dwarfs_item_new(0100644, &item, NULL), 0);
	dwarfs_item_set_time(item, DWARFS_MTIME, 5, 0);
	assert_int_equal(dwarfs_item_set_memory(item, other, BIG_BYTES, NULL), 0);
	assert_int_equal(dwarfs_builder_add_item(builder, "big", 3, item, NULL), 0);
	dwarfs_item_free(item);
	made_finish(builder, &made);
	made_expect(&made, "big", other, BIG_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_contents_are_those_of_the_base),
		cmocka_unit_test(nothing_is_kept_that_is_not_needed),
		cmocka_unit_test(times_are_trusted_only_if_wanted),
		cmocka_unit_test(another_time_is_not_trusted),
		cmocka_unit_test(a_base_of_unknown_age_is_not_trusted),
		cmocka_unit_test(a_rebuilt_base_is_as_old_as_its_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
