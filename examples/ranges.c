/* SPDX-License-Identifier: MIT */
/*
 * ranges: open an image through callbacks of which one reads several ranges at once, as from
 * a server that is far away, and print in how many rounds.
 *
 *     ranges IMAGE
 */
#include <stdio.h>

#include <dwarfs/dwarfs.h>

static unsigned rounds;

/* A client of a server would send all requests before it waits for the first response. */
static int on_read_many(const struct dwarfs_io_range *ranges, size_t count,
			dwarfs_error **err, void *user)
{
	rounds++;
	for (const struct dwarfs_io_range *one = ranges; one < ranges + count; one++)
		if (fseek((FILE *)user, (long)one->offset, SEEK_SET) != 0 ||
		    fread(one->buffer, 1, one->bytes, (FILE *)user) != one->bytes)
			return dwarfs_error_set(err, DWARFS_ERR_IO, 0, "no response");
	return 0;
}

static int on_read(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		   dwarfs_error **err, void *user)
{
	struct dwarfs_io_range range = { buffer, bytes, offset };

	*bytes_out = bytes;
	return on_read_many(&range, 1, err, user);
}

int main(int argc, char **argv)
{
	FILE *server = argc == 2 ? fopen(argv[1], "rb") : NULL;
	dwarfs_image_options *options = NULL;
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;
	int ret;

	if (!server || fseek(server, 0, SEEK_END) != 0)
		return 2;
	ret = dwarfs_io_new(on_read, (uint64_t)ftell(server), NULL, server, &io, NULL);
	if (ret == 0 && (ret = dwarfs_image_options_new(&options, NULL)) == 0) {
		dwarfs_io_set_read_many(io, on_read_many);
		/* The start of the image is known, and not searched for. */
		dwarfs_image_options_set_offset(options, 0);
		ret = dwarfs_image_open_io(NULL, io, options, &image, NULL);
	}
	printf("%s: %u rounds\n", dwarfs_strerror(ret), rounds);
	dwarfs_image_free(image);
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
	fclose(server);
	return ret < 0;
}
