/* SPDX-License-Identifier: MIT */
/*
 * fuzz_lists: a list of paths, a line each: the file of the order "explicit", or the hot paths
 * of a builder. Public headers only.
 *
 * The first byte chooses which, the rest is the list. The harness makes an image of a few
 * files, and computes itself which of them the lines name: they must be stored in the order
 * of the list, and the hot ones in blocks of their own category.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <dwarfs/dwarfs.h>

#include "fuzz.h"

#define MAX_LIST_BYTES	(1u << 16)
#define MAX_IMAGE_BYTES (1u << 20)
#define FILE_BYTES	200u
#define NOT_LISTED	UINT32_MAX
#define PATH_ROOM	64

/* In the order of paths. */
static const char *const paths[] = {
	"..x",	   ".h",    "a.txt",   "b b.txt", "c", "d/.h",
	"d/a.txt", "d/e/f", "d/e/g/h", "d.x",	  "z", "\xc3\xa9",
};
#define FILES (sizeof(paths) / sizeof(*paths))

/* A second name of paths[LINKED]: any name counts for the order. */
#define LINK_PATH "link"
#define LINKED	  4

/* Of a file in the list, and in the image. */
struct place {
	uint32_t line; /* the first one that names it, or NOT_LISTED */
	uint64_t position;
	bool is_hot;
};

/* -- which files are named ----------------------------------------------------------- */

/* The path without empty components and ".", "" if it has no place in the buffer. */
static void clean_path(char *clean, const char *path)
{
	size_t used = 0;

	while (*path) {
		size_t length = strcspn(path, "/");

		if (length > 0 && !(length == 1 && path[0] == '.')) {
			if (used + length + 2 > PATH_ROOM) {
				used = 0;
				break;
			}
			if (used > 0)
				clean[used++] = '/';
			memcpy(clean + used, path, length);
			used += length;
		}
		path += length + (path[length] == '/');
	}
	clean[used] = 0;
}

static void name_place(struct place *places, const char *path, uint32_t line)
{
	for (size_t i = 0; i < FILES; i++)
		if (strcmp(path, paths[i]) == 0 && places[i].line == NOT_LISTED)
			places[i].line = line;
}

/* No directory is packed, so "/" is the root of the image. */
static void name_in_order(struct place *places, const char *line, uint32_t number)
{
	char clean[PATH_ROOM];

	clean_path(clean, line);
	name_place(places, strcmp(clean, LINK_PATH) == 0 ? paths[LINKED] : clean, number);
}

/* A path ends at the first zero byte of a line. The copy has a byte more than the list. */
static void name_lines(struct place *places, const uint8_t *list, char *copy, size_t size)
{
	char *line = copy, *end;

	memcpy(copy, list, size);
	copy[size] = 0;
	for (uint32_t number = 0; line < copy + size; number++, line = end + 1) {
		end = memchr(line, '\n', (size_t)(copy + size - line));
		end = end ? end : copy + size;
		*end = 0;
		name_in_order(places, line, number);
	}
}

/* -- the two lists ------------------------------------------------------------------- */

static void use_error(dwarfs_error **err)
{
	if (*err)
		fuzz_use(dwarfs_error_message(*err), strlen(dwarfs_error_message(*err)));
	dwarfs_error_free(*err);
	*err = NULL;
}

static bool set_order(dwarfs_builder *builder, const uint8_t *list, size_t size,
		      struct place *places)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), ret = -1;
	char *copy = malloc(size + 1), order[64];
	dwarfs_error *err = NULL;

	snprintf(order, sizeof(order), "explicit:file=/proc/self/fd/%d", fd);
	if (fd >= 0 && copy && write(fd, list, size) == (ssize_t)size) {
		ret = dwarfs_builder_set_order(builder, order, &err);
		fuzz_require((ret < 0) == (err != NULL));
		name_lines(places, list, copy, size);
	}
	use_error(&err);
	if (fd >= 0)
		close(fd);
	free(copy);
	return ret == 0;
}

/* Each line is added if it is a new path below the root. */
static void add_hot_path(dwarfs_builder *builder, const char *line, uint32_t number,
			 struct place *places)
{
	const char *path = line;
	dwarfs_error *err = NULL;
	int ret = dwarfs_builder_add_hot_path(builder, line, &err);

	fuzz_require((ret < 0) == (err != NULL));
	while (*path == '/' || (path[0] == '.' && (path[1] == '/' || !path[1])))
		path++;
	fuzz_require(ret == 0 || ret == DWARFS_ERR_INVALID || ret == DWARFS_ERR_NOMEM);
	fuzz_require(*path || ret < 0);
	for (size_t i = 0; i < FILES; i++)
		if (strcmp(path, paths[i]) == 0)
			fuzz_require((ret == 0) == (places[i].line == NOT_LISTED));
	if (ret == 0)
		name_place(places, path, number);
	use_error(&err);
}

static bool set_hot_paths(dwarfs_builder *builder, const uint8_t *list, size_t size,
			  struct place *places)
{
	char *text = strndup((const char *)list, size), *rest = text, *line;
	uint32_t number = 0;

	while ((line = strsep(&rest, "\n")) != NULL)
		add_hot_path(builder, line, number++, places);
	free(text);
	return dwarfs_builder_set_order(builder, "path", NULL) == 0 &&
	       dwarfs_builder_set_categorizers(builder, "hotness", NULL) == 0;
}

