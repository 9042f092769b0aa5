/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/prefetch: decode what will be read soon. See dwarfs_prefetch().
 *
 * Takes a list of files; uses those that fit into half of the cache. Units are kept
 * whole, up to the last byte needed, if that fits as well. If not, and the order of
 * reading alternates between blocks, only the needed ranges are kept as extents, and each
 * block is decoded once for all of them; otherwise what does not fit is decoded when it
 * is read.
 */
#include <limits.h>

#include "pool/pool.h"
#include "read/bulk/block_pieces.h"
#include "read/file.h"

#define GAP_BYTES   4096 /* gaps up to this are kept with the ranges around them */
#define RANGE_BYTES (UINT64_C(1) << 20)

/* A block, or a part of one that is decoded independently. */
struct prefetch_unit {
	uint32_t block;
	struct range range;
	uint64_t end; /* needed up to this offset of the block */
};

struct prefetch {
	dwarfs_image *image;
	struct pieces
		pieces; /* without holes, each in one unit, by offset in the block */
	struct prefetch_unit *units; /* by block and offset */
	size_t unit_count, unit_room;
	uint64_t capacity; /* for extents; the budget may change meanwhile */
	bool whole;	   /* units are kept whole */
};

struct prefetch_job {
	const struct prefetch_unit *unit;
	size_t first, end; /* its pieces */
};

/* -- one unit, on any thread --------------------------------------------------------- */

static uint64_t piece_end(const struct piece *piece)
{
	return piece->offset + piece->bytes;
}

static int get_whole(struct prefetch *prefetch, const struct prefetch_unit *unit,
		     dwarfs_error **err)
{
	struct range range = { unit->range.from, unit->end - unit->range.from };
	struct cached cached;
	int ret = 0;

	if (dw_cache_has(prefetch->image, unit->block, range))
		return 0;
	for (; range.size > 0; range.from += cached.size, range.size -= cached.size) {
		ret = dw_cache_get(prefetch->image, unit->block, range, &cached, err);
		if (ret < 0)
			return ret;
		dw_cache_put(prefetch->image, &cached);
	}
	return 0;
}

/* Join ranges whose gap is at most GAP_BYTES. */
static size_t join_ranges(const struct prefetch *prefetch, const struct prefetch_job *job,
			  struct range *ranges)
{
	size_t count = 0;

	for (size_t i = job->first; i < job->end; i++) {
		const struct piece *piece = &prefetch->pieces.list[i];
		struct range *last = count ? &ranges[count - 1] : NULL;
		uint64_t end = piece_end(piece);

		if (last && piece->offset <= last->from + last->size + GAP_BYTES &&
		    (end <= last->from + last->size || end - last->from <= RANGE_BYTES)) {
			if (end > last->from + last->size)
				last->size = end - last->from;
			continue;
		}
		ranges[count++] = (struct range){ piece->offset, piece->bytes };
	}
	return count;
}

static int get_parts(struct prefetch *prefetch, const struct prefetch_job *job,
		     dwarfs_error **err)
{
	auto_free struct range *ranges =
		dw_calloc(job->end - job->first, sizeof(*ranges));
	struct range_list list = { .list = ranges };

	if (!ranges)
		return dw_fail_nomem(err);
	list.count = join_ranges(prefetch, job, ranges);
	return dw_cache_keep_ranges(prefetch->image, job->unit->block, &list, err);
}

static int prefetch_unit(void *shared, void *worker, void *item, dwarfs_error **err)
{
	struct prefetch *prefetch = shared;
	const struct prefetch_job *job = item;
	auto_error dwarfs_error *why = NULL;
	int ret = prefetch->whole ? get_whole(prefetch, job->unit, &why)
				  : get_parts(prefetch, job, &why);

	/* The error is reported again when the file is read. */
	return ret == DWARFS_ERR_NOMEM ? dw_fail_nomem(err) : 0;
}

static void drop_prefetch_job(void *shared, void *item)
{
	dw_free(item);
}

