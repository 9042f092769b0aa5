/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/file_reader: read a file of the input once: digest, categories,
 * fingerprint.
 *
 * A small file is read into memory as a whole and hashed; it is categorized and
 * fingerprinted only if its contents are new. A large file is hashed and fingerprinted in
 * one pass, for the category that is most likely; categorizers then read what they need.
 *
 * Each worker owns its buffers; struct distinct_set has a lock, bytes_done is atomic.
 */
#include <errno.h>
#include <string.h>

#include "format/metadata.h"
#include "write/digests/content_hash.h"
#include "write/input/directory_cache.h"
#include "write/input/source.h"
#include "write/inspect/file_reader.h"
#include "write/tree/path_cursor.h"

#define PIECE_BYTES	       ((size_t)256 << 10)
#define WORKER_DIRECTORY_SLOTS 8

struct reader_worker {
	struct file_reader *reader;
	struct directory_cache directories;
	struct sparse_hash *hasher; /* NULL: no hashes are wanted */
	struct content_hash digest; /* for reader->digests */
	struct fingerprinter *fingerprinter;
	struct kept_slab *slab; /* slab being filled, or NULL */
	bool has_no_slab;	/* the budget for kept bytes is used up */
	uint8_t *buffer;	/* PIECE_BYTES */
	struct path_cursor cursor;
	uint64_t shown; /* bytes of the current file that bytes_done includes */
};

/* A file while it is read. */
struct file_state {
	uint32_t subject;
	const struct tree_inode *inode;
	struct input_file input_file;
	bool may_have_holes;
	struct span small; /* the whole file, or empty if it is large */
	struct kept_slab *slab;
	uint32_t offset; /* of small in slab */
	struct fingerprint fingerprint;
	enum fingerprint_kind kind; /* of fingerprint */
};

int dw_file_reader_digest_bytes(const char *algorithm, size_t *bytes_out,
				dwarfs_error **err)
{
	struct sparse_hash *hasher;
	int ret = dw_sparse_hash_new(algorithm, &hasher, err);

	if (ret < 0)
		return ret;
	*bytes_out = dw_sparse_hash_bytes(hasher);
	dw_sparse_hash_free(hasher);
	return 0;
}

/* -- workers ------------------------------------------------------------------------- */

void dw_file_reader_worker_free(struct reader_worker *worker)
{
	if (!worker)
		return;
	dw_directory_cache_free(&worker->directories);
	dw_sparse_hash_free(worker->hasher);
	dw_content_hash_free(&worker->digest);
	dw_fingerprinter_free(worker->fingerprinter);
	dw_kept_slab_release(worker->slab);
	dw_path_cursor_free(&worker->cursor);
	dw_free(worker->buffer);
	dw_free(worker);
}
DW_DEFINE_AUTO(reader_worker, struct reader_worker *, dw_file_reader_worker_free)
#define auto_reader_worker DW_AUTO(reader_worker)

int dw_file_reader_worker_new(struct file_reader *reader,
			      struct reader_worker **worker_out, dwarfs_error **err)
{
	auto_reader_worker struct reader_worker *worker = dw_calloc(1, sizeof(*worker));
	const char *algorithm = reader->run->options->input.file_hash;
	int ret;

	if (!worker || !(worker->buffer = dw_malloc(PIECE_BYTES)))
		return dw_fail_nomem(err);
	worker->reader = reader;
	dw_input_file_init_directory_cache(&worker->directories, reader->run,
					   reader->tree, WORKER_DIRECTORY_SLOTS);
	if (algorithm && (ret = dw_sparse_hash_new(algorithm, &worker->hasher, err)) < 0)
		return ret;
	if (reader->digests && (ret = dw_content_hash_init(&worker->digest, err)) < 0)
		return ret;
	if (reader->set.wants_fingerprints &&
	    (ret = dw_fingerprinter_new(&worker->fingerprinter, err)) < 0)
		return ret;
	*worker_out = dw_steal(worker);
	return 0;
}

/* Memory for a small file and one more byte: in a slab if the budget permits. */
static uint8_t *small_file_memory(struct reader_worker *worker,
				  struct file_state *file_state, size_t size)
{
	if (worker->slab && KEPT_SLAB_BYTES - worker->slab->used <= size) {
		dw_kept_slab_release(worker->slab);
		worker->slab = NULL;
	}
	if (!worker->slab && !worker->has_no_slab) {
		worker->slab = dw_kept_slab_new(worker->reader->run->sources);
		worker->has_no_slab = !worker->slab;
	}
	if (!worker->slab)
		return worker->buffer;
	file_state->slab = worker->slab;
	file_state->offset = (uint32_t)worker->slab->used;
	return worker->slab->data + worker->slab->used;
}

