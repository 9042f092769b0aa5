/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/block_categories: the table of block categories.
 *
 * Omitted if all blocks are of the default category.
 */
#include <string.h>

#include "write/categorize/categorize.h"
#include "write/items/assembly.h"
#include "write/metadata/tables.h"

static const struct stream *stream_of(const struct tables *tables, size_t block)
{
	const struct streams *streams = &tables->in->contents->streams;

	return &streams->list[tables->in->block_streams->list[block]];
}

/* Number the categories that have blocks, and list their names. */
static int fill_names(struct tables *tables, uint32_t *number_of, dwarfs_error **err)
{
	const struct categorize_options *options = &tables->options->categorize;
	size_t count = CATEGORY_COUNT + options->name_count, used = 0;

	tables->category_names = dw_calloc(count, sizeof(*tables->category_names));
	if (!tables->category_names)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < tables->in->block_streams->count; i++)
		number_of[stream_of(tables, i)->category] = 0;
	for (uint32_t i = 0; i < count; i++) {
		const char *name = dw_category_name(options, i);

		if (number_of[i] == DW_NONE)
			continue;
		number_of[i] = (uint32_t)used;
		tables->category_names[used++] =
			(struct span){ (const uint8_t *)name, strlen(name) };
	}
	tables->out.has_category_names = true;
	tables->out.category_names =
		(struct freeze_table){ tables->category_names, used };
	return 0;
}

static int fill_categories(struct tables *tables, dwarfs_error **err)
{
	const struct block_streams *blocks = tables->in->block_streams;
	size_t count = CATEGORY_COUNT + tables->options->categorize.name_count;
	auto_free uint32_t *number_of = dw_calloc(count, sizeof(*number_of));
	int ret;

	tables->block_categories =
		dw_calloc(blocks->count, sizeof(*tables->block_categories));
	if (!number_of || !tables->block_categories)
		return dw_fail_nomem(err);
	memset(number_of, 0xff, count * sizeof(*number_of));
	if ((ret = fill_names(tables, number_of, err)) < 0)
		return ret;
	for (size_t i = 0; i < blocks->count; i++)
		tables->block_categories[i] = number_of[stream_of(tables, i)->category];
	tables->out.has_block_categories = true;
	tables->out.block_categories =
		(struct freeze_table){ tables->block_categories, blocks->count };
	return 0;
}

/* Find or add a metadata string in the list. */
static uint32_t number_of_text(struct tables *tables, const char *text, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		if (tables->category_metadata[i].size == strlen(text) &&
		    memcmp(tables->category_metadata[i].data, text, strlen(text)) == 0)
			return (uint32_t)i;
	tables->category_metadata[*count] =
		(struct span){ (const uint8_t *)text, strlen(text) };
	return (uint32_t)(*count)++;
}

static int fill_category_metadata(struct tables *tables, dwarfs_error **err)
{
	size_t blocks = tables->in->block_streams->count, texts = 0, pairs = 0;

	tables->category_metadata = dw_calloc(tables->in->contents->streams.count,
					      sizeof(*tables->category_metadata));
	tables->block_metadata = dw_calloc(blocks, sizeof(*tables->block_metadata));
	if (!tables->category_metadata || !tables->block_metadata)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < blocks; i++) {
		const char *text = stream_of(tables, i)->metadata_json;

		if (text)
			tables->block_metadata[pairs++] = (struct freeze_pair32){
				(uint32_t)i,
				number_of_text(tables, text, &texts),
			};
	}
	if (pairs == 0)
		return 0;
	tables->out.has_category_metadata_json = true;
	tables->out.category_metadata_json =
		(struct freeze_table){ tables->category_metadata, texts };
	tables->out.has_block_category_metadata = true;
	tables->out.block_category_metadata =
		(struct freeze_table){ tables->block_metadata, pairs };
	return 0;
}

int dw_tables_fill_block_categories(struct tables *tables, dwarfs_error **err)
{
	const struct build_options *options = tables->options;
	const struct assembly *assembly = tables->in->run->assembly;
	bool any = options->categorize.count > 0 || options->categorize.callback;
	int ret;

	/* Blocks that were kept keep their categories. */
	for (size_t i = 0; !any && assembly && assembly->image_count > 0 &&
			   i < tables->in->block_streams->count;
	     i++)
		any = stream_of(tables, i)->category != CATEGORY_DEFAULT;
	if (!any || !options->category_names)
		return 0;
	if ((ret = fill_categories(tables, err)) < 0 || !options->category_metadata)
		return ret;
	return fill_category_metadata(tables, err);
}
