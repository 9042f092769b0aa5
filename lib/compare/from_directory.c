/* SPDX-License-Identifier: MIT */
/*
 * compare/from_directory: the entries below a directory, and hashes of its files.
 *
 * Takes an open directory; every path is taken relative to it, of any length, and no
 * symbolic link is followed. The workers of the context read the files.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "compare/side.h"
#include "compare/sum.h"
#include "os/dir.h"
#include "os/file_io.h"
#include "os/file_xattr.h"
#include "pool/pool.h"

#define READ_BYTES ((size_t)1 << 18)

/* A file with several names. */
struct named {
	uint64_t device, inode;
	uint32_t number; /* of its entry */
};

struct listing_run {
	struct side *side;
	struct dwarfs_progress *progress;
	uint32_t *dirs; /* paths that are still to be read */
	size_t dir_count, dir_room;
	struct named *named;
	size_t named_count, named_room;
	struct os_names names;
	struct buffer shown, text, value;
};

/* -- entries ------------------------------------------------------------------------- */

static struct side_entry describe_stat(const struct os_stat *st)
{
	return (struct side_entry){
		.target = NO_TEXT,
		.xattrs = NO_TEXT,
		.size = S_ISREG(st->mode) ? st->size : 0,
		.seconds = st->mtime.seconds,
		.nanoseconds = st->mtime.nanoseconds,
		.mode = st->mode,
		.uid = st->uid,
		.gid = st->gid,
		.major = (uint32_t)(st->rdev >> 8 & 0xfff) |
			 (uint32_t)(st->rdev >> 32 & ~UINT64_C(0xfff)),
		.minor = (uint32_t)(st->rdev & 0xff) |
			 (uint32_t)(st->rdev >> 12 & ~UINT64_C(0xff)),
		.file = NO_FILE,
		.known = KNOWN_ALL,
	};
}

static int fail_entry(struct listing_run *run, uint32_t path, int errnum,
		      const char *what, dwarfs_error **err)
{
	int ret = dw_side_path_text(&run->side->listing, path, &run->shown, err);

	return ret < 0 ? ret
		       : dw_fail_errno(err, errnum, "'%s': cannot %s",
				       run->shown.size ? (const char *)run->shown.data
						       : ".",
				       what);
}

/* The attributes of this entry are lost. */
static int lose_disk_xattrs(struct listing_run *run, int errnum, const char *what,
			    dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;

	if (errnum == ENOMEM)
		return dw_fail_nomem(err);
	dw_fail_errno(&why, errnum, "cannot %s", what);
	return dw_side_lose(&run->side->listing, KNOWN_NO_XATTRS,
			    dwarfs_error_message(why), err);
}

