/* SPDX-License-Identifier: MIT */
/*
 * archive/spill: copy a stream that must be read from its end to disk.
 *
 * Changes a feed from a stream to a temporary file.
 */
#include "archive/feed.h"
#include "os/file_io.h"
#include "os/scratch.h"

static int copy_feed(struct feed *feed, int fd, const char *directory, dwarfs_error **err)
{
	int64_t got = (int64_t)feed->ahead;
	uint64_t size = 0;
	int ret = 0;

	if (got == 0)
		got = dw_feed_more(feed, feed->buffer, FEED_BYTES, err);
	while (got > 0 && ret == 0) {
		ret = dw_fd_write_at(fd, feed->buffer, (size_t)got, size);
		size += (uint64_t)got;
		if (ret == 0)
			got = dw_feed_more(feed, feed->buffer, FEED_BYTES, err);
	}
	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot keep the archive in '%s'",
				     directory);
	if (got < 0)
		return (int)got;
	feed->bytes = size;
	return 0;
}

int dw_feed_spill(struct feed *feed, const char *directory, dwarfs_error **err)
{
	auto_fd int fd = -1;
	dwarfs_io *io;
	int ret;

	if ((ret = dw_scratch_open(directory, &fd)) < 0)
		return dw_fail_errno(err, -ret, "cannot keep the archive in '%s'",
				     directory);
	if ((ret = copy_feed(feed, fd, directory, err)) < 0 ||
	    (ret = dwarfs_io_from_fd(fd, &io, err)) < 0)
		return ret;
	dwarfs_io_free(feed->io);
	feed->io = io;
	feed->can_seek = true;
	feed->ahead = 0;
	feed->progress->bytes_total += feed->bytes;
	return 0;
}