/* -- what is wanted ------------------------------------------------------------------ */

static enum fingerprint_kind fingerprint_kind_of(const struct file_reader *reader,
						 const struct file_state *file_state,
						 uint32_t category)
{
	if (!reader->set.wants_fingerprints ||
	    reader->subjects[file_state->subject].is_kept ||
	    file_state->inode->size > reader->run->options->max_similarity_bytes)
		return FINGERPRINT_NONE;
	return reader->fingerprint_kinds[category];
}

/* Whether the callback chose the category; categorizers are not used then. */
static bool is_decided(const struct file_reader *reader,
		       const struct file_state *file_state)
{
	return reader->forced && reader->forced[file_state->subject] != DW_ANY_CATEGORY;
}

/* The category of bytes without a categorizer. */
static uint32_t base_category(const struct file_reader *reader,
			      const struct file_state *file_state)
{
	return is_decided(reader, file_state) ? reader->forced[file_state->subject]
					      : CATEGORY_DEFAULT;
}

/* The category of most bytes; of equal ones the first. */
static int main_category(const struct category_parts *parts, uint32_t fallback,
			 uint32_t *category_out)
{
	auto_free uint64_t *bytes = NULL;
	uint32_t last = 0;

	*category_out = fallback;
	for (size_t i = 0; i < parts->count; i++)
		last = parts->list[i].category > last ? parts->list[i].category : last;
	if (!(bytes = dw_calloc((size_t)last + 1, sizeof(*bytes))))
		return -ENOMEM;
	for (size_t i = 0; i < parts->count; i++)
		bytes[parts->list[i].category] += parts->list[i].size;
	for (size_t i = 0; i < parts->count; i++)
		if (i == 0 || bytes[parts->list[i].category] > bytes[*category_out])
			*category_out = parts->list[i].category;
	return 0;
}

/* -- bytes --------------------------------------------------------------------------- */

/* What is computed in a pass over the bytes. */
struct pass {
	struct sparse_hash *hasher;
	struct content_hash *digest;
	struct fingerprinter *fingerprinter;
};

/* Add bytes at an offset that is a multiple of the page size. Zeros do not show which
 * files are similar, so fingerprints omit whole pages of zeros, as they do holes. */
static void add_bytes(const struct pass *pass, const uint8_t *data, size_t size,
		      uint64_t offset)
{
	size_t at = 0, from, to;

	while (at < size) {
		dw_sparse_hash_next_run(data, size, at, &from, &to);
		if (pass->hasher)
			dw_sparse_hash_add_zeros(pass->hasher, offset + at,
						 offset + from);
		if (from < to && pass->hasher)
			dw_sparse_hash_add(pass->hasher, data + from, to - from);
		if (from < to && pass->fingerprinter)
			dw_fingerprint_update(pass->fingerprinter, data + from,
					      to - from);
		at = to;
	}
}

/* Read a run of data, extended to whole pages: 0, 1 if the file was truncated, or a
 * negative errno value. */
static int read_run(struct reader_worker *worker, const struct pass *pass,
		    const struct input_file *input_file, uint64_t from, uint64_t to)
{
	while (from < to) {
		size_t want = to - from < PIECE_BYTES ? (size_t)(to - from) : PIECE_BYTES;
		int64_t got =
			dw_input_file_read_at(input_file, worker->buffer, want, from);

		if (got < 0)
			return (int)got;
		if ((size_t)got < want)
			return 1;
		if (pass->digest)
			dw_content_hash_add(pass->digest, worker->buffer, want);
		add_bytes(pass, worker->buffer, want, from);
		from += want;
		worker->shown += want;
		atomic_fetch_add(&worker->reader->bytes_done, want);
		if (dw_pipeline_stopped(worker->reader->pipeline))
			return 1;
	}
	return 0;
}

