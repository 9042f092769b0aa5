/* SPDX-License-Identifier: MIT */
/*
 * build/metadata: tree and chunks -> tables.
 *
 * Takes what the other stages found, numbers the inodes as the format wants them, fills
 * the tables and has them frozen. Opens no file.
 */
#include <stdio.h>

#include "base/bytes.h"
#include "build/metadata.h"
#include "build/strtab.h"
#include "format/metadata.h"

/* Files with at least as many chunks have their size stored, too. */
#define CACHED_CHUNKS 128

#define WRITER_NAME "libdwarfs v"

struct tables {
	const struct metadata_input *in;
	const struct build_options *options;
	uint64_t seconds_per_unit;	 /* of stored times */
	uint32_t ns_per_part;		 /* of their fractions; 0 for none */
	uint32_t first[CLASS_COUNT + 1]; /* number of the first inode of each class */
	uint32_t *inode_of;		 /* of the tree, by number */

	uint32_t *files; /* contents by their place in the chunk table */
	uint32_t unique_count, file_count;

	struct sorted_strings names, targets;
	struct strtab name_table, target_table;
	struct numbers uids, gids, modes;
	struct freeze_chunk *chunks;
	struct freeze_directory *directories;
	struct freeze_inode *inodes;
	struct freeze_entry *entries;
	uint32_t *chunk_table, *symlink_table, *shared;
	size_t shared_count;
	uint64_t *devices, *large_holes;
	size_t large_hole_count, large_hole_room;
	struct freeze_pair64 *sizes, *allocated;
	size_t size_count, size_room, allocated_count, allocated_room;
	struct span feature;
	struct freeze_metadata out;
};

static void free_tables(struct tables *tables)
{
	free(tables->inode_of);
	free(tables->files);
	dw_sorted_strings_free(&tables->names);
	dw_sorted_strings_free(&tables->targets);
	dw_strtab_free(&tables->name_table);
	dw_strtab_free(&tables->target_table);
	dw_numbers_free(&tables->uids);
	dw_numbers_free(&tables->gids);
	dw_numbers_free(&tables->modes);
	free(tables->chunks);
	free(tables->directories);
	free(tables->inodes);
	free(tables->entries);
	free(tables->chunk_table);
	free(tables->symlink_table);
	free(tables->shared);
	free(tables->devices);
	free(tables->large_holes);
	free(tables->sizes);
	free(tables->allocated);
}
#define auto_tables __attribute__((cleanup(free_tables)))

/* -- numbers of inodes ------------------------------------------------------------------
 */

static const struct content *content_at(const struct tables *tables, uint32_t place)
{
	return &tables->in->contents->list[tables->files[place]];
}

static bool is_shared(const struct tables *tables, const struct content *content)
{
	return tables->in->tree->inodes[content->inode].next != DW_NONE;
}

struct by_place {
	uint64_t first_chunk;
	uint32_t number;
	bool shared;
};

