/* SPDX-License-Identifier: MIT */
/*
 * write/items/item_contents: copy the contents of an item into the spool.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/metadata.h"
#include "os/dir.h"
#include "os/file_io.h"
#include "os/io.h"
#include "write/items/item_contents.h"

#define PIECE_BYTES ((size_t)256 << 10)
#define WAIT_MS	    50

int dw_item_contents_memory(struct spool_copy *copy, struct span memory,
			    dwarfs_error **err)
{
	copy->bytes = memory.size;
	return dw_spool_add(copy->spool, memory.data, memory.size, 0, err);
}

/* -- descriptors --------------------------------------------------------------------- */

static int fail_contents_read(int errnum, dwarfs_error **err)
{
	return dw_fail_errno(err, errnum, "cannot read contents");
}

/* Copy the bytes from one offset to another. */
static int spool_run(struct spool_copy *copy, int fd, uint8_t *piece, uint64_t from,
		     uint64_t to, dwarfs_error **err)
{
	while (from < to) {
		size_t want = to - from < PIECE_BYTES ? (size_t)(to - from) : PIECE_BYTES;
		int64_t got = dw_fd_read_at(fd, piece, want, from);
		int ret;

		if (got < 0)
			return fail_contents_read((int)-got, err);
		if ((size_t)got < want)
			return dw_fail(err, DWARFS_ERR_IO,
				       "the file became shorter while it was read");
		if ((ret = dw_spool_add(copy->spool, piece, want, from, err)) < 0 ||
		    (ret = dw_task_check(copy->task, err)) < 0)
			return ret;
		from += want;
	}
	return 0;
}

static int spool_runs(struct spool_copy *copy, int fd, uint8_t *piece, dwarfs_error **err)
{
	uint64_t at = 0, from, to;
	int ret;

	while (at < copy->bytes) {
		if ((ret = dw_next_data(fd, at, copy->bytes, &from, &to)) < 0)
			return fail_contents_read(-ret, err);
		if ((ret = spool_run(copy, fd, piece, from, to, err)) < 0)
			return ret;
		at = to;
	}
	return 0;
}

/* SEEK_DATA moves the file offset of the descriptor, so restore it. */
static int spool_seekable(struct spool_copy *copy, int fd, uint8_t *piece,
			  dwarfs_error **err)
{
	off_t stood = lseek(fd, 0, SEEK_CUR);
	int ret;

	if ((ret = dw_fd_bytes(fd, &copy->bytes, err)) == 0)
		ret = spool_runs(copy, fd, piece, err);
	if (stood >= 0)
		lseek(fd, stood, SEEK_SET);
	return ret;
}

static int spool_stream(struct spool_copy *copy, dwarfs_io *io, uint8_t *piece,
			dwarfs_error **err)
{
	int ret;

	if ((ret = dw_io_begin_stream(io, err)) < 0)
		return ret;
	for (;;) {
		int64_t got = dw_io_next(io, piece, PIECE_BYTES, WAIT_MS, err);

		if (got == 0 || (got < 0 && got != IO_WAIT))
			return (int)got;
		if ((ret = dw_task_check(copy->task, err)) < 0)
			return ret;
		if (got == IO_WAIT)
			continue;
		if ((ret = dw_spool_add(copy->spool, piece, (size_t)got, copy->bytes,
					err)) < 0)
			return ret;
		copy->bytes += (uint64_t)got;
	}
}

/* A source without holes. */
static int spool_source(struct spool_copy *copy, dwarfs_io *io, uint8_t *piece,
			dwarfs_error **err)
{
	const uint64_t bytes = dwarfs_io_bytes(io);
	int ret = 0;

	if (bytes > INT64_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "file size of %" PRIu64 " bytes is too large", bytes);
	while (copy->bytes < bytes && ret == 0) {
		const uint64_t left = bytes - copy->bytes;
		const size_t want = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;

		if ((ret = dwarfs_io_read(io, piece, want, copy->bytes, err)) < 0 ||
		    (ret = dw_spool_add(copy->spool, piece, want, copy->bytes, err)) < 0)
			return ret;
		copy->bytes += want;
		ret = dw_task_check(copy->task, err);
	}
	return ret;
}

int dw_item_contents_io(struct spool_copy *copy, dwarfs_io *io, dwarfs_error **err)
{
	auto_free uint8_t *piece = NULL;
	uint64_t start;
	int fd;

	if (dw_io_memory(io))
		return dw_item_contents_memory(
			copy,
			(struct span){ dw_io_memory(io), (size_t)dwarfs_io_bytes(io) },
			err);
	if (!(piece = dw_malloc(PIECE_BYTES)))
		return dw_fail_nomem(err);
	if (dwarfs_io_is_stream(io))
		return spool_stream(copy, io, piece, err);
	fd = dw_io_fd(io, &start);
	return fd >= 0 && start == 0 ? spool_seekable(copy, fd, piece, err)
				     : spool_source(copy, io, piece, err);
}

/* -- callbacks ----------------------------------------------------------------------- */

/* A callback may fail without setting an error. */
static int fail_reader(int code, dwarfs_error **err)
{
	if (err && *err && dwarfs_error_code(*err) == code)
		return code;
	return dw_fail(err, code, "cannot read contents");
}

static int spool_piece(struct spool_copy *copy, uint64_t limit, struct span piece,
		       uint64_t offset, dwarfs_error **err)
{
	uint64_t end;

	if (!piece.data && piece.size > 0)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "a piece of %zu bytes has NULL as data", piece.size);
	if (offset < copy->bytes)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "data for offset %" PRIu64
			       " given after data that ends at %" PRIu64,
			       offset, copy->bytes);
	if (!dw_add(offset, piece.size, &end) || end > limit)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "more than the %" PRIu64 " bytes that were announced",
			       limit);
	copy->bytes = end;
	if (piece.size == 0)
		return 0;
	return dw_spool_add(copy->spool, piece.data, piece.size, offset, err);
}

int dw_item_contents_reader(struct spool_copy *copy, const dwarfs_item *item,
			    dwarfs_error **err)
{
	uint64_t limit = item->bytes == UINT64_MAX ? INT64_MAX : item->bytes;
	int ret;

	for (;;) {
		uint64_t offset = copy->bytes;
		auto_error dwarfs_error *why = NULL;
		struct span piece = { 0 };
		const void *data = NULL;

		if ((ret = dw_task_check(copy->task, err)) < 0)
			return ret;
		ret = item->read(&data, &piece.size, &offset, &why, item->user);
		if (ret != 0 && ret != 1)
			return fail_reader(dw_callback_fail(ret, &why, err), err);
		if (ret == 0)
			break;
		piece.data = data;
		if ((ret = spool_piece(copy, limit, piece, offset, err)) < 0)
			return ret;
	}
	if (item->bytes != UINT64_MAX)
		copy->bytes = item->bytes;
	return 0;
}
