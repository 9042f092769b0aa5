/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/in_order: read many whole files in the order of their data. See
 * dwarfs_read_in_order().
 *
 *	pieces	 the chunks of all files, sorted by block
 *	pool	 reads, verifies and decompresses the next blocks ahead
 *	deliver	 passes the pieces of each block to the callback, and completes files
 *
 * A block is decompressed once, as far as its files need it, into its own memory, unless
 * it is in the cache.
 */
#include "base/progress.h"
#include "pool/pool.h"
#include "read/bulk/block_pieces.h"
#include "read/bulk/whole_block.h"
#include "read/file.h"

#define HAS_FAILED UINT32_MAX

/* Largest piece of a hole passed to the callback, so that it fits a size_t. */
#define MOST_BYTES ((uint64_t)SIZE_MAX / 2 + 1)

/* One of the files. */
struct copy_target {
	uint64_t bytes;
	uint32_t inode;
	uint32_t left; /* pieces, or HAS_FAILED */
};

struct bulk {
	dwarfs_image *image;
	dwarfs_piece_fn piece;
	dwarfs_piece_fail_fn failed;
	void *user;
	struct copy_target *targets;
	size_t target_count;
	struct pieces pieces;
	struct dwarfs_progress progress;
};

/* A block that is being decoded. */
struct in_order_job {
	size_t first, end; /* its pieces */
	struct whole whole;
	int code;
	dwarfs_error *error;
};

/* -- decompressing, on any thread ---------------------------------------------------- */

static int load_whole_block(void *shared, void *worker, void *item, dwarfs_error **err)
{
	struct bulk *bulk = shared;
	struct in_order_job *job = item;
	uint32_t block = bulk->pieces.list[job->first].block;

	job->code = dw_whole_load(bulk->image, block, &job->whole, &job->error);
	return job->code == DWARFS_ERR_NOMEM ? dw_fail_nomem(err) : 0;
}

static void drop_block(void *shared, void *item)
{
	struct bulk *bulk = shared;
	struct in_order_job *job = item;

	dw_whole_release(bulk->image, &job->whole);
	dwarfs_error_free(job->error);
	dw_free(job);
}

/* -- delivery, on the caller's thread ------------------------------------------------ */

static int give_bytes(struct bulk *bulk, struct copy_target *target, const uint8_t *data,
		      uint64_t bytes, uint64_t at, dwarfs_error **err)
{
	const dwarfs_inode inode = dwarfs_inode_at(target->inode);
	auto_error dwarfs_error *why = NULL;
	int ret = 0;

	bulk->progress.bytes_done += bytes;
	for (; ret == 0 && bytes > MOST_BYTES; at += MOST_BYTES, bytes -= MOST_BYTES)
		ret = bulk->piece(inode, data, (size_t)MOST_BYTES, at, &why, bulk->user);
	if (ret == 0)
		ret = bulk->piece(inode, data, (size_t)bytes, at, &why, bulk->user);
	if (ret != 0)
		return dw_callback_fail(ret, &why, err);
	return dw_progress_tick(&bulk->progress, err);
}

static int fail_target(struct bulk *bulk, struct copy_target *target, int code,
		       dwarfs_error *why, dwarfs_error **err)
{
	auto_error dwarfs_error *stop = NULL;
	int ret;

	if (target->left == HAS_FAILED)
		return 0;
	target->left = HAS_FAILED;
	if (!bulk->failed)
		return dw_error_copy(err, code, why);
	bulk->progress.items_done++;
	ret = bulk->failed(dwarfs_inode_at(target->inode), why, &stop, bulk->user);
	return ret == 0 ? 0 : dw_callback_fail(ret, &stop, err);
}

static int deliver(struct bulk *bulk, const struct piece *piece, const uint8_t *bytes,
		   dwarfs_error **err)
{
	struct copy_target *target = &bulk->targets[piece->file];
	int ret;

	if (target->left == HAS_FAILED)
		return 0;
	ret = give_bytes(bulk, target, piece->is_hole ? NULL : bytes + piece->offset,
			 piece->bytes, piece->at, err);
	if (ret == 0 && --target->left == 0) {
		bulk->progress.items_done++;
		ret = give_bytes(bulk, target, NULL, 0, target->bytes, err);
	}
	return ret;
}

/* Deliver the part of a piece that is in a loaded block. */
static int hand_over(struct bulk *bulk, const struct in_order_job *job,
		     const struct piece *piece, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;

	if (dw_whole_has(&job->whole, piece, &why) == 0)
		return deliver(bulk, piece, job->whole.bytes, err);
	return fail_target(bulk, &bulk->targets[piece->file], DWARFS_ERR_CORRUPT, why,
			   err);
}

static int block_done(void *shared, void *item, dwarfs_error **err)
{
	struct bulk *bulk = shared;
	struct in_order_job *job = item;
	int ret = 0;

	for (size_t i = job->first; i < job->end && ret == 0; i++) {
		const struct piece *piece = &bulk->pieces.list[i];

		if (job->code < 0)
			ret = fail_target(bulk, &bulk->targets[piece->file], job->code,
					  job->error, err);
		else
			ret = hand_over(bulk, job, piece, err);
	}
	return ret;
}

