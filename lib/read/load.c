/* SPDX-License-Identifier: MIT */
/*
 * read/load: read a whole file by its path. See dwarfs_load().
 */
#include <dwarfs/file.h>

#include "base/progress.h"
#include "read/file.h"

#define PIECE_BYTES ((size_t)4 << 20) /* read between checks for cancellation */

DW_DEFINE_AUTO(loaded, dwarfs_file *, dwarfs_file_free)

/* The error has the path instead of the number of the inode. */
static int fail_to_open(const char *path, int code, dwarfs_error **err)
{
	if (code == DWARFS_ERR_IS_DIR)
		dw_fail(err, code, "'%s' is a directory", path);
	else if (code == DWARFS_ERR_INVALID)
		dw_fail(err, code, "'%s' is not a regular file", path);
	else
		dw_explain(err, code, "'%s'", path);
	return dw_error_at_path(err, code, path);
}

static int open_by_path(const dwarfs_image *image, const char *path,
			dwarfs_file **file_out, dwarfs_error **err)
{
	dwarfs_entry entry;
	dwarfs_inode inode;
	int ret;

	if ((ret = dwarfs_find_followed(image, path, &entry, err)) < 0)
		return ret;
	if ((ret = dwarfs_entry_inode(image, entry, &inode, err)) < 0 ||
	    (ret = dwarfs_file_open(image, inode, file_out, err)) < 0)
		return fail_to_open(path, ret, err);
	return 0;
}

static int read_pieces(const dwarfs_file *file, uint8_t *data, size_t bytes,
		       struct dwarfs_progress *progress, dwarfs_error **err)
{
	int ret = dw_progress_enter(progress, DWARFS_PHASE_READ, err);

	while (ret == 0 && progress->bytes_done < bytes) {
		const size_t done = (size_t)progress->bytes_done;
		const size_t left = bytes - done;
		size_t got;

		ret = dwarfs_file_read(file, data + done,
				       left < PIECE_BYTES ? left : PIECE_BYTES, done,
				       &got, err);
		if (ret < 0)
			return ret;
		if (got == 0)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "the contents end before the file");
		progress->bytes_done += got;
		ret = dw_progress_tick(progress, err);
	}
	return ret;
}

int dwarfs_load(const dwarfs_image *image, const char *path, size_t max_bytes,
		const dwarfs_task *task, void **data_out, size_t *bytes_out,
		dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	DW_AUTO(loaded) dwarfs_file *file = NULL;
	auto_free uint8_t *data = NULL;
	struct dwarfs_progress progress;
	uint64_t bytes;
	int ret;

	if (!image || !path || !data_out || !bytes_out)
		return dw_fail_null(err, "image, path, data_out and bytes_out");
	if ((ret = open_by_path(image, path, &file, err)) < 0)
		return ret;
	bytes = dwarfs_file_bytes(file);
	if (bytes > max_bytes || bytes >= SIZE_MAX)
		return dw_error_at_path(err,
					dw_fail(err, DWARFS_ERR_LIMIT,
						"'%s' has %" PRIu64
						" bytes, more than the limit of %zu",
						path, bytes, max_bytes),
					path);
	if (!(data = dw_malloc((size_t)bytes + 1)))
		return dw_fail_nomem(err);
	dw_progress_start(&progress, task);
	progress.items_total = 1;
	progress.bytes_total = bytes;
	if ((ret = read_pieces(file, data, (size_t)bytes, &progress, err)) < 0)
		return ret;
	progress.items_done = 1;
	dw_progress_done(&progress);
	data[bytes] = '\0';
	*data_out = dw_steal(data);
	*bytes_out = (size_t)bytes;
	return 0;
}
