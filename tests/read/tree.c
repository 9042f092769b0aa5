/* SPDX-License-Identifier: MIT */
#include "read/tree.h"

/* Modes 0 to 4 of all images here: directory, link, file, device, fifo. */
const uint32_t tree_modes[] = { 0040755, 0120777, 0100640, 0020666, 0010600 };

/*
 *	/		 0
 *	/dir		 1   directory
 *	/dir/deep	 2   directory
 *	/dir/deep/file	 4   the same as /file
 *	/dir/link	 3   -> ../file
 *	/dir/other	 5   before /file in the block
 *	/fifo		 7
 *	/file		 4
 *	/null		 6   device 1:3
 */
const struct span tree_names[] = { TEXT("deep"), TEXT("dir"),  TEXT("fifo"), TEXT("file"),
				   TEXT("link"), TEXT("null"), TEXT("other") };
const struct freeze_entry tree_entries[] = {
	{ 0, 0 },				/* root */
	{ 1, 1 }, { 2, 7 }, { 3, 4 }, { 5, 6 }, /* dir fifo file null */
	{ 0, 2 }, { 4, 3 }, { 6, 5 },		/* deep link other */
	{ 3, 4 },				/* file */
};
const struct freeze_directory tree_directories[] = {
	{ 0, 1, 0 }, { 0, 5, 1 }, { 1, 8, 5 }, { 0, 9, 0 }
};
const struct freeze_inode tree_inodes[] = {
	{ .mode_index = 0, .mtime_offset = 5 },
	{ .mode_index = 0 },
	{ .mode_index = 0 },
	{ .mode_index = 1 },
	{ .mode_index = 2, .nlink_minus_one = 1, .owner_index = 1 },
	{ .mode_index = 2, .group_index = 1 },
	{ .mode_index = 3 },
	{ .mode_index = 4 },
};
static const struct freeze_chunk tree_chunks[] = { { 0, 5, 5 }, { 0, 0, 5 } };
const uint32_t tree_chunk_table[] = { 0, 1, 2 };
static const uint32_t tree_links[] = { 0 }, ids[] = { 1000, 70000 };
static const struct span tree_targets[] = { TEXT("..\\file") };
static const uint64_t tree_devices[] = { 0x103 };

struct freeze_metadata tree(void)
{
	return (struct freeze_metadata){
		.chunks = TABLE(tree_chunks, COUNT(tree_chunks)),
		.directories = TABLE(tree_directories, COUNT(tree_directories)),
		.inodes = TABLE(tree_inodes, COUNT(tree_inodes)),
		.chunk_table = TABLE(tree_chunk_table, COUNT(tree_chunk_table)),
		.symlink_table = TABLE(tree_links, 1),
		.uids = TABLE(ids, 2),
		.gids = TABLE(ids, 2),
		.modes = TABLE(tree_modes, COUNT(tree_modes)),
		.names = TABLE(tree_names, COUNT(tree_names)),
		.symlinks = TABLE(tree_targets, 1),
		.timestamp_base = 1000,
		.block_size = 1024,
		.has_devices = true,
		.devices = TABLE(tree_devices, 1),
		.has_options = true,
		.options = { .inodes_have_nlink = true },
		.has_dir_entries = true,
		.dir_entries = TABLE(tree_entries, COUNT(tree_entries)),
		.has_preferred_path_separator = true,
		.preferred_path_separator = '\\',
	};
}

dwarfs_image *open_metadata(struct craft *craft, const struct freeze_metadata *metadata)
{
	craft_section(craft, DWARFS_SECTION_BLOCK, 0, "firstother", 10);
	craft_metadata(craft, metadata);
	return craft_open(craft, NULL);
}

int open_changed(const struct freeze_metadata *metadata, int *name_out, int *check_out)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	char name[DWARFS_NAME_BUFFER_BYTES];
	int ret;

	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, "firstother", 10);
	craft_metadata(&craft, metadata);
	ret = craft_try(craft.bytes.data, craft.bytes.size, NULL, &image, NULL);
	if (ret < 0)
		return ret;
	*name_out = dwarfs_entry_name(image, dwarfs_entry_at(3), name, sizeof(name), NULL,
				      NULL);
	*check_out = dwarfs_image_check(image, DWARFS_CHECK_METADATA, NULL, NULL, NULL,
					NULL, NULL);
	return 0;
}
