/* SPDX-License-Identifier: MIT */
/*
 * write/items/spool: a copy of contents that can be read only once.
 *
 * Stored bytes have one address space: addresses below the memory limit are in slabs, the
 * others in a temporary file, whose last bytes are in a write buffer. Contents are a list
 * of extents, ascending by offset; gaps between them are holes. Written by one thread;
 * read-only and thread-safe after dw_spool_finish().
 */
#include <errno.h>
#include <string.h>

#include "os/file_io.h"
#include "os/pages.h"
#include "os/scratch.h"
#include "write/items/spool.h"

#define SLAB_BYTES   ((size_t)1 << 20)
#define BUFFER_BYTES ((size_t)256 << 10)

/* Granularity of zero detection; shorter runs are stored. */
#define ZERO_BYTES ((size_t)4096)
#define AT_ZEROS   UINT64_MAX

struct spool_extent {
	uint64_t offset, bytes;
	uint64_t at; /* address; AT_ZEROS: not stored */
};

struct spooled {
	uint64_t size, data_bytes;
	uint64_t first; /* extent */
	uint64_t count;
};

struct spool {
	char *directory;
	uint64_t memory_bytes; /* a multiple of SLAB_BYTES */
	uint8_t **slabs;
	size_t slab_count, slab_room;
	int fd;
	uint8_t *buffer;  /* the bytes from written to end */
	uint64_t end;	  /* of the address space */
	uint64_t written; /* end of the bytes in slabs and file */
	struct spool_extent *extents;
	size_t extent_count, extent_room;
	struct spooled *list;
	size_t count, room;

	struct spooled current; /* being written */
	uint64_t current_from;	/* its first address */
};

/* -- create and free ----------------------------------------------------------------- */

int dw_spool_new(const char *directory, uint64_t memory_bytes, struct spool **spool_out,
		 dwarfs_error **err)
{
	DW_AUTO(spool) struct spool *spool = dw_calloc(1, sizeof(*spool));

	if (!spool)
		return dw_fail_nomem(err);
	spool->fd = -1;
	spool->memory_bytes = memory_bytes / SLAB_BYTES * SLAB_BYTES;
	if (!(spool->directory = dw_strdup(directory)))
		return dw_fail_nomem(err);
	*spool_out = dw_steal(spool);
	return 0;
}

void dw_spool_free(struct spool *spool)
{
	if (!spool)
		return;
	for (size_t i = 0; i < spool->slab_count; i++)
		dw_pages_free(spool->slabs[i], SLAB_BYTES);
	dw_free(spool->slabs);
	dw_fd_close(spool->fd);
	dw_free(spool->directory);
	dw_free(spool->buffer);
	dw_free(spool->extents);
	dw_free(spool->list);
	dw_free(spool);
}

/* -- stored bytes -------------------------------------------------------------------- */

static int add_slab(struct spool *spool, dwarfs_error **err)
{
	uint8_t *slab;
	int ret = dw_grow(&spool->slabs, &spool->slab_room, spool->slab_count + 1, err);

	if (ret < 0)
		return ret;
	if (!(slab = dw_pages_new(SLAB_BYTES)))
		return dw_fail_nomem(err);
	spool->slabs[spool->slab_count++] = slab;
	return 0;
}

static int fail_spool_file(const struct spool *spool, int errnum, dwarfs_error **err)
{
	int ret = dw_fail_errno(err, errnum,
				"cannot keep contents in a temporary file in '%s'",
				spool->directory);

	return dw_error_at_path(err, ret, spool->directory);
}

static int open_scratch_file(struct spool *spool, dwarfs_error **err)
{
	int ret;

	if (!spool->buffer && !(spool->buffer = dw_malloc(BUFFER_BYTES)))
		return dw_fail_nomem(err);
	if (spool->fd < 0 && (ret = dw_scratch_open(spool->directory, &spool->fd)) < 0)
		return fail_spool_file(spool, -ret, err);
	return 0;
}

static int flush(struct spool *spool, dwarfs_error **err)
{
	int ret;

	if (spool->end <= spool->memory_bytes || spool->written == spool->end)
		return 0;
	ret = dw_fd_write_at(spool->fd, spool->buffer,
			     (size_t)(spool->end - spool->written),
			     spool->written - spool->memory_bytes);
	if (ret < 0)
		return fail_spool_file(spool, -ret, err);
	spool->written = spool->end;
	return 0;
}

