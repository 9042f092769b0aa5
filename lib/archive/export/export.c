/* SPDX-License-Identifier: MIT */
/*
 * archive/export/export: the handle of <dwarfs/archive.h> that writes archives, and its
 * settings.
 *
 * Stores the settings and determines the format; run.c writes the archive.
 */
#include <string.h>

#include "archive/export/export.h"

DW_DEFINE_AUTO(export, dwarfs_archive_export *, dwarfs_archive_export_free)

int dwarfs_archive_export_new(const dwarfs_image *image,
			      dwarfs_archive_export **export_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !export_out)
		return dw_fail_null(err, "image and export_out");

	DW_AUTO(export) dwarfs_archive_export *export = dw_calloc(1, sizeof(*export));
	int ret;

	if (!export)
		return dw_fail_nomem(err);
	if ((ret = dw_libarchive_new(&export->la, err)) < 0)
		return ret;
	export->order = DWARFS_WALK_DATA;
	if ((ret = dw_patterns_new(&export->patterns, err)) < 0)
		return ret;
	export->image = dwarfs_image_ref(image);
	*export_out = dw_steal(export);
	return 0;
}

void dwarfs_archive_export_free(dwarfs_archive_export *export)
{
	if (!export)
		return;

	dwarfs_image_free(export->image);
	dw_patterns_free(export->patterns);
	dw_libarchive_free(export->la);
	dw_free(export->filters);
	dw_free(export->options);
	dw_free(export);
}

/* -- settings ------------------------------------------------------------------------ */

int dwarfs_archive_export_set_format(dwarfs_archive_export *export, const char *format,
				     dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(export);

	if (!export || !format)
		return dw_fail_null(err, "export and format");

	const struct export_format *found = dw_export_format_find(format);
	auto_free char *list = NULL;

	if (found || strcmp(format, "auto") == 0) {
		export->format = found;
		return 0;
	}
	list = dw_export_format_list();
	return dw_fail(err, DWARFS_ERR_INVALID, "No such format '%s'; there are auto, %s",
		       format, list ? list : "others");
}

/* A copy of a list, NULL of an empty one. */
static int copy_name_list(const char *text, char **copy, dwarfs_error **err)
{
	char *made = NULL;

	if (text && *text && !(made = dw_strdup(text)))
		return dw_fail_nomem(err);
	dw_free(*copy);
	*copy = made;
	return 0;
}

int dwarfs_archive_export_set_filters(dwarfs_archive_export *export, const char *filters,
				      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(export);

	if (!export)
		return dw_fail_null(err, "export");

	const char *bad;
	size_t length;

	if (filters && *filters && !dw_export_filters_exist(filters, &bad, &length))
		return dw_fail(err, DWARFS_ERR_INVALID, "No such filter '%.*s'",
			       (int)(length < 100 ? length : 100), bad);
	return copy_name_list(filters, &export->filters, err);
}

int dwarfs_archive_export_set_options(dwarfs_archive_export *export, const char *options,
				      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(export);

	if (!export)
		return dw_fail_null(err, "export");
	return copy_name_list(options, &export->options, err);
}

int dwarfs_archive_export_add_pattern(dwarfs_archive_export *export, const char *pattern,
				      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(export);

	if (!export || !pattern)
		return dw_fail_null(err, "export and pattern");
	return dw_patterns_add(export->patterns, pattern, err);
}

int dwarfs_archive_export_set_order(dwarfs_archive_export *export,
				    enum dwarfs_walk_order order, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(export);

	if (!export)
		return dw_fail_null(err, "export");
	if (order != DWARFS_WALK_DATA && order != DWARFS_WALK_TREE)
		return dw_fail(err, DWARFS_ERR_RANGE, "invalid order of entries: %d",
			       order);
	export->order = order;
	return 0;
}

void dwarfs_archive_export_set_skip_devices(dwarfs_archive_export *export, bool skip)
{
	if (!export)
		return;
	export->skip_devices = skip;
}

void dwarfs_archive_export_set_skip_specials(dwarfs_archive_export *export, bool skip)
{
	if (!export)
		return;
	export->skip_specials = skip;
}

