/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/file_contents: contents of files.
 *
 * If the kernel does not request opens, reads carry only an inode; so files stay open in
 * a small table indexed by inode. Data is sent to the kernel from the block cache,
 * without a copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dwarfs/mount.h"

#define PLACES	  256
#define MAX_PARTS 64
#define SLACK	  ((uint64_t)1 << 20) /* reads of one reader overtake each other so far */

/* Bytes whose copy takes as long as to have another thread receive the next request. */
#define LARGE_READ ((size_t)64 << 10)

/* An open file, and the positions at which it is read. */
struct open_file {
	atomic_uint references;
	dwarfs_inode inode;
	dwarfs_file *file;
	_Atomic uint64_t next, ahead;
	atomic_uint run;		 /* reads in a row */
	unsigned handles;		 /* of the kernel, each with a reference */
	struct open_file *newer, *older; /* with handles */
};

struct place {
	pthread_mutex_t lock;
	struct open_file *file;
};

struct files {
	struct place places[PLACES];
	pthread_mutex_t lock;	  /* of the list and its links and counts */
	struct open_file *newest; /* with handles */
};

/* -- the table ----------------------------------------------------------------------- */

static void put_file(struct open_file *file)
{
	if (!file || atomic_fetch_sub(&file->references, 1) != 1)
		return;
	dwarfs_file_free(file->file);
	free(file);
}

static void cleanup_file(struct open_file **file)
{
	put_file(*file);
}
#define auto_file __attribute__((cleanup(cleanup_file)))

int files_new(struct files **files_out)
{
	struct files *files = calloc(1, sizeof(*files));

	if (!files)
		return tool_error("out of memory");
	for (size_t i = 0; i < PLACES; i++)
		pthread_mutex_init(&files->places[i].lock, NULL);
	pthread_mutex_init(&files->lock, NULL);
	*files_out = files;
	return 0;
}

void files_trim(struct files *files)
{
	for (size_t i = 0; i < PLACES; i++) {
		struct place *place = &files->places[i];
		struct open_file *file;

		pthread_mutex_lock(&place->lock);
		file = place->file;
		place->file = NULL;
		pthread_mutex_unlock(&place->lock);
		put_file(file);
	}
}

/* Before the kernel gets a handle of a file. */
static void add_handle(struct files *files, struct open_file *file)
{
	pthread_mutex_lock(&files->lock);
	if (file->handles++ == 0) {
		file->older = files->newest;
		file->newer = NULL;
		if (file->older)
			file->older->newer = file;
		files->newest = file;
	}
	pthread_mutex_unlock(&files->lock);
}

/* The handle is gone; its reference is left to the caller. */
static void remove_handle(struct files *files, struct open_file *file)
{
	pthread_mutex_lock(&files->lock);
	if (--file->handles == 0) {
		*(file->newer ? &file->newer->older : &files->newest) = file->older;
		if (file->older)
			file->older->newer = file->newer;
	}
	pthread_mutex_unlock(&files->lock);
}

/* The kernel need not release files that were closed just before it is unmounted. */
void files_free(struct files *files)
{
	if (!files)
		return;
	files_trim(files);
	while (files->newest) {
		struct open_file *file = files->newest;

		remove_handle(files, file);
		put_file(file);
	}
	pthread_mutex_destroy(&files->lock);
	for (size_t i = 0; i < PLACES; i++)
		pthread_mutex_destroy(&files->places[i].lock);
	free(files);
}

static int open_new_file(const struct mounted *mounted, dwarfs_inode inode,
			 struct open_file **file_out, dwarfs_error **err)
{
	PERF_SPAN(mounted->perfmon, PERF_READER_OPEN, inode.number);
	auto_handle(dwarfs_file) *file = NULL;
	struct open_file *opened;
	int ret = dwarfs_file_open(mounted->image, inode, &file, err);

	if (ret < 0)
		return ret;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return DWARFS_ERR_NOMEM;
	atomic_init(&opened->references, 1);
	opened->inode = inode;
	opened->file = file;
	file = NULL;
	*file_out = opened;
	return 0;
}

/* A reference to the open file of an inode. */
static int acquire_file(const struct mounted *mounted, dwarfs_inode inode,
			struct open_file **file_out, dwarfs_error **err)
{
	struct place *place = &mounted->files->places[inode.number % PLACES];
	struct open_file *file, *before = NULL;
	int ret = 0;

	pthread_mutex_lock(&place->lock);
	file = place->file;
	if (!file || file->inode.number != inode.number) {
		ret = open_new_file(mounted, inode, &file, err);
		if (ret == 0) {
			before = place->file;
			place->file = file;
		}
	}
	if (ret == 0) {
		atomic_fetch_add(&file->references, 1);
		*file_out = file;
	}
	pthread_mutex_unlock(&place->lock);
	put_file(before);
	return ret;
}

