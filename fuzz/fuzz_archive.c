/* SPDX-License-Identifier: MIT */
/*
 * fuzz_archive: an archive from memory, as entries of an image.
 *
 * The first byte chooses options, the rest is the archive, of any detected format. The
 * entries are written as an image, up to a size limit.
 */
#include <string.h>

#include <dwarfs/dwarfs.h>

#include "fuzz.h"

#define MAX_IMAGE_BYTES (1u << 22) /* of contents; beyond this no image is made */
#define MAX_ENTRIES	4096
#define SPOOL_BYTES	(1u << 22)

struct limits {
	uint64_t entries;
};

/* Archives with too much uncompressed data are abandoned. */
static int watch(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct limits *limits = user;

	limits->entries = dwarfs_progress_number(progress, DWARFS_PROGRESS_DONE_ITEMS);
	return limits->entries > MAX_ENTRIES
		       ? dwarfs_error_set(err, DWARFS_ERR_LIMIT, 0, "too many entries")
		       : 0;
}

static int drop(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	size_t *left = user;

	fuzz_use(data, bytes);
	if (bytes > *left)
		return dwarfs_error_set(err, DWARFS_ERR_LIMIT, 0, "too large");
	*left -= bytes;
	return 0;
}

static void note(enum dwarfs_import_report what, const char *path, const char *why,
		 void *user)
{
	uint64_t *left_out = user;

	fuzz_use(path, strlen(path));
	fuzz_use(why, strlen(why));
	*left_out += what == DWARFS_IMPORT_LEFT_OUT;
}

static int import_bytes(dwarfs_archive_import *import, const uint8_t *data, size_t size,
			dwarfs_error **err)
{
	dwarfs_io *io = NULL;
	int ret = dwarfs_io_from_memory(data, size, NULL, NULL, &io, err);

	if (ret == 0)
		ret = dwarfs_archive_import_io(import, io, err);
	dwarfs_io_free(io);
	return ret;
}

static int import(dwarfs_builder *builder, uint8_t options, const uint8_t *data,
		  size_t size)
{
	dwarfs_archive_import *import = NULL;
	struct limits limits = { 0 };
	uint64_t left_out = 0;
	dwarfs_error *err = NULL;
	dwarfs_task *task = NULL;
	int ret;

	if ((ret = dwarfs_task_new(&task, &err)) < 0 ||
	    (ret = dwarfs_archive_import_new(builder, &import, &err)) < 0) {
		dwarfs_task_free(task);
		dwarfs_error_free(err);
		return ret;
	}
	dwarfs_archive_import_set_strip_components(import, options & 3);
	dwarfs_archive_import_set_whiteouts(import, options & 4);
	dwarfs_archive_import_set_continue_on_error(import, options & 32);
	dwarfs_archive_import_set_report(import, note, &left_out);
	dwarfs_task_set_progress(task, watch, &limits);
	dwarfs_archive_import_set_task(import, task);
	if (options & 8)
		fuzz_require(dwarfs_archive_import_set_prefix(import, "a/b", NULL) == 0);
	/* Import half of it first, which usually fails, and keeps the entries added so
	 * far. */
	if (options & 16)
		import_bytes(import, data, size / 2, NULL);
	ret = import_bytes(import, data, size, &err);
	fuzz_require((ret < 0) == (err != NULL));
	fuzz_require(left_out == dwarfs_archive_import_failures(import));
	if (ret < 0 && dwarfs_archive_import_is_complete(import))
		fuzz_require(options & 32);
	if (ret < 0)
		fuzz_use(dwarfs_error_message(err), strlen(dwarfs_error_message(err)));
	if (dwarfs_archive_import_is_complete(import))
		ret = 0;
	dwarfs_error_free(err);
	dwarfs_archive_import_free(import);
	dwarfs_task_free(task);
	return ret;
}

/* Every import can be written as an image, unless it is too large. */
static void write_image(dwarfs_builder *builder)
{
	size_t left = MAX_IMAGE_BYTES;
	dwarfs_sink *sink = NULL;
	dwarfs_error *err = NULL;
	int ret;

	if (dwarfs_builder_set_level(builder, 0, NULL) < 0 ||
	    dwarfs_sink_new(drop, NULL, &left, &sink, NULL) < 0)
		return;
	ret = dwarfs_builder_write(builder, sink, &err);
	dwarfs_sink_free(sink);
	fuzz_require((ret < 0) == (err != NULL));
	dwarfs_error_free(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	dwarfs_context *context = NULL;
	dwarfs_builder *builder = NULL;

	if (size > 0 && dwarfs_context_new(&context, NULL) == 0 &&
	    dwarfs_context_set_workers(context, 0, NULL) == 0 &&
	    dwarfs_builder_new(context, &builder, NULL) == 0 &&
	    dwarfs_builder_set_spool(builder, "/tmp", SPOOL_BYTES, NULL) == 0 &&
	    import(builder, data[0], data + 1, size - 1) == 0)
		write_image(builder);
	dwarfs_builder_free(builder);
	dwarfs_context_free(context);
	return 0;
}
