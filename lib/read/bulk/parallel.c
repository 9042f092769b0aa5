/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/parallel: read many whole files on several threads. See
 * dwarfs_read_parallel().
 *
 *	pieces	 the chunks of all files, sorted by block
 *	threads	 deliver the parts of decoded blocks; where there are none, decode the
 *		 next block
 *	parts	 all data of one file in a block; the last one completes the file
 *
 * No thread waits while there is a block to decode or to deliver. A block is
 * decompressed once, as far as its files need it, into its own memory.
 */
#include "base/progress.h"
#include "pool/thread_group.h"
#include "pool/threads.h"
#include "read/bulk/file_list.h"
#include "read/bulk/whole_block.h"
#include "read/file.h"

#define MOST_MORE 1024u

/* Pieces of a block that a thread takes at once. */
#define BATCH_PIECES 64
#define BATCH_BYTES  ((uint64_t)1 << 20)

/* A block that is being delivered. */
struct delivered_block {
	struct delivered_block *next;
	size_t at, end; /* pieces not taken yet */
	uint32_t taken; /* batches being delivered */
	struct whole whole;
	int code;
	dwarfs_error *error;
};

struct parallel {
	dwarfs_image *image;
	dwarfs_part_fn part;
	dwarfs_part_fail_fn failed;
	void *user;
	struct dwarfs_progress progress; /* of the caller's thread */
	atomic_uint_least64_t bytes_done, items_done;
	struct targets files;
	uint32_t most_blocks, most_decoders;
	pthread_t caller;
	atomic_bool stopped;

	pthread_mutex_t lock; /* protects all members below */
	pthread_cond_t changed;
	size_t next; /* first piece whose block is not started */
	size_t bare; /* next file that may have no data */
	struct delivered_block *first, *last;
	uint32_t blocks, decoders;     /* being decoded or delivered */
	struct delivered_block *spare; /* finished blocks, whose pages are used again */
	int code;		       /* why it stopped, or 0 */
	dwarfs_error *why;	       /* details of that */
};

struct dwarfs_part {
	const struct target *target;
	const struct piece *pieces;
	const uint8_t *bytes; /* of the block */
	size_t count;
	bool is_last;
};

/* -- parts --------------------------------------------------------------------------- */

dwarfs_inode dwarfs_part_inode(const dwarfs_part *part)
{
	if (!part)
		return DWARFS_ROOT_INODE;
	return dwarfs_inode_at(part->target->inode);
}

uint64_t dwarfs_part_file_bytes(const dwarfs_part *part)
{
	if (!part)
		return 0;
	return part->target->bytes;
}

bool dwarfs_part_is_last(const dwarfs_part *part)
{
	if (!part)
		return false;
	return part->is_last;
}

size_t dwarfs_part_count(const dwarfs_part *part)
{
	if (!part)
		return 0;
	return part->count;
}

const void *dwarfs_part_piece(const dwarfs_part *part, size_t index, size_t *bytes_out,
			      uint64_t *offset_out)
{
	if (!part)
		return NULL;
	if (index >= part->count)
		return NULL;
	*bytes_out = (size_t)part->pieces[index].bytes;
	*offset_out = part->pieces[index].at;
	return part->bytes + part->pieces[index].offset;
}

/* -- delivering, on any thread ------------------------------------------------------- */

/* Takes ownership of why. */
static void stop_parallel(struct parallel *parallel, int code, dwarfs_error *why)
{
	pthread_mutex_lock(&parallel->lock);
	if (!atomic_exchange(&parallel->stopped, true)) {
		parallel->code = code;
		parallel->why = dw_steal(why);
	}
	pthread_cond_broadcast(&parallel->changed);
	pthread_mutex_unlock(&parallel->lock);
	dwarfs_error_free(why);
}

/* After a callback has returned ret, not 0. Takes ownership of why. */
static void stop_by_callback(struct parallel *parallel, int ret, dwarfs_error *why)
{
	dwarfs_error *stop = NULL;
	const int code = dw_callback_fail(ret, &why, &stop);

	dwarfs_error_free(why);
	stop_parallel(parallel, code, stop);
}

