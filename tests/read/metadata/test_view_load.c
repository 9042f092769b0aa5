/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/view_load: sizes of tables that contradict each other.
 */
#include "read/tree.h"

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
		case 11: /* of the device and the fifo: contents stay readable */
			metadata.modes.count = 3;
			expected = 0;
			break;
		case 12:
			metadata.modes = (struct freeze_table)TABLE(many_modes, 9);
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
			metadata.features = (struct freeze_table)TABLE(features, 1);
			break;
		case 17:
			metadata.has_hole_block_index = true;
			break;
		case 18:
			metadata.has_features = true;
			metadata.features = (struct freeze_table)TABLE(unknown, 1);
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

/* Entries of one bit cannot name this many inodes: the memory allocated for these would
 * not be bounded by the size of the image. */
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
		if (bits >= 10) /* still, most inodes have no name */
			assert_int_equal(check, DWARFS_ERR_CORRUPT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_that_contradict_each_other_are_refused),
		cmocka_unit_test(more_inodes_than_entries_can_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
