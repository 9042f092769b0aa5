/* SPDX-License-Identifier: MIT */
/*
 * format/freeze: write the metadata of an image and the schema that describes it.
 *
 * Three steps: find how many bits each column needs, assign positions, write the bits.
 * Positions depend on widths, and the width of a distance on positions, so the first two
 * are repeated until nothing grows. Columns without distances are measured only once.
 */
#include <string.h>

#include "base/bytes.h"
#include "format/freeze_types.h"
#include "format/metadata.h"
#include "format/thrift.h"

/* Readers load whole words: padding after the last object. */
#define PADDING_BYTES 8

/* More than the tree of layouts has. */
#define MAX_NODES  512
#define MAX_FIELDS 64 /* of a struct */

/*
 * The layout of one value in the tree of the schema. Children are in ascending order of
 * id: isset and value, distance and count (and item), or members. An integer has none.
 */
enum node_kind { NODE_INTEGER, NODE_OPTIONAL, NODE_STRING, NODE_LIST, NODE_STRUCT };

struct freeze_node {
	enum node_kind kind;
	const struct freeze_type *type; /* NULL for the numbers that lists are made of */
	uint32_t id;			/* in the parent */
	uint64_t bits;
	uint64_t offset; /* in bits from the start of the parent */
	bool measured;	 /* widths can no longer change */
	struct freeze_node *children;
	unsigned child_count;
};

struct freezer {
	struct freeze_node nodes[MAX_NODES];
	unsigned node_count;
	struct freeze_node *root;
	uint64_t root_bytes;
	uint64_t cursor; /* the next free byte */
	bool grown;
	bool whole_bytes;
	bool is_broken; /* a rule of this module did not hold: a bug */
	uint8_t *out;
	size_t out_bytes;
};

/* -- the tree of layouts ------------------------------------------------------------- */

static struct freeze_node *take_nodes(struct freezer *freezer, unsigned count)
{
	struct freeze_node *nodes = freezer->nodes + freezer->node_count;

	if (freezer->node_count + count > MAX_NODES) {
		freezer->is_broken = true;
		return freezer->nodes;
	}
	freezer->node_count += count;
	return nodes;
}

static void plant(struct freezer *freezer, struct freeze_node *node, uint32_t id,
		  const struct freeze_type *type);

static void plant_member(struct freezer *freezer, struct freeze_node *node,
			 const struct freeze_member *member)
{
	if (!member->optional) {
		plant(freezer, node, member->id, member->type);
		return;
	}
	node->kind = NODE_OPTIONAL;
	node->id = member->id;
	node->child_count = 2;
	node->children = take_nodes(freezer, 2);
	plant(freezer, &node->children[0], OPTIONAL_ISSET, NULL);
	plant(freezer, &node->children[1], OPTIONAL_VALUE, member->type);
}

static void plant(struct freezer *freezer, struct freeze_node *node, uint32_t id,
		  const struct freeze_type *type)
{
	node->id = id;
	node->type = type;
	node->kind = NODE_INTEGER;
	if (!type)
		return;
	switch (type->kind) {
	case KIND_U32:
	case KIND_U64:
	case KIND_BOOL:
		return;
	case KIND_STRING:
	case KIND_LIST:
		node->kind = type->kind == KIND_LIST ? NODE_LIST : NODE_STRING;
		node->child_count = type->kind == KIND_LIST ? 3 : 2;
		node->children = take_nodes(freezer, node->child_count);
		plant(freezer, &node->children[0], LIST_DISTANCE, NULL);
		plant(freezer, &node->children[1], LIST_COUNT, NULL);
		if (type->kind == KIND_LIST)
			plant(freezer, &node->children[2], LIST_ITEM, type->item);
		return;
	case KIND_STRUCT:
		node->kind = NODE_STRUCT;
		node->child_count = (unsigned)type->member_count;
		if (node->child_count > MAX_FIELDS)
			freezer->is_broken = true;
		node->children = take_nodes(freezer, node->child_count);
		for (unsigned i = 0; i < node->child_count; i++)
			plant_member(freezer, &node->children[i], &type->members[i]);
		return;
	}
}

/* -- measure and assign positions ---------------------------------------------------- */

static uint64_t load_number(const struct freeze_type *type, const uint8_t *value)
{
	if (type->kind == KIND_U64)
		return *(const uint64_t *)(const void *)value;
	if (type->kind == KIND_U32)
		return *(const uint32_t *)(const void *)value;
	return *(const bool *)value;
}

static void need(struct freezer *freezer, struct freeze_node *node, uint64_t bits)
{
	if (bits > node->bits) {
		node->bits = bits;
		freezer->grown = true;
	}
}

