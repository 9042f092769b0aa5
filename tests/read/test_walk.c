/* SPDX-License-Identifier: MIT */
/*
 * read/walk and read/metadata/directory: a small tree, and metadata that is no tree at all.
 */
#include <stdio.h>

#include "format/freeze.h"
#include "support/craft.h"

#include <dwarfs/walk.h>

#define TABLE(array, items)                                                              \
	{                                                                                \
		(array), (items)                                                         \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT(literal)                                                                    \
	{                                                                                \
		(const uint8_t *)(literal), sizeof(literal) - 1                          \
	}

/* Modes 0 to 4 of all images here: directory, link, file, device, fifo. */
static const uint32_t modes[] = { 0040755, 0120777, 0100640, 0020666, 0010600 };

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
static const struct span tree_names[] = { TEXT("deep"), TEXT("dir"),  TEXT("fifo"),
					  TEXT("file"), TEXT("link"), TEXT("null"),
					  TEXT("other") };
static const struct freeze_entry tree_entries[] = {
	{ 0, 0 },				/* root */
	{ 1, 1 }, { 2, 7 }, { 3, 4 }, { 5, 6 }, /* dir fifo file null */
	{ 0, 2 }, { 4, 3 }, { 6, 5 },		/* deep link other */
	{ 3, 4 },				/* file */
};
static const struct freeze_directory tree_directories[] = {
	{ 0, 1, 0 }, { 0, 5, 1 }, { 1, 8, 5 }, { 0, 9, 0 }
};
static const struct freeze_inode tree_inodes[] = {
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
static const uint32_t tree_chunk_table[] = { 0, 1, 2 }, tree_links[] = { 0 },
		      ids[] = { 1000, 70000 };
static const struct span tree_targets[] = { TEXT("..\\file") };
static const uint64_t tree_devices[] = { 0x103 };

static struct freeze_metadata tree(void)
{
	return (struct freeze_metadata){
		.chunks = TABLE(tree_chunks, COUNT(tree_chunks)),
		.directories = TABLE(tree_directories, COUNT(tree_directories)),
		.inodes = TABLE(tree_inodes, COUNT(tree_inodes)),
		.chunk_table = TABLE(tree_chunk_table, COUNT(tree_chunk_table)),
		.symlink_table = TABLE(tree_links, 1),
		.uids = TABLE(ids, 2),
		.gids = TABLE(ids, 2),
		.modes = TABLE(modes, COUNT(modes)),
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

static dwarfs_image *open_metadata(struct craft *craft,
				   const struct freeze_metadata *metadata)
{
	craft_section(craft, DWARFS_SECTION_BLOCK, 0, "firstother", 10);
	craft_metadata(craft, metadata);
	return craft_open(craft, NULL);
}

static void the_tree_is_sound(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_error dwarfs_error *err = NULL;
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);

	if (dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL, NULL,
			       &err) < 0)
		fail_msg("%s", dwarfs_error_message(err));
}

static void paths_are_found(void **state)
{
	static const struct {
		const char *path;
		int expected; /* entry or error */
	} cases[] = {
		{ "", 0 },
		{ "/", 0 },
		{ "..", 0 },
		{ "../..", 0 },
		{ "dir", 1 },
		{ "/dir/", 1 },
		{ "dir/deep", 5 },
		{ "dir//./deep/file", 8 },
		{ "dir/deep/..", 1 },
		{ "dir/deep/../..", 0 },
		{ "dir/deep/../link", 6 },
		{ "dir/other", 7 },
		{ "null", 4 },
		{ "dir/link/x", DWARFS_ERR_NOT_DIR }, /* links are not followed */
		{ "file/..", DWARFS_ERR_NOT_DIR },
		{ "file/.", DWARFS_ERR_NOT_DIR },
		{ "dir/x", DWARFS_ERR_NOT_FOUND },
		{ "x/dir", DWARFS_ERR_NOT_FOUND },
		{ "...", DWARFS_ERR_NOT_FOUND },
		{ "di", DWARFS_ERR_NOT_FOUND },
		{ "dirx", DWARFS_ERR_NOT_FOUND },
	};
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_error dwarfs_error *err = NULL;
		dwarfs_entry entry = 99;
		int ret = dwarfs_find(image, cases[i].path, &entry, &err);

		if (cases[i].expected < 0) {
			assert_int_equal(ret, cases[i].expected);
			assert_string_equal(dwarfs_error_path(err), cases[i].path);
			assert_int_equal(entry, 99);
		} else {
			assert_int_equal(ret, 0);
			assert_int_equal(entry, cases[i].expected);
		}
	}
}

static void links_are_read(void **state)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);
	char text[DWARFS_LINK_ROOM];
	size_t size = 0;

	assert_int_equal(dwarfs_link_read(image, 3, text, sizeof(text), &size, NULL), 0);
	assert_string_equal(text, "../file");
	assert_int_equal(size, 7);
	assert_int_equal(dwarfs_link_read_raw(image, 3, text, sizeof(text), NULL, NULL),
			 0);
	assert_string_equal(text, "..\\file");
	assert_int_equal(dwarfs_link_read(image, 3, text, 8, NULL, NULL), 0);
	assert_int_equal(dwarfs_link_read(image, 3, text, 7, NULL, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_link_read(image, 3, text, 0, NULL, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_link_read(image, 4, text, sizeof(text), NULL, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_link_read(image, 8, text, sizeof(text), NULL, NULL),
			 DWARFS_ERR_RANGE);
}

static void attributes_are_right(void **state)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);
	dwarfs_stat *stat = NULL;

	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_inode_stat(image, 4, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_uid(stat), 70000);
	assert_int_equal(dwarfs_stat_gid(stat), 1000);
	assert_int_equal(dwarfs_stat_nlink(stat), 2);
	assert_int_equal(dwarfs_stat_bytes(stat), 5);
	assert_int_equal(dwarfs_entry_stat(image, 4, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_inode(stat), 6);
	assert_int_equal(dwarfs_stat_rdev_major(stat), 1);
	assert_int_equal(dwarfs_stat_rdev_minor(stat), 3);
	assert_int_equal(dwarfs_inode_stat(image, 0, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_bytes(stat), 4);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_MTIME), 1005);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_ATIME), 1000);
	assert_int_equal(dwarfs_inode_stat(image, 3, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_bytes(stat), 7);
	dwarfs_stat_free(stat);
}

