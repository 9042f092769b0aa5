/* SPDX-License-Identifier: MIT */
/*
 * os/io: sources of bytes.
 *
 * Takes a file, a descriptor, memory or callbacks; reads bytes at an offset, or the next
 * bytes of a stream. Ranges are checked here, so callbacks never get a request outside the
 * source.
 */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "os/file_io.h"
#include "os/io.h"
#include "os/pages.h"
#include "os/stream.h"

struct dwarfs_io {
	atomic_uint references;
	dwarfs_io_read_fn read;		  /* of callbacks; else NULL */
	dwarfs_io_read_many_fn read_many; /* may be NULL */
	dwarfs_io_stream_fn next;	  /* of a stream by a callback; else NULL */
	dwarfs_io_close_fn close;
	void *user;
	uint64_t bytes;
	const uint8_t *memory;	       /* of a source in memory */
	int fd;			       /* of a file or a stream; otherwise -1 */
	uint64_t start;		       /* offset in the file where the source begins */
	bool is_stream;		       /* read once, from first to last */
	atomic_bool was_read;	       /* a stream: it has no more to give */
	char *name;		       /* for messages; may be NULL */
	char *title;		       /* the same with quotes */
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
	dw_pages_unmap(atomic_load(&io->mapped), io->start + io->bytes);
	dw_fd_close(io->fd);
	dw_free(io->name);
	dw_free(io->title);
	dw_free(io);
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

int dwarfs_io_set_name(dwarfs_io *io, const char *name, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(io);

	auto_free char *copy = name ? dw_strdup(name) : NULL;
	auto_free char *title = name ? dw_malloc(strlen(name) + 3) : NULL;

	if (!io)
		return dw_fail_null(err, "the source");
	if (name && (!copy || !title))
		return dw_fail_nomem(err);
	if (name)
		sprintf(title, "'%s'", name);
	dw_free(io->name);
	dw_free(io->title);
	io->name = dw_steal(copy);
	io->title = dw_steal(title);
	return 0;
}

const char *dwarfs_io_name(const dwarfs_io *io)
{
	if (!io)
		return NULL;
	return io->name;
}

const char *dw_io_title(const dwarfs_io *io)
{
	return io->title ? io->title : "the source";
}

/* Takes fd, also on failure. */
static int from_descriptor(int fd, const char *path, bool is_at_position,
			   dwarfs_io **io_out, dwarfs_error **err)
{
	auto_io dwarfs_io *io = new_io();
	auto_error dwarfs_error *why = NULL;
	uint64_t end;
	int ret;

	if (!io) {
		dw_fd_close(fd);
		return dw_fail_nomem(err);
	}
	io->fd = fd;
	if (path && (ret = dwarfs_io_set_name(io, path, err)) < 0)
		return ret;
	ret = dw_fd_bytes(fd, &end, &why);
	if (ret == DWARFS_ERR_INVALID && is_at_position) {
		io->is_stream = true;
		io->bytes = UINT64_MAX;
		ret = 0;
	} else if (ret == 0) {
		io->start = is_at_position ? dw_stream_place(fd) : 0;
		io->bytes = end > io->start ? end - io->start : 0;
	}
	if (ret < 0)
		return dw_error_copy(err, ret, why);
	*io_out = dw_steal(io);
	return 0;
}

int dwarfs_io_open(const char *path, dwarfs_io **io_out, dwarfs_error **err)
{
	int fd, ret;

	if (!path || !io_out)
		return dw_fail_null(err, "the path");
	ret = dw_fd_open_places(path, &fd, err);
	/* Other errors name the file already. */
	if (ret < 0 && ret != DWARFS_ERR_IS_DIR && ret != DWARFS_ERR_INVALID)
		return ret;
	if (ret == 0)
		ret = from_descriptor(fd, path, false, io_out, err);
	if (ret < 0) {
		dw_explain(err, ret, "'%s'", path);
		return dw_error_at_path(err, ret, path);
	}
	return 0;
}

static int from_copy(int fd, bool is_at_position, dwarfs_io **io_out, dwarfs_error **err)
{
	int copy = dw_fd_duplicate(fd);

	if (copy < 0)
		return dw_fail_errno(err, -copy, "cannot use descriptor %d", fd);
	return from_descriptor(copy, NULL, is_at_position, io_out, err);
}

int dwarfs_io_from_fd(int fd, dwarfs_io **io_out, dwarfs_error **err)
{
	if (!io_out)
		return dw_fail_null(err, "io_out");
	return from_copy(fd, false, io_out, err);
}

int dwarfs_io_from_stream(int fd, dwarfs_io **io_out, dwarfs_error **err)
{
	if (!io_out)
		return dw_fail_null(err, "io_out");
	return from_copy(fd, true, io_out, err);
}

int dwarfs_io_from_memory(const void *data, size_t bytes, dwarfs_io_close_fn close,
			  void *user, dwarfs_io **io_out, dwarfs_error **err)
{
	if (!io_out)
		return dw_fail_null(err, "io_out");

	dwarfs_io *io;

	if (!data && bytes > 0)
		return dw_fail_null(err, "the memory");
	if (!(io = new_io()))
		return dw_fail_nomem(err);
	io->memory = data ? data : (const void *)"";
	io->bytes = bytes;
	io->close = close;
	io->user = user;
	*io_out = io;
	return 0;
}

int dwarfs_io_new(dwarfs_io_read_fn read, uint64_t bytes, dwarfs_io_close_fn close,
		  void *user, dwarfs_io **io_out, dwarfs_error **err)
{
	if (!io_out)
		return dw_fail_null(err, "io_out");

	dwarfs_io *io;

	if (!read)
		return dw_fail_null(err, "the read callback of a source");
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

int dwarfs_io_new_stream(dwarfs_io_stream_fn read, dwarfs_io_close_fn close, void *user,
			 dwarfs_io **io_out, dwarfs_error **err)
{
	if (!io_out)
		return dw_fail_null(err, "io_out");

	dwarfs_io *io;

	if (!read)
		return dw_fail_null(err, "the read callback of a stream");
	io = new_io();
	if (!io)
		return dw_fail_nomem(err);
	io->next = read;
	io->is_stream = true;
	io->bytes = UINT64_MAX;
	io->close = close;
	io->user = user;
	*io_out = io;
	return 0;
}

void dwarfs_io_set_read_many(dwarfs_io *io, dwarfs_io_read_many_fn read_many)
{
	if (!io)
		return;
	if (io->read)
		io->read_many = read_many;
}

bool dwarfs_io_is_stream(const dwarfs_io *io)
{
	if (!io)
		return false;
	return io->is_stream;
}

const uint8_t *dw_io_memory(const dwarfs_io *io)
{
	return io->memory;
}

int dw_io_fd(const dwarfs_io *io, uint64_t *start_out)
{
	*start_out = io->start;
	return io->fd;
}

/* -- mapping ------------------------------------------------------------------------- */

void dw_io_make_map(dwarfs_io *io)
{
	const uint8_t *none = NULL, *mapped;

	if (io->fd < 0 || io->is_stream || atomic_load(&io->mapped))
		return;
	mapped = dw_pages_map(io->fd, io->start + io->bytes);
	if (mapped && !atomic_compare_exchange_strong(&io->mapped, &none, mapped))
		dw_pages_unmap(mapped, io->start + io->bytes);
}

const uint8_t *dw_io_map_unread(dwarfs_io *io, bool is_mapped, size_t bytes,
				uint64_t offset)
{
	const uint8_t *file = is_mapped ? atomic_load(&io->mapped) : NULL;

	if (bytes > io->bytes || offset > io->bytes - bytes)
		return NULL;
	if (io->memory)
		return io->memory + offset;
	return file ? file + io->start + offset : NULL;
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
	if (!io)
		return 0;
	return io->bytes;
}

/* -- reading ------------------------------------------------------------------------- */

static int place_error(const dwarfs_io *io, int ret, uint64_t offset, dwarfs_error **err)
{
	if (io->name)
		dw_error_at_path(err, ret, io->name);
	return dw_error_at_offset(err, ret, offset);
}

/* Nothing was read at an offset: the source ends there, or, if it is a file that has shrunk,
 * before. */
static int fail_early_end(const dwarfs_io *io, uint64_t offset, dwarfs_error **err)
{
	uint64_t now;

	if (io->fd >= 0 && dw_fd_bytes(io->fd, &now, NULL) == 0 && now >= io->start &&
	    now - io->start < offset)
		offset = now - io->start;
	return place_error(io,
			   dw_fail(err, DWARFS_ERR_IO, "%s ends early, at %" PRIu64,
				   dw_io_title(io), offset),
			   offset, err);
}

/* To the reader every failure of a file is an input/output error. */
static int fail_file_read(const dwarfs_io *io, int errnum, uint64_t offset,
			  dwarfs_error **err)
{
	int ret = dw_fail_errno(err, errnum, "cannot read %s at %" PRIu64,
				dw_io_title(io), offset);

	place_error(io, ret, offset, err);
	return ret == DWARFS_ERR_NOMEM ? ret : dw_error_as(err, DWARFS_ERR_IO);
}

static int fail_callback_read(const dwarfs_io *io, int result, dwarfs_error **why,
			      uint64_t offset, dwarfs_error **err)
{
	int ret = dw_callback_fail(result, why, err);

	dw_explain(err, ret, "cannot read %s at %" PRIu64, dw_io_title(io), offset);
	return place_error(io, ret, offset, err);
}

/* Some bytes of a range. */
static int read_some(dwarfs_io *io, void *buffer, size_t bytes, uint64_t offset,
		     size_t *bytes_out, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int64_t got;
	int ret;

	*bytes_out = 0;
	if (io->memory) {
		memcpy(buffer, io->memory + offset, bytes);
		*bytes_out = bytes;
		return 0;
	}
	if (io->fd >= 0) {
		do
			got = dw_fd_read_at(io->fd, buffer, bytes, io->start + offset);
		while (got == -EINTR);
		if (got < 0)
			return fail_file_read(io, got < -INT_MAX ? EIO : (int)-got,
					      offset, err);
		*bytes_out = (size_t)got;
		return 0;
	}
	ret = io->read(buffer, bytes, offset, bytes_out, &why, io->user);
	if (ret == 0 && *bytes_out > bytes)
		return fail_file_read(io, EIO, offset, err);
	return ret == 0 ? 0 : fail_callback_read(io, ret, &why, offset, err);
}

int dwarfs_io_read(dwarfs_io *io, void *buffer, size_t bytes, uint64_t offset,
		   dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(io);

	if (!io || (!buffer && bytes > 0))
		return dw_fail_null(err, "io and buffer");

	int ret;

	if (io->is_stream)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "%s is a stream, which can be read only from its start",
			       dw_io_title(io));
	if (bytes > io->bytes || offset > io->bytes - bytes)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%zu bytes at %" PRIu64 " run past the end at %" PRIu64,
			       bytes, offset, io->bytes);
	for (size_t done = 0, got; done < bytes; done += got) {
		ret = read_some(io, (uint8_t *)buffer + done, bytes - done, offset + done,
				&got, err);
		if (ret < 0)
			return ret;
		if (got == 0)
			return fail_early_end(io, offset + done, err);
	}
	return 0;
}