static void tick_parallel(void *user)
{
	struct parallel *parallel = user;
	dwarfs_error *why = NULL;
	int ret;

	parallel->progress.bytes_done = atomic_load(&parallel->bytes_done);
	parallel->progress.items_done = atomic_load(&parallel->items_done);
	ret = dw_progress_tick(&parallel->progress, &why);
	if (ret < 0)
		stop_parallel(parallel, ret, why);
}

/* If the caller's thread does all the work, it reports the progress, too. */
static bool goes_on(struct parallel *parallel)
{
	if (pthread_equal(parallel->caller, pthread_self()))
		tick_parallel(parallel);
	return !atomic_load_explicit(&parallel->stopped, memory_order_relaxed);
}

static void report_failed_target(struct parallel *parallel, struct target *target,
				 const dwarfs_error *why, uint32_t thread)
{
	dwarfs_error *stop = NULL;
	int ret;

	if (atomic_exchange(&target->failed, true))
		return;
	atomic_fetch_add(&parallel->items_done, 1);
	ret = parallel->failed(dwarfs_inode_at(target->inode), why, thread, &stop,
			       parallel->user);
	if (ret != 0)
		stop_by_callback(parallel, ret, stop);
	else
		dwarfs_error_free(stop);
}

static int deliver_part(struct parallel *parallel, const struct dwarfs_part *part,
			uint32_t thread)
{
	dwarfs_error *why = NULL;
	int ret = parallel->part(part, thread, &why, parallel->user);

	for (size_t i = 0; i < part->count; i++)
		atomic_fetch_add_explicit(&parallel->bytes_done, part->pieces[i].bytes,
					  memory_order_relaxed);
	if (part->is_last)
		atomic_fetch_add(&parallel->items_done, 1);
	if (ret != 0)
		stop_by_callback(parallel, ret, why);
	else
		dwarfs_error_free(why);
	return ret;
}

/* Complete a file without data, or one whose last part was delivered. */
static void give_end(struct parallel *parallel, const struct target *target,
		     uint32_t thread)
{
	struct dwarfs_part part = { .target = target, .is_last = true };

	deliver_part(parallel, &part, thread);
}

static int check_pieces(const struct delivered_block *block, const struct piece *pieces,
			size_t count, dwarfs_error **err)
{
	int ret = block->code;

	if (ret < 0)
		return dw_error_copy(err, ret, block->error);
	for (size_t i = 0; i < count && ret == 0; i++)
		ret = dw_whole_has(&block->whole, &pieces[i], err);
	return ret;
}

/* All data of a file in this block. */
static void give_part(struct parallel *parallel, const struct delivered_block *block,
		      const struct piece *pieces, size_t count, uint32_t thread)
{
	struct target *target = &parallel->files.list[pieces->file];
	struct dwarfs_part part = { target, pieces, block->whole.bytes, count,
				    target->parts == 1 };
	auto_error dwarfs_error *why = NULL;

	if (atomic_load(&target->failed))
		return;
	if (check_pieces(block, pieces, count, &why) < 0) {
		report_failed_target(parallel, target, why, thread);
		return;
	}
	if (deliver_part(parallel, &part, thread) != 0)
		return;
	if (atomic_fetch_sub(&target->left, 1) == 1 && !part.is_last &&
	    !atomic_load(&target->failed))
		give_end(parallel, target, thread);
}

static size_t end_of_part(const struct parallel *parallel, size_t from, size_t end)
{
	const struct piece *list = parallel->files.pieces.list;
	size_t to = from + 1;

	while (to < end && list[to].file == list[from].file)
		to++;
	return to;
}

static void give_parts(struct parallel *parallel, const struct delivered_block *block,
		       size_t from, size_t end, uint32_t thread)
{
	while (from < end && goes_on(parallel)) {
		size_t to = end_of_part(parallel, from, end);

		give_part(parallel, block, &parallel->files.pieces.list[from], to - from,
			  thread);
		from = to;
	}
}

static void give_bare(struct parallel *parallel, size_t from, size_t end, uint32_t thread)
{
	for (; from < end && goes_on(parallel); from++) {
		const struct target *target = &parallel->files.list[from];

		if (target->parts == 0 && !atomic_load(&target->failed))
			give_end(parallel, target, thread);
	}
}

/* -- taking work, under the lock, which is given up during the work itself ----------- */

