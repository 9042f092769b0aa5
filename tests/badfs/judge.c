/* SPDX-License-Identifier: MIT */
/*
 * judge: results of the check for many images.
 *
 * Reads images from standard input, each after its size (4 bytes, little-endian); writes
 * a line for each: "good", or "bad" and the reason.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <dwarfs/dwarfs.h>

/* Open from memory and check; 0 or the error. */
static int judge(dwarfs_context *context, const void *data, size_t size,
		 dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;
	int ret = dwarfs_io_from_memory(data, size, NULL, NULL, &io, err);

	if (ret == 0)
		ret = dwarfs_image_open_io(context, io, NULL, &image, err);
	if (ret == 0)
		ret = dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
					 NULL, err);
	dwarfs_image_free(image);
	dwarfs_io_free(io);
	return ret;
}

int main(void)
{
	dwarfs_context *context = NULL;
	uint8_t head[4];

	if (dwarfs_context_new(&context, NULL) < 0 ||
	    dwarfs_context_set_workers(context, 0, NULL) < 0)
		return 2;
	while (fread(head, 1, sizeof(head), stdin) == sizeof(head)) {
		size_t size =
			head[0] | head[1] << 8 | head[2] << 16 | (size_t)head[3] << 24;
		void *data = malloc(size ? size : 1);
		dwarfs_error *err = NULL;

		if (!data || fread(data, 1, size, stdin) != size)
			return 2;
		if (judge(context, data, size, &err) == 0)
			puts("good");
		else
			printf("bad %s\n", dwarfs_error_message(err));
		dwarfs_error_free(err);
		free(data);
	}
	dwarfs_context_free(context);
	return ferror(stdin) ? 2 : 0;
}
