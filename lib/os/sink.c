/* SPDX-License-Identifier: MIT */
/*
 * os/sink: where images and archives are written to.
 *
 * Takes bytes from first to last, for a file or a descriptor (os/output), memory, or a
 * callback, or to nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "os/file_io.h"
#include "os/output.h"
#include "os/sink.h"

#define PIECE_BYTES ((size_t)1 << 20)

/* Shared between two ticks of the progress; a multiple of each unit. */
#define SHARED_PIECE_BYTES ((uint64_t)1 << 30)

/* Types in the mode of a struct os_stat. */
#define TYPE_MASK      0170000
#define TYPE_REGULAR   0100000
#define TYPE_DIRECTORY 0040000

struct dwarfs_sink {
	struct output *output; /* of a file or a descriptor; else NULL */
	char *path;	       /* of a file */
	bool no_sync;

	dwarfs_sink_write_fn write; /* of a callback; else NULL: memory */
	dwarfs_io_close_fn close;
	void *user;

	struct buffer memory;
	size_t max_bytes;

	bool is_dry;	 /* bytes are only counted */
	bool has_target; /* a file that would be written is this: */
	struct os_stat target;

	uint64_t bytes;		    /* written so far */
	struct shared_bytes shared; /* the last ones, all of which are after older ones */

	bool was_begun, is_complete;
};

/* -- making -------------------------------------------------------------------------- */

void dwarfs_sink_free(dwarfs_sink *sink)
{
	if (!sink)
		return;
	dw_output_free(sink->output);
	if (sink->close)
		sink->close(sink->user);
	dw_buffer_free(&sink->memory);
	dw_free(sink->path);
	dw_free(sink);
}

static int new_sink(dwarfs_sink **sink_out, dwarfs_error **err)
{
	if (!sink_out)
		return dw_fail_null(err, "sink_out");
	*sink_out = dw_calloc(1, sizeof(**sink_out));
	return *sink_out ? 0 : dw_fail_nomem(err);
}

static int check_path(const char *path, dwarfs_error **err)
{
	return path[0] ? 0
		       : dw_fail(err, DWARFS_ERR_INVALID,
				 "the path of the output is empty");
}

int dwarfs_sink_open(const char *path, bool overwrite, dwarfs_sink **sink_out,
		     dwarfs_error **err)
{
	auto_sink dwarfs_sink *sink = NULL;
	int ret;

	if (!path || !sink_out)
		return dw_fail_null(err, "path and sink_out");
	if ((ret = check_path(path, err)) < 0 || (ret = new_sink(&sink, err)) < 0)
		return ret;
	if (!(sink->path = dw_strdup(path)))
		return dw_fail_nomem(err);
	if ((ret = dw_output_create(path, overwrite, &sink->output, err)) < 0)
		return ret;
	*sink_out = dw_steal(sink);
	return 0;
}

int dwarfs_sink_from_fd(int fd, dwarfs_sink **sink_out, dwarfs_error **err)
{
	auto_sink dwarfs_sink *sink = NULL;
	int ret;

	if (!sink_out)
		return dw_fail_null(err, "sink_out");
	if ((ret = new_sink(&sink, err)) < 0 ||
	    (ret = dw_output_to_fd(fd, &sink->output, err)) < 0)
		return ret;
	*sink_out = dw_steal(sink);
	return 0;
}

int dwarfs_sink_to_memory(size_t max_bytes, dwarfs_sink **sink_out, dwarfs_error **err)
{
	dwarfs_sink *sink;
	int ret;

	if (!sink_out)
		return dw_fail_null(err, "sink_out");
	if ((ret = new_sink(&sink, err)) < 0)
		return ret;
	sink->max_bytes = max_bytes;
	*sink_out = sink;
	return 0;
}

int dwarfs_sink_new(dwarfs_sink_write_fn write, dwarfs_io_close_fn close, void *user,
		    dwarfs_sink **sink_out, dwarfs_error **err)
{
	dwarfs_sink *sink;
	int ret;

	if (!write || !sink_out)
		return dw_fail_null(err, "write and sink_out");
	if ((ret = new_sink(&sink, err)) < 0)
		return ret;
	sink->write = write;
	sink->close = close;
	sink->user = user;
	*sink_out = sink;
	return 0;
}

