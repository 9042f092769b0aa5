/* SPDX-License-Identifier: MIT */
/*
 * model: metadata of a directory with many files, plain or packed, valid or invalid.
 */
#include <stdio.h>

#include "format/freeze.h"
#include "support/model.h"

#define TABLE(array, items)                                                              \
	{                                                                                \
		(array), (items)                                                         \
	}
#define UNIQUE (FILES - 4) /* the last four share two contents */
#define CHUNKS (LONG_CHUNKS + FILES - 3)

/* The unfrozen metadata: "/", "/dir", and its files. */
struct model {
	struct freeze_chunk chunks[CHUNKS];
	uint32_t chunk_table[UNIQUE + 3], shared[4], lengths[FILES + 2];
	struct freeze_directory directories[3];
	struct freeze_entry entries[FILES + 2];
	struct freeze_inode inodes[FILES + 2];
	struct span names[FILES + 1];
	char text[(FILES + 1) * NAME_BYTES];
	struct freeze_pair64 size;
	struct freeze_metadata metadata;
};

static const uint32_t modes[] = { 0040755, 0100644 }, owners[] = { 7 };

static void pack(struct model *model)
{
	struct freeze_metadata *metadata = &model->metadata;

	for (int i = UNIQUE + 2; i > 0; i--)
		model->chunk_table[i] -= model->chunk_table[i - 1];
	for (int i = 2; i > 0; i--)
		model->directories[i].first_entry -=
			model->directories[i - 1].first_entry;
	for (int i = 0; i < 3; i++)
		model->directories[i].parent_entry = model->directories[i].self_entry = 0;
	model->shared[0] = model->shared[1] = 0; /* two more than none */
	metadata->shared_files_table = (struct freeze_table)TABLE(model->shared, 2);
	metadata->options.packed_chunk_table = true;
	metadata->options.packed_directories = true;
	metadata->options.packed_shared_files_table = true;
	for (int i = 0; i <= FILES; i++)
		model->lengths[i] = (uint32_t)model->names[i].size;
	metadata->names = (struct freeze_table){ 0 };
	metadata->has_compact_names = true;
	metadata->compact_names = (struct freeze_string_table){
		.buffer = { (const uint8_t *)model->text, strlen(model->text) },
		.index = TABLE(model->lengths, FILES + 1),
		.packed_index = true,
	};
}

struct model *model_new(bool is_packed)
{
	struct model *model = dw_calloc(1, sizeof(*model));
	uint32_t at = 0, chunk = 0;

	assert_non_null(model);
	for (uint32_t i = 0; i <= FILES; i++) {
		/* Sorted by bytes, of several lengths. */
		int size = i ? snprintf(model->text + at, NAME_BYTES, "n%05u%.*s", i * 7,
					(int)(i % 4), "xxx")
			     : snprintf(model->text, NAME_BYTES, "dir");

		model->names[i] =
			(struct span){ (uint8_t *)model->text + at, (size_t)size };
		at += (uint32_t)size;
	}
	for (uint32_t i = 0; i < UNIQUE + 2; i++) {
		model->chunk_table[i] = chunk;
		for (uint32_t n = i == 0 ? LONG_CHUNKS : 1; n > 0; n--, chunk++)
			model->chunks[chunk] =
				(struct freeze_chunk){ 0, chunk % 500, 1 + chunk % 300 };
	}
	model->chunk_table[UNIQUE + 2] = chunk;
	model->shared[2] = model->shared[3] = 1;
	model->directories[0] = (struct freeze_directory){ 0, 1, 0 };
	model->directories[1] = (struct freeze_directory){ 0, 2, 1 };
	model->directories[2] = (struct freeze_directory){ 0, FILES + 2, 0 };
	model->entries[1] = (struct freeze_entry){ 0, 1 };
	for (uint32_t i = 1; i <= FILES; i++) {
		model->entries[i + 1] = (struct freeze_entry){ i, i + 1 };
		model->inodes[i + 1].mode_index = 1;
		model->inodes[i + 1].mtime_offset = i;
	}
	model->metadata = (struct freeze_metadata){
		.chunks = TABLE(model->chunks, chunk),
		.directories = TABLE(model->directories, 3),
		.inodes = TABLE(model->inodes, FILES + 2),
		.chunk_table = TABLE(model->chunk_table, UNIQUE + 3),
		.uids = TABLE(owners, 1),
		.gids = TABLE(owners, 1),
		.modes = TABLE(modes, 2),
		.names = TABLE(model->names, FILES + 1),
		.block_size = 1024,
		.has_options = true,
		.options = { .mtime_only = true, .inodes_have_nlink = true },
		.has_dir_entries = true,
		.dir_entries = TABLE(model->entries, FILES + 2),
		.has_shared_files_table = true,
		.shared_files_table = TABLE(model->shared, 4),
	};
	if (is_packed)
		pack(model);
	return model;
}

void model_free(struct model *model)
{
	dw_free(model);
}

void model_craft(const struct model *model, struct craft *craft)
{
	craft_metadata(craft, &model->metadata);
}

struct span model_name(const struct model *model, uint32_t file)
{
	return model->names[model->entries[file + 2].name_index];
}

void model_break(struct model *model, enum model_break what)
{
	switch (what) {
	case BREAK_DIRECTORIES:
		model->directories[1].first_entry += 5;
		break;
	case BREAK_CHUNK_TABLE:
		model->chunk_table[9] += 5;
		break;
	case BREAK_SHARED:
		model->shared[0] += 1;
		break;
	case BREAK_NAMES:
		model->lengths[5] += 1;
		break;
	case BREAK_PLACES_MORE:
		model->metadata.chunk_table.count += 2;
		break;
	case BREAK_PLACES_LESS:
		model->metadata.chunk_table.count = 2;
		break;
	}
}

void model_mix(struct model *model)
{
	for (int i = 0, k = FILES; i < k; i++, k--) {
		struct span name = model->names[i];

		model->names[i] = model->names[k];
		model->names[k] = name;
	}
	for (int i = 1; i < FILES + 2; i++)
		model->entries[i].name_index = FILES - model->entries[i].name_index;
}

void model_reverse(struct model *model, uint32_t files)
{
	for (uint32_t i = 2, k = files + 1; i < k; i++, k--) {
		uint32_t name = model->entries[i].name_index;

		model->entries[i].name_index = model->entries[k].name_index;
		model->entries[k].name_index = name;
	}
}

void model_store_size(struct model *model, uint64_t bytes, uint64_t min_chunks)
{
	model->size = (struct freeze_pair64){ 0, bytes };
	model->metadata.has_reg_file_size_cache = true;
	model->metadata.reg_file_size_cache = (struct freeze_size_cache){
		.size_lookup = TABLE(&model->size, 1),
		.min_chunk_count = min_chunks,
	};
}
