/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/sibling_ranks: ranks by path, with similar directories merged.
 *
 * Several releases of a program, the logs of several days and the directories of a hundred
 * packages are sibling directories with the same names in them. These are merged name by
 * name, recursively: all versions of a file become adjacent, and everything else keeps
 * its position by path. Without similar directories this is the order by path.
 *
 * Takes the tree and fingerprints by minhash, gives a rank for each entry.
 */
#include <string.h>

#include "write/order/order.h"

/* Directories are similar if children of equal names have 1/SIMILAR_SHARE of the bytes
 * below both. */
#define SIMILAR_SHARE 2

/* Limits of a comparison: files, directories. Contents are similar if SIMILAR_SLOTS slots
 * of their fingerprints are equal. */
#define COMPARED_FILES	     128
#define COMPARED_DIRECTORIES 64
#define SIMILAR_SLOTS	     4

/* Directories that share a name among this many of their heaviest children are compared.
 */
#define HEAVY_NAMES 4

/* An entry of one of the merged directories. */
struct merged_entry {
	uint32_t name; /* its place among all names */
	uint32_t entry;
	uint32_t place;	    /* among the items before they are sorted */
	uint32_t directory; /* its number, or DW_NONE */
	uint32_t class; /* of a directory: the first item of those it is merged with */
	uint32_t next;	/* the next of them, or DW_NONE */
};

/* Merged directories whose items are being ranked. */
struct merge_level {
	struct merged_entry *items;
	size_t count, next;
};

struct merge {
	bool only_names; /* directories with equal names are similar, whatever their contents */
	const struct tree *tree;
	const struct contents *contents;
	uint32_t *directory_of; /* of each entry, or DW_NONE */
	uint32_t *name_ranks;	/* of each name, by its bytes */
	uint32_t *weights;	/* of each entry: files and directories at and below it */
	uint32_t *ranks;
	uint32_t next_rank;
	struct merge_level *stack;
	size_t depth, room;
};

static void free_merge(struct merge *merge)
{
	dw_free(merge->directory_of);
	dw_free(merge->name_ranks);
	dw_free(merge->weights);
	dw_free(merge->ranks);
	while (merge->depth > 0)
		dw_free(merge->stack[--merge->depth].items);
	dw_free(merge->stack);
}

/* -- what is known of the tree ------------------------------------------------------ */

static int compare_names(const void *left, const void *right, void *user)
{
	struct span a = dw_string_set_at(user, *(const uint32_t *)left);
	struct span b = dw_string_set_at(user, *(const uint32_t *)right);

	return dw_span_compare(a, b);
}

static int rank_names(struct merge *merge, dwarfs_error **err)
{
	const struct string_set *names = &merge->tree->names;
	auto_free uint32_t *sorted = dw_calloc(names->count, sizeof(*sorted));

	merge->name_ranks = dw_calloc(names->count, sizeof(*merge->name_ranks));
	if (!sorted || !merge->name_ranks)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < names->count; i++)
		sorted[i] = (uint32_t)i;
	if (names->count > 1)
		qsort_r(sorted, names->count, sizeof(sorted[0]), compare_names,
			(void *)names);
	for (size_t i = 0; i < names->count; i++)
		merge->name_ranks[sorted[i]] = (uint32_t)i;
	return 0;
}

/* A directory precedes the entries below it. */
static int sum_weights(struct merge *merge, dwarfs_error **err)
{
	const struct tree *tree = merge->tree;

	merge->weights = dw_calloc(tree->entry_count, sizeof(*merge->weights));
	if (!merge->weights)
		return dw_fail_nomem(err);
	for (size_t i = tree->entry_count; i-- > 1;) {
		merge->weights[i]++;
		merge->weights[tree->entries[i].parent] += merge->weights[i];
	}
	return 0;
}

/* -- similar directories ------------------------------------------------------------ */