/* Reset, but keep the pages. */
static void empty_block(struct parallel *parallel, struct delivered_block *block)
{
	struct whole pages = { .pages = block->whole.pages,
			       .page_bytes = block->whole.page_bytes };

	block->whole.pages = NULL;
	block->whole.page_bytes = 0;
	dw_whole_release(parallel->image, &block->whole);
	dwarfs_error_free(block->error);
	*block = (struct delivered_block){ .whole = pages };
}

static struct delivered_block *take_spare_block(struct parallel *parallel)
{
	struct delivered_block *block = parallel->spare;

	if (!block)
		return dw_calloc(1, sizeof(*block));
	parallel->spare = block->next;
	block->next = NULL;
	return block;
}

static void remove_block(struct parallel *parallel, struct delivered_block *block)
{
	struct delivered_block **link = &parallel->first, *before = NULL;

	while (*link != block) {
		before = *link;
		link = &before->next;
	}
	*link = block->next;
	if (parallel->last == block)
		parallel->last = before;
	parallel->blocks--;
	pthread_mutex_unlock(&parallel->lock);
	empty_block(parallel, block);
	pthread_mutex_lock(&parallel->lock);
	block->next = parallel->spare;
	parallel->spare = block;
	pthread_cond_broadcast(&parallel->changed);
}

static bool hand_out(struct parallel *parallel, uint32_t thread)
{
	struct delivered_block *block = parallel->first;
	uint64_t bytes = 0;
	size_t from, to;

	while (block && block->at == block->end)
		block = block->next;
	if (!block)
		return false;
	from = to = block->at;
	while (to < block->end && to - from < BATCH_PIECES && bytes < BATCH_BYTES) {
		size_t end = end_of_part(parallel, to, block->end);

		for (; to < end; to++)
			bytes += parallel->files.pieces.list[to].bytes;
	}
	block->at = to;
	block->taken++;
	pthread_mutex_unlock(&parallel->lock);
	give_parts(parallel, block, from, to, thread);
	pthread_mutex_lock(&parallel->lock);
	if (--block->taken == 0 && block->at == block->end)
		remove_block(parallel, block);
	return true;
}

static void add_block(struct parallel *parallel, struct delivered_block *block)
{
	if (parallel->last)
		parallel->last->next = block;
	else
		parallel->first = block;
	parallel->last = block;
	parallel->decoders--;
	pthread_cond_broadcast(&parallel->changed);
}

static bool unpack_next(struct parallel *parallel)
{
	size_t from = parallel->next, end;
	struct delivered_block *block;

	if (from == parallel->files.pieces.count ||
	    parallel->blocks == parallel->most_blocks ||
	    parallel->decoders == parallel->most_decoders)
		return false;
	block = take_spare_block(parallel);
	if (!block) {
		parallel->code = DWARFS_ERR_NOMEM;
		atomic_store(&parallel->stopped, true);
		pthread_cond_broadcast(&parallel->changed);
		return true;
	}
	end = dw_pieces_end_of_block(&parallel->files.pieces, from);
	parallel->next = end;
	parallel->blocks++;
	parallel->decoders++;
	pthread_mutex_unlock(&parallel->lock);
	block->at = from;
	block->end = end;
	block->whole.need = dw_pieces_need(&parallel->files.pieces, from, end);
	block->code =
		dw_whole_load(parallel->image, parallel->files.pieces.list[from].block,
			      &block->whole, &block->error);
	if (block->code == DWARFS_ERR_NOMEM)
		stop_parallel(parallel, DWARFS_ERR_NOMEM, NULL);
	pthread_mutex_lock(&parallel->lock);
	add_block(parallel, block);
	return true;
}

static bool hand_out_bare(struct parallel *parallel, uint32_t thread)
{
	size_t from = parallel->bare, end = from + BATCH_PIECES;

	if (from == parallel->files.count)
		return false;
	end = end < parallel->files.count ? end : parallel->files.count;
	parallel->bare = end;
	pthread_mutex_unlock(&parallel->lock);
	give_bare(parallel, from, end, thread);
	pthread_mutex_lock(&parallel->lock);
	return true;
}

