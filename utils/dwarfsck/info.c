/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/info: the properties of an image as text.
 */
#include "dwarfsck/dwarfsck.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

uint64_t section_fact(const dwarfs_image *image, uint32_t section, int field)
{
	uint64_t value;

	return dwarfs_image_section(image, section, field, &value, NULL) == 0 ? value : 0;
}

/* Damaged ones, which the check reports, are not counted. */
int count_inodes(const dwarfs_image *image, struct inode_counts *counts)
{
	auto_handle(dwarfs_stat) *stat = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	uint32_t inode;
	int ret;

	*counts = (struct inode_counts){ 0 };
	if (dwarfs_stat_new(&stat, &err) < 0)
		return tool_fail(err, NULL);
	for (inode = 0; inode < dwarfs_image_inode_count(image); inode++) {
		ret = dwarfs_inode_stat(image, dwarfs_inode_at(inode), stat, NULL);
		if (ret == DWARFS_ERR_NOMEM)
			return tool_error("out of memory");
		if (ret < 0)
			continue;
		switch (dwarfs_stat_mode(stat) & S_IFMT) {
		case S_IFDIR:
			counts->directories++;
			break;
		case S_IFREG:
			counts->files++;
			break;
		case S_IFLNK:
			counts->links++;
			break;
		case S_IFBLK:
		case S_IFCHR:
			counts->devices++;
			break;
		default:
			counts->specials++;
		}
	}
	return 0;
}

static void print_version(const dwarfs_image *image)
{
	const char *by = dwarfs_image_created_by(image);
	int64_t seconds;
	char text[TOOL_TEXT_ROOM];

	printf("DwarFS version 2.%" PRIu32 " at offset %" PRIu64 "\n",
	       dwarfs_image_format_minor(image), dwarfs_image_offset(image));
	if (by) {
		printf("created by: ");
		print_name(by);
		printf("\n");
	}
	if (dwarfs_image_created_on(image, &seconds))
		printf("created on: %s UTC\n", tool_format_time(seconds, text));
}

static void print_bytes(const char *what, uint64_t bytes)
{
	char text[TOOL_TEXT_ROOM];

	printf("%s: %s", what, tool_format_bytes(bytes, text));
	if (bytes >= 1024)
		printf(" (%" PRIu64 " bytes)", bytes);
	printf("\n");
}

static void print_words(const char *what, const dwarfs_image *image,
			const char *(*word)(const dwarfs_image *, size_t))
{
	size_t i;

	if (!word(image, 0))
		return;
	printf("%s:", what);
	for (i = 0; word(image, i); i++) {
		printf("%s ", i ? "," : "");
		print_name(word(image, i));
	}
	printf("\n");
}

uint64_t *count_unused(const dwarfs_image *image)
{
	const uint32_t count = dwarfs_image_block_count(image);
	uint64_t *unused = calloc(count ? count : 1, sizeof(*unused));

	if (unused && dwarfs_image_unused_bytes(image, unused, count, NULL) == 0)
		return unused;
	free(unused);
	return NULL;
}

/* Bytes in blocks that no file refers to. Where chunks are damaged, the check has said so. */
static void print_unused(const dwarfs_image *image, const uint64_t *unused)
{
	const uint32_t count = dwarfs_image_block_count(image);
	uint64_t bytes = 0, sum = 0;
	uint32_t section, block;
	char text[TOOL_TEXT_ROOM];

	for (section = 0; section < dwarfs_image_section_count(image); section++)
		if (section_fact(image, section, DWARFS_SECTION_FIELD_TYPE) ==
		    DWARFS_SECTION_BLOCK)
			bytes += section_fact(image, section, DWARFS_SECTION_FIELD_BYTES);
	for (block = 0; unused && block < count; block++)
		sum += unused[block];
	if (unused)
		printf("unreferenced in blocks: %s (%" PRIu64 " bytes, %.2f%%)\n",
		       tool_format_bytes(sum, text), sum,
		       bytes ? 100.0 * (double)sum / (double)bytes : 0.0);
}

static int print_summary(const dwarfs_image *image, const uint64_t *unused)
{
	const uint64_t original = dwarfs_image_original_bytes(image);
	const uint64_t bytes = dwarfs_image_bytes(image);
	struct inode_counts counts;

	if (count_inodes(image, &counts))
		return 1;
	print_bytes("block size", dwarfs_image_block_bytes(image));
	printf("block count: %" PRIu32 "\n", dwarfs_image_block_count(image));
	printf("inode count: %" PRIu32 " (%" PRIu64 " director%s, %" PRIu64
	       " file%s, %" PRIu64 " symbolic link%s, %" PRIu64 " device%s, %" PRIu64
	       " fifo%s or socket%s)\n",
	       dwarfs_image_inode_count(image), counts.directories,
	       counts.directories == 1 ? "y" : "ies", counts.files,
	       tool_plural(counts.files), counts.links, tool_plural(counts.links),
	       counts.devices, tool_plural(counts.devices), counts.specials,
	       tool_plural(counts.specials), tool_plural(counts.specials));
	printf("entry count: %" PRIu32 "\n", dwarfs_image_entry_count(image));
	print_bytes("original filesystem size", original);
	print_bytes("image size", bytes);
	printf("ratio: %.2f\n", bytes ? (double)original / (double)bytes : 0.0);
	print_unused(image, unused);
	print_words("features", image, dwarfs_image_feature);
	print_words("packing", image, dwarfs_image_packing);
	return 0;
}