/* Inspect the file that would be written, as dw_output_create() does. */
static int inspect_target(dwarfs_sink *sink, const char *path, bool overwrite,
			  dwarfs_error **err)
{
	auto_free char *real = dw_real_path(path);
	uint32_t type;
	int ret;

	if (!real)
		return errno == ENOMEM ? dw_fail_nomem(err) : dw_output_check(path, err);
	if ((ret = dw_stat_at(AT_FDCWD, real, &sink->target)) < 0)
		return dw_output_fail(err, -ret, "cannot open output file", path);
	type = sink->target.mode & TYPE_MASK;
	if (type == TYPE_DIRECTORY)
		return dw_output_fail(err, EISDIR, "cannot open output file", path);
	if (type == TYPE_REGULAR && !overwrite)
		return dw_output_fail_exists(err, path);
	sink->has_target = type == TYPE_REGULAR;
	return sink->has_target ? dw_output_check(real, err) : 0;
}

int dwarfs_sink_to_nothing(const char *path, bool overwrite, dwarfs_sink **sink_out,
			   dwarfs_error **err)
{
	auto_sink dwarfs_sink *sink = NULL;
	int ret;

	if (!sink_out)
		return dw_fail_null(err, "sink_out");
	if ((ret = new_sink(&sink, err)) < 0)
		return ret;
	sink->is_dry = true;
	if (path && !(sink->path = dw_strdup(path)))
		return dw_fail_nomem(err);
	if (path && ((ret = check_path(path, err)) < 0 ||
		     (ret = inspect_target(sink, path, overwrite, err)) < 0))
		return ret;
	*sink_out = dw_steal(sink);
	return 0;
}

void dwarfs_sink_set_sync(dwarfs_sink *sink, bool sync)
{
	if (sink)
		sink->no_sync = !sync;
}

int dwarfs_sink_take(dwarfs_sink *sink, void **data_out, size_t *bytes_out,
		     dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(sink);

	if (!sink || !data_out || !bytes_out)
		return dw_fail_null(err, "sink, data_out and bytes_out");
	if (sink->output || sink->write || sink->is_dry)
		return dw_fail(err, DWARFS_ERR_INVALID, "the sink is not in memory");
	if (!sink->is_complete)
		return dw_fail(err, DWARFS_ERR_INVALID, "nothing was written completely");
	*bytes_out = sink->memory.size;
	*data_out = dw_steal(sink->memory.data);
	sink->memory = (struct buffer){ 0 };
	sink->is_complete = false;
	return 0;
}

/* -- writing ------------------------------------------------------------------------- */

int dw_sink_begin(dwarfs_sink *sink, dwarfs_error **err)
{
	if (sink->was_begun)
		return dw_fail(err, DWARFS_ERR_INVALID, "the sink was written already");
	sink->was_begun = true;
	return 0;
}

static int write_memory(dwarfs_sink *sink, const void *data, size_t bytes,
			dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(sink); /* the caller's may be that of a builder */

	if (bytes > sink->max_bytes - sink->memory.size)
		return dw_fail(err, DWARFS_ERR_LIMIT,
			       "more than the %zu bytes that the sink may take",
			       sink->max_bytes);
	return dw_buffer_append(&sink->memory, data, bytes, err);
}

static int write_by_callback(dwarfs_sink *sink, const void *data, size_t bytes,
			     dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret = sink->write(data, bytes, &why, sink->user);

	if (ret == 0)
		return 0;
	ret = dw_callback_fail(ret, &why, err);
	return dw_explain(err, ret, "cannot write the output");
}

static int write_piece(dwarfs_sink *sink, const void *data, size_t bytes,
		       dwarfs_error **err)
{
	if (sink->is_dry)
		return 0;
	return sink->write ? write_by_callback(sink, data, bytes, err)
			   : write_memory(sink, data, bytes, err);
}

static int write_pieces(dwarfs_sink *sink, const void *data, size_t bytes,
			struct dwarfs_progress *progress, dwarfs_error **err)
{
	size_t piece;

	for (size_t done = 0; done < bytes; done += piece) {
		const uint8_t *from = (const uint8_t *)data + done;
		int ret = dw_progress_tick(progress, err);

		piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
		if (ret == 0)
			ret = write_piece(sink, from, piece, err);
		if (ret < 0)
			return ret;
		progress->bytes_out += piece;
	}
	return 0;
}