static void links_are_counted_where_they_are_not_stored(void **state)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_stat *stat = NULL;

	metadata.options.inodes_have_nlink = false;
	image = open_metadata(&craft, &metadata);
	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_inode_stat(image, 4, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_nlink(stat), 2);
	assert_int_equal(dwarfs_inode_stat(image, 5, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_nlink(stat), 1);
	assert_int_equal(dwarfs_inode_stat(image, 1, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_nlink(stat), 1);
	dwarfs_stat_free(stat);
}

static void expect_walk(const dwarfs_image *image, dwarfs_entry start, int order,
			const char *const *paths)
{
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;

	assert_int_equal(dwarfs_walk_new(image, start, order, &walk, NULL), 0);
	for (; *paths; paths++) {
		uint32_t depth = **paths != '\0';

		for (const char *at = *paths; *at; at++)
			depth += *at == '/';
		assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
		assert_string_equal(dwarfs_walk_path(walk), *paths);
		assert_int_equal(dwarfs_walk_depth(walk), depth);
		if (start == DWARFS_ROOT) {
			dwarfs_entry found;

			assert_int_equal(dwarfs_find(image, *paths, &found, NULL), 0);
			assert_int_equal(found, entry);
		}
	}
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 0);
	dwarfs_walk_free(walk);
}

