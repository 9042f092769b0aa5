/* SPDX-License-Identifier: MIT */
/* memory: make an image of a file in memory, open it there, and read the file. */
#include <stdio.h>
#include <string.h>

#include <dwarfs/dwarfs.h>

static const size_t most_bytes = 64 << 20;

static int pack(dwarfs_sink *sink, dwarfs_error **err)
{
	static const char path[] = "etc/motd", text[] = "Welcome.\n";
	dwarfs_builder *builder = NULL;
	dwarfs_item *item = NULL;
	int ret;

	/* The text is copied when the item is added, so it must be valid until then. */
	if ((ret = dwarfs_builder_new(NULL, &builder, err)) == 0 &&
	    (ret = dwarfs_item_new(0100644, &item, err)) == 0 &&
	    (ret = dwarfs_item_set_memory(item, text, strlen(text), err)) == 0 &&
	    (ret = dwarfs_builder_add_item(builder, path, strlen(path), item, err)) == 0)
		ret = dwarfs_builder_write(builder, sink, err);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
	return ret;
}

int main(void)
{
	dwarfs_sink *sink = NULL;
	dwarfs_io *io = NULL;
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	void *data = NULL, *text = NULL;
	size_t bytes;
	int ret = 1;

	if (dwarfs_sink_to_memory(most_bytes, &sink, &err) == 0 &&
	    pack(sink, &err) == 0 && dwarfs_sink_take(sink, &data, &bytes, &err) == 0 &&
	    dwarfs_io_from_memory(data, bytes, NULL, NULL, &io, &err) == 0 &&
	    dwarfs_image_open_io(NULL, io, NULL, &image, &err) == 0 &&
	    dwarfs_load(image, "etc/motd", most_bytes, NULL, &text, &bytes, &err) == 0)
		ret = printf("%u entries; %s", dwarfs_image_entry_count(image),
			     (char *)text) < 0;
	else
		fprintf(stderr, "memory: %s\n", dwarfs_error_message(err));
	dwarfs_memory_free(text);
	dwarfs_image_free(image); /* which reads the data until then */
	dwarfs_io_free(io);
	dwarfs_memory_free(data);
	dwarfs_sink_free(sink);
	dwarfs_error_free(err);
	return ret;
}