/* -- the story ----------------------------------------------------------------------- */

/* Omit holes, and what exceeds the space. */
static bool trim_pieces(struct pieces *pieces, size_t from, uint64_t *room, bool cut)
{
	size_t kept = from;

	for (size_t i = from; i < pieces->count; i++) {
		struct piece piece = pieces->list[i];

		if (piece.is_hole)
			continue;
		if (piece.bytes > *room && !cut) {
			pieces->count = from;
			return false;
		}
		if (piece.bytes > *room)
			piece.bytes = *room;
		*room -= piece.bytes;
		if (piece.bytes > 0)
			pieces->list[kept++] = piece;
	}
	pieces->count = kept;
	return true;
}

/* How many of the files fit; if the first does not, how much of it. */
static int choose_files(struct prefetch *prefetch, const dwarfs_inode *inodes,
			size_t count, uint64_t room, size_t *count_out,
			dwarfs_error **err)
{
	const struct view *view = prefetch->image->view;

	for (size_t i = 0; i < count; i++) {
		uint64_t left = room, bytes;
		size_t before = prefetch->pieces.count;
		auto_error dwarfs_error *why = NULL;
		struct chunk_range range;
		int ret = dw_view_chunk_range(view, inodes[i].number, &range, &why);

		if (ret == DWARFS_ERR_RANGE)
			return dw_fail(err, ret, "%s", dwarfs_error_message(why));
		if (ret == 0)
			ret = dw_pieces_add(&prefetch->pieces, prefetch->image, range,
					    (uint32_t)i, &bytes, &why);
		if (ret == DWARFS_ERR_NOMEM)
			return dw_fail_nomem(err);
		*count_out = i + 1;
		if (ret < 0)
			continue;
		if (!trim_pieces(&prefetch->pieces, before, &left, before == 0)) {
			*count_out = i;
			return 0;
		}
		room = left;
	}
	return 0;
}

/* Memory to decode a unit: its bytes, stored bytes, and the decoder. */
static uint64_t bytes_of_work(uint64_t unit_bytes)
{
	return unit_bytes + unit_bytes / 2;
}

/* Space for the files, so that decoding does not evict them. */
static uint64_t room_for(const struct prefetch *prefetch, uint64_t unit_bytes)
{
	uint64_t most = prefetch->capacity;
	uint64_t work = bytes_of_work(unit_bytes);
	uint64_t rest = 2 * most > work ? 2 * most - work : 0;

	if (rest > most)
		return most;
	return rest > most / 2 ? rest : most / 2;
}

/* The size of the unit where the first file begins. */
static int first_unit_bytes(const dwarfs_image *image, const dwarfs_inode *inodes,
			    size_t count, uint64_t *bytes_out, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	struct chunk_range range;
	struct file_chunk chunk;
	struct range unit;

	*bytes_out = image->view->block_size;
	for (size_t i = 0; i < count; i++) {
		int ret =
			dw_view_chunk_range(image->view, inodes[i].number, &range, &why);

		for (uint64_t at = range.first; ret == 0 && at < range.end; at++) {
			ret = dw_view_chunk(image->view, at, &chunk, &why);
			if (ret < 0 || chunk.is_hole || chunk.block >= image->block_count)
				continue;
			ret = dw_cache_unit((dwarfs_image *)image, chunk.block,
					    chunk.offset, &unit, &why);
			if (ret == DWARFS_ERR_NOMEM)
				return dw_fail_nomem(err);
			*bytes_out = unit.size;
			return 0;
		}
	}
	return 0;
}

/* -- units --------------------------------------------------------------------------- */

static bool is_in(const struct prefetch_unit *unit, uint32_t block, uint64_t offset)
{
	return unit->block == block && offset >= unit->range.from &&
	       offset - unit->range.from < unit->range.size;
}

