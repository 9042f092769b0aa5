/* SPDX-License-Identifier: MIT */
/*
 * archive/feed: the stored bytes of an archive, for libarchive.
 *
 * A seekable descriptor is read with pread(), so its offset does not change. Waiting for
 * a stream is interrupted regularly to check for cancellation.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "archive/feed.h"

#define WAIT_MS 50

/* -- making ---------------------------------------------------------------------- */

int dw_feed_new(struct feed *feed, dwarfs_io *io, dwarfs_error **err)
{
	int ret;

	if ((ret = dw_io_begin_stream(io, err)) < 0)
		return ret;
	feed->buffer = dw_calloc(1, FEED_BYTES);
	if (!feed->buffer)
		return dw_fail_nomem(err);
	feed->io = dw_io_ref(io);
	if (dwarfs_io_is_stream(io))
		return 0;
	feed->memory = dw_io_memory(io);
	feed->can_seek = true;
	feed->bytes = dwarfs_io_bytes(io);
	feed->progress->bytes_total += feed->bytes;
	return 0;
}

void dw_feed_release(struct feed *feed)
{
	dwarfs_io_free(dw_steal(feed->io));
	dw_free(dw_steal(feed->buffer));
	dw_buffer_free(&feed->seen);
	dw_stream_check_free(dw_steal(feed->check));
	dwarfs_error_free(dw_steal(feed->failure));
}

int dw_feed_failure(struct feed *feed, dwarfs_error **err)
{
	const int code = feed->failed;

	if (code < 0 && err) {
		dwarfs_error_free(*err);
		*err = dw_steal(feed->failure);
	}
	return code;
}

/* -- reading --------------------------------------------------------------------- */

static int tick(struct feed *feed, dwarfs_error **err)
{
	int ret;

	dw_locale_pause(feed->locale);
	ret = dw_progress_tick(feed->progress, err);
	dw_locale_resume(feed->locale);
	return ret;
}

int64_t dw_feed_more(struct feed *feed, uint8_t *buffer, size_t size, dwarfs_error **err)
{
	int64_t got;
	int ret;

	if (feed->can_seek) {
		const uint64_t left = feed->bytes - feed->at;

		if ((ret = tick(feed, err)) < 0)
			return ret;
		if (size > left)
			size = (size_t)left;
		ret = dwarfs_io_read(feed->io, buffer, size, feed->at, err);
		return ret < 0 ? ret : (int64_t)size;
	}
	do {
		if ((ret = tick(feed, err)) < 0)
			return ret;
		got = dw_io_next(feed->io, buffer, size, WAIT_MS, err);
	} while (got == IO_WAIT);
	return got;
}

static void remember_tail(struct feed *feed, const uint8_t *data, size_t size)
{
	size_t kept = size < FEED_TAIL ? FEED_TAIL - size : 0;

	if (kept > feed->tail_bytes)
		kept = feed->tail_bytes;
	memmove(feed->tail, feed->tail + feed->tail_bytes - kept, kept);
	if (size > FEED_TAIL) {
		data += size - FEED_TAIL;
		size = FEED_TAIL;
	}
	memcpy(feed->tail + kept, data, size);
	feed->tail_bytes = kept + size;
}

void dw_feed_begin_trial(struct feed *feed)
{
	feed->is_trial = true;
}

void dw_feed_end_trial(struct feed *feed)
{
	feed->progress->bytes_done = 0;
	feed->is_trial = false;
	feed->at = 0;
	feed->tail_bytes = 0;
}

/* The same bytes again. */
static int64_t give_again(struct feed *feed, const uint8_t **data_out)
{
	const size_t left = feed->seen.size - feed->seen_given;

	*data_out = feed->seen.data + feed->seen_given;
	feed->seen_given = feed->seen.size;
	return (int64_t)left;
}

/* Bytes of a stream that are read on trial are kept in the buffer, as far as they fit. */
static int64_t give_on_trial(struct feed *feed, dwarfs_error **err)
{
	int64_t got = (int64_t)feed->ahead;
	int ret;

	feed->ahead = 0;
	if (feed->seen.size >= FEED_TRIAL)
		return 0;
	if (got == 0)
		got = dw_feed_more(feed, feed->buffer, FEED_BYTES, err);
	if (got > 0 &&
	    (ret = dw_buffer_append(&feed->seen, feed->buffer, (size_t)got, err)) < 0)
		return ret;
	return got;
}

/* The next bytes: how many, 0 at the end, or an error. */
static int64_t give(struct feed *feed, const uint8_t **data_out, dwarfs_error **err)
{
	uint64_t left = feed->bytes - feed->at;
	int64_t got = 0;
	int ret;

	*data_out = feed->buffer;
	if (feed->is_trial && !feed->can_seek) {
		got = give_on_trial(feed, err);
	} else if (feed->seen_given < feed->seen.size) {
		got = give_again(feed, data_out);
	} else if (feed->ahead > 0) {
		got = (int64_t)feed->ahead;
		feed->ahead = 0;
	} else if (feed->memory) {
		got = tick(feed, err);
		if (got < 0)
			return got;
		*data_out = feed->memory + feed->at;
		got = (int64_t)(left < FEED_BYTES ? left : FEED_BYTES);
	} else if (!feed->can_seek) {
		got = dw_feed_more(feed, feed->buffer, FEED_BYTES, err);
	} else if (left > 0) {
		got = dw_feed_more(feed, feed->buffer,
				   left < FEED_BYTES ? (size_t)left : FEED_BYTES, err);
	}
	if (got <= 0)
		return got;
	feed->at += (uint64_t)got;
	feed->progress->bytes_done += (uint64_t)got;
	remember_tail(feed, *data_out, (size_t)got);
	if (feed->check &&
	    (ret = dw_stream_check_bytes(feed->check, *data_out, (size_t)got, err)) < 0)
		return ret;
	return got;
}

