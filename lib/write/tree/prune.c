/* SPDX-License-Identifier: MIT */
/*
 * write/tree/prune: remove empty directories from a tree.
 *
 * The other entries keep their order. Entries and inodes are renumbered, and unused names
 * are removed.
 */
#include "write/tree/tree.h"

struct pruning {
	struct tree *tree;
	uint32_t *entry_of; /* new numbers of old entries, DW_NONE: removed */
	uint32_t *inode_of; /* likewise */
};

static void free_pruning(struct pruning *pruning)
{
	dw_free(pruning->entry_of);
	dw_free(pruning->inode_of);
}

/* Directories come after their parents, so this goes backward. */
static void mark_empty(struct pruning *pruning)
{
	struct tree *tree = pruning->tree;

	for (size_t i = tree->directory_count; i-- > 1;) {
		const struct tree_directory *directory = &tree->directories[i];
		uint32_t last = dw_tree_last_entry(tree, i), entry;

		for (entry = directory->first_entry; entry < last; entry++)
			if (pruning->entry_of[entry] != DW_NONE)
				break;
		if (entry < last)
			continue;
		pruning->entry_of[directory->entry] = DW_NONE;
		pruning->inode_of[tree->entries[directory->entry].inode] = DW_NONE;
	}
}

static void renumber(uint32_t *numbers, size_t count)
{
	uint32_t next = 0;

	for (size_t i = 0; i < count; i++)
		if (numbers[i] != DW_NONE)
			numbers[i] = next++;
}

static int move_entries(struct pruning *pruning, dwarfs_error **err)
{
	struct tree *tree = pruning->tree;
	struct string_set names = { 0 };
	size_t kept = 0;
	int ret = 0;

	for (size_t i = 0; i < tree->entry_count && ret == 0; i++) {
		struct tree_entry entry = tree->entries[i];

		if (pruning->entry_of[i] == DW_NONE)
			continue;
		if (i > 0)
			ret = dw_string_set_add(
				&names, dw_string_set_at(&tree->names, entry.name),
				&entry.name, err);
		entry.parent = pruning->entry_of[entry.parent];
		entry.inode = pruning->inode_of[entry.inode];
		tree->entries[kept++] = entry;
	}
	dw_string_set_free(&tree->names);
	tree->names = names;
	tree->entry_count = kept;
	return ret;
}

static void move_inodes(struct pruning *pruning)
{
	struct tree *tree = pruning->tree;
	size_t kept = 0;

	for (size_t i = 0; i < tree->inode_count; i++) {
		if (pruning->inode_of[i] == DW_NONE)
			continue;
		if (tree->times)
			tree->times[kept] = tree->times[i];
		tree->inodes[kept] = tree->inodes[i];
		tree->inodes[kept].entry = pruning->entry_of[tree->inodes[i].entry];
		kept++;
	}
	tree->inode_count = kept;
}

/* The new number of each directory's first entry, or of the one after it. */
static void move_directories(struct pruning *pruning, size_t old_entry_count)
{
	struct tree *tree = pruning->tree;
	size_t kept = 0;
	uint32_t entry = 0, next = 0;

	for (size_t i = 0; i < tree->directory_count; i++) {
		struct tree_directory directory = tree->directories[i];

		for (; entry < directory.first_entry && entry < old_entry_count; entry++)
			next += pruning->entry_of[entry] != DW_NONE;
		if (pruning->entry_of[directory.entry] == DW_NONE)
			continue;
		tree->directories[kept++] = (struct tree_directory){
			pruning->entry_of[directory.entry],
			next,
		};
	}
	tree->directory_count = kept;
}

int dw_tree_prune(struct tree *tree, dwarfs_error **err)
{
	__attribute__((cleanup(free_pruning))) struct pruning pruning = {
		.tree = tree,
		.entry_of = dw_calloc(tree->entry_count, sizeof(uint32_t)),
		.inode_of = dw_calloc(tree->inode_count, sizeof(uint32_t)),
	};
	size_t entry_count = tree->entry_count;
	int ret;

	if (!pruning.entry_of || !pruning.inode_of)
		return dw_fail_nomem(err);
	mark_empty(&pruning);
	renumber(pruning.entry_of, tree->entry_count);
	renumber(pruning.inode_of, tree->inode_count);
	if ((ret = move_entries(&pruning, err)) < 0)
		return ret;
	move_inodes(&pruning);
	move_directories(&pruning, entry_count);
	return 0;
}
