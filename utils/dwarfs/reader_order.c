/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/reader_order: detect that files are read in the order of their directory.
 *
 * Assigns the entries whose files are read to streams, one for each assumed reader, and
 * decides when to decompress the next files. Entries of a directory have consecutive
 * numbers.
 */
#include "dwarfs/mount.h"

#define MAX_GAP	     64 /* entries that are not read: directories, links, other kinds */
#define RECENT_READS 256
#define FIRST_WINDOW ((uint64_t)2 << 20)
#define WALKED	     2 /* directories: the reader traverses a tree */

void order_init(struct order *order, uint64_t most_bytes, uint32_t most_readers)
{
	*order = (struct order){
		.most_bytes = most_bytes,
		.most_readers = most_readers,
	};
}

/* The stream that an entry continues, or NULL. */
static struct stream *find_continued_stream(struct order *order, uint32_t entry)
{
	struct stream *best = NULL;

	for (size_t i = 0; i < ORDER_STREAMS; i++) {
		struct stream *stream = &order->streams[i];

		if (stream->used_at && entry >= stream->last &&
		    entry - stream->last <= MAX_GAP &&
		    (!best || stream->last > best->last))
			best = stream;
	}
	return best;
}

/* The stream that an entry continues backwards, or the least recently used one.
 */
static struct stream *replace_stream(struct order *order, uint32_t entry)
{
	struct stream *oldest = &order->streams[0];

	for (size_t i = 0; i < ORDER_STREAMS; i++) {
		struct stream *stream = &order->streams[i];

		if (stream->used_at && entry < stream->last &&
		    stream->last - entry <= MAX_GAP)
			return stream;
		if (stream->used_at < oldest->used_at)
			oldest = stream;
	}
	return oldest;
}

/* How many read at present. */
static uint64_t count_readers(const struct order *order)
{
	uint64_t count = 0;

	for (size_t i = 0; i < ORDER_STREAMS; i++)
		count += order->streams[i].run > 0 &&
			 order->clock - order->streams[i].used_at < RECENT_READS;
	return count > 0 ? count : 1;
}

uint64_t order_beyond(const struct stream *stream)
{
	return stream->crossings < WALKED ? FIRST_WINDOW / 2 : UINT64_MAX;
}

size_t order_note(struct order *order, uint32_t entry, bool *wants_more_out)
{
	struct stream *stream = find_continued_stream(order, entry);
	uint64_t readers;

	*wants_more_out = false;
	order->clock++;
	if (!stream) {
		stream = replace_stream(order, entry);
		*stream = (struct stream){
			.last = entry,
			.ahead = entry + 1,
			.mark = entry + 1,
			.turn = stream->turn + 1,
			.window = FIRST_WINDOW,
		};
	} else if (entry > stream->last) {
		stream->last = entry;
		stream->run++;
		if (stream->ahead <= entry)
			stream->ahead = entry + 1;
		if (stream->dir_end && entry >= stream->dir_end) {
			stream->crossings++;
			stream->dir_end = 0;
		}
		*wants_more_out = entry >= stream->mark;
	}
	stream->used_at = order->clock;
	/* One bound applies to the data ahead of all streams together. */
	readers = count_readers(order);
	if (stream->window > order->most_bytes / readers)
		stream->window = order->most_bytes / readers;
	*wants_more_out &= readers <= order->most_readers;
	return (size_t)(stream - order->streams);
}
