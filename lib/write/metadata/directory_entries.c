/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/directory_entries: tables of names, link targets, devices, directories
 * and entries.
 */
#include "write/metadata/tables.h"

static int fill_strings(struct tables *tables, dwarfs_error **err)
{
	const struct build_packing *packing = &tables->packing;
	struct string_table_packing names = { packing->names, packing->force,
					      packing->names_index };
	struct string_table_packing targets = { packing->symlinks, packing->force,
						packing->symlinks_index };
	struct freeze_metadata *out = &tables->out;
	int ret;

	if ((ret = dw_string_set_sort(&tables->in->tree->names, &tables->names, err)) <
		    0 ||
	    (ret = dw_string_set_sort(&tables->in->tree->targets, &tables->targets,
				      err)) < 0)
		return ret;
	if (packing->plain) {
		out->names =
			(struct freeze_table){ tables->names.list, tables->names.count };
		out->symlinks = (struct freeze_table){ tables->targets.list,
						       tables->targets.count };
		return 0;
	}
	if ((ret = dw_string_table_make(&tables->names, names, &tables->name_table,
					err)) < 0 ||
	    (ret = dw_string_table_make(&tables->targets, targets, &tables->target_table,
					err)) < 0)
		return ret;
	out->has_compact_names = out->has_compact_symlinks = true;
	out->compact_names = tables->name_table.table;
	out->compact_symlinks = tables->target_table.table;
	return 0;
}

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
		if (tables->packing.directories) {
			out->first_entry = first - before;
			before = first;
		} else if (!sentinel) {
			out->self_entry = tree->directories[i].entry;
			out->parent_entry = tree->entries[out->self_entry].parent;
		}
	}
	tables->out.directories = (struct freeze_table){ tables->directories, count };
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
	tables->out.dir_entries =
		(struct freeze_table){ tables->entries, tree->entry_count };
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
	tables->out.symlink_table =
		(struct freeze_table){ tables->symlink_table, link_count };
	tables->out.has_devices = true;
	tables->out.devices = (struct freeze_table){ tables->devices, device_count };
	return 0;
}

int dw_tables_fill_entries(struct tables *tables, dwarfs_error **err)
{
	int ret;

	if ((ret = fill_strings(tables, err)) < 0 ||
	    (ret = fill_directories(tables, err)) < 0 ||
	    (ret = fill_entries(tables, err)) < 0)
		return ret;
	return fill_links_and_devices(tables, err);
}
