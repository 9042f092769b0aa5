/* SPDX-License-Identifier: MIT */
/*
 * read/check/file_rules: the rules for files, their chunks and sizes, and blocks.
 *
 * Takes a view whose packed tables have been unpacked.
 */
#include "read/check/category_rules.h"
#include "read/check/file_rules.h"

static bool check_shared_files(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t previous = 0;

	for (uint64_t i = 0; i < view->shared_count; i++) {
		uint64_t value = dw_view_shared(view, i);

		if ((i == 0 && value != 0) || value < previous || value > previous + 1)
			return dw_checker_broken(
				checker, "the table of shared files is not in order");
		previous = value;
	}
	return true;
}

static bool check_chunk_table(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t previous = 0;

	for (uint64_t i = 0; i < view->chunk_table.count; i++) {
		uint64_t value = dw_view_chunk_table(view, i);

		if ((i == 0 && value != 0) || value < previous ||
		    value > view->chunks.count)
			return dw_checker_broken(checker,
						 "the chunk table is not in order");
		previous = value;
	}
	if (previous != view->chunks.count)
		return dw_checker_broken(checker, "some chunks belong to no file");
	return true;
}

static bool check_chunks(struct checker *checker)
{
	const struct view *view = checker->view;

	for (uint64_t i = 0; i < view->chunks.count; i++) {
		auto_error dwarfs_error *error = NULL;
		struct file_chunk chunk;
		int ret = dw_view_chunk(view, i, &chunk, &error);

		if (ret < 0)
			return dw_checker_broken_by(checker, ret, error);
		if (!chunk.is_hole && chunk.block >= checker->block_count)
			return dw_checker_broken(checker,
						 "chunk %" PRIu64 " is in block %" PRIu32
						 " of %" PRIu32,
						 i, chunk.block, checker->block_count);
	}
	return true;
}

/* Once for each entry of the table, however many files share it. */
static bool check_file_sizes(struct checker *checker)
{
	const struct view *view = checker->view;

	for (uint64_t file = 0; file + 1 < view->chunk_table.count; file++) {
		uint64_t end = dw_view_chunk_table(view, file + 1), sum = 0;

		for (uint64_t k = dw_view_chunk_table(view, file); k < end; k++) {
			struct file_chunk chunk;

			if (dw_view_chunk(view, k, &chunk, NULL) < 0)
				return false;
			sum += chunk.bytes;
			if (sum > INT64_MAX)
				return dw_checker_broken(
					checker, "file %" PRIu64 " is too large", file);
		}
	}
	return true;
}

/* Sizes stored for files of many chunks. */
static bool check_size_cache(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t previous = 0;

	for (uint64_t i = 0; i < view->size_cache.count; i++) {
		uint64_t file = dw_column_get(&view->size_cache, view->size_key, i);
		uint64_t size = dw_column_get(&view->size_cache, view->size_value, i);
		uint64_t first, end, sum = 0;

		if (file + 1 >= view->chunk_table.count || (i > 0 && file <= previous))
			return dw_checker_broken(checker,
						 "the cache of sizes is not in order");
		previous = file;
		first = dw_view_chunk_table(view, file);
		end = dw_view_chunk_table(view, file + 1);
		if (end - first < view->size_cache_min_chunks)
			return dw_checker_broken(
				checker, "the cache of sizes has a file of few chunks");
		for (uint64_t k = first; k < end; k++) {
			struct file_chunk chunk;

			if (dw_view_chunk(view, k, &chunk, NULL) < 0)
				return false;
			sum += chunk.bytes;
		}
		if (sum != size)
			return dw_checker_broken(
				checker, "the cache of sizes is wrong for file %" PRIu64,
				file);
	}
	return true;
}

/* The same for sizes without holes. */
static bool check_allocated_cache(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t next = 0;

	for (uint64_t i = 0; i < view->allocated_cache.count; i++) {
		uint64_t file =
			dw_column_get(&view->allocated_cache, view->allocated_key, i);

		if (file + 1 >= view->chunk_table.count || file < next)
			return dw_checker_broken(
				checker, "the cache of allocated sizes is not in order");
		next = file + 1;
	}
	return true;
}

static bool check_block_categories(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t names = 0;

	if (view->block_categories.count == 0)
		return true;
	while (view->categories[names])
		names++;
	if (view->block_categories.count != checker->block_count)
		return dw_checker_broken(
			checker, "%" PRIu64 " of %" PRIu32 " blocks have a category",
			view->block_categories.count, checker->block_count);
	for (uint64_t i = 0; i < view->block_categories.count; i++)
		if (dw_column_get(&view->block_categories, view->block_categories_item,
				  i) >= names)
			return dw_checker_broken(checker,
						 "block %" PRIu64 " has no category", i);
	return true;
}

static bool check_category_metadata(struct checker *checker)
{
	auto_error dwarfs_error *error = NULL;
	int ret = dw_rules_check_category_metadata(checker->view, checker->block_count,
						   &error);

	return ret == 0 || dw_checker_broken_by(checker, ret, error);
}

void dw_file_rules_check(struct checker *checker)
{
	bool files;

	files = check_shared_files(checker);
	files = check_chunk_table(checker) && files;
	files = check_chunks(checker) && files;
	if (files && check_file_sizes(checker))
		check_size_cache(checker);
	check_allocated_cache(checker);
	check_block_categories(checker);
	check_category_metadata(checker);
}