int dw_sink_write(dwarfs_sink *sink, const void *data, size_t bytes,
		  struct dwarfs_progress *progress, dwarfs_error **err)
{
	int ret = sink->output ? dw_output_write(sink->output, data, bytes, progress, err)
			       : write_pieces(sink, data, bytes, progress, err);

	if (ret == 0)
		sink->bytes += bytes;
	return ret;
}

uint64_t dw_sink_bytes(const dwarfs_sink *sink)
{
	return sink->bytes;
}

/* -- shared bytes -------------------------------------------------------------------- */

/* A failure is no error: the bytes are written then. */
int dw_sink_share(dwarfs_sink *sink, int fd, uint64_t offset, uint64_t bytes,
		  struct dwarfs_progress *progress, struct shared_bytes *shared_out,
		  dwarfs_error **err)
{
	uint64_t unit, first, end, to = sink->bytes;
	int writer = -1, reader = -1;

	*shared_out = sink->shared = (struct shared_bytes){ to, to };
	if (sink->output)
		dw_output_fds(sink->output, &writer, &reader);
	unit = writer >= 0 ? dw_fd_clone_unit(writer) : 0;
	if (unit == 0 || (offset - to) % unit != 0)
		return 0;
	first = (to + unit - 1) / unit * unit;
	end = (to + bytes) / unit * unit;
	for (uint64_t at = first, piece; at < end; at += piece) {
		int ret = dw_progress_tick(progress, err);

		if (ret < 0)
			return ret;
		piece = end - at < SHARED_PIECE_BYTES ? end - at : SHARED_PIECE_BYTES;
		if (dw_fd_clone(fd, offset + (at - to), writer, at, piece) < 0)
			break;
		sink->shared = (struct shared_bytes){ first, at + piece };
	}
	*shared_out = sink->shared;
	return 0;
}

int dw_sink_read_shared(dwarfs_sink *sink, void *buffer, size_t bytes, uint64_t offset,
			dwarfs_error **err)
{
	int writer, reader;
	int64_t got;

	dw_output_fds(sink->output, &writer, &reader);
	got = dw_fd_read_at(reader, buffer, bytes, offset);
	if (got == (int64_t)bytes)
		return 0;
	return dw_output_fail(err, got < 0 ? (int)-got : EIO, "cannot read back",
			      sink->path);
}

/* Go on after bytes that are in the output already. */
static int pass(dwarfs_sink *sink, size_t bytes, struct dwarfs_progress *progress,
		dwarfs_error **err)
{
	int writer, reader, ret;

	dw_output_fds(sink->output, &writer, &reader);
	if ((ret = dw_fd_seek(writer, sink->bytes + bytes)) < 0)
		return dw_output_fail_write(err, -ret, sink->path);
	sink->bytes += bytes;
	progress->bytes_out += bytes;
	return dw_progress_tick(progress, err);
}

int dw_sink_write_shared(dwarfs_sink *sink, const void *data, size_t bytes,
			 struct dwarfs_progress *progress, dwarfs_error **err)
{
	const uint64_t start = sink->bytes, end = start + bytes;
	uint64_t from = sink->shared.from, to = sink->shared.to;
	int ret;

	from = from < start ? start : from > end ? end : from;
	to = to < from ? from : to > end ? end : to;
	if ((ret = dw_sink_write(sink, data, (size_t)(from - start), progress, err)) <
		    0 ||
	    (from < to && (ret = pass(sink, (size_t)(to - from), progress, err)) < 0))
		return ret;
	return dw_sink_write(sink, (const uint8_t *)data + (to - start),
			     (size_t)(end - to), progress, err);
}

bool dw_sink_is(const dwarfs_sink *sink, const struct os_stat *found)
{
	if (sink->has_target)
		return (found->mode & TYPE_MASK) == TYPE_REGULAR &&
		       found->device == sink->target.device &&
		       found->inode == sink->target.inode;
	return sink->output && dw_output_is(sink->output, found);
}

char *dw_sink_directory(const dwarfs_sink *sink)
{
	return sink->output ? dw_output_directory(sink->output) : NULL;
}

const char *dw_sink_path(const dwarfs_sink *sink)
{
	return sink->path;
}

int dw_sink_commit(dwarfs_sink *sink, dwarfs_error **err)
{
	int ret = 0;

	if (sink->output) {
		dw_output_set_sync(sink->output, !sink->no_sync);
		ret = dw_output_commit(sink->output, err);
	}
	sink->is_complete = ret == 0;
	return ret;
}
