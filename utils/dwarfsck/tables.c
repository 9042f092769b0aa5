/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/tables: sizes and offsets of the metadata tables.
 *
 * All items of a list have the same columns, so only its first item is read.
 */
#include "dwarfsck/dwarfsck.h"

#include <inttypes.h>
#include <string.h>

/* -- sizes of the fields ------------------------------------------------------------- */

/* A top-level field, with its nested values. */
struct usage {
	const char *name;
	const char *type;
	uint64_t count; /* items, or bytes of a string */
	uint64_t bits;
};

static void print_usage_of(const struct usage *usage, uint64_t total)
{
	char count[24] = "";
	char each[24] = "";

	if (usage->bits == 0)
		return;
	if (usage->count > 0) {
		snprintf(count, sizeof(count), "%" PRIu64, usage->count);
		snprintf(each, sizeof(each), "%.1f",
			 (double)usage->bits / (double)usage->count);
	}
	printf("  %-26s %12s %8s %12" PRIu64 " %5.1f%%\n", usage->name, count, each,
	       (usage->bits + 7) / 8,
	       total ? 100.0 * (double)usage->bits / 8 / (double)total : 0.0);
}

/* Bits of a value up to its END, without those stored in the enclosing struct. */
static int add_contents(dwarfs_metadata *metadata, enum dwarfs_metadata_kind kind,
			uint64_t *bits, dwarfs_error **err)
{
	const bool is_plain = kind == DWARFS_METADATA_LIST &&
			      !strstr(dwarfs_metadata_type(metadata), "string") &&
			      !strstr(dwarfs_metadata_type(metadata), "history");
	uint32_t depth = 1;
	int ret;

	if (kind == DWARFS_METADATA_LIST || kind == DWARFS_METADATA_MAP ||
	    kind == DWARFS_METADATA_STRING)
		*bits += dwarfs_metadata_bits(metadata);
	if (kind < DWARFS_METADATA_STRUCT)
		return 0;
	if (is_plain || kind == DWARFS_METADATA_MAP) {
		dwarfs_metadata_skip(metadata);
		return 0;
	}
	while (depth > 0 && (ret = dwarfs_metadata_next(metadata, &kind, err)) > 0) {
		if (kind == DWARFS_METADATA_STRUCT) {
			depth++;
		} else if (kind == DWARFS_METADATA_END) {
			depth--;
		} else if (kind == DWARFS_METADATA_LIST || kind == DWARFS_METADATA_MAP) {
			*bits += dwarfs_metadata_bits(metadata);
			dwarfs_metadata_skip(metadata);
		} else if (kind == DWARFS_METADATA_STRING) {
			*bits += dwarfs_metadata_bits(metadata);
		}
	}
	return depth > 0 ? ret : 0;
}

static int begin_pass(const dwarfs_image *image, dwarfs_metadata **metadata_out,
		      dwarfs_error **err)
{
	enum dwarfs_metadata_kind kind;
	int ret = dwarfs_metadata_new(image, metadata_out, err);

	return ret < 0 ? ret : dwarfs_metadata_next(*metadata_out, &kind, err);
}

int print_frozen_analysis(const dwarfs_image *image)
{
	const uint64_t total = dwarfs_metadata_total_bytes(image);
	auto_handle(dwarfs_metadata) *metadata = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	struct usage root = { .name = "(root)" };
	enum dwarfs_metadata_kind kind;
	int ret;

	if (begin_pass(image, &metadata, &err) < 0)
		return tool_fail(err, NULL);
	root.bits = dwarfs_metadata_bits(metadata);
	printf("metadata: %" PRIu64 " byte%s\n", total, tool_plural(total));
	printf("  %-26s %12s %8s %12s %6s\n", "field", "items", "bits", "bytes", "share");
	print_usage_of(&root, total);
	while ((ret = dwarfs_metadata_next(metadata, &kind, &err)) > 0 &&
	       kind != DWARFS_METADATA_END) {
		struct usage usage = {
			.name = dwarfs_metadata_name(metadata),
			.count = kind == DWARFS_METADATA_STRING
					 ? 0
					 : dwarfs_metadata_count(metadata),
		};

		if (add_contents(metadata, kind, &usage.bits, &err) < 0)
			return tool_fail(err, NULL);
		print_usage_of(&usage, total);
	}
	return ret < 0 ? tool_fail(err, NULL) : 0;
}

/* -- where the fields are ------------------------------------------------------------ */

/* Of the structs and lists that a value is in: where they are, and whether of a list. */
struct above {
	uint64_t position;
	bool is_list;
};

static void print_name_of(const dwarfs_metadata *metadata)
{
	const char *name = dwarfs_metadata_name(metadata);
	const int field = dwarfs_metadata_field(metadata);

	printf("%*s", (int)(2 * dwarfs_metadata_depth(metadata)), "");
	if (name)
		printf("%d %s: ", field, name);
	printf("%s", dwarfs_metadata_type(metadata));
}

static void print_place_of(const dwarfs_image *image, const dwarfs_metadata *metadata,
			   const struct above *above)
{
	const int32_t layout = dwarfs_metadata_layout(metadata);
	uint32_t bytes, bits, fields;

	if (layout < 0 || dwarfs_schema_layout(image, (uint32_t)layout, &bytes, &bits,
					       &fields, NULL) < 0) {
		printf(", not stored\n");
		return;
	}
	printf(", layout %" PRId32 ", %" PRIu32 " bit%s", layout, bits,
	       tool_plural(bits));
	if (dwarfs_metadata_depth(metadata) > 0 && !above->is_list)
		printf(" at %" PRIu64,
		       dwarfs_metadata_position(metadata) - above->position);
	printf("\n");
}

