/* SPDX-License-Identifier: MIT */
/*
 * source: read an image through callbacks, as from a server, and count the requests.
 *
 *     source IMAGE PATH
 *
 * One thread reads here, so that the callbacks need no lock. With several threads, and
 * with functions that read in parallel, they are called by several at once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <dwarfs/dwarfs.h>

/* In this example a file replaces the server. */
struct remote {
	FILE *file;
	unsigned rounds;
	size_t bytes;
};

static int read_range(struct remote *remote, void *buffer, size_t bytes, uint64_t offset,
		      dwarfs_error **err)
{
	if (fseek(remote->file, (long)offset, SEEK_SET) != 0 ||
	    fread(buffer, 1, bytes, remote->file) != bytes)
		return dwarfs_error_set(err, DWARFS_ERR_IO, errno, "the server is away");
	remote->bytes += bytes;
	return 0;
}

static int on_read(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		   dwarfs_error **err, void *user)
{
	struct remote *remote = (struct remote *)user;

	remote->rounds++;
	*bytes_out = bytes;
	return read_range(remote, buffer, bytes, offset, err);
}

/* A client of a server would send all requests before it waits for the first response. */
static int on_read_many(const struct dwarfs_io_range *ranges, size_t count,
			dwarfs_error **err, void *user)
{
	struct remote *remote = (struct remote *)user;
	size_t i;
	int ret = 0;

	remote->rounds++;
	for (i = 0; i < count && ret == 0; i++)
		ret = read_range(remote, ranges[i].buffer, ranges[i].bytes,
				 ranges[i].offset, err);
	return ret;
}

static int new_source(struct remote *remote, const char *name, dwarfs_io **io_out,
		      dwarfs_error **err)
{
	dwarfs_io *io = NULL;
	long end;
	int ret;

	if (fseek(remote->file, 0, SEEK_END) != 0 || (end = ftell(remote->file)) < 0)
		return dwarfs_error_set(err, DWARFS_ERR_IO, errno, name);
	if ((ret = dwarfs_io_new(on_read, (uint64_t)end, NULL, remote, &io, err)) < 0)
		return ret;
	dwarfs_io_set_read_many(io, on_read_many);
	if ((ret = dwarfs_io_set_name(io, name, err)) < 0) {
		dwarfs_io_free(io);
		return ret;
	}
	*io_out = io;
	return 0;
}

static int print_file(const dwarfs_image *image, const char *path, dwarfs_error **err)
{
	void *data = NULL;
	size_t bytes;
	int ret = dwarfs_load(image, path, 1 << 30, NULL, &data, &bytes, err);

	if (ret == 0 && fwrite(data, 1, bytes, stdout) != bytes)
		ret = dwarfs_error_set(err, DWARFS_ERR_IO, errno, "standard output");
	dwarfs_memory_free(data);
	return ret;
}

static int run(struct remote *remote, const char *name, const char *path,
	       dwarfs_error **err)
{
	dwarfs_context *context = NULL;
	dwarfs_image_options *options = NULL;
	dwarfs_io *io = NULL;
	dwarfs_image *image = NULL;
	int ret;

	if ((ret = dwarfs_context_new(&context, err)) == 0 &&
	    (ret = dwarfs_context_set_cache_bytes(context, 64 << 20, err)) == 0 &&
	    (ret = dwarfs_image_options_new(&options, err)) == 0 &&
	    (ret = new_source(remote, name, &io, err)) == 0) {
		/* The start of the image is known, and not searched for. */
		dwarfs_image_options_set_offset(options, 0);
		ret = dwarfs_image_open_io(context, io, options, &image, err);
	}
	if (ret == 0) {
		fprintf(stderr, "opened in %u rounds, %zu bytes\n", remote->rounds,
			remote->bytes);
		ret = print_file(image, path, err);
	}
	dwarfs_image_free(image);
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
	dwarfs_context_free(context);
	return ret;
}

int main(int argc, char **argv)
{
	struct remote remote = { NULL, 0, 0 };
	dwarfs_error *err = NULL;
	int ret;

	if (argc != 3) {
		fprintf(stderr, "usage: %s IMAGE PATH\n", argv[0]);
		return 2;
	}
	if (!(remote.file = fopen(argv[1], "rb"))) {
		perror(argv[1]);
		return 1;
	}
	ret = run(&remote, argv[1], argv[2], &err);
	if (ret < 0)
		fprintf(stderr, "%s: %s\n", argv[0], dwarfs_error_message(err));
	dwarfs_error_free(err);
	fclose(remote.file);
	return ret < 0;
}
