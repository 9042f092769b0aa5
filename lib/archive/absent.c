/* SPDX-License-Identifier: MIT */
/*
 * archive/absent: the functions of <dwarfs/archive.h> in a build without libarchive.
 *
 * No handle is ever made, so functions that take one do nothing.
 */
#include <dwarfs/archive.h>

#include "base/memory.h"

static int refuse_archives(dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
		       "archives were not built in (they need libarchive)");
}

/* -- import ---------------------------------------------------------------------- */

int dwarfs_archive_import_new(dwarfs_builder *builder, dwarfs_archive_import **import_out,
			      dwarfs_error **err)
{
	(void)builder;
	(void)import_out;
	return refuse_archives(err);
}

void dwarfs_archive_import_free(dwarfs_archive_import *import)
{
	(void)import;
}

const char *dwarfs_archive_import_format_help(size_t index)
{
	(void)index;
	return NULL;
}

int dwarfs_archive_import_set_format(dwarfs_archive_import *import, const char *format,
				     dwarfs_error **err)
{
	(void)import;
	(void)format;
	return refuse_archives(err);
}

void dwarfs_archive_import_set_strip_components(dwarfs_archive_import *import,
						uint32_t count)
{
	(void)import;
	(void)count;
}

int dwarfs_archive_import_set_prefix(dwarfs_archive_import *import, const char *prefix,
				     dwarfs_error **err)
{
	(void)import;
	(void)prefix;
	return refuse_archives(err);
}

void dwarfs_archive_import_set_whiteouts(dwarfs_archive_import *import, bool obey)
{
	(void)import;
	(void)obey;
}

int dwarfs_archive_import_set_spool(dwarfs_archive_import *import, const char *directory,
				    dwarfs_error **err)
{
	(void)import;
	(void)directory;
	return refuse_archives(err);
}

void dwarfs_archive_import_set_task(dwarfs_archive_import *import,
				    const dwarfs_task *task)
{
	(void)import;
	(void)task;
}

void dwarfs_archive_import_set_continue_on_error(dwarfs_archive_import *import,
						 bool go_on)
{
	(void)import;
	(void)go_on;
}

void dwarfs_archive_import_set_report(dwarfs_archive_import *import,
				      dwarfs_import_report_fn report, void *user)
{
	(void)import;
	(void)report;
	(void)user;
}

bool dwarfs_archive_import_is_complete(const dwarfs_archive_import *import)
{
	(void)import;
	return false;
}

uint64_t dwarfs_archive_import_failures(const dwarfs_archive_import *import)
{
	(void)import;
	return 0;
}

int dwarfs_archive_import_path(dwarfs_archive_import *import, const char *path,
			       dwarfs_error **err)
{
	(void)import;
	(void)path;
	return refuse_archives(err);
}

int dwarfs_archive_import_io(dwarfs_archive_import *import, dwarfs_io *io,
			     dwarfs_error **err)
{
	(void)import;
	(void)io;
	return refuse_archives(err);
}

uint64_t dwarfs_archive_import_warnings(const dwarfs_archive_import *import)
{
	(void)import;
	return 0;
}

/* -- export ---------------------------------------------------------------------- */

int dwarfs_archive_export_new(const dwarfs_image *image,
			      dwarfs_archive_export **export_out, dwarfs_error **err)
{
	return refuse_archives(err);
}

void dwarfs_archive_export_free(dwarfs_archive_export *export)
{
}

const char *dwarfs_archive_export_format_help(size_t index)
{
	return NULL;
}

const char *dwarfs_archive_export_filter_name(size_t index)
{
	return NULL;
}

int dwarfs_archive_export_set_format(dwarfs_archive_export *export, const char *format,
				     dwarfs_error **err)
{
	return refuse_archives(err);
}

int dwarfs_archive_export_set_filters(dwarfs_archive_export *export, const char *filters,
				      dwarfs_error **err)
{
	return refuse_archives(err);
}

int dwarfs_archive_export_set_options(dwarfs_archive_export *export, const char *options,
				      dwarfs_error **err)
{
	return refuse_archives(err);
}

int dwarfs_archive_export_add_pattern(dwarfs_archive_export *export, const char *pattern,
				      dwarfs_error **err)
{
	return refuse_archives(err);
}

int dwarfs_archive_export_set_order(dwarfs_archive_export *export,
				    enum dwarfs_walk_order order, dwarfs_error **err)
{
	return refuse_archives(err);
}

void dwarfs_archive_export_set_skip_devices(dwarfs_archive_export *export, bool skip)
{
}

void dwarfs_archive_export_set_skip_specials(dwarfs_archive_export *export, bool skip)
{
}

void dwarfs_archive_export_set_xattrs(dwarfs_archive_export *export, bool keep)
{
}

void dwarfs_archive_export_set_uid(dwarfs_archive_export *export, uint32_t uid)
{
}

void dwarfs_archive_export_set_gid(dwarfs_archive_export *export, uint32_t gid)
{
}

void dwarfs_archive_export_set_continue_on_error(dwarfs_archive_export *export,
						 bool go_on)
{
}

void dwarfs_archive_export_set_allow_huge_holes(dwarfs_archive_export *export, bool allow)
{
}

void dwarfs_archive_export_set_report(dwarfs_archive_export *export,
				      dwarfs_export_report_fn report, void *user)
{
}

void dwarfs_archive_export_set_task(dwarfs_archive_export *export,
				    const dwarfs_task *task)
{
	(void)export;
	(void)task;
}

int dwarfs_archive_export_to_path(dwarfs_archive_export *export, const char *path,
				  dwarfs_error **err)
{
	return refuse_archives(err);
}

int dwarfs_archive_export_write(dwarfs_archive_export *export, dwarfs_sink *sink,
				dwarfs_error **err)
{
	return refuse_archives(err);
}

bool dwarfs_archive_export_is_complete(const dwarfs_archive_export *export)
{
	return false;
}

uint64_t dwarfs_archive_export_failures(const dwarfs_archive_export *export)
{
	return 0;
}
