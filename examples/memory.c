/* SPDX-License-Identifier: MIT */
/*
 * memory: make an image of a few entries in memory, open it there, and read a file from
 * it.
 *
 *     memory
 */
#include <stdio.h>
#include <string.h>

#include <dwarfs/dwarfs.h>

static const size_t most_bytes = 64 << 20;

/* Contents are copied when the item is added, so the buffer must be valid until then. */
static int add_text(dwarfs_builder *builder, const char *path, const char *text,
		    dwarfs_error **err)
{
	dwarfs_item *item = NULL;
	int ret;

	if ((ret = dwarfs_item_new(0100644, &item, err)) == 0 &&
	    (ret = dwarfs_item_set_memory(item, text, strlen(text), err)) == 0)
		ret = dwarfs_builder_add_item(builder, path, strlen(path), item, err);
	dwarfs_item_free(item);
	return ret;
}

static int pack(void **data_out, size_t *bytes_out, dwarfs_error **err)
{
	dwarfs_builder *builder = NULL;
	dwarfs_sink *sink = NULL;
	int ret;

	if ((ret = dwarfs_builder_new(NULL, &builder, err)) == 0 &&
	    (ret = dwarfs_sink_to_memory(most_bytes, &sink, err)) == 0 &&
	    (ret = add_text(builder, "etc/motd", "Welcome.\n", err)) == 0 &&
	    (ret = add_text(builder, "etc/issue", "An image in memory.\n", err)) == 0 &&
	    (ret = dwarfs_builder_write(builder, sink, err)) == 0)
		ret = dwarfs_sink_take(sink, data_out, bytes_out, err);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
	return ret;
}

/* The source frees the memory when the image no longer needs it. */
static int open_memory(void *data, size_t bytes, dwarfs_image **image_out,
		       dwarfs_error **err)
{
	dwarfs_io *io = NULL;
	int ret = dwarfs_io_from_memory(data, bytes, dwarfs_memory_free, data, &io, err);

	if (ret < 0) {
		dwarfs_memory_free(data);
		return ret;
	}
	ret = dwarfs_image_open_io(NULL, io, NULL, image_out, err);
	dwarfs_io_free(io); /* the image holds a reference */
	return ret;
}

static int show(dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	void *data = NULL, *text = NULL;
	size_t bytes, text_bytes;
	int ret;

	if ((ret = pack(&data, &bytes, err)) < 0 ||
	    (ret = open_memory(data, bytes, &image, err)) < 0)
		return ret;
	ret = dwarfs_load(image, "etc/motd", most_bytes, NULL, &text, &text_bytes, err);
	if (ret == 0)
		printf("%u entries; %s", dwarfs_image_entry_count(image), (char *)text);
	dwarfs_memory_free(text);
	dwarfs_image_free(image);
	return ret;
}

int main(void)
{
	dwarfs_error *err = NULL;

	if (show(&err) == 0)
		return 0;
	fprintf(stderr, "memory: %s\n", dwarfs_error_message(err));
	dwarfs_error_free(err);
	return 1;
}