static void walks_go_in_their_order(void **state)
{
	static const char *const in_tree[] = {
		"",	     "dir",  "dir/deep", "dir/deep/file", "dir/link",
		"dir/other", "fifo", "file",	 "null",	  NULL
	};
	/* "other" stands before "file" in the block. */
	static const char *const in_data[] = { "",	    "dir",	     "dir/deep",
					       "dir/link",  "fifo",	     "null",
					       "dir/other", "dir/deep/file", "file",
					       NULL };
	static const char *const below[] = { "",     "deep",  "deep/file",
					     "link", "other", NULL };
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);

	expect_walk(image, 0, DWARFS_WALK_TREE, in_tree);
	expect_walk(image, 0, DWARFS_WALK_DATA, in_data);
	expect_walk(image, 1, DWARFS_WALK_TREE, below);
}

static void directories_can_be_skipped(void **state)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;

	assert_int_equal(dwarfs_walk_new(image, 0, 0, &walk, NULL), 0);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	assert_string_equal(dwarfs_walk_path(walk), "dir");
	dwarfs_walk_skip(walk);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	assert_string_equal(dwarfs_walk_path(walk), "fifo");
	dwarfs_walk_skip(walk); /* no directory: without effect */
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	assert_string_equal(dwarfs_walk_path(walk), "file");
	dwarfs_walk_free(walk);
}

/* -- no trees ------------------------------------------------------------------------ */

/* Both orders end with an error, stay there, and the check says the same. */
static void expect_no_tree(const dwarfs_image *image)
{
	craft_expect_end(120);
	for (int order = DWARFS_WALK_TREE; order <= DWARFS_WALK_DATA; order++) {
		auto_error dwarfs_error *err = NULL;
		dwarfs_walk *walk = NULL;
		dwarfs_entry entry;
		uint64_t steps = 0;
		int ret;

		assert_int_equal(dwarfs_walk_new(image, 0, order, &walk, NULL), 0);
		while ((ret = dwarfs_walk_next(walk, &entry, &err)) > 0)
			assert_true(steps++ < dwarfs_image_entry_count(image));
		assert_int_equal(ret, DWARFS_ERR_CORRUPT);
		assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_CORRUPT);
		/* Whoever goes on all the same comes to an end, too. */
		steps = 0;
		while ((ret = dwarfs_walk_next(walk, &entry, NULL)) != 0 &&
		       steps++ < 2 * (uint64_t)dwarfs_image_entry_count(image))
			dwarfs_walk_path(walk);
		if (order == DWARFS_WALK_DATA)
			assert_int_equal(ret, DWARFS_ERR_CORRUPT);
		dwarfs_walk_free(walk);
	}
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_METADATA, NULL, NULL,
					    NULL, NULL, NULL),
			 DWARFS_ERR_CORRUPT);
	craft_expect_end(0);
}

/* Entry: which inode it names instead. */
static void expect_corrupt_with(size_t entry, uint32_t inode)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	struct freeze_entry entries[COUNT(tree_entries)];
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_inode parent;

	memcpy(entries, tree_entries, sizeof(entries));
	entries[entry].inode_num = inode;
	metadata.dir_entries.data = entries;
	image = open_metadata(&craft, &metadata);
	expect_no_tree(image);
	assert_int_equal(dwarfs_dir_parent(image, 1, &parent, NULL), DWARFS_ERR_CORRUPT);
}

static void circles_end(void **state)
{
	expect_corrupt_with(1, 0); /* /dir is the root */
	expect_corrupt_with(5, 1); /* /dir/deep is /dir */
	expect_corrupt_with(5, 0); /* /dir/deep is the root */
	expect_corrupt_with(8, 2); /* /dir/deep/file is /dir/deep */
	expect_corrupt_with(8, 0);
	expect_corrupt_with(8, 15); /* there is no such inode */
}

