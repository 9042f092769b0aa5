/* SPDX-License-Identifier: MIT */
/*
 * write/order/callback: let a callback of the program order the files of a stream. See
 * <dwarfs/builder.h>.
 */
#include <string.h>

#include "write/categorize/categorize.h"
#include "write/order/order.h"

/* The fragments of one file in this stream, ordered by the first of them. */
struct listed_file {
	uint64_t rank, size;
	uint32_t entry;
	uint32_t position;
};

struct dwarfs_order_list {
	const struct tree *tree;
	const char *category;
	struct listed_file *files;
	size_t count;
	struct buffer path; /* has room for the longest */
};

size_t dwarfs_order_list_count(const dwarfs_order_list *list)
{
	if (!list)
		return 0;
	return list->count;
}

const char *dwarfs_order_list_category(const dwarfs_order_list *list)
{
	if (!list)
		return NULL;
	return list->category;
}

const char *dwarfs_order_list_path(dwarfs_order_list *list, size_t index)
{
	if (!list)
		return NULL;
	if (index >= list->count ||
	    dw_tree_path(list->tree, list->files[index].entry, &list->path, NULL) < 0)
		return NULL;
	return (const char *)list->path.data;
}

uint64_t dwarfs_order_list_bytes(const dwarfs_order_list *list, size_t index)
{
	if (!list)
		return 0;
	return index < list->count ? list->files[index].size : 0;
}

void dwarfs_order_list_set_rank(dwarfs_order_list *list, size_t index, uint64_t rank)
{
	if (!list)
		return;
	if (index < list->count)
		list->files[index].rank = rank;
}

static void free_list(dwarfs_order_list *list)
{
	dw_free(list->files);
	dw_buffer_free(&list->path);
}

/* The number of a fragment's file in the list, + 1, is kept for each of the contents. */
static int list_stream_files(const struct order_input *input, const uint32_t *numbers,
			     size_t count, dwarfs_order_list *list, uint32_t *file_of,
			     dwarfs_error **err)
{
	const struct contents *contents = input->contents;

	for (size_t i = 0; i < count; i++) {
		const struct fragment *fragment = &contents->fragments[numbers[i]];
		uint32_t entry = dw_order_entry(input, numbers[i]);
		int ret;

		if (file_of[fragment->content] != 0) {
			list->files[file_of[fragment->content] - 1].size +=
				fragment->size;
			continue;
		}
		/* Makes room in the path for later. */
		if ((ret = dw_tree_path(input->tree, entry, &list->path, err)) < 0)
			return ret;
		list->files[list->count] = (struct listed_file){
			.rank = UINT64_MAX,
			.size = fragment->size,
			.entry = entry,
			.position = (uint32_t)list->count,
		};
		file_of[fragment->content] = (uint32_t)++list->count;
	}
	return 0;
}

static int compare_listed(const void *left, const void *right)
{
	const struct listed_file *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

int dw_order_by_callback(const struct order_input *input, uint32_t *numbers, size_t count,
			 dwarfs_error **err)
{
	const struct build_options *options = input->run->options;
	const struct contents *contents = input->contents;
	__attribute__((cleanup(free_list))) dwarfs_order_list list = {
		.tree = input->tree,
		.files = dw_calloc(count, sizeof(*list.files)),
	};
	auto_free uint32_t *file_of = dw_calloc(contents->count, sizeof(*file_of));
	auto_free uint32_t *ranks = dw_calloc(input->tree->entry_count, sizeof(*ranks));
	auto_error dwarfs_error *why = NULL;
	uint32_t stream;
	int ret;

	if (count == 0)
		return 0;
	if (!list.files || !file_of || !ranks)
		return dw_fail_nomem(err);
	stream = contents->fragments[numbers[0]].stream;
	list.category = dw_category_name(&options->categorize,
					 contents->streams.list[stream].category);
	if ((ret = list_stream_files(input, numbers, count, &list, file_of, err)) < 0)
		return ret;
	ret = options->order_callback(&list, &why, options->order_callback_user);
	if (ret != 0)
		return dw_callback_fail(ret, &why, err);
	qsort(list.files, list.count, sizeof(list.files[0]), compare_listed);
	for (size_t i = 0; i < list.count; i++)
		ranks[list.files[i].entry] = (uint32_t)i;
	return dw_order_by_rank(input, ranks, numbers, count, err);
}