static int add_disk_xattrs(struct listing_run *run, int dir, const char *name,
			   dwarfs_error **err)
{
	int ret = dw_xattr_list_at(dir, name, &run->text);

	if (ret == -ENOTSUP)
		return 0;
	if (ret < 0)
		return lose_disk_xattrs(run, -ret, "list the extended attributes", err);
	for (size_t at = 0; at < run->text.size;) {
		const char *attribute = (const char *)run->text.data + at;

		at += strlen(attribute) + 1;
		if (dw_xattr_is_generated(attribute))
			continue;
		ret = dw_xattr_get_at(dir, name, attribute, &run->value);
		if (ret == -ENODATA || ret == -ENOTSUP)
			continue;
		if (ret < 0)
			return lose_disk_xattrs(run, -ret, "read an extended attribute",
						err);
		ret = dw_side_add_xattr(&run->side->listing, attribute, run->value.data,
					run->value.size, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int add_disk_target(struct listing_run *run, int dir, const char *name,
			   struct side_entry *listed, dwarfs_error **err)
{
	int ret = dw_readlink_at(dir, name, &run->text);

	if (ret < 0)
		return fail_entry(run, listed->path, -ret, "read the link", err);
	listed->target_bytes = (uint32_t)run->text.size;
	return dw_side_text(&run->side->listing, run->text.data, run->text.size,
			    &listed->target, err);
}

static int list_disk_file(struct listing_run *run, const struct os_stat *st,
			  struct side_entry *listed, dwarfs_error **err)
{
	int ret = dw_side_add_file(&run->side->listing, st->size, listed->path,
				   &listed->file, err);

	if (ret < 0 || st->links < 2)
		return ret;
	ret = dw_grow(&run->named, &run->named_room, run->named_count + 1, err);
	if (ret == 0)
		run->named[run->named_count++] =
			(struct named){ st->device, st->inode, listed->number };
	return ret;
}

/* name is "" for the directory itself. */
static int add_disk_entry(struct listing_run *run, int dir, const char *name,
			  uint32_t path, const struct os_stat *st, dwarfs_error **err)
{
	const struct side_entry entry = describe_stat(st);
	struct side_entry *listed;
	int ret = dw_side_add(&run->side->listing, path, &entry, &listed, err);

	if (ret < 0)
		return ret;
	if (S_ISLNK(st->mode))
		ret = add_disk_target(run, dir, name, listed, err);
	else if (S_ISREG(st->mode))
		ret = list_disk_file(run, st, listed, err);
	else if (S_ISDIR(st->mode) && *name &&
		 (ret = dw_grow(&run->dirs, &run->dir_room, run->dir_count + 1, err)) ==
			 0)
		run->dirs[run->dir_count++] = path;
	if (ret == 0 && !run->side->is_bare)
		ret = add_disk_xattrs(run, dir, name, err);
	return ret;
}

static int read_dir(struct listing_run *run, uint32_t path, dwarfs_error **err)
{
	auto_fd int fd = -1;
	int ret;

	ret = dw_side_path_text(&run->side->listing, path, &run->shown, err);
	if (ret < 0)
		return ret;
	ret = dw_dir_open_at(run->side->fd, (const char *)run->shown.data, &fd);
	if (ret == 0)
		ret = dw_dir_list(fd, &run->names);
	if (ret < 0)
		return fail_entry(run, path, -ret, "read the directory", err);
	for (size_t i = 0; i < run->names.count; i++) {
		const char *name = dw_os_name(&run->names, i);
		uint32_t entry_path;
		struct os_stat st;

		if ((ret = dw_side_path_in(&run->side->listing, path, name, strlen(name),
					   &entry_path, err)) < 0)
			return ret;
		if ((ret = dw_stat_at(fd, name, &st)) < 0)
			return fail_entry(run, entry_path, -ret, "be read", err);
		if ((ret = add_disk_entry(run, fd, name, entry_path, &st, err)) < 0 ||
		    (ret = dw_progress_tick(run->progress, err)) < 0)
			return ret;
	}
	return 0;
}

static int compare_named(const void *left, const void *right)
{
	const struct named *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Hard links share a file. The entries are not sorted yet: a number is an index. */
static void join_disk_links(struct listing_run *run)
{
	struct side_entry *list = run->side->listing.list;
	const struct named *named = run->named;

	if (run->named_count > 1)
		qsort(run->named, run->named_count, sizeof(*run->named), compare_named);
	for (size_t i = 1; i < run->named_count; i++)
		if (named[i].device == named[i - 1].device &&
		    named[i].inode == named[i - 1].inode)
			list[named[i].number].file = list[named[i - 1].number].file;
}

static int list_tree(struct listing_run *run, dwarfs_error **err)
{
	struct os_stat st;
	uint32_t root;
	int ret = dw_stat_fd(run->side->fd, &st);

	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot read the directory");
	if ((ret = dw_side_path(&run->side->listing, "", 0, &root, err)) < 0 ||
	    (ret = add_disk_entry(run, run->side->fd, "", root, &st, err)) < 0 ||
	    (ret = read_dir(run, root, err)) < 0)
		return ret;
	while (run->dir_count > 0)
		if ((ret = read_dir(run, run->dirs[--run->dir_count], err)) < 0)
			return ret;
	join_disk_links(run);
	return 0;
}

int dw_list_directory(struct side *side, struct dwarfs_progress *progress,
		      dwarfs_error **err)
{
	struct listing_run run = { .side = side, .progress = progress };
	int ret;

	side->listing.resolution_ns = 1;
	side->listing.has_links = true;
	ret = list_tree(&run, err);
	dw_os_names_free(&run.names);
	dw_buffer_free(&run.shown);
	dw_buffer_free(&run.text);
	dw_buffer_free(&run.value);
	dw_free(run.dirs);
	dw_free(run.named);
	return ret;
}

/* -- sums ---------------------------------------------------------------------------- */

/* Why a file cannot be read. */
struct failure {
	uint32_t file;
	dwarfs_error *error;
};

struct summing {
	struct side *side;
	struct dwarfs_progress *progress;
	struct failure *failures;
	size_t failure_count, failure_room;
};

struct sum_worker {
	struct sum *sum;
	uint8_t *buffer;
	struct buffer path;
};

struct sum_job {
	uint32_t file;
	int code;
	dwarfs_error *error;
	uint64_t bytes;
};

static void worker_free(void *item)
{
	struct sum_worker *worker = item;

	if (!worker)
		return;
	dw_sum_free(worker->sum);
	dw_free(worker->buffer);
	dw_buffer_free(&worker->path);
	dw_free(worker);
}

static int worker_new(void *shared, void **worker_out, dwarfs_error **err)
{
	struct sum_worker *worker = dw_calloc(1, sizeof(*worker));
	int ret;

	(void)shared;
	if (!worker || !(worker->buffer = dw_malloc(READ_BYTES))) {
		worker_free(worker);
		return dw_fail_nomem(err);
	}
	if ((ret = dw_sum_new(&worker->sum, err)) < 0) {
		worker_free(worker);
		return ret;
	}
	*worker_out = worker;
	return 0;
}

/* The next run of data, then the hole after the last one. */
static int read_disk_data(int fd, uint64_t size, struct sum_worker *worker,
			  dwarfs_error **err)
{
	uint64_t at = 0, end = 0;
	int ret;

	while (at < size) {
		int64_t got;

		if (at == end) {
			uint64_t start;

			ret = dw_next_data(fd, at, size, &start, &end);
			if (ret < 0)
				return dw_fail_errno(err, -ret, "cannot read the file");
			dw_sum_hole(worker->sum, start - at);
			at = start;
			continue;
		}
		got = dw_fd_read_at(
			fd, worker->buffer,
			end - at < READ_BYTES ? (size_t)(end - at) : READ_BYTES, at);
		if (got < 0)
			return dw_fail_errno(err, (int)-got, "cannot read the file");
		if (got == 0)
			return dw_fail(err, DWARFS_ERR_IO,
				       "the file became shorter while it was read");
		dw_sum_data(worker->sum, worker->buffer, (size_t)got);
		at += (uint64_t)got;
	}
	return 0;
}

static int sum_file(struct side *side, const struct side_contents *contents,
		    struct sum_worker *worker, dwarfs_error **err)
{
	auto_fd int fd = -1;
	struct os_stat st;
	int ret = dw_side_path_text(&side->listing, (uint32_t)contents->id, &worker->path,
				    err);

	if (ret < 0)
		return ret;
	ret = dw_open_at(side->fd, (const char *)worker->path.data, &fd);
	if (ret == 0)
		ret = dw_stat_fd(fd, &st);
	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot open the file");
	if (!S_ISREG(st.mode) || st.size != contents->size)
		return dw_fail(err, DWARFS_ERR_IO, "the file changed while it was read");
	return read_disk_data(fd, st.size, worker, err);
}

static int sum_disk_file(void *shared, void *item, void *work, dwarfs_error **err)
{
	struct summing *summing = shared;
	struct sum_worker *worker = item;
	struct sum_job *job = work;
	struct side_contents *contents = &summing->side->listing.files[job->file];

	job->code = sum_file(summing->side, contents, worker, &job->error);
	job->bytes = contents->size;
	dw_sum_finish(worker->sum, contents->sum);
	contents->has_sum = job->code == 0;
	return job->code == DWARFS_ERR_NOMEM ? dw_fail_nomem(err) : 0;
}

static int done(void *shared, void *work, dwarfs_error **err)
{
	struct summing *summing = shared;
	struct sum_job *job = work;
	int ret;

	/* The text must not move while workers read paths in it. */
	if (job->code < 0) {
		ret = dw_grow(&summing->failures, &summing->failure_room,
			      summing->failure_count + 1, err);
		if (ret < 0)
			return ret;
		summing->failures[summing->failure_count++] =
			(struct failure){ job->file, dw_steal(job->error) };
	}
	summing->progress->items_done++;
	summing->progress->bytes_done += job->bytes;
	return dw_progress_tick(summing->progress, err);
}

static void drop(void *shared, void *work)
{
	struct sum_job *job = work;

	(void)shared;
	dwarfs_error_free(job->error);
	dw_free(job);
}

static int read_files(struct summing *summing, dwarfs_error **err)
{
	static const struct pool_ops ops = {
		.worker_new = worker_new,
		.worker_free = worker_free,
		.run = sum_disk_file,
		.done = done,
		.drop = drop,
	};
	struct side_listing *listing = &summing->side->listing;
	const uint32_t workers = dw_context_workers(summing->side->context);
	auto_pool struct pool *pool = NULL;
	int ret = dw_pool_new(&ops, summing, workers, 4 * workers + 1, &pool, err);

	for (size_t i = 0; i < listing->file_count && ret == 0; i++) {
		struct sum_job *job;

		if (!listing->files[i].is_wanted)
			continue;
		if (!(job = dw_calloc(1, sizeof(*job))))
			return dw_fail_nomem(err);
		job->file = (uint32_t)i;
		ret = dw_pool_submit(pool, job, err);
	}
	return ret == 0 ? dw_pool_finish(pool, err) : ret;
}

int dw_sum_directory(struct side *side, struct dwarfs_progress *progress,
		     dwarfs_error **err)
{
	struct summing summing = { .side = side, .progress = progress };
	int ret = read_files(&summing, err);

	for (size_t i = 0; i < summing.failure_count; i++) {
		struct failure *failure = &summing.failures[i];

		if (ret == 0)
			ret = dw_side_trouble(&side->listing, failure->file,
					      dwarfs_error_message(failure->error), err);
		dwarfs_error_free(failure->error);
	}
	dw_free(summing.failures);
	return ret;
}
