/* SPDX-License-Identifier: MIT */
/*
 * write/input/entry_details: extended attributes and birth times, as the options ask.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "support/write_run.h"
#include "write/input/entry_details.h"
#include "write/tree/xattr_sets.h"

/* The input folder, with a file that has attributes, and one that has none. */
static int make_attributes(void **state)
{
	struct place *place;

	if (make_place(state) != 0)
		return -1;
	place = *state;
	put_text(place, "file", "");
	put_text(place, "plain", "");
	return 0;
}

static int open_input(const struct place *place)
{
	int fd = open(place->in, O_RDONLY | O_DIRECTORY);

	assert_true(fd >= 0);
	return fd;
}

static void set_attributes(const struct place *place)
{
	if (setxattr(in(place, "file"), "user.one", "1", 1, 0) != 0)
		skip(); /* this file system has no attributes */
	assert_int_equal(setxattr(in(place, "file"), "user.two", "22", 2, 0), 0);
	assert_int_equal(setxattr(place->in, "user.folder", "f", 1, 0), 0);
}

/* The attributes that an entry gets: "name=value " for each, in the order of the file
 * system. */
static const char *attributes_of(const struct place *place,
				 const struct build_options *options, const char *name)
{
	static char text[200];
	auto_buffer struct buffer list = { 0 };
	struct xattr_sets sets = { 0 };
	struct os_stat stat = { 0 };
	int fd = open_input(place), errnum = -1;
	uint32_t set;

	text[0] = '\0';
	assert_int_equal(dw_entry_details(options, fd, name, &stat, &list, &errnum), 0);
	assert_int_equal(errnum, 0);
	assert_int_equal(
		dw_xattrs_add_list(&sets, dw_buffer_span(&list), NULL, &set, NULL), 0);
	if (set != DW_NO_XATTRS) {
		struct span numbers = dw_string_set_at(&sets.sets, 0);
		const struct xattr_numbers *pairs = (const void *)numbers.data;

		for (size_t i = 0; i < numbers.size / sizeof(*pairs); i++) {
			struct span key = dw_string_set_at(&sets.names, pairs[i].name);
			struct span value =
				dw_string_set_at(&sets.values, pairs[i].value);

			snprintf(text + strlen(text), sizeof(text) - strlen(text),
				 "%.*s=%.*s ", (int)key.size, (const char *)key.data,
				 (int)value.size, (const char *)value.data);
		}
	}
	dw_xattrs_free(&sets);
	close(fd);
	return text;
}

static void attributes_are_those_of_the_name(void **state)
{
	const struct build_options options = { .xattrs = { .drop = false } };
	const char *text;

	set_attributes(*state);
	text = attributes_of(*state, &options, "file");
	assert_non_null(strstr(text, "user.one=1 "));
	assert_non_null(strstr(text, "user.two=22 "));
	assert_int_equal(strlen(text), strlen("user.one=1 user.two=22 "));
	assert_string_equal(attributes_of(*state, &options, "plain"), "");
	assert_string_equal(attributes_of(*state, &options, ""), "user.folder=f ");
}

static void rules_decide(void **state)
{
	struct build_options options = { .xattrs = { .drop = false } };
	const struct build_options none = { .xattrs = { .drop = true } };

	set_attributes(*state);
	assert_int_equal(dw_xattr_rules_add(&options.xattrs, false, "*.one", NULL), 0);
	assert_string_equal(attributes_of(*state, &options, "file"), "user.two=22 ");
	assert_string_equal(attributes_of(*state, &none, "file"), "");
	dw_xattr_rules_free(&options.xattrs);
}

/* Earlier attributes in the buffer stay, and the reason of a failure is returned. */
static void a_missing_name_is_reported(void **state)
{
	const struct build_options options = { .xattrs = { .drop = false } };
	auto_buffer struct buffer list = { 0 };
	struct os_stat stat = { 0 };
	int fd = open_input(*state), errnum = 0;

	assert_int_equal(dw_buffer_append(&list, "kept", 4, NULL), 0);
	assert_int_equal(dw_entry_details(&options, fd, "missing", &stat, &list, &errnum),
			 0);
	assert_int_equal(errnum, ENOENT);
	assert_int_equal(list.size, 4);
	close(fd);
}

static void birth_times_are_read_on_request(void **state)
{
	struct build_options options = { .xattrs = { .drop = true } };
	auto_buffer struct buffer list = { 0 };
	struct os_stat stat = { .btime = { 0, 0 } };
	struct os_time birth = { 0, 0 };
	int fd = open_input(*state), errnum;

	assert_int_equal(dw_entry_details(&options, fd, "file", &stat, &list, &errnum),
			 0);
	assert_int_equal(stat.btime.seconds, 0);
	if (dw_birth_at(fd, "file", &birth) < 0 || birth.seconds == 0) {
		close(fd);
		skip(); /* none in this file system, or no statx() */
	}
	options.keep_birth_times = true;
	assert_int_equal(dw_entry_details(&options, fd, "file", &stat, &list, &errnum),
			 0);
	assert_int_equal(stat.btime.seconds, birth.seconds);
	assert_int_equal(stat.btime.nanoseconds, birth.nanoseconds);
	assert_true(dw_keeps_times(&options));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(attributes_are_those_of_the_name,
						make_attributes, remove_place),
		cmocka_unit_test_setup_teardown(rules_decide, make_attributes,
						remove_place),
		cmocka_unit_test_setup_teardown(a_missing_name_is_reported,
						make_attributes, remove_place),
		cmocka_unit_test_setup_teardown(birth_times_are_read_on_request,
						make_attributes, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
