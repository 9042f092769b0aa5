/* SPDX-License-Identifier: MIT */
/*
 * compare/from_image: the entries of an image.
 */
#include <string.h>
#include <sys/stat.h>

#include <dwarfs/xattr.h>

#include "compare/side.h"

/* The last minor version of the format in which equal files share an inode. */
#define LAST_WITH_SHARED_INODES 2

DW_DEFINE_AUTO(compare_walk, dwarfs_walk *, dwarfs_walk_free)
DW_DEFINE_AUTO(compare_stat, dwarfs_stat *, dwarfs_stat_free)

static uint32_t known_of(const struct side *side, const dwarfs_stat *stat)
{
	static const struct {
		uint32_t attribute, known;
	} all[] = {
		{ DWARFS_ATTRIBUTE_MODE, KNOWN_MODE },
		{ DWARFS_ATTRIBUTE_UID, KNOWN_OWNER },
		{ DWARFS_ATTRIBUTE_GID, KNOWN_GROUP },
		{ DWARFS_ATTRIBUTE_MTIME, KNOWN_TIME },
	};
	const uint32_t invalid = dwarfs_stat_invalid(stat);
	uint32_t known = KNOWN_ALL;

	if (side->is_bare)
		known &= ~(uint32_t)KNOWN_XATTRS;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (invalid & all[i].attribute)
			known ^= all[i].known | KNOWN_INVALID(all[i].known);
	return known;
}

static struct side_entry describe_inode(const struct side *side, const dwarfs_stat *stat)
{
	return (struct side_entry){
		.target = NO_TEXT,
		.xattrs = NO_TEXT,
		.size = dwarfs_stat_bytes(stat),
		.seconds = dwarfs_stat_seconds(stat, DWARFS_MTIME),
		.nanoseconds = dwarfs_stat_nanoseconds(stat, DWARFS_MTIME),
		.mode = dwarfs_stat_mode(stat),
		.uid = dwarfs_stat_uid(stat),
		.gid = dwarfs_stat_gid(stat),
		.major = dwarfs_stat_rdev_major(stat),
		.minor = dwarfs_stat_rdev_minor(stat),
		.file = NO_FILE,
		.known = known_of(side, stat),
	};
}

static int add_image_target(struct side *side, dwarfs_inode inode,
			    struct side_entry *listed, dwarfs_error **err)
{
	char target[DWARFS_LINK_BUFFER_BYTES];
	size_t bytes;
	auto_error dwarfs_error *why = NULL;
	int ret = dwarfs_link_read(side->image, inode, target, sizeof(target), &bytes,
				   &why);

	if (dw_is_fatal(ret))
		return dw_error_copy(err, ret, why);
	if (ret < 0)
		return dw_side_lose(&side->listing, KNOWN_LOST, dwarfs_error_message(why),
				    err);
	listed->target_bytes = (uint32_t)bytes;
	return dw_side_text(&side->listing, target, bytes, &listed->target, err);
}

/* All attributes of an image are in one section: if it cannot be read, this is reported
 * once. */
static int lose_image_xattrs(struct side *side, int code, const dwarfs_error *why,
			     dwarfs_error **err)
{
	if (dw_is_fatal(code))
		return dw_error_copy(err, code, why);
	side->is_bare = true;
	return dw_side_lose(&side->listing, KNOWN_NO_XATTRS, dwarfs_error_message(why),
			    err);
}

static int add_image_xattrs(struct side *side, dwarfs_inode inode, dwarfs_error **err)
{
	for (size_t i = 0;; i++) {
		auto_error dwarfs_error *why = NULL;
		const char *name;
		const void *value;
		size_t bytes;
		int ret = dwarfs_xattr_at(side->image, inode, i, &name, &value, &bytes,
					  &why);

		if (ret < 0)
			return lose_image_xattrs(side, ret, why, err);
		if (ret == 0)
			return 0;
		ret = dw_side_add_xattr(&side->listing, name, value, bytes, err);
		if (ret < 0)
			return ret;
	}
}

/* The file of an inode, made at its first name. */
static int file_of(struct side *side, uint32_t *files, const dwarfs_stat *stat,
		   uint32_t *file_out, dwarfs_error **err)
{
	const uint32_t inode = dwarfs_stat_inode(stat).number;
	int ret;

	if (inode >= dwarfs_image_inode_count(side->image))
		return dw_fail(err, DWARFS_ERR_CORRUPT, "inode %" PRIu32, inode);
	if (files[inode] == NO_FILE &&
	    (ret = dw_side_add_file(&side->listing, dwarfs_stat_bytes(stat), inode,
				    &files[inode], err)) < 0)
		return ret;
	*file_out = files[inode];
	return 0;
}

static int add_image_entry(struct side *side, uint32_t path, const dwarfs_stat *stat,
			   uint32_t *files, dwarfs_error **err)
{
	const struct side_entry entry = describe_inode(side, stat);
	const dwarfs_inode inode = dwarfs_stat_inode(stat);
	struct side_entry *listed;
	int ret = dw_side_add(&side->listing, path, &entry, &listed, err);

	if (ret == 0 && S_ISLNK(entry.mode))
		ret = add_image_target(side, inode, listed, err);
	if (ret == 0 && S_ISREG(entry.mode))
		ret = file_of(side, files, stat, &listed->file, err);
	if (ret == 0 && !side->is_bare && dwarfs_image_has_xattrs(side->image))
		ret = add_image_xattrs(side, inode, err);
	return ret;
}

