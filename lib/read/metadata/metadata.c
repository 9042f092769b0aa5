/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/metadata: visit the values of the metadata as they are stored.
 *
 * Takes an open image, whose schema has been parsed; gives one value at a time, by the
 * types of format/metadata_types. Unpacks nothing and compares no tables: see view.c for
 * that. Positions are checked by format/frozen; what is bounded here is data without
 * size: lists of items without bits, and overlapping strings.
 */
#include <dwarfs/metadata.h>

#include "format/metadata_types.h"
#include "read/image/image.h"

/* A struct, list or map being visited. */
struct value_level {
	const struct metadata_type *type;
	struct frozen_node node; /* struct */
	struct table table;	 /* list, map */
	uint64_t next, end;
};

/* The current value. */
struct value {
	enum dwarfs_metadata_kind kind;
	const struct metadata_type *type;
	const struct metadata_member *member; /* NULL: an item, or the whole */
	struct frozen_node node;
	struct table table;
	struct span bytes;
	uint64_t number;
};

struct dwarfs_metadata {
	dwarfs_image *image;
	const struct frozen *frozen;
	struct value_level levels[DW_METADATA_DEPTH];
	uint32_t depth;
	struct value value;
	bool is_started, can_enter;
	uint64_t string_bytes; /* of all strings so far */
	uint64_t string_limit;
	uint64_t empty_limit; /* maximum number of items without bits */
};

int dwarfs_metadata_new(const dwarfs_image *image, dwarfs_metadata **metadata_out,
			dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !metadata_out)
		return dw_fail_null(err, "image and metadata_out");

	const struct frozen *frozen = &image->view->frozen;
	dwarfs_metadata *metadata = dw_calloc(1, sizeof(*metadata));

	if (!metadata)
		return dw_fail_nomem(err);
	metadata->image = dwarfs_image_ref(image);
	metadata->frozen = frozen;
	metadata->string_limit = frozen->size;
	/* Entries have at least one bit, and their number bounds all tables except the
	 * categories of blocks. */
	metadata->empty_limit = 8 * frozen->size + image->block_count + 1;
	*metadata_out = metadata;
	return 0;
}

void dwarfs_metadata_free(dwarfs_metadata *metadata)
{
	if (!metadata)
		return;

	dwarfs_image_free(metadata->image);
	dw_free(metadata);
}

/* -- one value ----------------------------------------------------------------------- */

static int take_string(struct dwarfs_metadata *metadata, struct value *value,
		       dwarfs_error **err)
{
	int ret = dw_frozen_string(metadata->frozen, value->node, &value->bytes, err);

	if (ret < 0)
		return ret;
	value->kind = DWARFS_METADATA_STRING;
	metadata->string_bytes += value->bytes.size;
	if (metadata->string_bytes > metadata->string_limit)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "strings overlap");
	return 0;
}

static int take_table(const struct dwarfs_metadata *metadata, struct value *value,
		      dwarfs_error **err)
{
	int ret = dw_frozen_table(metadata->frozen, value->node, &value->table, err);

	if (ret < 0)
		return ret;
	value->kind = value->type->kind == METADATA_MAP ? DWARFS_METADATA_MAP
							: DWARFS_METADATA_LIST;
	if (value->table.stride == 0 && value->table.count > metadata->empty_limit)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "a list claims %" PRIu64 " items without a bit",
			       value->table.count);
	return 0;
}

/* Get a value of known type and node. */
static int take_value(struct dwarfs_metadata *metadata, struct value *value,
		      dwarfs_error **err)
{
	bool is_true;
	int ret;

	switch (value->type->kind) {
	case METADATA_NUMBER:
		value->kind = DWARFS_METADATA_NUMBER;
		return dw_frozen_uint(metadata->frozen, value->node, value->type->bits,
				      &value->number, err);
	case METADATA_BOOL:
		value->kind = DWARFS_METADATA_BOOL;
		ret = dw_frozen_bool(metadata->frozen, value->node, &is_true, err);
		value->number = ret == 0 && is_true;
		return ret;
	case METADATA_STRING:
		return take_string(metadata, value, err);
	case METADATA_LIST:
	case METADATA_MAP:
		return take_table(metadata, value, err);
	default:
		value->kind = DWARFS_METADATA_STRUCT;
		return 0;
	}
}

