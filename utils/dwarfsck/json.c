/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/json: the properties of an image as JSON.
 */
#include "dwarfsck/dwarfsck.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Text of any bytes; those that are not UTF-8 become U+FFFD. NULL becomes null. */
static json_t *text_value(const char *text)
{
	const unsigned char *in = (const unsigned char *)text;
	const unsigned char *end = in;
	auto_free char *clean = NULL;
	char *out;

	if (!text)
		return json_null();
	end += strlen(text);
	out = clean = malloc(3 * strlen(text) + 1);
	if (!clean)
		return NULL;
	while (*in) {
		const size_t bytes = tool_character_bytes(in, (size_t)(end - in));

		if (bytes == 0) {
			memcpy(out, "\xef\xbf\xbd", 3);
			out += 3;
			in++;
			continue;
		}
		memcpy(out, in, bytes);
		out += bytes;
		in += bytes;
	}
	*out = '\0';
	return json_string(clean);
}

static json_t *number_value(uint64_t value)
{
	/* A value that does not fit is not a valid file size. */
	return json_integer(value <= INT64_MAX ? (json_int_t)value : INT64_MAX);
}

static json_t *time_value(int64_t seconds)
{
	const time_t time = (time_t)seconds;
	struct tm parts;
	char text[TOOL_TEXT_ROOM];

	if (!gmtime_r(&time, &parts) ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		return json_integer((json_int_t)seconds);
	return json_string(text);
}

/* All of these take the value, and return false when memory is exhausted. */
static bool put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) == 0;
}