/* Each directory names the next one twice: 2^N paths. */
static void a_tree_that_doubles_ends(void **state)
{
	enum { DIRS = 60, ENTRIES = 2 * DIRS };
	static const struct span two_names[] = { TEXT("a"), TEXT("b") };
	struct freeze_directory directories[DIRS + 2];
	struct freeze_entry entries[ENTRIES + 1] = { { 0 } };
	struct freeze_inode inodes[DIRS + 1] = { { 0 } };
	const uint32_t nothing[] = { 0 };
	struct freeze_metadata metadata = {
		.directories = TABLE(directories, DIRS + 2),
		.inodes = TABLE(inodes, DIRS + 1),
		.chunk_table = TABLE(nothing, 1),
		.modes = TABLE(modes, 1),
		.names = TABLE(two_names, 2),
		.block_size = 1024,
		.has_dir_entries = true,
		.dir_entries = TABLE(entries, ENTRIES + 1),
	};
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	for (uint32_t i = 0; i < DIRS; i++) {
		directories[i] = (struct freeze_directory){ i ? 2 * i - 1 : 0, 1 + 2 * i,
							    i ? 2 * i - 1 : 0 };
		entries[1 + 2 * i] = (struct freeze_entry){ 0, i + 1 };
		entries[2 + 2 * i] = (struct freeze_entry){ 1, i + 1 };
	}
	directories[DIRS] = directories[DIRS + 1] =
		(struct freeze_directory){ 2 * DIRS - 1, ENTRIES + 1, 2 * DIRS - 1 };
	directories[DIRS + 1].parent_entry = directories[DIRS + 1].self_entry = 0;
	image = open_metadata(&craft, &metadata);
	expect_no_tree(image);
}

/* Every second directory has all entries: looking at each would take for ever. */
static void directories_that_share_entries_end(void **state)
{
	enum { DIRS = 100000 };
	auto_free struct freeze_directory *directories =
		calloc(DIRS + 1, sizeof(*directories));
	auto_free struct freeze_entry *entries = calloc(DIRS, sizeof(*entries));
	auto_free struct freeze_inode *inodes = calloc(DIRS, sizeof(*inodes));
	static const struct span one_name[] = { TEXT("a") };
	const uint32_t nothing[] = { 0 };
	struct freeze_metadata metadata = {
		.directories = TABLE(directories, DIRS + 1),
		.inodes = TABLE(inodes, DIRS),
		.chunk_table = TABLE(nothing, 1),
		.modes = TABLE(modes, 1),
		.names = TABLE(one_name, 1),
		.block_size = 1024,
		.has_dir_entries = true,
		.dir_entries = TABLE(entries, DIRS),
	};
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_inode parent;

	for (uint32_t i = 0; i < DIRS; i++) {
		directories[i].first_entry = i % 2 ? DIRS : 1;
		entries[i].inode_num = DIRS - 1; /* after all its parents */
	}
	directories[DIRS].first_entry = DIRS;
	image = open_metadata(&craft, &metadata);
	craft_expect_end(60);
	assert_int_equal(dwarfs_dir_parent(image, 1, &parent, NULL), DWARFS_ERR_CORRUPT);
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_METADATA, NULL, NULL,
					    NULL, NULL, NULL),
			 DWARFS_ERR_CORRUPT);
	craft_expect_end(0);
}

/* A file of many chunks with many names is checked in one pass. */
static void many_names_of_a_large_file(void **state)
{
	enum { NAMES = 60000, CHUNKS = 60000 };
	auto_free struct freeze_entry *entries = calloc(NAMES + 1, sizeof(*entries));
	auto_free struct freeze_chunk *chunks = calloc(CHUNKS, sizeof(*chunks));
	auto_free struct span *names = calloc(NAMES, sizeof(*names));
	auto_free char *text = calloc(NAMES, 8);
	const struct freeze_directory directories[] = { { 0, 1, 0 },
							{ 0, NAMES + 1, 0 } };
	const uint32_t two_modes[] = { 0040755, 0100644 }, table[] = { 0, CHUNKS };
	const struct freeze_inode inodes[] = { { .mode_index = 0 }, { .mode_index = 1 } };
	struct freeze_metadata metadata = {
		.chunks = TABLE(chunks, CHUNKS),
		.directories = TABLE(directories, 2),
		.inodes = TABLE(inodes, 2),
		.chunk_table = TABLE(table, 2),
		.modes = TABLE(two_modes, 2),
		.names = TABLE(names, NAMES),
		.block_size = 1024,
		.has_dir_entries = true,
		.dir_entries = TABLE(entries, NAMES + 1),
	};
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(text + i * 8, 8, "%06u", i);
		names[i] = (struct span){ (const uint8_t *)text + i * 8, 6 };
		entries[i + 1] = (struct freeze_entry){ i, 1 };
	}
	for (uint32_t i = 0; i < CHUNKS; i++)
		chunks[i] = (struct freeze_chunk){ 0, i % 10, 1 };
	image = open_metadata(&craft, &metadata);
	craft_expect_end(60);
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL,
					    NULL, NULL, NULL),
			 0);
	craft_expect_end(0);
}