/* Read all of a large file. Returns as read_run(). */
static int read_runs(struct reader_worker *worker, const struct pass *pass,
		     const struct file_state *file_state)
{
	uint64_t at = 0, from, to, size = file_state->inode->size;
	int ret;

	while (at < size) {
		if ((ret = dw_input_file_next_data(&file_state->input_file, at, size,
						   &from, &to)) < 0)
			return ret;
		from = from / HASHER_PAGE_BYTES * HASHER_PAGE_BYTES;
		from = from < at ? at : from;
		to = (to + HASHER_PAGE_BYTES - 1) / HASHER_PAGE_BYTES * HASHER_PAGE_BYTES;
		to = to > size ? size : to;
		if (pass->hasher)
			dw_sparse_hash_add_zeros(pass->hasher, at, from);
		if (pass->digest)
			dw_content_hash_add_hole(pass->digest, from - at);
		if ((ret = read_run(worker, pass, &file_state->input_file, from, to)) !=
		    0)
			return ret;
		at = to;
	}
	return 0;
}

static int fingerprint_small(struct reader_worker *worker, struct file_state *file_state,
			     enum fingerprint_kind kind)
{
	struct pass pass = { .fingerprinter = worker->fingerprinter };

	dw_fingerprint_begin(worker->fingerprinter, kind);
	add_bytes(&pass, file_state->small.data, file_state->small.size, 0);
	dw_fingerprint_finish(worker->fingerprinter, &file_state->fingerprint);
	file_state->kind = kind;
	return 0;
}

static int fingerprint_large(struct reader_worker *worker, struct file_state *file_state,
			     enum fingerprint_kind kind)
{
	struct pass pass = { .fingerprinter = worker->fingerprinter };
	int ret;

	dw_fingerprint_begin(worker->fingerprinter, kind);
	ret = read_runs(worker, &pass, file_state);
	dw_fingerprint_finish(worker->fingerprinter, &file_state->fingerprint);
	if (ret == 0)
		file_state->kind = kind;
	return ret;
}

/* -- hashes -------------------------------------------------------------------------- */

/* Where the XXH3-128 of a file goes, or NULL. */
static struct known_digest *digest_of(const struct file_reader *reader,
				      const struct file_state *file_state)
{
	return reader->digests ? &reader->digests[file_state->subject] : NULL;
}

static void hash_small(struct reader_worker *worker, const struct file_state *file_state,
		       uint8_t *digest)
{
	const struct file_reader *reader = worker->reader;
	struct known_digest *known = digest_of(reader, file_state);
	struct pass pass = { .hasher = worker->hasher };
	size_t from, to;

	if (known) {
		dw_content_hash_once(file_state->small.data, file_state->small.size,
				     known->bytes);
		known->is_known = true;
	}
	if (!reader->subjects[file_state->subject].wants_hash)
		return;
	dw_sparse_hash_next_run(file_state->small.data, file_state->small.size, 0, &from,
				&to);
	if (from == 0 && to == file_state->small.size) {
		dw_sparse_hash_once(worker->hasher, file_state->small.data, to, digest);
		return;
	}
	dw_sparse_hash_begin(worker->hasher);
	add_bytes(&pass, file_state->small.data, file_state->small.size, 0);
	dw_sparse_hash_finish(worker->hasher, digest);
}

/* Compute the fingerprint of the most likely kind in the same pass. */
static int hash_large(struct reader_worker *worker, struct file_state *file_state,
		      uint8_t *digest)
{
	const struct file_reader *reader = worker->reader;
	enum fingerprint_kind kind = fingerprint_kind_of(
		reader, file_state, base_category(reader, file_state));
	struct known_digest *known = digest_of(reader, file_state);
	bool wants_hash = reader->subjects[file_state->subject].wants_hash;
	struct pass pass = { .hasher = wants_hash ? worker->hasher : NULL };
	int ret;

	if (pass.hasher)
		dw_sparse_hash_begin(worker->hasher);
	if (known) {
		pass.digest = &worker->digest;
		dw_content_hash_begin(pass.digest);
	}
	if (kind != FINGERPRINT_NONE) {
		pass.fingerprinter = worker->fingerprinter;
		dw_fingerprint_begin(worker->fingerprinter, kind);
	}
	ret = read_runs(worker, &pass, file_state);
	if (pass.hasher)
		dw_sparse_hash_finish(worker->hasher, digest);
	if (known && ret == 0)
		known->is_known = dw_content_hash_end(pass.digest, known->bytes);
	if (pass.fingerprinter)
		dw_fingerprint_finish(worker->fingerprinter, &file_state->fingerprint);
	if (ret == 0)
		file_state->kind = kind;
	return ret;
}

/* -- categories and fingerprints ----------------------------------------------------- */

static int categorize_file(struct reader_worker *worker,
			   const struct file_state *file_state,
			   struct category_parts *parts, dwarfs_error **err)
{
	const struct file_reader *reader = worker->reader;
	struct category_file file = {
		.size = file_state->inode->size,
		.input_file = &file_state->input_file,
		.head = file_state->small,
	};
	auto_error dwarfs_error *ignored = NULL;
	int64_t got;
	int ret;

