/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/opened_files: write down which files were opened, in the order in which that happened
 * first. The list is one of paths, a line each, as "mkdwarfs --hotness-list" takes it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dwarfs/mount.h"

struct opened {
	const dwarfs_image *image;
	FILE *file;
	char *path;
	pthread_mutex_t lock;
	uint32_t *places; /* by inode: its position in the order, from 1; 0: not opened */
	uint32_t count;
};

static void opened_free(struct opened *opened)
{
	if (opened->file)
		fclose(opened->file);
	free(opened->places);
	free(opened->path);
	pthread_mutex_destroy(&opened->lock);
	free(opened);
}

int opened_new(const dwarfs_image *image, const char *path, struct opened **opened_out)
{
	struct opened *opened = calloc(1, sizeof(*opened));

	if (!opened)
		return tool_error("out of memory");
	pthread_mutex_init(&opened->lock, NULL);
	opened->image = image;
	opened->path = strdup(path);
	opened->places = calloc(dwarfs_image_inode_count(image), sizeof(*opened->places));
	if (!opened->path || !opened->places) {
		opened_free(opened);
		return tool_error("out of memory");
	}
	/* Now, since later errors are not visible, and the working directory differs.
	 */
	opened->file = fopen(path, "we");
	if (!opened->file) {
		tool_error("-o analysis_file: cannot write '%s': %s", path,
			   strerror(errno));
		opened_free(opened);
		return 1;
	}
	*opened_out = opened;
	return 0;
}

void opened_note(struct opened *opened, dwarfs_inode inode)
{
	if (inode.number >= dwarfs_image_inode_count(opened->image))
		return;
	pthread_mutex_lock(&opened->lock);
	if (opened->places[inode.number] == 0)
		opened->places[inode.number] = ++opened->count;
	pthread_mutex_unlock(&opened->lock);
}

/* The first path of each file that was opened, by its position. */
static int find_paths(struct opened *opened, char **paths, dwarfs_error **err)
{
	auto_handle(dwarfs_walk) *walk = NULL;
	dwarfs_entry entry;
	int ret = dwarfs_walk_new(opened->image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE,
				  &walk, err);

	while (ret == 0 && (ret = dwarfs_walk_next(walk, &entry, err)) > 0) {
		dwarfs_inode inode;
		uint32_t place;

		if ((ret = dwarfs_entry_inode(opened->image, entry, &inode, err)) < 0)
			break;
		place = opened->places[inode.number];
		if (place != 0 && !paths[place - 1])
			paths[place - 1] = strdup(dwarfs_walk_path(walk));
	}
	return ret;
}

void opened_finish(struct opened *opened)
{
	auto_handle(dwarfs_error) *err = NULL;
	char **paths;

	if (!opened)
		return;
	paths = calloc(opened->count + 1, sizeof(*paths));
	if (!paths)
		tool_error("out of memory");
	else if (find_paths(opened, paths, &err) < 0)
		tool_fail(err, "writing '%s'", opened->path);
	for (uint32_t i = 0; paths && i < opened->count; i++) {
		if (paths[i])
			fprintf(opened->file, "%s\n", paths[i]);
		free(paths[i]);
	}
	free(paths);
	if (ferror(opened->file) || fflush(opened->file) != 0)
		tool_error("writing '%s': %s", opened->path, strerror(errno));
	opened_free(opened);
}
