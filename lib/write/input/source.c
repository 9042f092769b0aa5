/* SPDX-License-Identifier: MIT */
/*
 * write/input/source: read the contents of input files, from memory or from disk.
 *
 * Files are opened anew in each stage, so a file may change between two stages. This is
 * detected by its size and time. The directory cache is shared and has a lock; kept bytes
 * are written by inspect only, and read-only afterwards.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "format/metadata.h"
#include "os/file_io.h"
#include "os/pages.h"
#include "write/budget/budget.h"
#include "write/input/source.h"

/* Small files are assumed to have no holes unless stat says so, which saves a system
 * call. */
#define MAY_HIDE_HOLES KEPT_FILE_BYTES

struct sources {
	atomic_size_t slab_count;
	size_t slab_limit;
	struct kept *kept; /* ascending by contents */
	size_t kept_count;

	pthread_mutex_t lock;
	struct directory_cache directories; /* protected by lock */
	struct descriptor_users descriptor_users;
};

/* -- kept bytes ---------------------------------------------------------------------- */

int dw_sources_new(struct sources **sources_out, const struct build_run *run,
		   const struct tree *tree, dwarfs_error **err)
{
	struct sources *sources = dw_calloc(1, sizeof(*sources));

	if (!sources)
		return dw_fail_nomem(err);
	if (dw_descriptor_users_init(&sources->descriptor_users) < 0) {
		dw_free(sources);
		return dw_fail_nomem(err);
	}
	if (pthread_mutex_init(&sources->lock, NULL) != 0) {
		dw_descriptor_users_destroy(&sources->descriptor_users);
		dw_free(sources);
		return dw_fail_nomem(err);
	}
	atomic_init(&sources->slab_count, 0);
	sources->slab_limit = (size_t)(run->budget->kept_bytes / KEPT_SLAB_BYTES);
	dw_input_file_init_directory_cache(&sources->directories, run, tree,
					   DIRECTORY_SLOTS);
	*sources_out = sources;
	return 0;
}

void dw_sources_free(struct sources *sources)
{
	if (!sources)
		return;
	dw_kept_free(sources->kept, sources->kept_count);
	dw_directory_cache_free(&sources->directories);
	pthread_mutex_destroy(&sources->lock);
	dw_descriptor_users_destroy(&sources->descriptor_users);
	dw_free(sources);
}

struct descriptor_users *dw_sources_descriptor_users(struct sources *sources)
{
	return &sources->descriptor_users;
}

static void free_slab(struct kept_slab *slab)
{
	dw_pages_free(slab->data, KEPT_SLAB_BYTES);
	atomic_fetch_sub(&slab->sources->slab_count, 1);
	dw_free(slab);
}

struct kept_slab *dw_kept_slab_new(struct sources *sources)
{
	size_t count = atomic_fetch_add(&sources->slab_count, 1);
	struct kept_slab *slab = NULL;

	if (count < sources->slab_limit)
		slab = dw_calloc(1, sizeof(*slab));
	if (!slab) {
		atomic_fetch_sub(&sources->slab_count, 1);
		return NULL;
	}
	slab->sources = sources;
	atomic_init(&slab->users, 1);
	if (!(slab->data = dw_pages_new(KEPT_SLAB_BYTES))) {
		free_slab(slab);
		return NULL;
	}
	return slab;
}

void dw_kept_slab_release(struct kept_slab *slab)
{
	if (slab && atomic_fetch_sub(&slab->users, 1) == 1)
		free_slab(slab);
}

void dw_kept_free(struct kept *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		dw_kept_slab_release(list[i].slab);
	dw_free(list);
}

void dw_sources_set_kept(struct sources *sources, struct kept *list, size_t count)
{
	sources->kept = list;
	sources->kept_count = count;
}

static struct kept *find_kept(const struct sources *sources, uint32_t content)
{
	size_t from = 0, to = sources ? sources->kept_count : 0;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (sources->kept[middle].content == content)
			return &sources->kept[middle];
		if (sources->kept[middle].content < content)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

/* -- one file ------------------------------------------------------------------------ */

static int open_locked(void *user, uint32_t entry, int *fd_out)
{
	struct sources *sources = user;
	int ret;

	pthread_mutex_lock(&sources->lock);
	ret = dw_directory_cache_open_file(&sources->directories, entry, fd_out);
	pthread_mutex_unlock(&sources->lock);
	return ret;
}

static int open_cached(void *user, uint32_t entry, int *fd_out)
{
	struct sources *sources = user;

	return dw_descriptor_users_open(&sources->descriptor_users, open_locked, sources,
					entry, fd_out);
}

/* On failure the caller closes the file. */
static int check_opened_file(struct source *source)
{
	struct os_stat stat;
	int ret = dw_input_file_stat(&source->input_file, &stat);

	if (ret < 0)
		return ret;
	if ((stat.mode & DW_S_IFMT) != DW_S_IFREG)
		return -ESTALE;
	source->is_shorter = stat.size < source->size;
	if (source->is_shorter)
		source->size = stat.size;
	source->may_have_holes = stat.allocated < stat.size || stat.size > MAY_HIDE_HOLES;
	return 0;
}

/* Of a run that has sources, if the file is opened, for a descriptor user. */
static int begin_source(struct build_run *run, const struct tree *tree,
			const struct contents *contents, uint32_t content,
			struct source *source)
{
	const struct tree_inode *inode = &tree->inodes[contents->list[content].inode];
	struct kept *kept = find_kept(run->sources, content);
	int ret;

