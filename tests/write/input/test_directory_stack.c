/* SPDX-License-Identifier: MIT */
/*
 * write/input/directory_stack: each directory of a depth-first walk is opened, at any
 * depth, with a bounded number of descriptors, and the path is restored.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "write/input/directory_stack.h"

#define DEPTH 150

/* Make d/d/d/... and note the inode of each, then open them one below the other. */
static void deep_directories_are_opened(void **state)
{
	char root[] = "/tmp/dwarfs-stack-XXXXXX", path[2 * DEPTH + 2] = "";
	struct directory_stack stack = { 0 };
	static ino_t inodes[DEPTH + 1];
	struct stat status;
	size_t bytes = 0;
	int fd, here;

	(void)state;
	assert_non_null(mkdtemp(root));
	stack.root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(stack.root_fd >= 0);
	here = dup(stack.root_fd);
	for (int depth = 1; depth <= DEPTH; depth++) {
		int next;

		assert_int_equal(mkdirat(here, "d", 0700), 0);
		next = openat(here, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(here);
		here = next;
		assert_int_equal(fstat(here, &status), 0);
		inodes[depth] = status.st_ino;
	}
	close(here);
	for (int depth = 1; depth <= DEPTH; depth++) {
		bytes += (size_t)snprintf(path + bytes, sizeof(path) - bytes, "%sd",
					  depth > 1 ? "/" : "");
		assert_int_equal(dw_directory_stack_open(&stack, path, bytes, &fd), 0);
		assert_int_equal(strlen(path), bytes);
		assert_int_equal(fstat(fd, &status), 0);
		assert_int_equal(status.st_ino, inodes[depth]);
		assert_in_range(stack.count, 1, DIRECTORY_STACK_SLOTS);
	}
	dw_directory_stack_close_others(&stack);
	assert_int_equal(stack.count, 1);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_ino, inodes[DEPTH]);
	/* A missing child of an ancestor is an error, and its sibling can be opened. */
	memcpy(path, "d/d/x", 6);
	assert_int_equal(dw_directory_stack_open(&stack, path, 5, &fd), -ENOENT);
	assert_string_equal(path, "d/d/x");
	memcpy(path, "d/d/d", 6);
	assert_int_equal(dw_directory_stack_open(&stack, path, 5, &fd), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_ino, inodes[3]);
	for (int depth = DEPTH; depth > 0; depth--) {
		here = openat(stack.root_fd, ".", O_RDONLY | O_DIRECTORY);
		for (int i = 1; i < depth; i++) {
			int next = openat(here, "d", O_RDONLY | O_DIRECTORY);

			close(here);
			here = next;
		}
		assert_int_equal(unlinkat(here, "d", AT_REMOVEDIR), 0);
		close(here);
	}
	close(stack.root_fd);
	stack.root_fd = -1;
	dw_directory_stack_free(&stack);
	assert_int_equal(rmdir(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		deep_directories_are_opened) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
