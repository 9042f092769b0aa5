/* SPDX-License-Identifier: MIT */
/*
 * api/test_nomem_rewrite: out of memory while images are inputs, and while they are written
 * anew.
 */
#include "nomem.h"

static int discard(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	(void)user;
	(void)data;
	(void)bytes;
	(void)err;
	return 0;
}

/* What an operation needs. */
struct tools {
	dwarfs_context *context;
	dwarfs_builder *builder;
	dwarfs_image *image;
	dwarfs_sink *sink;
};

static void free_tools(struct tools *tools)
{
	dwarfs_sink_free(tools->sink);
	dwarfs_builder_free(tools->builder);
	dwarfs_image_free(tools->image);
	dwarfs_context_free(tools->context);
}

static int new_tools(const struct fixture *fixture, struct tools *tools,
		     dwarfs_error **err)
{
	int ret;

	*tools = (struct tools){ 0 };
	if ((ret = dwarfs_context_new(&tools->context, err)) < 0 ||
	    (ret = dwarfs_context_set_workers(tools->context, 0, err)) < 0 ||
	    (ret = dwarfs_image_open(tools->context, fixture->path, NULL, &tools->image,
				     err)) < 0 ||
	    (ret = dwarfs_builder_new(tools->context, &tools->builder, err)) < 0 ||
	    (ret = dwarfs_builder_set_level(tools->builder, 1, err)) < 0)
		return ret;
	return dwarfs_sink_new(discard, NULL, NULL, &tools->sink, err);
}

/* A file that cannot be read is no error of the run: one that was not read for lack of memory
 * must be. */
static int run_builder(struct tools *tools, dwarfs_error **err)
{
	int ret = dwarfs_builder_write(tools->builder, tools->sink, err);

	if (ret == 0 && dwarfs_builder_count(tools->builder, DWARFS_COUNT_ERRORS) > 0)
		fail_msg("out of memory was reported as a file that cannot be read");
	return ret;
}

static int append(const struct fixture *fixture, dwarfs_error **err)
{
	struct tools tools;
	int ret;

	if ((ret = new_tools(fixture, &tools, err)) == 0 &&
	    (ret = dwarfs_builder_add_image(tools.builder, tools.image, "", 0,
					    DWARFS_KEEP_BLOCKS, err)) == 0 &&
	    (ret = dwarfs_builder_add_tree(tools.builder, fixture->tree, "new", 3,
					   err)) == 0)
		ret = run_builder(&tools, err);
	free_tools(&tools);
	return ret;
}

/* Of a file of the image: no file of it is equal. */
static struct bytes part;

/* A cache that holds no block, so that those which new data is compared with are in a file. */
static int append_part(const struct fixture *fixture, dwarfs_error **err)
{
	struct tools tools;
	dwarfs_item *item = NULL;
	int ret;

	if ((ret = new_tools(fixture, &tools, err)) == 0 &&
	    (ret = dwarfs_context_set_cache_bytes(tools.context, 0, err)) == 0 &&
	    (ret = dwarfs_builder_set_window(tools.builder, NULL, 8, err)) == 0 &&
	    (ret = dwarfs_builder_set_spool(tools.builder, fixture->dir, 1 << 20, err)) ==
		    0 &&
	    (ret = dwarfs_builder_add_image(tools.builder, tools.image, "", 0,
					    DWARFS_KEEP_BLOCKS, err)) == 0 &&
	    (ret = dwarfs_item_new(0100644, &item, err)) == 0 &&
	    (ret = dwarfs_item_set_memory(item, part.data, part.size, err)) == 0 &&
	    (ret = dwarfs_builder_add_item(tools.builder, "part", 4, item, err)) == 0 &&
	    (ret = run_builder(&tools, err)) == 0)
		assert_true(dwarfs_builder_count(tools.builder,
						 DWARFS_COUNT_BYTES_SEGMENTS) > 0);
	dwarfs_item_free(item);
	free_tools(&tools);
	return ret;
}

static int merge(const struct fixture *fixture, dwarfs_error **err)
{
	struct tools tools;
	int ret;

	if ((ret = new_tools(fixture, &tools, err)) == 0 &&
	    (ret = dwarfs_builder_add_image(tools.builder, tools.image, "a", 1,
					    DWARFS_KEEP_BLOCKS, err)) == 0 &&
	    (ret = dwarfs_builder_add_image(tools.builder, tools.image, "b", 1,
					    DWARFS_REPACK, err)) == 0)
		ret = run_builder(&tools, err);
	free_tools(&tools);
	return ret;
}

static int rewrite(const struct fixture *fixture, uint32_t parts, dwarfs_error **err)
{
	struct tools tools;
	int ret;

	if ((ret = new_tools(fixture, &tools, err)) == 0 &&
	    (ret = dwarfs_builder_set_block_bits(tools.builder, BLOCK_BITS + 1, err)) ==
		    0 &&
	    (ret = dwarfs_builder_set_recompress_categories(tools.builder, "!", err)) ==
		    0)
		ret = dwarfs_rewrite(tools.image, parts, tools.builder, tools.sink, err);
	free_tools(&tools);
	return ret;
}

static int recompress(const struct fixture *fixture, dwarfs_error **err)
{
	return rewrite(fixture, DWARFS_REWRITE_BLOCKS | DWARFS_REWRITE_METADATA, err);
}

static int change_block_size(const struct fixture *fixture, dwarfs_error **err)
{
	return rewrite(fixture,
		       DWARFS_REWRITE_BLOCKS | DWARFS_REWRITE_REBUILD |
			       DWARFS_REWRITE_BLOCK_SIZE,
		       err);
}

/* -- the test ------------------------------------------------------------------------ */

static void appending_survives_one_failure(void **state)
{
	nomem_everywhere(*state, append, false);
}

static void appending_survives_the_end_of_memory(void **state)
{
	nomem_everywhere(*state, append, true);
}

static void comparing_with_blocks_survives(void **state)
{
	const struct fixture *fixture = *state;

	part = load(fixture, "big");
	memmove(part.data, part.data + 1000, part.size -= 2000);
	nomem_everywhere(fixture, append_part, false);
	nomem_everywhere(fixture, append_part, true);
	free(part.data);
}

static void merging_survives(void **state)
{
	nomem_everywhere(*state, merge, false);
}

static void recompressing_survives(void **state)
{
	nomem_everywhere(*state, recompress, false);
	nomem_everywhere(*state, recompress, true);
}

static void changing_the_block_size_survives(void **state)
{
	nomem_everywhere(*state, change_block_size, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appending_survives_one_failure),
		cmocka_unit_test(appending_survives_the_end_of_memory),
		cmocka_unit_test(comparing_with_blocks_survives),
		cmocka_unit_test(merging_survives),
		cmocka_unit_test(recompressing_survives),
		cmocka_unit_test(changing_the_block_size_survives),
	};

	return cmocka_run_group_tests(tests, nomem_setup, fixture_teardown);
}
