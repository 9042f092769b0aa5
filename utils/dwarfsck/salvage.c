/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/salvage: extract everything intact from a damaged image to a directory.
 *
 * If the metadata can be read, files have their names, and those that need a lost block
 * are listed; otherwise the blocks are written as files. Exits with 0 if nothing was
 * lost.
 */
#include "dwarfsck/dwarfsck.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/progress.h"

/* -- with names ---------------------------------------------------------------------- */

struct count {
	uint64_t files;
	uint64_t lost;	 /* of them */
	uint64_t blocks; /* that are lost */
};

/* "lost path", or "zeros path: N of M bytes". */
static void print_lost(const char *path, uint64_t lost, uint64_t size, bool zeros)
{
	fputs(zeros ? "zeros " : "lost ", stdout);
	print_name(path);
	if (zeros)
		printf(": %" PRIu64 " of %" PRIu64 " bytes", lost, size);
	end_line();
}

static int count_file(const dwarfs_image *image, const dwarfs_stat *stat,
		      const char *path, const struct settings *s, struct count *count,
		      dwarfs_error **err)
{
	uint64_t lost;

	if (!S_ISREG(dwarfs_stat_mode(stat)))
		return 0;
	count->files++;
	if (dwarfs_file_lost_bytes(image, dwarfs_stat_inode(stat), &lost, err) < 0)
		return -1;
	if (lost == 0)
		return 0;
	count->lost++;
	if (!s->quiet)
		print_lost(path, lost, dwarfs_stat_bytes(stat), s->zeros);
	return 0;
}

/* List the files that need lost blocks. */
static int list_lost(const dwarfs_image *image, const struct settings *s,
		     struct count *count)
{
	auto_handle(dwarfs_walk) *walk = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_entry entry;
	uint32_t i;
	int ret;

	for (i = 0; i < dwarfs_image_block_count(image); i++)
		count->blocks += dwarfs_image_block_is_lost(image, i);
	if (dwarfs_stat_new(&stat, &err) < 0 ||
	    dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk, &err) < 0)
		return tool_fail(err, NULL);
	while ((ret = dwarfs_walk_next(walk, &entry, &err)) > 0) {
		/* Errors of an entry were reported when it was extracted. */
		if (dwarfs_entry_stat(image, entry, stat, NULL) == 0)
			count_file(image, stat, dwarfs_walk_path(walk), s, count, NULL);
	}
	return ret < 0 ? tool_fail(err, NULL) : 0;
}

/* Returns how many entries failed; UINT64_MAX when nothing could be written. Those with
 * defaults for damaged attributes are counted apart. */
static uint64_t extract_all(const dwarfs_image *image, const struct settings *s,
			    uint64_t *damaged_out)
{
	const bool show = !s->quiet && isatty(STDERR_FILENO);
	auto_progress struct progress *progress =
		progress_new(show ? PROGRESS_AUTO : PROGRESS_NONE);
	auto_handle(dwarfs_task) *task = NULL;
	auto_handle(dwarfs_extract) *extract = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	uint64_t failures;

	if (!progress)
		return UINT64_MAX;
	if (dwarfs_task_new(&task, &err) < 0 ||
	    dwarfs_extract_new(image, &extract, &err) < 0) {
		tool_fail(err, NULL);
		return UINT64_MAX;
	}
	dwarfs_extract_set_continue_on_error(extract, true);
	dwarfs_task_set_progress(task, progress_show, progress);
	dwarfs_extract_set_task(extract, task);
	if (dwarfs_extract_to_directory(extract, s->salvage, &err) == 0)
		return 0;
	failures = dwarfs_extract_failures(extract);
	*damaged_out = dwarfs_extract_damaged(extract);
	if (failures > 0 || *damaged_out > 0)
		return failures; /* each was logged */
	tool_fail(err, NULL);
	return UINT64_MAX;
}

