/* SPDX-License-Identifier: MIT */
/*
 * archive/stream_check: verify the checksums of a compressed stream that libarchive
 * reads, but does not verify.
 *
 * A stream is one or more members, each with its checksums, and may be followed by other
 * bytes, such as zeros that fill a block of a tape; these are ignored.
 */
#include <string.h>

#include "archive/libarchive.h"
#include "archive/stream_check.h"
#include "base/memory.h"
#include "config.h"

#if HAVE_LZ4
#include <lz4frame.h>
#endif
#if HAVE_ZLIB
#include <zlib.h>
#endif

#define ROOM ((size_t)64 << 10)

/* Consume some of the bytes: how many, or an error. 0 only if that made output, or the members
 * are over. */
typedef int64_t step_fn(struct stream_check *check, const uint8_t *data, size_t size,
			dwarfs_error **err);

struct stream_check {
	step_fn *step;
	const char *name;
	bool is_in_member;
	bool is_over;
	uint64_t member_bytes; /* of the member so far */
	uint64_t
		least_bytes; /* of a member; with fewer it is not known whether it is one */
#if HAVE_ZLIB
	z_stream inflate;
#endif
#if HAVE_LZ4
	LZ4F_dctx *lz4;
#endif
	uint8_t room[ROOM]; /* what was decompressed, unused */
};

static int64_t fail_damaged(const struct stream_check *check, const char *why,
			    dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT, "%s decompression failed: %s",
		       check->name, why);
}

/* No member begins here: what follows the last one is ignored. */
static int64_t end_members(struct stream_check *check)
{
	check->is_over = true;
	check->is_in_member = false;
	return 0;
}

/* -- gzip ---------------------------------------------------------------------------- */

#if HAVE_ZLIB
#define GZIP_WINDOW (MAX_WBITS + 16)
#define GZIP_LEAST  2 /* the magic, in bytes */

static void *zlib_alloc(void *user, unsigned count, unsigned bytes)
{
	(void)user;
	return dw_calloc(count, bytes);
}

static void zlib_free(void *user, void *block)
{
	(void)user;
	dw_free(block);
}

static int64_t step_gzip(struct stream_check *check, const uint8_t *data, size_t size,
			 dwarfs_error **err)
{
	z_stream *stream = &check->inflate;
	size_t used;
	int got;

	if (!check->is_in_member && inflateReset(stream) != Z_OK)
		return fail_damaged(check, "no state", err);
	stream->next_in = (uint8_t *)(uintptr_t)data;
	stream->avail_in = (unsigned)size;
	stream->next_out = check->room;
	stream->avail_out = ROOM;
	got = inflate(stream, Z_NO_FLUSH);
	used = size - stream->avail_in;
	if (got == Z_MEM_ERROR)
		return dw_fail_nomem(err);
	if (got != Z_OK && got != Z_STREAM_END && got != Z_BUF_ERROR) {
		if (check->member_bytes + used <= GZIP_LEAST)
			return end_members(check);
		return fail_damaged(check, stream->msg ? stream->msg : "invalid data",
				    err);
	}
	check->is_in_member = got != Z_STREAM_END;
	return (int64_t)used;
}

static int begin_gzip(struct stream_check *check, dwarfs_error **err)
{
	check->name = "gzip";
	check->inflate.zalloc = zlib_alloc;
	check->inflate.zfree = zlib_free;
	if (inflateInit2(&check->inflate, GZIP_WINDOW) != Z_OK)
		return dw_fail_nomem(err);
	check->step = step_gzip;
	check->least_bytes = GZIP_LEAST;
	return 0;
}
#endif

/* -- lz4 ----------------------------------------------------------------------------- */

#if HAVE_LZ4
#define LZ4_LEAST 7 /* the shortest header of a frame, in bytes */

static int64_t step_lz4(struct stream_check *check, const uint8_t *data, size_t size,
			dwarfs_error **err)
{
	size_t room = ROOM;
	const size_t got =
		LZ4F_decompress(check->lz4, check->room, &room, data, &size, NULL);

	if (LZ4F_isError(got)) {
		const char *why = LZ4F_getErrorName(got);

		if (strcmp(why, "ERROR_frameType_unknown") == 0)
			return end_members(check);
		if (strcmp(why, "ERROR_allocation_failed") == 0)
			return dw_fail_nomem(err);
		return fail_damaged(check, why, err);
	}
	check->is_in_member = got != 0;
	return (int64_t)size;
}

static int begin_lz4(struct stream_check *check, dwarfs_error **err)
{
	check->name = "lz4";
	if (LZ4F_isError(LZ4F_createDecompressionContext(&check->lz4, LZ4F_VERSION)))
		return dw_fail_nomem(err);
	check->step = step_lz4;
	check->least_bytes = LZ4_LEAST;
	return 0;
}
#endif

/* -- interface ----------------------------------------------------------------------- */

int dw_stream_check_new(int filter, struct stream_check **check_out, dwarfs_error **err)
{
	int (*begin)(struct stream_check * check, dwarfs_error * *err) = NULL;
	struct stream_check *check;
	int ret;

	*check_out = NULL;
#if HAVE_ZLIB
	if (filter == ARCHIVE_FILTER_GZIP)
		begin = begin_gzip;
#endif
#if HAVE_LZ4
	if (filter == ARCHIVE_FILTER_LZ4)
		begin = begin_lz4;
#endif
	if (!begin)
		return 0;
	if (!(check = dw_calloc(1, sizeof(*check))))
		return dw_fail_nomem(err);
	if ((ret = begin(check, err)) < 0) {
		dw_stream_check_free(check);
		return ret;
	}
	*check_out = check;
	return 0;
}

void dw_stream_check_free(struct stream_check *check)
{
	if (!check)
		return;
#if HAVE_ZLIB
	if (check->inflate.state)
		inflateEnd(&check->inflate);
#endif
#if HAVE_LZ4
	LZ4F_freeDecompressionContext(check->lz4);
#endif
	dw_free(check);
}

int dw_stream_check_bytes(struct stream_check *check, const uint8_t *data, size_t size,
			  dwarfs_error **err)
{
	while (size > 0 && !check->is_over) {
		int64_t used;

		if (!check->is_in_member)
			check->member_bytes = 0;
		used = check->step(check, data, size, err);
		if (used < 0)
			return (int)used;
		check->member_bytes += (uint64_t)used;
		data += used;
		size -= (size_t)used;
	}
	return 0;
}

bool dw_stream_check_is_over(const struct stream_check *check)
{
	return check->is_over;
}

int dw_stream_check_end(const struct stream_check *check, dwarfs_error **err)
{
	if (check->is_in_member && check->member_bytes >= check->least_bytes)
		return (int)fail_damaged(check, "the data is truncated", err);
	return 0;
}