static void print_items(const dwarfs_history *history, size_t step, int list,
			const char *what)
{
	size_t i;

	if (!dwarfs_history_item(history, step, list, 0))
		return;
	printf("  %s:", what);
	for (i = 0; dwarfs_history_item(history, step, list, i); i++) {
		printf(" ");
		print_name(dwarfs_history_item(history, step, list, i));
	}
	printf("\n");
}

static void print_step(const dwarfs_history *history, size_t step)
{
	int64_t seconds;
	char text[TOOL_TEXT_ROOM];

	printf("  ");
	print_name(dwarfs_history_text(history, step, DWARFS_HISTORY_VERSION));
	if (*dwarfs_history_text(history, step, DWARFS_HISTORY_SYSTEM)) {
		printf(" on ");
		print_name(dwarfs_history_text(history, step, DWARFS_HISTORY_SYSTEM));
	}
	if (*dwarfs_history_text(history, step, DWARFS_HISTORY_COMPILER)) {
		printf(", ");
		print_name(dwarfs_history_text(history, step, DWARFS_HISTORY_COMPILER));
	}
	if (dwarfs_history_time(history, step, &seconds))
		printf(", at %s UTC", tool_format_time(seconds, text));
	printf("\n");
	print_items(history, step, DWARFS_HISTORY_ARGUMENTS, "  args");
	print_items(history, step, DWARFS_HISTORY_LIBRARIES, "  libs");
}

/* A history that cannot be read is lost, not an error of the image: the check has said
 * so. */
static void print_history(const dwarfs_image *image)
{
	auto_handle(dwarfs_history) *history = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	size_t step;

	if (dwarfs_history_new(image, &history, &err) < 0) {
		printf("history: cannot be read\n");
		return;
	}
	if (dwarfs_history_count(history) == 0)
		return;
	printf("history:\n");
	for (step = 0; step < dwarfs_history_count(history); step++)
		print_step(history, step);
}

static void print_category_names(const dwarfs_image *image)
{
	const uint32_t blocks = dwarfs_image_block_count(image);
	const char *name;
	size_t category;

	for (category = 0; (name = dwarfs_image_category(image, category)); category++) {
		uint32_t count = 0;
		uint32_t block;

		for (block = 0; block < blocks; block++)
			count += dwarfs_image_block_category(image, block) ==
				 (int64_t)category;
		printf("%s  ", category ? "" : "categories:\n");
		print_name(name);
		printf(": %" PRIu32 " block%s\n", count, tool_plural(count));
	}
}

/* One that cannot be read was a finding. */
static void print_xattrs(const dwarfs_image *image)
{
	const char *name;

	for (size_t i = 0; dwarfs_image_xattr_name(image, i, &name, NULL) > 0; i++) {
		fputs(i == 0 ? "extended attributes: " : ", ", stdout);
		print_name(name);
	}
	if (dwarfs_image_xattr_name(image, 0, &name, NULL) > 0)
		putchar('\n');
}

static bool has_births(const dwarfs_image *image)
{
	const char *word;

	for (size_t i = 0; (word = dwarfs_image_packing(image, i)); i++)
		if (strcmp(word, "has_btime") == 0)
			return true;
	return false;
}

static void print_metadata(const dwarfs_image *image)
{
	printf("section index: %s\n", dwarfs_image_has_index(image) ? "yes" : "no");
	printf("stored times: %s%s, in steps of %" PRIu64 " ns\n",
	       dwarfs_image_is_mtime_only(image) ? "modification"
						 : "access, modification, change",
	       has_births(image) ? ", birth" : "",
	       dwarfs_image_time_resolution_ns(image));
	print_bytes("further hard links stand for", dwarfs_image_hardlink_bytes(image));
	print_category_names(image);
	print_xattrs(image);
}

/* The category of a block, by how many sections before it are blocks; NULL if it has
 * none. */
static const char *category_name(const dwarfs_image *image, uint32_t block)
{
	const int64_t category = dwarfs_image_block_category(image, block);

	return category < 0 ? NULL : dwarfs_image_category(image, (size_t)category);
}

