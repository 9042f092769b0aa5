/* SPDX-License-Identifier: MIT */
/*
 * archive/export/entry_contents: copy the contents of one file into the archive.
 *
 * Reads small files whole, and borrows larger ones from the cache, before their header is
 * written, so that an unreadable file leaves nothing in the archive. Still larger files
 * are read piece by piece, in advance by the workers of the context as long as their
 * pieces are in the order of the file.
 */
#include <string.h>

#include "archive/export/export.h"

DW_DEFINE_AUTO(contents_borrowed, dwarfs_borrowed *, dwarfs_borrowed_free)

/* -- before the header --------------------------------------------------------------- */

static int fail_short(uint64_t at, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "the contents end at %" PRIu64 ", before the file", at);
}

static int read_small(struct export_run *run, dwarfs_inode inode,
		      struct export_contents *contents, dwarfs_error **err)
{
	size_t got;
	int ret = dwarfs_read(run->image, inode, run->buffer, (size_t)contents->bytes, 0,
			      &got, err);

	if (ret < 0)
		return ret;
	if (got < contents->bytes)
		return fail_short(got, err);
	contents->whole = run->buffer;
	return 0;
}

static int borrow(struct export_contents *contents, dwarfs_error **err)
{
	int ret = dwarfs_file_borrow(contents->file, (size_t)contents->bytes, 0,
				     &contents->borrowed, err);

	if (ret < 0)
		return ret;
	if (dwarfs_borrowed_bytes(contents->borrowed) < contents->bytes)
		return fail_short(dwarfs_borrowed_bytes(contents->borrowed), err);
	return 0;
}

int dw_export_contents_open(struct export_run *run, struct export_contents *contents,
			    dwarfs_error **err)
{
	dwarfs_inode inode = dwarfs_stat_inode(run->stat);
	uint64_t bytes = dwarfs_stat_bytes(run->stat);
	int ret;

	*contents = (struct export_contents){ .bytes = bytes };
	contents->has_holes = dwarfs_stat_allocated_bytes(run->stat) < bytes;
	if (bytes == 0)
		return 0;
	if (!contents->has_holes && bytes <= EXPORT_BUFFER_BYTES)
		return read_small(run, inode, contents, err);
	ret = dwarfs_file_open(run->image, inode, &contents->file, err);
	if (ret < 0 || contents->has_holes || bytes > run->window_bytes)
		return ret;
	return borrow(contents, err);
}

void dw_export_contents_release(struct export_contents *contents)
{
	dwarfs_borrowed_free(contents->borrowed);
	dwarfs_file_free(contents->file);
	*contents = (struct export_contents){ 0 };
}

/* -- after the header ---------------------------------------------------------------- */

int dw_export_data(struct export_run *run, const void *data, uint64_t bytes,
		   dwarfs_error **err)
{
	const uint8_t *at = data;

	if (run->is_relayed && !data) {
		if (!dw_add(run->progress.bytes_done, bytes, &run->progress.bytes_done))
			run->progress.bytes_done = UINT64_MAX;
		return dw_progress_tick(&run->progress, err);
	}
	while (bytes > 0) {
		size_t part =
			bytes < EXPORT_BUFFER_BYTES ? (size_t)bytes : EXPORT_BUFFER_BYTES;
		la_ssize_t taken;
		int ret;

		dw_locale_resume(&run->locale);
		if (run->is_relayed)
			taken = dw_export_relay_data(run, at, part);
		else
			taken = run->la->write_data(run->archive, at ? at : run->zeros,
						    part);
		dw_locale_pause(&run->locale);
		if (taken < 0)
			return dw_export_fail(run, err);
		if (taken == 0) /* a format without contents, or the rest is a hole */
			taken = (la_ssize_t)part;
		if (at)
			at += taken;
		bytes -= (uint64_t)taken;
		run->progress.bytes_done += (uint64_t)taken;
		if ((ret = dw_progress_tick(&run->progress, err)) < 0)
			return ret;
	}
	return 0;
}

static int write_borrowed(struct export_run *run, const dwarfs_borrowed *borrowed,
			  dwarfs_error **err)
{
	size_t count = dwarfs_borrowed_count(borrowed);
	int ret = 0;

	for (size_t i = 0; i < count && ret == 0; i++) {
		size_t bytes;
		const void *data = dwarfs_borrowed_part(borrowed, i, &bytes);

		ret = dw_export_data(run, data, bytes, err);
	}
	return ret;
}

/* -- piece by piece ------------------------------------------------------------------ */

/* How far a file has been written. */
struct content_stream {
	struct export_run *run;
	const struct export_contents *contents;
	uint64_t next;
	bool is_unordered; /* a piece does not follow the one before */
	int code;	   /* of a failure to write the archive */
	dwarfs_error *error;
};

