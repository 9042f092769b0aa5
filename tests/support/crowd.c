/* SPDX-License-Identifier: MIT */
/*
 * crowd: see crowd.h.
 */
#include <stdio.h>

#include "format/freeze.h"
#include "support/crowd.h"

#define ENTRIES	   (1 + CROWD_DIRS + CROWD_FILES)
#define NAME_BYTES 8

struct tree {
	struct freeze_chunk chunks[CROWD_FILES];
	uint32_t chunk_table[CROWD_FILES + 1], lengths[CROWD_DIRS + CROWD_FILES];
	struct freeze_directory directories[CROWD_DIRS + 2];
	struct freeze_entry entries[ENTRIES];
	struct freeze_inode inodes[ENTRIES];
	struct span names[CROWD_DIRS + CROWD_FILES];
	char text[(CROWD_DIRS + CROWD_FILES) * NAME_BYTES + 1];
	struct freeze_metadata metadata;
};

static const uint32_t modes[] = { 0040755, 0100644 }, owners[] = { 7 };

static void name_all(struct tree *tree)
{
	for (uint32_t i = 0; i < CROWD_DIRS + CROWD_FILES; i++) {
		char *name = tree->text + (size_t)i * NAME_BYTES;

		snprintf(name, NAME_BYTES + 1, "%c%07u", i < CROWD_DIRS ? 'd' : 'f', i);
		tree->names[i] = (struct span){ (const uint8_t *)name, NAME_BYTES };
		tree->lengths[i] = NAME_BYTES;
	}
}

/* Directory 0 has all others, and those have the files. */
static void number_all(struct tree *tree)
{
	for (uint32_t i = 0; i < CROWD_DIRS; i++)
		tree->entries[1 + i] = (struct freeze_entry){ i, 1 + i };
	for (uint32_t i = 0; i < CROWD_FILES; i++) {
		tree->entries[1 + CROWD_DIRS + i] =
			(struct freeze_entry){ CROWD_DIRS + i, 1 + CROWD_DIRS + i };
		tree->inodes[1 + CROWD_DIRS + i].mode_index = 1;
		tree->inodes[1 + CROWD_DIRS + i].mtime_offset = i;
		tree->chunks[i] = (struct freeze_chunk){ 0, i % 500, 1 + i % 500 };
		tree->chunk_table[i] = i;
	}
	tree->chunk_table[CROWD_FILES] = CROWD_FILES;
	tree->directories[0].first_entry = 1;
	for (uint32_t i = 0; i <= CROWD_DIRS; i++)
		tree->directories[1 + i].first_entry =
			1 + CROWD_DIRS + i * CROWD_FILES_OF_ONE;
}

static void pack(struct tree *tree)
{
	struct freeze_metadata *metadata = &tree->metadata;

	for (uint32_t i = CROWD_FILES; i > 0; i--)
		tree->chunk_table[i] -= tree->chunk_table[i - 1];
	for (uint32_t i = CROWD_DIRS + 1; i > 0; i--)
		tree->directories[i].first_entry -= tree->directories[i - 1].first_entry;
	metadata->options.packed_chunk_table = true;
	metadata->options.packed_directories = true;
	metadata->names = (struct freeze_table){ 0 };
	metadata->has_compact_names = true;
	metadata->compact_names = (struct freeze_string_table){
		.buffer = { (const uint8_t *)tree->text, strlen(tree->text) },
		.index = { tree->lengths, CROWD_DIRS + CROWD_FILES },
		.packed_index = true,
	};
}

static struct tree *tree_new(bool is_packed)
{
	struct tree *tree = dw_calloc(1, sizeof(*tree));

	assert_non_null(tree);
	name_all(tree);
	number_all(tree);
	tree->metadata = (struct freeze_metadata){
		.chunks = { tree->chunks, CROWD_FILES },
		.directories = { tree->directories, CROWD_DIRS + 2 },
		.inodes = { tree->inodes, ENTRIES },
		.chunk_table = { tree->chunk_table, CROWD_FILES + 1 },
		.uids = { owners, 1 },
		.gids = { owners, 1 },
		.modes = { modes, 2 },
		.names = { tree->names, CROWD_DIRS + CROWD_FILES },
		.block_size = 1024,
		.has_options = true,
		.options = { .mtime_only = true, .inodes_have_nlink = true },
		.has_dir_entries = true,
		.dir_entries = { tree->entries, ENTRIES },
	};
	if (is_packed)
		pack(tree);
	return tree;
}

void crowd_craft(struct craft *craft, bool is_packed)
{
	auto_free struct tree *tree = tree_new(is_packed);

	craft_metadata(craft, &tree->metadata);
}