/* The entry exists, but has no readable attributes. */
static int add_lost(struct side *side, uint32_t path, int code, const dwarfs_error *why,
		    dwarfs_error **err)
{
	const struct side_entry entry = { .target = NO_TEXT,
					  .xattrs = NO_TEXT,
					  .file = NO_FILE };
	struct side_entry *listed;
	int ret;

	if (dw_is_fatal(code))
		return dw_error_copy(err, code, why);
	ret = dw_side_add(&side->listing, path, &entry, &listed, err);
	return ret < 0 ? ret
		       : dw_side_lose(&side->listing, KNOWN_LOST,
				      dwarfs_error_message(why), err);
}

static int list_entry(struct side *side, dwarfs_entry entry, uint32_t path,
		      dwarfs_stat *stat, uint32_t *files, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret = dwarfs_entry_stat(side->image, entry, stat, &why);

	if (ret < 0)
		return add_lost(side, path, ret, why, err);
	return add_image_entry(side, path, stat, files, err);
}

/* The directories from the root to the current entry of a walk. */
struct walked_path {
	struct {
		size_t bytes; /* of its path */
		uint32_t path;
	} * list;
	size_t count, room;
};

/* The path of the current entry, whose directory was walked before it. */
static int find_entry_path(struct side_listing *listing, struct walked_path *above,
			   const char *text, uint32_t *path_out, dwarfs_error **err)
{
	const size_t bytes = strlen(text);
	const char *slash = memrchr(text, '/', bytes);
	const size_t parent_bytes = slash ? (size_t)(slash - text) : 0;
	const char *name = slash ? slash + 1 : text;
	int ret;

	if (bytes == 0) {
		above->count = 0;
		ret = dw_side_path(listing, "", 0, path_out, err);
	} else {
		while (above->count > 1 &&
		       above->list[above->count - 1].bytes > parent_bytes)
			above->count--;
		ret = dw_side_path_in(listing, above->list[above->count - 1].path, name,
				      strlen(name), path_out, err);
	}
	if (ret < 0 ||
	    (ret = dw_grow(&above->list, &above->room, above->count + 1, err)) < 0)
		return ret;
	above->list[above->count].bytes = bytes;
	above->list[above->count++].path = *path_out;
	return 0;
}

/* An entry whose name, place or inode is damaged. Nothing more can be listed after damage of
 * the root, or in a loop. */
static int lose_entry(struct side *side, struct walked_path *above, const char *text,
		      int code, const dwarfs_error *why, uint32_t *lost,
		      dwarfs_error **err)
{
	uint32_t path;
	int ret;

	if (code != DWARFS_ERR_CORRUPT || !*text ||
	    ++*lost > dwarfs_image_entry_count(side->image))
		return dw_error_copy(err, code, why);
	if ((ret = find_entry_path(&side->listing, above, text, &path, err)) < 0)
		return ret;
	/* A directory that was listed, and cannot be entered. */
	if (side->listing.list[side->listing.count - 1].path == path)
		return dw_side_lose(&side->listing, KNOWN_LOST, dwarfs_error_message(why),
				    err);
	return add_lost(side, path, code, why, err);
}

static int list_entries(struct side *side, dwarfs_walk *walk, dwarfs_stat *stat,
			uint32_t *files, struct walked_path *above,
			struct dwarfs_progress *progress, dwarfs_error **err)
{
	uint32_t lost = 0, path;

	for (;;) {
		auto_error dwarfs_error *why = NULL;
		dwarfs_entry entry;
		int ret = dwarfs_walk_next(walk, &entry, &why);

		if (ret == 0)
			return 0;
		if (ret < 0)
			ret = lose_entry(side, above, dwarfs_walk_path(walk), ret, why,
					 &lost, err);
		else if ((ret = find_entry_path(&side->listing, above,
						dwarfs_walk_path(walk), &path, err)) == 0)
			ret = list_entry(side, entry, path, stat, files, err);
		if (ret < 0 || (ret = dw_progress_tick(progress, err)) < 0)
			return ret;
	}
}

int dw_list_image(struct side *side, struct dwarfs_progress *progress, dwarfs_error **err)
{
	const uint32_t inodes = dwarfs_image_inode_count(side->image);
	auto_free uint32_t *files = dw_calloc(inodes, sizeof(*files));
	DW_AUTO(compare_walk) dwarfs_walk *walk = NULL;
	DW_AUTO(compare_stat) dwarfs_stat *stat = NULL;
	struct walked_path above = { 0 };
	int ret;

	if (!files)
		return dw_fail_nomem(err);
	memset(files, 0xff, inodes * sizeof(*files));
	side->listing.is_unique = true;
	side->listing.resolution_ns = dwarfs_image_time_resolution_ns(side->image);
	side->listing.has_links =
		dwarfs_image_format_minor(side->image) > LAST_WITH_SHARED_INODES;
	if ((ret = dwarfs_stat_new(&stat, err)) < 0 ||
	    (ret = dwarfs_walk_new(side->image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE,
				   &walk, err)) < 0)
		return ret;
	ret = list_entries(side, walk, stat, files, &above, progress, err);
	dw_free(above.list);
	return ret;
}