/* -- names and counts ---------------------------------------------------------------- */

static int open_changed(const struct freeze_metadata *metadata, int *name_out,
			int *check_out)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	char name[DWARFS_NAME_ROOM];
	int ret;

	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, "firstother", 10);
	craft_metadata(&craft, metadata);
	ret = craft_try(craft.bytes.data, craft.bytes.size, NULL, &image, NULL);
	if (ret < 0)
		return ret;
	*name_out = dwarfs_entry_name(image, 3, name, sizeof(name), NULL, NULL);
	*check_out = dwarfs_image_check(image, DWARFS_CHECK_METADATA, NULL, NULL, NULL,
					NULL, NULL);
	return 0;
}

static void impossible_names_are_refused(void **state)
{
	static char long_name[256];
	struct {
		struct span name;
		int expected;
	} cases[] = {
		{ TEXT("g"), 0 },
		{ TEXT(""), DWARFS_ERR_CORRUPT },
		{ TEXT("."), DWARFS_ERR_CORRUPT },
		{ TEXT(".."), DWARFS_ERR_CORRUPT },
		{ TEXT("g/x"), DWARFS_ERR_CORRUPT },
		{ TEXT("g\0x"), DWARFS_ERR_CORRUPT },
		{ TEXT("\xff\xfe"), 0 },
		{ { (const uint8_t *)long_name, 255 }, 0 },
		{ { (const uint8_t *)long_name, 256 }, DWARFS_ERR_CORRUPT },
	};

	memset(long_name, 'g', sizeof(long_name));
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct freeze_metadata metadata = tree();
		struct span names[COUNT(tree_names)];
		int name = 1, check = 1;

		memcpy(names, tree_names, sizeof(names));
		names[3] = cases[i].name; /* was "file" */
		metadata.names.data = names;
		assert_int_equal(open_changed(&metadata, &name, &check), 0);
		assert_int_equal(name, cases[i].expected);
		/* "\xff\xfe" is a name, but does not stand where it should. */
		if (cases[i].name.data[0] != 0xff)
			assert_int_equal(check, cases[i].expected);
		else
			assert_int_equal(check, DWARFS_ERR_CORRUPT);
	}
}

static void targets_that_are_too_long_are_refused(void **state)
{
	static char target[5000];

	memset(target, 't', sizeof(target));
	for (size_t size = 4095; size < 4099; size++) {
		struct span targets[] = { { (const uint8_t *)target, size } };
		auto_craft struct craft craft = { 0 };
		struct freeze_metadata metadata = tree();
		auto_test_image dwarfs_image *image = NULL;
		char text[6000];
		dwarfs_stat *stat = NULL;
		int expected = size <= 4096 ? 0 : DWARFS_ERR_CORRUPT;

		metadata.symlinks.data = targets;
		image = open_metadata(&craft, &metadata);
		assert_int_equal(
			dwarfs_link_read(image, 3, text, DWARFS_LINK_ROOM, NULL, NULL),
			expected);
		assert_int_equal(
			dwarfs_link_read(image, 3, text, sizeof(text), NULL, NULL),
			expected);
		assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
		assert_int_equal(dwarfs_inode_stat(image, 3, stat, NULL), expected);
		dwarfs_stat_free(stat);
	}
}

