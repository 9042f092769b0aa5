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

#include "os/output.h"
#include "os/sink.h"

#define PIECE_BYTES ((size_t)1 << 20)

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

int dwarfs_sink_open(const char *path, bool overwrite, dwarfs_sink **sink_out,
		     dwarfs_error **err)
{
	auto_sink dwarfs_sink *sink = NULL;
	int ret;

	if (!path || !sink_out)
		return dw_fail_null(err, "path and sink_out");
	if ((ret = new_sink(&sink, err)) < 0)
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
		return errno == ENOMEM ? dw_fail_nomem(err) : 0; /* there is none */
	if ((ret = dw_stat_at(AT_FDCWD, real, &sink->target)) < 0)
		return dw_output_fail(err, -ret, "cannot open output file", path);
	type = sink->target.mode & TYPE_MASK;
	if (type == TYPE_DIRECTORY)
		return dw_output_fail(err, EISDIR, "cannot open output file", path);
	if (type == TYPE_REGULAR && !overwrite)
		return dw_output_fail_exists(err, path);
	sink->has_target = type == TYPE_REGULAR;
	return 0;
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
	if (path && (ret = inspect_target(sink, path, overwrite, err)) < 0)
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

int dw_sink_write(dwarfs_sink *sink, const void *data, size_t bytes,
		  struct dwarfs_progress *progress, dwarfs_error **err)
{
	size_t piece;

	if (sink->output)
		return dw_output_write(sink->output, data, bytes, progress, err);
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

bool dw_sink_is(const dwarfs_sink *sink, const struct os_stat *found)
{
	if (sink->has_target)
		return (found->mode & TYPE_MASK) == TYPE_REGULAR &&
		       found->device == sink->target.device &&
		       found->inode == sink->target.inode;
	return sink->output && dw_output_is(sink->output, found);
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
