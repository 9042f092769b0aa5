/* SPDX-License-Identifier: MIT */
/*
 * export: make an archive of an image. Warnings of the library go to stderr.
 *
 *     export IMAGE ARCHIVE       such as backup.dwarfs backup.zip
 */
#include <stdio.h>

#include <dwarfs/dwarfs.h>

static void on_log(enum dwarfs_log_level level, const char *message, void *user)
{
	fprintf((FILE *)user, "%s: %s\n", level <= DWARFS_LOG_ERROR ? "error" : "warning",
		message);
}

static int export_image(const char *path, const char *archive, dwarfs_error **err)
{
	dwarfs_context *context = NULL;
	dwarfs_image *image = NULL;
	dwarfs_archive_export *target = NULL;
	int ret;

	if ((ret = dwarfs_context_new(&context, err)) == 0 &&
	    (ret = dwarfs_context_set_log(context, DWARFS_LOG_WARN, on_log, stderr,
					  err)) == 0 &&
	    (ret = dwarfs_image_open(context, path, NULL, &image, err)) == 0 &&
	    (ret = dwarfs_archive_export_new(image, &target, err)) == 0)
		ret = dwarfs_archive_export_to_path(target, archive, err);
	dwarfs_archive_export_free(target);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	return ret;
}

int main(int argc, char **argv)
{
	dwarfs_error *err = NULL;

	if (argc != 3) {
		fprintf(stderr, "usage: %s IMAGE ARCHIVE\n", argv[0]);
		return 2;
	}
	if (export_image(argv[1], argv[2], &err) == 0)
		return 0;
	fprintf(stderr, "%s: %s\n", argv[0], dwarfs_error_message(err));
	dwarfs_error_free(err);
	return 1;
}