/* Returned after a failure that stream->code has. */
#define NO_MORE DWARFS_ERR_CANCELLED

static int fail_too_long(const struct content_stream *stream, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "the contents continue after the end of the file, at %" PRIu64,
		       stream->contents->bytes);
}

static int export_piece(dwarfs_inode inode, const void *data, size_t bytes,
			uint64_t offset, dwarfs_error **err, void *user)
{
	struct content_stream *stream = user;

	if (bytes == 0)
		return 0;
	stream->is_unordered = offset != stream->next;
	if (stream->is_unordered)
		return DWARFS_ERR_CANCELLED;
	if (bytes > stream->contents->bytes - offset)
		return fail_too_long(stream, err);
	stream->code = dw_export_data(stream->run, data, bytes, &stream->error);
	stream->next += bytes;
	return stream->code < 0 ? NO_MORE : 0;
}

/* What is left of it up to an end, all of which is data. */
static int read_data(struct content_stream *stream, uint64_t end, dwarfs_error **err)
{
	while (stream->next < end) {
		DW_AUTO(contents_borrowed) dwarfs_borrowed *borrowed = NULL;
		uint64_t left = end - stream->next;
		int ret = dwarfs_file_borrow(
			stream->contents->file,
			left < EXPORT_BUFFER_BYTES ? (size_t)left : EXPORT_BUFFER_BYTES,
			stream->next, &borrowed, err);

		if (ret < 0)
			return ret;
		if (dwarfs_borrowed_bytes(borrowed) == 0)
			return fail_short(stream->next, err);
		stream->next += dwarfs_borrowed_bytes(borrowed);
		stream->code = write_borrowed(stream->run, borrowed, &stream->error);
		if (stream->code < 0)
			return NO_MORE;
	}
	return 0;
}

static int write_hole(struct content_stream *stream, uint64_t end)
{
	stream->code =
		dw_export_data(stream->run, NULL, end - stream->next, &stream->error);
	stream->next = end;
	return stream->code < 0 ? NO_MORE : 0;
}

/* Write the rest of a file whose pieces were out of order: data and holes alternately. */
static int read_rest(struct content_stream *stream, dwarfs_error **err)
{
	const struct export_contents *contents = stream->contents;
	int ret = 0;

	while (ret == 0 && stream->next < contents->bytes) {
		auto_error dwarfs_error *why = NULL;
		uint64_t data, hole;

		ret = dwarfs_file_seek_data(contents->file, stream->next, &data, &why);
		if (ret == DWARFS_ERR_NOT_FOUND)
			return write_hole(stream, contents->bytes);
		if (ret < 0)
			return dw_error_copy(err, ret, why);
		if ((ret = write_hole(stream, data)) != 0 ||
		    (ret = dwarfs_file_seek_hole(contents->file, data, &hole, err)) < 0)
			return ret;
		ret = read_data(stream, hole, err);
	}
	return ret;
}

static int write_stream(struct export_run *run, const struct export_contents *contents,
			bool *is_cut_out, dwarfs_error **err)
{
	struct content_stream stream = { .run = run, .contents = contents };
	dwarfs_inode inode = dwarfs_stat_inode(run->stat);
	int ret = 0;

	stream.is_unordered = dwarfs_stat_allocated_bytes(run->stat) <= run->window_bytes;
	if (!stream.is_unordered)
		ret = dwarfs_read_in_order(run->image, &inode, 1, export_piece, NULL,
					   &stream, NULL, err);
	if (stream.is_unordered)
		ret = read_rest(&stream, err);
	if (stream.code < 0) {
		if (err)
			*err = dw_steal(stream.error);
		dwarfs_error_free(stream.error);
		return stream.code;
	}
	*is_cut_out = ret < 0;
	return ret;
}

int dw_export_contents_write(struct export_run *run, struct export_contents *contents,
			     bool *is_cut_out, dwarfs_error **err)
{
	int ret;

	*is_cut_out = false;
	if (contents->whole)
		return dw_export_data(run, contents->whole, contents->bytes, err);
	if (contents->borrowed)
		return write_borrowed(run, contents->borrowed, err);
	if (!contents->file)
		return 0;
	/* libarchive counts the zeros that it fills a file up with in a size_t. */
	if (run->relay && contents->has_holes &&
	    dwarfs_stat_allocated_bytes(run->stat) < SIZE_MAX / 2 &&
	    (ret = dw_export_relay_begin(run, err)) < 0)
		return ret;
	ret = write_stream(run, contents, is_cut_out, err);
	run->is_relayed = false;
	return ret;
}