static void print_value_of(const dwarfs_metadata *metadata,
			   enum dwarfs_metadata_kind kind)
{
	const uint64_t count = dwarfs_metadata_count(metadata);

	if (kind == DWARFS_METADATA_LIST || kind == DWARFS_METADATA_MAP)
		printf(", %" PRIu64 " item%s", count, tool_plural(count));
	else if (kind == DWARFS_METADATA_STRING)
		printf(", %" PRIu64 " byte%s", count, tool_plural(count));
}

/* The tree of layouts; with details also how many items and bytes there are. */
static int print_layout_tree(const dwarfs_image *image, bool details)
{
	auto_handle(dwarfs_metadata) *metadata = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	struct above above[16] = { { 0 } };
	enum dwarfs_metadata_kind kind;
	int ret;

	if (dwarfs_metadata_new(image, &metadata, &err) < 0)
		return tool_fail(err, NULL);
	while ((ret = dwarfs_metadata_next(metadata, &kind, &err)) > 0) {
		const uint32_t depth = dwarfs_metadata_depth(metadata);
		const struct above *in = &above[depth > 0 ? depth - 1 : 0];

		if (kind == DWARFS_METADATA_END) {
			/* One item has been shown; the others look the same. */
			if (depth > 0 && in->is_list)
				dwarfs_metadata_leave(metadata);
			continue;
		}
		if (kind == DWARFS_METADATA_UNSET)
			continue;
		print_name_of(metadata);
		if (details)
			print_value_of(metadata, kind);
		print_place_of(image, metadata, in);
		if (kind >= DWARFS_METADATA_STRUCT)
			above[depth] = (struct above){
				.position = dwarfs_metadata_position(metadata),
				.is_list = kind != DWARFS_METADATA_STRUCT,
			};
		else if (depth > 0 && in->is_list)
			dwarfs_metadata_leave(metadata);
	}
	return ret < 0 ? tool_fail(err, NULL) : 0;
}

int print_frozen_layout(const dwarfs_image *image)
{
	printf("metadata layout:\n");
	return print_layout_tree(image, false);
}

int print_frozen_details(const dwarfs_image *image)
{
	printf("metadata tables:\n");
	return print_layout_tree(image, true);
}

/* -- the schema ---------------------------------------------------------------------- */

int print_schema(const dwarfs_image *image)
{
	auto_handle(dwarfs_error) *err = NULL;
	uint32_t layout, bytes, bits, fields, i;

	printf("schema: %" PRIu32 " layouts, root %" PRIu32 "\n",
	       dwarfs_schema_count(image), dwarfs_schema_root(image));
	for (layout = 0; layout < dwarfs_schema_count(image); layout++) {
		if (dwarfs_schema_layout(image, layout, &bytes, &bits, &fields, &err) < 0)
			return tool_fail(err, NULL);
		printf("  layout %" PRIu32 ": size %" PRIu32 ", bits %" PRIu32 "\n",
		       layout, bytes, bits);
		for (i = 0; i < fields; i++) {
			int32_t id, offset;
			uint32_t of;

			if (dwarfs_schema_field(image, layout, i, &id, &of, &offset,
						&err) < 0)
				return tool_fail(err, NULL);
			printf("    field %" PRId32 ": layout %" PRIu32
			       ", offset %" PRId32 "\n",
			       id, of, offset);
		}
	}
	return 0;
}

/* -- the chunks of the files --------------------------------------------------------- */

static int print_chunks_of(const dwarfs_image *image, dwarfs_inode inode,
			   dwarfs_error **err)
{
	dwarfs_file *file;
	uint64_t i;
	int ret = dwarfs_file_open(image, inode, &file, err);

	if (ret < 0)
		return ret;
	for (i = 0; i < dwarfs_file_chunk_count(file) && ret == 0; i++) {
		uint64_t offset, bytes;
		int64_t block;

		ret = dwarfs_file_chunk(file, i, &block, &offset, &bytes, err);
		if (ret == 0 && block < 0)
			printf("  hole, size %" PRIu64 "\n", bytes);
		else if (ret == 0)
			printf("  block %" PRId64 ", offset %" PRIu64 ", size %" PRIu64
			       "\n",
			       block, offset, bytes);
	}
	dwarfs_file_free(file);
	return ret;
}

static int print_chunks_of_inode(const dwarfs_image *image, uint32_t inode,
				 dwarfs_stat *stat)
{
	auto_handle(dwarfs_error) *err = NULL;
	int ret = dwarfs_inode_stat(image, dwarfs_inode_at(inode), stat, &err);

	if (ret == 0 && (dwarfs_stat_mode(stat) & 0170000) == 0100000) {
		printf(" inode %" PRIu32 ":\n", inode);
		ret = print_chunks_of(image, dwarfs_inode_at(inode), &err);
	}
	return ret < 0 ? tool_fail(err, "inode %" PRIu32, inode) : 0;
}

/* Files share inodes; each is shown once, by number. */
int print_chunk_details(const dwarfs_image *image)
{
	auto_handle(dwarfs_stat) *stat = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	uint32_t inode;
	int code = 0;

	if (dwarfs_stat_new(&stat, &err) < 0)
		return tool_fail(err, NULL);
	printf("chunks:\n");
	for (inode = 0; inode < dwarfs_image_inode_count(image); inode++)
		code |= print_chunks_of_inode(image, inode, stat);
	return code;
}
