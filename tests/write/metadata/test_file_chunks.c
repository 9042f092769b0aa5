/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/file_chunks: chunks, holes, shared files, sizes, and the sums of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "support/small_tables.h"

static void fill(struct small_tables *all)
{
	assert_int_equal(dw_tables_number(&all->tables, NULL), 0);
	assert_int_equal(dw_tables_fill_files(&all->tables, NULL), 0);
}

static void chunks_are_in_the_order_of_the_files(void **state)
{
	static const uint32_t table[] = { 0, 2, 3, 4, 5 };
	static const uint32_t blocks[] = { 0, SMALL_BLOCKS, 1, 2, 0 };
	struct small_tables *all = small_tables_new();
	const struct freeze_metadata *out = &all->tables.out;
	const struct freeze_chunk *chunks;

	fill(all);
	chunks = out->chunks.data;
	assert_int_equal(out->chunks.count, 5);
	assert_int_equal(out->chunk_table.count, 5);
	assert_memory_equal(out->chunk_table.data, table, sizeof(table));
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(chunks[i].block, blocks[i]);
	assert_int_equal(chunks[0].offset, 100);
	assert_int_equal(chunks[0].size, 70);
	assert_int_equal(chunks[4].offset, 0);
	assert_int_equal(chunks[4].size, 100);
	small_tables_free(all);
}

static void packed_tables_are_counts(void **state)
{
	static const uint32_t table[] = { 0, 2, 1, 1, 1 };
	struct small_tables *all = small_tables_new();
	const struct freeze_metadata *out = &all->tables.out;

	all->tables.packing =
		(struct build_packing){ .chunk_table = true, .shared_files = true };
	fill(all);
	assert_memory_equal(out->chunk_table.data, table, sizeof(table));
	assert_int_equal(out->shared_files_table.count, 1);
	/* files that share contents, beyond two */
	assert_int_equal(*(const uint32_t *)out->shared_files_table.data, 0);
	small_tables_free(all);
}

static void shared_files_refer_to_their_contents(void **state)
{
	struct small_tables *all = small_tables_new();
	const struct freeze_metadata *out = &all->tables.out;
	const uint32_t *shared;

	fill(all);
	shared = out->shared_files_table.data;
	assert_true(out->has_shared_files_table);
	assert_int_equal(out->shared_files_table.count, 2);
	assert_int_equal(shared[0], 0);
	assert_int_equal(shared[1], 0);
	small_tables_free(all);
}

static void short_holes_are_in_the_chunk(void **state)
{
	struct small_tables *all = small_tables_new();
	const struct freeze_metadata *out = &all->tables.out;
	const struct freeze_chunk *chunks;

	fill(all);
	chunks = out->chunks.data;
	assert_true(out->has_hole_block_index);
	assert_int_equal(out->hole_block_index, SMALL_BLOCKS);
	assert_int_equal(chunks[1].size, SMALL_HOLE_BYTES / 1024);
	assert_int_equal(chunks[1].offset, SMALL_HOLE_BYTES % 1024);
	assert_int_equal(out->large_hole_size.count, 0);
	assert_int_equal(out->features.count, 1);
	small_tables_free(all);
}

/* Chunks have at most 100 bytes, which takes 7 bits: a hole may have 2^17 - 1 bytes. */
static void long_holes_are_in_a_table(void **state)
{
	for (uint64_t more = 0; more < 2; more++) {
		struct small_tables *all = small_tables_new();
		const struct freeze_metadata *out = &all->tables.out;
		const struct freeze_chunk *chunks;

		all->chunks.list[2].size = (1 << 17) - 1 + more;
		fill(all);
		chunks = out->chunks.data;
		assert_int_equal(out->large_hole_size.count, more);
		assert_int_equal(chunks[1].offset == DW_LARGE_HOLE_OFFSET, more);
		if (more) {
			assert_int_equal(chunks[1].size, 0);
			assert_int_equal(*(const uint64_t *)out->large_hole_size.data,
					 1 << 17);
		}
		small_tables_free(all);
	}
}

static void without_holes_no_feature_is_needed(void **state)
{
	struct small_tables *all = small_tables_new();

	all->chunks.list[2] = (struct chunk){ 1, 30, 70 };
	all->contents.list[2].hole_bytes = 0;
	fill(all);
	assert_false(all->tables.out.has_hole_block_index);
	assert_false(all->tables.out.has_large_hole_size);
	assert_false(all->tables.out.has_total_allocated_fs_size);
	assert_true(all->tables.out.has_features);
	assert_int_equal(all->tables.out.features.count, 0);
	small_tables_free(all);
}

static void sums_are_over_inodes(void **state)
{
	struct small_tables *all = small_tables_new();
	const struct freeze_metadata *out = &all->tables.out;

	fill(all);
	assert_int_equal(out->total_fs_size, 100 + 100 + 50 + 5070 + 30 + 2);
	assert_int_equal(out->total_hardlink_size, 5070);
	assert_int_equal(out->total_allocated_fs_size, 100 + 100 + 50 + 70 + 30 + 2);
	assert_int_equal(all->counts[DWARFS_COUNT_BYTES_HOLES], SMALL_HOLE_BYTES);
	assert_int_equal(all->counts[DWARFS_COUNT_DUPLICATES], 1);
	assert_int_equal(all->counts[DWARFS_COUNT_BYTES_DUPLICATE], 100);
	assert_int_equal(all->counts[DWARFS_COUNT_CHUNKS], 5);
	small_tables_free(all);
}

/* h gets 128 chunks, of which 127 are the same. */
static void sizes_of_files_with_many_chunks_are_stored(void **state)
{
	for (uint32_t count = 127; count <= 128; count++) {
		struct small_tables *all = small_tables_new();
		const struct freeze_size_cache *cache =
			&all->tables.out.reg_file_size_cache;
		const struct freeze_pair64 *sizes, *allocated;
		struct chunks *chunks = &all->chunks;

		assert_int_equal(dw_grow(&chunks->list, &chunks->room, 5 + count, NULL),
				 0);
		for (uint32_t i = 0; i < count; i++)
			chunks->list[chunks->count++] = chunks->list[1];
		all->contents.fragments[2].first_chunk = 5;
		all->contents.fragments[2].chunk_count = count;
		fill(all);
		assert_true(all->tables.out.has_reg_file_size_cache);
		assert_int_equal(cache->min_chunk_count, 128);
		assert_int_equal(cache->size_lookup.count, count == 128);
		assert_int_equal(cache->allocated_lookup.count, count == 128);
		sizes = cache->size_lookup.data;
		allocated = cache->allocated_lookup.data;
		if (count == 128) { /* last but a, since it is stored last */
			assert_int_equal(sizes[0].first, 2);
			assert_int_equal(sizes[0].second, 5070);
			assert_int_equal(allocated[0].second, 70);
		}
		small_tables_free(all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_in_the_order_of_the_files),
		cmocka_unit_test(packed_tables_are_counts),
		cmocka_unit_test(shared_files_refer_to_their_contents),
		cmocka_unit_test(short_holes_are_in_the_chunk),
		cmocka_unit_test(long_holes_are_in_a_table),
		cmocka_unit_test(without_holes_no_feature_is_needed),
		cmocka_unit_test(sums_are_over_inodes),
		cmocka_unit_test(sizes_of_files_with_many_chunks_are_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
