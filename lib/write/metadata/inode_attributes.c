/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/inode_attributes: table of inodes: modes, owners and times, as set by
 * the options.
 */
#include "write/metadata/tables.h"

/* Apply the options to a time. */
static struct os_time adjusted(const struct tables *tables, struct os_time time)
{
	return tables->options->set_time ? tables->options->time : time;
}

/* Whole units since 1970, modulo 2^64; rounded down, unless seconds have no such number. */
static uint64_t units(const struct tables *tables, struct os_time time)
{
	int64_t divisor = (int64_t)tables->seconds_per_unit;
	int64_t quotient = time.seconds / divisor;

	if (time.seconds % divisor < 0 && quotient > INT64_MIN / divisor)
		quotient--;
	return (uint64_t)quotient;
}

static uint32_t parts(const struct tables *tables, struct os_time time)
{
	return tables->ns_per_part ? time.nanoseconds / tables->ns_per_part : 0;
}

/* Modification, access, change and birth time of an inode. A time that is not stored is
 * set to the first, which changes nothing. */
#define TIMES 4

static void times_of(const struct tables *tables, uint32_t inode,
		     struct os_time times[TIMES])
{
	const struct build_options *options = tables->options;
	const struct tree *tree = tables->in->tree;
	const struct tree_inode *from = &tree->inodes[inode];

	times[0] = adjusted(tables, (struct os_time){ from->mtime, from->mtime_ns });
	times[1] = times[2] = times[3] = times[0];
	if (options->keep_all_times) {
		times[1] = adjusted(tables, tree->times[inode].atime);
		times[2] = adjusted(tables, tree->times[inode].ctime);
	}
	if (options->keep_birth_times)
		times[3] = adjusted(tables, tree->times[inode].btime);
}

/* The least time in units, as an unsigned number: a time before 1970 is greater than all
 * others. Base plus offset then cannot overflow, which readers may refuse. */
static uint64_t lowest(const struct tables *tables)
{
	uint64_t base = UINT64_MAX;

	for (size_t i = 0; i < tables->in->tree->inode_count; i++) {
		struct os_time times[TIMES];

		times_of(tables, (uint32_t)i, times);
		for (int t = 0; t < TIMES; t++)
			if (units(tables, times[t]) < base)
				base = units(tables, times[t]);
	}
	return base;
}

static void fill_times(const struct tables *tables, uint32_t inode,
		       struct freeze_inode *out)
{
	uint64_t base = tables->out.timestamp_base;
	struct os_time times[TIMES];

	times_of(tables, inode, times);
	out->mtime_offset = units(tables, times[0]) - base;
	out->mtime_subsec = parts(tables, times[0]);
	if (tables->options->keep_all_times) {
		out->atime_offset = units(tables, times[1]) - base;
		out->atime_subsec = parts(tables, times[1]);
		out->ctime_offset = units(tables, times[2]) - base;
		out->ctime_subsec = parts(tables, times[2]);
	}
	if (tables->options->keep_birth_times) {
		out->btime_offset = units(tables, times[3]) - base;
		out->btime_subsec = parts(tables, times[3]);
	}
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
	if ((ret = dw_number_set_add(&tables->modes, from->mode, &out->mode_index, err)) <
		    0 ||
	    (ret = dw_number_set_add(&tables->uids, from->uid, &out->owner_index, err)) <
		    0)
		return ret;
	return dw_number_set_add(&tables->gids, from->gid, &out->group_index, err);
}

static struct freeze_table table_of_numbers(const struct number_set *numbers)
{
	return (struct freeze_table){ dw_number_set_list(numbers),
				      numbers->strings.count };
}

int dw_tables_fill_inodes(struct tables *tables, dwarfs_error **err)
{
	const struct tree *tree = tables->in->tree;
	struct freeze_metadata *out = &tables->out;

	tables->inodes = dw_calloc(tree->inode_count, sizeof(*tables->inodes));
	if (!tables->inodes)
		return dw_fail_nomem(err);
	out->timestamp_base = lowest(tables);
	for (size_t i = 0; i < tree->inode_count; i++) {
		int ret = fill_inode(tables, (uint32_t)i, err);

		if (ret < 0)
			return ret;
	}
	out->inodes = (struct freeze_table){ tables->inodes, tree->inode_count };
	out->modes = table_of_numbers(&tables->modes);
	out->uids = table_of_numbers(&tables->uids);
	out->gids = table_of_numbers(&tables->gids);
	return 0;
}