/* Assign the bit position *at to a child, and advance *at. */
static void place_child(struct freeze_node *child, uint64_t *at)
{
	child->offset = *at;
	*at += child->bits;
}

static void measure_number(struct freezer *freezer, struct freeze_node *child,
			   uint64_t value, uint64_t *at)
{
	need(freezer, child, dw_bit_length(value));
	place_child(child, at);
}

static uint64_t array_bytes(const struct freeze_node *item, size_t count)
{
	return (count * item->bits + 7) / 8;
}

/* The distance from base to the next bytes, with the worst case of alignment. */
static uint64_t allocate(struct freezer *freezer, uint64_t base, uint64_t bytes,
			 unsigned align)
{
	uint64_t distance;

	if (bytes == 0)
		return 0;
	freezer->cursor += align - 1;
	distance = freezer->cursor - base;
	freezer->cursor += bytes;
	return distance;
}

static void measure_value(struct freezer *freezer, struct freeze_node *node,
			  const uint8_t *value, uint64_t base);

static void measure_string(struct freezer *freezer, struct freeze_node *node,
			   const struct span *string, uint64_t base)
{
	uint64_t at = 0;

	if (string->size == 0)
		return;
	measure_number(freezer, &node->children[0],
		       allocate(freezer, base, string->size, 1), &at);
	measure_number(freezer, &node->children[1], string->size, &at);
	need(freezer, node, at);
}

static void measure_list(struct freezer *freezer, struct freeze_node *node,
			 const struct freeze_table *table, uint64_t base)
{
	struct freeze_node *item = &node->children[2];
	const struct freeze_type *type = node->type->item;
	uint64_t at = 0, distance;

	measure_number(freezer, &node->children[1], table->count, &at);
	distance = allocate(freezer, base, array_bytes(item, table->count),
			    node->type->align);
	measure_number(freezer, &node->children[0], distance, &at);
	need(freezer, node, at);
	if (item->measured)
		return;
	for (size_t i = 0; i < table->count; i++)
		measure_value(freezer, item,
			      (const uint8_t *)table->data + i * type->bytes,
			      base + distance);
	item->offset = 0;
	item->measured = type->plain;
}

static void measure_optional(struct freezer *freezer, struct freeze_node *node,
			     bool present, const uint8_t *value, uint64_t base)
{
	uint64_t at = 0;

	measure_number(freezer, &node->children[0], present, &at);
	if (present) {
		measure_value(freezer, &node->children[1], value, base);
		place_child(&node->children[1], &at);
	}
	need(freezer, node, at);
}

static void measure_struct(struct freezer *freezer, struct freeze_node *node,
			   const uint8_t *value, uint64_t base)
{
	uint64_t at = 0;

	for (unsigned i = 0; i < node->child_count; i++) {
		const struct freeze_member *member = &node->type->members[i];
		struct freeze_node *child = &node->children[i];

		if (member->optional)
			measure_optional(freezer, child,
					 *(const bool *)(value + member->present_at),
					 value + member->at, base);
		else
			measure_value(freezer, child, value + member->at, base);
		place_child(child, &at);
	}
	need(freezer, node, at);
}

static uint64_t width(const struct freezer *freezer, uint64_t value)
{
	uint64_t bits = dw_bit_length(value);

	return freezer->whole_bytes ? (bits + 7) / 8 * 8 : bits;
}

/* base: the byte that distances are relative to. */
static void measure_value(struct freezer *freezer, struct freeze_node *node,
			  const uint8_t *value, uint64_t base)
{
	switch (node->kind) {
	case NODE_INTEGER:
		need(freezer, node, width(freezer, load_number(node->type, value)));
		return;
	case NODE_STRING:
		measure_string(freezer, node, (const void *)value, base);
		return;
	case NODE_LIST:
		measure_list(freezer, node, (const void *)value, base);
		return;
	case NODE_STRUCT:
		measure_struct(freezer, node, value, base);
		return;
	case NODE_OPTIONAL:
		break; /* by its parent, which knows whether it is set */
	}
}

static void measure_all(struct freezer *freezer, const struct freeze_metadata *metadata)
{
	do {
		freezer->grown = false;
		freezer->cursor = freezer->root_bytes;
		measure_value(freezer, freezer->root, (const void *)metadata, 0);
		freezer->root_bytes = (freezer->root->bits + 7) / 8;
	} while (freezer->grown);
}

/* -- write --------------------------------------------------------------------------- */

/* A position in the data: its bit, and the byte that distances are relative to. */
struct bit_position {
	uint64_t bit;
	uint64_t base;
};

static struct bit_position position_of(struct bit_position parent,
				       const struct freeze_node *child)
{
	return (struct bit_position){ parent.bit + child->offset, parent.base };
}

