/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/record_ranges: which bytes of the metadata are records of one size.
 *
 * Takes the two sections, visits the lists, maps and strings that are members of structs, and
 * gives their bytes in ascending order. Bytes that two of them claim belong to the one that
 * begins first. Items of lists are not visited: none contains a table.
 */
#include "format/frozen.h"
#include "format/metadata_types.h"
#include "write/metadata/record_ranges.h"

struct place {
	uint64_t from, upto;
	uint32_t record_bytes;
};

/* In ascending order. */
struct places {
	const struct frozen *frozen;
	struct place list[DW_MAX_RECORD_RANGES / 2 - 1];
	size_t count;
};

/* Without those that are empty, or too many. */
static void add_place(struct places *places, struct place place)
{
	size_t at = places->count;

	if (place.from >= place.upto ||
	    places->count == sizeof(places->list) / sizeof(places->list[0]))
		return;
	while (at > 0 && places->list[at - 1].from > place.from) {
		places->list[at] = places->list[at - 1];
		at--;
	}
	places->list[at] = place;
	places->count++;
}

static int add_table(struct places *places, struct frozen_node node, dwarfs_error **err)
{
	struct table table;
	int ret = dw_frozen_table(places->frozen, node, &table, err);

	if (ret < 0)
		return ret;
	add_place(places,
		  (struct place){
			  .from = table.address,
			  .upto = table.address + (table.count * table.stride + 7) / 8,
			  .record_bytes = table.stride % 8 == 0 ? table.stride / 8 : 1,
		  });
	return 0;
}

static int add_string(struct places *places, struct frozen_node node, dwarfs_error **err)
{
	struct span string;
	uint64_t from;
	int ret = dw_frozen_string(places->frozen, node, &string, err);

	if (ret < 0)
		return ret;
	from = (uint64_t)(string.data - places->frozen->data);
	add_place(places, (struct place){ from, from + string.size, 1 });
	return 0;
}

/* A value that is not an item of a list; the types bound the depth. */
static int add_value(struct places *places, const struct metadata_type *type,
		     struct frozen_node node, dwarfs_error **err)
{
	int ret = 0;

	if (type->kind == METADATA_STRING)
		return add_string(places, node, err);
	if (type->kind == METADATA_LIST || type->kind == METADATA_MAP)
		return add_table(places, node, err);
	if (type->kind != METADATA_STRUCT)
		return 0;
	for (size_t i = 0; ret == 0 && i < type->member_count; i++) {
		const struct metadata_member *member = &type->members[i];
		struct frozen_node child =
			dw_frozen_child(places->frozen, node, member->id);

		if (member->is_optional)
			ret = dw_frozen_optional(places->frozen, child, &child, NULL,
						 err);
		if (ret == 0)
			ret = add_value(places, member->type, child, err);
	}
	return ret;
}

static void add_range(struct record_ranges *ranges, uint64_t upto, uint32_t record_bytes)
{
	size_t from = ranges->count > 0 ? ranges->list[ranges->count - 1].upto : 0;

	if (upto > from)
		ranges->list[ranges->count++] =
			(struct record_range){ (size_t)upto, record_bytes };
}

int dw_record_ranges_find(struct span schema_bytes, struct buffer *data,
			  struct record_ranges *ranges_out, dwarfs_error **err)
{
	auto_schema struct schema schema = { 0 };
	struct frozen frozen = { .schema = &schema, .size = data->size };
	struct places places = { .frozen = &frozen };
	int ret;

	if ((ret = dw_schema_parse(schema_bytes, &schema, err)) < 0 ||
	    (ret = dw_buffer_reserve(data, DW_FROZEN_PADDING, err)) < 0)
		return ret;
	memset(data->data + data->size, 0, DW_FROZEN_PADDING);
	frozen.data = data->data;
	ret = add_value(&places, &dw_metadata_type, dw_frozen_root(&frozen), err);
	if (ret < 0)
		return ret;
	ranges_out->count = 0;
	for (size_t i = 0; i < places.count; i++) {
		add_range(ranges_out, places.list[i].from, 1);
		add_range(ranges_out, places.list[i].upto, places.list[i].record_bytes);
	}
	add_range(ranges_out, data->size, 1);
	return 0;
}
