/* SPDX-License-Identifier: MIT */
/*
 * build/intake: contents of an item go into the spool.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "build/intake.h"
#include "format/metadata.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/stream.h"

#define PIECE_BYTES ((size_t)256 << 10)
#define WAIT_MS	    50

static int check_cancel(const struct intake *intake, dwarfs_error **err)
{
	if (dwarfs_cancel_is_set(intake->cancel))
		return dw_fail(err, DWARFS_ERR_CANCELLED, "cancelled");
	return 0;
}

int dw_intake_memory(struct intake *intake, struct span memory, dwarfs_error **err)
{
	intake->bytes = memory.size;
	return dw_spool_add(intake->spool, memory.data, memory.size, 0, err);
}

/* -- descriptors --------------------------------------------------------------------- */

static int fail_read(int errnum, dwarfs_error **err)
{
	return dw_fail_errno(err, errnum, "cannot read contents");
}

/* Bytes that stand at a place. */
static int take_run(struct intake *intake, int fd, uint8_t *piece, uint64_t from,
		    uint64_t to, dwarfs_error **err)
{
	while (from < to) {
		size_t want = to - from < PIECE_BYTES ? (size_t)(to - from) : PIECE_BYTES;
		int64_t got = dw_fd_read_at(fd, piece, want, from);
		int ret;

		if (got < 0)
			return fail_read((int)-got, err);
		if ((size_t)got < want)
			return dw_fail(err, DWARFS_ERR_IO,
				       "the file became shorter while it was read");
		if ((ret = dw_spool_add(intake->spool, piece, want, from, err)) < 0 ||
		    (ret = check_cancel(intake, err)) < 0)
			return ret;
		from += want;
	}
	return 0;
}

static int take_runs(struct intake *intake, int fd, uint8_t *piece, dwarfs_error **err)
{
	uint64_t at = 0, from, to;
	int ret;

	while (at < intake->bytes) {
		if ((ret = dw_next_data(fd, at, intake->bytes, &from, &to)) < 0)
			return fail_read(-ret, err);
		if ((ret = take_run(intake, fd, piece, from, to, err)) < 0)
			return ret;
		at = to;
	}
	return 0;
}

/* Looking for data moves the place where the descriptor stands. */
static int take_seekable(struct intake *intake, int fd, uint8_t *piece,
			 dwarfs_error **err)
{
	off_t stood = lseek(fd, 0, SEEK_CUR);
	int ret;

	if ((ret = dw_fd_bytes(fd, &intake->bytes, err)) == 0)
		ret = take_runs(intake, fd, piece, err);
	if (stood >= 0)
		lseek(fd, stood, SEEK_SET);
	return ret;
}

static int take_pipe(struct intake *intake, int fd, uint8_t *piece, dwarfs_error **err)
{
	int ret;

	for (;;) {
		int64_t got = dw_stream_read(fd, piece, PIECE_BYTES, WAIT_MS);

		if ((ret = check_cancel(intake, err)) < 0)
			return ret;
		if (got == -EAGAIN)
			continue;
		if (got < 0)
			return fail_read((int)-got, err);
		if (got == 0)
			return 0;
		if ((ret = dw_spool_add(intake->spool, piece, (size_t)got, intake->bytes,
					err)) < 0)
			return ret;
		intake->bytes += (uint64_t)got;
	}
}

int dw_intake_fd(struct intake *intake, int fd, dwarfs_error **err)
{
	auto_free uint8_t *piece = malloc(PIECE_BYTES);
	struct os_stat stat;
	int ret;

	if (!piece)
		return dw_fail_nomem(err);
	if ((ret = dw_stat_fd(fd, &stat)) < 0)
		return fail_read(-ret, err);
	switch (stat.mode & DW_S_IFMT) {
	case DW_S_IFDIR:
		return dw_fail(err, DWARFS_ERR_IS_DIR, "a directory has no contents");
	case DW_S_IFREG:
	case DW_S_IFBLK:
		return take_seekable(intake, fd, piece, err);
	default:
		return take_pipe(intake, fd, piece, err);
	}
}

/* -- callbacks ----------------------------------------------------------------------- */

/* A callback may fail without a word. */
static int fail_reader(int code, dwarfs_error **err)
{
	if (err && *err && dwarfs_error_code(*err) == code)
		return code;
	return dw_fail(err, code, "cannot read contents");
}

static int take_piece(struct intake *intake, uint64_t limit, struct span piece,
		      uint64_t offset, dwarfs_error **err)
{
	uint64_t end;

	if (piece.size == 0)
		return 0;
	if (offset < intake->bytes)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "data for offset %" PRIu64
			       " given after data that ends at %" PRIu64,
			       offset, intake->bytes);
	if (!dw_add(offset, piece.size, &end) || end > limit)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "more than the %" PRIu64 " bytes that were announced", limit);
	intake->bytes = end;
	return dw_spool_add(intake->spool, piece.data, piece.size, offset, err);
}

int dw_intake_reader(struct intake *intake, const dwarfs_item *item, dwarfs_error **err)
{
	uint64_t limit = item->bytes == UINT64_MAX ? INT64_MAX : item->bytes;
	int ret;

	for (;;) {
		uint64_t offset = intake->bytes;
		struct span piece = { 0 };
		const void *data = NULL;

		if ((ret = check_cancel(intake, err)) < 0)
			return ret;
		ret = item->read(item->user, &data, &piece.size, &offset, err);
		if (ret < 0)
			return fail_reader(ret, err);
		if (ret == 0)
			break;
		piece.data = data;
		if ((ret = take_piece(intake, limit, piece, offset, err)) < 0)
			return ret;
	}
	if (item->bytes != UINT64_MAX)
		intake->bytes = item->bytes;
	return 0;
}
