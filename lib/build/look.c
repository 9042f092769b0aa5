/* SPDX-License-Identifier: MIT */
/*
 * build/look: reading one file of the input once, for all that is wanted of it.
 *
 * Small files are in memory as a whole, so they are hashed first, and only looked at more
 * closely when nobody had the same bytes before. Large ones are hashed while the most
 * likely fingerprint is made; then categorizers read what they need.
 */
#include <errno.h>
#include <string.h>

#include "build/folders.h"
#include "build/look.h"
#include "build/trail.h"
#include "format/metadata.h"

#define PIECE_BYTES    ((size_t)256 << 10)
#define WORKER_FOLDERS 8

struct look_worker {
	struct look *look;
	struct folders folders;
	struct hasher *hasher; /* NULL: no hashes are wanted */
	struct fingerprinter *maker;
	struct kept_slab *slab; /* being filled, or NULL */
	bool has_no_slab;	/* there is no room for more */
	uint8_t *buffer;	/* PIECE_BYTES */
	struct trail trail;
	uint64_t shown; /* bytes of the present file that are in look->bytes_done */
};

/* A file while it is being looked at. */
struct sight {
	uint32_t subject;
	const struct tree_inode *inode;
	struct raw raw;
	bool may_have_holes;
	struct span small; /* all of it, or nothing when it is large */
	struct kept_slab *slab;
	uint32_t offset; /* of small in slab */
	struct fingerprint fingerprint;
	enum fingerprint_kind kind; /* of fingerprint */
};

int dw_look_digest_bytes(const char *algorithm, size_t *bytes_out, dwarfs_error **err)
{
	struct hasher *hasher;
	int ret = dw_hasher_new(algorithm, &hasher, err);

	if (ret < 0)
		return ret;
	*bytes_out = dw_hasher_bytes(hasher);
	dw_hasher_free(hasher);
	return 0;
}

/* -- workers ------------------------------------------------------------------------- */

void dw_look_worker_free(struct look_worker *worker)
{
	if (!worker)
		return;
	dw_folders_free(&worker->folders);
	dw_hasher_free(worker->hasher);
	dw_fingerprinter_free(worker->maker);
	dw_kept_slab_release(worker->slab);
	dw_trail_free(&worker->trail);
	free(worker->buffer);
	free(worker);
}
DW_DEFINE_AUTO(look_worker, struct look_worker *, dw_look_worker_free)

int dw_look_worker_new(struct look *look, struct look_worker **worker_out,
		       dwarfs_error **err)
{
	DW_AUTO(look_worker) struct look_worker *worker = dw_calloc(1, sizeof(*worker));
	const char *algorithm = look->run->options->input.file_hash;
	int ret;

	if (!worker || !(worker->buffer = malloc(PIECE_BYTES)))
		return dw_fail_nomem(err);
	worker->look = look;
	dw_raw_init_folders(&worker->folders, look->run, look->tree, WORKER_FOLDERS);
	if (algorithm && (ret = dw_hasher_new(algorithm, &worker->hasher, err)) < 0)
		return ret;
	if (look->set.wants_fingerprints &&
	    (ret = dw_fingerprinter_new(&worker->maker, err)) < 0)
		return ret;
	*worker_out = dw_steal(worker);
	return 0;
}

/* Room for a small file and one byte more, in a slab as long as there is one. */
static uint8_t *small_room(struct look_worker *worker, struct sight *sight, size_t size)
{
	if (worker->slab && KEPT_SLAB_BYTES - worker->slab->used <= size) {
		dw_kept_slab_release(worker->slab);
		worker->slab = NULL;
	}
	if (!worker->slab && !worker->has_no_slab) {
		worker->slab = dw_kept_slab_new(worker->look->run->sources);
		worker->has_no_slab = !worker->slab;
	}
	if (!worker->slab)
		return worker->buffer;
	sight->slab = worker->slab;
	sight->offset = (uint32_t)worker->slab->used;
	return worker->slab->data + worker->slab->used;
}

/* -- what is wanted ------------------------------------------------------------------ */

static enum fingerprint_kind kind_of(const struct look *look, const struct sight *sight,
				     uint32_t category)
{
	if (!look->set.wants_fingerprints ||
	    sight->inode->size > look->run->options->max_similarity_bytes)
		return FINGERPRINT_NONE;
	return look->kinds[category];
}

