/* SPDX-License-Identifier: MIT */
/*
 * build/trail: paths that are near the last one.
 */
#include <string.h>

#include "build/trail.h"

#define COMPARED_BYTES 64 /* at a time */

/* -- paths of entries ---------------------------------------------------------------- */

void dw_trail_free(struct trail *trail)
{
	free(trail->steps);
	dw_buffer_free(&trail->path);
	*trail = (struct trail){ 0 };
}

static size_t end_of(const struct trail *trail)
{
	return trail->count ? trail->steps[trail->count - 1].end : 0;
}

/*
 * Leave the steps that are not above an entry; the number of entries from there down to
 * it. Parents have smaller numbers, so both ways up are walked side by side; where that
 * were not so, more steps would be left than need be.
 */
static size_t turn_back(struct trail *trail, const struct tree *tree, uint32_t entry)
{
	size_t below = 0;

	for (; entry != 0; entry = tree->entries[entry].parent) {
		while (trail->count > 0 && trail->steps[trail->count - 1].entry > entry)
			trail->count--;
		if (trail->count > 0 && trail->steps[trail->count - 1].entry == entry)
			return below;
		below++;
	}
	trail->count = 0;
	return below;
}

static int append_name(struct trail *trail, const struct tree *tree,
		       struct trail_step *step, dwarfs_error **err)
{
	struct span name = dw_texts_at(&tree->names, tree->entries[step->entry].name);
	int ret;

	if (trail->path.size > 0 &&
	    (ret = dw_buffer_append(&trail->path, "/", 1, err)) < 0)
		return ret;
	if ((ret = dw_buffer_append(&trail->path, name.data, name.size, err)) < 0)
		return ret;
	step->end = trail->path.size;
	return 0;
}

int dw_trail_go(struct trail *trail, const struct tree *tree, uint32_t entry,
		dwarfs_error **err)
{
	size_t below = turn_back(trail, tree, entry), first = trail->count;
	int ret = dw_grow(&trail->steps, &trail->room, first + below, err);

	if (ret < 0)
		return ret;
	for (size_t i = first + below; i > first; entry = tree->entries[entry].parent)
		trail->steps[--i].entry = entry;
	trail->path.size = end_of(trail);
	for (size_t i = first; i < first + below; i++) {
		if ((ret = append_name(trail, tree, &trail->steps[i], err)) < 0)
			return ret;
		trail->count++;
	}
	if ((ret = dw_buffer_append(&trail->path, "", 1, err)) < 0)
		return ret;
	trail->path.size--;
	return 0;
}

/* -- nodes of paths ------------------------------------------------------------------ */

void dw_way_free(struct way *way)
{
	free(way->steps);
	dw_buffer_free(&way->path);
	*way = (struct way){ 0 };
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

size_t dw_way_common(const struct way *way, struct span path)
{
	struct span known = { way->path.data, 0 };
	size_t from = 0, to = way->count, common;

	if (way->count == 0)
		return 0;
	known.size = way->steps[way->count - 1].end;
	common = common_bytes(known, path);
	while (from < to) {
		size_t middle = from + (to - from) / 2, end = way->steps[middle].end;

		/* Each end but the last has a slash behind it. */
		if (end < common ||
		    (end == common && end < path.size && path.data[end] == '/'))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

int dw_way_add(struct way *way, size_t after, struct span path, size_t end, uint32_t node,
	       dwarfs_error **err)
{
	size_t known = after ? way->steps[after - 1].end : 0;
	int ret;

	way->count = after;
	way->path.size = known;
	if ((ret = dw_grow(&way->steps, &way->room, after + 1, err)) < 0 ||
	    (ret = dw_buffer_append(&way->path, path.data + known, end - known, err)) < 0)
		return ret;
	way->steps[way->count++] = (struct way_step){ end, node };
	return 0;
}
