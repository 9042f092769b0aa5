/* SPDX-License-Identifier: MIT */
/*
 * format/frozen: read bit-packed metadata in place, by a schema.
 *
 * A node is a value in the data; a field that the schema lacks is an absent node, whose
 * value is 0, false or empty. A table is a list with its columns compiled to positions:
 * its bounds are checked once, when it is opened, so that reading an item only requires
 * "index < count".
 */
#ifndef DW_FORMAT_FROZEN_H
#define DW_FORMAT_FROZEN_H

#include "base/bytes.h"
#include "format/schema.h"

/* Fail because the metadata is invalid. */
#define dw_fail_metadata(err, what) dw_fail(err, DWARFS_ERR_CORRUPT, "metadata: %s", what)

/* Readable bytes required after the data, so that whole words can be loaded. */
#define DW_FROZEN_PADDING 16

struct frozen {
	const struct schema *schema;
	const uint8_t *data; /* followed by DW_FROZEN_PADDING readable bytes */
	uint64_t size;	     /* without the padding */
};

struct frozen_node {
	const struct schema_layout *layout; /* NULL if absent */
	uint64_t start; /* byte address that distances are relative to */
	uint64_t bit;	/* from start */
};

struct frozen_node dw_frozen_root(const struct frozen *frozen);
struct frozen_node dw_frozen_child(const struct frozen *frozen, struct frozen_node node,
				   int id);

/*
 * The value of an optional; an absent node when it is not set. *is_set_out (may be NULL)
 * distinguishes "set to an empty value" from "not set".
 */
int dw_frozen_optional(const struct frozen *frozen, struct frozen_node node,
		       struct frozen_node *value_out, bool *is_set_out,
		       dwarfs_error **err);

/* A bool: one bit, whatever the width of its layout. */
int dw_frozen_bool(const struct frozen *frozen, struct frozen_node node, bool *value_out,
		   dwarfs_error **err);

/* An unsigned integer of at most max_bits. */
int dw_frozen_uint(const struct frozen *frozen, struct frozen_node node,
		   unsigned max_bits, uint64_t *value_out, dwarfs_error **err);

/* A string, borrowed from the data. */
int dw_frozen_string(const struct frozen *frozen, struct frozen_node node,
		     struct span *string_out, dwarfs_error **err);

/* A list, set or map. Zero-initialized, it is empty. */
struct table {
	const uint8_t *data;
	uint64_t size;	      /* of the data */
	uint64_t address;     /* byte address of the first item */
	const uint8_t *first; /* the same as a pointer */
	uint64_t count;
	uint32_t stride;       /* bits from item to item */
	uint32_t stride_bytes; /* the same in bytes if items are byte-sized, else 0 */
	const struct schema_layout *item;
};

/* A field of the items; zero-initialized, it is absent: its value is 0 everywhere. */
struct column {
	uint64_t mask; /* with its width in ones */
	uint32_t bit;  /* from the start of the item */
	uint8_t width;
};

static inline struct column dw_column(uint64_t bit, unsigned width)
{
	return (struct column){
		.mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1,
		.bit = (uint32_t)bit,
		.width = (uint8_t)width,
	};
}

int dw_frozen_table(const struct frozen *frozen, struct frozen_node node,
		    struct table *table_out, dwarfs_error **err);

/* The column of a field of struct items (id > 0), or of plain items (id 0). */
int dw_frozen_column(const struct frozen *frozen, const struct table *table, int id,
		     unsigned max_bits, struct column *column_out, dwarfs_error **err);

/* The columns of a string: of a field of the items, or (id 0) of the items themselves. */
struct string_column {
	struct column distance, count;
};
int dw_frozen_string_column(const struct frozen *frozen, const struct table *table,
			    struct string_column *column_out, dwarfs_error **err);

/* The caller checks index < table->count; an absent column gives 0. */
static inline uint64_t dw_column_get(const struct table *table, struct column column,
				     uint64_t index)
{
	uint64_t at = index * table->stride + column.bit;
	const uint8_t *from = table->first + (at >> 3);
	unsigned shift = at & 7;
	uint64_t value = dw_load64(from) >> shift;

	if (__builtin_expect(shift + column.width > 64, 0))
		value |= (uint64_t)from[8] << (64 - shift);
	return value & column.mask;
}

/* The same for a column of at most 32 bits, which one word contains at any bit offset. */
static inline uint32_t dw_column_get32(const struct table *table, struct column column,
				       uint64_t index)
{
	uint64_t at = index * table->stride + column.bit;

	return (uint32_t)((dw_load64(table->first + (at >> 3)) >> (at & 7)) &
			  column.mask);
}

/* Prefetch an item. */
static inline void dw_table_prefetch(const struct table *table, uint64_t index)
{
	__builtin_prefetch(table->first + index * table->stride / 8);
}

/* A string item; false if it is outside the data. */
bool dw_column_string(const struct table *table, const struct string_column *column,
		      uint64_t index, struct span *string_out);

#endif