/* Whether the callback has decided; categorizers are not asked then. */
static bool is_decided(const struct look *look, const struct sight *sight)
{
	return look->forced && look->forced[sight->subject] != DW_ANY_CATEGORY;
}

/* The category of what no categorizer claims. */
static uint32_t base_category(const struct look *look, const struct sight *sight)
{
	return is_decided(look, sight) ? look->forced[sight->subject] : CATEGORY_DEFAULT;
}

/* The category that most bytes are of; of those, the one that comes first. */
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

/* What a pass over the bytes makes. */
struct pass {
	struct hasher *hasher;
	struct fingerprinter *maker;
};

/* Bytes from a place that is a multiple of the page size. Zeros tell nothing about what a
 * file resembles, so fingerprints leave out whole pages of them, as they do holes. */
static void add_bytes(const struct pass *pass, const uint8_t *data, size_t size,
		      uint64_t offset)
{
	size_t at = 0, from, to;

	while (at < size) {
		dw_hasher_next_run(data, size, at, &from, &to);
		if (pass->hasher)
			dw_hasher_add_zeros(pass->hasher, offset + at, offset + from);
		if (from < to && pass->hasher)
			dw_hasher_add(pass->hasher, data + from, to - from);
		if (from < to && pass->maker)
			dw_fingerprint_update(pass->maker, data + from, to - from);
		at = to;
	}
}

/* A run of data, widened to whole pages: 0, 1 when the file is shorter now, or a negative
 * errno value. */
static int read_run(struct look_worker *worker, const struct pass *pass,
		    const struct raw *raw, uint64_t from, uint64_t to)
{
	while (from < to) {
		size_t want = to - from < PIECE_BYTES ? (size_t)(to - from) : PIECE_BYTES;
		int64_t got = dw_raw_read_at(raw, worker->buffer, want, from);

		if (got < 0)
			return (int)got;
		if ((size_t)got < want)
			return 1;
		add_bytes(pass, worker->buffer, want, from);
		from += want;
		worker->shown += want;
		atomic_fetch_add(&worker->look->bytes_done, want);
		if (dw_flow_stopped(worker->look->flow))
			return 1;
	}
	return 0;
}

/* All of a large file, likewise. */
static int read_runs(struct look_worker *worker, const struct pass *pass,
		     const struct sight *sight)
{
	uint64_t at = 0, from, to, size = sight->inode->size;
	int ret;

	while (at < size) {
		if ((ret = dw_raw_next_data(&sight->raw, at, size, &from, &to)) < 0)
			return ret;
		from = from / HASHER_PAGE_BYTES * HASHER_PAGE_BYTES;
		from = from < at ? at : from;
		to = (to + HASHER_PAGE_BYTES - 1) / HASHER_PAGE_BYTES * HASHER_PAGE_BYTES;
		to = to > size ? size : to;
		if (pass->hasher)
			dw_hasher_add_zeros(pass->hasher, at, from);
		if ((ret = read_run(worker, pass, &sight->raw, from, to)) != 0)
			return ret;
		at = to;
	}
	return 0;
}

static int fingerprint_small(struct look_worker *worker, struct sight *sight,
			     enum fingerprint_kind kind)
{
	struct pass pass = { .maker = worker->maker };

	dw_fingerprint_begin(worker->maker, kind);
	add_bytes(&pass, sight->small.data, sight->small.size, 0);
	dw_fingerprint_finish(worker->maker, &sight->fingerprint);
	sight->kind = kind;
	return 0;
}

static int fingerprint_large(struct look_worker *worker, struct sight *sight,
			     enum fingerprint_kind kind)
{
	struct pass pass = { .maker = worker->maker };
	int ret;

	dw_fingerprint_begin(worker->maker, kind);
	ret = read_runs(worker, &pass, sight);
	dw_fingerprint_finish(worker->maker, &sight->fingerprint);
	if (ret == 0)
		sight->kind = kind;
	return ret;
}

/* -- hashes -------------------------------------------------------------------------- */

