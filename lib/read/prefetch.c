/* SPDX-License-Identifier: MIT */
/*
 * read/prefetch: have ready what will be read soon. See dwarfs_prefetch().
 *
 * Takes so many of the files as half of the cache has room for. Blocks stay whole, up to
 * where they are needed, if that fits as well. Else, where reading would go from block to
 * block and back, only the parts that are needed stay, and each block is decoded once for
 * all of them; and where it would not, what does not fit is left to the reader.
 */
#include <limits.h>

#include "pool/pool.h"
#include "read/file.h"
#include "read/pieces.h"

#define GAP_BYTES   4096 /* kept between two parts that are wanted */
#define RANGE_BYTES (UINT64_C(1) << 20)

struct prefetch {
	dwarfs_image *image;
	struct pieces pieces; /* without holes, by place in the block */
	bool whole;	      /* blocks stay as they are */
};

struct job {
	size_t first, end; /* its pieces */
};

/* -- one block, on any thread -------------------------------------------------------- */

static uint64_t end_of(const struct piece *piece)
{
	return piece->offset + piece->bytes;
}

static uint64_t block_end(const struct prefetch *prefetch, size_t first, size_t end)
{
	uint64_t upto = 0;

	for (size_t i = first; i < end; i++)
		if (end_of(&prefetch->pieces.list[i]) > upto)
			upto = end_of(&prefetch->pieces.list[i]);
	return upto;
}

static int get_whole(struct prefetch *prefetch, const struct job *job, dwarfs_error **err)
{
	struct range range = { 0, block_end(prefetch, job->first, job->end) };
	uint32_t block = prefetch->pieces.list[job->first].block;
	struct cached cached;
	int ret;

	if (dw_cache_has(prefetch->image, block, range))
		return 0;
	ret = dw_cache_get(prefetch->image, block, range, NULL, &cached, err);
	if (ret == 0)
		dw_cache_put(prefetch->image, &cached);
	return ret;
}

/* The parts, those that touch or almost do as one. */
static size_t join(const struct prefetch *prefetch, const struct job *job,
		   struct range *ranges)
{
	size_t count = 0;

