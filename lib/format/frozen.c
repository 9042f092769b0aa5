/* SPDX-License-Identifier: MIT */
/*
 * format/frozen: read bit-packed metadata in place, by a schema.
 *
 * Takes untrusted bytes: every position is checked against their size before it is read,
 * in 64 bits, and nothing is allocated.
 */
#include "format/frozen.h"
#include "format/metadata.h"

struct frozen_node dw_frozen_root(const struct frozen *frozen)
{
	const struct schema *schema = frozen->schema;

	return (struct frozen_node){ .layout = &schema->layouts[schema->root] };
}

struct frozen_node dw_frozen_child(const struct frozen *frozen, struct frozen_node node,
				   int id)
{
	const struct schema_field *field;

	if (!node.layout)
		return node;
	field = dw_schema_field(frozen->schema, node.layout, id);
	if (!field)
		return (struct frozen_node){ 0 };
	node.layout = &frozen->schema->layouts[field->layout];
	if (field->offset >= 0)
		node.start += (uint64_t)field->offset;
	else
		node.bit += (uint64_t)-field->offset;
	return node;
}

/* width bits at a node. */
static int read_bits(const struct frozen *frozen, struct frozen_node node, unsigned width,
		     uint64_t *value_out, dwarfs_error **err)
{
	struct table single;
	struct column column;
	uint64_t bit, end;

	if (!dw_mul(node.start, UINT64_C(8), &bit) || !dw_add(bit, node.bit, &bit) ||
	    !dw_add(bit, (uint64_t)width, &end) || end > frozen->size * 8)
		return dw_fail_metadata(err, "a number lies outside the data");
	single = (struct table){ .first = frozen->data + bit / 8 };
	column = dw_column(bit % 8, width);
	*value_out = dw_column_get(&single, column, 0);
	return 0;
}

int dw_frozen_bool(const struct frozen *frozen, struct frozen_node node, bool *value_out,
		   dwarfs_error **err)
{
	uint64_t value;
	int ret;

	*value_out = false;
	if (!node.layout || node.layout->bits == 0)
		return 0;
	ret = read_bits(frozen, node, 1, &value, err);
	if (ret == 0)
		*value_out = value;
	return ret;
}

int dw_frozen_uint(const struct frozen *frozen, struct frozen_node node,
		   unsigned max_bits, uint64_t *value_out, dwarfs_error **err)
{
	*value_out = 0;
	if (!node.layout || node.layout->bits == 0)
		return 0;
	if (node.layout->bits > max_bits)
		return dw_fail_metadata(err, "a number is wider than its type");
	return read_bits(frozen, node, node.layout->bits, value_out, err);
}

int dw_frozen_optional(const struct frozen *frozen, struct frozen_node node,
		       struct frozen_node *value_out, bool *is_set_out,
		       dwarfs_error **err)
{
	bool is_set;
	int ret = dw_frozen_bool(frozen, dw_frozen_child(frozen, node, OPTIONAL_ISSET),
				 &is_set, err);

	if (ret < 0)
		return ret;
	*value_out = is_set ? dw_frozen_child(frozen, node, OPTIONAL_VALUE)
			    : (struct frozen_node){ 0 };
	if (is_set_out)
		*is_set_out = is_set;
	return 0;
}

/* distance and count of a string or list; an address within the data when count > 0. */
static int locate(const struct frozen *frozen, struct frozen_node node,
		  uint64_t *address_out, uint64_t *count_out, dwarfs_error **err)
{
	struct frozen_node distance_node = dw_frozen_child(frozen, node, LIST_DISTANCE);
	struct frozen_node count_node = dw_frozen_child(frozen, node, LIST_COUNT);
	uint64_t distance, count, address;
	int ret;

	if ((ret = dw_frozen_uint(frozen, distance_node, 64, &distance, err)) < 0 ||
	    (ret = dw_frozen_uint(frozen, count_node, 64, &count, err)) < 0)
		return ret;
	*address_out = 0;
	*count_out = count;
	if (count == 0)
		return 0;
	if (!dw_add(node.start, distance, &address) || address > frozen->size)
		return dw_fail_metadata(err, "a list or string starts outside the data");
	*address_out = address;
	return 0;
}