static void counts_that_contradict_each_other_are_refused(void **state)
{
	static const struct span features[] = { TEXT("sparsefiles") };
	static const struct span unknown[] = { TEXT("time-travel") };
	static const uint32_t many_modes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };

	for (int i = 0;; i++) {
		struct freeze_metadata metadata = tree();
		int expected = DWARFS_ERR_CORRUPT, name, check;

		switch (i) {
		case 0:
			metadata.inodes.count -= 2;
			break; /* fifo and device */
		case 1:
			metadata.directories.count--;
			break;
		case 2:
			metadata.directories.count = 0;
			break;
		case 3:
			metadata.chunk_table.count--;
			break;
		case 4:
			metadata.chunk_table.count = 0;
			break;
		case 5:
			metadata.symlink_table.count = 0;
			break;
		case 6:
			metadata.devices.count = 0;
			break;
		case 7:
			metadata.has_devices = false;
			break;
		case 8:
			metadata.dir_entries.count = 0;
			break;
		case 9:
			metadata.dir_entries.count = 7;
			break;
		case 10:
			metadata.modes.count = 0;
			break;
		case 11: /* of the device and the fifo: this costs no contents */
			metadata.modes.count = 3;
			expected = 0;
			break;
		case 12:
			metadata.modes = (struct table)TABLE(many_modes, 9);
			break;
		case 13:
			metadata.block_size = 1000;
			break;
		case 14:
			metadata.block_size = 0;
			break;
		case 15:
			metadata.names.count = 50;
			metadata.names.data = NULL;
			break;
		case 16:
			metadata.has_features = true;
			metadata.features = (struct table)TABLE(features, 1);
			break;
		case 17:
			metadata.has_hole_block_index = true;
			break;
		case 18:
			metadata.has_features = true;
			metadata.features = (struct table)TABLE(unknown, 1);
			expected = DWARFS_ERR_UNSUPPORTED;
			break;
		case 19:
			metadata.options.has_time_resolution_sec = true;
			expected = 0;
			break; /* of zero seconds */
		case 20:
			metadata.options.has_subsecond_multiplier = true;
			metadata.options.subsecond_multiplier = 1000000000;
			expected = 0;
			break;
		case 21:
			metadata.inodes.count = 0;
			break;
		default:
			return;
		}
		if (i == 15) { /* more names than entries */
			static struct span names[50];

			for (size_t k = 0; k < 50; k++)
				names[k] = (struct span)TEXT("x");
			metadata.names.data = names;
		}
		check = 0;
		if (open_changed(&metadata, &name, &check) != expected)
			fail_msg("case %d is opened", i);
		if (expected == 0)
			assert_int_equal(check, DWARFS_ERR_CORRUPT);
	}
}

/* Entries of one bit cannot name so many inodes: what is allocated for those would have
 * nothing to do with the bytes there are. */
static void more_inodes_than_entries_can_name(void **state)
{
	enum { ENTRIES = 1000 };
	static struct freeze_entry entries[ENTRIES];
	static struct freeze_inode inodes[ENTRIES];
	static const struct freeze_directory directories[] = { { 0, 1, 0 },
							       { 0, ENTRIES, 0 } };

	static const uint32_t two_modes[] = { 0040755, 0010600 }, nothing[] = { 0 };

	for (uint32_t i = 1; i < ENTRIES; i++)
		inodes[i].mode_index = 1;
	for (uint32_t bits = 1; bits < 14; bits++) {
		struct freeze_metadata metadata = {
			.directories = TABLE(directories, 2),
			.inodes = TABLE(inodes, ENTRIES),
			.chunk_table = TABLE(nothing, 1),
			.modes = TABLE(two_modes, 2),
			.names = TABLE(tree_names, COUNT(tree_names)),
			.block_size = 1024,
			.has_dir_entries = true,
			.dir_entries = TABLE(entries, ENTRIES),
		};
		int name, check;

		entries[1].inode_num = (1u << bits) - 1;
		assert_int_equal(open_changed(&metadata, &name, &check),
				 bits < 10 ? DWARFS_ERR_CORRUPT : 0);
		if (bits >= 10) /* all the same, most inodes have no name */
			assert_int_equal(check, DWARFS_ERR_CORRUPT);
	}
}

