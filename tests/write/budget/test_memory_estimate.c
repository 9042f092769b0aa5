/* SPDX-License-Identifier: MIT */
/*
 * write/budget/memory_estimate: the counts of a tree, and the quantities that the bounds
 * grow with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/memory_size.h"
#include "write/budget/memory_estimate.h"
#include "write/input/source.h"
#include "write/order/auto/file_heads.h"
#include "write/order/auto/sketch.h"
#include "write/segment/segment.h"

static void files_of_the_tree_and_beyond_are_counted(void **state)
{
	struct tree_inode inodes[] = { { .mode = 0040755, .size = 4096 },
				       { .mode = 0100644, .size = 100 },
				       { .mode = 0100644, .size = 0 },
				       { .mode = 0100644, .size = KEPT_FILE_BYTES },
				       { .mode = 0100644, .size = KEPT_FILE_BYTES + 1 },
				       { .mode = 0120777, .size = 9 } };
	struct tree tree = { .inodes = inodes, .inode_count = 6, .entry_count = 7 };
	struct build_options options = { .keep_birth_times = true };
	struct build_run run = { .options = &options, .base_bytes = 5 };
	struct workload workload = dw_workload_of_tree(&run, &tree);

	assert_int_equal(workload.base, 5);
	assert_int_equal(workload.entries, 7);
	assert_int_equal(workload.inodes, 6);
	assert_int_equal(workload.files, 3);
	assert_int_equal(workload.contents, 3);
	assert_int_equal(workload.fragments, 3);
	assert_int_equal(workload.small_bytes, 100 + KEPT_FILE_BYTES);
	assert_int_equal(workload.bytes, 100 + 2 * KEPT_FILE_BYTES + 1);
	assert_true(workload.all_times);
	run.excess = (struct excess){ .entries = 10,
				      .files = 4,
				      .name_bytes = 50,
				      .bytes = 1000,
				      .small_bytes = 300 };
	workload = dw_workload_of_tree(&run, &tree);
	assert_int_equal(workload.entries, 17);
	assert_int_equal(workload.inodes, 16);
	assert_int_equal(workload.names, 10);
	assert_int_equal(workload.name_bytes, 50);
	assert_int_equal(workload.contents, 7);
	assert_int_equal(workload.bytes, 1100 + 2 * KEPT_FILE_BYTES + 1);
}

static void equal_files_are_counted_once_after_inspection(void **state)
{
	struct workload workload = {
		.files = 9, .contents = 9, .fragments = 9, .bytes = 1000
	};
	struct fragment fragments[] = { { .size = 10 }, { .size = 20 }, { .size = 30 } };
	struct contents contents = { .count = 2,
				     .fragments = fragments,
				     .fragment_count = 3 };

	dw_workload_refine(&workload, &contents);
	assert_int_equal(workload.files, 9);
	assert_int_equal(workload.contents, 2);
	assert_int_equal(workload.fragments, 3);
	assert_int_equal(workload.bytes, 60);
}

static void bounds_grow_with_the_input(void **state)
{
	struct workload none = { 0 }, times = { .inodes = 1000, .all_times = true };
	struct workload inodes = { .inodes = 1000 }, names = { .name_bytes = 1000 };
	uint64_t base = dw_estimate_records(&none);

	none.base = 77;
	assert_int_equal(dw_estimate_records(&none), base + 77);
	none.base = 0;
	assert_true(dw_estimate_records(&inodes) >=
		    base + 1000 * sizeof(struct tree_inode));
	assert_true(dw_estimate_records(&times) >=
		    dw_estimate_records(&inodes) + 1000 * sizeof(struct tree_times));
	assert_true(dw_estimate_records(&names) >= base + 1000);
	assert_true(dw_estimate_metadata(&names, 0) >=
		    dw_estimate_records(&names) + 2000);
	assert_true(dw_estimate_frozen(&names) > dw_estimate_records(&names));
	assert_true(dw_estimate_frozen(&names) < dw_estimate_metadata(&names, 0));
	assert_true(dw_estimate_metadata(&none, 1000) >=
		    dw_estimate_metadata(&none, 0) + 1000 * sizeof(struct chunk));
}

static void readers_and_categories_need_memory(void **state)
{
	struct build_options options = { 0 };
	struct workload workload = { .files = 1000 };
	uint64_t one = dw_estimate_reading(&options, &workload, 1);

	assert_int_equal(dw_estimate_reading(&options, &workload, 0), one);
	assert_true(dw_estimate_reading(&options, &workload, 4) >= one + (3 << 20));
	options.categorize.count = 1;
	options.categorize.list[0] = CATEGORIZER_HOTNESS;
	assert_true(dw_estimate_reading(&options, &workload, 1) >= one + 64000);
}

/* The number of shingles is bounded by the number of bytes. */
static void a_sketch_is_bounded_by_the_bytes(void **state)
{
	struct workload workload = { .fragments = 100, .bytes = 32000 };
	uint64_t without = dw_estimate_order(&workload, 0, false);
	uint64_t sketch = dw_estimate_order(&workload, 1000, false);

	assert_true(sketch >= without + 1000 * SKETCH_BYTES_PER_SHINGLE);
	assert_int_equal(dw_estimate_order(&workload, 1 << 20, false), sketch);
	assert_int_equal(dw_estimate_order(&workload, 0, true),
			 without + 100 * HEADS_PER_FRAGMENT);
}

static void a_growing_tree_is_checked_now_and_then(void **state)
{
	struct build_options options = { .memory_limit = 1 };
	struct build_run run = { .options = &options };
	struct tree tree = { .entry_count = 1 };

	assert_false(dw_estimate_exceeds_limit(&run, &tree));
	tree.entry_count = 1 << 16;
	assert_true(dw_estimate_exceeds_limit(&run, &tree));
	options.memory_limit = UINT64_C(1) << 40;
	assert_false(dw_estimate_exceeds_limit(&run, &tree));
	options.memory_limit = 0;
	assert_false(dw_estimate_exceeds_limit(&run, &tree));
}

/* A program that takes 7 MiB on one run and a little more on another has the same limit. */
static void a_small_program_has_one_base(void **state)
{
	(void)state;
	if (dw_os_resident_bytes() > 8 << 20)
		skip(); /* with a sanitizer or an emulator */
	assert_int_equal(dw_estimate_base(), 9 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_the_tree_and_beyond_are_counted),
		cmocka_unit_test(equal_files_are_counted_once_after_inspection),
		cmocka_unit_test(bounds_grow_with_the_input),
		cmocka_unit_test(readers_and_categories_need_memory),
		cmocka_unit_test(a_sketch_is_bounded_by_the_bytes),
		cmocka_unit_test(a_growing_tree_is_checked_now_and_then),
		cmocka_unit_test(a_small_program_has_one_base),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