int dw_frozen_string(const struct frozen *frozen, struct frozen_node node,
		     struct span *string_out, dwarfs_error **err)
{
	uint64_t address, count;
	int ret = locate(frozen, node, &address, &count, err);

	if (ret < 0)
		return ret;
	if (count > frozen->size - address)
		return dw_fail_metadata(err, "a string ends outside the data");
	*string_out = (struct span){ frozen->data + address, (size_t)count };
	return 0;
}

int dw_frozen_table(const struct frozen *frozen, struct frozen_node node,
		    struct table *table_out, dwarfs_error **err)
{
	struct table table = { .data = frozen->data, .size = frozen->size };
	const struct schema_field *item = NULL;
	uint64_t bits;
	int ret = locate(frozen, node, &table.address, &table.count, err);

	if (ret < 0)
		return ret;
	table.first = table.data + table.address;
	if (node.layout)
		item = dw_schema_field(frozen->schema, node.layout, LIST_ITEM);
	if (item) {
		table.item = &frozen->schema->layouts[item->layout];
		table.stride_bytes = table.item->size;
		if (table.item->size > UINT32_MAX / 8)
			return dw_fail_metadata(err, "an item of a list is too large");
		table.stride = table.item->size ? table.item->size * 8 : table.item->bits;
	}
	if (!dw_mul(table.count, (uint64_t)table.stride, &bits) ||
	    bits > (frozen->size - table.address) * 8)
		return dw_fail_metadata(err, "a list ends outside the data");
	*table_out = table;
	return 0;
}

/* Check that the column of the last item is within the data; then all are. */
static int place_column(const struct table *table, uint64_t bit, uint32_t width,
			unsigned max_bits, struct column *column_out, dwarfs_error **err)
{
	uint64_t end;

	*column_out = (struct column){ 0 };
	if (width == 0 || table->count == 0)
		return 0;
	if (width > max_bits)
		return dw_fail_metadata(err, "a column is wider than its type");
	end = table->address * 8 + (table->count - 1) * table->stride + bit + width;
	if (bit > UINT32_MAX || end > table->size * 8)
		return dw_fail_metadata(err, "a column lies outside the data");
	*column_out = dw_column(bit, width);
	return 0;
}

/* The offset of a field within items, in bits. */
static uint64_t field_bit(const struct schema_field *field)
{
	return field->offset >= 0 ? (uint64_t)field->offset * 8
				  : (uint64_t)-field->offset;
}

int dw_frozen_column(const struct frozen *frozen, const struct table *table, int id,
		     unsigned max_bits, struct column *column_out, dwarfs_error **err)
{
	const struct schema_field *field;

	*column_out = (struct column){ 0 };
	if (!table->item)
		return 0;
	if (id == 0)
		return place_column(table, 0, table->item->bits, max_bits, column_out,
				    err);
	field = dw_schema_field(frozen->schema, table->item, id);
	if (!field)
		return 0;
	return place_column(table, field_bit(field),
			    frozen->schema->layouts[field->layout].bits, max_bits,
			    column_out, err);
}

int dw_frozen_string_column(const struct frozen *frozen, const struct table *table,
			    struct string_column *column_out, dwarfs_error **err)
{
	int ret = dw_frozen_column(frozen, table, LIST_DISTANCE, 64,
				   &column_out->distance, err);

	if (ret < 0)
		return ret;
	return dw_frozen_column(frozen, table, LIST_COUNT, 64, &column_out->count, err);
}

bool dw_column_string(const struct table *table, const struct string_column *column,
		      uint64_t index, struct span *string_out)
{
	uint64_t count = dw_column_get(table, column->count, index);
	uint64_t base = table->address + index * table->stride_bytes;
	uint64_t address;

	if (count == 0) {
		*string_out = (struct span){ table->data, 0 };
		return true;
	}
	if (!dw_add(base, dw_column_get(table, column->distance, index), &address) ||
	    address > table->size || count > table->size - address)
		return false;
	*string_out = (struct span){ table->data + address, (size_t)count };
	return true;
}
