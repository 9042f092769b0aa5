/* SPDX-License-Identifier: MIT */
/*
 * items: make an image of files that are not on disk.
 *
 *     items IMAGE PATH=TEXT...
 *
 * Each PATH becomes a file with its TEXT, and "stdin" one with the standard input.
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

	return ret < 0 ? ret
		       : dwarfs_builder_add_item(builder, argument, length, item, err);
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

static int make(const char *image_path, char **arguments, dwarfs_error **err)
{
	dwarfs_builder *builder = NULL;
	dwarfs_item *item = NULL;
	int ret;

	if ((ret = dwarfs_builder_new(NULL, &builder, err)) == 0 &&
	    (ret = dwarfs_item_new(0100644, &item, err)) == 0) {
		dwarfs_item_set_time(item, DWARFS_MTIME, time(NULL), 0);
		for (; *arguments && ret == 0; arguments++)
			ret = add_text(builder, item, *arguments, err);
		if (ret == 0)
			ret = add_input(builder, item, err);
	}
	if (ret == 0)
		ret = dwarfs_builder_write_path(builder, image_path, false, err);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
	return ret;
}

int main(int argc, char **argv)
{
	dwarfs_error *err = NULL;

	if (argc < 2) {
		fprintf(stderr, "usage: %s IMAGE PATH=TEXT...\n", argv[0]);
		return 2;
	}
	if (make(argv[1], argv + 2, &err) == 0)
		return 0;
	fprintf(stderr, "%s: %s\n", argv[0], dwarfs_error_message(err));
	dwarfs_error_free(err);
	return 1;
}