static void put_node_bits(struct freezer *freezer, struct bit_position position,
			  const struct freeze_node *node, uint64_t value)
{
	uint64_t left = node->bits;
	uint8_t *at = freezer->out + position.bit / 8;
	unsigned shift = position.bit % 8, first = 8 - shift;

	if (left == 0)
		return;
	if ((position.bit + left + 7) / 8 > freezer->out_bytes) {
		freezer->is_broken = true;
		return;
	}
	*at |= (uint8_t)(value << shift);
	while (left > first) {
		value >>= first;
		left -= first;
		*++at |= (uint8_t)value;
		first = 8;
	}
}

static void put_child(struct freezer *freezer, struct bit_position parent,
		      const struct freeze_node *child, uint64_t value)
{
	put_node_bits(freezer, position_of(parent, child), child, value);
}

/* The next bytes of the data, aligned. */
static uint64_t append_aligned(struct freezer *freezer, uint64_t bytes, unsigned align)
{
	uint64_t at = (freezer->cursor + align - 1) / align * align;

	freezer->cursor = at + bytes;
	if (freezer->cursor > freezer->out_bytes)
		freezer->is_broken = true;
	return at;
}

static void put_value(struct freezer *freezer, const struct freeze_node *node,
		      const uint8_t *value, struct bit_position position);

static void put_frozen_string(struct freezer *freezer, const struct freeze_node *node,
			      const struct span *string, struct bit_position position)
{
	uint64_t at;

	if (string->size == 0)
		return;
	at = append_aligned(freezer, string->size, 1);
	if (freezer->is_broken)
		return;
	memcpy(freezer->out + at, string->data, string->size);
	put_child(freezer, position, &node->children[0], at - position.base);
	put_child(freezer, position, &node->children[1], string->size);
}

static void put_list(struct freezer *freezer, const struct freeze_node *node,
		     const struct freeze_table *table, struct bit_position position)
{
	const struct freeze_node *item = &node->children[2];
	const struct freeze_type *type = node->type->item;
	uint64_t bytes = array_bytes(item, table->count), base = position.base;

	put_child(freezer, position, &node->children[1], table->count);
	if (bytes) {
		base = append_aligned(freezer, bytes, node->type->align);
		put_child(freezer, position, &node->children[0], base - position.base);
	}
	if (item->bits == 0)
		return;
	for (size_t i = 0; i < table->count; i++)
		put_value(freezer, item, (const uint8_t *)table->data + i * type->bytes,
			  (struct bit_position){ base * 8 + i * item->bits, base });
}

static void put_struct(struct freezer *freezer, const struct freeze_node *node,
		       const uint8_t *value, struct bit_position position)
{
	for (unsigned i = 0; i < node->child_count; i++) {
		const struct freeze_member *member = &node->type->members[i];
		const struct freeze_node *child = &node->children[i];
		struct bit_position there = position_of(position, child);

		if (!member->optional) {
			put_value(freezer, child, value + member->at, there);
			continue;
		}
		if (!*(const bool *)(value + member->present_at))
			continue;
		put_child(freezer, there, &child->children[0], 1);
		put_value(freezer, &child->children[1], value + member->at,
			  position_of(there, &child->children[1]));
	}
}

static void put_value(struct freezer *freezer, const struct freeze_node *node,
		      const uint8_t *value, struct bit_position position)
{
	switch (node->kind) {
	case NODE_INTEGER:
		put_node_bits(freezer, position, node, load_number(node->type, value));
		return;
	case NODE_STRING:
		put_frozen_string(freezer, node, (const void *)value, position);
		return;
	case NODE_LIST:
		put_list(freezer, node, (const void *)value, position);
		return;
	case NODE_STRUCT:
		put_struct(freezer, node, value, position);
		return;
	case NODE_OPTIONAL:
		break; /* by its parent */
	}
}

static int put_all(struct freezer *freezer, const struct freeze_metadata *metadata,
		   struct buffer *out, dwarfs_error **err)
{
	size_t bytes = (size_t)freezer->cursor + PADDING_BYTES;
	int ret = dw_buffer_reserve(out, bytes, err);

	if (ret < 0)
		return ret;
	memset(out->data, 0, bytes);
	freezer->out = out->data;
	freezer->out_bytes = bytes;
	freezer->cursor = freezer->root_bytes;
	put_value(freezer, freezer->root, (const void *)metadata,
		  (struct bit_position){ 0, 0 });
	out->size = (size_t)freezer->cursor + PADDING_BYTES;
	return 0;
}

/* -- the schema ---------------------------------------------------------------------- */

struct written_field {
	uint32_t id, layout;
	uint64_t offset;
};

struct written_layout {
	uint64_t bytes, bits;
	unsigned first, count; /* of its fields */
};

