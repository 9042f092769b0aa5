/* SPDX-License-Identifier: MIT */
/*
 * archive/export/relay: files with huge holes in an archive that keeps holes.
 *
 * libarchive stores holes in a few bytes, but must be passed every byte of them: for a
 * hole of 2^62 bytes that takes minutes even with 2 GiB in each call. Here one archive
 * writes the format without filters, and a second one, of the format "raw", passes its
 * output through the filters. The contents of a file with holes are not passed to the
 * first archive; their data is written to the second one directly, and as many of the
 * zeros that the first one pads the file with are dropped.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/export/export.h"

struct relay {
	struct archive *outer; /* of the filters */
	uint64_t direct;       /* bytes that bypassed libarchive's format, and whose
				    padding zeros, for a finished file, were not dropped
				    yet */
};

static ssize_t hand_on(struct export_run *run, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	for (size_t left = bytes; left > 0;) {
		la_ssize_t taken = run->la->write_data(run->relay->outer, at, left);

		if (taken <= 0) {
			if (!run->failed)
				dw_export_fail_text(run->la, run->relay->outer,
						    &run->failed);
			return -1;
		}
		at += taken;
		left -= (size_t)taken;
	}
	return (ssize_t)bytes;
}

/* Receives the output of the format: an archive_write_callback. */
static la_ssize_t take_inner(struct archive *archive, void *user, const void *data,
			     size_t bytes)
{
	struct export_run *run = user;
	struct relay *relay = run->relay;
	size_t skip = relay->direct < bytes ? (size_t)relay->direct : bytes;

	if (run->failed)
		return -1;
	relay->direct -= skip;
	if (hand_on(run, (const char *)data + skip, bytes - skip) >= 0)
		return (la_ssize_t)bytes;
	run->la->set_error(archive, EIO, "the output takes no more");
	return -1;
}

/* Options one by one, since each is known by one of the two archives only. */
static int set_options(struct export_run *run, struct archive *archive,
		       dwarfs_error **err)
{
	const char *options = run->export->options;
	auto_free char *copy = NULL;
	char *next, *option;

	if (!options)
		return 0;
	next = copy = dw_strdup(options);
	if (!copy)
		return dw_fail_nomem(err);
	while ((option = strsep(&next, ",")))
		if (*option &&
		    run->la->write_set_options(archive, option) == ARCHIVE_FATAL)
			return dw_export_fail_text(run->la, archive, err);
	return 0;
}

/* Whether an archive as it would be without the relay can be made. */
static int try_settings(struct export_run *run, const char *filters, dwarfs_error **err)
{
	struct archive *archive = run->la->write_new();
	int ret;

	if (!archive)
		return dw_fail_nomem(err);
	ret = dw_export_format_apply(run->la, archive, run->format, filters,
				     run->export->options, run->selection.has_odd_xattrs,
				     err);
	run->la->write_free(archive);
	return ret;
}

static int open_inner(struct export_run *run, dwarfs_error **err)
{
	int ret;

	run->archive = run->la->write_new();
	run->entry = run->archive ? run->la->entry_new2(run->archive) : NULL;
	if (!run->entry)
		return dw_fail_nomem(err);
	if ((ret = dw_export_format_apply(run->la, run->archive, run->format, NULL, NULL,
					  run->selection.has_odd_xattrs, err)) < 0 ||
	    (ret = set_options(run, run->archive, err)) < 0)
		return ret;
	/* Nothing is buffered, so that the output stays in order. */
	run->la->write_set_bytes_per_block(run->archive, 0);
	run->la->write_set_bytes_in_last_block(run->archive, 1);
	if (run->la->write_open2(run->archive, run, NULL, take_inner, NULL, NULL) <
	    ARCHIVE_WARN)
		return dw_export_fail(run, err);
	return 0;
}

static int open_outer(struct export_run *run, const char *filters, dwarfs_error **err)
{
	struct archive *outer = run->relay->outer = run->la->write_new();
	struct archive_entry *entry;
	int ret;

	if (!outer)
		return dw_fail_nomem(err);
	if ((ret = dw_export_filters_apply(run->la, outer, filters, err)) < 0)
		return ret;
	if (run->la->write_set_format_raw(outer) != ARCHIVE_OK)
		return dw_export_fail_text(run->la, outer, err);
	if ((ret = set_options(run, outer, err)) < 0)
		return ret;
	run->la->write_set_bytes_per_block(outer, EXPORT_OUTPUT_BYTES);
	run->la->write_set_bytes_in_last_block(outer, 1);
	if (run->la->write_open2(outer, run, NULL, dw_export_take, NULL, NULL) <
	    ARCHIVE_WARN)
		return dw_export_fail_text(run->la, outer, err);
	entry = run->la->entry_new();
	if (!entry)
		return dw_fail_nomem(err);
	run->la->entry_set_mode(entry, S_IFREG | 0644);
	ret = run->la->write_header(outer, entry);
	run->la->entry_free(entry);
	return ret < ARCHIVE_WARN ? dw_export_fail_text(run->la, outer, err) : 0;
}

int dw_export_relay_open(struct export_run *run, const char *filters, dwarfs_error **err)
{
	int ret;

	run->relay = dw_calloc(1, sizeof(*run->relay));
	if (!run->relay)
		return dw_fail_nomem(err);
	if ((ret = try_settings(run, filters, err)) < 0 ||
	    (ret = open_outer(run, filters, err)) < 0)
		return ret;
	return open_inner(run, err);
}

/* libarchive writes the map of the holes with the first bytes: write zero bytes. */
int dw_export_relay_begin(struct export_run *run, dwarfs_error **err)
{
	la_ssize_t taken;

	dw_locale_resume(&run->locale);
	taken = run->la->write_data(run->archive, "", 0);
	dw_locale_pause(&run->locale);
	run->is_relayed = true;
	return taken < 0 ? dw_export_fail(run, err) : 0;
}

int dw_export_relay_data(struct export_run *run, const void *data, size_t bytes)
{
	run->relay->direct += bytes;
	return hand_on(run, data, bytes) < 0 ? -1 : (int)bytes;
}

int dw_export_relay_close(struct export_run *run, dwarfs_error **err)
{
	int ret;

	dw_locale_resume(&run->locale);
	ret = run->la->write_close(run->relay->outer);
	dw_locale_pause(&run->locale);
	if (run->failed)
		return dw_export_fail(run, err);
	return ret < ARCHIVE_WARN ? dw_export_fail_text(run->la, run->relay->outer, err)
				  : 0;
}

/* Only in closing it lets go of its buffers; run->failed keeps the output as it is. */
void dw_export_relay_free(struct export_run *run, bool is_complete)
{
	struct relay *relay = dw_steal(run->relay);

	if (!relay)
		return;
	if (relay->outer && !is_complete)
		run->la->write_close(relay->outer);
	run->la->write_free(relay->outer);
	dw_free(relay);
}