/* The opened file, or that of the inode if the kernel did not request an open. */
static int file_of_handle(const struct mounted *mounted, fuse_ino_t ino,
			  const struct fuse_file_info *info, struct open_file **file_out,
			  dwarfs_error **err)
{
	if (!info || info->fh == 0)
		return acquire_file(mounted, inode_of(ino), file_out, err);
	*file_out = (struct open_file *)(uintptr_t)info->fh;
	atomic_fetch_add(&(*file_out)->references, 1);
	return 0;
}

int files_warm(const struct mounted *mounted, dwarfs_inode inode, uint64_t offset,
	       size_t bytes)
{
	auto_handle(dwarfs_borrowed) *borrowed = NULL;
	auto_file struct open_file *file = NULL;

	if (acquire_file(mounted, inode, &file, NULL) < 0 ||
	    dwarfs_file_borrow(file->file, bytes, offset, &borrowed, NULL) < 0)
		return -1;
	return dwarfs_borrowed_bytes(borrowed) == bytes ? 0 : -1;
}

/* -- opening ------------------------------------------------------------------------- */

/* Holes of this size in total do not fill the page cache. */
#define FEW_HOLE_BYTES (UINT64_C(64) << 20)

static bool has_holes(const dwarfs_image *image)
{
	const char *feature;

	for (size_t i = 0; (feature = dwarfs_image_feature(image, i)); i++)
		if (strcmp(feature, "sparsefiles") == 0)
			return true;
	return false;
}

/* The size of all contents without holes; false if the image does not have it. */
static bool allocated_bytes(const dwarfs_image *image, uint64_t *bytes_out)
{
	auto_handle(dwarfs_metadata) *metadata = NULL;
	enum dwarfs_metadata_kind kind;

	if (dwarfs_metadata_new(image, &metadata, NULL) < 0)
		return false;
	while (dwarfs_metadata_next(metadata, &kind, NULL) > 0) {
		const char *name = dwarfs_metadata_name(metadata);

		if (name && strcmp(name, "total_allocated_fs_size") == 0) {
			*bytes_out = dwarfs_metadata_number(metadata);
			return kind == DWARFS_METADATA_NUMBER;
		}
		if (dwarfs_metadata_depth(metadata) > 0)
			dwarfs_metadata_skip(metadata);
	}
	return false;
}

/* Each file is requested to be opened unless all may be cached, so that a few holes would
 * cost more than the page cache that they fill. */
bool files_keep_sparse(const struct settings *settings, const dwarfs_image *image)
{
	uint64_t all = dwarfs_image_original_bytes(image), allocated, holes;

	if (settings->sparse == SPARSE_KEEP || !has_holes(image))
		return true;
	if (settings->sparse == SPARSE_DROP || !allocated_bytes(image, &allocated) ||
	    allocated > all)
		return false;
	holes = all - allocated;
	return holes <= FEW_HOLE_BYTES || holes <= allocated;
}

/* Whether the kernel is to keep the contents of a file. */
static int may_cache(const struct mounted *mounted, dwarfs_inode inode, bool *cache_out,
		     dwarfs_error **err)
{
	auto_handle(dwarfs_stat) *stat = NULL;
	int ret;

	*cache_out = mounted->settings->cache_files;
	if (!mounted->settings->cache_files || mounted->keep_sparse)
		return 0;
	if ((ret = dwarfs_stat_new(&stat, err)) < 0 ||
	    (ret = dwarfs_inode_stat(mounted->image, inode, stat, err)) < 0)
		return ret;
	*cache_out = dwarfs_stat_allocated_bytes(stat) == dwarfs_stat_bytes(stat);
	return 0;
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_file struct open_file *file = NULL;
	const struct mounted *mounted = mounted_of(req);
	bool cache = false;
	int ret;

	REQUEST(req, PERF_OPEN, ino, 0);
	if ((info->flags & O_ACCMODE) != O_RDONLY) {
		fuse_reply_err(req, EROFS);
		return;
	}
	if (mounted->no_open) {
		fuse_reply_err(req, ENOSYS); /* it is not asked again, for any file */
		return;
	}
	ret = acquire_file(mounted, inode_of(ino), &file, &err);
	if (ret == 0)
		ret = may_cache(mounted, inode_of(ino), &cache, &err);
	if (ret < 0) {
		reply_failure(req, ino, ret, err);
		return;
	}
	if (mounted->opened)
		opened_note(mounted->opened, inode_of(ino));
	info->fh = (uintptr_t)file;
	info->keep_cache = cache;
	/* Files with holes can still be mapped, until they are opened again. */
	info->direct_io = !mounted->settings->cache_files;
	add_handle(mounted->files, file);
	/* When the caller is gone already, no release follows. */
	if (fuse_reply_open(req, info) == 0)
		file = NULL;
	else
		remove_handle(mounted->files, file);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct open_file *file = (struct open_file *)(uintptr_t)info->fh;

	REQUEST(req, PERF_RELEASE, ino, 0);
	if (file)
		remove_handle(mounted_of(req)->files, file);
	put_file(file);
	fuse_reply_err(req, 0);
}

