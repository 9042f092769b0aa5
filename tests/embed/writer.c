/* SPDX-License-Identifier: MIT */
/*
 * Sinks, and what writes to them: a new image, an append, a rewrite, an archive, which is
 * imported again. A sink that fails says why, and the memory of the builder is limited.
 */
#include "check.h"

#define NEW_NAME "new/item"
#define NEW_TEXT "of an item"

struct sink_bytes {
	unsigned char *data;
	size_t bytes;
	int fails;
};

static int collect(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	struct sink_bytes *to = (struct sink_bytes *)user;

	if (to->fails)
		return dwarfs_error_set(err, DWARFS_ERR_IO, 0, "the store is full");
	to->data = (unsigned char *)realloc(to->data, to->bytes + bytes);
	CHECK(to->data || to->bytes + bytes == 0);
	memcpy(to->data + to->bytes, data, bytes);
	to->bytes += bytes;
	return 0;
}

static dwarfs_io *memory_io(const void *data, size_t bytes)
{
	dwarfs_io *io = NULL;

	CHECK(dwarfs_io_from_memory(data, bytes, NULL, NULL, &io, NULL) == 0);
	return io;
}

/* Whether the image in memory has a file with these bytes. */
static void expect_file(const void *data, size_t bytes, const char *path,
			const void *wanted, size_t wanted_bytes)
{
	dwarfs_io *io = memory_io(data, bytes);
	dwarfs_image *image = NULL;
	void *found = NULL;
	size_t found_bytes = 0;

	CHECK(dwarfs_image_open_io(NULL, io, NULL, &image, NULL) == 0);
	CHECK(dwarfs_load(image, path, SIZE_MAX, NULL, &found, &found_bytes, NULL) == 0);
	CHECK(found_bytes == wanted_bytes && memcmp(found, wanted, wanted_bytes) == 0);
	dwarfs_memory_free(found);
	dwarfs_image_free(image);
	dwarfs_io_free(io);
}

static dwarfs_builder *new_builder(void)
{
	dwarfs_builder *builder = NULL;

	CHECK(dwarfs_builder_new(NULL, &builder, NULL) == 0);
	CHECK(dwarfs_builder_set_level(builder, 1, NULL) == 0);
	return builder;
}

/* The contents are those of a source. */
static void add_item(dwarfs_builder *builder)
{
	dwarfs_io *io = memory_io(NEW_TEXT, strlen(NEW_TEXT));
	dwarfs_item *item = NULL;

	CHECK(dwarfs_item_new(0100644, &item, NULL) == 0);
	CHECK(dwarfs_item_set_io(item, io, NULL) == 0);
	CHECK(dwarfs_builder_add_item(builder, NEW_NAME, strlen(NEW_NAME), item, NULL) ==
	      0);
	dwarfs_item_free(item);
	dwarfs_io_free(io);
}

static void append_to(dwarfs_image *image, const void *data, size_t bytes)
{
	struct sink_bytes made = { NULL, 0, 0 };
	dwarfs_builder *builder = new_builder();
	dwarfs_sink *sink = NULL;

	CHECK(dwarfs_builder_add_image(builder, image, "", 0, DWARFS_KEEP_BLOCKS, NULL) ==
	      0);
	add_item(builder);
	CHECK(dwarfs_sink_new(collect, NULL, &made, &sink, NULL) == 0);
	CHECK(dwarfs_builder_write(builder, sink, NULL) == 0);
	expect_file(made.data, made.bytes, NEW_NAME, NEW_TEXT, strlen(NEW_TEXT));
	expect_file(made.data, made.bytes, DATA_NAME, data, bytes);
	free(made.data);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
}