/* The index of the first unit that ends after an offset. */
static size_t find_unit(const struct prefetch *prefetch, uint32_t block, uint64_t offset)
{
	size_t low = 0, high = prefetch->unit_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct prefetch_unit *unit = &prefetch->units[middle];

		if (unit->block < block ||
		    (unit->block == block &&
		     unit->range.from + unit->range.size <= offset))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct prefetch_unit *unit_of(struct prefetch *prefetch, const struct piece *piece)
{
	return &prefetch->units[find_unit(prefetch, piece->block, piece->offset)];
}

/* The index of the unit that contains an offset; added if it is new. */
static int get_unit(struct prefetch *prefetch, uint32_t block, uint64_t offset,
		    size_t *number_out, dwarfs_error **err)
{
	size_t at = find_unit(prefetch, block, offset);
	auto_error dwarfs_error *why = NULL;
	struct prefetch_unit unit = { .block = block };
	int ret;

	*number_out = at;
	if (at < prefetch->unit_count && is_in(&prefetch->units[at], block, offset))
		return 0;
	/* The error is reported again when the file is read. */
	ret = dw_cache_unit(prefetch->image, block, offset, &unit.range, &why);
	if (ret == DWARFS_ERR_NOMEM)
		return dw_fail_nomem(err);
	if (!is_in(&unit, block, offset))
		unit.range = (struct range){ 0, UINT32_MAX };
	if ((ret = dw_grow(&prefetch->units, &prefetch->unit_room,
			   prefetch->unit_count + 1, err)) < 0)
		return ret;
	memmove(&prefetch->units[at + 1], &prefetch->units[at],
		(prefetch->unit_count++ - at) * sizeof(unit));
	prefetch->units[at] = unit;
	return 0;
}

/* Split pieces at the boundaries of units. */
static int cut_at_units(struct prefetch *prefetch, dwarfs_error **err)
{
	auto_pieces struct pieces pieces = prefetch->pieces;

	prefetch->pieces = (struct pieces){ 0 };
	for (size_t i = 0; i < pieces.count; i++) {
		struct piece rest = pieces.list[i];

		while (rest.bytes > 0) {
			struct piece piece = rest;
			struct range range;
			size_t unit;
			int ret = get_unit(prefetch, rest.block, rest.offset, &unit, err);

			if (ret < 0 ||
			    (ret = dw_grow(&prefetch->pieces.list, &prefetch->pieces.room,
					   prefetch->pieces.count + 1, err)) < 0)
				return ret;
			range = prefetch->units[unit].range;
			if (piece.bytes > range.from + range.size - piece.offset)
				piece.bytes = range.from + range.size - piece.offset;
			prefetch->pieces.list[prefetch->pieces.count++] = piece;
			rest.at += piece.bytes;
			rest.offset += (uint32_t)piece.bytes;
			rest.bytes -= piece.bytes;
		}
	}
	return 0;
}

/* -- what is decoded ----------------------------------------------------------------- */

/* As many as do not wait for each other's memory. */
static uint32_t workers_for(const struct prefetch *prefetch, uint64_t unit_bytes)
{
	const dwarfs_image *image = prefetch->image;
	uint64_t workers = dw_context_workers(image->context);
	uint64_t rest = 2 * prefetch->capacity - room_for(prefetch, unit_bytes);

	if (rest / bytes_of_work(unit_bytes) < workers)
		workers = rest / bytes_of_work(unit_bytes);
	return workers > 1 ? (uint32_t)workers : 0;
}

static int get_units(struct prefetch *prefetch, uint64_t unit_bytes, dwarfs_error **err)
{
	static const struct pool_ops ops = { .run = prefetch_unit,
					     .drop = drop_prefetch_job };
	uint32_t workers = workers_for(prefetch, unit_bytes);
	const struct pieces *pieces = &prefetch->pieces;
	auto_pool struct pool *pool = NULL;
	int ret;

	if (pieces->count == 0)
		return 0;
	if (prefetch->unit_count == 1)
		workers = 0;
	if ((ret = dw_pool_new(&ops, prefetch, workers, workers + 1, &pool, err)) < 0)
		return ret;
	for (size_t first = 0, end = 0; first < pieces->count; first = end) {
		const struct prefetch_unit *unit =
			unit_of(prefetch, &pieces->list[first]);
		struct prefetch_job *job = dw_calloc(1, sizeof(*job));

		if (!job)
			return dw_fail_nomem(err);
		while (end < pieces->count &&
		       is_in(unit, pieces->list[end].block, pieces->list[end].offset))
			end++;
		*job = (struct prefetch_job){ unit, first, end };
		if ((ret = dw_pool_submit(pool, job, err)) < 0)
			return ret;
	}
	return dw_pool_finish(pool, err);
}

/* Extend the unit of a piece to the end of that piece. */
static void reach(struct prefetch *prefetch, const struct piece *piece)
{
	struct prefetch_unit *unit = unit_of(prefetch, piece);

	if (piece_end(piece) > unit->end)
		unit->end = piece_end(piece);
}

/* Memory of a unit decoded up to that offset: twice while it grows, plus the stored
 * bytes. */
static uint64_t bytes_of_unit(const struct prefetch_unit *unit)
{
	return unit->end > 0 ? 2 * (unit->end - unit->range.from) + unit->range.size / 4
			     : 0;
}

/* Decide whether units are kept whole; if they do not fit and the rest is better left
 * to the reader, reduce the pieces and files. */
static void plan_units(struct prefetch *prefetch, uint64_t room, size_t *count)
{
	struct pieces *pieces = &prefetch->pieces;
	uint64_t budget = 2 * prefetch->capacity;
	uint64_t needed = 0, changes = 0, units = 0;
	const struct prefetch_unit *last = NULL;
	size_t fitting = 0;
	bool stays = true;

	for (size_t i = 0; i < pieces->count; i++) {
		const struct piece *piece = &pieces->list[i];
		struct prefetch_unit *unit = unit_of(prefetch, piece);

		changes += unit != last;
		last = unit;
		units += unit->end == 0;
		needed -= bytes_of_unit(unit);
		reach(prefetch, piece);
		needed += bytes_of_unit(unit);
		if (needed <= room)
			fitting = i + 1;
		/* A unit that cannot be kept would be decoded again for each read. */
		stays &= bytes_of_unit(unit) <= budget;
	}
	prefetch->whole = needed <= room || (stays && changes <= units + units / 2);
	if (needed <= room || !prefetch->whole)
		return;
	*count = pieces->list[fitting].file;
	while (fitting > 0 && pieces->list[fitting - 1].file == *count)
		fitting--;
	pieces->count = fitting;
	for (size_t i = 0; i < prefetch->unit_count; i++)
		prefetch->units[i].end = 0;
	for (size_t i = 0; i < fitting; i++)
		reach(prefetch, &pieces->list[i]);
}

int dwarfs_prefetch(const dwarfs_image *image, const dwarfs_inode *inodes, size_t count,
		    dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !inodes)
		return dw_fail_null(err, "image and inodes");

	struct prefetch prefetch = { .image = dwarfs_image_ref(image),
				     .capacity =
					     dw_cache_extent_capacity(image->context) };
	uint64_t unit_bytes, room;
	size_t chosen = 0;
	int ret = first_unit_bytes(image, inodes, count, &unit_bytes, err);

	if (ret == 0) {
		room = room_for(&prefetch, unit_bytes);
		ret = choose_files(&prefetch, inodes, count > INT_MAX ? INT_MAX : count,
				   room, &chosen, err);
	}
	if (ret == 0 && (ret = cut_at_units(&prefetch, err)) == 0) {
		plan_units(&prefetch, room, &chosen);
		dw_pieces_sort_by_offset(&prefetch.pieces);
		ret = get_units(&prefetch, unit_bytes, err);
	}
	dw_pieces_free(&prefetch.pieces);
	dw_free(prefetch.units);
	dwarfs_image_free(prefetch.image);
	return ret < 0 ? ret : (int)chosen;
}
