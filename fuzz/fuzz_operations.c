/* SPDX-License-Identifier: MIT */
/*
 * fuzz_operations: operations on whole images: salvage, comparison, extraction, export,
 * and callbacks that fail, through public headers only.
 *
 * How the image is opened follows from the input, as in fuzz_image. Images whose contents
 * or entries exceed the limits below are only opened.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dwarfs/dwarfs.h>

#include "fuzz.h"
#include "image_mode.h"

#define MAX_ENTRIES 512	       /* of an image */
#define MAX_BYTES   (1u << 20) /* of all its files */
#define STOP_CODE   DWARFS_ERR_UNSUPPORTED

/* A callback that fails with STOP_CODE at a given call. */
struct stop {
	unsigned left;
	int is_stopped;
};

static int count_down(struct stop *stop, dwarfs_error **err)
{
	fuzz_require(!stop->is_stopped);
	if (stop->left-- > 0)
		return 0;
	stop->is_stopped = 1;
	return dwarfs_error_set(err, STOP_CODE, 0, "stopped by the callback");
}

/* The code and the message are those of the callback, if it stopped. */
static void require_result(int ret, dwarfs_error *err, const struct stop *stop)
{
	fuzz_require((ret < 0) == (err != NULL));
	if (err)
		fuzz_use(dwarfs_error_message(err), strlen(dwarfs_error_message(err)));
	if (stop->is_stopped)
		fuzz_require(ret == STOP_CODE &&
			     strstr(dwarfs_error_message(err), "stopped by"));
	dwarfs_error_free(err);
}

/* Bytes of all files, by entries; more than MAX_BYTES if something cannot be read. */
static uint64_t contents_bytes(const dwarfs_image *image)
{
	dwarfs_stat *stat = NULL;
	uint64_t sum = 0, bytes;
	dwarfs_inode inode;
	uint32_t i;

	if (dwarfs_stat_new(&stat, NULL) < 0)
		return UINT64_MAX;
	for (i = 0; i < dwarfs_image_inode_count(image) && sum <= MAX_BYTES; i++) {
		inode = dwarfs_inode_at(i);
		if (dwarfs_inode_stat(image, inode, stat, NULL) < 0)
			continue;
		bytes = dwarfs_stat_bytes(stat);
		sum = bytes > MAX_BYTES ? UINT64_MAX : sum + bytes;
	}
	dwarfs_stat_free(stat);
	return sum;
}

static int is_small(const dwarfs_image *image)
{
	return dwarfs_image_inode_count(image) <= MAX_ENTRIES &&
	       dwarfs_image_entry_count(image) <= MAX_ENTRIES &&
	       contents_bytes(image) <= MAX_BYTES;
}

/* -- callbacks that fail ------------------------------------------------------------- */

static int stop_at_piece(dwarfs_inode inode, const void *data, size_t bytes,
			 uint64_t offset, dwarfs_error **err, void *user)
{
	(void)inode;
	(void)offset;
	if (data)
		fuzz_use(data, bytes);
	return count_down(user, err);
}

static int stop_at_failure(dwarfs_inode inode, const dwarfs_error *why,
			   dwarfs_error **err, void *user)
{
	(void)inode;
	fuzz_require(dwarfs_error_code(why) < 0);
	return count_down(user, err);
}

static int stop_at_progress(const dwarfs_progress *progress, dwarfs_error **err,
			    void *user)
{
	const enum dwarfs_phase phase = dwarfs_progress_phase(progress);

	fuzz_require(dwarfs_phase_name(phase));
	return phase == DWARFS_PHASE_DONE ? 0
					  : count_down(user, err); /* it is too late */
}

static void read_until(const dwarfs_image *image, unsigned calls)
{
	uint32_t count = dwarfs_image_inode_count(image), i;
	struct stop stop = { calls, 0 };
	dwarfs_error *err = NULL;
	dwarfs_inode *inodes = calloc(count + 1, sizeof(*inodes));
	int ret;

	for (i = 0; inodes && i < count; i++)
		inodes[i] = dwarfs_inode_at(i);
	if (inodes) {
		ret = dwarfs_read_in_order(image, inodes, count, stop_at_piece,
					   stop_at_failure, &stop, NULL, &err);
		require_result(ret, err, &stop);
	}
	free(inodes);
}