static void rewrite(dwarfs_image *image, const void *data, size_t bytes)
{
	dwarfs_builder *builder = new_builder();
	dwarfs_sink *sink = NULL;
	void *made = NULL;
	size_t made_bytes = 0;

	CHECK(dwarfs_sink_to_memory(SIZE_MAX, &sink, NULL) == 0);
	CHECK(dwarfs_rewrite(image, DWARFS_REWRITE_BLOCKS | DWARFS_REWRITE_REBUILD,
			     builder, sink, NULL) == 0);
	CHECK(dwarfs_sink_take(sink, &made, &made_bytes, NULL) == 0);
	expect_file(made, made_bytes, DATA_NAME, data, bytes);
	dwarfs_memory_free(made);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
}

/* To an archive in memory, and back to an image in memory. */
static void convert(dwarfs_image *image, const void *data, size_t bytes)
{
	dwarfs_archive_export *writer = NULL;
	dwarfs_archive_import *reader = NULL;
	struct sink_bytes made = { NULL, 0, 0 };
	dwarfs_builder *builder = new_builder();
	dwarfs_sink *archive = NULL, *sink = NULL;
	void *tar = NULL;
	size_t tar_bytes = 0;
	dwarfs_io *io;
	int ret = dwarfs_archive_export_new(image, &writer, NULL);

	if (ret == 0) {
		CHECK(dwarfs_archive_export_set_format(writer, "pax", NULL) == 0);
		CHECK(dwarfs_sink_to_memory(SIZE_MAX, &archive, NULL) == 0);
		CHECK(dwarfs_archive_export_write(writer, archive, NULL) == 0);
		CHECK(dwarfs_sink_take(archive, &tar, &tar_bytes, NULL) == 0);
		io = memory_io(tar, tar_bytes);
		CHECK(dwarfs_archive_import_new(builder, &reader, NULL) == 0);
		CHECK(dwarfs_archive_import_io(reader, io, NULL) == 0);
		CHECK(dwarfs_sink_new(collect, NULL, &made, &sink, NULL) == 0);
		CHECK(dwarfs_builder_write(builder, sink, NULL) == 0);
		expect_file(made.data, made.bytes, DATA_NAME, data, bytes);
		dwarfs_io_free(io);
	}
	CHECK(ret == 0 || ret == DWARFS_ERR_UNSUPPORTED); /* built without libarchive */
	free(made.data);
	dwarfs_memory_free(tar);
	dwarfs_archive_import_free(reader);
	dwarfs_archive_export_free(writer);
	dwarfs_sink_free(archive);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
}

static void fail(void)
{
	struct sink_bytes made = { NULL, 0, 1 };
	dwarfs_builder *builder = new_builder();
	dwarfs_sink *sink = NULL;
	dwarfs_error *err = NULL;

	add_item(builder);
	CHECK(dwarfs_sink_new(collect, NULL, &made, &sink, NULL) == 0);
	CHECK(dwarfs_builder_write(builder, sink, &err) == DWARFS_ERR_IO);
	CHECK(strstr(dwarfs_error_message(err), "the store is full"));
	dwarfs_error_free(err);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
}

static void limit_memory(void)
{
	dwarfs_builder *builder = new_builder();
	dwarfs_sink *sink = NULL;
	dwarfs_error *err = NULL;

	add_item(builder);
	CHECK(dwarfs_builder_set_memory_limit(builder, 1, NULL) == 0);
	CHECK(dwarfs_sink_to_memory(SIZE_MAX, &sink, NULL) == 0);
	CHECK(dwarfs_builder_write(builder, sink, &err) == DWARFS_ERR_LIMIT);
	dwarfs_error_free(err);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
}

int main(int argc, char **argv)
{
	dwarfs_image *image = NULL;
	void *data = NULL;
	size_t bytes = 0;

	CHECK(argc == 2);
	CHECK(dwarfs_image_open(NULL, argv[1], NULL, &image, NULL) == 0);
	CHECK(dwarfs_load(image, DATA_NAME, SIZE_MAX, NULL, &data, &bytes, NULL) == 0);
	CHECK(bytes == DATA_BYTES);
	append_to(image, data, bytes);
	rewrite(image, data, bytes);
	convert(image, data, bytes);
	fail();
	limit_memory();
	dwarfs_memory_free(data);
	dwarfs_image_free(image);
	return 0;
}