	*source = (struct source){
		.size = inode->size,
		.input_file = INPUT_FILE_NONE,
		.is_hollow = run->options->input.hollow,
	};
	if (source->is_hollow)
		return 0;
	if (kept && kept->slab) {
		source->kept =
			(struct span){ kept->slab->data + kept->offset, kept->size };
		if (!run->is_trial)
			source->slab = dw_steal(kept->slab);
		return 0;
	}
	ret = dw_input_file_open(run, inode, open_cached, run->sources,
				 &source->input_file);
	if (ret < 0)
		return ret;
	source->is_open = true;
	if ((ret = check_opened_file(source)) < 0) {
		dw_source_end(source);
		return ret;
	}
	source->may_have_holes &= run->options->sparse_files;
	return 0;
}

/* The file stays open while the source is read. It is not counted as used then: a thread
 * that waited for it might be the one that reads it. */
int dw_source_begin(struct build_run *run, const struct tree *tree,
		    const struct contents *contents, uint32_t content,
		    struct source *source)
{
	int ret;

	if (!run->sources)
		return begin_source(run, tree, contents, content, source);
	dw_descriptor_users_enter(&run->sources->descriptor_users);
	ret = begin_source(run, tree, contents, content, source);
	dw_descriptor_users_leave(&run->sources->descriptor_users);
	return ret;
}

int64_t dw_source_read_at(struct source *source, void *buffer, size_t size,
			  uint64_t offset)
{
	if (source->is_open)
		return dw_input_file_read_at(&source->input_file, buffer, size, offset);
	if (offset >= source->size)
		return 0;
	if (size > source->size - offset)
		size = (size_t)(source->size - offset);
	if (source->is_hollow)
		memset(buffer, 0, size);
	else
		memcpy(buffer, source->kept.data + offset, size);
	return (int64_t)size;
}

int dw_source_next_data(struct source *source, uint64_t from, uint64_t end,
			uint64_t *start_out, uint64_t *end_out)
{
	int ret;

	if (source->may_have_holes &&
	    (from < source->run_from || from >= source->run_to)) {
		ret = dw_input_file_next_data(&source->input_file, from, source->size,
					      &source->run_from, &source->run_to);
		if (ret < 0)
			return ret;
	}
	if (source->may_have_holes) {
		*start_out = source->run_from > from ? source->run_from : from;
		*start_out = *start_out < end ? *start_out : end;
		*end_out = source->run_to < end ? source->run_to : end;
		return 0;
	}
	*start_out = source->is_hollow ? end : from;
	*end_out = end;
	return 0;
}

int dw_source_is_unchanged(const struct source *source)
{
	struct os_stat stat;
	int ret;

	if (!source->is_open)
		return 1;
	if ((ret = dw_input_file_stat(&source->input_file, &stat)) < 0)
		return ret;
	return dw_input_file_matches(&source->input_file, &stat);
}

void dw_source_end(struct source *source)
{
	dw_input_file_close(&source->input_file);
	source->is_open = false;
	source->kept = (struct span){ 0 };
	dw_kept_slab_release(dw_steal(source->slab));
}

static int64_t read_once(struct build_run *run, const struct tree *tree,
			 const struct contents *contents, uint32_t content, void *buffer,
			 size_t size, uint64_t offset)
{
	struct source source;
	int64_t got;
	int ret = begin_source(run, tree, contents, content, &source);

	if (ret < 0)
		return ret;
	got = dw_source_read_at(&source, buffer, size, offset);
	dw_source_end(&source);
	return got;
}

int64_t dw_source_peek(struct build_run *run, const struct tree *tree,
		       const struct contents *contents, uint32_t content, void *buffer,
		       size_t size, uint64_t offset)
{
	const struct kept *kept = find_kept(run->sources, content);
	int64_t got;

	if (kept && kept->slab) {
		if (offset >= kept->size)
			return 0;
		if (size > kept->size - offset)
			size = (size_t)(kept->size - offset);
		memcpy(buffer, kept->slab->data + kept->offset + offset, size);
		return (int64_t)size;
	}
	if (!run->sources)
		return read_once(run, tree, contents, content, buffer, size, offset);
	dw_descriptor_users_enter(&run->sources->descriptor_users);
	got = read_once(run, tree, contents, content, buffer, size, offset);
	dw_descriptor_users_leave(&run->sources->descriptor_users);
	return got;
}
