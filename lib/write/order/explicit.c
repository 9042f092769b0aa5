/* SPDX-License-Identifier: MIT */
/*
 * write/order/explicit: in the order of a list; files that are not listed follow by path.
 *
 * The list is read when the option is set. Contents are ordered by the first of their
 * names in the list.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/dir.h"
#include "base/read_line.h"
#include "write/order/order.h"

/* -- the list ----------------------------------------------------------------------- */

static void close_list(FILE **list)
{
	if (*list)
		fclose(*list);
}

static int read_list(const char *name, struct order_spec *spec, dwarfs_error **err)
{
	__attribute__((cleanup(close_list))) FILE *list = fopen(name, "re");
	auto_free char *line = NULL;
	size_t capacity = 0, room = 0;
	ssize_t length;
	int ret;

	if (!list)
		return dw_fail_errno(err, errno,
				     "failed to open explicit order file '%s'", name);
	while (errno = 0, (length = dw_read_line(&line, &capacity, list)) >= 0) {
		if (length > 0 && line[length - 1] == '\n')
			line[--length] = '\0';
		if (length == 0)
			continue;
		if ((ret = dw_grow(&spec->paths, &room, spec->path_count + 1, err)) < 0)
			return ret;
		if (!(spec->paths[spec->path_count] = dw_strdup(line)))
			return dw_fail_nomem(err);
		spec->path_count++;
	}
	if (ferror(list) || errno == ENOMEM)
		return dw_fail_errno(err, errno,
				     "failed to read explicit order file '%s'", name);
	return 0;
}

static int parse_explicit(const char *options, struct order_spec *spec,
			  dwarfs_error **err)
{
	static const char file[] = "file=";

	if (!options || strncmp(options, file, strlen(file)) != 0 ||
	    options[strlen(file)] == '\0')
		return dw_fail(
			err, DWARFS_ERR_INVALID,
			"invalid inode order mode: explicit%s%s: file=NAME is missing",
			options ? ":" : "", options ? options : "");
	return read_list(options + strlen(file), spec, err);
}

/* -- paths in the tree --------------------------------------------------------------- */

/* Children are sorted by name. */
static uint32_t find_child(const struct tree *tree, uint32_t directory, struct span name)
{
	uint32_t from = tree->directories[directory].first_entry;
	uint32_t to = dw_tree_last_entry(tree, directory);

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		int order = dw_span_compare(
			dw_string_set_at(&tree->names, tree->entries[middle].name), name);

		if (order == 0)
			return middle;
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return DW_NONE;
}

/* The entry of a path below the root, or DW_NONE. */
static uint32_t find_path_entry(const struct tree *tree, const uint32_t *directory_of,
				const char *path)
{
	uint32_t entry = 0;

	while (*path) {
		size_t length = strcspn(path, "/");

		if (length > 0 && !(length == 1 && path[0] == '.')) {
			if (directory_of[entry] == DW_NONE)
				return DW_NONE;
			entry = find_child(
				tree, directory_of[entry],
				(struct span){ (const uint8_t *)path, length });
			if (entry == DW_NONE)
				return DW_NONE;
		}
		path += length + (path[length] == '/');
	}
	return entry;
}

/* The part of a path after the root; NULL if it is not below the root. */
static const char *below(const char *root, const char *path)
{
	size_t length = root ? strlen(root) : 0;

	while (length > 0 && root[length - 1] == '/')
		length--;
	if (!root || strncmp(path, root, length) != 0 || path[length] != '/')
		return NULL;
	return path + length + 1;
}

/* -- the order ---------------------------------------------------------------------- */

/* Such as one whose paths begin with the name of the input. An input has several streams. */
static void tell_useless(struct build_run *run, const struct order_spec *spec)
{
	if (spec->path_count == 0 || run->useless_order == spec)
		return;
	run->useless_order = spec;
	dw_log(run->context, DWARFS_LOG_WARN,
	       "no path of the explicit order is in the input; the first one is '%s'",
	       spec->paths[0]);
}

static int sort_explicit(const struct order_input *input, uint32_t *numbers, size_t count,
			 dwarfs_error **err)
{
	const struct order_spec *spec = input->spec;
	const struct tree *tree = input->tree;
	auto_free char *root = dw_real_path(input->run->root_path);
	auto_free uint32_t *directory_of = NULL;
	auto_free uint32_t *ranks = NULL;
	bool is_useless = true;
	int ret;

	if (!root && errno == ENOMEM)
		return dw_fail_nomem(err);
	if ((ret = dw_order_path_ranks(tree, &ranks, err)) < 0 ||
	    (ret = dw_order_directories(tree, &directory_of, err)) < 0)
		return ret;
	for (size_t i = 0; i < tree->entry_count; i++)
		ranks[i] = spec->path_count < DW_NONE - ranks[i]
				   ? (uint32_t)spec->path_count + ranks[i]
				   : DW_NONE;
	/* The first line that names some contents comes last, and counts. */
	for (size_t i = spec->path_count; i-- > 0;) {
		const char *path = spec->paths[i];
		uint32_t entry, content;

		if (path[0] == '/' && !(path = below(root, spec->paths[i])) &&
		    !(path = below(input->run->root_path, spec->paths[i])))
			continue;
		entry = find_path_entry(tree, directory_of, path);
		if (entry == DW_NONE)
			continue;
		is_useless = false;
		content = tree->inodes[tree->entries[entry].inode].content;
		if (content != DW_NONE)
			ranks[tree->inodes[input->contents->list[content].inode].entry] =
				(uint32_t)i;
	}
	if (is_useless)
		tell_useless(input->run, spec);
	return dw_order_by_rank(input, ranks, numbers, count, err);
}

const struct order_ops dw_order_explicit = {
	.name = "explicit",
	.parse = parse_explicit,
	.sort = sort_explicit,
};