int dw_feed_verify(struct feed *feed, int filter, dwarfs_error **err)
{
	return dw_stream_check_new(filter, &feed->check, err);
}

int dw_feed_verify_rest(struct feed *feed, dwarfs_error **err)
{
	const uint8_t *data;
	int64_t got = 1;

	while (got > 0 && feed->check && !dw_stream_check_is_over(feed->check))
		got = give(feed, &data, err);
	if (got < 0 || !feed->check)
		return got < 0 ? (int)got : 0;
	return dw_stream_check_end(feed->check, err);
}

bool dw_feed_ends_abruptly(const struct feed *feed, uint64_t consumed)
{
	size_t i;

	if (feed->at != consumed)
		return false;
	for (i = 0; i < feed->tail_bytes; i++) {
		if (feed->tail[i])
			return true;
	}
	return feed->tail_bytes < FEED_TAIL;
}

static int64_t first_bytes(struct feed *feed, uint8_t *bytes, size_t size,
			   dwarfs_error **err)
{
	size_t have = feed->bytes < size ? (size_t)feed->bytes : size;

	if (feed->memory) {
		memcpy(bytes, feed->memory, have);
		return (int64_t)have;
	}
	if (feed->can_seek)
		return dw_feed_more(feed, bytes, size, err);
	while (feed->ahead < size) {
		const int64_t got = dw_feed_more(feed, feed->buffer + feed->ahead,
						 FEED_BYTES - feed->ahead, err);

		if (got < 0)
			return got;
		if (got == 0)
			break;
		feed->ahead += (size_t)got;
	}
	have = feed->ahead < size ? feed->ahead : size;
	memcpy(bytes, feed->buffer, have);
	return (int64_t)have;
}

int dw_feed_wants_seek(struct feed *feed, dwarfs_error **err)
{
	static const struct {
		const char *bytes;
		size_t size;
	} magics[] = {
		{ "PK\003\004", 4 },
		{ "PK\005\006", 4 },
		{ "PK00PK\003\004", 8 },
		{ "7z\274\257\047\034", 6 },
	};
	uint8_t first[8] = { 0 };
	const int64_t got = first_bytes(feed, first, sizeof(first), err);
	size_t i;

	if (got < 0)
		return (int)got;
	for (i = 0; i < sizeof(magics) / sizeof(*magics); i++) {
		if ((size_t)got >= magics[i].size &&
		    memcmp(first, magics[i].bytes, magics[i].size) == 0)
			return 1;
	}
	return 0;
}

/* -- callbacks of libarchive ----------------------------------------------------- */

static la_ssize_t on_read(struct archive *archive, void *user, const void **data_out)
{
	struct feed *feed = user;
	const uint8_t *data = NULL;
	int64_t got = 0;

	if (feed->failed == 0)
		got = give(feed, &data, &feed->failure);
	if (got < 0)
		feed->failed = (int)got;
	if (feed->failed < 0) {
		feed->la->set_error(archive, EIO, "cannot read");
		return ARCHIVE_FATAL;
	}
	*data_out = data;
	return (la_ssize_t)got;
}

static la_int64_t on_skip(struct archive *archive, void *user, la_int64_t request)
{
	struct feed *feed = user;
	const uint64_t left = feed->bytes - feed->at;

	(void)archive;
	if (!feed->can_seek || feed->check || request <= 0)
		return 0;
	if ((uint64_t)request > left)
		request = (la_int64_t)left;
	feed->at += (uint64_t)request;
	feed->progress->bytes_done += (uint64_t)request;
	feed->tail_bytes = 0; /* skipped bytes are not an end marker */
	return request;
}

static la_int64_t on_seek(struct archive *archive, void *user, la_int64_t offset,
			  int whence)
{
	struct feed *feed = user;
	int64_t base = 0;
	int64_t place;

	if (whence == SEEK_CUR)
		base = (int64_t)feed->at;
	else if (whence == SEEK_END)
		base = (int64_t)feed->bytes;
	if (!dw_add(base, (int64_t)offset, &place) || place < 0) {
		feed->la->set_error(archive, EINVAL,
				    "refers to an offset before its start");
		return ARCHIVE_FATAL;
	}
	if ((uint64_t)place > feed->bytes)
		place = (int64_t)feed->bytes;
	feed->at = (uint64_t)place;
	return place;
}

int dw_feed_open(struct feed *feed, const struct libarchive *la, struct archive *archive)
{
	feed->la = la;
	la->read_set_callback_data(archive, feed);
	la->read_set_read_callback(archive, on_read);
	la->read_set_skip_callback(archive, on_skip);
	if (feed->can_seek)
		la->read_set_seek_callback(archive, on_seek);
	return la->read_open1(archive);
}