/* Equal layouts are stored once. */
struct written_schema {
	struct written_layout layouts[MAX_NODES];
	struct written_field fields[MAX_NODES];
	unsigned layout_count, field_count;
};

static bool same_layout(const struct written_schema *schema,
			const struct written_layout *a, const struct written_layout *b)
{
	if (a->bytes != b->bytes || a->bits != b->bits || a->count != b->count)
		return false;
	for (unsigned i = 0; i < a->count; i++) {
		const struct written_field *x = &schema->fields[a->first + i];
		const struct written_field *y = &schema->fields[b->first + i];

		if (x->id != y->id || x->layout != y->layout || x->offset != y->offset)
			return false;
	}
	return true;
}

static uint32_t save(struct written_schema *schema, const struct freeze_node *node,
		     uint64_t bytes)
{
	struct written_field fields[MAX_FIELDS];
	struct written_layout layout = { .bytes = bytes, .bits = node->bits };

	for (unsigned i = 0; i < node->child_count; i++) {
		const struct freeze_node *child = &node->children[i];

		if (child->bits == 0)
			continue;
		fields[layout.count++] = (struct written_field){
			.id = child->id,
			.layout = save(schema, child, 0),
			.offset = child->offset,
		};
	}
	layout.first = schema->field_count;
	memcpy(schema->fields + layout.first, fields, layout.count * sizeof(fields[0]));
	for (unsigned i = 0; i < schema->layout_count; i++)
		if (same_layout(schema, &schema->layouts[i], &layout))
			return i;
	schema->field_count += layout.count;
	schema->layouts[schema->layout_count] = layout;
	return schema->layout_count++;
}

static void put_layout(struct thrift_writer *writer, const struct written_schema *schema,
		       const struct written_layout *layout)
{
	int32_t saved = dw_thrift_put_begin(writer, 0);

	dw_thrift_put_int(writer, 1, THRIFT_I32, (int64_t)layout->bytes);
	dw_thrift_put_int(writer, 2, THRIFT_I16, (int64_t)layout->bits);
	dw_thrift_put_map(writer, 3, THRIFT_I16, THRIFT_STRUCT, layout->count);
	for (unsigned i = 0; i < layout->count; i++) {
		const struct written_field *field = &schema->fields[layout->first + i];
		int32_t saved_field;

		dw_thrift_put_element_int(writer, field->id);
		saved_field = dw_thrift_put_begin(writer, 0);
		dw_thrift_put_int(writer, 1, THRIFT_I16, field->layout);
		dw_thrift_put_int(writer, 2, THRIFT_I16, -(int64_t)field->offset);
		dw_thrift_put_end(writer, saved_field);
	}
	dw_thrift_put_string(writer, 4, "", 0);
	dw_thrift_put_end(writer, saved);
}

static int put_schema(const struct freezer *freezer, struct buffer *out,
		      dwarfs_error **err)
{
	auto_free struct written_schema *schema = dw_calloc(1, sizeof(*schema));
	struct thrift_writer writer;
	uint32_t root;

	if (!schema)
		return dw_fail_nomem(err);
	root = save(schema, freezer->root, freezer->root_bytes);
	dw_thrift_put_start(&writer, out);
	dw_thrift_put_bool(&writer, 1, true);
	dw_thrift_put_map(&writer, 2, THRIFT_I16, THRIFT_STRUCT, schema->layout_count);
	for (unsigned i = 0; i < schema->layout_count; i++) {
		dw_thrift_put_element_int(&writer, i);
		put_layout(&writer, schema, &schema->layouts[i]);
	}
	dw_thrift_put_int(&writer, 3, THRIFT_I16, root);
	dw_thrift_put_int(&writer, 4, THRIFT_I32, 1);
	return dw_thrift_put_stop(&writer, err);
}

/* The sizes that were measured are too small: never, unless this module has a bug. */
static int fail_broken(dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_INVALID,
		       "internal error: the metadata was measured "
		       "wrongly");
}

int dw_freeze(const struct freeze_metadata *metadata, bool whole_bytes,
	      struct buffer *schema_out, struct buffer *data_out, dwarfs_error **err)
{
	auto_free struct freezer *freezer = dw_calloc(1, sizeof(*freezer));
	int ret;

	if (!freezer)
		return dw_fail_nomem(err);
	freezer->whole_bytes = whole_bytes;
	freezer->root = take_nodes(freezer, 1);
	plant(freezer, freezer->root, 0, &dw_freeze_metadata_type);
	if (freezer->is_broken)
		return fail_broken(err);
	measure_all(freezer, metadata);
	if ((ret = put_all(freezer, metadata, data_out, err)) < 0)
		return ret;
	if (freezer->is_broken)
		return fail_broken(err);
	return put_schema(freezer, schema_out, err);
}
