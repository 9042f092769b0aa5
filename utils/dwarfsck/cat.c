/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/cat: write the contents of files one after the other, as cat(1).
 *
 * Symbolic links are followed within the image. A file that cannot be written is
 * reported, and the next one follows.
 */
#include "dwarfsck/dwarfsck.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

TOOL_DEFINE_AUTO(dwarfs_file, dwarfs_file)
TOOL_DEFINE_AUTO(dwarfs_borrowed, dwarfs_borrowed)

#define PIECE_BYTES ((size_t)1 << 20)

/* Returns 0, or an errno value. */
static int write_to_stdout(const char *data, size_t bytes)
{
	while (bytes > 0) {
		const ssize_t put = write(STDOUT_FILENO, data, bytes);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return errno;
		data += put;
		bytes -= (size_t)put;
	}
	return 0;
}

/* Returns 0, or 1 after printing; 2 when stdout takes no more. */
static int write_mapped_piece(const dwarfs_file *file, const char *path, uint64_t at,
			      size_t *bytes_out)
{
	auto_handle(dwarfs_borrowed) *borrowed = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	size_t i;

	if (dwarfs_file_borrow(file, PIECE_BYTES, at, &borrowed, &err) < 0)
		return tool_fail(err, "%s", path);
	*bytes_out = dwarfs_borrowed_bytes(borrowed);
	for (i = 0; i < dwarfs_borrowed_count(borrowed); i++) {
		size_t bytes;
		const char *part = dwarfs_borrowed_part(borrowed, i, &bytes);
		const int errnum = write_to_stdout(part, bytes);

		if (errnum == 0)
			continue;
		tool_error("cannot write to standard output: %s", strerror(errnum));
		return 2;
	}
	return 0;
}

static int cat_file(const dwarfs_image *image, const char *path)
{
	auto_handle(dwarfs_file) *file = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_entry entry;
	dwarfs_inode inode;
	uint64_t at = 0;
	size_t bytes = 1;
	int ret = 0;

	if (dwarfs_find_followed(image, path, &entry, &err) < 0)
		return tool_fail(err, NULL);
	if (dwarfs_entry_inode(image, entry, &inode, &err) < 0 ||
	    dwarfs_file_open(image, inode, &file, &err) < 0) {
		if (dwarfs_error_code(err) == DWARFS_ERR_IS_DIR)
			return tool_error("'%s': is a directory", path);
		return tool_fail(err, "'%s'", path);
	}
	for (; ret == 0 && bytes > 0; at += bytes)
		ret = write_mapped_piece(file, path, at, &bytes);
	return ret;
}

int print_files(const dwarfs_image *image, const char *const *paths, size_t count)
{
	int code = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		const int ret = cat_file(image, paths[i]);

		if (ret == 2)
			return 1;
		code |= ret;
	}
	return code;
}
