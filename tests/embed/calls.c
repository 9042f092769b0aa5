/* SPDX-License-Identifier: MIT */
/*
 * Types and short calls: NULL is refused, whole files and pieces are read by one call,
 * facts about the image and the library, progress and cancellation of opening.
 */
#include "check.h"

static void refuse_null(const dwarfs_image *image)
{
	dwarfs_error *err = NULL;
	dwarfs_entry entry;

	CHECK(dwarfs_find(NULL, TEXT_NAME, &entry, &err) == DWARFS_ERR_INVALID);
	CHECK(dwarfs_error_code(err) == DWARFS_ERR_INVALID);
	CHECK(strstr(dwarfs_error_message(err), "NULL"));
	CHECK(dwarfs_find(image, NULL, &entry, NULL) == DWARFS_ERR_INVALID);
	CHECK(dwarfs_image_bytes(NULL) == 0);
	dwarfs_error_free(err);
}

static void load_files(const dwarfs_image *image)
{
	void *data = NULL;
	size_t bytes = 0;

	CHECK(dwarfs_load(image, TEXT_NAME, TEXT_BYTES, NULL, &data, &bytes, NULL) == 0);
	CHECK(bytes == TEXT_BYTES && memcmp(data, "text\ntext\n", 10) == 0);
	dwarfs_memory_free(data);
	CHECK(dwarfs_load(image, TEXT_NAME, TEXT_BYTES - 1, NULL, &data, &bytes, NULL) ==
	      DWARFS_ERR_LIMIT);
}

static void read_pieces(const dwarfs_image *image)
{
	char first[3], second[10];
	const struct dwarfs_iovec pieces[] = { { first, sizeof(first) },
					       { second, sizeof(second) } };
	dwarfs_file *file = NULL;
	dwarfs_entry entry;
	dwarfs_inode inode;
	size_t bytes = 0;

	CHECK(dwarfs_find(image, TEXT_NAME, &entry, NULL) == 0);
	CHECK(dwarfs_entry_inode(image, entry, &inode, NULL) == 0);
	CHECK(dwarfs_file_open(image, inode, &file, NULL) == 0);
	CHECK(dwarfs_file_readv(file, pieces, 2, TEXT_BYTES - 7, &bytes, NULL) == 0);
	CHECK(bytes == 7);
	CHECK(memcmp(first, "t\nt", 3) == 0 && memcmp(second, "ext\n", 4) == 0);
	dwarfs_file_free(file);
}

static void know_facts(const dwarfs_image *image)
{
	CHECK(dwarfs_version_number() >= DWARFS_VERSION_NUMBER);
	CHECK(dwarfs_has_codec("zstd") && !dwarfs_has_codec("zstdx"));
	CHECK(dwarfs_image_inode_count(image) >= 6);
	CHECK(dwarfs_image_original_bytes(image) >= TEXT_BYTES + DATA_BYTES);
	CHECK(dwarfs_image_block_bytes(image) > 0);
}

static int count_calls(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	(void)progress, (void)err;
	++*(int *)user;
	return 0;
}

static void watch_opening(const char *path)
{
	dwarfs_image_options *options = NULL;
	dwarfs_image *image = NULL;
	dwarfs_task *task = NULL;
	int calls = 0;

	CHECK(dwarfs_task_new(&task, NULL) == 0);
	CHECK(dwarfs_image_options_new(&options, NULL) == 0);
	dwarfs_task_set_progress(task, count_calls, &calls);
	dwarfs_image_options_set_task(options, task);
	CHECK(dwarfs_image_open(NULL, path, options, &image, NULL) == 0);
	CHECK(calls > 0);
	dwarfs_image_free(image);
	dwarfs_task_cancel(task);
	CHECK(dwarfs_image_open(NULL, path, options, &image, NULL) ==
	      DWARFS_ERR_CANCELLED);
	dwarfs_image_options_free(options);
	dwarfs_task_free(task);
}

int main(int argc, char **argv)
{
	dwarfs_image *image = NULL;

	CHECK(argc == 2);
	CHECK(dwarfs_image_open(NULL, argv[1], NULL, &image, NULL) == 0);
	refuse_null(image);
	load_files(image);
	read_pieces(image);
	know_facts(image);
	dwarfs_image_free(image);
	watch_opening(argv[1]);
	return 0;
}
