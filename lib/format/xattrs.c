/* SPDX-License-Identifier: MIT */
/*
 * format/xattrs: read the contents of an XATTRS section.
 *
 * Takes untrusted bytes. They are checked once, completely; lookups then rely on that.
 */
#include "format/xattrs.h"

static int fail_xattrs(dwarfs_error **err, const char *what)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT, "extended attributes: %s", what);
}

static uint32_t item(const uint8_t *table, uint32_t index)
{
	return dw_load32(table + (size_t)index * 4);
}

static uint32_t end_before(const uint8_t *ends, uint32_t index)
{
	return index > 0 ? item(ends, index - 1) : 0;
}

static struct xattr_table read_xattr_header(const uint8_t *data)
{
	return (struct xattr_table){
		.metadata_xxh3 = dw_load64(data + XATTRS_AT_METADATA_XXH3),
		.inode_count = dw_load32(data + XATTRS_AT_INODE_COUNT),
		.name_count = dw_load32(data + XATTRS_AT_NAME_COUNT),
		.value_count = dw_load32(data + XATTRS_AT_VALUE_COUNT),
		.set_count = dw_load32(data + XATTRS_AT_SET_COUNT),
		.pair_count = dw_load32(data + XATTRS_AT_PAIR_COUNT),
		.run_count = dw_load32(data + XATTRS_AT_RUN_COUNT),
		.name_bytes = dw_load32(data + XATTRS_AT_NAME_BYTES),
		.value_bytes = dw_load32(data + XATTRS_AT_VALUE_BYTES),
		.set_width = dw_load32(data + XATTRS_AT_SET_WIDTH),
	};
}

static uint32_t stored_sets(const struct xattr_table *table)
{
	return table->run_count ? table->run_count : table->inode_count;
}

/* The size of all tables; the sum cannot overflow. */
static uint64_t xattr_table_bytes(const struct xattr_table *table)
{
	return DW_XATTRS_HEADER_BYTES +
	       4 * ((uint64_t)table->name_count + table->value_count + table->set_count +
		    table->run_count) +
	       8 * (uint64_t)table->pair_count +
	       (uint64_t)stored_sets(table) * table->set_width + table->name_bytes +
	       table->value_bytes;
}

static void place_tables(struct xattr_table *table, const uint8_t *data)
{
	table->name_ends = data + DW_XATTRS_HEADER_BYTES;
	table->value_ends = table->name_ends + (size_t)table->name_count * 4;
	table->set_ends = table->value_ends + (size_t)table->value_count * 4;
	table->pairs = table->set_ends + (size_t)table->set_count * 4;
	table->run_firsts = table->pairs + (size_t)table->pair_count * 8;
	table->sets = table->run_firsts + (size_t)table->run_count * 4;
	table->names = table->sets + (size_t)stored_sets(table) * table->set_width;
	table->values = table->names + table->name_bytes;
}

struct xattr_table dw_xattr_table_look(const uint8_t *data)
{
	struct xattr_table table = read_xattr_header(data);

	place_tables(&table, data);
	return table;
}

/* -- checking ------------------------------------------------------------------------ */

static int check_xattr_names(const struct xattr_table *table, dwarfs_error **err)
{
	const uint8_t *before = NULL;

	for (uint32_t i = 0; i < table->name_count; i++) {
		uint32_t start = end_before(table->name_ends, i);
		uint32_t end = item(table->name_ends, i);
		const uint8_t *name = table->names + start;

		if (end > table->name_bytes || start >= end || end - start < 2 ||
		    end - start > DW_XATTR_NAME_MAX + 1)
			return fail_xattrs(err, "a name has an impossible length");
		if (memchr(name, 0, end - start) != name + (end - start - 1))
			return fail_xattrs(err, "a name does not end with its only NUL");
		if (before && strcmp((const char *)before, (const char *)name) >= 0)
			return fail_xattrs(err, "names are not sorted");
		before = name;
	}
	if (end_before(table->name_ends, table->name_count) != table->name_bytes)
		return fail_xattrs(err, "there is data after the names");
	return 0;
}

/* Whether ends ascend to a total, each item having at least this size. */
static bool ends_fit(const uint8_t *ends, uint32_t count, uint32_t least, uint32_t total)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t end = item(ends, i);

		if (end < before || end - before < least)
			return false;
		before = end;
	}
	return before == total;
}

