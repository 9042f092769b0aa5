/* SPDX-License-Identifier: MIT */
/*
 * mount: serve an image in this process, by libfuse. mount_tree.c and mount_contents.c have
 * what it serves.
 *
 *     mount IMAGE MOUNTPOINT [options of libfuse, such as -f]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mount.h"

dwarfs_image *mounted;

/* After libfuse has forked into the background: a fork could lose threads of the library. */
static void *do_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	const char *path = (const char *)fuse_get_context()->private_data;
	dwarfs_error *err = NULL;

	(void)connection;
	config->kernel_cache = 1;
	if (dwarfs_image_open(NULL, path, NULL, &mounted, &err) < 0) {
		fprintf(stderr, "mount: %s\n", dwarfs_error_message(err));
		dwarfs_error_free(err);
		fuse_exit(fuse_get_context()->fuse);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char *path = argc > 2 ? realpath(argv[1], NULL) : NULL;
	struct fuse_operations operations;
	int code;

	if (!path) {
		fprintf(stderr, "usage: %s IMAGE MOUNTPOINT [options]\n", argv[0]);
		return 2;
	}
	memset(&operations, 0, sizeof(operations));
	operations.init = do_init;
	operations.getattr = do_getattr;
	operations.readdir = do_readdir;
	operations.readlink = do_readlink;
	operations.read = do_read;
	argv[1] = argv[0];
	/* It changes to the root directory, so that the path must be absolute. */
	code = fuse_main(argc - 1, argv + 1, &operations, path);
	dwarfs_image_free(mounted);
	free(path);
	return code;
}
