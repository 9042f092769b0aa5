/* SPDX-License-Identifier: MIT */
/*
 * write/input/entry_import: the effect of options on an entry, and hard links.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/input/entry_import.h"
#include "write/builder.h"

struct lab {
	struct tree tree;
	struct build_options options;
	struct build_run run;
	uint64_t counts[DW_COUNT_KINDS];
	struct entry_import import;
};

static void begin(struct lab *lab)
{
	*lab = (struct lab){ .options = { .umask = 0 } };
	lab->run = (struct build_run){ .options = &lab->options,
				       .counts = lab->counts,
				       .root_path = "/somewhere" };
	assert_int_equal(dwarfs_context_new(&lab->run.context, NULL), 0);
	lab->import = (struct entry_import){ .run = &lab->run, .tree = &lab->tree };
}

static void end(struct lab *lab)
{
	dw_entry_import_free(&lab->import);
	dw_tree_free(&lab->tree);
	dwarfs_context_free(lab->run.context);
}

static struct found_entry found_of(uint32_t mode, uint64_t size)
{
	return (struct found_entry){
		.path = "d/x",
		.stat = { .mode = mode,
			  .size = size,
			  .links = 1,
			  .rdev = 0x501,
			  .uid = 1,
			  .gid = 2 },
	};
}

static uint32_t import_one(struct lab *lab, const struct found_entry *found)
{
	uint32_t inode = 99;

	assert_int_equal(dw_entry_import_one(&lab->import, found, &inode, NULL), 0);
	return inode;
}

static uint32_t import_mode(struct lab *lab, uint32_t mode, uint64_t size)
{
	struct found_entry found = found_of(mode, size);

	return import_one(lab, &found);
}

static uint64_t size_of(struct lab *lab, uint32_t mode, uint64_t size)
{
	uint32_t inode = import_mode(lab, mode, size);

	return lab->tree.inodes[inode].size;
}

static void sizes_are_those_of_the_kind(void **state)
{
	struct found_entry link = found_of(0120777, 3);
	struct lab lab;

	begin(&lab);
	lab.import.devices = lab.import.specials = true;
	link.target = (struct span){ (const uint8_t *)"to", 2 };
	assert_int_equal(size_of(&lab, 0100644, 7), 7);
	assert_int_equal(size_of(&lab, 0040755, 4096), 0);
	assert_int_equal(size_of(&lab, 0020644, 9), 0x501);
	assert_int_equal(size_of(&lab, 0010644, 9), 0);
	assert_int_equal(import_one(&lab, &link), 4);
	assert_int_equal(lab.tree.inodes[4].size, 0);
	assert_int_equal(lab.tree.targets.count, 1);
	assert_int_equal(lab.counts[DWARFS_COUNT_FILES], 1);
	assert_int_equal(lab.counts[DWARFS_COUNT_DIRECTORIES], 1);
	assert_int_equal(lab.counts[DWARFS_COUNT_DEVICES], 1);
	assert_int_equal(lab.counts[DWARFS_COUNT_SPECIALS], 1);
	assert_int_equal(lab.counts[DWARFS_COUNT_LINKS], 1);
	assert_int_equal(lab.counts[DWARFS_COUNT_BYTES_IN], 7);
	end(&lab);
}

static void devices_and_specials_are_skipped(void **state)
{
	struct lab lab;

	begin(&lab);
	assert_int_equal(import_mode(&lab, 0020644, 0), DW_NONE);
	assert_int_equal(import_mode(&lab, 0060644, 0), DW_NONE);
	assert_int_equal(import_mode(&lab, 0010644, 0), DW_NONE);
	assert_int_equal(import_mode(&lab, 0140644, 0), DW_NONE);
	assert_int_equal(import_mode(&lab, 0170644, 0), DW_NONE);
	assert_int_equal(lab.counts[DWARFS_COUNT_SKIPPED], 5);
	assert_int_equal(lab.tree.inode_count, 0);
	end(&lab);
}

/* More of them than the first table has slots. */
static void hard_links_have_one_inode(void **state)
{
	struct found_entry found = found_of(0100644, 10);
	struct lab lab;

	begin(&lab);
	found.stat.links = 2;
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 3000; i++) {
			found.stat.inode = 1 + i / 2;
			found.stat.device = i % 2;
			assert_int_equal(import_one(&lab, &found), i);
		}
	}
	assert_int_equal(lab.counts[DWARFS_COUNT_HARDLINKS], 3000);
	assert_int_equal(lab.counts[DWARFS_COUNT_FILES], 6000);
	assert_int_equal(lab.counts[DWARFS_COUNT_BYTES_IN], 30000);
	found.stat.links = 1; /* its inode number is ignored */
	assert_int_equal(import_one(&lab, &found), 3000);
	end(&lab);
}

static void owners_are_replaced(void **state)
{
	struct lab lab;
	uint32_t inode;

	begin(&lab);
	inode = import_mode(&lab, 0100644, 0);
	assert_int_equal(lab.tree.inodes[inode].uid, 1);
	assert_int_equal(lab.tree.inodes[inode].gid, 2);
	lab.options.set_uid = true;
	lab.options.uid = 77;
	inode = import_mode(&lab, 0100644, 0);
	assert_int_equal(lab.tree.inodes[inode].uid, 77);
	assert_int_equal(lab.tree.inodes[inode].gid, 2);
	end(&lab);
}

static int answer(const dwarfs_input *input, dwarfs_error **err, void *user)
{
	assert_string_equal(input->path, "d/x");
	assert_int_equal(input->size, 7);
	if (*(int *)user < 0)
		return dwarfs_error_set(err, *(int *)user, 0, "it is unknown");
	return *(int *)user;
}

static void a_callback_takes_or_leaves_or_cancels(void **state)
{
	struct found_entry found = found_of(0100644, 7);
	auto_error dwarfs_error *err = NULL;
	struct lab lab;
	uint32_t inode;
	int value = 0;

	begin(&lab);
	lab.options.input.include = answer;
	lab.options.input.include_user = &value;
	assert_int_equal(import_one(&lab, &found), DW_NONE);
	value = 1;
	assert_int_equal(import_one(&lab, &found), 0);
	value = 2;
	assert_int_equal(dw_entry_import_one(&lab.import, &found, &inode, &err),
			 DWARFS_ERR_CANCELLED);
	value = DWARFS_ERR_ACCESS;
	assert_int_equal(dw_entry_import_one(&lab.import, &found, &inode, &err),
			 DWARFS_ERR_ACCESS);
	assert_string_equal(dwarfs_error_message(err), "it is unknown");
	end(&lab);
}

static void the_sum_of_sizes_is_limited(void **state)
{
	struct found_entry found = found_of(0100644, INT64_MAX);
	struct lab lab;
	uint32_t inode;

	begin(&lab);
	import_one(&lab, &found);
	found.stat.size = 1;
	assert_int_equal(dw_entry_import_one(&lab.import, &found, &inode, NULL),
			 DWARFS_ERR_RANGE);
	end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_those_of_the_kind),
		cmocka_unit_test(devices_and_specials_are_skipped),
		cmocka_unit_test(hard_links_have_one_inode),
		cmocka_unit_test(owners_are_replaced),
		cmocka_unit_test(a_callback_takes_or_leaves_or_cancels),
		cmocka_unit_test(the_sum_of_sizes_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
