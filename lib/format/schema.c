/* SPDX-License-Identifier: MIT */
/*
 * format/schema: the position and width of each field of the metadata.
 *
 * Takes the bytes of a schema section (Thrift compact); gives layouts whose references
 * are checked. Does not see the data: format/frozen checks each access to it.
 */
#include "format/schema.h"
#include "format/thrift.h"

enum { SCHEMA_RELAX = 1, SCHEMA_LAYOUTS = 2, SCHEMA_ROOT = 3, SCHEMA_VERSION = 4 };
enum { LAYOUT_SIZE = 1, LAYOUT_BITS = 2, LAYOUT_FIELDS = 3, LAYOUT_NAME = 4 };
enum { FIELD_LAYOUT = 1, FIELD_OFFSET = 2 };

#define MAX_LAYOUTS 32767
#define MAX_FIELDS  32767

void dw_schema_free(struct schema *schema)
{
	dw_free(schema->layouts);
	dw_free(schema->fields);
	*schema = (struct schema){ 0 };
}

const struct schema_field *dw_schema_field(const struct schema *schema,
					   const struct schema_layout *layout, int id)
{
	const struct schema_field *fields = schema->fields + layout->first_field;

	for (uint32_t i = 0; i < layout->field_count; i++)
		if (fields[i].id == id)
			return &fields[i];
	return NULL;
}

static int fail_schema(dwarfs_error **err, const char *what)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT, "schema: %s", what);
}

static int parse_field(struct thrift_reader *reader, struct schema *schema, int64_t id,
		       dwarfs_error **err)
{
	struct thrift_field field = { 0 };
	struct schema_field *added;
	int64_t layout = 0, offset = 0;
	int ret;

	while (dw_thrift_field(reader, &field)) {
		switch (field.id) {
		case FIELD_LAYOUT:
			layout = dw_thrift_int(reader, &field, THRIFT_I16);
			break;
		case FIELD_OFFSET:
			offset = dw_thrift_int(reader, &field, THRIFT_I16);
			break;
		default:
			dw_thrift_skip(reader, &field);
		}
	}
	if (layout < 0 || layout > MAX_LAYOUTS || offset < INT16_MIN ||
	    offset > INT16_MAX || id < INT16_MIN || id > INT16_MAX)
		return fail_schema(err, "a field is out of range");
	if (schema->field_count == MAX_FIELDS)
		return fail_schema(err, "too many fields");
	ret = dw_grow(&schema->fields, &schema->field_capacity, schema->field_count + 1,
		      err);
	if (ret < 0)
		return ret;
	added = &schema->fields[schema->field_count++];
	added->id = (int16_t)id;
	added->layout = (uint16_t)layout;
	added->offset = (int16_t)offset;
	return 0;
}

static int parse_fields(struct thrift_reader *reader, const struct thrift_field *field,
			struct schema *schema, dwarfs_error **err)
{
	uint64_t count = dw_thrift_map(reader, field, THRIFT_I16, THRIFT_STRUCT);

