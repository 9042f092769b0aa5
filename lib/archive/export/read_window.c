/* SPDX-License-Identifier: MIT */
/*
 * archive/export/read_window: visit the entries in order, and decompress contents ahead.
 *
 * Entries are grouped into windows by the total size of their files. While one window is
 * written, the workers of the context decompress the blocks of the next one into the
 * cache, so that adjacent parts of files are decompressed once.
 */
#include <string.h>
#include <sys/stat.h>

#include "archive/export/export.h"
#include "base/context.h"
#include "pool/pool.h"

#define MOST_ITEMS 4096
#define WAIT_NS	   50000000

struct windows {
	struct export_run *run;
	dwarfs_walk *walk;
	struct window list[2]; /* the one that is written, and the next */
	struct pool *pool;
	bool is_end;
	bool is_begun;	 /* there was an entry */
	bool is_lenient; /* the walk is in tree order, and skips damaged entries */
};

static void release(struct window *window)
{
	dw_free(window->items);
	dw_free(window->files);
	dw_buffer_free(&window->paths);
}

/* -- gathering ----------------------------------------------------------------------- */

static int start_walk(struct windows *windows, int order, dwarfs_error **err)
{
	dwarfs_walk_free(windows->walk);
	windows->walk = NULL;
	windows->is_lenient = order == DWARFS_WALK_TREE;
	return dwarfs_walk_new(windows->run->image, DWARFS_ROOT_ENTRY, order,
			       &windows->walk, err);
}

/* A walk in data order needs intact entries; if some are damaged, the order is that of
 * the tree. Damage was reported when entries were selected, or will be when they are
 * read. */
static int next_window_entry(struct windows *windows, dwarfs_entry *entry_out,
			     dwarfs_error **err)
{
	uint64_t left = dwarfs_image_entry_count(windows->run->image);
	int ret = 0;

	for (; ret == 0; left--) {
		auto_error dwarfs_error *why = NULL;

		ret = dwarfs_walk_next(windows->walk, entry_out, &why);
		windows->is_begun |= ret > 0;
		if (ret >= 0)
			return ret;
		if (ret == DWARFS_ERR_NOMEM || left == 0 ||
		    windows->is_begun != windows->is_lenient)
			return dw_error_copy(err, ret, why);
		ret = windows->is_lenient ? 0
					  : start_walk(windows, DWARFS_WALK_TREE, err);
	}
	return ret;
}

/* Files that are read piece by piece are not for the cache. */
static int add_window_file(struct export_run *run, struct window *window,
			   dwarfs_inode inode, dwarfs_error **err)
{
	uint64_t bytes = dwarfs_stat_bytes(run->stat);
	int ret;

	if (window->file_count > 0 &&
	    window->files[window->file_count - 1].number == inode.number)
		return 0;
	if (bytes == 0 || bytes > run->window_bytes || run->is_list ||
	    (run->first_paths && run->first_paths[inode.number]))
		return 0;
	ret = dw_grow(&window->files, &window->file_room, window->file_count + 1, err);
	if (ret < 0)
		return ret;
	window->files[window->file_count++] = inode;
	window->bytes += bytes;
	return 0;
}

static int add_window_item(struct windows *windows, struct window *window,
			   dwarfs_entry entry, dwarfs_error **err)
{
	const char *path = dwarfs_walk_path(windows->walk);
	struct export_run *run = windows->run;
	struct export_item item = { .entry = entry, .path = window->paths.size };
	int ret = dwarfs_entry_stat(run->image, entry, run->stat, err);

	if (ret < 0)
		return ret;
	item.inode = dwarfs_stat_inode(run->stat);
	item.is_file = S_ISREG(dwarfs_stat_mode(run->stat));
	if ((ret = dw_grow(&window->items, &window->room, window->count + 1, err)) < 0 ||
	    (ret = dw_buffer_append(&window->paths, path, strlen(path) + 1, err)) < 0)
		return ret;
	window->items[window->count++] = item;
	return item.is_file ? add_window_file(run, window, item.inode, err) : 0;
}

