/* SPDX-License-Identifier: MIT */
/*
 * write/input/directory_cache: directories that are used repeatedly stay open.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "support/few_descriptors.h"
#include "support/write_run.h"
#include "write/input/directory_cache.h"

struct lab {
	struct tree tree;
	struct directory_cache cache;
	int root_fd;
};

static void add(struct lab *lab, uint32_t parent, const char *name)
{
	struct os_stat stat = { .mode = 0100644 };
	struct span span = { (const uint8_t *)name, strlen(name) };
	uint32_t inode;

	assert_int_equal(dw_tree_add_inode(&lab->tree, &stat, false, &inode, NULL), 0);
	assert_int_equal(dw_tree_add_entry(&lab->tree, parent, span, inode, NULL), 0);
}

/* 1 d, 2 d/f, 3 d/g, 4 top */
static void begin(struct lab *lab, const struct place *place)
{
	*lab = (struct lab){ .root_fd = open(place->in, O_RDONLY | O_DIRECTORY) };
	assert_true(lab->root_fd >= 0);
	put_dir(place, "d");
	put_text(place, "d/f", "f");
	put_text(place, "d/g", "g");
	put_text(place, "top", "t");
	add(lab, 0, "");
	add(lab, 0, "d");
	add(lab, 1, "f");
	add(lab, 1, "g");
	add(lab, 0, "top");
	dw_directory_cache_init(&lab->cache, lab->root_fd, &lab->tree, 4);
}

static void end(struct lab *lab)
{
	dw_directory_cache_free(&lab->cache);
	dw_tree_free(&lab->tree);
	close(lab->root_fd);
}

static void expect_file(struct lab *lab, uint32_t entry, char byte)
{
	char got;
	int fd = -1;

	assert_int_equal(dw_directory_cache_open_file(&lab->cache, entry, &fd), 0);
	assert_int_equal(read(fd, &got, 1), 1);
	assert_int_equal(got, byte);
	close(fd);
}

static void expect_ancestor(struct lab *lab, uint32_t entry, bool cached,
			    const char *wanted)
{
	struct cached_directory *ancestor;
	const char *path;

	assert_int_equal(dw_directory_cache_find_ancestor(&lab->cache, entry, &ancestor,
							  &path, NULL),
			 0);
	assert_int_equal(ancestor != NULL, cached);
	assert_string_equal(path, wanted);
}

static void the_second_file_in_a_row_opens_the_directory(void **state)
{
	struct lab lab;

	begin(&lab, *state);
	expect_file(&lab, 2, 'f');
	expect_ancestor(&lab, 3, false, "d/g");
	expect_file(&lab, 3, 'g');
	expect_ancestor(&lab, 2, true, "f");
	expect_file(&lab, 2, 'f');
	expect_file(&lab, 4, 't'); /* files of the root need none */
	expect_ancestor(&lab, 4, false, "top");
	end(&lab);
}

static void a_directory_is_open_while_it_has_users(void **state)
{
	struct cached_directory *directory;
	struct lab lab;
	int fd;

	begin(&lab, *state);
	fd = open(in(*state, "d"), O_RDONLY | O_DIRECTORY);
	assert_int_equal(dw_directory_cache_keep(&lab.cache, 1, fd, NULL), 0);
	directory = dw_cached_directory_share(lab.cache.slots[1].directory);
	assert_int_equal(directory->fd, fd);
	/* entry 5 would have the same slot */
	assert_int_equal(dw_directory_cache_keep(&lab.cache, 5, dup(lab.root_fd), NULL),
			 0);
	expect_ancestor(&lab, 2, false, "d/f");
	assert_true(fcntl(fd, F_GETFD) >= 0);
	dw_cached_directory_release(directory);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_null(dw_cached_directory_share(NULL));
	dw_cached_directory_release(NULL);
	end(&lab);
}

static void a_missing_file_is_an_error(void **state)
{
	struct lab lab;
	int fd = -1;

	begin(&lab, *state);
	assert_int_equal(unlink(in(*state, "d/f")), 0);
	assert_true(dw_directory_cache_open_file(&lab.cache, 2, &fd) < 0);
	expect_file(&lab, 3, 'g');
	end(&lab);
}

/* The descriptors of the cache are used for the file. */
static void without_descriptors_the_cache_is_emptied(void **state)
{
	struct rlimit old;
	struct lab lab;
	int fd, other = -1;

	begin(&lab, *state);
	expect_file(&lab, 2, 'f');
	expect_file(&lab, 3, 'g');
	expect_ancestor(&lab, 2, true, "f");
	old = leave_descriptors(0);
	if (!has_no_descriptor()) {
		allow_descriptors(old);
		end(&lab);
		skip();
	}
	expect_file(&lab, 2, 'f');
	expect_ancestor(&lab, 2, false, "d/f");
	assert_int_equal(dw_directory_cache_open_file(&lab.cache, 2, &fd), 0);
	assert_int_equal(dw_directory_cache_open_file(&lab.cache, 3, &other), -EMFILE);
	close(fd);
	allow_descriptors(old);
	end(&lab);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		TEST(the_second_file_in_a_row_opens_the_directory),
		TEST(a_directory_is_open_while_it_has_users),
		TEST(a_missing_file_is_an_error),
		TEST(without_descriptors_the_cache_is_emptied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
