/* SPDX-License-Identifier: MIT */
/*
 * items IMAGE PATH=TEXT...: make an image of files that are not on disk. Each PATH becomes a
 * file with its TEXT, and "stdin" one with the standard input.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <dwarfs/dwarfs.h>

static int add_text(dwarfs_builder *builder, dwarfs_item *item, const char *argument,
		    dwarfs_error **err)
{
	size_t length = strcspn(argument, "=");
	const char *text = argument + length + (argument[length] == '=');
	int ret = dwarfs_item_set_memory(item, text, strlen(text), err);

	return ret ? ret : dwarfs_builder_add_item(builder, argument, length, item, err);
}

static int add_input(dwarfs_builder *builder, dwarfs_item *item, dwarfs_error **err)
{
	dwarfs_io *io = NULL;
	int ret;

	if ((ret = dwarfs_io_from_stream(0, &io, err)) == 0 &&
	    (ret = dwarfs_item_set_io(item, io, err)) == 0)
		ret = dwarfs_builder_add_item(builder, "stdin", 5, item, err);
	dwarfs_io_free(io); /* the item keeps it alive */
	return ret;
}

int main(int argc, char **argv)
{
	dwarfs_builder *builder = NULL;
	dwarfs_item *item = NULL;
	dwarfs_error *err = NULL;
	int ret;

	if (argc < 2) {
		fprintf(stderr, "usage: %s IMAGE PATH=TEXT...\n", argv[0]);
		return 2;
	}
	if ((ret = dwarfs_builder_new(NULL, &builder, &err)) == 0 &&
	    (ret = dwarfs_item_new(0100644, &item, &err)) == 0)
		dwarfs_item_set_time(item, DWARFS_MTIME, time(NULL), 0);
	for (int i = 2; i < argc && ret == 0; i++)
		ret = add_text(builder, item, argv[i], &err);
	if (ret == 0 && (ret = add_input(builder, item, &err)) == 0)
		ret = dwarfs_builder_write_path(builder, argv[1], false, &err);
	if (ret < 0)
		fprintf(stderr, "%s: %s\n", argv[0], dwarfs_error_message(err));
	dwarfs_error_free(err);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
	return ret < 0;
}