static void parallel_thread(void *user, uint32_t thread)
{
	struct parallel *parallel = user;

	pthread_mutex_lock(&parallel->lock);
	while (!atomic_load(&parallel->stopped)) {
		if (hand_out(parallel, thread) || unpack_next(parallel) ||
		    hand_out_bare(parallel, thread))
			continue;
		if (parallel->next == parallel->files.pieces.count &&
		    parallel->decoders == 0)
			break;
		pthread_cond_wait(&parallel->changed, &parallel->lock);
	}
	pthread_mutex_unlock(&parallel->lock);
}

/* -- the story ----------------------------------------------------------------------- */

/* Free what was left when it stopped. */
static void release_blocks(struct parallel *parallel)
{
	pthread_mutex_lock(&parallel->lock);
	while (parallel->first)
		remove_block(parallel, parallel->first);
	while (parallel->spare) {
		struct delivered_block *block = take_spare_block(parallel);

		dw_whole_release(parallel->image, &block->whole);
		dw_free(block);
	}
	pthread_mutex_unlock(&parallel->lock);
	dw_targets_free(&parallel->files);
}

/* Before the threads start. */
static void cannot_read(struct target *target, const dwarfs_error *why, void *user)
{
	report_failed_target(user, target, why, 0);
}

static int read_all_targets(struct parallel *parallel, const dwarfs_inode *inodes,
			    size_t count, uint32_t more, dwarfs_error **err)
{
	static const struct thread_group_ops ops = { .run = parallel_thread,
						     .poll = tick_parallel };
	uint32_t workers = dw_context_workers(parallel->image->context);
	int ret;

	parallel->most_decoders = workers > 0 ? workers : 1;
	parallel->most_blocks = parallel->most_decoders + 1;
	if (count >= UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE, "these are too many files");
	if ((ret = dw_targets_collect(&parallel->files, parallel->image, inodes, count,
				      cannot_read, parallel, err)) < 0)
		return ret;
	parallel->progress.items_total = parallel->files.count;
	for (size_t i = 0; i < parallel->files.count; i++)
		parallel->progress.bytes_total += parallel->files.list[i].bytes;
	if ((ret = dw_thread_group_run(&ops, parallel,
				       workers + (more < MOST_MORE ? more : MOST_MORE),
				       err)) < 0)
		return ret;
	return parallel->code < 0 ? dw_error_copy(err, parallel->code, parallel->why) : 0;
}

uint32_t dwarfs_read_parallel_threads(const dwarfs_image *image, uint32_t more)
{
	if (!image)
		return 0;

	uint32_t threads = dw_context_workers(image->context) +
			   (more < MOST_MORE ? more : MOST_MORE);

	return threads > 0 ? threads : 1;
}

static void end_progress(struct parallel *parallel)
{
	parallel->progress.bytes_done = atomic_load(&parallel->bytes_done);
	parallel->progress.items_done = atomic_load(&parallel->items_done);
	dw_progress_done(&parallel->progress);
}

int dwarfs_read_parallel(const dwarfs_image *image, const dwarfs_inode *inodes,
			 size_t count, uint32_t more, dwarfs_part_fn part,
			 dwarfs_part_fail_fn failed, void *user, const dwarfs_task *task,
			 dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !inodes || !part || !failed)
		return dw_fail_null(err, "image, inodes and part and failed");

	struct parallel parallel = {
		.image = (dwarfs_image *)image,
		.part = part,
		.failed = failed,
		.user = user,
		.caller = pthread_self(),
	};
	int ret;

	if (pthread_mutex_init(&parallel.lock, NULL) != 0)
		return dw_fail_nomem(err);
	if (pthread_cond_init(&parallel.changed, NULL) != 0) {
		pthread_mutex_destroy(&parallel.lock);
		return dw_fail_nomem(err);
	}
	dwarfs_image_ref(image);
	dw_progress_start(&parallel.progress, task);
	ret = dw_progress_enter(&parallel.progress, DWARFS_PHASE_READ, err);
	if (ret == 0)
		ret = read_all_targets(&parallel, inodes, count, more, err);
	if (ret == 0)
		end_progress(&parallel);
	dwarfs_error_free(parallel.why);
	release_blocks(&parallel);
	dwarfs_image_free(parallel.image);
	pthread_cond_destroy(&parallel.changed);
	pthread_mutex_destroy(&parallel.lock);
	return ret;
}