/* -- the story ----------------------------------------------------------------------- */

/* Omit inodes that are not files, and duplicates. */
static int list_bulk_targets(struct bulk *bulk, const dwarfs_inode *inodes, size_t count,
			     dwarfs_error **err)
{
	uint32_t inode_count = dwarfs_image_inode_count(bulk->image);
	auto_free uint8_t *seen = dw_calloc((size_t)inode_count / 8 + 1, 1);

	bulk->targets = dw_calloc(count ? count : 1, sizeof(*bulk->targets));
	if (!seen || !bulk->targets)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		struct copy_target target = { .inode = inodes[i].number };
		auto_error dwarfs_error *why = NULL;
		struct chunk_range range;
		int ret = dw_view_chunk_range(bulk->image->view, target.inode, &range,
					      &why);

		if (ret < 0 && (ret = fail_target(bulk, &target, ret, why, err)) < 0)
			return ret;
		if (target.left == HAS_FAILED ||
		    seen[target.inode / 8] & 1u << target.inode % 8)
			continue;
		seen[target.inode / 8] |= (uint8_t)(1u << target.inode % 8);
		bulk->targets[bulk->target_count++] = target;
	}
	return 0;
}

/* Find all pieces; files without data are complete. */
static int collect_pieces(struct bulk *bulk, dwarfs_error **err)
{
	for (size_t i = 0; i < bulk->target_count; i++) {
		struct copy_target *target = &bulk->targets[i];
		auto_error dwarfs_error *why = NULL;
		struct chunk_range range;
		size_t before = bulk->pieces.count;
		int ret;

		if ((ret = dw_view_chunk_range(bulk->image->view, target->inode, &range,
					       err)) < 0)
			return ret;
		ret = dw_pieces_add(&bulk->pieces, bulk->image, range, (uint32_t)i,
				    &target->bytes, &why);
		if (ret == DWARFS_ERR_NOMEM)
			return dw_fail_nomem(err);
		target->left = (uint32_t)(bulk->pieces.count - before);
		bulk->progress.items_total++;
		bulk->progress.bytes_total += target->bytes;
		bulk->progress.items_done += ret == 0 && target->left == 0;
		if (ret < 0)
			ret = fail_target(bulk, target, ret, why, err);
		else if (target->left == 0)
			ret = give_bytes(bulk, target, NULL, 0, target->bytes, err);
		if (ret < 0)
			return ret;
	}
	dw_pieces_sort_by_file(&bulk->pieces);
	return 0;
}

static struct in_order_job *new_job(const struct bulk *bulk, size_t first, size_t end)
{
	struct in_order_job *job = dw_calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->first = first;
	job->end = end;
	job->whole.need = dw_pieces_need(&bulk->pieces, first, end);
	return job;
}

static int read_blocks(struct bulk *bulk, dwarfs_error **err)
{
	static const struct pool_ops ops = { .run = load_whole_block,
					     .done = block_done,
					     .drop = drop_block };
	uint32_t workers = dw_context_workers(bulk->image->context);
	auto_pool struct pool *pool = NULL;
	size_t first = 0;
	int ret = dw_pool_new(&ops, bulk, workers, workers + 1, &pool, err);

	while (ret == 0 && first < bulk->pieces.count &&
	       bulk->pieces.list[first].block != NO_BLOCK) {
		size_t end = dw_pieces_end_of_block(&bulk->pieces, first);
		struct in_order_job *job = new_job(bulk, first, end);

		if (!job)
			return dw_fail_nomem(err);
		ret = dw_pool_submit(pool, job, err);
		first = end;
	}
	if (ret == 0)
		ret = dw_pool_finish(pool, err);
	/* Files that consist of holes only. */
	for (; ret == 0 && first < bulk->pieces.count; first++)
		ret = deliver(bulk, &bulk->pieces.list[first], NULL, err);
	return ret;
}

int dwarfs_read_in_order(const dwarfs_image *image, const dwarfs_inode *inodes,
			 size_t count, dwarfs_piece_fn piece, dwarfs_piece_fail_fn failed,
			 void *user, const dwarfs_task *task, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !inodes || !piece)
		return dw_fail_null(err, "image, inodes and piece");

	struct bulk bulk = {
		.image = dwarfs_image_ref(image),
		.piece = piece,
		.failed = failed,
		.user = user,
	};
	auto_error dwarfs_error *why = NULL;
	int ret = 0;

	dw_progress_start(&bulk.progress, task);
	if (count >= HAS_FAILED)
		ret = dw_fail(&why, DWARFS_ERR_RANGE, "these are too many files");
	else
		ret = dw_progress_enter(&bulk.progress, DWARFS_PHASE_READ, &why);
	if (ret == 0 && (ret = list_bulk_targets(&bulk, inodes, count, &why)) == 0 &&
	    (ret = collect_pieces(&bulk, &why)) == 0)
		ret = read_blocks(&bulk, &why);
	if (ret == 0)
		dw_progress_done(&bulk.progress);
	dw_pieces_free(&bulk.pieces);
	dw_free(bulk.targets);
	dwarfs_image_free(bulk.image);
	return ret < 0 ? dw_error_copy(err, ret, why) : 0;
}
