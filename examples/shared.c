/* SPDX-License-Identifier: MIT */
/*
 * shared: write the same file of several images, which share a context and thereby one block
 * cache, to standard output. An image that cannot be read is reported.
 *
 *     shared PATH IMAGE...
 */
#include <errno.h>
#include <stdio.h>

#include <dwarfs/dwarfs.h>

static int print_file(dwarfs_context *context, const char *image_path, const char *path,
		      dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	void *data = NULL;
	size_t bytes;
	int ret;

	if ((ret = dwarfs_image_open(context, image_path, NULL, &image, err)) == 0 &&
	    (ret = dwarfs_load(image, path, 1 << 30, NULL, &data, &bytes, err)) == 0 &&
	    fwrite(data, 1, bytes, stdout) != bytes)
		ret = dwarfs_error_set(err, DWARFS_ERR_IO, errno, "standard output");
	dwarfs_memory_free(data);
	dwarfs_image_free(image);
	return ret;
}

int main(int argc, char **argv)
{
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	int i, failed = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: %s PATH IMAGE...\n", argv[0]);
		return 2;
	}
	if (dwarfs_context_new(&context, &err) < 0 ||
	    dwarfs_context_set_cache_bytes(context, 64 << 20, &err) < 0) {
		fprintf(stderr, "%s: %s\n", argv[0], dwarfs_error_message(err));
		failed = argc;
	}
	for (i = 2; i < argc && failed < argc; i++) {
		if (print_file(context, argv[i], argv[1], &err) == 0)
			continue;
		/* Programs use the code, users read the message. */
		fprintf(stderr, "%s: %s: %s (%s)\n", argv[0], argv[i],
			dwarfs_error_message(err),
			dwarfs_strerror(dwarfs_error_code(err)));
		dwarfs_error_free(err);
		err = NULL;
		failed++;
	}
	dwarfs_error_free(err);
	dwarfs_context_free(context);
	return failed > 0;
}