/* -- reading ------------------------------------------------------------------------- */

/* Decompress the data that this reader is expected to read next. */
static void look_ahead(const struct mounted *mounted, struct open_file *file,
		       uint64_t offset, uint64_t bytes)
{
	uint64_t end = offset + bytes, size = dwarfs_file_bytes(file->file);
	uint64_t next = atomic_load(&file->next), ahead = atomic_load(&file->ahead);
	uint64_t window, until;

	if (mounted->settings->readahead_bytes > 0 && end < size)
		ahead_want(mounted->ahead, file->inode, end,
			   mounted->settings->readahead_bytes);
	if (offset + SLACK < next || offset > next + SLACK) {
		atomic_store(&file->run, 0);
		atomic_store(&file->ahead, 0);
		atomic_store(&file->next, end);
		return;
	}
	if (end > next)
		atomic_store(&file->next, end);
	if (mounted->settings->sequence == 0 ||
	    atomic_fetch_add(&file->run, 1) + 1 < mounted->settings->sequence)
		return;
	window = ahead_window(mounted->ahead);
	until = size - end < window ? size : end + window;
	if (end >= size || window == 0 || ahead >= size || ahead > end + window / 2)
		return;
	if (ahead < end)
		ahead = end;
	atomic_store(&file->ahead, until);
	ahead_want(mounted->ahead, file->inode, ahead, until - ahead);
}

static void reply_parts(fuse_req_t req, const dwarfs_borrowed *borrowed)
{
	struct iovec parts[MAX_PARTS];
	size_t count = dwarfs_borrowed_count(borrowed), at = 0;
	auto_free char *copy = NULL;

	if (count <= MAX_PARTS) {
		for (size_t i = 0; i < count; i++)
			parts[i].iov_base = (void *)dwarfs_borrowed_part(
				borrowed, i, &parts[i].iov_len);
		fuse_reply_iov(req, parts, (int)count);
		return;
	}
	copy = malloc(dwarfs_borrowed_bytes(borrowed));
	if (!copy) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		size_t size;
		const void *part = dwarfs_borrowed_part(borrowed, i, &size);

		memcpy(copy + at, part, size);
		at += size;
	}
	fuse_reply_buf(req, copy, at);
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t offset,
	     struct fuse_file_info *info)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_borrowed) *borrowed = NULL;
	auto_file struct open_file *file = NULL;
	const struct mounted *mounted = mounted_of(req);
	int ret;

	REQUEST(req, PERF_READ, ino, bytes);
	ret = file_of_handle(mounted, ino, info, &file, &err);
	if (ret == 0) {
		PERF_SPAN(mounted->perfmon, PERF_READER_READ, ino);
		if (offset == 0)
			ahead_note_start(mounted->ahead, file->inode);
		look_ahead(mounted, file, (uint64_t)offset, bytes);
		if (bytes >= LARGE_READ ||
		    !dwarfs_file_is_cached(file->file, bytes, (uint64_t)offset))
			request_loop_release();
		ret = dwarfs_file_borrow(file->file, bytes, (uint64_t)offset, &borrowed,
					 &err);
	}
	if (ret < 0)
		reply_failure(req, ino, ret, err);
	else
		reply_parts(req, borrowed);
}

void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence,
	      struct fuse_file_info *info)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_file struct open_file *file = NULL;
	const struct mounted *mounted = mounted_of(req);
	uint64_t found;
	int ret;

	REQUEST(req, PERF_LSEEK, ino, 0);
	if (offset < 0 || (whence != SEEK_DATA && whence != SEEK_HOLE)) {
		fuse_reply_err(req, offset < 0 ? ENXIO : EINVAL);
		return;
	}
	ret = file_of_handle(mounted, ino, info, &file, &err);
	if (ret == 0) {
		PERF_SPAN(mounted->perfmon, PERF_READER_SEEK, ino);
		ret = (whence == SEEK_DATA ? dwarfs_file_seek_data
					   : dwarfs_file_seek_hole)(
			file->file, (uint64_t)offset, &found, &err);
	}
	if (ret == DWARFS_ERR_NOT_FOUND)
		fuse_reply_err(req, ENXIO);
	else if (ret < 0)
		reply_failure(req, ino, ret, err);
	else
		fuse_reply_lseek(req, (off_t)found);
}
