/* SPDX-License-Identifier: MIT */
/*
 * write/input/directory_cache: open directories of the input.
 */
#include <errno.h>
#include <string.h>

#include "os/file_io.h"
#include "write/input/directory_cache.h"

/* The path to a directory is worth a descriptor when it is longer than this, or when the
 * directory is asked for twice in a row. */
#define LONG_PATH_BYTES 512

/* Beyond this, a directory so many levels above is opened on the way. */
#define FAR_BYTES   2048
#define STEP_LEVELS 128

void dw_directory_cache_init(struct directory_cache *folders, int root_fd, const struct tree *tree,
		     uint32_t slot_count)
{
	*folders = (struct directory_cache){
		.root_fd = root_fd,
		.tree = tree,
		.slot_count = slot_count,
		.last = DW_NONE,
	};
}

void dw_directory_cache_free(struct directory_cache *folders)
{
	for (uint32_t i = 0; i < folders->slot_count; i++)
		dw_cached_directory_release(folders->slots[i].folder);
	dw_buffer_free(&folders->path);
	*folders = (struct directory_cache){ 0 };
}

struct cached_directory *dw_cached_directory_share(struct cached_directory *folder)
{
	if (folder)
		atomic_fetch_add(&folder->users, 1);
	return folder;
}

void dw_cached_directory_release(struct cached_directory *folder)
{
	if (!folder || atomic_fetch_sub(&folder->users, 1) > 1)
		return;
	dw_fd_close(folder->fd);
	free(folder);
}

static struct cached_directory *find(const struct directory_cache *folders, uint32_t entry)
{
	uint32_t slot = entry & (folders->slot_count - 1);

	return folders->slots[slot].entry == entry ? folders->slots[slot].folder : NULL;
}

/* As dw_directory_cache_above(), with what is open already. */
static int find_above(struct directory_cache *folders, uint32_t entry, struct cached_directory **folder_out,
		      const char **path_out, dwarfs_error **err)
{
	const struct tree *tree = folders->tree;
	struct cached_directory *above = NULL;
	uint32_t top = entry;
	size_t at = 0;
	int ret;

	do {
		at += dw_string_set_at(&tree->names, tree->entries[top].name).size + 1;
		top = tree->entries[top].parent;
	} while (top != 0 && !(above = find(folders, top)));
	folders->path.size = 0;
	if ((ret = dw_buffer_reserve(&folders->path, at, err)) < 0)
		return ret;
	folders->path.size = at;
	folders->path.data[--at] = '\0';
	for (uint32_t e = entry; e != top; e = tree->entries[e].parent) {
		struct span name = dw_string_set_at(&tree->names, tree->entries[e].name);

		at -= name.size;
		memcpy(folders->path.data + at, name.data, name.size);
		if (at > 0)
			folders->path.data[--at] = '/';
	}
	*folder_out = above;
	*path_out = (const char *)folders->path.data;
	return 0;
}

int dw_directory_cache_keep(struct directory_cache *folders, uint32_t entry, int fd, dwarfs_error **err)
{
	struct cached_directory *folder = dw_calloc(1, sizeof(*folder));
	uint32_t slot = entry & (folders->slot_count - 1);

	if (!folder) {
		dw_fd_close(fd);
		return dw_fail_nomem(err);
	}
	atomic_init(&folder->users, 1);
	folder->fd = fd;
	dw_cached_directory_release(folders->slots[slot].folder);
	folders->slots[slot].folder = folder;
	folders->slots[slot].entry = entry;
	return 0;
}

/* Where there are no more descriptors, what is below may still be opened without. */
static int open_directory(struct directory_cache *folders, uint32_t entry)
{
	struct cached_directory *above;
	const char *path;
	int fd, ret;

	if (find_above(folders, entry, &above, &path, NULL) < 0)
		return -ENOMEM;
	ret = dw_dir_pass_at(above ? above->fd : folders->root_fd, path, &fd);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	return dw_directory_cache_keep(folders, entry, fd, NULL) < 0 ? -ENOMEM : 0;
}

/* Others with a long way to go are often near, so one directory on it stays open. */
static int open_on_the_way(struct directory_cache *folders, uint32_t entry)
{
	for (int i = 0; i < STEP_LEVELS && entry != 0; i++)
		entry = folders->tree->entries[entry].parent;
	return entry == 0 ? 0 : open_directory(folders, entry);
}

int dw_directory_cache_above(struct directory_cache *folders, uint32_t entry, struct cached_directory **folder_out,
		     const char **path_out, dwarfs_error **err)
{
	int ret = find_above(folders, entry, folder_out, path_out, err);

	if (ret < 0 || folders->path.size <= FAR_BYTES)
		return ret;
	if (open_on_the_way(folders, entry) < 0)
		return dw_fail_nomem(err);
	return find_above(folders, entry, folder_out, path_out, err);
}

int dw_directory_cache_open_file(struct directory_cache *folders, uint32_t entry, int *fd_out)
{
	uint32_t directory = folders->tree->entries[entry].parent;
	struct cached_directory *above;
	const char *path;
	int ret;

	if (dw_directory_cache_above(folders, entry, &above, &path, NULL) < 0)
		return -ENOMEM;
	if (directory != 0 && find(folders, directory) == NULL &&
	    (directory == folders->last || folders->path.size > LONG_PATH_BYTES)) {
		if ((ret = open_directory(folders, directory)) < 0)
			return ret;
		if (dw_directory_cache_above(folders, entry, &above, &path, NULL) < 0)
			return -ENOMEM;
	}
	folders->last = directory;
	return dw_open_at(above ? above->fd : folders->root_fd, path, fd_out);
}
