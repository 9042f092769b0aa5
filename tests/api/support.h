/* SPDX-License-Identifier: MIT */
/*
 * api/support: a directory on disk and its image, shared by the tests of the API.
 *
 * Each test program makes the image once, with the library itself, and keeps it in
 * memory. Uses public headers only.
 */
#ifndef TESTS_API_SUPPORT_H
#define TESTS_API_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dwarfs/dwarfs.h>

#include "../support/temporary.h"

#define BIG_BYTES	  (700 * 1024 + 13) /* several blocks, and some more */
#define SPARSE_BYTES	  (1 << 20)
#define SPARSE_DATA_AT	  (256 * 1024)
#define SPARSE_DATA_BYTES 8192
#define BLOCK_BITS	  16

/* The contents of the directory: see make_tree() in support.c. */
#define TREE_ENTRIES 16 /* the root included */
#define TREE_FILES   8	/* each hard link counted */

struct bytes {
	uint8_t *data;
	size_t size;
};

struct fixture {
	char dir[TEMPORARY_BYTES]; /* a temporary directory */
	char tree[80];		   /* dir/tree, which is packed */
	char path[80];		   /* dir/image.dwarfs */
	struct bytes image;	   /* the same */
};

/* For cmocka_run_group_tests(): *state is the fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Appends to a struct bytes; a callback of dwarfs_sink_new(). */
int append_bytes(const void *data, size_t bytes, dwarfs_error **err, void *user);

/* A context with this number of workers. */
dwarfs_context *context_with(uint32_t workers);

/* A dwarfs_piece_fn that does nothing. */
int ignore_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		 dwarfs_error **err, void *user);

/* Run the builder; the image is passed to a callback, or written to a descriptor. */
int write_to_function(dwarfs_builder *builder, dwarfs_sink_write_fn write, void *user,
		      dwarfs_error **err);
int write_to_fd(dwarfs_builder *builder, int fd, dwarfs_error **err);

/* A task with a progress callback, or NULL for none. */
dwarfs_task *new_task(dwarfs_progress_fn progress, void *user);

/* A builder for the tree, with small blocks and quick codecs. */
dwarfs_builder *new_builder(const struct fixture *fixture, dwarfs_context *context);

/* The image in memory, opened. */
dwarfs_image *open_image(const struct fixture *fixture, dwarfs_context *context);

/* The entry of a path; fails the test if it does not exist. */
dwarfs_entry find_entry(const dwarfs_image *image, const char *path);
dwarfs_inode find_inode(const dwarfs_image *image, const char *path);

/* A file of the tree as it is on disk; free data. */
struct bytes load(const struct fixture *fixture, const char *path);
struct bytes load_path(const char *path);
void remove_tree(const char *path);
void store_path(const char *path, const void *data, size_t size);

/* Succeed, or show the message and fail. */
#define assert_success(expression, err)                                                  \
	do {                                                                             \
		int code_ = (expression);                                                \
		if (code_ < 0)                                                           \
			fail_msg("%s: %s (%d)", #expression, dwarfs_error_message(err),  \
				 code_);                                                 \
	} while (0)

/* Fail with this code, in the result and in the error; the error is freed. */
#define assert_failure(expression, expected, err)                                        \
	do {                                                                             \
		assert_int_equal(expression, expected);                                  \
		assert_non_null(err);                                                    \
		assert_int_equal(dwarfs_error_code(err), expected);                      \
		assert_true(strlen(dwarfs_error_message(err)) > 0);                      \
		dwarfs_error_free(err);                                                  \
		(err) = NULL;                                                            \
	} while (0)

#endif