static int compare_places(const void *left, const void *right)
{
	const struct by_place *a = left, *b = right;

	if (a->shared != b->shared)
		return a->shared ? 1 : -1;
	if (a->first_chunk != b->first_chunk)
		return a->first_chunk < b->first_chunk ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* What one file has comes first, then what several share; each as it was stored. */
static int place_files(struct tables *tables, dwarfs_error **err)
{
	const struct contents *contents = tables->in->contents;
	auto_free struct by_place *places = dw_calloc(contents->count, sizeof(*places));

	tables->files = dw_calloc(contents->count, sizeof(*tables->files));
	if (!places || !tables->files)
		return dw_fail_nomem(err);
	tables->file_count = (uint32_t)contents->count;
	for (uint32_t i = 0; i < tables->file_count; i++)
		places[i] = (struct by_place){
			contents->list[i].first_chunk,
			i,
			is_shared(tables, &contents->list[i]),
		};
	qsort(places, contents->count, sizeof(places[0]), compare_places);
	for (uint32_t i = 0; i < tables->file_count; i++) {
		tables->files[i] = places[i].number;
		tables->unique_count += !places[i].shared;
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
	for (uint32_t place = 0; place < tables->file_count; place++)
		for (uint32_t inode = content_at(tables, place)->inode; inode != DW_NONE;
		     inode = tree->inodes[inode].next)
			give_number(tables, inode, next);
}

static int number_inodes(struct tables *tables, dwarfs_error **err)
{
	uint32_t next = 0;
	int ret = place_files(tables, err);

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

/* -- attributes -------------------------------------------------------------------------
 */

/* What the options make of a time. */
static struct os_time adjusted(const struct tables *tables, struct os_time time)
{
	if (tables->options->set_time)
		return tables->options->time;
	if (time.seconds < 0)
		return (struct os_time){ 0 };
	return time;
}

static uint64_t units(const struct tables *tables, struct os_time time)
{
	return (uint64_t)time.seconds / tables->seconds_per_unit;
}

static uint32_t parts(const struct tables *tables, struct os_time time)
{
	return tables->ns_per_part ? time.nanoseconds / tables->ns_per_part : 0;
}

/* The times of an inode as they are stored: modification, access, change. */
static void times_of(const struct tables *tables, uint32_t inode, struct os_time times[3])
{
	const struct tree *tree = tables->in->tree;
	const struct tree_inode *from = &tree->inodes[inode];

	times[0] = adjusted(tables, (struct os_time){ from->mtime, from->mtime_ns });
	times[1] = times[2] = times[0];
	if (!tables->options->keep_all_times)
		return;
	times[1] = adjusted(tables, tree->times[inode].atime);
	times[2] = adjusted(tables, tree->times[inode].ctime);
}

static uint64_t earliest(const struct tables *tables)
{
	uint64_t base = UINT64_MAX;

	for (size_t i = 0; i < tables->in->tree->inode_count; i++) {
		struct os_time times[3];

		times_of(tables, (uint32_t)i, times);
		for (int t = 0; t < 3; t++)
			if (units(tables, times[t]) < base)
				base = units(tables, times[t]);
	}
	return base;
}

static void fill_times(const struct tables *tables, uint32_t inode,
		       struct freeze_inode *out)
{
	uint64_t base = tables->out.timestamp_base;
	struct os_time times[3];

	times_of(tables, inode, times);
	out->mtime_offset = units(tables, times[0]) - base;
	out->mtime_subsec = parts(tables, times[0]);
	if (!tables->options->keep_all_times)
		return;
	out->atime_offset = units(tables, times[1]) - base;
	out->atime_subsec = parts(tables, times[1]);
	out->ctime_offset = units(tables, times[2]) - base;
	out->ctime_subsec = parts(tables, times[2]);
}

static int fill_inode(struct tables *tables, uint32_t inode, dwarfs_error **err)
{
	const struct tree_inode *from = &tables->in->tree->inodes[inode];
	struct freeze_inode *out = &tables->inodes[from->number];
	bool is_file = (from->mode & DW_S_IFMT) == DW_S_IFREG;
	int ret;

	fill_times(tables, inode, out);
	if (is_file && tables->options->hardlink_table)
		out->nlink_minus_one = from->links - 1;
	if ((ret = dw_numbers_add(&tables->modes, from->mode, &out->mode_index, err)) <
		    0 ||
	    (ret = dw_numbers_add(&tables->uids, from->uid, &out->owner_index, err)) < 0)
		return ret;
	return dw_numbers_add(&tables->gids, from->gid, &out->group_index, err);
}

static struct table table_of_numbers(const struct numbers *numbers)
{
	return (struct table){ dw_numbers_list(numbers), numbers->strings.count };
}

static int fill_inodes(struct tables *tables, dwarfs_error **err)
{
	const struct tree *tree = tables->in->tree;
	struct freeze_metadata *out = &tables->out;

	tables->inodes = dw_calloc(tree->inode_count, sizeof(*tables->inodes));
	if (!tables->inodes)
		return dw_fail_nomem(err);
	out->timestamp_base = earliest(tables);
	for (size_t i = 0; i < tree->inode_count; i++) {
		int ret = fill_inode(tables, (uint32_t)i, err);

		if (ret < 0)
			return ret;
	}
	out->inodes = (struct table){ tables->inodes, tree->inode_count };
	out->modes = table_of_numbers(&tables->modes);
	out->uids = table_of_numbers(&tables->uids);
	out->gids = table_of_numbers(&tables->gids);
	return 0;
}

/* -- directories, links, devices --------------------------------------------------------
 */

static int fill_directories(struct tables *tables, dwarfs_error **err)
{
	const struct tree *tree = tables->in->tree;
	size_t count = tree->directory_count + 1;
	uint32_t before = 0;

	tables->directories = dw_calloc(count, sizeof(*tables->directories));
	if (!tables->directories)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		struct freeze_directory *out = &tables->directories[i];
		bool sentinel = i == tree->directory_count;
		uint32_t first = sentinel ? (uint32_t)tree->entry_count
					  : tree->directories[i].first_entry;

		out->first_entry = first;
		if (tables->options->packing.directories) {
			out->first_entry = first - before;
			before = first;
		} else if (!sentinel) {
			out->self_entry = tree->directories[i].entry;
			out->parent_entry = tree->entries[out->self_entry].parent;
		}
	}
	tables->out.directories = (struct table){ tables->directories, count };
	return 0;
}

static int fill_entries(struct tables *tables, dwarfs_error **err)
{
	const struct tree *tree = tables->in->tree;

	tables->entries = dw_calloc(tree->entry_count, sizeof(*tables->entries));
	if (!tables->entries)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < tree->entry_count; i++) {
		const struct tree_entry *entry = &tree->entries[i];

		tables->entries[i].inode_num = tree->inodes[entry->inode].number;
		if (i > 0)
			tables->entries[i].name_index = tables->names.rank[entry->name];
	}
	tables->out.has_dir_entries = true;
	tables->out.dir_entries = (struct table){ tables->entries, tree->entry_count };
	return 0;
}

static int fill_links_and_devices(struct tables *tables, dwarfs_error **err)
{
	const struct tree *tree = tables->in->tree;
	uint32_t link = tables->first[CLASS_LNK], device = tables->first[CLASS_DEV];
	uint32_t link_count = tables->first[CLASS_REG] - link;
	uint32_t device_count = tables->first[CLASS_OTH] - device;

	tables->symlink_table = dw_calloc(link_count, sizeof(*tables->symlink_table));
	tables->devices = dw_calloc(device_count, sizeof(*tables->devices));
	if (!tables->symlink_table || !tables->devices)
		return dw_fail_nomem(err);
	for (uint32_t i = 0; i < link_count; i++) {
		uint32_t inode = tables->inode_of[link + i];

		tables->symlink_table[i] =
			tables->targets.rank[tree->inodes[inode].target];
	}
	for (uint32_t i = 0; i < device_count; i++)
		tables->devices[i] = tree->inodes[tables->inode_of[device + i]].size;
	tables->out.symlink_table = (struct table){ tables->symlink_table, link_count };
	tables->out.has_devices = true;
	tables->out.devices = (struct table){ tables->devices, device_count };
	return 0;
}

/* -- strings ----------------------------------------------------------------------------
 */

static int fill_strings(struct tables *tables, dwarfs_error **err)
{
	const struct build_packing *packing = &tables->options->packing;
	struct strtab_packing names = { packing->names, packing->force,
					packing->names_index };
	struct strtab_packing targets = { packing->symlinks, packing->force,
					  packing->symlinks_index };
	struct freeze_metadata *out = &tables->out;
	int ret;

	if ((ret = dw_texts_sort(&tables->in->tree->names, &tables->names, err)) < 0 ||
	    (ret = dw_texts_sort(&tables->in->tree->targets, &tables->targets, err)) < 0)
		return ret;
	if (packing->plain) {
		out->names = (struct table){ tables->names.list, tables->names.count };
		out->symlinks =
			(struct table){ tables->targets.list, tables->targets.count };
		return 0;
	}
	if ((ret = dw_strtab_make(&tables->names, names, &tables->name_table, err)) < 0 ||
	    (ret = dw_strtab_make(&tables->targets, targets, &tables->target_table,
				  err)) < 0)
		return ret;
	out->has_compact_names = out->has_compact_symlinks = true;
	out->compact_names = tables->name_table.table;
	out->compact_symlinks = tables->target_table.table;
	return 0;
}

/* -- files ------------------------------------------------------------------------------
 */

/*
 * How long a hole may be for its chunk not to widen the columns of chunks: its size
 * column counts whole blocks.
 */
static uint64_t longest_inline_hole(const struct tables *tables)
{
	const struct chunks *chunks = tables->in->chunks;
	uint64_t largest = 0;
	unsigned bits;

	for (size_t i = 0; i < chunks->count; i++)
		if (chunks->list[i].block != DW_NONE && chunks->list[i].size > largest)
			largest = chunks->list[i].size;
	bits = dw_bit_length(largest) + tables->options->block_bits;
	return (UINT64_C(1) << bits) - 1;
}

static int large_hole_index(struct tables *tables, uint64_t size, uint32_t *index_out,
			    dwarfs_error **err)
{
	int ret;

	for (size_t i = 0; i < tables->large_hole_count; i++) {
		if (tables->large_holes[i] == size) {
			*index_out = (uint32_t)i;
			return 0;
		}
	}
	if ((ret = dw_grow(&tables->large_holes, &tables->large_hole_room,
			   tables->large_hole_count + 1, err)) < 0)
		return ret;
	tables->large_holes[tables->large_hole_count] = size;
	*index_out = (uint32_t)tables->large_hole_count++;
	return 0;
}

static int fill_chunk(struct tables *tables, const struct chunk *from,
		      uint64_t inline_max, struct freeze_chunk *out, dwarfs_error **err)
{
	uint32_t block_bits = tables->options->block_bits;

	out->block = from->block;
	out->offset = from->offset;
	out->size = (uint32_t)from->size;
	if (from->block != DW_NONE)
		return 0;
	tables->out.has_hole_block_index = true;
	out->block = tables->in->block_count;
	if (from->size > inline_max) {
		out->offset = DW_LARGE_HOLE_OFFSET;
		return large_hole_index(tables, from->size, &out->size, err);
	}
	out->offset = (uint32_t)(from->size & ((UINT64_C(1) << block_bits) - 1));
	out->size = (uint32_t)(from->size >> block_bits);
	return 0;
}

static int cache_size(struct tables *tables, uint32_t place, dwarfs_error **err)
{
	const struct content *content = content_at(tables, place);
	int ret;

	if (content->chunk_count < CACHED_CHUNKS)
		return 0;
	if ((ret = dw_grow(&tables->sizes, &tables->size_room, tables->size_count + 1,
			   err)) < 0)
		return ret;
	tables->sizes[tables->size_count++] =
		(struct freeze_pair64){ place, content->size };
	if (content->hole_bytes == 0)
		return 0;
	if ((ret = dw_grow(&tables->allocated, &tables->allocated_room,
			   tables->allocated_count + 1, err)) < 0)
		return ret;
	tables->allocated[tables->allocated_count++] =
		(struct freeze_pair64){ place, content->size - content->hole_bytes };
	return 0;
}

static int fill_chunks(struct tables *tables, dwarfs_error **err)
{
	const struct chunks *chunks = tables->in->chunks;
	uint64_t inline_max = longest_inline_hole(tables);
	bool pack = tables->options->packing.chunk_table;
	uint32_t next = 0;
	int ret;

	tables->chunks = dw_calloc(chunks->count, sizeof(*tables->chunks));
	tables->chunk_table = dw_calloc(tables->file_count + (size_t)1, sizeof(uint32_t));
	if (!tables->chunks || !tables->chunk_table)
		return dw_fail_nomem(err);
	for (uint32_t place = 0; place < tables->file_count; place++) {
		const struct content *content = content_at(tables, place);

		for (uint32_t i = 0; i < content->chunk_count; i++)
			if ((ret = fill_chunk(
				     tables, &chunks->list[content->first_chunk + i],
				     inline_max, &tables->chunks[next++], err)) < 0)
				return ret;
		tables->chunk_table[place + 1] = pack ? content->chunk_count : next;
		if ((ret = cache_size(tables, place, err)) < 0)
			return ret;
	}
	tables->out.chunks = (struct table){ tables->chunks, next };
	tables->out.chunk_table =
		(struct table){ tables->chunk_table, tables->file_count + (size_t)1 };
	return 0;
}

/* Which of the shared contents each of the shared files has. */
static int fill_shared(struct tables *tables, dwarfs_error **err)
{
	const struct tree *tree = tables->in->tree;
	bool pack = tables->options->packing.shared_files;

	tables->shared = dw_calloc(tree->inode_count, sizeof(*tables->shared));
	if (!tables->shared)
		return dw_fail_nomem(err);
	for (uint32_t place = tables->unique_count; place < tables->file_count; place++) {
		uint32_t count = 0;

		for (uint32_t inode = content_at(tables, place)->inode; inode != DW_NONE;
		     inode = tree->inodes[inode].next) {
			count++;
			if (!pack)
				tables->shared[tables->shared_count++] =
					place - tables->unique_count;
		}
		if (pack)
			tables->shared[tables->shared_count++] = count - 2;
	}
	tables->out.has_shared_files_table = true;
	tables->out.shared_files_table =
		(struct table){ tables->shared, tables->shared_count };
	return 0;
}

/* Sums over inodes, and what is counted for the caller. */
static void fill_totals(struct tables *tables)
{
	const struct tree *tree = tables->in->tree;
	struct freeze_metadata *out = &tables->out;
	uint64_t *counts = tables->in->run->counts, holes = 0;

	for (uint32_t place = 0; place < tables->file_count; place++) {
		const struct content *content = content_at(tables, place);

		counts[DWARFS_COUNT_BYTES_HOLES] += content->hole_bytes;
		for (uint32_t inode = content->inode; inode != DW_NONE;
		     inode = tree->inodes[inode].next) {
			uint32_t more = tree->inodes[inode].links - 1;

			out->total_fs_size += content->size;
			out->total_hardlink_size += more * content->size;
			holes += content->hole_bytes;
			if (inode == content->inode || content->size == 0)
				continue;
			counts[DWARFS_COUNT_DUPLICATES]++;
			counts[DWARFS_COUNT_BYTES_DUPLICATE] += content->size;
		}
	}
	for (uint32_t i = tables->first[CLASS_LNK]; i < tables->first[CLASS_REG]; i++) {
		uint32_t target = tree->inodes[tables->inode_of[i]].target;

		out->total_fs_size += dw_texts_at(&tree->targets, target).size;
	}
	out->has_total_hardlink_size = out->total_hardlink_size != 0;
	out->has_total_allocated_fs_size = holes != 0;
	out->total_allocated_fs_size = out->total_fs_size - holes;
	counts[DWARFS_COUNT_CHUNKS] = out->chunks.count;
}

/* -- the rest ---------------------------------------------------------------------------
 */

static void fill_holes(struct tables *tables)
{
	struct freeze_metadata *out = &tables->out;

	out->has_features = true;
	if (!out->has_hole_block_index)
		return;
	out->hole_block_index = tables->in->block_count;
	out->has_large_hole_size = true;
	out->large_hole_size =
		(struct table){ tables->large_holes, tables->large_hole_count };
	tables->feature = (struct span){ (const uint8_t *)DW_FEATURE_SPARSE,
					 sizeof(DW_FEATURE_SPARSE) - 1 };
	out->features = (struct table){ &tables->feature, 1 };
}

static void fill_options(struct tables *tables)
{
	const struct build_options *options = tables->options;
	struct freeze_metadata *out = &tables->out;

	out->has_options = true;
	out->options = (struct freeze_options){
		.mtime_only = !options->keep_all_times,
		.has_time_resolution_sec = tables->seconds_per_unit > 1,
		.time_resolution_sec = (uint32_t)tables->seconds_per_unit,
		.has_subsecond_multiplier = tables->ns_per_part != 0,
		.subsecond_multiplier = tables->ns_per_part,
		.packed_chunk_table = options->packing.chunk_table,
		.packed_directories = options->packing.directories,
		.packed_shared_files_table = options->packing.shared_files,
		.inodes_have_nlink = options->hardlink_table,
	};
}

static void fill_facts(struct tables *tables, const char *version)
{
	const struct metadata_input *in = tables->in;
	struct freeze_metadata *out = &tables->out;

	out->block_size = UINT32_C(1) << tables->options->block_bits;
	out->has_dwarfs_version = true;
	out->dwarfs_version =
		(struct span){ (const uint8_t *)version, __builtin_strlen(version) };
	out->has_create_timestamp = in->has_create_timestamp;
	out->create_timestamp = in->create_timestamp;
	out->has_preferred_path_separator = true;
	out->preferred_path_separator = '/';
	out->has_reg_file_size_cache = tables->file_count > 0;
	out->reg_file_size_cache = (struct freeze_size_cache){
		.size_lookup = { tables->sizes, tables->size_count },
		.min_chunk_count = CACHED_CHUNKS,
		.allocated_lookup = { tables->allocated, tables->allocated_count },
	};
}

static void choose_resolution(struct tables *tables)
{
	uint64_t resolution = tables->options->resolution_ns;

	tables->seconds_per_unit =
		resolution >= DW_NS_PER_SECOND ? resolution / DW_NS_PER_SECOND : 1;
	tables->ns_per_part = resolution < DW_NS_PER_SECOND ? (uint32_t)resolution : 0;
}

static int make_tables(struct tables *tables, dwarfs_error **err)
{
	static int (*const steps[])(struct tables * tables, dwarfs_error * *err) = {
		number_inodes, fill_strings,	       fill_inodes, fill_directories,
		fill_entries,  fill_links_and_devices, fill_chunks, fill_shared,
	};

	choose_resolution(tables);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int ret = steps[i](tables, err);

		if (ret < 0 ||
		    (ret = dw_progress_tick(&tables->in->run->progress, err)) < 0)
			return ret;
	}
	fill_totals(tables);
	fill_holes(tables);
	fill_options(tables);
	return 0;
}

int dw_metadata(const struct metadata_input *input, struct buffer *schema_out,
		struct buffer *data_out, dwarfs_error **err)
{
	auto_tables struct tables tables = {
		.in = input,
		.options = input->run->options,
	};
	char version[64];
	int ret;

	if ((ret = make_tables(&tables, err)) < 0)
		return ret;
	snprintf(version, sizeof(version), WRITER_NAME "%s", dwarfs_version_string());
	fill_facts(&tables, version);
	return dw_freeze(&tables.out, schema_out, data_out, err);
}
