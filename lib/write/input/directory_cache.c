/* SPDX-License-Identifier: MIT */
/*
 * write/input/directory_cache: open directories of the input, by entry of the tree.
 *
 * A direct-mapped table of reference-counted descriptors. A path is opened relative to
 * the nearest ancestor in the table.
 */
#include <errno.h>
#include <string.h>

#include "os/file_io.h"
#include "write/input/directory_cache.h"

/* A directory is cached if its path is longer than this, or if two files in a row are in
 * it. */
#define LONG_PATH_BYTES 512

/* For a path longer than FAR_BYTES, cache an ancestor STEP_LEVELS above the entry,
 * too. */
#define FAR_BYTES   2048
#define STEP_LEVELS 128

void dw_directory_cache_init(struct directory_cache *cache, int root_fd,
			     const struct tree *tree, uint32_t slot_count)
{
	*cache = (struct directory_cache){
		.root_fd = root_fd,
		.tree = tree,
		.slot_count = slot_count,
		.last = DW_NONE,
	};
}

void dw_directory_cache_empty(struct directory_cache *cache)
{
	for (uint32_t i = 0; i < cache->slot_count; i++) {
		dw_cached_directory_release(cache->slots[i].directory);
		cache->slots[i].directory = NULL;
	}
}

void dw_directory_cache_free(struct directory_cache *cache)
{
	dw_directory_cache_empty(cache);
	dw_buffer_free(&cache->path);
	*cache = (struct directory_cache){ 0 };
}

struct cached_directory *dw_cached_directory_share(struct cached_directory *directory)
{
	if (directory)
		atomic_fetch_add(&directory->users, 1);
	return directory;
}

void dw_cached_directory_release(struct cached_directory *directory)
{
	if (!directory || atomic_fetch_sub(&directory->users, 1) > 1)
		return;
	dw_fd_close(directory->fd);
	dw_free(directory);
}

static struct cached_directory *find_cached(const struct directory_cache *cache,
					    uint32_t entry)
{
	uint32_t slot = entry & (cache->slot_count - 1);

	return cache->slots[slot].entry == entry ? cache->slots[slot].directory : NULL;
}

/* As dw_directory_cache_find_ancestor(), without opening a directory. */
static int find_open_ancestor(struct directory_cache *cache, uint32_t entry,
			      struct cached_directory **directory_out,
			      const char **path_out, dwarfs_error **err)
{
	const struct tree *tree = cache->tree;
	struct cached_directory *ancestor = NULL;
	uint32_t top = entry;
	size_t at = 0;
	int ret;

	do {
		at += dw_string_set_at(&tree->names, tree->entries[top].name).size + 1;
		top = tree->entries[top].parent;
	} while (top != 0 && !(ancestor = find_cached(cache, top)));
	cache->path.size = 0;
	if ((ret = dw_buffer_reserve(&cache->path, at, err)) < 0)
		return ret;
	cache->path.size = at;
	cache->path.data[--at] = '\0';
	for (uint32_t e = entry; e != top; e = tree->entries[e].parent) {
		struct span name = dw_string_set_at(&tree->names, tree->entries[e].name);

		at -= name.size;
		memcpy(cache->path.data + at, name.data, name.size);
		if (at > 0)
			cache->path.data[--at] = '/';
	}
	*directory_out = ancestor;
	*path_out = (const char *)cache->path.data;
	return 0;
}

int dw_directory_cache_keep(struct directory_cache *cache, uint32_t entry, int fd,
			    dwarfs_error **err)
{
	struct cached_directory *directory = dw_calloc(1, sizeof(*directory));
	uint32_t slot = entry & (cache->slot_count - 1);

	if (!directory) {
		dw_fd_close(fd);
		return dw_fail_nomem(err);
	}
	atomic_init(&directory->users, 1);
	directory->fd = fd;
	dw_cached_directory_release(cache->slots[slot].directory);
	cache->slots[slot].directory = directory;
	cache->slots[slot].entry = entry;
	return 0;
}

/* Failing to cache a directory is not an error: its files are opened by a longer path. */
static int open_into_cache(struct directory_cache *cache, uint32_t entry)
{
	struct cached_directory *ancestor;
	const char *path;
	int fd, ret;

	if (find_open_ancestor(cache, entry, &ancestor, &path, NULL) < 0)
		return -ENOMEM;
	ret = dw_dir_pass_at(ancestor ? ancestor->fd : cache->root_fd, path, &fd);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	return dw_directory_cache_keep(cache, entry, fd, NULL) < 0 ? -ENOMEM : 0;
}

/* Entries with long paths are often close together, so cache one directory above them. */
static int open_intermediate(struct directory_cache *cache, uint32_t entry)
{
	for (int i = 0; i < STEP_LEVELS && entry != 0; i++)
		entry = cache->tree->entries[entry].parent;
	return entry == 0 ? 0 : open_into_cache(cache, entry);
}

int dw_directory_cache_find_ancestor(struct directory_cache *cache, uint32_t entry,
				     struct cached_directory **directory_out,
				     const char **path_out, dwarfs_error **err)
{
	int ret = find_open_ancestor(cache, entry, directory_out, path_out, err);

	if (ret < 0 || cache->path.size <= FAR_BYTES)
		return ret;
	if (open_intermediate(cache, entry) < 0)
		return dw_fail_nomem(err);
	return find_open_ancestor(cache, entry, directory_out, path_out, err);
}

static int open_cached(struct directory_cache *cache, uint32_t entry, int *fd_out)
{
	uint32_t directory = cache->tree->entries[entry].parent;
	struct cached_directory *ancestor;
	const char *path;
	int ret;

	if (dw_directory_cache_find_ancestor(cache, entry, &ancestor, &path, NULL) < 0)
		return -ENOMEM;
	if (directory != 0 && find_cached(cache, directory) == NULL &&
	    (directory == cache->last || cache->path.size > LONG_PATH_BYTES)) {
		if ((ret = open_into_cache(cache, directory)) < 0)
			return ret;
		if (dw_directory_cache_find_ancestor(cache, entry, &ancestor, &path,
						     NULL) < 0)
			return -ENOMEM;
	}
	cache->last = directory;
	return dw_open_at(ancestor ? ancestor->fd : cache->root_fd, path, fd_out);
}

int dw_directory_cache_open_file(struct directory_cache *cache, uint32_t entry,
				 int *fd_out)
{
	struct cached_directory *ancestor;
	const char *path;
	int ret = open_cached(cache, entry, fd_out);

	if (!dw_fd_is_exhausted(-ret))
		return ret;
	/* By its whole path, which needs no other descriptor. */
	dw_directory_cache_empty(cache);
	if (find_open_ancestor(cache, entry, &ancestor, &path, NULL) < 0)
		return -ENOMEM;
	return dw_open_at(cache->root_fd, path, fd_out);
}