	for (uint64_t i = 0; i < count && dw_thrift_ok(reader); i++) {
		int64_t id = dw_thrift_element_int(reader);
		int ret = parse_field(reader, schema, id, err);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static int parse_layout(struct thrift_reader *reader, struct schema *schema,
			struct schema_layout *layout, dwarfs_error **err)
{
	struct thrift_field field = { 0 };
	int64_t size = 0, bits = 0;
	int ret = 0;

	layout->first_field = (uint32_t)schema->field_count;
	while (ret == 0 && dw_thrift_field(reader, &field)) {
		switch (field.id) {
		case LAYOUT_SIZE:
			size = dw_thrift_int(reader, &field, THRIFT_I32);
			break;
		case LAYOUT_BITS:
			bits = dw_thrift_int(reader, &field, THRIFT_I16);
			break;
		case LAYOUT_FIELDS:
			if (schema->field_count > layout->first_field)
				return fail_schema(err,
						   "a layout has two lists of fields");
			ret = parse_fields(reader, &field, schema, err);
			break;
		default:
			dw_thrift_skip(reader, &field);
		}
	}
	if (ret < 0)
		return ret;
	if (size < 0 || size > INT32_MAX || bits < 0 || bits > INT16_MAX)
		return fail_schema(err, "a layout has an impossible size");
	layout->size = (uint32_t)size;
	layout->bits = (uint32_t)bits;
	layout->field_count = (uint32_t)schema->field_count - layout->first_field;
	return 0;
}

/* The keys must be 0 to n - 1, in any order. */
static int parse_layouts(struct thrift_reader *reader, const struct thrift_field *field,
			 struct schema *schema, dwarfs_error **err)
{
	uint64_t count = dw_thrift_map(reader, field, THRIFT_I16, THRIFT_STRUCT);
	auto_free uint8_t *seen = NULL;

	if (count > MAX_LAYOUTS || schema->layouts)
		return fail_schema(err, "too many layouts");
	seen = dw_calloc((size_t)count, 1);
	schema->layouts = dw_calloc((size_t)count, sizeof(*schema->layouts));
	if (!seen || !schema->layouts)
		return dw_fail_nomem(err);
	schema->layout_count = (size_t)count;
	for (uint64_t i = 0; i < count && dw_thrift_ok(reader); i++) {
		int64_t key = dw_thrift_element_int(reader);
		int ret;

		if (key < 0 || (uint64_t)key >= count || seen[key])
			return fail_schema(err, "the layouts are not numbered from 0");
		seen[key] = 1;
		ret = parse_layout(reader, schema, &schema->layouts[key], err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int compare_ids(const void *left, const void *right)
{
	return *(const int16_t *)left - *(const int16_t *)right;
}

/* A layout must not have the same field twice: readers would differ in which one they
 * use. */
static int check_ids(const struct schema *schema, const struct schema_layout *layout,
		     dwarfs_error **err)
{
	const struct schema_field *fields = schema->fields + layout->first_field;
	auto_free int16_t *ids = NULL;
	uint32_t i = 1;

	while (i < layout->field_count && fields[i - 1].id < fields[i].id)
		i++;
	if (i >= layout->field_count)
		return 0;
	if (!(ids = dw_calloc(layout->field_count, sizeof(*ids))))
		return dw_fail_nomem(err);
	for (i = 0; i < layout->field_count; i++)
		ids[i] = fields[i].id;
	qsort(ids, layout->field_count, sizeof(*ids), compare_ids);
	for (i = 1; i < layout->field_count; i++)
		if (ids[i - 1] == ids[i])
			return fail_schema(err, "a layout has a field twice");
	return 0;
}

static int check_layout_references(const struct schema *schema, int64_t root,
				   dwarfs_error **err)
{
	if (root < 0 || (uint64_t)root >= schema->layout_count)
		return fail_schema(err, "the root layout is missing");
	for (size_t i = 0; i < schema->layout_count; i++) {
		int ret = check_ids(schema, &schema->layouts[i], err);

		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < schema->field_count; i++)
		if (schema->fields[i].layout >= schema->layout_count)
			return fail_schema(err,
					   "a field refers to a layout that is missing");
	return 0;
}

int dw_schema_parse(struct span bytes, struct schema *schema_out, dwarfs_error **err)
{
	auto_schema struct schema schema = { 0 };
	struct thrift_reader reader;
	struct thrift_field field = { 0 };
	int64_t root = 0, version = 0;
	int ret = 0;

	dw_thrift_start(&reader, bytes);
	while (ret == 0 && dw_thrift_field(&reader, &field)) {
		switch (field.id) {
		case SCHEMA_LAYOUTS:
			ret = parse_layouts(&reader, &field, &schema, err);
			break;
		case SCHEMA_ROOT:
			root = dw_thrift_int(&reader, &field, THRIFT_I16);
			break;
		case SCHEMA_VERSION:
			version = dw_thrift_int(&reader, &field, THRIFT_I32);
			break;
		default:
			dw_thrift_skip(&reader, &field);
		}
	}
	if (ret < 0)
		return ret;
	if (!dw_thrift_ok(&reader))
		return fail_schema(err, reader.error);
	if (dw_thrift_left(&reader) != 0)
		return fail_schema(err, "there are bytes after its end");
	if (version > 1)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "schema: version %" PRId64 " is not known", version);
	if ((ret = check_layout_references(&schema, root, err)) < 0)
		return ret;
	schema.root = (uint16_t)root;
	*schema_out = schema;
	schema = (struct schema){ 0 };
	return 0;
}
