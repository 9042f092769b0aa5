/* SPDX-License-Identifier: MIT */
/*
 * rewrite/block_facts: properties of the blocks of an image: category, and the metadata
 * of the category. Damaged ones are left out, since they do not affect contents.
 */
#include <string.h>

#include "read/image/image.h"
#include "rewrite/block_facts.h"
#include "write/categorize/categorize.h"

void dw_block_facts_free(struct block_facts *facts)
{
	for (size_t i = 0; i < facts->text_count; i++)
		dw_free(facts->texts[i]);
	dw_free(facts->texts);
	dw_free(facts->blocks);
	*facts = (struct block_facts){ 0 };
}

/* The number that a category has in the builder. A name that the builder refuses, as only an
 * image of another writer has it, counts as none. */
static int find_category(dwarfs_builder *builder, const char *name,
			 uint32_t *category_out, dwarfs_error **err)
{
	struct categorize_options *options = &builder->options.categorize;
	auto_error dwarfs_error *why = NULL;
	int ret;

	*category_out = dw_category_find(options, name, strlen(name));
	if (*category_out != DW_ANY_CATEGORY)
		return 0;
	ret = dwarfs_builder_add_category(builder, name, &why);
	*category_out = ret == 0 ? dw_category_find(options, name, strlen(name))
				 : CATEGORY_DEFAULT;
	return ret == 0 || ret == DWARFS_ERR_INVALID ? 0 : dw_error_copy(err, ret, why);
}

static int load_categories(dwarfs_builder *builder, const dwarfs_image *image,
			   struct block_facts *facts, dwarfs_error **err)
{
	uint32_t last_category = CATEGORY_DEFAULT;
	const char *last_name = NULL;

	for (uint32_t block = 0; block < image->block_count; block++) {
		int64_t number = dwarfs_image_block_category(image, block);
		const char *name =
			number < 0 ? NULL : dwarfs_image_category(image, (size_t)number);
		int ret;

		if (!name)
			continue;
		if (name != last_name &&
		    (ret = find_category(builder, name, &last_category, err)) < 0)
			return ret;
		last_name = name;
		facts->blocks[block].category = last_category;
	}
	return 0;
}

static int load_texts(const struct view *view, const struct category_texts *from,
		      struct block_facts *facts, dwarfs_error **err)
{
	if (from->texts.count > view->frozen.size)
		return dw_fail_metadata(err, "too many texts");
	if (!(facts->texts = dw_calloc((size_t)from->texts.count, sizeof(char *))))
		return dw_fail_nomem(err);
	for (uint64_t i = 0; i < from->texts.count; i++) {
		struct span text;

		if (!dw_column_string(&from->texts, &from->text, i, &text))
			return dw_fail_metadata(err, "a text is outside of it");
		if (!(facts->texts[i] = dw_strndup((const char *)text.data, text.size)))
			return dw_fail_nomem(err);
		facts->text_count++;
	}
	return 0;
}

static int load_block_texts(const struct view *view, uint32_t block_count,
			    struct block_facts *facts, dwarfs_error **err)
{
	struct category_texts from;
	int ret;

	if ((ret = dw_view_category_texts(view, &from, err)) < 0 ||
	    (ret = load_texts(view, &from, facts, err)) < 0)
		return ret;
	for (uint64_t i = 0; i < from.pairs.count; i++) {
		uint64_t block = dw_column_get(&from.pairs, from.block, i);
		uint64_t text = dw_column_get(&from.pairs, from.number, i);

		if (block < block_count && text < facts->text_count)
			facts->blocks[block].metadata_json = facts->texts[text];
	}
	return 0;
}

int dw_block_facts_load(dwarfs_builder *builder, const dwarfs_image *image,
			struct block_facts *facts, dwarfs_error **err)
{
	int ret;

	facts->blocks = dw_calloc(image->block_count, sizeof(*facts->blocks));
	if (!facts->blocks)
		return dw_fail_nomem(err);
	if ((ret = load_categories(builder, image, facts, err)) < 0)
		return ret;
	ret = load_block_texts(image->view, image->block_count, facts, NULL);
	return ret == DWARFS_ERR_NOMEM ? dw_fail_nomem(err) : 0;
}
