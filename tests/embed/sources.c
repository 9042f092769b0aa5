/* SPDX-License-Identifier: MIT */
/*
 * Sources: memory and callbacks. The image of callbacks is opened in two rounds of reads, and a
 * callback that fails says why.
 */
#include "check.h"

#define NAME "https://host/image"

struct source {
	unsigned char *data;
	size_t bytes;
	int rounds, fails;
};

static int begin(struct source *source, dwarfs_error **err)
{
	source->rounds++;
	return source->fails ? dwarfs_error_set(err, DWARFS_ERR_IO, 0, "connection lost")
			     : 0;
}

static int read_one(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		    dwarfs_error **err, void *user)
{
	struct source *source = (struct source *)user;

	memcpy(buffer, source->data + offset, bytes);
	*bytes_out = bytes;
	return begin(source, err);
}

static int read_many(const struct dwarfs_io_range *ranges, size_t count,
		     dwarfs_error **err, void *user)
{
	struct source *source = (struct source *)user;

	for (size_t i = 0; i < count; i++)
		memcpy(ranges[i].buffer, source->data + ranges[i].offset,
		       ranges[i].bytes);
	return begin(source, err);
}

static void read_source(const char *path, struct source *source)
{
	dwarfs_io *io = NULL;

	CHECK(dwarfs_io_open(path, &io, NULL) == 0);
	source->bytes = (size_t)dwarfs_io_bytes(io);
	source->data = (unsigned char *)malloc(source->bytes);
	CHECK(source->data);
	CHECK(dwarfs_io_read(io, source->data, source->bytes, 0, NULL) == 0);
	dwarfs_io_free(io);
}

/* The first read of a file needs the source, the second one after a failure again. */
static void use_callbacks(struct source *source)
{
	dwarfs_image_options *options = NULL;
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;
	void *data = NULL;
	size_t bytes;

	CHECK(dwarfs_io_new(read_one, source->bytes, NULL, source, &io, NULL) == 0);
	dwarfs_io_set_read_many(io, read_many);
	CHECK(dwarfs_io_set_name(io, NAME, NULL) == 0);
	CHECK(dwarfs_image_options_new(&options, NULL) == 0);
	dwarfs_image_options_set_offset(options, 0);
	CHECK(dwarfs_image_open_io(NULL, io, options, &image, NULL) == 0);
	CHECK(source->rounds <= 2);
	source->fails = 1;
	CHECK(dwarfs_load(image, DATA_NAME, SIZE_MAX, NULL, &data, &bytes, &err) ==
	      DWARFS_ERR_IO);
	CHECK(strstr(dwarfs_error_message(err), "connection lost"));
	CHECK(strstr(dwarfs_error_message(err), NAME));
	dwarfs_error_free(err);
	source->fails = 0;
	CHECK(dwarfs_load(image, DATA_NAME, SIZE_MAX, NULL, &data, &bytes, NULL) == 0);
	CHECK(bytes == DATA_BYTES && ((unsigned char *)data)[1000] == 1000 % 256);
	dwarfs_memory_free(data);
	dwarfs_image_free(image);
	dwarfs_image_options_free(options);
	dwarfs_io_free(io);
}

static void use_memory(const struct source *source)
{
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;
	void *data = NULL;
	size_t bytes;

	CHECK(dwarfs_io_from_memory(source->data, source->bytes, NULL, NULL, &io, NULL) ==
	      0);
	CHECK(dwarfs_image_open_io(NULL, io, NULL, &image, NULL) == 0);
	CHECK(dwarfs_load(image, TEXT_NAME, SIZE_MAX, NULL, &data, &bytes, NULL) == 0);
	CHECK(bytes == TEXT_BYTES);
	dwarfs_memory_free(data);
	dwarfs_image_free(image);
	dwarfs_io_free(io);
}

int main(int argc, char **argv)
{
	struct source source = { NULL, 0, 0, 0 };

	CHECK(argc == 2);
	read_source(argv[1], &source);
	use_callbacks(&source);
	use_memory(&source);
	free(source.data);
	return 0;
}
