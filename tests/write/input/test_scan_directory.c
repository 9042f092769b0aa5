/* SPDX-License-Identifier: MIT */
/*
 * write/input/scan_directory: the entries of one directory with their attributes, in
 * parts.
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
#include <sys/stat.h>
#include <unistd.h>

#include "format/metadata.h"
#include "support/write_run.h"
#include "write/input/scan_directory.h"

/* List a directory of the input, as the task does. */
static struct listing *list(const struct place *place,
			    const struct build_options *options, const char *path,
			    int *root_fd_out)
{
	struct listing *listing;

	*root_fd_out = open(place->in, O_RDONLY | O_DIRECTORY);
	assert_true(*root_fd_out >= 0);
	listing = dw_listing_new(options, *root_fd_out, NULL, path, path);
	assert_non_null(listing);
	listing->task.run(&listing->task);
	return listing;
}

/* The entry of a name in a part; NULL if the part has none. */
static const struct listed *entry_of(const struct listing_part *part, const char *name)
{
	for (size_t i = 0; i < part->count; i++)
		if (strcmp(dw_os_name(&part->listing->names, part->first + i), name) == 0)
			return &part->list[i];
	return NULL;
}

static void attributes_and_targets_are_read(void **state)
{
	const struct build_options options = { .umask = 0 };
	const struct place *place = *state;
	const struct listing_part *part;
	const struct listed *listed;
	struct listing *listing;
	int root_fd;

	put_dir(place, "d");
	put_text(place, "d/file", "12345");
	assert_int_equal(symlink("to/nothing", in(place, "d/link")), 0);
	listing = list(place, &options, "d", &root_fd);
	assert_int_equal(listing->errnum, 0);
	assert_int_equal(listing->names.count, 2);
	assert_int_equal(listing->part_count, 1);
	part = &listing->parts[0];
	assert_false(part->no_memory);
	listed = entry_of(part, "file");
	assert_non_null(listed);
	assert_true(listed->is_included);
	assert_int_equal(listed->errnum, 0);
	assert_int_equal(listed->stat.mode & DW_S_IFMT, DW_S_IFREG);
	assert_int_equal(listed->stat.size, 5);
	listed = entry_of(part, "link");
	assert_non_null(listed);
	assert_int_equal(listed->stat.mode & DW_S_IFMT, DW_S_IFLNK);
	assert_string_equal((const char *)part->targets.data + listed->target,
			    "to/nothing");
	dw_listing_free(listing);
	close(root_fd);
}

/* The descriptor is kept for subdirectories and further parts only. */
static void directories_stay_open_while_needed(void **state)
{
	const struct build_options options = { .umask = 0 };
	const struct place *place = *state;
	struct listing *listing;
	int root_fd;

	put_dir(place, "leaf");
	put_text(place, "leaf/file", "");
	put_dir(place, "inner");
	put_dir(place, "inner/sub");
	listing = list(place, &options, "leaf", &root_fd);
	assert_int_equal(listing->fd, -1);
	dw_listing_free(listing);
	close(root_fd);
	listing = list(place, &options, "inner", &root_fd);
	assert_true(listing->fd >= 0);
	dw_listing_free(listing);
	close(root_fd);
}

static void large_directories_have_parts(void **state)
{
	enum { FILES = LISTING_PART + 5 };
	const struct build_options options = { .umask = 0 };
	const struct place *place = *state;
	struct listing *listing;
	struct listing_part *last;
	char name[32];
	int root_fd;

	put_dir(place, "many");
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "many/%04d", i);
		put_text(place, name, "");
	}
	listing = list(place, &options, "many", &root_fd);
	assert_int_equal(listing->part_count, 2);
	assert_int_equal(listing->parts[0].count, LISTING_PART);
	last = &listing->parts[1];
	assert_int_equal(last->first, LISTING_PART);
	assert_int_equal(last->count, 5);
	assert_null(last->list); /* its task has not run */
	assert_true(listing->fd >= 0);
	last->task.run(&last->task);
	assert_non_null(last->list);
	for (size_t i = 0; i < last->count; i++)
		assert_int_equal(last->list[i].stat.mode & DW_S_IFMT, DW_S_IFREG);
	dw_listing_drop_part(last);
	assert_null(last->list);
	dw_listing_free(listing);
	close(root_fd);
}

/* Rules apply to the path from the root. */
static void filtered_entries_are_marked(void **state)
{
	struct build_options options = { .umask = 0 };
	const struct place *place = *state;
	struct listing *listing;
	int root_fd;

	put_dir(place, "d");
	put_dir(place, "d/sub");
	put_text(place, "d/a.c", "");
	put_text(place, "d/a.o", "1234");
	assert_int_equal(dw_filter_new(&options.input.filter, NULL), 0);
	assert_int_equal(dw_filter_add(options.input.filter, "- /d/*.o", NULL), 0);
	assert_int_equal(dw_filter_add(options.input.filter, "- /d/sub/", NULL), 0);
	listing = list(place, &options, "d", &root_fd);
	assert_true(entry_of(&listing->parts[0], "a.c")->is_included);
	assert_false(entry_of(&listing->parts[0], "a.o")->is_included);
	assert_false(entry_of(&listing->parts[0], "sub")->is_included);
	assert_int_equal(entry_of(&listing->parts[0], "sub")->stat.mode & DW_S_IFMT,
			 DW_S_IFDIR);
	assert_int_equal(listing->fd, -1); /* no subdirectory is included */
	dw_listing_free(listing);
	close(root_fd);
	dw_filter_free(options.input.filter);
}

static void unreadable_directories_have_a_reason(void **state)
{
	const struct build_options options = { .umask = 0 };
	const struct place *place = *state;
	struct listing *listing;
	int root_fd;

	put_text(place, "file", "");
	listing = list(place, &options, "missing", &root_fd);
	assert_int_equal(listing->errnum, ENOENT);
	assert_int_equal(listing->part_count, 0);
	dw_listing_free(listing);
	close(root_fd);
	listing = list(place, &options, "file", &root_fd);
	assert_int_equal(listing->errnum, ENOTDIR);
	dw_listing_free(listing);
	close(root_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(attributes_and_targets_are_read,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(directories_stay_open_while_needed,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(large_directories_have_parts, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(filtered_entries_are_marked, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(unreadable_directories_have_a_reason,
						make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