static void check_until(const dwarfs_image *image, unsigned calls)
{
	struct stop stop = { calls, 0 };
	dwarfs_error *err = NULL;
	dwarfs_task *task = NULL;
	int ret;

	if (dwarfs_task_new(&task, NULL) < 0)
		return;
	dwarfs_task_set_progress(task, stop_at_progress, &stop);
	ret = dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, task, NULL,
				 &err);
	require_result(ret, err, &stop);
	dwarfs_task_free(task);
}

/* -- single files -------------------------------------------------------------------- */

static void read_in_pieces(const dwarfs_image *image, dwarfs_inode inode)
{
	struct dwarfs_iovec pieces[3];
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *file = NULL;
	uint8_t buffer[300];
	size_t bytes, i, part, sum = 0;
	const void *data;

	if (dwarfs_file_open(image, inode, &file, NULL) < 0)
		return;
	for (i = 0; i < 3; i++)
		pieces[i] = (struct dwarfs_iovec){ buffer + 100 * i, 100 - i };
	if (dwarfs_file_readv(file, pieces, 3, 0, &bytes, NULL) == 0) {
		fuzz_require(bytes <= 297 && bytes <= dwarfs_file_bytes(file));
		for (i = 0; i < 3; i++) {
			part = bytes < pieces[i].bytes ? bytes : pieces[i].bytes;
			fuzz_use(pieces[i].data, part);
			bytes -= part;
		}
	}
	if (dwarfs_file_borrow(file, 5000, 10, &borrowed, NULL) == 0) {
		for (i = 0; i < dwarfs_borrowed_count(borrowed); i++) {
			data = dwarfs_borrowed_part(borrowed, i, &part);
			fuzz_use(data, part);
			sum += part;
		}
		fuzz_require(sum == dwarfs_borrowed_bytes(borrowed));
	}
	dwarfs_borrowed_free(borrowed);
	dwarfs_file_free(file);
}

/* Load by path, with a limit, and follow links. */
static void visit(const dwarfs_image *image, dwarfs_entry entry, const char *path)
{
	dwarfs_entry found;
	dwarfs_inode inode;
	void *data = NULL;
	size_t bytes;

	/* Lazy verification may end in between. */
	if (dwarfs_find_followed(image, path, &found, NULL) == 0) {
		int ret = dwarfs_entry_inode(image, found, &inode, NULL);

		fuzz_require(ret == 0 || ret == DWARFS_ERR_CHECKSUM);
	}
	if (dwarfs_load(image, path, MAX_BYTES / 2, NULL, &data, &bytes, NULL) == 0) {
		fuzz_require(bytes <= MAX_BYTES / 2);
		fuzz_use(data, bytes);
	}
	dwarfs_memory_free(data);
	if (dwarfs_entry_inode(image, entry, &inode, NULL) == 0)
		read_in_pieces(image, inode);
}

static void walk(const dwarfs_image *image)
{
	dwarfs_walk *steps = NULL;
	dwarfs_entry entry;

	if (dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &steps, NULL) < 0)
		return;
	while (dwarfs_walk_next(steps, &entry, NULL) > 0)
		visit(image, entry, dwarfs_walk_path(steps));
	dwarfs_walk_free(steps);
}

/* -- whole images -------------------------------------------------------------------- */

static int stop_at_difference(const dwarfs_difference *difference, dwarfs_error **err,
			      void *user)
{
	size_t bytes;

	fuzz_require(dwarfs_difference_word(dwarfs_difference_kind(difference)));
	fuzz_require(dwarfs_difference_path(difference));
	dwarfs_difference_value(difference, DWARFS_COMPARE_A, &bytes);
	dwarfs_difference_value(difference, DWARFS_COMPARE_B, &bytes);
	/* The sides are the same image, so that only what cannot be read is reported. */
	fuzz_require(dwarfs_difference_kind(difference) == DWARFS_DIFFERENCE_TROUBLE);
	return count_down(user, err);
}

static void compare_with_itself(const dwarfs_image *image, unsigned calls)
{
	struct stop stop = { calls, 0 };
	dwarfs_compare *compare = NULL;
	dwarfs_error *err = NULL;
	int ret = dwarfs_compare_new(NULL, &compare, &err);

	if (ret == 0)
		ret = dwarfs_compare_set_image(compare, DWARFS_COMPARE_A, image, &err);
	if (ret == 0)
		ret = dwarfs_compare_set_image(compare, DWARFS_COMPARE_B, image, &err);
	if (ret == 0)
		ret = dwarfs_compare_run(compare, stop_at_difference, &stop, NULL, &err);
	require_result(ret, err, &stop);
	dwarfs_compare_free(compare);
}