void dwarfs_archive_export_set_xattrs(dwarfs_archive_export *export, bool keep)
{
	if (!export)
		return;
	export->no_xattrs = !keep;
}

void dwarfs_archive_export_set_uid(dwarfs_archive_export *export, uint32_t uid)
{
	if (!export)
		return;
	export->has_uid = true;
	export->uid = uid;
}

void dwarfs_archive_export_set_gid(dwarfs_archive_export *export, uint32_t gid)
{
	if (!export)
		return;
	export->has_gid = true;
	export->gid = gid;
}

void dwarfs_archive_export_set_continue_on_error(dwarfs_archive_export *export,
						 bool go_on)
{
	if (!export)
		return;
	export->continue_on_error = go_on;
}

void dwarfs_archive_export_set_allow_huge_holes(dwarfs_archive_export *export, bool allow)
{
	if (!export)
		return;
	export->allow_huge_holes = allow;
}

void dwarfs_archive_export_set_report(dwarfs_archive_export *export,
				      dwarfs_export_report_fn report, void *user)
{
	if (!export)
		return;
	export->report = report;
	export->report_user = user;
}

void dwarfs_archive_export_set_task(dwarfs_archive_export *export,
				    const dwarfs_task *task)
{
	if (!export)
		return;
	export->task = task;
}

bool dwarfs_archive_export_is_complete(const dwarfs_archive_export *export)
{
	if (!export)
		return false;
	return export->is_complete;
}

uint64_t dwarfs_archive_export_failures(const dwarfs_archive_export *export)
{
	if (!export)
		return 0;
	return export->failures;
}

/* -- runs ---------------------------------------------------------------------------- */

/* The filters implied by the name, then those that were set. */
static int join_filters(const char *named, const char *asked, char **all_out,
			dwarfs_error **err)
{
	auto_buffer struct buffer all = { 0 };
	int ret = 0;

	if (named)
		ret = dw_buffer_append(&all, named, strlen(named), err);
	if (ret == 0 && named && asked)
		ret = dw_buffer_append(&all, ",", 1, err);
	if (ret == 0 && asked)
		ret = dw_buffer_append(&all, asked, strlen(asked), err);
	if (ret == 0)
		ret = dw_buffer_append(&all, "", 1, err);
	if (ret < 0)
		return ret;
	*all_out = (char *)dw_steal(all.data);
	return 0;
}

/* With continue_on_error, an archive without the entries that failed is complete. */
static int run_and_commit(dwarfs_archive_export *export, dwarfs_sink *output,
			  const struct export_format *format, const char *filters,
			  dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	bool is_complete = false;
	int ret = dw_export_run(export, output, format, filters, &is_complete, err);
	int committed;

	if (!is_complete)
		return ret;
	committed = dw_sink_commit(output, &why);
	export->is_complete = committed == 0;
	if (committed == 0)
		return ret;
	return dw_error_copy(err, committed, why);
}

int dwarfs_archive_export_write(dwarfs_archive_export *export, dwarfs_sink *sink,
				dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(export);

	const struct export_format *format;
	auto_free char *named = NULL, *filters = NULL;
	const char *path;
	int ret;

	if (!export || !sink)
		return dw_fail_null(err, "export and sink");
	format = export->format;
	path = dw_sink_path(sink);
	export->failures = 0;
	export->is_complete = false;
	if (!format && !path)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "the format of an archive without a name must be given");
	if (!format && (ret = dw_export_format_by_path(path, &format, &named, err)) < 0)
		return ret;
	if ((ret = join_filters(named, export->filters, &filters, err)) < 0 ||
	    (ret = dw_sink_begin(sink, err)) < 0)
		return ret;
	return run_and_commit(export, sink, format, filters, err);
}

int dwarfs_archive_export_to_path(dwarfs_archive_export *export, const char *path,
				  dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(export);

	auto_sink dwarfs_sink *sink = NULL;
	int ret;

	if (!export || !path)
		return dw_fail_null(err, "export and path");
	export->failures = 0;
	export->is_complete = false;
	if ((ret = dwarfs_sink_open(path, true, &sink, err)) < 0)
		return ret;
	return dwarfs_archive_export_write(export, sink, err);
}
