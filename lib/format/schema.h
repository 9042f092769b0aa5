/* SPDX-License-Identifier: MIT */
/*
 * format/schema: the position and width of each field of the metadata.
 */
#ifndef DW_FORMAT_SCHEMA_H
#define DW_FORMAT_SCHEMA_H

#include "base/memory.h"

struct schema_field {
	int16_t id;	 /* as in format/metadata.h */
	uint16_t layout; /* of its value; checked to exist */
	int16_t offset;	 /* >= 0: bytes; < 0: minus the bits */
};

struct schema_layout {
	uint32_t size; /* bytes, or 0 if laid out in bits */
	uint32_t bits;
	uint32_t first_field, field_count; /* in schema.fields, in any order */
};

struct schema {
	struct schema_layout *layouts;
	size_t layout_count, layout_capacity;
	struct schema_field *fields;
	size_t field_count, field_capacity;
	uint16_t root;
};

/* Parse the content of a schema section; all references between layouts are checked. */
int dw_schema_parse(struct span bytes, struct schema *schema_out, dwarfs_error **err);
void dw_schema_free(struct schema *schema);
static inline void dw_cleanup_schema(struct schema *schema)
{
	dw_schema_free(schema);
}
#define auto_schema DW_AUTO(schema)

/* The field of a layout with this id, or NULL. */
const struct schema_field *dw_schema_field(const struct schema *schema,
					   const struct schema_layout *layout, int id);

#endif