static void hash_small(struct look_worker *worker, const struct sight *sight,
		       uint8_t *digest)
{
	struct pass pass = { .hasher = worker->hasher };
	size_t from, to;

	dw_hasher_next_run(sight->small.data, sight->small.size, 0, &from, &to);
	if (from == 0 && to == sight->small.size) {
		dw_hasher_once(worker->hasher, sight->small.data, to, digest);
		return;
	}
	dw_hasher_begin(worker->hasher);
	add_bytes(&pass, sight->small.data, sight->small.size, 0);
	dw_hasher_finish(worker->hasher, digest);
}

/* The fingerprint that it will probably need is made at the same time. */
static int hash_large(struct look_worker *worker, struct sight *sight, uint8_t *digest)
{
	const struct look *look = worker->look;
	enum fingerprint_kind kind = kind_of(look, sight, base_category(look, sight));
	struct pass pass = { .hasher = worker->hasher };
	int ret;

	dw_hasher_begin(worker->hasher);
	if (kind != FINGERPRINT_NONE) {
		pass.maker = worker->maker;
		dw_fingerprint_begin(worker->maker, kind);
	}
	ret = read_runs(worker, &pass, sight);
	dw_hasher_finish(worker->hasher, digest);
	if (pass.maker)
		dw_fingerprint_finish(worker->maker, &sight->fingerprint);
	if (ret == 0)
		sight->kind = kind;
	return ret;
}

/* -- categories and fingerprints ----------------------------------------------------- */

static int categorize(struct look_worker *worker, const struct sight *sight,
		      struct category_parts *parts, dwarfs_error **err)
{
	const struct look *look = worker->look;
	struct category_file file = {
		.size = sight->inode->size,
		.raw = &sight->raw,
		.head = sight->small,
	};
	auto_error dwarfs_error *ignored = NULL;
	int64_t got;
	int ret;

	if (!look->categorizers || is_decided(look, sight))
		return 0;
	if (!sight->small.data) {
		got = dw_raw_read_at(&sight->raw, worker->buffer, CATEGORY_HEAD_BYTES, 0);
		if (got < CATEGORY_HEAD_BYTES)
			return 0;
		file.head = (struct span){ worker->buffer, (size_t)got };
	}
	if ((ret = dw_trail_go(&worker->trail, look->tree, sight->inode->entry, err)) < 0)
		return ret;
	file.path = (const char *)worker->trail.path.data;
	ret = dw_categorize(look->categorizers, look->run->context, &file, parts,
			    &ignored);
	if (ret == DWARFS_ERR_NOMEM)
		return dw_fail_nomem(err);
	if (ret < 0) /* the segmenter will find that it cannot be read, and say so */
		dw_category_parts_free(parts);
	return 0;
}

/* What comes first in an access list counts for all files with the same contents. */
static uint64_t rank_of(const struct sight *sight, const struct category_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		if (parts->list[i].category == CATEGORY_HOTNESS)
			return sight->subject;
	return (UINT64_C(1) << 32) + sight->subject;
}

/* 0, 1 or a negative errno value as read_run(); -ENOMEM is of the run. */
static int describe(struct look_worker *worker, struct sight *sight, uint32_t number)
{
	struct look *look = worker->look;
	__attribute__((
		cleanup(dw_category_parts_free))) struct category_parts parts = { 0 };
	enum fingerprint_kind kind;
	uint32_t category;
	int ret;

	if (categorize(worker, sight, &parts, NULL) < 0 ||
	    main_category(&parts, base_category(look, sight), &category) < 0)
		return -ENOMEM;
	kind = kind_of(look, sight, category);
	if (kind != FINGERPRINT_NONE && kind != sight->kind) {
		ret = sight->small.data ? fingerprint_small(worker, sight, kind)
					: fingerprint_large(worker, sight, kind);
		if (ret != 0)
			return ret;
	}
	if (parts.count == 0 && kind == FINGERPRINT_NONE && !look->goes_by_path)
		return 0;
	ret = dw_distinct_describe(&look->set, number, rank_of(sight, &parts), &parts,
				   kind == FINGERPRINT_NONE ? NULL : &sight->fingerprint,
				   NULL);
	return ret < 0 ? -ENOMEM : 0;
}

/* -- one file ------------------------------------------------------------------------ */

static int open_below(void *user, uint32_t entry, int *fd_out)
{
	return dw_folders_open_file(user, entry, fd_out);
}

/* Open it, and read it when it is small: 0, 1 when it has changed, or a negative errno
 * value. */
