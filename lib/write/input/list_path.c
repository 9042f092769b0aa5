/* SPDX-License-Identifier: MIT */
/*
 * write/input/list_path: a path of an input list -> the path below the input directory.
 *
 * Compares names and directories only; does not check that the path exists.
 */
#include <string.h>

#include "os/dir.h"
#include "write/input/list_path.h"

void dw_list_root_free(struct list_root *root)
{
	dw_buffer_free(&root->found);
}

struct span dw_list_next_name(const char **path)
{
	struct span name = { 0 };

	while (name.size == 0 && **path) {
		while (**path == '/')
			++*path;
		name.data = (const uint8_t *)*path;
		while (**path && **path != '/')
			++*path;
		name.size = (size_t)((const uint8_t *)*path - name.data);
		if (name.size == 1 && *name.data == '.')
			name.size = 0;
	}
	return name;
}

static bool same(struct span a, struct span b)
{
	return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static bool climbs(const char *path)
{
	struct span name;

	while ((name = dw_list_next_name(&path)).size > 0)
		if (name.size == 2 && memcmp(name.data, "..", 2) == 0)
			return true;
	return false;
}

/* The part of a path after a root; NULL if the path is not below it, or if the rest
 * contains "..". */
static const char *after(const char *path, const char *root)
{
	struct span name;

	if (*root != '/')
		return NULL;
	while ((name = dw_list_next_name(&root)).size > 0)
		if (!same(name, dw_list_next_name(&path)))
			return NULL;
	return climbs(path) ? NULL : path;
}

/* Find the shortest prefix of an absolute path that is the input directory, and remember
 * it. */
static int find_root(struct list_root *root, const char *path, dwarfs_error **err)
{
	struct span name;
	const char *end = path;
	int ret;

	do {
		size_t bytes = end == path ? 1 : (size_t)(end - path);

		name = dw_list_next_name(&end);
		if (name.size > 0 && climbs((const char *)name.data))
			continue;
		root->found.size = 0;
		if ((ret = dw_buffer_append(&root->found, path, bytes, err)) < 0 ||
		    (ret = dw_buffer_append(&root->found, "", 1, err)) < 0)
			return ret;
		if (dw_dir_is(root->fd, (const char *)root->found.data))
			return 1;
	} while (name.size > 0);
	root->found.size = 0;
	return 0;
}

int dw_list_path_below(struct list_root *root, const char **path, dwarfs_error **err)
{
	const char *rest;
	int ret;

	if (**path != '/')
		return !climbs(*path);
	rest = after(*path, root->path);
	if (!rest && root->found.size > 0)
		rest = after(*path, (const char *)root->found.data);
	if (!rest) {
		if ((ret = find_root(root, *path, err)) <= 0)
			return ret;
		rest = after(*path, (const char *)root->found.data);
	}
	*path = rest;
	return 1;
}
