/* SPDX-License-Identifier: MIT */
/*
 * extract/hard_links: find the file, already written, that an entry is a hard link to.
 *
 * Records files as they are written, and returns the one to link to. Does not access the
 * disk.
 */
#include "extract/hard_links.h"

/* With more variants of one inode than this, the rest become files of their own. */
#define MAX_VARIANTS 64

/* The last minor version of the format in which attributes belong to entries. */
#define LAST_WITH_ENTRY_ATTRIBUTES 2

int dw_links_init(struct links *links, const dwarfs_image *image, dwarfs_error **err)
{
	*links = (struct links){ .image = image };
	links->written =
		dw_calloc(dwarfs_image_inode_count(image), sizeof(*links->written));
	if (!links->written)
		return dw_fail_nomem(err);
	if (dwarfs_image_format_minor(image) <= LAST_WITH_ENTRY_ATTRIBUTES) {
		links->earlier = dw_calloc(dwarfs_image_entry_count(image),
					   sizeof(*links->earlier));
		if (!links->earlier)
			return dw_fail_nomem(err);
	}
	return dwarfs_stat_new(&links->scratch, err);
}

void dw_links_release(struct links *links)
{
	dwarfs_stat_free(links->scratch);
	dw_free(links->earlier);
	dw_free(links->written);
	*links = (struct links){ 0 };
}

static bool same_attributes(const dwarfs_stat *a, const dwarfs_stat *b)
{
	for (int time = DWARFS_ATIME; time <= DWARFS_CTIME; time++)
		if (dwarfs_stat_seconds(a, time) != dwarfs_stat_seconds(b, time) ||
		    dwarfs_stat_nanoseconds(a, time) != dwarfs_stat_nanoseconds(b, time))
			return false;
	return dwarfs_stat_mode(a) == dwarfs_stat_mode(b) &&
	       dwarfs_stat_uid(a) == dwarfs_stat_uid(b) &&
	       dwarfs_stat_gid(a) == dwarfs_stat_gid(b);
}

int dw_links_find(struct links *links, const dwarfs_stat *stat, dwarfs_entry *entry_out,
		  dwarfs_error **err)
{
	dwarfs_inode inode = dwarfs_stat_inode(stat);
	dwarfs_entry entry = DWARFS_ROOT_ENTRY;

	if (inode.number < dwarfs_image_inode_count(links->image))
		entry = links->written[inode.number];
	for (int tries = 0; links->earlier && entry.number != 0; tries++) {
		int ret = dwarfs_entry_stat(links->image, entry, links->scratch, err);

		if (ret < 0)
			return ret;
		if (same_attributes(stat, links->scratch))
			break;
		entry = tries < MAX_VARIANTS ? links->earlier[entry.number]
					     : DWARFS_ROOT_ENTRY;
	}
	*entry_out = entry;
	return 0;
}

void dw_links_add(struct links *links, const dwarfs_stat *stat, dwarfs_entry entry)
{
	dwarfs_inode inode = dwarfs_stat_inode(stat);

	if (inode.number >= dwarfs_image_inode_count(links->image))
		return;
	if (links->earlier)
		links->earlier[entry.number] = links->written[inode.number];
	links->written[inode.number] = entry;
}
