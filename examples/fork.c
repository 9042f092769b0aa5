/* SPDX-License-Identifier: MIT */
/*
 * fork: read files of an image, each in a process of its own, and print their sizes.
 *
 *     fork share IMAGE PATH...    children use the image that the parent opened
 *     fork own IMAGE PATH...      each child opens the image
 *
 * A child may use an image of its parent, and shares the memory of its metadata and cached
 * blocks, if no other thread of the parent was reading with the same context during fork();
 * otherwise reads may fail with DWARFS_ERR_INVALID. In a program with threads each child
 * opens the image with a context of its own: NULL.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dwarfs/dwarfs.h>

/* In a child, which also frees what the parent opened. */
static int run_child(dwarfs_image *image, const char *image_path, const char *path)
{
	dwarfs_error *err = NULL;
	void *data = NULL;
	size_t bytes;
	int failed = 1;

	if ((!image && dwarfs_image_open(NULL, image_path, NULL, &image, &err) < 0) ||
	    dwarfs_load(image, path, 1 << 30, NULL, &data, &bytes, &err) < 0)
		fprintf(stderr, "fork: %s\n", dwarfs_error_message(err));
	else
		failed = printf("%s: %zu bytes\n", path, bytes) < 0 || fflush(stdout);
	dwarfs_error_free(err);
	dwarfs_memory_free(data);
	dwarfs_image_free(image);
	return failed;
}

int main(int argc, char **argv)
{
	dwarfs_image *image = NULL;
	int i, status, failed = 0;

	if (argc < 4 || (strcmp(argv[1], "share") && strcmp(argv[1], "own"))) {
		fprintf(stderr, "usage: %s share|own IMAGE PATH...\n", argv[0]);
		return 2;
	}
	if (argv[1][0] == 's')
		failed = dwarfs_image_open(NULL, argv[2], NULL, &image, NULL) < 0;
	for (i = 3; i < argc && !failed; i++)
		if (fork() == 0)
			_exit(run_child(image, argv[2], argv[i]));
	while (wait(&status) > 0)
		failed += status != 0;
	if (failed)
		fprintf(stderr, "%s: %s: %d failed\n", argv[0], argv[2], failed);
	dwarfs_image_free(image);
	return failed > 0;
}