static json_t *words_value(const dwarfs_image *image,
			   const char *(*word)(const dwarfs_image *, size_t))
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; array && word(image, i); i++) {
		if (json_array_append_new(array, text_value(word(image, i))) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* The array with the item, or NULL and both gone. */
static json_t *append_json(json_t *array, json_t *item)
{
	if (json_array_append_new(array, item) == 0)
		return array;
	json_decref(array);
	return NULL;
}

/* unused: of the block, or NULL. */
static json_t *section_value(const dwarfs_image *image, uint32_t section, uint32_t block,
			     const uint64_t *unused, const struct report *report)
{
	const uint32_t type =
		(uint32_t)section_fact(image, section, DWARFS_SECTION_FIELD_TYPE);
	const uint32_t codec =
		(uint32_t)section_fact(image, section, DWARFS_SECTION_FIELD_COMPRESSION);
	const int64_t category = type == DWARFS_SECTION_BLOCK
					 ? dwarfs_image_block_category(image, block)
					 : -1;
	json_t *object = json_object();
	bool ok;

	if (!object)
		return NULL;
	ok = put(object, "number",
		 number_value(
			 section_fact(image, section, DWARFS_SECTION_FIELD_NUMBER))) &&
	     put(object, "type", text_value(dwarfs_section_type_name(type))) &&
	     put(object, "type_id", number_value(type)) &&
	     put(object, "compression", text_value(dwarfs_compression_name(codec))) &&
	     put(object, "offset",
		 number_value(
			 section_fact(image, section, DWARFS_SECTION_FIELD_OFFSET))) &&
	     put(object, "compressed_size",
		 number_value(section_fact(image, section,
					   DWARFS_SECTION_FIELD_STORED_BYTES))) &&
	     put(object, "size",
		 number_value(section_fact(image, section, DWARFS_SECTION_FIELD_BYTES)));
	if (ok && type == DWARFS_SECTION_BLOCK && unused)
		ok = put(object, "unreferenced_bytes", number_value(unused[block]));
	if (ok && category >= 0)
		ok = put(object, "category",
			 text_value(dwarfs_image_category(image, (size_t)category)));
	if (ok && report->level >= DWARFS_CHECK_CHECKSUMS)
		ok = put(object, "checksum_ok",
			 json_boolean(report_state(report, section) != SECTION_CHECKSUM));
	if (ok)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *sections_value(const dwarfs_image *image, const uint64_t *unused,
			      const struct report *report)
{
	json_t *array = json_array();
	uint32_t block = 0;
	uint32_t i;

	for (i = 0; array && i < dwarfs_image_section_count(image); i++) {
		array = append_json(array,
				    section_value(image, i, block, unused, report));
		block += section_fact(image, i, DWARFS_SECTION_FIELD_TYPE) ==
			 DWARFS_SECTION_BLOCK;
	}
	return array;
}

static json_t *items_value(const dwarfs_history *history, size_t step, int list)
{
	json_t *array = json_array();
	const char *item;
	size_t i;

	for (i = 0; array && (item = dwarfs_history_item(history, step, list, i)); i++)
		array = append_json(array, text_value(item));
	return array;
}

static json_t *step_value(const dwarfs_history *history, size_t step)
{
	json_t *object = json_object();
	int64_t seconds;
	bool ok;

	if (!object)
		return NULL;
	ok = put(object, "version",
		 text_value(
			 dwarfs_history_text(history, step, DWARFS_HISTORY_VERSION))) &&
	     put(object, "system_id",
		 text_value(dwarfs_history_text(history, step, DWARFS_HISTORY_SYSTEM))) &&
	     put(object, "compiler_id",
		 text_value(
			 dwarfs_history_text(history, step, DWARFS_HISTORY_COMPILER))) &&
	     put(object, "arguments",
		 items_value(history, step, DWARFS_HISTORY_ARGUMENTS)) &&
	     put(object, "library_versions",
		 items_value(history, step, DWARFS_HISTORY_LIBRARIES));
	if (ok && dwarfs_history_time(history, step, &seconds))
		ok = put(object, "timestamp", json_integer((json_int_t)seconds));
	if (ok)
		return object;
	json_decref(object);
	return NULL;
}

/* A history that cannot be read is null; the findings say why. */
static json_t *history_value(const dwarfs_image *image)
{
	auto_handle(dwarfs_history) *history = NULL;
	json_t *array;
	size_t step;

	if (dwarfs_history_new(image, &history, NULL) < 0)
		return json_null();
	array = json_array();
	for (step = 0; array && step < dwarfs_history_count(history); step++)
		array = append_json(array, step_value(history, step));
	return array;
}

static json_t *categories_value(const dwarfs_image *image)
{
	const uint32_t blocks = dwarfs_image_block_count(image);
	json_t *array = json_array();
	const char *name;
	size_t i;

	for (i = 0; array && (name = dwarfs_image_category(image, i)); i++) {
		json_int_t count = 0;
		uint32_t block;

		for (block = 0; block < blocks; block++)
			count += dwarfs_image_block_category(image, block) == (int64_t)i;
		array = append_json(array,
				    json_pack("{s:o, s:I}", "name", text_value(name),
					      "block_count", count));
	}
	return array;
}

static json_t *findings_value(const struct report *report)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; array && i < report->count; i++) {
		const struct finding *finding = &report->findings[i];

		array = append_json(array,
				    json_pack("{s:s, s:I, s:o}", "severity",
					      finding->severity == DWARFS_FINDING_ERROR
						      ? "error"
						      : "warning",
					      "section", (json_int_t)finding->section,
					      "message", text_value(finding->message)));
	}
	return array;
}

static json_t *counts_value(const struct inode_counts *counts)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "directories",
			 (json_int_t)counts->directories, "files",
			 (json_int_t)counts->files, "symlinks", (json_int_t)counts->links,
			 "devices", (json_int_t)counts->devices, "specials",
			 (json_int_t)counts->specials);
}

/* One that cannot be read was a finding. */
static json_t *xattrs_value(const dwarfs_image *image)
{
	json_t *array = json_array();
	const char *name;
	size_t i;

	for (i = 0; array && dwarfs_image_xattr_name(image, i, &name, NULL) > 0; i++)
		array = append_json(array, text_value(name));
	return array;
}

static bool put_identity(json_t *object, const dwarfs_image *image)
{
	int64_t seconds;
	bool ok;

	ok = put(object, "version",
		 json_pack("{s:i, s:I}", "major", 2, "minor",
			   (json_int_t)dwarfs_image_format_minor(image))) &&
	     put(object, "image_offset", number_value(dwarfs_image_offset(image))) &&
	     put(object, "image_size", number_value(dwarfs_image_bytes(image)));
	if (ok && dwarfs_image_created_by(image))
		ok = put(object, "created_by",
			 text_value(dwarfs_image_created_by(image)));
	if (ok && dwarfs_image_created_on(image, &seconds))
		ok = put(object, "created_on", time_value(seconds));
	return ok;
}

