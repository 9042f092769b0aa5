/* SPDX-License-Identifier: MIT */
/*
 * build/dedupe: equal contents -> one.
 *
 * Takes the tree, gives the list of distinct contents. Only files whose size another one
 * has are read and hashed, on the pool. Holes and stored zeros are the same bytes, so
 * both go into the hash as a place and a length, and a huge hole costs nothing.
 */
#include <string.h>

#include "base/bytes.h"
#include "build/dedupe.h"
#include "build/flow.h"
#include "build/source.h"
#include "format/metadata.h"
#include "hash/hash.h"

#define PAGE_BYTES	4096
#define BUFFER_BYTES	((size_t)256 << 10)
#define JOBS_PER_WORKER 16

enum hash_state { HASH_WANTED, HASH_DONE, HASH_UNREADABLE, HASH_CHANGED };

/* A file that must be compared by its hash. */
struct hashed {
	uint64_t size;
	uint64_t digest[2];
	uint32_t inode;
	enum hash_state state;
};

struct hashed_list {
	struct hashed *list;
	size_t count;
};

struct hash_job {
	struct hashed *hashed;
	struct source_mark mark;
	struct buffer path;
	int errnum;
};

struct hash_worker {
	uint8_t *buffer;
	struct xxh3 *data;  /* pages that are not all zero */
	struct xxh3 *shape; /* where runs of zero pages begin and end */
	uint64_t zero_from; /* the run being followed; UINT64_MAX for none */
	uint64_t zero_to;
	bool has_zeros;
};

struct hash_stage {
	struct build_run *run;
	struct flow flow;
};