	if (!reader->categorizers || is_decided(reader, file_state))
		return 0;
	if (!file_state->small.data) {
		got = dw_input_file_read_at(&file_state->input_file, worker->buffer,
					    CATEGORY_HEAD_BYTES, 0);
		if (got < CATEGORY_HEAD_BYTES)
			return 0;
		file.head = (struct span){ worker->buffer, (size_t)got };
	}
	if ((ret = dw_path_cursor_go(&worker->cursor, reader->tree,
				     file_state->inode->entry, err)) < 0)
		return ret;
	file.path = (const char *)worker->cursor.path.data;
	ret = dw_categorize(reader->categorizers, reader->run->context, &file, parts,
			    &ignored);
	if (ret == DWARFS_ERR_NOMEM)
		return dw_fail_nomem(err);
	if (ret < 0) /* the segmenter will report that it cannot be read */
		dw_category_parts_free(parts);
	return 0;
}

/* The rank of a file: a hot file decides for all files with the same contents. */
static uint64_t rank_of(const struct file_state *file_state,
			const struct category_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		if (parts->list[i].category == CATEGORY_HOTNESS)
			return file_state->subject;
	return (UINT64_C(1) << 32) + file_state->subject;
}

/* 0, 1 or a negative errno value, as read_run(); -ENOMEM ends the run. */
static int describe_contents(struct reader_worker *worker, struct file_state *file_state,
			     uint32_t number)
{
	struct file_reader *reader = worker->reader;
	__attribute__((
		cleanup(dw_category_parts_free))) struct category_parts parts = { 0 };
	enum fingerprint_kind kind;
	uint32_t category;
	int ret;

	if (categorize_file(worker, file_state, &parts, NULL) < 0 ||
	    main_category(&parts, base_category(reader, file_state), &category) < 0)
		return -ENOMEM;
	kind = fingerprint_kind_of(reader, file_state, category);
	if (kind != FINGERPRINT_NONE && kind != file_state->kind) {
		ret = file_state->small.data
			      ? fingerprint_small(worker, file_state, kind)
			      : fingerprint_large(worker, file_state, kind);
		if (ret != 0)
			return ret;
	}
	if (parts.count == 0 && kind == FINGERPRINT_NONE && !reader->goes_by_path)
		return 0;
	ret = dw_distinct_describe(
		&reader->set, number, rank_of(file_state, &parts), &parts,
		kind == FINGERPRINT_NONE ? NULL : &file_state->fingerprint, NULL);
	return ret < 0 ? -ENOMEM : 0;
}

/* -- one file ------------------------------------------------------------------------ */

static int open_from_cache(void *user, uint32_t entry, int *fd_out)
{
	return dw_directory_cache_open_file(user, entry, fd_out);
}

static int open_or_wait(void *user, uint32_t entry, int *fd_out)
{
	struct reader_worker *worker = user;

	return dw_descriptor_users_open(
		dw_sources_descriptor_users(worker->reader->run->sources),
		open_from_cache, &worker->directories, entry, fd_out);
}

/* Open a file, and read it if it is small: 0, 1 if it has changed, or a negative errno
 * value. */
static int begin_file(struct reader_worker *worker, struct file_state *file_state)
{
	const struct input_file_mark *mark = &file_state->input_file.mark;
	struct os_stat stat;
	uint8_t *room;
	int64_t got;
	int ret;

	if ((ret = dw_input_file_open(worker->reader->run, file_state->inode,
				      open_or_wait, worker, &file_state->input_file)) <
		    0 ||
	    (ret = dw_input_file_stat(&file_state->input_file, &stat)) < 0)
		return ret;
	if ((stat.mode & DW_S_IFMT) != DW_S_IFREG)
		return -ESTALE;
	if (!dw_input_file_matches(&file_state->input_file, &stat))
		return 1;
	file_state->may_have_holes = stat.allocated < stat.size;
	worker->reader->subjects[file_state->subject].may_have_holes =
		file_state->may_have_holes;
	if (mark->size > KEPT_FILE_BYTES)
		return 0;
	room = small_file_memory(worker, file_state, (size_t)mark->size);
	got = dw_input_file_read_at(&file_state->input_file, room, (size_t)mark->size, 0);
	if (got < 0)
		return (int)got;
	file_state->small = (struct span){ room, (size_t)got };
	return (uint64_t)got != mark->size;
}