static uint32_t name_of(const struct merge *merge, uint32_t entry)
{
	return merge->name_ranks[merge->tree->entries[entry].name];
}

/* Walks the children of two directories by name; each is sorted by it. */
struct child_pairs {
	const struct merge *merge;
	uint32_t a, a_end, b, b_end;
};

static struct child_pairs begin_child_pairs(const struct merge *merge, uint32_t left,
					    uint32_t right)
{
	const struct tree *tree = merge->tree;

	return (struct child_pairs){
		.merge = merge,
		.a = tree->directories[left].first_entry,
		.a_end = dw_tree_last_entry(tree, left),
		.b = tree->directories[right].first_entry,
		.b_end = dw_tree_last_entry(tree, right),
	};
}

/* The next name, and the entries that have it, or DW_NONE. False at the end of both. */
static bool next_child_pair(struct child_pairs *children, uint32_t *left, uint32_t *right)
{
	uint32_t a = children->a < children->a_end ? name_of(children->merge, children->a)
						   : DW_NONE;
	uint32_t b = children->b < children->b_end ? name_of(children->merge, children->b)
						   : DW_NONE;

	*left = *right = DW_NONE;
	if (a == DW_NONE && b == DW_NONE)
		return false;
	if (a <= b)
		*left = children->a++;
	if (b <= a)
		*right = children->b++;
	return true;
}

/* Whether the names of the children are similar; each counts by its weight. */
static bool names_are_similar(const struct merge *merge, uint32_t left, uint32_t right)
{
	struct child_pairs children = begin_child_pairs(merge, left, right);
	uint64_t common = 0, all = 0;
	uint32_t a, b;

	while (next_child_pair(&children, &a, &b)) {
		uint32_t a_weight = a == DW_NONE ? 0 : merge->weights[a];
		uint32_t b_weight = b == DW_NONE ? 0 : merge->weights[b];

		common += a_weight < b_weight ? a_weight : b_weight;
		all += a_weight > b_weight ? a_weight : b_weight;
	}
	return common > 0 && common >= all / SIMILAR_SHARE;
}

/* Bytes of files of the same name that were compared. */
struct compared {
	uint64_t all, similar;
	unsigned files;
};

static void compare_files(const struct merge *merge, uint32_t left, uint32_t right,
			  struct compared *compared)
{
	const struct tree *tree = merge->tree;
	const struct fingerprint *prints = merge->contents->fingerprints;
	const struct tree_inode *a = &tree->inodes[tree->entries[left].inode];
	const struct tree_inode *b = &tree->inodes[tree->entries[right].inode];
	uint64_t bytes = a->size < b->size ? a->size : b->size;

	if (a->content == DW_NONE || b->content == DW_NONE || bytes == 0)
		return;
	compared->files++;
	compared->all += bytes;
	if (a->content == b->content ||
	    (prints && dw_minhash_common(&prints[a->content], &prints[b->content]) >=
			       SIMILAR_SLOTS))
		compared->similar += bytes;
}

/* Whether files of equal names are similar, tested on the first of them. */
static bool contents_are_similar(const struct merge *merge, uint32_t left, uint32_t right)
{
	uint32_t pairs[COMPARED_DIRECTORIES][2] = { { left, right } };
	size_t count = 1;
	struct compared compared = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct child_pairs children =
			begin_child_pairs(merge, pairs[i][0], pairs[i][1]);
		uint32_t a, b;

		while (compared.files < COMPARED_FILES &&
		       next_child_pair(&children, &a, &b)) {
			if (a == DW_NONE || b == DW_NONE)
				continue;
			if (merge->directory_of[a] == DW_NONE &&
			    merge->directory_of[b] == DW_NONE)
				compare_files(merge, a, b, &compared);
			else if (merge->directory_of[a] != DW_NONE &&
				 merge->directory_of[b] != DW_NONE &&
				 count < COMPARED_DIRECTORIES) {
				pairs[count][0] = merge->directory_of[a];
				pairs[count++][1] = merge->directory_of[b];
			}
		}
	}
	return compared.similar > 0 && compared.similar >= compared.all / SIMILAR_SHARE;
}