int dw_contents_add(struct contents *contents, struct tree *tree, uint32_t inode,
		    dwarfs_error **err)
{
	int ret = dw_grow(&contents->list, &contents->room, contents->count + 1, err);

	if (ret < 0)
		return ret;
	if (contents->count >= UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many files for one image");
	contents->list[contents->count] = (struct content){
		.size = tree->inodes[inode].size,
		.inode = inode,
	};
	for (uint32_t i = inode; i != DW_NONE; i = tree->inodes[i].next)
		tree->inodes[i].content = (uint32_t)contents->count;
	contents->count++;
	return 0;
}

/* -- hashing one file, on a worker --------------------------------------------------- */

static void free_worker(void *pointer)
{
	struct hash_worker *worker = pointer;

	if (!worker)
		return;
	free(worker->buffer);
	dw_xxh3_free(worker->data);
	dw_xxh3_free(worker->shape);
	free(worker);
}
DW_DEFINE_AUTO(hash_worker, struct hash_worker *, free_worker)

static int new_worker(void *shared, void **worker_out, dwarfs_error **err)
{
	DW_AUTO(hash_worker) struct hash_worker *worker = dw_calloc(1, sizeof(*worker));
	int ret;

	if (!worker || !(worker->buffer = malloc(BUFFER_BYTES)))
		return dw_fail_nomem(err);
	if ((ret = dw_xxh3_new(&worker->data, err)) < 0 ||
	    (ret = dw_xxh3_new(&worker->shape, err)) < 0)
		return ret;
	*worker_out = dw_steal(worker);
	return 0;
}

static void end_zero_run(struct hash_worker *worker)
{
	uint8_t run[16];

	if (worker->zero_from == UINT64_MAX)
		return;
	dw_store64(run, worker->zero_from);
	dw_store64(run + 8, worker->zero_to);
	dw_xxh3_update(worker->shape, run, sizeof(run));
	worker->zero_from = UINT64_MAX;
	worker->has_zeros = true;
}

static void add_zeros(struct hash_worker *worker, uint64_t from, uint64_t to)
{
	if (from == to)
		return;
	if (worker->zero_from == UINT64_MAX)
		worker->zero_from = from;
	worker->zero_to = to;
}

static bool is_zero(const uint8_t *data, size_t size)
{
	return data[0] == 0 && memcmp(data, data + 1, size - 1) == 0;
}

/* Bytes from a place that is a multiple of the page size. */
static void add_bytes(struct hash_worker *worker, const uint8_t *data, size_t size,
		      uint64_t offset)
{
	for (size_t at = 0; at < size;) {
		size_t page = size - at < PAGE_BYTES ? size - at : PAGE_BYTES;

		if (is_zero(data + at, page)) {
			add_zeros(worker, offset + at, offset + at + page);
		} else {
			end_zero_run(worker);
			dw_xxh3_update(worker->data, data + at, page);
		}
		at += page;
	}
}

/* A run of data, widened to whole pages: 0, 1 when the file is shorter now, or a negative
 * errno value. */
static int hash_run(struct hash_stage *stage, struct hash_worker *worker, int fd,
		    uint64_t from, uint64_t to)
{
	while (from < to) {
		size_t want =
			to - from < BUFFER_BYTES ? (size_t)(to - from) : BUFFER_BYTES;
		int64_t got = dw_fd_read_at(fd, worker->buffer, want, from);

		if (got < 0)
			return (int)got;
		if ((size_t)got < want)
			return 1;
		add_bytes(worker, worker->buffer, want, from);
		from += want;
		if (dw_flow_stopped(&stage->flow))
			return 1;
	}
	return 0;
}

static int hash_runs(struct hash_stage *stage, struct hash_worker *worker, int fd,
		     uint64_t size)
{
	uint64_t at = 0, from = 0, to = size;
	int ret;

	while (at < size) {
		if (size > BUFFER_BYTES &&
		    (ret = dw_next_data(fd, at, size, &from, &to)) < 0)
			return ret;
		from = from / PAGE_BYTES * PAGE_BYTES;
		from = from < at ? at : from;
		to = (to + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
		to = to > size ? size : to;
		add_zeros(worker, at, from);
		if ((ret = hash_run(stage, worker, fd, from, to)) != 0)
			return ret;
		at = to;
	}
	end_zero_run(worker);
	return 0;
}

static void finish_digest(struct hash_worker *worker, uint64_t digest[2])
{
	dw_xxh3_finish_128(worker->data, digest);
	if (!worker->has_zeros)
		return;
	dw_xxh3_update(worker->shape, digest, 2 * sizeof(digest[0]));
	dw_xxh3_finish_128(worker->shape, digest);
}

/* Gives the state of the file; a negative errno value when it cannot be read. */
static int hash_file(struct hash_stage *stage, struct hash_worker *worker,
		     struct hash_job *job)
{
	auto_fd int fd = -1;
	int ret;

	dw_xxh3_reset(worker->data);
	dw_xxh3_reset(worker->shape);
	worker->zero_from = UINT64_MAX;
	worker->has_zeros = false;
	ret = dw_source_open(stage->run->root_fd, (const char *)job->path.data, &fd);
	if (ret < 0 || (ret = dw_source_is_unchanged(fd, &job->mark)) < 0)
		return ret;
	if (ret == 0)
		return HASH_CHANGED;
	if ((ret = hash_runs(stage, worker, fd, job->mark.size)) < 0)
		return ret;
	if (ret != 0)
		return HASH_CHANGED;
	finish_digest(worker, job->hashed->digest);
	return HASH_DONE;
}

static int run_job(void *shared, void *worker, void *pointer, dwarfs_error **err)
{
	struct hash_job *job = pointer;
	int state = hash_file(shared, worker, job);

	job->hashed->state = state < 0 ? HASH_UNREADABLE : (enum hash_state)state;
	job->errnum = state < 0 ? -state : 0;
	return 0;
}

/* -- hashing all files that need it -------------------------------------------------- */

static int take_job(void *shared, void *pointer, dwarfs_error **err)
{
	struct hash_stage *stage = shared;
	struct hash_job *job = pointer;

	dw_flow_taken(&stage->flow);
	if (job->hashed->state == HASH_UNREADABLE)
		dw_build_complain(stage->run, (const char *)job->path.data, job->errnum,
				  "cannot read", "creating empty inode");
	stage->run->progress.items_done++;
	stage->run->progress.bytes_done += job->mark.size;
	return 0;
}

static void drop_job(void *shared, void *pointer)
{
	struct hash_job *job = pointer;

	dw_buffer_free(&job->path);
	free(job);
}

static int submit_file(struct hash_stage *stage, const struct tree *tree,
		       struct hashed *hashed, dwarfs_error **err)
{
	const struct tree_inode *inode = &tree->inodes[hashed->inode];
	struct hash_job *job = dw_calloc(1, sizeof(*job));
	int ret;

	if (!job)
		return dw_fail_nomem(err);
	job->hashed = hashed;
	job->mark = dw_source_mark(inode);
	if ((ret = dw_tree_path(tree, inode->entry, &job->path, err)) < 0) {
		drop_job(stage, job);
		return ret;
	}
	return dw_flow_submit(&stage->flow, job, err);
}

static int submit_all(struct hash_stage *stage, const struct tree *tree,
		      struct hashed_list *hashed, dwarfs_error **err)
{
	for (size_t i = 0; i < hashed->count; i++) {
		int ret = submit_file(stage, tree, &hashed->list[i], err);

		if (ret < 0)
			return ret;
	}
	return dw_flow_finish(&stage->flow, err);
}

static int hash_all(struct build_run *run, const struct tree *tree,
		    struct hashed_list *hashed, dwarfs_error **err)
{
	static const struct pool_ops ops = {
		.worker_new = new_worker,
		.worker_free = free_worker,
		.run = run_job,
		.done = take_job,
		.drop = drop_job,
	};
	uint32_t workers = dw_context_workers(run->context);
	struct hash_stage stage = { .run = run };
	int ret;

	run->progress.items_done = run->progress.bytes_done = 0;
	run->progress.items_total = hashed->count;
	run->progress.bytes_total = 0;
	for (size_t i = 0; i < hashed->count; i++)
		run->progress.bytes_total += hashed->list[i].size;
	if ((ret = dw_progress_enter(&run->progress, DWARFS_PHASE_HASH, err)) < 0 ||
	    (ret = dw_flow_init(&stage.flow, &ops, &stage, workers,
				(workers + 1) * JOBS_PER_WORKER, &run->progress, err)) <
		    0)
		return ret;
	ret = submit_all(&stage, tree, hashed, err);
	dw_flow_free(&stage.flow);
	return ret;
}

/* -- which files are equal ----------------------------------------------------------- */

static int compare_sizes(const void *left, const void *right)
{
	const struct hashed *a = left, *b = right;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->inode < b->inode ? -1 : a->inode > b->inode;
}

static int compare_inodes(const void *left, const void *right)
{
	const struct hashed *a = left, *b = right;

	return a->inode < b->inode ? -1 : a->inode > b->inode;
}

static int compare_digests(const void *left, const void *right)
{
	const struct hashed *a = left, *b = right;

	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	for (int i = 0; i < 2; i++)
		if (a->digest[i] != b->digest[i])
			return a->digest[i] < b->digest[i] ? -1 : 1;
	return compare_inodes(left, right);
}

/* All files that are not empty; then only those whose size another one has. */
static int find_candidates(const struct tree *tree, struct hashed_list *hashed,
			   dwarfs_error **err)
{
	size_t kept = 0, room = 0;

	for (size_t i = 0; i < tree->inode_count; i++) {
		const struct tree_inode *inode = &tree->inodes[i];
		int ret;

		if ((inode->mode & DW_S_IFMT) != DW_S_IFREG || inode->size == 0)
			continue;
		if ((ret = dw_grow(&hashed->list, &room, hashed->count + 1, err)) < 0)
			return ret;
		hashed->list[hashed->count++] = (struct hashed){
			.size = inode->size,
			.inode = (uint32_t)i,
		};
	}
	if (hashed->count == 0)
		return 0;
	qsort(hashed->list, hashed->count, sizeof(hashed->list[0]), compare_sizes);
	for (size_t i = 0; i < hashed->count; i++) {
		struct hashed *here = &hashed->list[i];

		/* The one before may be overwritten already, but not its size. */
		if ((i > 0 && here[-1].size == here->size) ||
		    (i + 1 < hashed->count && here[1].size == here->size))
			hashed->list[kept++] = *here;
	}
	hashed->count = kept;
	qsort(hashed->list, kept, sizeof(hashed->list[0]), compare_inodes);
	return 0;
}

/* Chain equal files, from the first of them on. followers marks all but the first. */
static void chain_equal(struct tree *tree, struct hashed_list *hashed, uint8_t *followers)
{
	if (hashed->count)
		qsort(hashed->list, hashed->count, sizeof(hashed->list[0]),
		      compare_digests);
	for (size_t i = 1; i < hashed->count; i++) {
		const struct hashed *before = &hashed->list[i - 1];
		const struct hashed *here = &hashed->list[i];

		if (here->state != HASH_DONE || before->state != HASH_DONE ||
		    here->size != before->size || here->digest[0] != before->digest[0] ||
		    here->digest[1] != before->digest[1])
			continue;
		tree->inodes[before->inode].next = here->inode;
		followers[here->inode] = true;
	}
}

/* Empty files are equal, too, and unreadable ones are stored as such. */
static void chain_empty(struct tree *tree, const struct hashed_list *hashed,
			uint8_t *followers)
{
	uint32_t last = DW_NONE;

	for (size_t i = 0; i < hashed->count; i++)
		if (hashed->list[i].state == HASH_UNREADABLE)
			tree->inodes[hashed->list[i].inode].size = 0;
	for (size_t i = 0; i < tree->inode_count; i++) {
		const struct tree_inode *inode = &tree->inodes[i];

		if ((inode->mode & DW_S_IFMT) != DW_S_IFREG || inode->size != 0)
			continue;
		if (last != DW_NONE) {
			tree->inodes[last].next = (uint32_t)i;
			followers[i] = true;
		}
		last = (uint32_t)i;
	}
}

static void free_hashed(struct hashed_list *hashed)
{
	free(hashed->list);
}

int dw_dedupe(struct build_run *run, struct tree *tree, struct contents *contents,
	      dwarfs_error **err)
{
	__attribute__((cleanup(free_hashed))) struct hashed_list hashed = { 0 };
	auto_free uint8_t *followers = dw_calloc(tree->inode_count, 1);
	int ret;

	if (!followers)
		return dw_fail_nomem(err);
	if ((ret = find_candidates(tree, &hashed, err)) < 0 ||
	    (ret = hash_all(run, tree, &hashed, err)) < 0)
		return ret;
	chain_equal(tree, &hashed, followers);
	chain_empty(tree, &hashed, followers);
	for (size_t i = 0; i < tree->inode_count; i++) {
		if ((tree->inodes[i].mode & DW_S_IFMT) != DW_S_IFREG || followers[i])
			continue;
		if ((ret = dw_contents_add(contents, tree, (uint32_t)i, err)) < 0)
			return ret;
	}
	return 0;
}