/* Total sizes of the sections of a type, before and after compression. */
static bool put_sizes(json_t *object, const dwarfs_image *image)
{
	uint64_t stored[2] = { 0 };
	uint64_t bytes[2] = { 0 };
	uint32_t i;

	for (i = 0; i < dwarfs_image_section_count(image); i++) {
		const uint64_t type = section_fact(image, i, DWARFS_SECTION_FIELD_TYPE);
		const int which = type == DWARFS_SECTION_METADATA;

		if (!which && type != DWARFS_SECTION_BLOCK)
			continue;
		stored[which] +=
			section_fact(image, i, DWARFS_SECTION_FIELD_STORED_BYTES);
		bytes[which] += section_fact(image, i, DWARFS_SECTION_FIELD_BYTES);
	}
	return put(object, "compressed_block_size", number_value(stored[0])) &&
	       put(object, "uncompressed_block_size", number_value(bytes[0])) &&
	       put(object, "compressed_metadata_size", number_value(stored[1])) &&
	       put(object, "uncompressed_metadata_size", number_value(bytes[1]));
}

static bool put_unused(json_t *object, const dwarfs_image *image, const uint64_t *unused)
{
	uint64_t sum = 0;
	uint32_t block;

	for (block = 0; unused && block < dwarfs_image_block_count(image); block++)
		sum += unused[block];
	return put(object, "unreferenced_block_bytes",
		   unused ? number_value(sum) : json_null());
}

/* In seconds: a whole number where it is one. */
static json_t *resolution_value(const dwarfs_image *image)
{
	const uint64_t ns = dwarfs_image_time_resolution_ns(image);

	if (ns % 1000000000 == 0)
		return number_value(ns / 1000000000);
	return json_real((double)ns / 1e9);
}

/* The character, where the image says with which one its links were made. */
static bool put_separator(json_t *object, const dwarfs_image *image)
{
	const uint32_t code = dwarfs_image_path_separator(image);
	const char text[2] = { (char)code, '\0' };

	return code == 0 || code > 126 ||
	       put(object, "preferred_path_separator", text_value(text));
}

static bool put_facts(json_t *object, const dwarfs_image *image,
		      const struct inode_counts *counts)
{
	return put(object, "block_size", number_value(dwarfs_image_block_bytes(image))) &&
	       put(object, "block_count",
		   number_value(dwarfs_image_block_count(image))) &&
	       put(object, "inode_count",
		   number_value(dwarfs_image_inode_count(image))) &&
	       put(object, "entry_count",
		   number_value(dwarfs_image_entry_count(image))) &&
	       put(object, "inodes_by_type", counts_value(counts)) &&
	       put(object, "original_filesystem_size",
		   number_value(dwarfs_image_original_bytes(image))) &&
	       put(object, "hardlink_size",
		   number_value(dwarfs_image_hardlink_bytes(image))) &&
	       put(object, "valid_section_index",
		   json_boolean(dwarfs_image_has_index(image))) &&
	       put(object, "mtime_only",
		   json_boolean(dwarfs_image_is_mtime_only(image))) &&
	       put(object, "time_resolution_ns",
		   number_value(dwarfs_image_time_resolution_ns(image))) &&
	       put(object, "features", words_value(image, dwarfs_image_feature)) &&
	       put(object, "time_resolution", resolution_value(image)) &&
	       put_separator(object, image) && put_sizes(object, image) &&
	       put(object, "options", words_value(image, dwarfs_image_packing)) &&
	       put(object, "packing", words_value(image, dwarfs_image_packing)) &&
	       put(object, "categories", categories_value(image)) &&
	       put(object, "xattr_names", xattrs_value(image)) &&
	       put(object, "history", history_value(image));
}

/* -- entries ------------------------------------------------------------------------- */

static const char *type_word(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFCHR:
		return "chardev";
	case S_IFBLK:
		return "blockdev";
	case S_IFIFO:
		return "fifo";
	default:
		return "socket";
	}
}

