/* SPDX-License-Identifier: MIT */
/*
 * archive/feed: the stored bytes of an archive, for libarchive.
 *
 * A feed is a file, memory, or a stream that is read once. It counts the bytes read,
 * updates the progress, and stops when the caller cancels. It stores its own errors, as
 * libarchive cannot pass them on.
 */
#ifndef DW_ARCHIVE_FEED_H
#define DW_ARCHIVE_FEED_H

#include "archive/libarchive.h"
#include "archive/locale.h"
#include "archive/stream_check.h"
#include "base/progress.h"
#include "os/io.h"

#define FEED_BYTES ((size_t)256 << 10) /* read at a time */
#define FEED_TAIL  ((size_t)512)
#define FEED_TRIAL ((size_t)4 << 20) /* of a stream, no more than that */

/* All private to feed.c and spill.c. */
struct feed {
	const struct libarchive *la; /* of the archive that reads it */
	dwarfs_io *io;		     /* owned */
	const uint8_t *memory;	     /* not NULL: all bytes */
	bool can_seek;
	uint64_t bytes;		 /* unless it is a stream */
	uint64_t at;		 /* from its start: what is read next */
	uint8_t *buffer;	 /* FEED_BYTES */
	size_t ahead;		 /* bytes in it, of a stream, that were not given yet */
	bool is_trial;		 /* all is read again afterwards */
	struct buffer seen;	 /* of a stream, what was given on trial */
	size_t seen_given;	 /* of it, once more */
	uint8_t tail[FEED_TAIL]; /* the last bytes that were given */
	size_t tail_bytes;
	struct stream_check *check; /* of the bytes that are given, or NULL */

	struct dwarfs_progress *progress; /* bytes_done is kept up to date */
	struct text_locale *locale;	  /* of the thread, to be left in callbacks */
	int failed;			  /* 0, or the code of failure */
	dwarfs_error *failure;
};

int dw_feed_new(struct feed *feed, dwarfs_io *io, dwarfs_error **err);
void dw_feed_release(struct feed *feed);

/*
 * Whether the first bytes are those of an archive that has its directory at the end, and
 * must be read from there: of a stream, some are read ahead. 1, 0 or an error.
 */
int dw_feed_wants_seek(struct feed *feed, dwarfs_error **err);

/* Copy all of a stream to a file without a name in a directory, and read that. */
int dw_feed_spill(struct feed *feed, const char *directory, dwarfs_error **err);

/* Read the first bytes on trial: dw_feed_end_trial() returns to the start. */
void dw_feed_begin_trial(struct feed *feed);
void dw_feed_end_trial(struct feed *feed);

/* Have an archive read from the feed: an ARCHIVE_* code. */
int dw_feed_open(struct feed *feed, const struct libarchive *la, struct archive *archive);

/* Verify the checksums of a filter of libarchive, which is applied to the stored bytes;
 * before the first bytes are read. */
int dw_feed_verify(struct feed *feed, int filter, dwarfs_error **err);

/* Verify those of the bytes that libarchive has not read. */
int dw_feed_verify_rest(struct feed *feed, dwarfs_error **err);

/* Move the error of the feed, if there is one, to *err: its code, or 0. */
int dw_feed_failure(struct feed *feed, dwarfs_error **err);

/* Read more of a stream into the buffer, which must have no unread bytes: returns the
 * number of bytes, 0 at the end, or an error. */
int64_t dw_feed_more(struct feed *feed, uint8_t *buffer, size_t size, dwarfs_error **err);

/* Whether everything was read, and the last bytes are not a block of zeros. */
bool dw_feed_ends_abruptly(const struct feed *feed, uint64_t consumed);

#endif