static int begin(struct look_worker *worker, struct sight *sight)
{
	const struct raw_mark *mark = &sight->raw.mark;
	struct os_stat stat;
	uint8_t *room;
	int64_t got;
	int ret;

	if ((ret = dw_raw_open(worker->look->run, sight->inode, open_below,
			       &worker->folders, &sight->raw)) < 0 ||
	    (ret = dw_raw_stat(&sight->raw, &stat)) < 0)
		return ret;
	if ((stat.mode & DW_S_IFMT) != DW_S_IFREG)
		return -ESTALE;
	if (!dw_raw_matches(&sight->raw, &stat))
		return 1;
	sight->may_have_holes = stat.allocated < stat.size;
	worker->look->subjects[sight->subject].may_have_holes = sight->may_have_holes;
	if (mark->size > KEPT_FILE_BYTES)
		return 0;
	room = small_room(worker, sight, (size_t)mark->size);
	got = dw_raw_read_at(&sight->raw, room, (size_t)mark->size, 0);
	if (got < 0)
		return (int)got;
	sight->small = (struct span){ room, (size_t)got };
	return (uint64_t)got != mark->size;
}

/* Find out which contents it has: as above. */
static int identify(struct look_worker *worker, struct sight *sight, uint32_t *number_out,
		    bool *is_new_out)
{
	struct look *look = worker->look;
	uint8_t digest[DW_DIGEST_BYTES_MAX];
	struct finding finding = { .size = sight->inode->size };
	int ret = 0;

	if (look->subjects[sight->subject].wants_hash) {
		if (sight->small.data)
			hash_small(worker, sight, digest);
		else
			ret = hash_large(worker, sight, digest);
		finding.digest = digest;
	}
	if (ret != 0)
		return ret;
	/* Where its holes are would be forgotten. */
	if (!sight->may_have_holes || !look->run->options->sparse_files) {
		finding.slab = sight->slab;
		finding.offset = sight->offset;
	}
	if (dw_distinct_add(&look->set, &finding, number_out, is_new_out, NULL) < 0)
		return -ENOMEM;
	if (*is_new_out && finding.slab)
		finding.slab->used += (size_t)finding.size;
	return 0;
}

static int look_at(struct look_worker *worker, struct sight *sight)
{
	struct look *look = worker->look;
	uint32_t number;
	bool is_new;
	int ret;

	if ((ret = begin(worker, sight)) != 0 ||
	    (ret = identify(worker, sight, &number, &is_new)) != 0)
		return ret;
	if ((is_new || look->goes_by_path) &&
	    (ret = describe(worker, sight, number)) != 0)
		return ret;
	look->subjects[sight->subject].distinct = number;
	return 0;
}

static int add_failure(struct look_job *job, uint32_t subject, int errnum,
		       dwarfs_error **err)
{
	int ret =
		dw_grow(&job->failures, &job->failure_room, job->failure_count + 1, err);

	if (ret < 0)
		return ret;
	job->failures[job->failure_count++] = (struct look_failure){ subject, errnum };
	return 0;
}

/* Whatever was read of it, or read twice, the file is done. */
static void show_rest(struct look_worker *worker, uint64_t size)
{
	atomic_fetch_add(&worker->look->bytes_done, size - worker->shown);
}

int dw_look_run(struct look *look, struct look_worker *worker, struct look_job *job,
		dwarfs_error **err)
{
	for (size_t i = 0; i < job->count; i++) {
		struct subject *subject = &look->subjects[job->list[i]];
		struct sight sight = {
			.subject = job->list[i],
			.inode = &look->tree->inodes[subject->inode],
			.raw = RAW_NONE,
		};
		int ret;

		worker->shown = 0;
		ret = look_at(worker, &sight);
		dw_raw_close(&sight.raw);
		show_rest(worker, sight.inode->size);
		if (ret == -ENOMEM)
			return dw_fail_nomem(err);
		subject->state = ret < 0 ? SUBJECT_UNREADABLE
				 : ret	 ? SUBJECT_CHANGED
					 : SUBJECT_DONE;
		if (ret < 0 && (ret = add_failure(job, job->list[i], -ret, err)) < 0)
			return ret;
		if (dw_flow_stopped(look->flow))
			return 0;
	}
	return 0;
}
