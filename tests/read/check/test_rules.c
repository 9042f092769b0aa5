/* SPDX-License-Identifier: MIT */
/*
 * read/check/rules: tables with valid sizes that violate the rules of the format.
 */
#include <stdio.h>

#include "read/tree.h"

/* Invalid tables with valid sizes: the image opens, and the check reports them. */
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
			break; /* no entry names the fifo */
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

/* A file of many chunks with many names is checked in one pass. */
static void many_names_of_a_large_file(void **state)
{
	enum { NAMES = 60000, CHUNKS = 60000 };
	auto_free struct freeze_entry *entries = dw_calloc(NAMES + 1, sizeof(*entries));
	auto_free struct freeze_chunk *chunks = dw_calloc(CHUNKS, sizeof(*chunks));
	auto_free struct span *names = dw_calloc(NAMES, sizeof(*names));
	auto_free char *text = dw_calloc(NAMES, 8);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_rules_are_found),
		cmocka_unit_test(many_names_of_a_large_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