/* Append as many bytes as fit into the current slab or the buffer. */
static int append_some(struct spool *spool, const uint8_t *data, size_t bytes,
		       size_t *done_out, dwarfs_error **err)
{
	size_t room, at;
	int ret;

	if (spool->end < spool->memory_bytes) {
		at = (size_t)(spool->end % SLAB_BYTES);
		if (spool->end / SLAB_BYTES >= spool->slab_count &&
		    (ret = add_slab(spool, err)) < 0)
			return ret;
		room = SLAB_BYTES - at;
		*done_out = bytes < room ? bytes : room;
		memcpy(spool->slabs[spool->end / SLAB_BYTES] + at, data, *done_out);
		spool->end += *done_out;
		spool->written = spool->end;
		return 0;
	}
	if ((ret = open_scratch_file(spool, err)) < 0)
		return ret;
	at = (size_t)(spool->end - spool->written);
	room = BUFFER_BYTES - at;
	*done_out = bytes < room ? bytes : room;
	memcpy(spool->buffer + at, data, *done_out);
	spool->end += *done_out;
	return *done_out == room ? flush(spool, err) : 0;
}

static int append_bytes(struct spool *spool, const uint8_t *data, size_t bytes,
			dwarfs_error **err)
{
	size_t done;
	int ret;

	for (; bytes > 0; data += done, bytes -= done)
		if ((ret = append_some(spool, data, bytes, &done, err)) < 0)
			return ret;
	return 0;
}

/* Discard the stored bytes from an address on. */
static void rewind_to(struct spool *spool, uint64_t end)
{
	uint64_t file_end = end > spool->memory_bytes ? end - spool->memory_bytes : 0;

	if (spool->written > end) {
		spool->written = end;
		if (spool->fd >= 0)
			dw_scratch_cut(spool->fd, file_end);
	}
	spool->end = end;
}

static int64_t read_stored(const struct spool *spool, uint8_t *to, size_t size,
			   uint64_t at)
{
	size_t done = 0;
	int64_t got;

	while (done < size && at + done < spool->memory_bytes) {
		size_t inside = (size_t)((at + done) % SLAB_BYTES);
		size_t part = SLAB_BYTES - inside;

		part = part < size - done ? part : size - done;
		memcpy(to + done, spool->slabs[(at + done) / SLAB_BYTES] + inside, part);
		done += part;
	}
	if (done == size)
		return (int64_t)size;
	got = dw_fd_read_at(spool->fd, to + done, size - done,
			    at + done - spool->memory_bytes);
	if (got >= 0 && (size_t)got < size - done)
		return -EIO; /* the file was truncated by another process */
	return got < 0 ? got : (int64_t)size;
}

/* -- writing ------------------------------------------------------------------------- */

void dw_spool_begin(struct spool *spool)
{
	if (spool->end > spool->current_from)
		rewind_to(spool, spool->current_from);
	spool->extent_count = (size_t)spool->current.first;
	spool->current = (struct spooled){ .first = spool->extent_count };
}

uint64_t dw_spool_reached(const struct spool *spool)
{
	return spool->current.size;
}

static bool continues_extent(const struct spool_extent *last, uint64_t offset,
			     uint64_t at)
{
	if (last->offset + last->bytes != offset)
		return false;
	if (last->at == AT_ZEROS || at == AT_ZEROS)
		return last->at == at;
	return last->at + last->bytes == at;
}

/* Add an extent of stored bytes, or of zeros if data is NULL. */
static int add_run(struct spool *spool, const uint8_t *data, size_t bytes,
		   uint64_t offset, dwarfs_error **err)
{
	uint64_t at = data ? spool->end : AT_ZEROS;
	struct spool_extent *last =
		spool->current.count ? &spool->extents[spool->extent_count - 1] : NULL;
	int ret;

	if ((ret = dw_grow(&spool->extents, &spool->extent_room, spool->extent_count + 2,
			   err)) < 0 ||
	    (data && (ret = append_bytes(spool, data, bytes, err)) < 0))
		return ret;
	if (last)
		last = &spool->extents[spool->extent_count - 1];
	if (last && continues_extent(last, offset, at)) {
		last->bytes += bytes;
	} else {
		spool->extents[spool->extent_count++] =
			(struct spool_extent){ offset, bytes, at };
		spool->current.count++;
	}
	spool->current.size = offset + bytes;
	spool->current.data_bytes += bytes;
	return 0;
}

int dw_spool_add(struct spool *spool, const void *data, size_t bytes, uint64_t offset,
		 dwarfs_error **err)
{
	const uint8_t *from = data;
	size_t at = 0, end;
	int ret;

	while (at < bytes) {
		bool zeros =
			bytes - at >= ZERO_BYTES && dw_is_zero(from + at, ZERO_BYTES);

		for (end = at; bytes - end >= ZERO_BYTES; end += ZERO_BYTES)
			if (dw_is_zero(from + end, ZERO_BYTES) != zeros)
				break;
		if (!zeros && bytes - end < ZERO_BYTES)
			end = bytes;
		ret = add_run(spool, zeros ? NULL : from + at, end - at, offset + at,
			      err);
		if (ret < 0)
			return ret;
		at = end;
	}
	return 0;
}

