/* SPDX-License-Identifier: MIT */
/*
 * rewrite/block_facts: categories of blocks get the numbers of the builder; what metadata says
 * of blocks that do not exist is left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "rewrite/block_facts.h"
#include "support/craft.h"
#include "support/made_image.h"
#include "format/freeze.h"
#include "write/categorize/categorize.h"

#define SPAN(text)                                                                       \
	{                                                                                \
		(const uint8_t *)(text), sizeof(text) - 1                                \
	}

/* An image of one file in three blocks. */
struct labelled {
	struct span names[4];
	size_t name_count;
	uint32_t categories[4];
	size_t category_count;
	struct span texts[2];
	size_t text_count;
	struct freeze_pair32 pairs[4];
	size_t pair_count;
};

static void make(struct craft *craft, const struct labelled *labelled)
{
	static const uint32_t modes[] = { 0040755, 0100644 }, nobody[] = { 0 };
	static const uint32_t table[] = { 0, 3 };
	static const struct freeze_chunk chunks[] = { { 0, 0, 10 },
						      { 1, 0, 10 },
						      { 2, 0, 5 } };
	static const struct freeze_directory directories[] = { { 0, 1, 0 }, { 0, 2, 0 } };
	static const struct freeze_inode inodes[] = { { .mode_index = 0 },
						      { .mode_index = 1 } };
	static const struct freeze_entry entries[] = { { 0, 0 }, { 0, 1 } };
	static const struct span name = SPAN("file");
	const struct freeze_metadata metadata = {
		.chunks = { chunks, 3 },
		.directories = { directories, 2 },
		.inodes = { inodes, 2 },
		.chunk_table = { table, 2 },
		.uids = { nobody, 1 },
		.gids = { nobody, 1 },
		.modes = { modes, 2 },
		.names = { &name, 1 },
		.block_size = 4096,
		.has_options = true,
		.options = { .mtime_only = true, .inodes_have_nlink = true },
		.has_dir_entries = true,
		.dir_entries = { entries, 2 },
		.has_category_names = true,
		.category_names = { labelled->names, labelled->name_count },
		.has_block_categories = true,
		.block_categories = { labelled->categories, labelled->category_count },
		.has_category_metadata_json = true,
		.category_metadata_json = { labelled->texts, labelled->text_count },
		.has_block_category_metadata = true,
		.block_category_metadata = { labelled->pairs, labelled->pair_count },
	};

	for (int i = 0; i < 3; i++)
		craft_section(craft, DWARFS_SECTION_BLOCK, 0, "0123456789", 10);
	craft_metadata(craft, &metadata);
}

static void load(const struct labelled *labelled, dwarfs_builder *builder,
		 struct block_facts *facts)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	make(&craft, labelled);
	image = craft_open(&craft, NULL);
	assert_int_equal(dw_block_facts_load(builder, image, facts, NULL), 0);
}

static const struct labelled three = {
	.names = { SPAN("<default>"), SPAN("fits/image"), SPAN("mine") },
	.name_count = 3,
	.categories = { 1, 2, 0 },
	.category_count = 3,
	.texts = { SPAN("{\"a\":1}"), SPAN("{}") },
	.text_count = 2,
	.pairs = { { 0, 1 }, { 1, 0 } },
	.pair_count = 2,
};

static void categories_are_those_of_the_builder(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	struct categorize_options *options = &builder->options.categorize;
	struct block_facts facts = { 0 };

	assert_int_equal(dwarfs_builder_add_category(builder, "another", NULL), 0);
	load(&three, builder, &facts);
	assert_int_equal(facts.blocks[0].category, CATEGORY_FITS_IMAGE);
	assert_int_equal(facts.blocks[1].category, CATEGORY_COUNT + 1);
	assert_string_equal(dw_category_name(options, facts.blocks[1].category), "mine");
	assert_int_equal(facts.blocks[2].category, CATEGORY_DEFAULT);
	assert_string_equal(facts.blocks[0].metadata_json, "{}");
	assert_string_equal(facts.blocks[1].metadata_json, "{\"a\":1}");
	assert_null(facts.blocks[2].metadata_json);
	for (int i = 0; i < 3; i++)
		assert_int_equal(facts.blocks[i].action, BLOCK_COPY);
	dw_block_facts_free(&facts);
	load(&three, builder, &facts); /* again: there is one category "mine" */
	assert_int_equal(facts.blocks[1].category, CATEGORY_COUNT + 1);
	assert_int_equal(options->name_count, 2);
	dw_block_facts_free(&facts);
}

static void what_is_outside_is_left_out(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	struct labelled odd = three;
	struct block_facts facts = { 0 };

	odd.pairs[0] = (struct freeze_pair32){ 0, 2 }; /* no such text */
	odd.pairs[1] = (struct freeze_pair32){ 3, 0 }; /* no such block */
	odd.pairs[2] = (struct freeze_pair32){ UINT32_MAX, UINT32_MAX };
	odd.pair_count = 3;
	odd.categories[1] = 3; /* no such name */
	odd.category_count = 2;
	load(&odd, builder, &facts);
	for (int i = 0; i < 3; i++)
		assert_null(facts.blocks[i].metadata_json);
	assert_int_equal(facts.blocks[1].category, CATEGORY_DEFAULT);
	assert_int_equal(facts.blocks[2].category, CATEGORY_DEFAULT);
	dw_block_facts_free(&facts);
}

/* Names that no builder takes: contents do not depend on them. */
static void a_name_that_cannot_be_stored_is_left_out(void **state)
{
	static const struct span names[] = { SPAN("two words"), SPAN(""), SPAN("a:b") };

	for (size_t i = 0; i < 3; i++) {
		auto_made_builder dwarfs_builder *builder = made_builder();
		struct labelled odd = three;
		struct block_facts facts = { 0 };

		odd.names[2] = names[i];
		load(&odd, builder, &facts);
		assert_int_equal(facts.blocks[0].category, CATEGORY_FITS_IMAGE);
		assert_int_equal(facts.blocks[1].category, CATEGORY_DEFAULT);
		dw_block_facts_free(&facts);
	}
}

static void an_image_without_categories(void **state)
{
	auto_made_builder dwarfs_builder *from = made_builder(),
					 *builder = made_builder();
	auto_made struct made_image made = { 0 };
	struct block_facts facts = { 0 };

	made_add_text(from, "file", "text");
	made_finish(from, &made);
	assert_int_equal(dw_block_facts_load(builder, made.image, &facts, NULL), 0);
	assert_int_equal(facts.blocks[0].category, CATEGORY_DEFAULT);
	assert_null(facts.blocks[0].metadata_json);
	assert_int_equal(facts.text_count, 0);
	dw_block_facts_free(&facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(categories_are_those_of_the_builder),
		cmocka_unit_test(what_is_outside_is_left_out),
		cmocka_unit_test(a_name_that_cannot_be_stored_is_left_out),
		cmocka_unit_test(an_image_without_categories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