static int stop_at_write(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	fuzz_use(data, bytes);
	return count_down(user, err);
}

static void export_until(const dwarfs_image *image, const char *pattern, unsigned how)
{
	static const char *const formats[] = { "pax", "cpio", "zip", "mtree", "gnutar" };
	struct stop stop = { how % 40, 0 };
	dwarfs_archive_export *archive_export = NULL;
	dwarfs_sink *sink = NULL;
	dwarfs_error *err = NULL;
	int ret;

	if (dwarfs_archive_export_new(image, &archive_export, NULL) < 0)
		return;
	dwarfs_archive_export_set_continue_on_error(archive_export, how & 1);
	dwarfs_archive_export_set_format(archive_export, formats[how % 5], NULL);
	if (how & 2)
		dwarfs_archive_export_add_pattern(archive_export, pattern, NULL);
	if (dwarfs_sink_new(stop_at_write, NULL, &stop, &sink, NULL) == 0) {
		ret = dwarfs_archive_export_write(archive_export, sink, &err);
		require_result(ret, err, &stop);
	}
	dwarfs_sink_free(sink);
	dwarfs_archive_export_free(archive_export);
}

static int remove_entry(const char *path, const struct stat *stat, int type,
			struct FTW *where)
{
	(void)stat;
	(void)type;
	(void)where;
	return remove(path);
}

/* A sibling of the directory must stay as it is. */
static void extract(const dwarfs_image *image, const char *pattern, unsigned how)
{
	char base[] = "/tmp/dwarfs-fuzz-XXXXXX", inside[64], beside[64];
	dwarfs_extract *extraction = NULL;
	dwarfs_error *err = NULL;
	struct stat stat;
	int ret;

	if (!mkdtemp(base))
		return;
	snprintf(inside, sizeof(inside), "%s/to", base);
	snprintf(beside, sizeof(beside), "%s/beside", base);
	if (mkdir(inside, 0700) == 0 && mkdir(beside, 0700) == 0 &&
	    dwarfs_extract_new(image, &extraction, NULL) == 0) {
		dwarfs_extract_set_skip_devices(extraction, true);
		dwarfs_extract_set_continue_on_error(extraction, how & 4);
		if (how & 2)
			dwarfs_extract_add_pattern(extraction, pattern, NULL);
		ret = dwarfs_extract_to_directory(extraction, inside, &err);
		fuzz_require((ret < 0) == (err != NULL));
		dwarfs_error_free(err);
		fuzz_require(lstat(beside, &stat) == 0 && stat.st_nlink == 2);
		fuzz_require((stat.st_mode & 07777) == 0700);
	}
	dwarfs_extract_free(extraction);
	nftw(base, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static int take_block(uint32_t block, const void *data, size_t bytes,
		      const dwarfs_error *why, dwarfs_error **err, void *user)
{
	(void)block;
	fuzz_require(!data == !!why);
	if (data)
		fuzz_use(data, bytes);
	return count_down(user, err);
}

/* Blocks without metadata; by path, so that the file is found below /proc. */
static void salvage_blocks(const uint8_t *data, size_t size, unsigned calls)
{
	struct stop stop = { calls, 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC), ret;
	dwarfs_error *err = NULL;
	char path[40];

	if (fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, size) == (ssize_t)size) {
		ret = dwarfs_salvage_blocks(NULL, path, NULL, take_block, &stop, &err);
		require_result(ret, err, &stop);
	}
	close(fd);
}

static void use(const dwarfs_image *image, unsigned how)
{
	static const char *const patterns[] = { "**",	   "*",		  "dir/**",
						"[a-f]*/", "i:D*/{a,s}*", "**/n*" };
	const char *pattern = patterns[how % 6];

	walk(image);
	read_until(image, how % 50);
	check_until(image, how % 8);
	compare_with_itself(image, how % 4);
	export_until(image, pattern, how);
	extract(image, pattern, how);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	dwarfs_image *image;
	struct image_mode mode;
	unsigned how = 0;
	size_t i;

	size = image_mode_take(data, size, &mode);
	for (i = 0; i < size; i++)
		how = how * 31 + data[i];
	salvage_blocks(data, size, how % 16);
	image = image_mode_open(&mode, data, size, NULL);
	if (image && is_small(image))
		use(image, how >> 8);
	dwarfs_image_free(image);
	return 0;
}