/* A path that is not UTF-8 is also written in hexadecimal, so that nothing is lost. */
static bool put_path(json_t *object, const char *key, const char *key_hex,
		     const char *path)
{
	const size_t bytes = strlen(path);
	auto_free char *hex = NULL;
	size_t i;

	if (!put(object, key, text_value(path)))
		return false;
	if (tool_is_utf8(path, bytes))
		return true;
	hex = malloc(2 * bytes + 1);
	if (!hex)
		return false;
	for (i = 0; i < bytes; i++)
		sprintf(hex + 2 * i, "%02x", (unsigned char)path[i]);
	return put(object, key_hex, json_string(hex));
}

static bool put_target(json_t *object, const dwarfs_image *image, const dwarfs_stat *stat)
{
	char target[DWARFS_LINK_BUFFER_BYTES];

	if (!S_ISLNK(dwarfs_stat_mode(stat)) ||
	    dwarfs_link_read(image, dwarfs_stat_inode(stat), target, sizeof(target), NULL,
			     NULL) < 0)
		return true;
	return put_path(object, "target", "target_hex", target);
}

static json_t *entry_value(const dwarfs_image *image, const char *path,
			   const dwarfs_stat *stat)
{
	const uint32_t mode = dwarfs_stat_mode(stat);
	json_t *object = json_object();

	if (object && put_path(object, "path", "path_hex", path) &&
	    put(object, "type", json_string(type_word(mode))) &&
	    put(object, "inode", number_value(dwarfs_stat_inode(stat).number)) &&
	    put(object, "mode", number_value(mode)) &&
	    put(object, "uid", number_value(dwarfs_stat_uid(stat))) &&
	    put(object, "gid", number_value(dwarfs_stat_gid(stat))) &&
	    put(object, "size", number_value(dwarfs_stat_bytes(stat))) &&
	    put(object, "mtime",
		json_integer((json_int_t)dwarfs_stat_seconds(stat, DWARFS_MTIME))) &&
	    put_target(object, image, stat))
		return object;
	json_decref(object);
	return NULL;
}

/* One line each, so that memory does not grow with the image. */
static int print_entries(const dwarfs_image *image)
{
	auto_handle(dwarfs_walk) *walk = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	const char *gap = "\n    ";
	uint64_t lost = 0;
	dwarfs_entry entry;
	int ret;

	if (begin_walk(image, DWARFS_WALK_TREE, &walk, &stat))
		return 1;
	while ((ret = next_intact(image, walk, &entry, stat, &lost)) > 0) {
		json_t *value;

		if (dwarfs_walk_depth(walk) == 0)
			continue;
		value = entry_value(image, dwarfs_walk_path(walk), stat);
		if (!value)
			return tool_error("out of memory");
		fputs(gap, stdout);
		json_dumpf(value, stdout, JSON_ENSURE_ASCII);
		json_decref(value);
		gap = ",\n    ";
	}
	return ret < 0 || lost > 0;
}

/* The object, with "entries" as its last member. */
static int print_object(const dwarfs_image *image, const json_t *object, bool entries)
{
	auto_free char *text = json_dumps(object, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	char *end = text ? strrchr(text, '}') : NULL;
	int ret;

	if (!end)
		return tool_error("out of memory");
	if (!entries) {
		puts(text);
		return 0;
	}
	end[-1] = '\0'; /* the end of the line before it */
	printf("%s,\n  \"entries\": [", text);
	ret = print_entries(image);
	puts("\n  ]\n}");
	return ret;
}

int print_json(const dwarfs_image *image, const struct report *report, bool entries)
{
	auto_free uint64_t *unused = count_unused(image);
	struct inode_counts counts;
	json_t *object;
	int ret = 0;

	if (count_inodes(image, &counts))
		return 1;
	object = json_object();
	if (!object || !put_identity(object, image) ||
	    !put_facts(object, image, &counts) || !put_unused(object, image, unused) ||
	    !put(object, "sections", sections_value(image, unused, report)) ||
	    !put(object, "findings", findings_value(report)) ||
	    !put(object, "errors", number_value(report->errors)))
		ret = tool_error("out of memory");
	else
		ret = print_object(image, object, entries);
	json_decref(object);
	return ret;
}