static int check_sets(const struct xattr_table *table, dwarfs_error **err)
{
	uint32_t pair = 0;

	if (!ends_fit(table->set_ends, table->set_count, 1, table->pair_count))
		return fail_xattrs(err, "a set has impossible attributes");
	for (uint32_t set = 0; set < table->set_count; set++) {
		uint32_t end = item(table->set_ends, set);

		for (uint32_t first = pair; pair < end; pair++) {
			uint32_t name = item(table->pairs, 2 * pair);

			if (name >= table->name_count ||
			    item(table->pairs, 2 * pair + 1) >= table->value_count)
				return fail_xattrs(err, "a name or value does not exist");
			if (pair > first && item(table->pairs, 2 * pair - 2) >= name)
				return fail_xattrs(err, "a set is not sorted");
		}
	}
	return 0;
}

static uint32_t set_at(const struct xattr_table *table, uint32_t index)
{
	const uint8_t *at = table->sets + (size_t)index * table->set_width;

	switch (table->set_width) {
	case 1:
		return *at;
	case 2:
		return dw_load16(at);
	default:
		return dw_load32(at);
	}
}

static int check_inodes(const struct xattr_table *table, dwarfs_error **err)
{
	for (uint32_t i = 0; i < table->run_count; i++) {
		uint32_t first = item(table->run_firsts, i);

		if (first >= table->inode_count ||
		    (i > 0 && first <= item(table->run_firsts, i - 1)))
			return fail_xattrs(err, "a run has an impossible inode");
	}
	for (uint32_t i = 0; i < stored_sets(table); i++)
		if (set_at(table, i) > table->set_count)
			return fail_xattrs(err, "an inode has a set that does not exist");
	return 0;
}

int dw_xattr_table_check(struct span data, struct xattr_table *table_out,
			 dwarfs_error **err)
{
	struct xattr_table table;
	uint32_t version;
	int ret;

	if (data.size < DW_XATTRS_HEADER_BYTES)
		return fail_xattrs(err, "there is no header");
	version = dw_load32(data.data + XATTRS_AT_VERSION);
	if (version != DW_XATTRS_VERSION)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "extended attributes: version %" PRIu32
			       " is not supported",
			       version);
	table = read_xattr_header(data.data);
	if (table.set_width != 1 && table.set_width != 2 && table.set_width != 4)
		return fail_xattrs(err, "sets have an impossible width");
	if (xattr_table_bytes(&table) != data.size)
		return fail_xattrs(err, "their tables do not fit");
	place_tables(&table, data.data);
	if ((ret = check_xattr_names(&table, err)) < 0)
		return ret;
	if (!ends_fit(table.value_ends, table.value_count, 0, table.value_bytes))
		return fail_xattrs(err, "a value has an impossible length");
	if ((ret = check_sets(&table, err)) < 0 || (ret = check_inodes(&table, err)) < 0)
		return ret;
	*table_out = table;
	return 0;
}

/* -- lookups ------------------------------------------------------------------------- */

/* The number of runs that begin at or before an inode. */
static uint32_t runs_until(const struct xattr_table *table, uint32_t inode)
{
	uint32_t low = 0, high = table->run_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (item(table->run_firsts, middle) <= inode)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t set_of_inode(const struct xattr_table *table, uint32_t inode)
{
	uint32_t run;

	if (table->run_count == 0)
		return set_at(table, inode);
	run = runs_until(table, inode);
	return run > 0 ? set_at(table, run - 1) : 0;
}

void dw_xattr_table_pairs(const struct xattr_table *table, uint32_t inode,
			  uint32_t *first_out, uint32_t *end_out)
{
	uint32_t set = set_of_inode(table, inode);

	*first_out = *end_out = 0;
	if (set == 0)
		return;
	*first_out = end_before(table->set_ends, set - 1);
	*end_out = item(table->set_ends, set - 1);
}

struct span dw_xattr_table_name(const struct xattr_table *table, uint32_t pair)
{
	uint32_t name = item(table->pairs, 2 * pair);
	uint32_t start = end_before(table->name_ends, name);

	return (struct span){ table->names + start,
			      item(table->name_ends, name) - start - 1 };
}

struct span dw_xattr_table_value(const struct xattr_table *table, uint32_t pair)
{
	uint32_t value = item(table->pairs, 2 * pair + 1);
	uint32_t start = end_before(table->value_ends, value);

	return (struct span){ table->values + start,
			      item(table->value_ends, value) - start };
}

const char *dw_xattr_table_any_name(const struct xattr_table *table, uint32_t name)
{
	return (const char *)table->names + end_before(table->name_ends, name);
}