/* Find the number of its contents. Returns as begin_file(). */
static int identify_contents(struct reader_worker *worker, struct file_state *file_state,
			     uint32_t *number_out, bool *is_new_out)
{
	struct file_reader *reader = worker->reader;
	uint8_t digest[DW_DIGEST_BYTES_MAX];
	struct finding finding = { .size = file_state->inode->size };
	const struct subject *subject = &reader->subjects[file_state->subject];
	int ret = 0;

	if (subject->wants_hash || (subject->is_kept && reader->digests)) {
		if (file_state->small.data)
			hash_small(worker, file_state, digest);
		else
			ret = hash_large(worker, file_state, digest);
		finding.digest = subject->wants_hash ? digest : NULL;
	}
	if (ret != 0)
		return ret;
	/* Kept bytes would lose the positions of the holes. */
	if (!reader->subjects[file_state->subject].is_kept &&
	    (!file_state->may_have_holes || !reader->run->options->sparse_files)) {
		finding.slab = file_state->slab;
		finding.offset = file_state->offset;
	}
	if (dw_distinct_add(&reader->set, &finding, number_out, is_new_out, NULL) < 0)
		return -ENOMEM;
	if (*is_new_out && finding.slab)
		finding.slab->used += (size_t)finding.size;
	return 0;
}

static int read_file_once(struct reader_worker *worker, struct file_state *file_state)
{
	struct file_reader *reader = worker->reader;
	uint32_t number;
	bool is_new;
	int ret;

	if ((ret = begin_file(worker, file_state)) != 0 ||
	    (ret = identify_contents(worker, file_state, &number, &is_new)) != 0)
		return ret;
	if (!reader->subjects[file_state->subject].is_kept &&
	    (is_new || reader->goes_by_path) &&
	    (ret = describe_contents(worker, file_state, number)) != 0)
		return ret;
	reader->subjects[file_state->subject].distinct = number;
	return 0;
}

static int add_failure(struct reader_job *job, uint32_t subject, int errnum,
		       dwarfs_error **err)
{
	int ret =
		dw_grow(&job->failures, &job->failure_room, job->failure_count + 1, err);

	if (ret < 0)
		return ret;
	job->failures[job->failure_count++] = (struct read_failure){ subject, errnum };
	return 0;
}

/* Count the whole file as done, however much of it was read. */
static void show_rest(struct reader_worker *worker, uint64_t size)
{
	atomic_fetch_add(&worker->reader->bytes_done, size - worker->shown);
}

static int read_files(struct file_reader *reader, struct reader_worker *worker,
		      struct reader_job *job, dwarfs_error **err)
{
	struct descriptor_users *users =
		dw_sources_descriptor_users(reader->run->sources);

	for (size_t i = 0; i < job->count; i++) {
		struct subject *subject = &reader->subjects[job->list[i]];
		struct file_state file_state = {
			.subject = job->list[i],
			.inode = &reader->tree->inodes[subject->inode],
			.input_file = INPUT_FILE_NONE,
		};
		int ret;

		worker->shown = 0;
		ret = read_file_once(worker, &file_state);
		dw_input_file_close(&file_state.input_file);
		show_rest(worker, file_state.inode->size);
		if (dw_descriptor_users_waiting(users)) {
			dw_directory_cache_empty(&worker->directories);
			dw_descriptor_users_notify(users);
		}
		if (ret == -ENOMEM)
			return dw_fail_nomem(err);
		if (ret < 0 && subject->is_kept)
			ret = 1; /* it keeps its chunks, damaged as they are */
		subject->state = ret < 0 ? SUBJECT_UNREADABLE
				 : ret	 ? SUBJECT_CHANGED
					 : SUBJECT_DONE;
		if (ret < 0 && (ret = add_failure(job, job->list[i], -ret, err)) < 0)
			return ret;
		if (dw_pipeline_stopped(reader->pipeline))
			return 0;
	}
	return 0;
}

/* A worker without a job has nothing open: others may wait for descriptors. */
int dw_file_reader_run(struct file_reader *reader, struct reader_worker *worker,
		       struct reader_job *job, dwarfs_error **err)
{
	struct descriptor_users *users =
		dw_sources_descriptor_users(reader->run->sources);
	int ret;

	dw_descriptor_users_enter(users);
	ret = read_files(reader, worker, job, err);
	dw_directory_cache_empty(&worker->directories);
	dw_descriptor_users_leave(users);
	return ret;
}