static int take_member(struct dwarfs_metadata *metadata, const struct value_level *level,
		       const struct metadata_member *member, dwarfs_error **err)
{
	struct value *value = &metadata->value;
	bool is_set = true;
	int ret = 0;

	*value = (struct value){
		.type = member->type,
		.member = member,
		.node = dw_frozen_child(metadata->frozen, level->node, member->id),
	};
	if (member->is_optional)
		ret = dw_frozen_optional(metadata->frozen, value->node, &value->node,
					 &is_set, err);
	if (ret == 0 && is_set)
		ret = take_value(metadata, value, err);
	else
		value->kind = DWARFS_METADATA_UNSET;
	return ret < 0 ? dw_explain(err, ret, "metadata: %s", member->name) : 0;
}

static int take_item(struct dwarfs_metadata *metadata, const struct value_level *level,
		     uint64_t index, dwarfs_error **err)
{
	const struct table *table = &level->table;
	struct value *value = &metadata->value;
	int ret;

	*value = (struct value){
		.type = level->type->item,
		.node = { .layout = table->item, .start = table->address },
	};
	if (table->stride_bytes)
		value->node.start += index * table->stride_bytes;
	else
		value->node.bit = index * table->stride;
	ret = take_value(metadata, value, err);
	return ret < 0 ? dw_explain(err, ret, "metadata: item %" PRIu64 " of a %s", index,
				    level->type->name)
		       : 0;
}

/* -- the pass ------------------------------------------------------------------------ */

static bool is_container(const struct value *value)
{
	return value->kind == DWARFS_METADATA_STRUCT ||
	       value->kind == DWARFS_METADATA_LIST || value->kind == DWARFS_METADATA_MAP;
}

static void enter_value(struct dwarfs_metadata *metadata)
{
	const struct value *value = &metadata->value;
	const bool is_struct = value->kind == DWARFS_METADATA_STRUCT;

	metadata->levels[metadata->depth++] = (struct value_level){
		.type = value->type,
		.node = value->node,
		.table = value->table,
		.end = is_struct ? value->type->member_count : value->table.count,
	};
}

static int next_value(struct dwarfs_metadata *metadata, dwarfs_error **err)
{
	struct value_level *level;

	if (!metadata->is_started) {
		metadata->is_started = true;
		metadata->value = (struct value){
			.type = &dw_metadata_type,
			.node = dw_frozen_root(metadata->frozen),
		};
		return take_value(metadata, &metadata->value, err);
	}
	if (metadata->can_enter)
		enter_value(metadata);
	level = &metadata->levels[metadata->depth - 1];
	if (level->next == level->end) {
		metadata->depth--;
		metadata->value = (struct value){
			.kind = DWARFS_METADATA_END,
			.type = level->type,
		};
		return 0;
	}
	if (level->type->kind == METADATA_STRUCT)
		return take_member(metadata, level, &level->type->members[level->next++],
				   err);
	level->next++;
	return take_item(metadata, level, level->next - 1, err);
}

int dwarfs_metadata_next(dwarfs_metadata *metadata, enum dwarfs_metadata_kind *kind_out,
			 dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(metadata);

	if (!metadata || !kind_out)
		return dw_fail_null(err, "metadata and kind_out");

	int ret;

	if (metadata->is_started && metadata->depth == 0 && !metadata->can_enter)
		return 0;
	if (dw_view_is_bad(metadata->image->view))
		return dw_view_fail(metadata->image->view, err);
	ret = next_value(metadata, err);
	metadata->can_enter = ret == 0 && is_container(&metadata->value);
	if (ret < 0) {
		metadata->depth = 0;
		return ret;
	}
	*kind_out = (int)metadata->value.kind;
	return 1;
}

void dwarfs_metadata_skip(dwarfs_metadata *metadata)
{
	if (!metadata)
		return;
	metadata->can_enter = false;
}

void dwarfs_metadata_leave(dwarfs_metadata *metadata)
{
	if (!metadata)
		return;
	metadata->can_enter = false;
	if (metadata->depth > 0)
		metadata->levels[metadata->depth - 1].next =
			metadata->levels[metadata->depth - 1].end;
}

/* -- properties of a value ----------------------------------------------------------- */

uint32_t dwarfs_metadata_depth(const dwarfs_metadata *metadata)
{
	if (!metadata)
		return 0;
	return metadata->depth;
}

const char *dwarfs_metadata_name(const dwarfs_metadata *metadata)
{
	if (!metadata)
		return NULL;
	return metadata->value.member ? metadata->value.member->name : NULL;
}