int dw_io_read_many(dwarfs_io *io, const struct dwarfs_io_range *ranges, size_t count,
		    dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret;

	if (count == 0)
		return 0;
	if (io->read_many && count > 1) {
		ret = io->read_many(ranges, count, &why, io->user);
		return ret == 0
			       ? 0
			       : fail_callback_read(io, ret, &why, ranges[0].offset, err);
	}
	for (size_t i = 0; i < count; i++) {
		ret = dwarfs_io_read(io, ranges[i].buffer, ranges[i].bytes,
				     ranges[i].offset, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int dw_io_begin_stream(dwarfs_io *io, dwarfs_error **err)
{
	if (io->is_stream && atomic_exchange(&io->was_read, true))
		return dw_fail(err, DWARFS_ERR_INVALID, "%s has been read already",
			       dw_io_title(io));
	return 0;
}

int64_t dw_io_next(dwarfs_io *io, void *buffer, size_t bytes, int wait_ms,
		   dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	size_t got = 0;
	int64_t count;
	int ret;

	if (io->fd >= 0) {
		count = dw_stream_read(io->fd, buffer, bytes, wait_ms);
		if (count == -EAGAIN)
			return IO_WAIT;
		return count >= 0 ? count
				  : dw_fail_errno(err, (int)-count, "cannot read %s",
						  dw_io_title(io));
	}
	ret = io->next(buffer, bytes, &got, &why, io->user);
	if (ret == 0 && got > bytes)
		ret = DWARFS_ERR_IO;
	if (ret == 0)
		return (int64_t)got;
	ret = dw_callback_fail(ret, &why, err);
	return dw_explain(err, ret, "cannot read %s", dw_io_title(io));
}

void dwarfs_memory_free(void *data)
{
	dw_free(data);
}
