/* SPDX-License-Identifier: MIT */
/*
 * list: print every entry of an image, one a line: mode, owner, group, size, path.
 *
 *     list IMAGE
 */
#include <inttypes.h>
#include <stdio.h>

#include <dwarfs/dwarfs.h>

static void print(const dwarfs_stat *stat, const char *path)
{
	printf("%06" PRIo32 " %5" PRIu32 " %5" PRIu32 " %12" PRIu64 " /%s\n",
	       dwarfs_stat_mode(stat), dwarfs_stat_uid(stat), dwarfs_stat_gid(stat),
	       dwarfs_stat_bytes(stat), path);
}

static int list(const char *path, dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	dwarfs_walk *walk = NULL;
	dwarfs_stat *stat = NULL;
	dwarfs_entry entry;
	int ret;

	if ((ret = dwarfs_image_open(NULL, path, NULL, &image, err)) == 0 &&
	    (ret = dwarfs_stat_new(&stat, err)) == 0 &&
	    (ret = dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk,
				   err)) == 0)
		while ((ret = dwarfs_walk_next(walk, &entry, err)) > 0 &&
		       (ret = dwarfs_entry_stat(image, entry, stat, err)) == 0)
			print(stat, dwarfs_walk_path(walk));
	dwarfs_image_free(image); /* in any order: the walk keeps it alive */
	dwarfs_walk_free(walk);
	dwarfs_stat_free(stat);
	return ret;
}

int main(int argc, char **argv)
{
	dwarfs_error *err = NULL;

	if (argc != 2) {
		fprintf(stderr, "usage: %s IMAGE\n", argv[0]);
		return 2;
	}
	if (list(argv[1], &err) < 0)
		fprintf(stderr, "%s: %s\n", argv[0], dwarfs_error_message(err));
	else if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	else
		perror("standard output");
	dwarfs_error_free(err);
	return 1;
}
