/* SPDX-License-Identifier: MIT */
/*
 * archive/formats: which formats and filters of libarchive are used for reading.
 *
 * Unless requested by name, these are not used: filters that start another program,
 * formats that accept any input (raw, and empty files), and formats that read other files
 * (mtree).
 */
#include <errno.h>
#include <string.h>

#include <dwarfs/archive.h>

#include "archive/formats.h"

/* A member of dw_la, which is not filled in yet where the tables are. */
typedef int (*_Atomic const *support_fn)(struct archive *archive);

struct archive_format {
	const char *help; /* the name, two spaces, and a description */
	support_fn support[2];
	bool wants_seek;
	bool by_name_only;
};

static const struct archive_format formats[] = {
	{ "tar  ustar, pax, GNU, old",
	  { &dw_la.read_support_format_tar, &dw_la.read_support_format_gnutar } },
	{ "cpio  newc, crc, odc, binary", { &dw_la.read_support_format_cpio } },
	{ "zip  also under other names, such as jar",
	  { &dw_la.read_support_format_zip },
	  .wants_seek = true },
	{ "7zip", { &dw_la.read_support_format_7zip }, .wants_seek = true },
	{ "iso9660  with Rock Ridge, Joliet or neither",
	  { &dw_la.read_support_format_iso9660 } },
	{ "ar  GNU and BSD", { &dw_la.read_support_format_ar } },
	{ "cab", { &dw_la.read_support_format_cab } },
	{ "lha", { &dw_la.read_support_format_lha } },
	{ "rar  versions 4 and 5",
	  { &dw_la.read_support_format_rar, &dw_la.read_support_format_rar5 } },
	{ "xar", { &dw_la.read_support_format_xar } },
	{ "warc", { &dw_la.read_support_format_warc } },
	{ "mtree  a list of files, whose contents are read from disk",
	  { &dw_la.read_support_format_mtree },
	  .by_name_only = true },
	{ "raw  one file, stored as \"data\"",
	  { &dw_la.read_support_format_raw },
	  .by_name_only = true },
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(*formats))

static const support_fn filters[] = {
	&dw_la.read_support_filter_gzip,     &dw_la.read_support_filter_bzip2,
	&dw_la.read_support_filter_xz,	     &dw_la.read_support_filter_lzma,
	&dw_la.read_support_filter_lzip,     &dw_la.read_support_filter_zstd,
	&dw_la.read_support_filter_lz4,	     &dw_la.read_support_filter_lzop,
	&dw_la.read_support_filter_compress, &dw_la.read_support_filter_uu,
	&dw_la.read_support_filter_rpm,
};

const char *dwarfs_archive_import_format_help(size_t index)
{
	return index < FORMAT_COUNT ? formats[index].help : NULL;
}

/* Whether libarchive has the filter built in: it warns if it would start a program. */
static bool has(support_fn support)
{
	struct archive *trial = dw_la.read_new();
	const bool had = trial && (*support)(trial) == ARCHIVE_OK;

	dw_la.read_free(trial);
	return had;
}

int dw_archive_format_find(const char *name, const struct archive_format **format_out,
			   dwarfs_error **err)
{
	size_t i;

	if (strcmp(name, "auto") == 0) {
		*format_out = NULL;
		return 0;
	}
	for (i = 0; i < FORMAT_COUNT; i++) {
		const size_t length = strcspn(formats[i].help, " ");

		if (strlen(name) != length || memcmp(name, formats[i].help, length) != 0)
			continue;
		if (!has(formats[i].support[0]))
			return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
				       "libarchive cannot read '%s'", name);
		*format_out = &formats[i];
		return 0;
	}
	return dw_fail(err, DWARFS_ERR_INVALID, "no such archive format: '%s'", name);
}

bool dw_archive_format_wants_seek(const struct archive_format *format)
{
	return format && format->wants_seek;
}

static int enable(struct archive *archive, const struct archive_format *format,
		  dwarfs_error **err)
{
	size_t i;

	for (i = 0; i < 2 && format->support[i]; i++) {
		if (has(format->support[i]) &&
		    (*format->support[i])(archive) != ARCHIVE_OK)
			return dw_archive_fail(archive, err);
	}
	return 0;
}

int dw_archive_format_enable(struct archive *archive, const struct archive_format *format,
			     dwarfs_error **err)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		if (has(filters[i]) && (*filters[i])(archive) != ARCHIVE_OK)
			return dw_archive_fail(archive, err);
	}
	for (i = 0; i < FORMAT_COUNT && ret == 0; i++) {
		if (format ? format == &formats[i] : !formats[i].by_name_only)
			ret = enable(archive, &formats[i], err);
	}
	if (ret == 0 && format && format->support[0] == &dw_la.read_support_format_mtree)
		dw_la.read_set_format_option(archive, "mtree", "checkfs", "1");
	return ret;
}

int dw_archive_fail(struct archive *archive, dwarfs_error **err)
{
	const char *said = dw_la.error_string(archive);

	if (dw_la.error_code(archive) == ENOMEM)
		return dw_fail_nomem(err);
	if (!said)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "is damaged or cut off");
	if (strcmp(said, "Unrecognized archive format") == 0)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "not an archive of a known format");
	if (strstr(said, "assphrase") || strstr(said, "ncrypt"))
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED, "is encrypted: %s", said);
	return dw_fail(err, DWARFS_ERR_CORRUPT, "%s", said);
}
