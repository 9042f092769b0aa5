/* SPDX-License-Identifier: MIT */
/*
 * write/tree/path_cursor: paths of successive entries of a tree.
 */
#include <string.h>

#include "write/tree/path_cursor.h"

#define COMPARED_BYTES 64 /* at a time */

/* -- paths of entries ---------------------------------------------------------------- */

void dw_path_cursor_free(struct path_cursor *cursor)
{
	dw_free(cursor->steps);
	dw_buffer_free(&cursor->path);
	*cursor = (struct path_cursor){ 0 };
}

static size_t cursor_end(const struct path_cursor *cursor)
{
	return cursor->count ? cursor->steps[cursor->count - 1].end : 0;
}

/*
 * Remove the steps that are not ancestors of an entry; returns the number of entries from
 * the last ancestor down to it. Parents have smaller numbers than their children, so both
 * chains are walked in parallel.
 */
static size_t drop_steps(struct path_cursor *cursor, const struct tree *tree,
			 uint32_t entry)
{
	size_t below = 0;

	for (; entry != 0; entry = tree->entries[entry].parent) {
		while (cursor->count > 0 &&
		       cursor->steps[cursor->count - 1].entry > entry)
			cursor->count--;
		if (cursor->count > 0 && cursor->steps[cursor->count - 1].entry == entry)
			return below;
		below++;
	}
	cursor->count = 0;
	return below;
}

static int append_entry_name(struct path_cursor *cursor, const struct tree *tree,
			     struct path_cursor_step *step, dwarfs_error **err)
{
	struct span name =
		dw_string_set_at(&tree->names, tree->entries[step->entry].name);
	int ret;

	if (cursor->path.size > 0 &&
	    (ret = dw_buffer_append(&cursor->path, "/", 1, err)) < 0)
		return ret;
	if ((ret = dw_buffer_append(&cursor->path, name.data, name.size, err)) < 0)
		return ret;
	step->end = cursor->path.size;
	return 0;
}

int dw_path_cursor_go(struct path_cursor *cursor, const struct tree *tree, uint32_t entry,
		      dwarfs_error **err)
{
	size_t below = drop_steps(cursor, tree, entry), first = cursor->count;
	int ret = dw_grow(&cursor->steps, &cursor->room, first + below, err);

	if (ret < 0)
		return ret;
	for (size_t i = first + below; i > first; entry = tree->entries[entry].parent)
		cursor->steps[--i].entry = entry;
	cursor->path.size = cursor_end(cursor);
	for (size_t i = first; i < first + below; i++) {
		if ((ret = append_entry_name(cursor, tree, &cursor->steps[i], err)) < 0)
			return ret;
		cursor->count++;
	}
	if ((ret = dw_buffer_append(&cursor->path, "", 1, err)) < 0)
		return ret;
	cursor->path.size--;
	return 0;
}

/* -- nodes of paths ------------------------------------------------------------------ */

void dw_path_stack_free(struct path_stack *stack)
{
	dw_free(stack->steps);
	dw_buffer_free(&stack->path);
	*stack = (struct path_stack){ 0 };
}

static size_t common_bytes(struct span a, struct span b)
{
	size_t size = a.size < b.size ? a.size : b.size, at = 0;

	while (size - at >= COMPARED_BYTES &&
	       memcmp(a.data + at, b.data + at, COMPARED_BYTES) == 0)
		at += COMPARED_BYTES;
	while (at < size && a.data[at] == b.data[at])
		at++;
	return at;
}

size_t dw_path_stack_common(const struct path_stack *stack, struct span path)
{
	struct span known = { stack->path.data, 0 };
	size_t from = 0, to = stack->count, common;

	if (stack->count == 0)
		return 0;
	known.size = stack->steps[stack->count - 1].end;
	common = common_bytes(known, path);
	while (from < to) {
		size_t middle = from + (to - from) / 2, end = stack->steps[middle].end;

		/* Each end but the last is followed by a slash. */
		if (end < common ||
		    (end == common && end < path.size && path.data[end] == '/'))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

int dw_path_stack_add(struct path_stack *stack, size_t after, struct span path,
		      size_t end, uint32_t node, dwarfs_error **err)
{
	size_t known = after ? stack->steps[after - 1].end : 0;
	int ret;

	stack->count = after;
	stack->path.size = known;
	if ((ret = dw_grow(&stack->steps, &stack->room, after + 1, err)) < 0 ||
	    (ret = dw_buffer_append(&stack->path, path.data + known, end - known, err)) <
		    0)
		return ret;
	stack->steps[stack->count++] = (struct path_stack_step){ end, node };
	return 0;
}