/* -- the image ----------------------------------------------------------------------- */

static bool add_file(dwarfs_builder *builder, uint32_t file)
{
	uint8_t data[FILE_BYTES];
	dwarfs_item *item = NULL;
	uint32_t seed = file + 1;
	int ret;

	for (size_t i = 0; i < FILE_BYTES; i++) {
		seed = seed * 1664525u + 1013904223u;
		data[i] = (uint8_t)(seed >> 24);
	}
	ret = dwarfs_item_new(0100644, &item, NULL);
	if (ret == 0 &&
	    (ret = dwarfs_item_set_memory(item, data, sizeof(data), NULL)) == 0)
		ret = dwarfs_builder_add_item(builder, paths[file], strlen(paths[file]),
					      item, NULL);
	dwarfs_item_free(item);
	return ret == 0;
}

static bool add_link(dwarfs_builder *builder)
{
	dwarfs_item *item = NULL;
	int ret = dwarfs_item_new(0100644, &item, NULL);

	if (ret == 0 && (ret = dwarfs_item_set_hard_link(
				 item, paths[LINKED], strlen(paths[LINKED]), NULL)) == 0)
		ret = dwarfs_builder_add_item(builder, LINK_PATH, strlen(LINK_PATH), item,
					      NULL);
	dwarfs_item_free(item);
	return ret == 0;
}

static void find_file(const dwarfs_image *image, uint32_t file, struct place *place)
{
	dwarfs_file *opened = NULL;
	uint64_t offset, bytes;
	dwarfs_entry entry;
	dwarfs_inode inode;
	int64_t block, category;
	const char *name;

	fuzz_require(dwarfs_find(image, paths[file], &entry, NULL) == 0);
	fuzz_require(dwarfs_entry_inode(image, entry, &inode, NULL) == 0);
	fuzz_require(dwarfs_file_open(image, inode, &opened, NULL) == 0);
	fuzz_require(dwarfs_file_chunk_count(opened) == 1);
	fuzz_require(dwarfs_file_chunk(opened, 0, &block, &offset, &bytes, NULL) == 0);
	fuzz_require(block >= 0 && bytes == FILE_BYTES);
	dwarfs_file_free(opened);
	place->position = (uint64_t)block << 32 | offset;
	category = dwarfs_image_block_category(image, (uint32_t)block);
	name = category < 0 ? NULL : dwarfs_image_category(image, (size_t)category);
	place->is_hot = name && strcmp(name, "hotness") == 0;
}

/* Listed files by their lines, then the others by path. */
static void check_places(const struct place *places, bool is_hotness)
{
	for (size_t i = 0; i < FILES; i++) {
		const bool is_listed = places[i].line != NOT_LISTED;

		fuzz_require(places[i].is_hot == (is_hotness && is_listed));
		for (size_t j = i + 1; j < FILES; j++) {
			/* Those of several categories are in any order. */
			if (places[i].is_hot != places[j].is_hot)
				continue;
			fuzz_require((places[i].line <= places[j].line) ==
				     (places[i].position < places[j].position));
		}
	}
}

static void check_image(dwarfs_builder *builder, struct place *places, bool is_hotness)
{
	dwarfs_image *image = NULL;
	dwarfs_sink *sink = NULL;
	dwarfs_io *io = NULL;
	void *data = NULL;
	size_t bytes;

	if (dwarfs_sink_to_memory(MAX_IMAGE_BYTES, &sink, NULL) == 0) {
		fuzz_require(dwarfs_builder_write(builder, sink, NULL) == 0);
		fuzz_require(dwarfs_sink_take(sink, &data, &bytes, NULL) == 0);
		fuzz_require(dwarfs_io_from_memory(data, bytes, NULL, NULL, &io, NULL) ==
			     0);
		fuzz_require(dwarfs_image_open_io(NULL, io, NULL, &image, NULL) == 0);
		for (uint32_t i = 0; i < FILES; i++)
			find_file(image, i, &places[i]);
		check_places(places, is_hotness);
	}
	dwarfs_image_free(image);
	dwarfs_io_free(io);
	dwarfs_memory_free(data);
	dwarfs_sink_free(sink);
}

static bool add_tree(dwarfs_builder *builder, bool has_link, struct place *places)
{
	bool done = true;

	for (uint32_t i = 0; i < FILES; i++) {
		places[i] = (struct place){ .line = NOT_LISTED };
		done = done && add_file(builder, i);
	}
	return done && (!has_link || add_link(builder));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool is_hotness = size > 0 && data[0] % 2;
	struct place places[FILES];
	dwarfs_context *context = NULL;
	dwarfs_builder *builder = NULL;

	if (size > 0 && size <= MAX_LIST_BYTES &&
	    dwarfs_context_new(&context, NULL) == 0 &&
	    dwarfs_context_set_workers(context, 0, NULL) == 0 &&
	    dwarfs_builder_new(context, &builder, NULL) == 0 &&
	    dwarfs_builder_set_level(builder, 0, NULL) == 0 &&
	    add_tree(builder, !is_hotness, places) &&
	    (is_hotness ? set_hot_paths : set_order)(builder, data + 1, size - 1, places))
		check_image(builder, places, is_hotness);
	dwarfs_builder_free(builder);
	dwarfs_context_free(context);
	return 0;
}
