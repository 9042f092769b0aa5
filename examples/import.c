/* SPDX-License-Identifier: MIT */
/*
 * import: make an image of an archive. Ctrl-C cancels, and leaves no image.
 *
 *     import ARCHIVE IMAGE       such as backup.tar.zst backup.dwarfs
 */
#include <signal.h>
#include <stdio.h>

#include <dwarfs/dwarfs.h>

static dwarfs_task *task;

static void on_interrupt(int number)
{
	(void)number;
	dwarfs_task_cancel(task);
}

static int import(const char *archive, const char *image, dwarfs_error **err)
{
	dwarfs_builder *builder = NULL;
	dwarfs_archive_import *source = NULL;
	int ret;

	if ((ret = dwarfs_builder_new(NULL, &builder, err)) == 0 &&
	    (ret = dwarfs_archive_import_new(builder, &source, err)) == 0) {
		dwarfs_builder_set_task(builder, task);
		dwarfs_archive_import_set_task(source, task);
		ret = dwarfs_archive_import_path(source, archive, err);
	}
	dwarfs_archive_import_free(source);
	if (ret == 0)
		ret = dwarfs_builder_write_path(builder, image, false, err);
	dwarfs_builder_free(builder);
	return ret;
}

int main(int argc, char **argv)
{
	dwarfs_error *err = NULL;
	int ret;

	if (argc != 3) {
		fprintf(stderr, "usage: %s ARCHIVE IMAGE\n", argv[0]);
		return 2;
	}
	if ((ret = dwarfs_task_new(&task, &err)) == 0) {
		signal(SIGINT, on_interrupt);
		ret = import(argv[1], argv[2], &err);
	}
	if (ret < 0)
		fprintf(stderr, "%s: %s\n", argv[0], dwarfs_error_message(err));
	dwarfs_error_free(err);
	signal(SIGINT, SIG_DFL);
	dwarfs_task_free(task);
	return ret < 0;
}