static int salvage_files(const dwarfs_image *image, const struct settings *s)
{
	struct count count = { 0 };
	uint64_t damaged = 0;
	const uint64_t failures = extract_all(image, s, &damaged);
	int ret;

	if (failures == UINT64_MAX)
		return 1;
	ret = list_lost(image, s, &count);
	if (!s->quiet)
		tool_log(DWARFS_LOG_INFO,
			 "%" PRIu64 " of %" PRIu64 " file%s intact, %" PRIu64
			 " need%s lost blocks (%" PRIu64 " of %" PRIu32 ")%s; %" PRIu64
			 " entr%s could not be written",
			 count.files - count.lost, count.files,
			 count.files == 1 ? " is" : "s are", count.lost,
			 count.lost == 1 ? "s" : "", count.blocks,
			 dwarfs_image_block_count(image),
			 s->zeros && count.lost ? " and have zeros there" : "", failures,
			 failures == 1 ? "y" : "ies");
	return ret || failures > 0 || damaged > 0 || count.lost > 0 ||
	       dwarfs_image_metadata_is_damaged(image);
}

/* -- without ------------------------------------------------------------------------- */

struct dump {
	const struct settings *settings;
	int dir;
	uint64_t saved;
	uint64_t lost;
	bool is_failed;
};

static int write_block(int dir, const char *name, const char *data, size_t bytes)
{
	const int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int ret = 0;

	if (fd < 0)
		return tool_error("%s: %s", name, strerror(errno));
	while (bytes > 0) {
		const ssize_t put = write(fd, data, bytes);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0) {
			ret = tool_error("%s: %s", name, strerror(errno));
			break;
		}
		data += put;
		bytes -= (size_t)put;
	}
	if (close(fd) < 0 && ret == 0)
		ret = tool_error("%s: %s", name, strerror(errno));
	return ret;
}

/* A dwarfs_salvage_block_fn. */
static int take_block(uint32_t block, const void *data, size_t bytes,
		      const dwarfs_error *why, dwarfs_error **err, void *user)
{
	struct dump *dump = user;
	char name[32];

	if (why) {
		dump->lost++;
		if (!dump->settings->quiet)
			tool_log(DWARFS_LOG_WARN, "block %" PRIu32 " is lost: %s", block,
				 dwarfs_error_message(why));
		return 0;
	}
	snprintf(name, sizeof(name), "block-%08" PRIu32, block);
	dump->is_failed = write_block(dump->dir, name, data, bytes);
	dump->saved += !dump->is_failed;
	return dump->is_failed
		       ? dwarfs_error_set(err, DWARFS_ERR_IO, 0, "not all was written")
		       : 0;
}

static int open_dir(const char *path)
{
	int fd;

	if (mkdir(path, 0755) < 0 && errno != EEXIST) {
		tool_error("%s: %s", path, strerror(errno));
		return -1;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		tool_error("%s: %s", path, strerror(errno));
	return fd;
}

/* Always 1: without names something is lost. */
static int salvage_blocks(const struct settings *s, const dwarfs_image_options *options)
{
	/* Without a log: the search for sections was logged when the image was opened. */
	auto_handle(dwarfs_context) *context = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	struct dump dump = { .settings = s, .dir = open_dir(s->salvage) };
	int ret;

	if (dump.dir < 0)
		return 1;
	if (dwarfs_context_new(&context, &err) < 0) {
		close(dump.dir);
		return tool_fail(err, NULL);
	}
	ret = dwarfs_salvage_blocks(context, s->input, options, take_block, &dump, &err);
	close(dump.dir);
	if (ret < 0 && !dump.is_failed)
		return tool_fail(err, NULL);
	return tool_error("%s: nothing has a name any more; %" PRIu64
			  " block%s in '%s' as they are, %" PRIu64 " lost",
			  s->input, dump.saved, dump.saved == 1 ? " is" : "s are",
			  s->salvage, dump.lost);
}

int salvage(const struct settings *s)
{
	auto_handle(dwarfs_context) *context =
		tool_context_new(s->workers, s->cache_bytes);
	auto_handle(dwarfs_image_options) *options = image_options_new(s);
	auto_handle(dwarfs_image) *image = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	int ret;

	if (!context || !options)
		return 1;
	dwarfs_image_options_set_salvage(options, s->zeros ? DWARFS_SALVAGE_ZEROS
							   : DWARFS_SALVAGE_INTACT);
	ret = dwarfs_image_open(context, s->input, options, &image, &err);
	if (ret == 0)
		return salvage_files(image, s);
	tool_fail(err, NULL);
	if (ret != DWARFS_ERR_CORRUPT && ret != DWARFS_ERR_CHECKSUM &&
	    ret != DWARFS_ERR_UNSUPPORTED)
		return 1;
	return salvage_blocks(s, options);
}
