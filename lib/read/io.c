/* SPDX-License-Identifier: MIT */
/*
 * read/io: the source of an image's bytes.
 *
 * Takes a file, a descriptor, memory or callbacks; gives "read these bytes at this
 * offset". Ranges are checked here, so callbacks never get a request outside the source.
 */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#include "os/file_io.h"
#include "os/pages.h"
#include "read/io.h"

struct dwarfs_io {
	atomic_uint references;
	dwarfs_io_read_fn read;
	dwarfs_io_close_fn close;
	void *user;
	uint64_t bytes;
	const uint8_t *memory;	       /* of a source in memory */
	int fd;			       /* of a file; otherwise -1 */
	char *path;		       /* for messages; may be NULL */
	const uint8_t *_Atomic mapped; /* the whole file; NULL: not mapped */
};

dwarfs_io *dw_io_ref(dwarfs_io *io)
{
	atomic_fetch_add(&io->references, 1);
	return io;
}

void dwarfs_io_free(dwarfs_io *io)
{
	if (!io || atomic_fetch_sub(&io->references, 1) != 1)
		return;
	if (io->close)
		io->close(io->user);
	dw_pages_unmap(atomic_load(&io->mapped), io->bytes);
	dw_fd_close(io->fd);
	free(io->path);
	free(io);
}

static dwarfs_io *new_io(void)
{
	dwarfs_io *io = dw_calloc(1, sizeof(*io));

	if (io) {
		atomic_init(&io->references, 1);
		atomic_init(&io->mapped, NULL);
		io->fd = -1;
	}
	return io;
}

static int64_t read_descriptor(void *buffer, size_t bytes, uint64_t offset, void *user)
{
	const dwarfs_io *io = user;

	return dw_fd_read_at(io->fd, buffer, bytes, offset);
}

static int64_t read_memory(void *buffer, size_t bytes, uint64_t offset, void *user)
{
	const dwarfs_io *io = user;

	memcpy(buffer, io->memory + offset, bytes);
	return (int64_t)bytes;
}

/* Takes fd, also on failure. */
static int from_descriptor(int fd, const char *path, dwarfs_io **io_out,
			   dwarfs_error **err)
{
	auto_io dwarfs_io *io = new_io();
	int ret;

	if (!io) {
		dw_fd_close(fd);
		return dw_fail_nomem(err);
	}
	io->fd = fd;
	io->read = read_descriptor;
	if (path && !(io->path = strdup(path)))
		return dw_fail_nomem(err);
	if ((ret = dw_fd_bytes(fd, &io->bytes, err)) < 0)
		return ret;
	*io_out = dw_steal(io);
	return 0;
}

int dwarfs_io_open(const char *path, dwarfs_io **io_out, dwarfs_error **err)
{
	int fd, ret = dw_fd_open_places(path, &fd, err);

	/* Other errors name the file already. */
	if (ret < 0 && ret != DWARFS_ERR_IS_DIR && ret != DWARFS_ERR_INVALID)
		return ret;
	if (ret == 0)
		ret = from_descriptor(fd, path, io_out, err);
	if (ret < 0) {
		dw_explain(err, ret, "'%s'", path);
		return dw_error_at_path(err, ret, path);
	}
	return 0;
}

int dwarfs_io_from_fd(int fd, dwarfs_io **io_out, dwarfs_error **err)
{
	int copy = dw_fd_duplicate(fd);

	if (copy < 0)
		return dw_fail_errno(err, -copy, "cannot use descriptor %d", fd);
	return from_descriptor(copy, NULL, io_out, err);
}

int dwarfs_io_from_memory(const void *data, size_t bytes, dwarfs_io_close_fn close,
			  void *user, dwarfs_io **io_out, dwarfs_error **err)
{
	dwarfs_io *io = new_io();

	if (!io)
		return dw_fail_nomem(err);
	io->read = read_memory;
	io->memory = data;
	io->bytes = bytes;
	io->close = close;
	io->user = user;
	*io_out = io;
	return 0;
}

int dwarfs_io_new(dwarfs_io_read_fn read, uint64_t bytes, dwarfs_io_close_fn close,
		  void *user, dwarfs_io **io_out, dwarfs_error **err)
{
	dwarfs_io *io;

	if (!read)
		return dw_fail(err, DWARFS_ERR_INVALID, "a source needs a read callback");
	io = new_io();
	if (!io)
		return dw_fail_nomem(err);
	io->read = read;
	io->bytes = bytes;
	io->close = close;
	io->user = user;
	*io_out = io;
	return 0;
}

void dw_io_make_map(dwarfs_io *io)
{
	const uint8_t *none = NULL, *mapped;

	if (io->fd < 0 || atomic_load(&io->mapped))
		return;
	mapped = dw_pages_map(io->fd, io->bytes);
	if (mapped && !atomic_compare_exchange_strong(&io->mapped, &none, mapped))
		dw_pages_unmap(mapped, io->bytes);
}

const uint8_t *dw_io_map_unread(dwarfs_io *io, bool is_mapped, size_t bytes,
				uint64_t offset)
{
	const uint8_t *file = is_mapped ? atomic_load(&io->mapped) : NULL;

	if (bytes > io->bytes || offset > io->bytes - bytes)
		return NULL;
	if (io->memory)
		return io->memory + offset;
	return file ? file + offset : NULL;
}

const uint8_t *dw_io_map(dwarfs_io *io, bool is_mapped, size_t bytes, uint64_t offset)
{
	const uint8_t *data = dw_io_map_unread(io, is_mapped, bytes, offset);

	if (data && !io->memory && !dw_pages_populate(data, bytes))
		return NULL;
	return data;
}

void dw_io_unmap(dwarfs_io *io, const uint8_t *data, size_t bytes)
{
	if (!io->memory)
		dw_pages_drop(data, bytes);
}

uint64_t dwarfs_io_bytes(const dwarfs_io *io)
{
	return io->bytes;
}

static int fail_short_read(const dwarfs_io *io, int64_t got, uint64_t offset,
			   dwarfs_error **err)
{
	const char *path = io->path ? io->path : "the image";
	int ret;

	if (got < 0)
		ret = dw_fail_errno(err, got < -INT_MAX ? EIO : (int)-got,
				    "cannot read '%s' at %" PRIu64, path, offset);
	else
		ret = dw_fail(err, DWARFS_ERR_IO, "'%s' ends early, at %" PRIu64, path,
			      offset);
	if (io->path)
		dw_error_at_path(err, ret, io->path);
	dw_error_at_offset(err, ret, offset);
	/* To the reader of an image every failure of the source is an input/output
	 * error. */
	return ret == DWARFS_ERR_NOMEM ? ret : dw_error_as(err, DWARFS_ERR_IO);
}

int dwarfs_io_read(dwarfs_io *io, void *buffer, size_t bytes, uint64_t offset,
		   dwarfs_error **err)
{
	/* The callbacks for memory and descriptors get the source itself. */
	void *user = io->memory || io->fd >= 0 ? io : io->user;
	size_t done = 0;

	if (bytes > io->bytes || offset > io->bytes - bytes)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%zu bytes at %" PRIu64 " run past the end at %" PRIu64,
			       bytes, offset, io->bytes);
	while (done < bytes) {
		int64_t got = io->read((uint8_t *)buffer + done, bytes - done,
				       offset + done, user);

		if (got == -EINTR)
			continue;
		if (got <= 0 || (uint64_t)got > bytes - done)
			return fail_short_read(io, got > 0 ? -EIO : got, offset + done,
					       err);
		done += (size_t)got;
	}
	return 0;
}
