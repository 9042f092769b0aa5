/* SPDX-License-Identifier: MIT */
/*
 * archive/formats: which formats and filters of libarchive are used for reading.
 *
 * Unless requested by name, these are not used: filters that start another program,
 * formats that accept any input (raw, and empty files), and formats that read other files
 * (mtree).
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <dwarfs/archive.h>

#include "archive/formats.h"

/* All functions that add a format or a filter have this type. */
typedef int (*support_fn)(struct archive *archive);

/* Which of them, for the tables below: the function read_support_<name>. 0 is none. */
#define SUPPORT(name) offsetof(struct libarchive, read_support_##name)

struct archive_format {
	const char *help;  /* the name, two spaces, and a description */
	size_t support[2]; /* SUPPORT() */
	bool wants_seek;
	bool by_name_only;
};

static const struct archive_format formats[] = {
	{ "tar  ustar, pax, GNU, old", { SUPPORT(format_tar), SUPPORT(format_gnutar) } },
	{ "cpio  newc, crc, odc, binary", { SUPPORT(format_cpio) } },
	{ "zip  also under other names, such as jar",
	  { SUPPORT(format_zip) },
	  .wants_seek = true },
	{ "7zip", { SUPPORT(format_7zip) }, .wants_seek = true },
	{ "iso9660  with Rock Ridge, Joliet or neither", { SUPPORT(format_iso9660) } },
	{ "ar  GNU and BSD", { SUPPORT(format_ar) } },
	{ "cab", { SUPPORT(format_cab) } },
	{ "lha", { SUPPORT(format_lha) } },
	{ "rar  versions 4 and 5", { SUPPORT(format_rar), SUPPORT(format_rar5) } },
	{ "xar", { SUPPORT(format_xar) } },
	{ "warc", { SUPPORT(format_warc) } },
	{ "mtree  a list of files, whose contents are read from disk",
	  { SUPPORT(format_mtree) },
	  .by_name_only = true },
	{ "raw  one file, stored as \"data\"",
	  { SUPPORT(format_raw) },
	  .by_name_only = true },
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(*formats))

static const size_t filters[] = {
	SUPPORT(filter_gzip), SUPPORT(filter_bzip2), SUPPORT(filter_xz),
	SUPPORT(filter_lzma), SUPPORT(filter_lzip),  SUPPORT(filter_zstd),
	SUPPORT(filter_lz4),  SUPPORT(filter_lzop),  SUPPORT(filter_compress),
	SUPPORT(filter_uu),   SUPPORT(filter_rpm),
};

const char *dwarfs_archive_import_format_help(size_t index)
{
	return index < FORMAT_COUNT ? formats[index].help : NULL;
}

static support_fn support_of(const struct libarchive *la, size_t support)
{
	support_fn function;

	memcpy(&function, (const char *)la + support, sizeof(function));
	return function;
}

/* Whether libarchive has the filter built in: it warns if it would start a program. */
static bool has(const struct libarchive *la, support_fn support)
{
	struct archive *trial = la->read_new();
	const bool had = trial && support(trial) == ARCHIVE_OK;

	la->read_free(trial);
	return had;
}

int dw_archive_format_find(const struct libarchive *la, const char *name,
			   const struct archive_format **format_out, dwarfs_error **err)
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
		if (!has(la, support_of(la, formats[i].support[0])))
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

/* Add it to an archive, unless libarchive lacks it. */
static int add_support(const struct libarchive *la, struct archive *archive,
		       size_t support, dwarfs_error **err)
{
	const support_fn function = support_of(la, support);

	if (has(la, function) && function(archive) != ARCHIVE_OK)
		return dw_archive_fail(la, archive, err);
	return 0;
}

static int enable(const struct libarchive *la, struct archive *archive,
		  const struct archive_format *format, dwarfs_error **err)
{
	int ret = 0;

	for (size_t i = 0; i < 2 && format->support[i] && ret == 0; i++)
		ret = add_support(la, archive, format->support[i], err);
	return ret;
}

int dw_archive_format_enable(const struct libarchive *la, struct archive *archive,
			     const struct archive_format *format, dwarfs_error **err)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(filters) / sizeof(*filters) && ret == 0; i++)
		ret = add_support(la, archive, filters[i], err);
	for (i = 0; i < FORMAT_COUNT && ret == 0; i++) {
		if (format ? format == &formats[i] : !formats[i].by_name_only)
			ret = enable(la, archive, &formats[i], err);
	}
	if (ret == 0 && format && format->support[0] == SUPPORT(format_mtree))
		la->read_set_format_option(archive, "mtree", "checkfs", "1");
	return ret;
}

int dw_archive_fail(const struct libarchive *la, struct archive *archive,
		    dwarfs_error **err)
{
	const char *said = la->error_string(archive);

	if (la->error_code(archive) == ENOMEM)
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
