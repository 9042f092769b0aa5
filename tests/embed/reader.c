/* SPDX-License-Identifier: MIT */
/*
 * List an image, read every file, and check it: as a program does that embeds the reader.
 *
 *     reader IMAGE
 *
 * Prints "PATH BYTES FNV" for each regular file, "warning CODE" or "error CODE" for each
 * finding of the check, then "check: CODE". EMBED_HEADER is the
 * header of the way in which the library is embedded.
 */
#ifndef EMBED_HEADER
#define EMBED_HEADER <dwarfs/dwarfs.h>
#endif
#include EMBED_HEADER

#include <inttypes.h>
#include <stdio.h>

#if DWARFS_VERSION_NUMBER < DWARFS_MAKE_VERSION(0, 1, 0)
#error "an older header is in use"
#endif

/* The 32 bits of FNV-1a. */
static uint32_t add_bytes(uint32_t sum, const unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ data[i]) * UINT32_C(16777619);
	return sum;
}

static int read_file(const dwarfs_image *image, dwarfs_inode inode, const char *path,
		     dwarfs_error **err)
{
	static unsigned char data[1 << 16];
	dwarfs_file *file = NULL;
	uint32_t sum = UINT32_C(2166136261);
	uint64_t offset = 0;
	size_t bytes = 0;
	int ret;

	if ((ret = dwarfs_file_open(image, inode, &file, err)) < 0)
		return ret;
	while ((ret = dwarfs_file_read(file, data, sizeof(data), offset, &bytes, err)) ==
		       0 &&
	       bytes > 0) {
		sum = add_bytes(sum, data, bytes);
		offset += bytes;
	}
	dwarfs_file_free(file);
	if (ret == 0)
		printf("%s %" PRIu64 " %08" PRIx32 "\n", path, offset, sum);
	return ret;
}

static int read_entry(const dwarfs_image *image, dwarfs_entry entry, const char *path,
		      dwarfs_stat *stat, dwarfs_error **err)
{
	dwarfs_inode inode;
	int ret = dwarfs_entry_stat(image, entry, stat, err);

	if (ret < 0 || (dwarfs_stat_mode(stat) & 0170000) != 0100000)
		return ret;
	ret = dwarfs_entry_inode(image, entry, &inode, err);
	return ret < 0 ? ret : read_file(image, inode, path, err);
}

static void print_finding(enum dwarfs_finding severity, int code, int64_t section,
			  const char *message, void *user)
{
	(void)section, (void)message, (void)user;
	printf("%s %d\n", severity == DWARFS_FINDING_WARNING ? "warning" : "error", code);
}

static int read_all(const char *image_path, dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	dwarfs_walk *walk = NULL;
	dwarfs_stat *stat = NULL;
	dwarfs_entry entry;
	int ret;

	if ((ret = dwarfs_image_open(NULL, image_path, NULL, &image, err)) == 0 &&
	    (ret = dwarfs_stat_new(&stat, err)) == 0 &&
	    (ret = dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk,
				   err)) == 0)
		while ((ret = dwarfs_walk_next(walk, &entry, err)) > 0 &&
		       (ret = read_entry(image, entry, dwarfs_walk_path(walk), stat,
					 err)) == 0)
			;
	if (ret == 0)
		printf("check: %d\n",
		       dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, print_finding,
					  NULL, NULL, NULL, NULL));
	dwarfs_walk_free(walk);
	dwarfs_stat_free(stat);
	dwarfs_image_free(image);
	return ret;
}

int main(int argc, char **argv)
{
	dwarfs_error *err = NULL;

	if (argc != 2)
		return 2;
	if (read_all(argv[1], &err) == 0)
		return 0;
	fprintf(stderr, "%s\n", dwarfs_error_message(err));
	dwarfs_error_free(err);
	return 1;
}
