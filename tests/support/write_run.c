/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/write_run.h"

static char messages[65536];

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return -1;
	if (!temporary_folder(place->root, "dwarfs-test"))
		return -1;
	snprintf(place->in, sizeof(place->in), "%s/in", place->root);
	snprintf(place->outputs, sizeof(place->outputs), "%s/out", place->root);
	snprintf(place->image, sizeof(place->image), "%s/image", place->outputs);
	if (mkdir(place->in, 0755) != 0 || mkdir(place->outputs, 0755) != 0)
		return -1;
	messages[0] = '\0';
	*state = place;
	return 0;
}

int remove_place(void **state)
{
	struct place *place = *state;
	int ret = nftw(place->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);

	free(place);
	return ret;
}

const char *in(const struct place *place, const char *name)
{
	static char paths[8][512];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", place->in, name);
	return path;
}

void put_file(const struct place *place, const char *name, const void *data, size_t size)
{
	FILE *file = fopen(in(place, name), "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

void put_text(const struct place *place, const char *name, const char *text)
{
	put_file(place, name, text, strlen(text));
}

void put_dir(const struct place *place, const char *name)
{
	assert_int_equal(mkdir(in(place, name), 0755), 0);
}

void put_sources(const struct place *place)
{
	put_dir(place, "src");
	put_dir(place, "src/gen");
	put_dir(place, "doc");
	put_dir(place, "doc/old");
	put_text(place, "src/a.c", "a");
	put_text(place, "src/a.o", "o");
	put_text(place, "src/gen/b.c", "b");
	put_text(place, "doc/text", "text");
	put_text(place, "README", "readme");
}

unsigned count_entries(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static void keep_message(enum dwarfs_log_level level, const char *message, void *user)
{
	size_t used = strlen(messages);

	snprintf(messages + used, sizeof(messages) - used, "%s\n", message);
}

const char *all_messages(void)
{
	return messages;
}

dwarfs_builder *new_builder(const struct place *place, uint32_t workers)
{
	dwarfs_context *context = NULL;
	dwarfs_builder *builder = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, workers, NULL), 0);
	assert_int_equal(dwarfs_context_set_log(context, DWARFS_LOG_VERBOSE, keep_message,
						NULL, NULL),
			 0);
	assert_int_equal(dwarfs_builder_new(context, &builder, NULL), 0);
	dwarfs_context_free(context);
	assert_int_equal(dwarfs_builder_set_level(builder, 1, NULL), 0);
	assert_int_equal(dwarfs_builder_add_directory(builder, place->in, NULL), 0);
	return builder;
}

int build(dwarfs_builder *builder, const struct place *place)
{
	dwarfs_error *err = NULL;
	int ret = dwarfs_builder_write_path(builder, place->image, false, &err);

	if (ret < 0)
		keep_message(0, dwarfs_error_message(err), NULL);
	dwarfs_error_free(err);
	return ret;
}

static void print_finding(enum dwarfs_finding severity, int code, int64_t section,
			  const char *message, void *user)
{
	print_message("%s\n", message);
}

dwarfs_image *open_image(const struct place *place)
{
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;

	if (dwarfs_image_open(NULL, place->image, NULL, &image, &err) < 0)
		fail_msg("%s", dwarfs_error_message(err));
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, print_finding,
					    NULL, NULL, NULL, NULL),
			 0);
	return image;
}

dwarfs_inode expect_bytes(dwarfs_image *image, const char *path, const void *data,
			  size_t size)
{
	dwarfs_file *file = NULL;
	dwarfs_entry entry;
	dwarfs_inode inode;
	char *buffer = malloc(size + 1);
	size_t got;

	assert_non_null(buffer);
	assert_int_equal(dwarfs_find(image, path, &entry, NULL), 0);
	assert_int_equal(dwarfs_entry_inode(image, entry, &inode, NULL), 0);
	assert_int_equal(dwarfs_file_open(image, inode, &file, NULL), 0);
	assert_int_equal(dwarfs_file_bytes(file), size);
	assert_int_equal(dwarfs_file_read(file, buffer, size + 1, 0, &got, NULL), 0);
	assert_int_equal(got, size);
	assert_memory_equal(buffer, data, size);
	dwarfs_file_free(file);
	free(buffer);
	return inode;
}

dwarfs_inode expect_text(dwarfs_image *image, const char *path, const char *text)
{
	return expect_bytes(image, path, text, strlen(text));
}

dwarfs_image *build_and_open(dwarfs_builder *builder, const struct place *place,
			     uint64_t errors)
{
	if (build(builder, place) != 0)
		fail_msg("%s", all_messages());
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS), errors);
	dwarfs_builder_free(builder);
	return open_image(place);
}

bool has_entry(dwarfs_image *image, const char *path)
{
	dwarfs_entry entry;

	return dwarfs_find(image, path, &entry, NULL) == 0;
}