int dw_spool_end(struct spool *spool, uint64_t size, uint32_t *number_out,
		 dwarfs_error **err)
{
	int ret;

	if (spool->count >= UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many files for one image");
	if ((ret = dw_grow(&spool->list, &spool->room, spool->count + 1, err)) < 0)
		return ret;
	if (size > spool->current.size)
		spool->current.size = size;
	*number_out = (uint32_t)spool->count;
	spool->list[spool->count++] = spool->current;
	spool->current = (struct spooled){ .first = spool->extent_count };
	spool->current_from = spool->end;
	return 0;
}

/* Bytes at the end of the address space are reused; others are only released on disk. */
void dw_spool_drop(struct spool *spool, uint32_t number)
{
	struct spooled *spooled = &spool->list[number];

	dw_spool_begin(spool);
	while (spooled->count > 0) {
		uint64_t last = spooled->first + --spooled->count;
		const struct spool_extent *extent = &spool->extents[last];

		if (extent->at == AT_ZEROS)
			continue;
		if (extent->at + extent->bytes == spool->end)
			rewind_to(spool, extent->at);
		else if (extent->at >= spool->memory_bytes)
			dw_scratch_drop(spool->fd, extent->at - spool->memory_bytes,
					extent->bytes);
	}
	if (number + (size_t)1 == spool->count) {
		spool->count--;
		spool->extent_count = (size_t)spooled->first;
		spool->current.first = spooled->first;
	} else {
		*spooled = (struct spooled){ .first = spooled->first };
	}
	spool->current_from = spool->end;
}

uint64_t dw_spool_memory(const struct spool *spool)
{
	return (uint64_t)spool->slab_count * SLAB_BYTES;
}

int dw_spool_finish(struct spool *spool, dwarfs_error **err)
{
	int ret;

	dw_spool_begin(spool);
	if ((ret = flush(spool, err)) < 0)
		return ret;
	dw_free(dw_steal(spool->buffer));
	return 0;
}

/* -- reading ------------------------------------------------------------------------- */

uint64_t dw_spool_size(const struct spool *spool, uint32_t number)
{
	return spool->list[number].size;
}

uint64_t dw_spool_data_bytes(const struct spool *spool, uint32_t number)
{
	return spool->list[number].data_bytes;
}

/* The first extent that ends after an offset, or the end of the list. */
static const struct spool_extent *
find_extent(const struct spool *spool, const struct spooled *spooled, uint64_t offset)
{
	uint64_t from = spooled->first, to = spooled->first + spooled->count;

	while (from < to) {
		uint64_t middle = from + (to - from) / 2;
		const struct spool_extent *extent = &spool->extents[middle];

		if (extent->offset + extent->bytes <= offset)
			from = middle + 1;
		else
			to = middle;
	}
	return spool->extents + from;
}

static const struct spool_extent *past_last(const struct spool *spool,
					    const struct spooled *spooled)
{
	return spool->extents + spooled->first + spooled->count;
}

int64_t dw_spool_read_at(const struct spool *spool, uint32_t number, void *buffer,
			 size_t size, uint64_t offset)
{
	const struct spooled *spooled = &spool->list[number];
	const struct spool_extent *extent, *end = past_last(spool, spooled);
	uint8_t *to = buffer;
	uint64_t past, at = offset;
	int64_t got;

	if (offset >= spooled->size)
		return 0;
	if (size > spooled->size - offset)
		size = (size_t)(spooled->size - offset);
	past = offset + size;
	extent = find_extent(spool, spooled, offset);
	for (; extent < end && extent->offset < past; extent++) {
		uint64_t from = extent->offset > offset ? extent->offset : offset;
		uint64_t until = extent->offset + extent->bytes;

		if (extent->at == AT_ZEROS)
			continue;
		until = until < past ? until : past;
		memset(to + (at - offset), 0, (size_t)(from - at));
		got = read_stored(spool, to + (from - offset), (size_t)(until - from),
				  extent->at + (from - extent->offset));
		if (got < 0)
			return got;
		at = until;
	}
	memset(to + (at - offset), 0, (size_t)(past - at));
	return (int64_t)size;
}

void dw_spool_next_data(const struct spool *spool, uint32_t number, uint64_t from,
			uint64_t end, uint64_t *start_out, uint64_t *end_out)
{
	const struct spooled *spooled = &spool->list[number];
	const struct spool_extent *extent = find_extent(spool, spooled, from);
	const struct spool_extent *last = past_last(spool, spooled);

	*start_out = *end_out = end;
	if (extent == last || extent->offset >= end)
		return;
	*start_out = extent->offset > from ? extent->offset : from;
	*end_out = extent->offset + extent->bytes;
	while (++extent < last && extent->offset == *end_out && *end_out < end)
		*end_out += extent->bytes;
	*end_out = *end_out < end ? *end_out : end;
}

/* -- statistics ---------------------------------------------------------------------- */

uint64_t dw_spool_memory_bytes(const struct spool *spool)
{
	return spool->end < spool->memory_bytes ? spool->end : spool->memory_bytes;
}

uint64_t dw_spool_file_bytes(const struct spool *spool)
{
	return spool->end > spool->memory_bytes ? spool->end - spool->memory_bytes : 0;
}