	for (size_t i = job->first; i < job->end; i++) {
		const struct piece *piece = &prefetch->pieces.list[i];
		struct range *last = count ? &ranges[count - 1] : NULL;
		uint64_t end = end_of(piece);

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

static int get_parts(struct prefetch *prefetch, const struct job *job, dwarfs_error **err)
{
	uint32_t block = prefetch->pieces.list[job->first].block;
	auto_free struct range *ranges =
		dw_calloc(job->end - job->first, sizeof(*ranges));
	struct wants wants = { .list = ranges };

	if (!ranges)
		return dw_fail_nomem(err);
	wants.count = join(prefetch, job, ranges);
	return dw_cache_harvest(prefetch->image, block, &wants, err);
}

static int run(void *shared, void *worker, void *item, dwarfs_error **err)
{
	struct prefetch *prefetch = shared;
	auto_error dwarfs_error *why = NULL;
	int ret = prefetch->whole ? get_whole(prefetch, item, &why)
				  : get_parts(prefetch, item, &why);

	/* The rest comes up again when the file is read. */
	return ret == DWARFS_ERR_NOMEM ? dw_fail_nomem(err) : 0;
}

static void drop(void *shared, void *item)
{
	free(item);
}

/* -- the story ----------------------------------------------------------------------- */

/* Leave out holes, and keep no more than there is room for. */
static bool trim(struct pieces *pieces, size_t from, uint64_t *room, bool cut)
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

/* How many of the files fit; of one that alone does not, what does. */
static int choose(struct prefetch *prefetch, const dwarfs_inode *inodes, size_t count,
		  uint64_t room, size_t *count_out, dwarfs_error **err)
{
	const struct view *view = prefetch->image->view;

	for (size_t i = 0; i < count; i++) {
		uint64_t left = room, bytes;
		size_t before = prefetch->pieces.count;
		auto_error dwarfs_error *why = NULL;
		struct chunk_range range;
		int ret = dw_view_chunk_range(view, inodes[i], &range, &why);

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
		if (!trim(&prefetch->pieces, before, &left, before == 0)) {
			*count_out = i;
			return 0;
		}
		room = left;
	}
	return 0;
}

/* What a block takes while it is decoded: itself, what is stored, the decoder. */
static uint64_t bytes_of_work(const dwarfs_image *image)
{
	return image->view->block_size + image->view->block_size / 2;
}

/* What the files may take, so that decoding does not drive it out again. */
static uint64_t room_for(const dwarfs_image *image)
{
	uint64_t most = dw_cache_extent_room(image->cache);
	uint64_t rest =
		2 * most > bytes_of_work(image) ? 2 * most - bytes_of_work(image) : 0;

	if (rest > most)
		return most;
	return rest > most / 2 ? rest : most / 2;
}

/* So many that they do not wait for each other's memory. */
static uint32_t workers_for(const struct prefetch *prefetch)
{
	const dwarfs_image *image = prefetch->image;
	uint64_t workers = dw_context_workers(image->context);
	uint64_t rest = dw_cache_extent_room(image->cache) * 2 - room_for(image);

	if (rest / bytes_of_work(image) < workers)
		workers = rest / bytes_of_work(image);
	return workers > 1 ? (uint32_t)workers : 0;
}

static int get_blocks(struct prefetch *prefetch, dwarfs_error **err)
{
	static const struct pool_ops ops = { .run = run, .drop = drop };
	uint32_t workers = workers_for(prefetch);
	const struct pieces *pieces = &prefetch->pieces;
	auto_pool struct pool *pool = NULL;
	int ret;

	if (pieces->count == 0)
		return 0;
	if (dw_pieces_end_of_block(pieces, 0) == pieces->count)
		workers = 0; /* there is one block */
	if ((ret = dw_pool_new(&ops, prefetch, workers, workers + 1, &pool, err)) < 0)
		return ret;
	for (size_t first = 0, end; first < pieces->count; first = end) {
		struct job *job = dw_calloc(1, sizeof(*job));

		if (!job)
			return dw_fail_nomem(err);
		end = dw_pieces_end_of_block(pieces, first);
		*job = (struct job){ first, end };
		if ((ret = dw_pool_submit(pool, job, err)) < 0)
			return ret;
	}
	return dw_pool_finish(pool, err);
}

/* Whether blocks stay whole; if not all of that fits and the rest is better left alone,
 * there are fewer pieces and files afterwards. */
static int plan(struct prefetch *prefetch, uint64_t room, size_t *count,
		dwarfs_error **err)
{
	const dwarfs_image *image = prefetch->image;
	struct pieces *pieces = &prefetch->pieces;
	auto_free uint64_t *ends = dw_calloc(image->block_count, sizeof(*ends));
	uint64_t needed = 0, changes = 0, blocks = 0;
	uint64_t budget = 2 * dw_cache_extent_room(image->cache);
	size_t fitting = 0;
	bool stays = true;

	if (!ends)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < pieces->count; i++) {
		const struct piece *piece = &pieces->list[i];
		uint64_t *end = &ends[piece->block];

		changes += i == 0 || piece->block != pieces->list[i - 1].block;
		blocks += *end == 0;
		/* What is stored stays, too, and the state of the decoder. */
		needed += *end == 0 ? image->view->block_size / 4 : 0;
		if (end_of(piece) > *end) {
			needed += 2 * (end_of(piece) - *end);
			*end = end_of(piece);
		}
		if (needed <= room)
			fitting = i + 1;
		/* A block that cannot stay is decoded anew by each who reads from it. */
		stays &= 2 * *end + image->view->block_size / 4 <= budget;
	}
	prefetch->whole = needed <= room || (stays && changes <= blocks + blocks / 2);
	if (needed > room && prefetch->whole) {
		*count = pieces->list[fitting].file;
		while (fitting > 0 && pieces->list[fitting - 1].file == *count)
			fitting--;
		pieces->count = fitting;
	}
	return 0;
}

int dwarfs_prefetch(const dwarfs_image *image, const dwarfs_inode *inodes, size_t count,
		    dwarfs_error **err)
{
	struct prefetch prefetch = { .image = dwarfs_image_ref(image) };
	uint64_t room = room_for(image);
	size_t chosen = 0;
	int ret = choose(&prefetch, inodes, count > INT_MAX ? INT_MAX : count, room,
			 &chosen, err);

	if (ret == 0)
		ret = plan(&prefetch, room, &chosen, err);
	dw_pieces_sort_by_offset(&prefetch.pieces);
	if (ret == 0)
		ret = get_blocks(&prefetch, err);
	dw_pieces_free(&prefetch.pieces);
	dwarfs_image_free(prefetch.image);
	return ret < 0 ? ret : (int)chosen;
}