/* Tables that are wrong, but not in their sizes: opened, and found by the check. */
static void broken_rules_are_found(void **state)
{
	for (int i = 0;; i++) {
		struct freeze_metadata metadata = tree();
		struct freeze_inode inodes[COUNT(tree_inodes)];
		struct freeze_entry entries[COUNT(tree_entries)];
		struct freeze_directory directories[COUNT(tree_directories)];
		uint32_t table[COUNT(tree_chunk_table)];
		int name, check = 1;

		memcpy(inodes, tree_inodes, sizeof(inodes));
		memcpy(entries, tree_entries, sizeof(entries));
		memcpy(directories, tree_directories, sizeof(directories));
		memcpy(table, tree_chunk_table, sizeof(table));
		metadata.inodes.data = inodes;
		metadata.dir_entries.data = entries;
		metadata.directories.data = directories;
		metadata.chunk_table.data = table;
		switch (i) {
		case 0:
			inodes[4].owner_index = 2;
			break;
		case 1:
			inodes[4].group_index = 9;
			break;
		case 2:
			metadata.options.has_subsecond_multiplier = true;
			metadata.options.subsecond_multiplier = 1000;
			inodes[5].mtime_subsec = 1000000;
			break;
		case 3:
			inodes[5].nlink_minus_one = UINT32_MAX;
			break;
		case 4:
			entries[2].name_index = 7;
			break;
		case 5:
			entries[2].inode_num = 4;
			break; /* nobody names the fifo */
		case 6:
			entries[8].inode_num = 6;
			break; /* a device with two names */
		case 7:
			entries[0].inode_num = 4;
			break; /* the root is a file */
		case 8:
			directories[0].first_entry = 0;
			break;
		case 9:
			directories[0].first_entry = 2;
			break;
		case 10:
			directories[3].first_entry = 8;
			break;
		case 11:
			directories[1].first_entry = 9;
			break;
		case 12:
			directories[2].parent_entry = 5;
			break;
		case 13:
			directories[2].self_entry = 1;
			break;
		case 14:
			directories[0].parent_entry = 1;
			break;
		case 15:
			entries[2].name_index = 3;
			entries[3].name_index = 2;
			break;
		case 16:
			entries[2].name_index = 3;
			break; /* a name twice */
		case 17:
			table[1] = 2;
			table[2] = 1;
			break;
		case 18:
			table[0] = 1;
			break;
		case 19:
			table[2] = 3;
			break;
		case 20:
			table[2] = 1;
			break;
		case 21:
			metadata.symlinks.count = 0;
			break;
		default:
			return;
		}
		assert_int_equal(open_changed(&metadata, &name, &check), 0);
		if (check != DWARFS_ERR_CORRUPT)
			fail_msg("case %d is not found", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tree_is_sound),
		cmocka_unit_test(paths_are_found),
		cmocka_unit_test(links_are_read),
		cmocka_unit_test(attributes_are_right),
		cmocka_unit_test(links_are_counted_where_they_are_not_stored),
		cmocka_unit_test(walks_go_in_their_order),
		cmocka_unit_test(directories_can_be_skipped),
		cmocka_unit_test(circles_end),
		cmocka_unit_test(a_tree_that_doubles_ends),
		cmocka_unit_test(directories_that_share_entries_end),
		cmocka_unit_test(many_names_of_a_large_file),
		cmocka_unit_test(impossible_names_are_refused),
		cmocka_unit_test(targets_that_are_too_long_are_refused),
		cmocka_unit_test(counts_that_contradict_each_other_are_refused),
		cmocka_unit_test(more_inodes_than_entries_can_name),
		cmocka_unit_test(broken_rules_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