static const char *state_text(const struct report *report, uint32_t section)
{
	switch (report_state(report, section)) {
	case SECTION_CHECKSUM:
		return " [CHECKSUM ERROR]";
	case SECTION_DAMAGED:
		return " [ERROR]";
	case SECTION_ODD:
		return " [WARNING]";
	default:
		return report->level >= DWARFS_CHECK_CHECKSUMS ? " [OK]" : "";
	}
}

/* unused: of the block, or NULL. */
static void print_section(const dwarfs_image *image, uint32_t section, uint32_t block,
			  const uint64_t *unused, const struct report *report)
{
	const uint32_t type =
		(uint32_t)section_fact(image, section, DWARFS_SECTION_FIELD_TYPE);
	const uint64_t stored =
		section_fact(image, section, DWARFS_SECTION_FIELD_STORED_BYTES);
	const uint64_t bytes = section_fact(image, section, DWARFS_SECTION_FIELD_BYTES);
	const char *category =
		type == DWARFS_SECTION_BLOCK ? category_name(image, block) : NULL;

	printf("SECTION num=%" PRIu64 ", type=%s, compression=%s, offset=%" PRIu64
	       ", stored=%" PRIu64 ", size=%" PRIu64,
	       section_fact(image, section, DWARFS_SECTION_FIELD_NUMBER),
	       dwarfs_section_type_name(type),
	       dwarfs_compression_name((uint32_t)section_fact(
		       image, section, DWARFS_SECTION_FIELD_COMPRESSION)),
	       section_fact(image, section, DWARFS_SECTION_FIELD_OFFSET), stored, bytes);
	if (bytes)
		printf(" (%.2f%%)", 100.0 * (double)stored / (double)bytes);
	if (type == DWARFS_SECTION_BLOCK && unused)
		printf(", unreferenced=%" PRIu64, unused[block]);
	if (category) {
		printf(", category=");
		print_name(category);
	}
	printf("%s\n", state_text(report, section));
}

static void print_sections(const dwarfs_image *image, const uint64_t *unused,
			   const struct report *report, bool only_bad)
{
	uint32_t block = 0;
	uint32_t i;

	for (i = 0; i < dwarfs_image_section_count(image); i++) {
		if (!only_bad || report_state(report, i) >= SECTION_DAMAGED)
			print_section(image, i, block, unused, report);
		block += section_fact(image, i, DWARFS_SECTION_FIELD_TYPE) ==
			 DWARFS_SECTION_BLOCK;
	}
}

static void print_tree_entry(const char *path, uint32_t depth, const dwarfs_stat *stat)
{
	const char *slash = strrchr(path, '/');
	char mode[TOOL_TEXT_ROOM];

	printf("%*s<inode %" PRIu32 "> %s ", (int)(2 * depth), "",
	       dwarfs_stat_inode(stat).number,
	       tool_format_mode(dwarfs_stat_mode(stat), mode));
	print_name(*path ? (slash ? slash + 1 : path) : "(root)");
	if (S_ISREG(dwarfs_stat_mode(stat)))
		printf(" [%" PRIu64 "]", dwarfs_stat_bytes(stat));
	printf("\n");
}

static int print_tree(const dwarfs_image *image)
{
	auto_handle(dwarfs_walk) *walk = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	uint64_t lost = 0;
	dwarfs_entry entry;
	int ret;

	if (begin_walk(image, DWARFS_WALK_TREE, &walk, &stat))
		return 1;
	while ((ret = next_intact(image, walk, &entry, stat, &lost)) > 0)
		print_tree_entry(dwarfs_walk_path(walk), dwarfs_walk_depth(walk), stat);
	return ret < 0 || lost > 0;
}

int print_info(const dwarfs_image *image, unsigned details, const struct report *report)
{
	auto_free uint64_t *unused =
		details & (DETAIL_SUMMARY | DETAIL_SECTIONS) ? count_unused(image) : NULL;

	if (details & DETAIL_VERSION)
		print_version(image);
	if ((details & DETAIL_SUMMARY) && print_summary(image, unused))
		return 1;
	if ((details & DETAIL_ANALYSIS) && print_frozen_analysis(image))
		return 1;
	if (details & DETAIL_METADATA)
		print_metadata(image);
	if (details & DETAIL_HISTORY)
		print_history(image);
	print_sections(image, unused, report, !(details & DETAIL_SECTIONS));
	if ((details & DETAIL_FROZEN) && print_frozen_details(image))
		return 1;
	if ((details & DETAIL_TREE) && print_tree(image))
		return 1;
	if ((details & DETAIL_LAYOUT) && print_frozen_layout(image))
		return 1;
	if ((details & DETAIL_CHUNKS) && print_chunk_details(image))
		return 1;
	if ((details & DETAIL_DUMP) && print_tables(image, stdout))
		return 1;
	return details & DETAIL_SCHEMA ? print_schema(image) : 0;
}
