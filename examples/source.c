/* SPDX-License-Identifier: MIT */
/*
 * source: read an image through a callback, as from a server, and print a file of it.
 *
 *     source IMAGE PATH
 *
 * One thread reads here; with several the callback is called by several at once.
 */
#include <errno.h>
#include <stdio.h>

#include <dwarfs/dwarfs.h>

/* In this example a file replaces the server. */
static int on_read(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		   dwarfs_error **err, void *user)
{
	if (fseek((FILE *)user, (long)offset, SEEK_SET) != 0 ||
	    (*bytes_out = fread(buffer, 1, bytes, (FILE *)user)) == 0)
		return dwarfs_error_set(err, DWARFS_ERR_IO, errno, "the server is away");
	return 0;
}

static int print_file(FILE *server, const char *path, dwarfs_error **err)
{
	dwarfs_io *io = NULL;
	dwarfs_image *image = NULL;
	void *data = NULL;
	size_t bytes;
	int ret = DWARFS_ERR_IO;

	if (fseek(server, 0, SEEK_END) == 0 &&
	    (ret = dwarfs_io_new(on_read, (uint64_t)ftell(server), NULL, server, &io,
				 err)) == 0 &&
	    (ret = dwarfs_image_open_io(NULL, io, NULL, &image, err)) == 0 &&
	    (ret = dwarfs_load(image, path, 1 << 30, NULL, &data, &bytes, err)) == 0 &&
	    fwrite(data, 1, bytes, stdout) != bytes)
		ret = DWARFS_ERR_IO;
	dwarfs_memory_free(data);
	dwarfs_image_free(image);
	dwarfs_io_free(io);
	return ret;
}

int main(int argc, char **argv)
{
	FILE *server = argc == 3 ? fopen(argv[1], "rb") : NULL;
	dwarfs_error *err = NULL;
	int ret;

	if (!server)
		return fprintf(stderr, "usage: %s IMAGE PATH\n", argv[0]), 2;
	if ((ret = print_file(server, argv[2], &err)) < 0)
		fprintf(stderr, "%s: %s\n", argv[1],
			err ? dwarfs_error_message(err) : dwarfs_strerror(ret));
	dwarfs_error_free(err);
	fclose(server);
	return ret < 0;
}
