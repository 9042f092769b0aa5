/* SPDX-License-Identifier: MIT */
/*
 * pack: make an image of a directory, and show the progress.
 *
 *     pack DIRECTORY IMAGE
 */
#include <inttypes.h>
#include <stdio.h>

#include <dwarfs/dwarfs.h>

static int show(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	(void)err;
	fprintf((FILE *)user, "\r%-20s %" PRIu64 " of %" PRIu64 " bytes",
		dwarfs_phase_name(dwarfs_progress_phase(progress)),
		dwarfs_progress_number(progress, DWARFS_PROGRESS_DONE_BYTES),
		dwarfs_progress_number(progress, DWARFS_PROGRESS_TOTAL_BYTES));
	return 0; /* a DWARFS_ERR_* code would stop it */
}

static int pack(const char *directory, const char *image_path, dwarfs_error **err)
{
	dwarfs_builder *builder = NULL;
	dwarfs_task *task = NULL;
	int ret;

	if ((ret = dwarfs_task_new(&task, err)) == 0 &&
	    (ret = dwarfs_builder_new(NULL, &builder, err)) == 0) {
		dwarfs_task_set_progress(task, show, stderr);
		dwarfs_builder_set_task(builder, task);
	}
	if (ret == 0 && (ret = dwarfs_builder_set_level(builder, 5, err)) == 0 &&
	    (ret = dwarfs_builder_add_directory(builder, directory, err)) == 0 &&
	    (ret = dwarfs_builder_write_path(builder, image_path, false, err)) == 0)
		printf("\n%" PRIu64 " files, %" PRIu64 " bytes -> %" PRIu64 " bytes\n",
		       dwarfs_builder_count(builder, DWARFS_COUNT_FILES),
		       dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_IN),
		       dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_OUT));
	dwarfs_builder_free(builder);
	dwarfs_task_free(task);
	return ret;
}

int main(int argc, char **argv)
{
	dwarfs_error *err = NULL;

	if (argc != 3) {
		fprintf(stderr, "usage: %s DIRECTORY IMAGE\n", argv[0]);
		return 2;
	}
	if (pack(argv[1], argv[2], &err) == 0)
		return 0;
	fprintf(stderr, "\n%s: %s\n", argv[0], dwarfs_error_message(err));
	dwarfs_error_free(err);
	return 1;
}