static int gather(struct windows *windows, struct window *window, dwarfs_error **err)
{
	struct export_run *run = windows->run;
	dwarfs_entry entry;
	int ret = 1, added = 0;

	window->count = window->file_count = window->paths.size = 0;
	window->bytes = 0;
	while (added == 0 && window->count < MOST_ITEMS &&
	       window->bytes < run->window_bytes) {
		if ((ret = next_window_entry(windows, &entry, err)) <= 0)
			break;
		if (dw_export_takes(&run->selection, entry))
			added = add_window_item(windows, window, entry, err);
	}
	windows->is_end = ret == 0;
	if (added < 0)
		return added;
	return ret < 0 ? ret : 0;
}

/* -- decoding ahead ------------------------------------------------------------------ */

/* An error in a file is reported when the file is read. */
static int fetch(void *shared, void *worker, void *job, dwarfs_error **err)
{
	struct windows *windows = shared;
	struct window *window = job;
	auto_error dwarfs_error *why = NULL;
	int ret = dwarfs_prefetch(windows->run->image, window->files, window->file_count,
				  &why);

	return ret == DWARFS_ERR_NOMEM ? dw_fail_nomem(err) : 0;
}

static int set_ready(void *shared, void *job, dwarfs_error **err)
{
	((struct window *)job)->is_ready = true;
	return 0;
}

static int begin_window(struct windows *windows, struct window *window,
			dwarfs_error **err)
{
	window->is_ready = window->file_count == 0;
	return window->is_ready ? 0 : dw_pool_submit(windows->pool, window, err);
}

static int await(struct windows *windows, const struct window *window, dwarfs_error **err)
{
	int ret = 0;

	while (!window->is_ready && ret == 0) {
		if ((ret = dw_pool_poll(windows->pool, err)) < 0 || window->is_ready)
			break;
		dw_pool_wait(windows->pool, WAIT_NS);
		ret = dw_progress_tick(&windows->run->progress, err);
	}
	return ret;
}

/* -- the story ----------------------------------------------------------------------- */

static int write_items(struct windows *windows, struct window *window,
		       int (*write)(struct export_run *run,
				    const struct export_item *item, const char *path,
				    dwarfs_error **err),
		       dwarfs_error **err)
{
	struct export_run *run = windows->run;
	int ret = await(windows, window, err);

	for (size_t i = 0; i < window->count && ret == 0; i++) {
		const struct export_item *item = &window->items[i];
		const char *path = (const char *)window->paths.data + item->path;

		ret = write(run, item, *path ? path : ".", err);
		if (ret == 0)
			ret = dw_progress_tick(&run->progress, err);
	}
	return ret;
}

static int go(struct windows *windows,
	      int (*write)(struct export_run *run, const struct export_item *item,
			   const char *path, dwarfs_error **err),
	      dwarfs_error **err)
{
	struct window *now = &windows->list[0], *next = &windows->list[1], *other;
	int ret;

	if ((ret = gather(windows, now, err)) < 0 ||
	    (ret = begin_window(windows, now, err)) < 0)
		return ret;
	while (now->count > 0 && !windows->run->is_left) {
		next->count = 0;
		/* Only one is fetched at a time. */
		if ((ret = await(windows, now, err)) < 0 ||
		    (!windows->is_end && (ret = gather(windows, next, err)) < 0) ||
		    (next->count > 0 && (ret = begin_window(windows, next, err)) < 0) ||
		    (ret = write_items(windows, now, write, err)) < 0)
			return ret;
		other = now;
		now = next;
		next = other;
	}
	return 0;
}

int dw_export_windows(struct export_run *run,
		      int (*write)(struct export_run *run, const struct export_item *item,
				   const char *path, dwarfs_error **err),
		      dwarfs_error **err)
{
	static const struct pool_ops ops = { .run = fetch, .done = set_ready };
	uint32_t workers = dw_context_workers(dwarfs_image_context(run->image));
	struct windows windows = { .run = run };
	int ret = start_walk(
		&windows, run->is_damaged ? DWARFS_WALK_TREE : run->export->order, err);

	if (ret == 0)
		ret = dw_pool_new(&ops, &windows, workers > 0, 2, &windows.pool, err);
	if (ret == 0)
		ret = go(&windows, write, err);
	dw_pool_free(windows.pool);
	dwarfs_walk_free(windows.walk);
	release(&windows.list[0]);
	release(&windows.list[1]);
	return ret;
}
