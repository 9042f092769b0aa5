/* SPDX-License-Identifier: MIT */
/*
 * extract/write_contents: copy the contents of one file from the image to a descriptor.
 *
 * Writes contents to an empty file and sets its size. Holes are not written; zeros that
 * are stored as data are.
 */
#include "base/memory.h"
#include "extract/write_contents.h"
#include "os/create.h"
#include "os/file_io.h"

#define BUFFER_BYTES ((size_t)1 << 20)

DW_DEFINE_AUTO(contents_file, dwarfs_file *, dwarfs_file_free)

/* The next stretch of data at or after *from_inout; *to_out is *from_inout at the end. */
static int next_data_range(const dwarfs_file *file, uint64_t *from_inout,
			   uint64_t *to_out, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	uint64_t size = dwarfs_file_bytes(file), data, hole;
	int ret = dwarfs_file_seek_data(file, *from_inout, &data, &why);

	if (ret == DWARFS_ERR_NOT_FOUND) {
		*from_inout = *to_out = size;
		return 0;
	}
	if (ret < 0) {
		if (err)
			*err = dw_steal(why);
		return ret;
	}
	if ((ret = dwarfs_file_seek_hole(file, data, &hole, err)) < 0)
		return ret;
	*from_inout = data;
	*to_out = hole < size ? hole : size;
	return 0;
}

static int copy_range(struct job *job, const dwarfs_file *file, uint64_t from,
		      uint64_t to, int fd, void *buffer, dwarfs_error **err)
{
	while (from < to) {
		size_t part = BUFFER_BYTES, got;
		int ret;

		if (!dw_job_continues(job))
			return dw_fail(err, DWARFS_ERR_CANCELLED, "cancelled");
		if (part > to - from)
			part = (size_t)(to - from);
		ret = dwarfs_file_read(file, buffer, part, from, &got, err);
		if (ret < 0)
			return dw_explain(err, ret, "cannot read the contents");
		if (got == 0)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "the contents end at %" PRIu64 ", before the file",
				       from);
		if ((ret = dw_fd_write_at(fd, buffer, got, from)) < 0)
			return dw_fail_errno(err, -ret, "cannot write the file");
		from += got;
		atomic_fetch_add(&job->counts.bytes_done, got);
		atomic_fetch_add(&job->counts.bytes_out, got);
	}
	return 0;
}

int dw_contents_write(struct job *job, dwarfs_inode inode, int fd, dwarfs_error **err)
{
	DW_AUTO(contents_file) dwarfs_file *file = NULL;
	auto_free void *buffer = dw_malloc(BUFFER_BYTES);
	uint64_t at = 0, written = 0, size;
	int ret;

	if (!buffer)
		return dw_fail_nomem(err);
	if ((ret = dwarfs_file_open(job->image, inode, &file, err)) < 0)
		return ret;
	size = dwarfs_file_bytes(file);
	while (at < size) {
		uint64_t to;

		if ((ret = next_data_range(file, &at, &to, err)) < 0 ||
		    (ret = copy_range(job, file, at, to, fd, buffer, err)) < 0)
			return ret;
		if (to > at)
			written = to;
		at = to;
	}
	if (written < size && (ret = dw_create_resize(fd, size)) < 0)
		return dw_fail_errno(err, -ret, "cannot set the size of the file");
	return 0;
}