static bool are_similar(const struct merge *merge, uint32_t left, uint32_t right)
{
	return names_are_similar(merge, left, right) &&
	       (merge->only_names || contents_are_similar(merge, left, right));
}

/* A name that the directory of an item has among its heaviest. */
struct heavy_name {
	uint32_t name, weight, item;
};

static int compare_heavy_names(const void *left, const void *right)
{
	const struct heavy_name *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

/* Keep the heaviest HEAVY_NAMES, of equals the first. Returns how many there are. */
static size_t find_heavy(const struct merge *merge, uint32_t directory, uint32_t item,
			 struct heavy_name *heavy_names)
{
	const struct tree *tree = merge->tree;
	uint32_t end = dw_tree_last_entry(tree, directory);
	size_t count = 0;

	for (uint32_t i = tree->directories[directory].first_entry; i < end; i++) {
		uint32_t weight = merge->weights[i];
		size_t at = count;

		while (at > 0 && heavy_names[at - 1].weight < weight)
			at--;
		if (at == HEAVY_NAMES)
			continue;
		if (count < HEAVY_NAMES)
			count++;
		memmove(&heavy_names[at + 1], &heavy_names[at],
			(count - at - 1) * sizeof(heavy_names[0]));
		heavy_names[at] = (struct heavy_name){ name_of(merge, i), weight, item };
	}
	return count;
}

static uint32_t find_class(struct merged_entry *items, uint32_t item)
{
	while (items[item].class != item) {
		items[item].class = items[items[item].class].class;
		item = items[item].class;
	}
	return item;
}

static void join_classes(struct merged_entry *items, uint32_t a, uint32_t b)
{
	a = find_class(items, a);
	b = find_class(items, b);
	if (a < b)
		items[b].class = a;
	else
		items[a].class = b;
}

/* Each is compared with its neighbour only, for each of its heaviest names. */
static int join_similar(const struct merge *merge, struct merged_entry *items,
			size_t count, size_t classes, dwarfs_error **err)
{
	auto_free struct heavy_name *heavy_names =
		dw_calloc(classes * HEAVY_NAMES, sizeof(*heavy_names));
	size_t heavy_count = 0;

	if (!heavy_names)
		return dw_fail_nomem(err);
	for (uint32_t i = 0; i < count; i++)
		if (items[i].directory != DW_NONE && items[i].class == i)
			heavy_count += find_heavy(merge, items[i].directory, i,
						  &heavy_names[heavy_count]);
	if (heavy_count > 1)
		qsort(heavy_names, heavy_count, sizeof(heavy_names[0]),
		      compare_heavy_names);
	for (size_t i = 1; i < heavy_count; i++) {
		uint32_t a = heavy_names[i - 1].item, b = heavy_names[i].item;

		if (heavy_names[i - 1].name == heavy_names[i].name &&
		    find_class(items, a) != find_class(items, b) &&
		    are_similar(merge, items[a].directory, items[b].directory))
			join_classes(items, a, b);
	}
	return 0;
}

/* Give each directory its class: that of the same name, then that of similar directories. */
static int classify(const struct merge *merge, struct merged_entry *items, size_t count,
		    dwarfs_error **err)
{
	size_t classes = 0;
	int ret;

	for (uint32_t i = 0; i < count; i++) {
		items[i].class = i;
		items[i].next = DW_NONE;
		if (items[i].directory == DW_NONE)
			continue;
		if (i > 0 && items[i - 1].directory != DW_NONE &&
		    items[i - 1].name == items[i].name)
			items[i].class = items[i - 1].class;
		else
			classes++;
	}
	if (classes > 1 && (ret = join_similar(merge, items, count, classes, err)) < 0)
		return ret;
	for (size_t i = count; i-- > 0;) {
		uint32_t class = find_class(items, (uint32_t)i);

		items[i].class = class;
		if (class == i)
			continue;
		items[i].next = items[class].next;
		items[class].next = (uint32_t)i;
	}
	return 0;
}

/* -- ranks -------------------------------------------------------------------------- */

static int compare_merged_entries(const void *left, const void *right)
{
	const struct merged_entry *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	/* Directories of equal names are neighbours. */
	if ((a->directory == DW_NONE) != (b->directory == DW_NONE))
		return a->directory == DW_NONE ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* Begin with the children of a directory and of those it is merged with. */
static int push_children(struct merge *merge, const struct merged_entry *from,
			 uint32_t class, dwarfs_error **err)
{
	const struct tree *tree = merge->tree;
	auto_free struct merged_entry *items = NULL;
	size_t count = 0;
	int ret;

	for (uint32_t i = class; i != DW_NONE; i = from[i].next)
		count += dw_tree_last_entry(tree, from[i].directory) -
			 tree->directories[from[i].directory].first_entry;
	if (!(items = dw_calloc(count, sizeof(*items))))
		return dw_fail_nomem(err);
	count = 0;
	for (uint32_t i = class; i != DW_NONE; i = from[i].next) {
		uint32_t end = dw_tree_last_entry(tree, from[i].directory);

		for (uint32_t e = tree->directories[from[i].directory].first_entry;
		     e < end; e++, count++)
			items[count] = (struct merged_entry){
				.name = name_of(merge, e),
				.entry = e,
				.place = (uint32_t)count,
				.directory = merge->directory_of[e],
			};
	}
	if (from[class].next != DW_NONE && count > 1)
		qsort(items, count, sizeof(items[0]), compare_merged_entries);
	if ((ret = classify(merge, items, count, err)) < 0 ||
	    (ret = dw_grow(&merge->stack, &merge->room, merge->depth + 1, err)) < 0)
		return ret;
	merge->stack[merge->depth++] = (struct merge_level){ dw_steal(items), count, 0 };
	return 0;
}

static int rank_all(struct merge *merge, dwarfs_error **err)
{
	struct merged_entry root = { .directory = merge->directory_of[0],
				     .next = DW_NONE };
	int ret;

	merge->ranks[0] = merge->next_rank++;
	if ((ret = push_children(merge, &root, 0, err)) < 0)
		return ret;
	while (merge->depth > 0) {
		struct merge_level *merge_level = &merge->stack[merge->depth - 1];
		size_t at = merge_level->next++;
		struct merged_entry *item = &merge_level->items[at];

		if (at == merge_level->count) {
			dw_free(merge_level->items);
			merge->depth--;
			continue;
		}
		merge->ranks[item->entry] = merge->next_rank++;
		if (item->directory != DW_NONE && item->class == at &&
		    (ret = push_children(merge, merge_level->items, (uint32_t)at, err)) <
			    0)
			return ret;
	}
	return 0;
}

int dw_order_sibling_ranks(const struct order_input *input, bool only_names,
			   uint32_t **ranks_out, dwarfs_error **err)
{
	const struct tree *tree = input->tree;
	__attribute__((cleanup(free_merge))) struct merge merge = {
		.only_names = only_names,
		.tree = tree,
		.contents = input->contents,
	};
	int ret;

	if ((ret = dw_order_directories(tree, &merge.directory_of, err)) < 0 ||
	    (ret = rank_names(&merge, err)) < 0 || (ret = sum_weights(&merge, err)) < 0)
		return ret;
	if (!(merge.ranks = dw_calloc(tree->entry_count, sizeof(*merge.ranks))))
		return dw_fail_nomem(err);
	if ((ret = rank_all(&merge, err)) < 0)
		return ret;
	*ranks_out = dw_steal(merge.ranks);
	return 0;
}