int dwarfs_metadata_field(const dwarfs_metadata *metadata)
{
	if (!metadata)
		return 0;
	return metadata->value.member ? metadata->value.member->id : 0;
}

const char *dwarfs_metadata_type(const dwarfs_metadata *metadata)
{
	if (!metadata)
		return NULL;
	return metadata->value.type ? metadata->value.type->name : dw_metadata_type.name;
}

uint64_t dwarfs_metadata_number(const dwarfs_metadata *metadata)
{
	if (!metadata)
		return 0;
	return metadata->value.number;
}

uint64_t dwarfs_metadata_count(const dwarfs_metadata *metadata)
{
	if (!metadata)
		return 0;

	const struct value *value = &metadata->value;

	return value->kind == DWARFS_METADATA_STRING ? value->bytes.size
						     : value->table.count;
}

const void *dwarfs_metadata_bytes(const dwarfs_metadata *metadata, size_t *bytes_out)
{
	if (!metadata || !bytes_out)
		return NULL;
	*bytes_out = metadata->value.bytes.size;
	return metadata->value.bytes.data ? metadata->value.bytes.data : (const void *)"";
}

uint64_t dwarfs_metadata_bits(const dwarfs_metadata *metadata)
{
	if (!metadata)
		return 0;

	const struct value *value = &metadata->value;
	const struct schema_layout *layout = value->node.layout;

	switch (value->kind) {
	case DWARFS_METADATA_STRING:
		return 8 * (uint64_t)value->bytes.size;
	case DWARFS_METADATA_LIST:
	case DWARFS_METADATA_MAP:
		return value->table.count * value->table.stride;
	default:
		if (!layout)
			return 0;
		return layout->size ? 8 * (uint64_t)layout->size : layout->bits;
	}
}

uint64_t dwarfs_metadata_position(const dwarfs_metadata *metadata)
{
	if (!metadata)
		return 0;
	return 8 * metadata->value.node.start + metadata->value.node.bit;
}

int32_t dwarfs_metadata_layout(const dwarfs_metadata *metadata)
{
	if (!metadata)
		return 0;

	const struct schema_layout *layout = metadata->value.node.layout;

	return layout ? (int32_t)(layout - metadata->frozen->schema->layouts) : -1;
}

/* -- the schema ---------------------------------------------------------------------- */

uint32_t dwarfs_schema_count(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return (uint32_t)image->view->schema.layout_count;
}

uint32_t dwarfs_schema_root(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->view->schema.root;
}

static int check_layout(const dwarfs_image *image, uint32_t layout, dwarfs_error **err)
{
	const size_t count = image->view->schema.layout_count;

	return layout < count
		       ? 0
		       : dw_fail(err, DWARFS_ERR_RANGE,
				 "schema: layout %" PRIu32 " of %zu does not exist",
				 layout, count);
}

int dwarfs_schema_layout(const dwarfs_image *image, uint32_t layout, uint32_t *bytes_out,
			 uint32_t *bits_out, uint32_t *fields_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !bytes_out || !bits_out || !fields_out)
		return dw_fail_null(err, "image, bytes_out, bits_out and fields_out");

	const struct schema_layout *found;
	int ret = check_layout(image, layout, err);

	if (ret < 0)
		return ret;
	found = &image->view->schema.layouts[layout];
	*bytes_out = found->size;
	*bits_out = found->bits;
	*fields_out = found->field_count;
	return 0;
}

int dwarfs_schema_field(const dwarfs_image *image, uint32_t layout, uint32_t index,
			int32_t *id_out, uint32_t *layout_out, int32_t *offset_out,
			dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !id_out || !layout_out || !offset_out)
		return dw_fail_null(err, "image, id_out, layout_out and offset_out");

	const struct schema *schema = &image->view->schema;
	const struct schema_field *field;
	int ret = check_layout(image, layout, err);

	if (ret < 0)
		return ret;
	if (index >= schema->layouts[layout].field_count)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "schema: layout %" PRIu32 " has no field at %" PRIu32,
			       layout, index);
	field = &schema->fields[schema->layouts[layout].first_field + index];
	*id_out = field->id;
	*layout_out = field->layout;
	*offset_out = field->offset;
	return 0;
}

uint64_t dwarfs_metadata_total_bytes(const dwarfs_image *image)
{
	if (!image)
		return 0;
	return image->view->frozen.size;
}
