/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/metadata: tree, contents and chunks -> METADATA and SCHEMA sections.
 *
 * struct tables (tables.h) is filled in five steps, each in a file of its own, then
 * frozen by format/freeze. Single-threaded; opens no file. The tree is unchanged except
 * for the inode numbers.
 */
#include <stdio.h>
#include <string.h>

#include "write/items/assembly.h"
#include "write/metadata/tables.h"

void dw_tables_free(struct tables *tables)
{
	dw_free(tables->inode_of);
	dw_free(tables->files);
	dw_sorted_strings_free(&tables->names);
	dw_sorted_strings_free(&tables->targets);
	dw_string_table_free(&tables->name_table);
	dw_string_table_free(&tables->target_table);
	dw_number_set_free(&tables->uids);
	dw_number_set_free(&tables->gids);
	dw_number_set_free(&tables->modes);
	dw_free(tables->chunks);
	dw_free(tables->directories);
	dw_free(tables->inodes);
	dw_free(tables->entries);
	dw_free(tables->chunk_table);
	dw_free(tables->symlink_table);
	dw_free(tables->shared);
	dw_free(tables->devices);
	dw_free(tables->large_holes);
	dw_free(tables->sizes);
	dw_free(tables->allocated);
	dw_free(tables->category_names);
	dw_free(tables->category_metadata);
	dw_free(tables->block_categories);
	dw_free(tables->block_metadata);
	dw_free(tables->versions);
}
#define auto_tables __attribute__((cleanup(dw_tables_free)))

static void fill_options(struct tables *tables)
{
	const struct build_options *options = tables->options;
	struct freeze_metadata *out = &tables->out;

	out->has_options = true;
	out->options = (struct freeze_options){
		.mtime_only = !options->keep_all_times,
		.has_btime = options->keep_birth_times,
		.has_time_resolution_sec = tables->seconds_per_unit > 1,
		.time_resolution_sec = (uint32_t)tables->seconds_per_unit,
		.has_subsecond_multiplier = tables->ns_per_part != 0,
		.subsecond_multiplier = tables->ns_per_part,
		.packed_chunk_table = tables->packing.chunk_table,
		.packed_directories = tables->packing.directories,
		.packed_shared_files_table = tables->packing.shared_files,
		.inodes_have_nlink = options->hardlink_table,
	};
}

static void fill_facts(struct tables *tables, const char *version)
{
	const struct metadata_input *in = tables->in;
	struct freeze_metadata *out = &tables->out;

	out->block_size = UINT32_C(1) << tables->options->block_bits;
	out->has_dwarfs_version = true;
	out->dwarfs_version = (struct span){ (const uint8_t *)version, strlen(version) };
	out->has_create_timestamp = in->has_create_timestamp;
	out->create_timestamp = in->create_timestamp;
	out->has_preferred_path_separator = true;
	out->preferred_path_separator = '/';
}

static struct freeze_history_entry entry_of(const struct source_version *version)
{
	const char *text = version->dwarfs_version;

	return (struct freeze_history_entry){
		.major = version->major,
		.minor = version->minor,
		.dwarfs_version = { (const uint8_t *)text, text ? strlen(text) : 0 },
		.has_dwarfs_version = text != NULL,
		.has_options = version->has_options,
		.block_size = version->block_size,
		.options = {
			.mtime_only = version->mtime_only,
			.has_time_resolution_sec = version->has_time_resolution_sec,
			.packed_chunk_table = version->packed_chunk_table,
			.packed_directories = version->packed_directories,
			.packed_shared_files_table = version->packed_shared_files_table,
			.has_subsecond_multiplier = version->has_subsecond_multiplier,
			.has_btime = version->has_btime,
			.inodes_have_nlink = version->inodes_have_nlink,
			.time_resolution_sec = version->time_resolution_sec,
			.subsecond_multiplier = version->subsecond_multiplier,
		},
	};
}

/* What made the metadata of the images that this one comes from. */
static int fill_versions(struct tables *tables, dwarfs_error **err)
{
	const struct assembly *assembly = tables->in->run->assembly;
	size_t count = 0;

	if (!assembly || !tables->options->version_history)
		return 0;
	for (size_t i = 0; i < assembly->image_count; i++)
		count += assembly->images[i]->version_count;
	if (count == 0)
		return 0;
	if (!(tables->versions = dw_calloc(count, sizeof(*tables->versions))))
		return dw_fail_nomem(err);
	tables->out.has_metadata_version_history = true;
	tables->out.metadata_version_history =
		(struct freeze_table){ tables->versions, count };
	count = 0;
	for (size_t i = 0; i < assembly->image_count; i++)
		for (size_t j = 0; j < assembly->images[i]->version_count; j++)
			tables->versions[count++] =
				entry_of(&assembly->images[i]->versions[j]);
	return 0;
}

static void choose_resolution(struct tables *tables)
{
	uint64_t resolution = tables->options->resolution_ns;

	tables->seconds_per_unit =
		resolution >= DW_NS_PER_SECOND ? resolution / DW_NS_PER_SECOND : 1;
	tables->ns_per_part = resolution < DW_NS_PER_SECOND ? (uint32_t)resolution : 0;
}

static int fill_tables(struct tables *tables, dwarfs_error **err)
{
	static int (*const steps[])(struct tables * tables, dwarfs_error * *err) = {
		dw_tables_number,
		dw_tables_fill_inodes,
		dw_tables_fill_entries,
		dw_tables_fill_files,
		dw_tables_fill_block_categories,
		fill_versions,
	};

	choose_resolution(tables);
	fill_options(tables);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int ret = steps[i](tables, err);

		if (ret < 0 ||
		    (ret = dw_progress_tick(&tables->in->run->progress, err)) < 0)
			return ret;
	}
	return 0;
}

int dw_metadata(const struct metadata_input *input, struct buffer *schema_out,
		struct buffer *data_out, dwarfs_error **err)
{
	auto_tables struct tables tables = {
		.in = input,
		.options = input->run->options,
		.packing = input->run->options->packing,
	};
	char version[64];
	int ret;

	/* Delta encoding of ascending lists compresses better. A reader must decode it,
	 * as it must decompress compressed metadata anyway. */
	if (tables.packing.is_auto && input->compressed)
		tables.packing.chunk_table = tables.packing.directories = true;
	if ((ret = fill_tables(&tables, err)) < 0)
		return ret;
	snprintf(version, sizeof(version), DW_WRITER_NAME "%s", dwarfs_version_string());
	fill_facts(&tables, version);
	return dw_freeze(&tables.out, input->compressed, schema_out, data_out, err);
}
