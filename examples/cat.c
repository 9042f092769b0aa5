/* SPDX-License-Identifier: MIT */
/*
 * cat IMAGE PATH: write a file of an image to standard output.
 */
#include <stdio.h>

#include <dwarfs/dwarfs.h>

static int copy(const dwarfs_file *file, FILE *out, dwarfs_error **err)
{
	static char buffer[1 << 16];
	uint64_t offset = 0;
	size_t bytes;
	int ret;

	while (!(ret = dwarfs_file_read(file, buffer, sizeof(buffer), offset, &bytes,
					err)) &&
	       bytes > 0 && fwrite(buffer, 1, bytes, out) == bytes)
		offset += bytes;
	return ret;
}

static int cat(const char *image_path, const char *path, dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	dwarfs_file *file = NULL;
	dwarfs_entry entry;
	dwarfs_inode inode;
	int ret;

	if ((ret = dwarfs_image_open(NULL, image_path, NULL, &image, err)) == 0 &&
	    (ret = dwarfs_find(image, path, &entry, err)) == 0 &&
	    (ret = dwarfs_entry_inode(image, entry, &inode, err)) == 0 &&
	    (ret = dwarfs_file_open(image, inode, &file, err)) == 0)
		ret = copy(file, stdout, err);
	dwarfs_file_free(file);
	dwarfs_image_free(image);
	return ret;
}

int main(int argc, char **argv)
{
	dwarfs_error *err = NULL;

	if (argc != 3) {
		fprintf(stderr, "usage: %s IMAGE PATH\n", argv[0]);
		return 2;
	}
	if (cat(argv[1], argv[2], &err) < 0)
		fprintf(stderr, "%s: %s: %s\n", argv[0], argv[1],
			dwarfs_error_message(err));
	else if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	else
		perror("standard output");
	dwarfs_error_free(err);
	return 1;
}
