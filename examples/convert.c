/* SPDX-License-Identifier: MIT */
/*
 * convert: make an image of an archive, or an archive of an image.
 *
 *     convert in ARCHIVE IMAGE       such as backup.tar.zst backup.dwarfs
 *     convert out IMAGE ARCHIVE      such as backup.dwarfs backup.zip
 *
 * Ctrl-C cancels and removes the output. Warnings of the library go to stderr.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <dwarfs/dwarfs.h>

static dwarfs_task *task;

static void on_interrupt(int number)
{
	(void)number;
	dwarfs_task_cancel(task);
}

static void on_log(enum dwarfs_log_level level, const char *message, void *user)
{
	fprintf((FILE *)user, "%s: %s\n", level <= DWARFS_LOG_ERROR ? "error" : "warning",
		message);
}

static int archive_to_image(dwarfs_context *context, const char *archive,
			    const char *image, dwarfs_error **err)
{
	dwarfs_builder *builder = NULL;
	dwarfs_archive_import *import = NULL;
	int ret;

	if ((ret = dwarfs_builder_new(context, &builder, err)) == 0 &&
	    (ret = dwarfs_archive_import_new(builder, &import, err)) == 0) {
		dwarfs_builder_set_task(builder, task);
		dwarfs_archive_import_set_task(import, task);
		ret = dwarfs_archive_import_path(import, archive, err);
	}
	dwarfs_archive_import_free(import);
	if (ret == 0)
		ret = dwarfs_builder_write_path(builder, image, false, err);
	dwarfs_builder_free(builder);
	return ret;
}

static int image_to_archive(dwarfs_context *context, const char *path,
			    const char *archive, dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	dwarfs_archive_export *archive_export = NULL;
	int ret;

	if ((ret = dwarfs_image_open(context, path, NULL, &image, err)) == 0 &&
	    (ret = dwarfs_archive_export_new(image, &archive_export, err)) == 0) {
		dwarfs_archive_export_set_task(archive_export, task);
		ret = dwarfs_archive_export_to_path(archive_export, archive, err);
	}
	dwarfs_archive_export_free(archive_export);
	dwarfs_image_free(image);
	return ret;
}

int main(int argc, char **argv)
{
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	int ret;

	if (argc != 4 || (strcmp(argv[1], "in") != 0 && strcmp(argv[1], "out") != 0)) {
		fprintf(stderr, "usage: %s in ARCHIVE IMAGE | out IMAGE ARCHIVE\n",
			argv[0]);
		return 2;
	}
	if ((ret = dwarfs_context_new(&context, &err)) == 0 &&
	    (ret = dwarfs_context_set_log(context, DWARFS_LOG_WARN, on_log, stderr,
					  &err)) == 0 &&
	    (ret = dwarfs_task_new(&task, &err)) == 0) {
		signal(SIGINT, on_interrupt);
		ret = strcmp(argv[1], "in") == 0
			      ? archive_to_image(context, argv[2], argv[3], &err)
			      : image_to_archive(context, argv[2], argv[3], &err);
	}
	if (ret < 0)
		fprintf(stderr, "%s: %s\n", argv[0], dwarfs_error_message(err));
	dwarfs_error_free(err);
	dwarfs_task_free(task);
	dwarfs_context_free(context);
	return ret < 0;
}
