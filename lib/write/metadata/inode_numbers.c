/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/inode_numbers: assign the inode numbers of the image.
 *
 * Classes follow each other: directories, links, files, devices, others. Files with
 * unshared contents come first among files, in storing order.
 */
#include "write/metadata/tables.h"

static bool is_shared(const struct tables *tables, const struct content *content)
{
	return tables->in->tree->inodes[content->inode].next != DW_NONE;
}

struct storing_position {
	uint64_t first_chunk;
	uint32_t number;
	bool shared;
};

static int compare_positions(const void *left, const void *right)
{
	const struct storing_position *a = left, *b = right;

	if (a->shared != b->shared)
		return a->shared ? 1 : -1;
	if (a->first_chunk != b->first_chunk)
		return a->first_chunk < b->first_chunk ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static uint64_t first_chunk(const struct contents *contents,
			    const struct content *content)
{
	if (content->fragment_count == 0)
		return 0;
	return contents->fragments[content->first_fragment].first_chunk;
}

/* Sort contents: unshared ones first, then shared ones, each in storing order. */
static int order_files(struct tables *tables, dwarfs_error **err)
{
	const struct contents *contents = tables->in->contents;
	auto_free struct storing_position *positions =
		dw_calloc(contents->count, sizeof(*positions));

	tables->files = dw_calloc(contents->count, sizeof(*tables->files));
	if (!positions || !tables->files)
		return dw_fail_nomem(err);
	tables->file_count = (uint32_t)contents->count;
	for (uint32_t i = 0; i < tables->file_count; i++)
		positions[i] = (struct storing_position){
			first_chunk(contents, &contents->list[i]),
			i,
			is_shared(tables, &contents->list[i]),
		};
	qsort(positions, contents->count, sizeof(positions[0]), compare_positions);
	for (uint32_t i = 0; i < tables->file_count; i++) {
		tables->files[i] = positions[i].number;
		tables->unique_count += !positions[i].shared;
	}
	return 0;
}

static void give_number(struct tables *tables, uint32_t inode, uint32_t *next)
{
	tables->in->tree->inodes[inode].number = *next;
	tables->inode_of[(*next)++] = inode;
}

static void number_class(struct tables *tables, int class, uint32_t *next)
{
	const struct tree *tree = tables->in->tree;

	tables->first[class] = *next;
	for (size_t i = 0; i < tree->inode_count; i++)
		if (dw_class_of_mode(tree->inodes[i].mode) == class)
			give_number(tables, (uint32_t)i, next);
}

static void number_directories(struct tables *tables, uint32_t *next)
{
	const struct tree *tree = tables->in->tree;

	for (size_t i = 0; i < tree->directory_count; i++)
		give_number(tables, tree->entries[tree->directories[i].entry].inode,
			    next);
}

static void number_files(struct tables *tables, uint32_t *next)
{
	const struct tree *tree = tables->in->tree;

	tables->first[CLASS_REG] = *next;
	for (uint32_t file_index = 0; file_index < tables->file_count; file_index++)
		for (uint32_t inode = dw_tables_content(tables, file_index)->inode;
		     inode != DW_NONE; inode = tree->inodes[inode].next)
			give_number(tables, inode, next);
}

int dw_tables_number(struct tables *tables, dwarfs_error **err)
{
	uint32_t next = 0;
	int ret = order_files(tables, err);

	if (ret < 0)
		return ret;
	tables->inode_of =
		dw_calloc(tables->in->tree->inode_count, sizeof(*tables->inode_of));
	if (!tables->inode_of)
		return dw_fail_nomem(err);
	number_directories(tables, &next);
	number_class(tables, CLASS_LNK, &next);
	number_files(tables, &next);
	number_class(tables, CLASS_DEV, &next);
	number_class(tables, CLASS_OTH, &next);
	tables->first[CLASS_COUNT] = next;
	return 0;
}
