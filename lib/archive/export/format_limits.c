/* SPDX-License-Identifier: MIT */
/*
 * archive/export/format_limits: the formats and filters that libarchive writes, their
 * limits, and the suffixes that select them.
 *
 * Sets up archives by name. The limits list what a format would silently alter, so that
 * such entries can be refused.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "archive/export/export.h"

/* Units of UTF-16. */
#define JOLIET	    64
#define JOLIET_LONG 103

#define TAR .links = LINKS_BY_PATH, .root = true

/* Times of eleven octal digits and of twelve decimal ones, and of years in one byte. */
#define OCTAL_TIME   077777777777
#define DECIMAL_TIME 999999999999
#define YEAR_1900    (-2208988800)
#define YEAR_2156    5869584000
#define YEAR_10000   253402300800
/* 64 bits of 100 ns since 1601. */
#define MOST_7ZIP_TIME INT64_C(1833029933770)

static const struct export_format formats[] = {
	{ "pax  tar as POSIX has it since 2001, which loses nothing", "tar posix ", TAR,
	  .holes = true, .pax_times = true, .xattrs = true, .acls = true },
	{ "paxr  pax only where ustar is not enough: no nanoseconds", "rpax bsdtar ", TAR,
	  .holes = true, .pax_times = true, .xattrs = true, .acls = true },
	{ "gnutar  tar as GNU had it before", "", TAR, .most_time = OCTAL_TIME },
	{ "ustar  tar as POSIX had it in 1988", "", TAR, .most_time = OCTAL_TIME },
	{ "v7tar  tar as Unix had it in 1979", "v7 oldtar ", TAR,
	  .most_time = OCTAL_TIME },
	{ "cpio  cpio as POSIX had it (odc)", "odc ", .links = LINKS_EACH, .root = true,
	  .trailer = true, .most_id = 0777777, .most_major = 0x3ff, .most_minor = 0xff,
	  .most_time = OCTAL_TIME },
	{ "newc  cpio as SVR4 had it, and Linux for its initramfs", "",
	  .links = LINKS_ONCE, .root = true, .trailer = true, .most_time = UINT32_MAX },
	{ "bin  cpio of the first binary kind", "", .links = LINKS_EACH, .root = true,
	  .trailer = true, .most_id = 0xffff, .most_major = 0xff, .most_minor = 0xff,
	  .most_time = UINT32_MAX, .no_specials = true },
	{ "pwb  cpio of PWB Unix", "", .links = LINKS_EACH, .root = true, .trailer = true,
	  .most_id = 0xff, .most_major = 0xff, .most_minor = 0xff,
	  .most_time = UINT32_MAX, .no_specials = true, .no_symlinks = true },
	{ "zip  zip, 64 bits where needed", "", .links = LINKS_NONE, .utf8_names = true,
	  .most_time = UINT32_MAX },
	{ "7zip  7z", "7z ", .links = LINKS_NONE, .utf8_names = true, .no_devices = true,
	  .late = true, .most_time = MOST_7ZIP_TIME },
	/* libarchive writes through wild pointers where it has to move deeper
	   directories, or to cut the target of a link. */
	{ "iso9660  an ISO 9660 image with Rock Ridge and Joliet", "iso cd9660 ",
	  .links = LINKS_BY_PATH, .utf8_names = true, .warns_only = true, .most_dirs = 7,
	  .most_link = 100, .options = "rockridge=strict", .late = true, .joliet = true,
	  .most_bytes = UINT32_MAX, .lifts = "iso-level=3", .least_time = YEAR_1900,
	  .most_time = YEAR_2156 - 1 },
	/* libarchive reads other years, and text of spaces alone, as missing. */
	{ "xar  xar", "", .links = LINKS_BY_PATH, .utf8_names = true, .xml_names = true,
	  .xattrs = true, .warns_only = true, .no_set_ids = true, .most_id = INT32_MAX,
	  .late = true, .least_time = YEAR_1900, .most_time = YEAR_10000 - 1 },
	{ "mtree  a list of the entries without their contents", "", .links = LINKS_EACH,
	  .root = true, .list = true },
	{ "mtree-classic  the same as it was in 4.4BSD", "", .links = LINKS_EACH,
	  .root = true, .list = true },
	{ "shar  a shell script", "", .links = LINKS_BY_PATH, .warns_only = true },
	{ "shardump  a shell script that sets more attributes", "",
	  .links = LINKS_BY_PATH, .warns_only = true },
	{ "arbsd  ar as BSD has it: files without directories", "ar ",
	  .links = LINKS_NONE, .warns_only = true, .most_time = DECIMAL_TIME },
	{ "argnu  ar as GNU and SVR4 have it", "arsvr4 ", .links = LINKS_NONE,
	  .warns_only = true, .most_time = DECIMAL_TIME },
	{ "warc  a web archive: files only", "", .links = LINKS_NONE,
	  .warns_only = true },
	{ "raw  one file, as it is", "", .links = LINKS_NONE, .files_only = true },
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(*formats))

static const char *const filter_names[] = {
	"b64encode", "bzip2", "compress", "grzip", "gzip",     "lrzip", "lz4",
	"lzip",	     "lzma",  "lzop",	  "none",  "uuencode", "xz",	"zstd",
};

#define FILTER_COUNT (sizeof(filter_names) / sizeof(*filter_names))

/* Suffixes of names, longest first where one ends in another. */
struct suffix {
	const char *text, *format, *filter; /* either may be NULL */
};

static const struct suffix suffixes[] = {
	{ ".tgz", "pax", "gzip" },     { ".taz", "pax", "gzip" },
	{ ".tbz", "pax", "bzip2" },    { ".tbz2", "pax", "bzip2" },
	{ ".tz2", "pax", "bzip2" },    { ".tlz", "pax", "lzma" },
	{ ".txz", "pax", "xz" },       { ".tzst", "pax", "zstd" },
	{ ".tzs", "pax", "zstd" },     { ".tlz4", "pax", "lz4" },
	{ ".tar", "pax", NULL },       { ".cpio", "cpio", NULL },
	{ ".zip", "zip", NULL },       { ".jar", "zip", NULL },
	{ ".7z", "7zip", NULL },       { ".iso", "iso9660", NULL },
	{ ".xar", "xar", NULL },       { ".mtree", "mtree", NULL },
	{ ".shar", "shar", NULL },     { ".ar", "arbsd", NULL },
	{ ".a", "arbsd", NULL },       { ".warc", "warc", NULL },
	{ ".Z", NULL, "compress" },    { ".gz", NULL, "gzip" },
	{ ".bz2", NULL, "bzip2" },     { ".grz", NULL, "grzip" },
	{ ".lrz", NULL, "lrzip" },     { ".lz", NULL, "lzip" },
	{ ".lz4", NULL, "lz4" },       { ".lzma", NULL, "lzma" },
	{ ".lzo", NULL, "lzop" },      { ".uu", NULL, "uuencode" },
	{ ".b64", NULL, "b64encode" }, { ".xz", NULL, "xz" },
	{ ".zst", NULL, "zstd" },
};

#define SUFFIX_COUNT (sizeof(suffixes) / sizeof(*suffixes))

/* -- names --------------------------------------------------------------------------- */

const char *dwarfs_archive_export_format_help(size_t index)
{
	return index < FORMAT_COUNT ? formats[index].help : NULL;
}

const char *dwarfs_archive_export_filter_name(size_t index)
{
	return index < FILTER_COUNT ? filter_names[index] : NULL;
}

static bool has_alias(const struct export_format *format, const char *name, size_t length)
{
	for (const char *at = format->aliases; *at; at += strcspn(at, " ") + 1)
		if (strcspn(at, " ") == length && memcmp(at, name, length) == 0)
			return true;
	return false;
}

const struct export_format *dw_export_format_find(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if ((dw_export_format_name_bytes(&formats[i]) == length &&
		     memcmp(formats[i].help, name, length) == 0) ||
		    has_alias(&formats[i], name, length))
			return &formats[i];
	return NULL;
}

char *dw_export_format_list(void)
{
	auto_buffer struct buffer list = { 0 };

	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if ((i > 0 && dw_buffer_append(&list, ", ", 2, NULL) < 0) ||
		    dw_buffer_append(&list, formats[i].help,
				     dw_export_format_name_bytes(&formats[i]), NULL) < 0)
			return NULL;
	if (dw_buffer_append(&list, "", 1, NULL) < 0)
		return NULL;
	return (char *)dw_steal(list.data);
}

static bool is_filter(const char *name, size_t length)
{
	for (size_t i = 0; i < FILTER_COUNT; i++)
		if (strlen(filter_names[i]) == length &&
		    memcmp(filter_names[i], name, length) == 0)
			return true;
	return false;
}

bool dw_export_filters_exist(const char *filters, const char **bad_out,
			     size_t *length_out)
{
	for (const char *at = filters;; at++) {
		size_t length = strcspn(at, ",");

		if (!is_filter(at, length)) {
			*bad_out = at;
			*length_out = length;
			return false;
		}
		at += length;
		if (!*at)
			return true;
	}
}

/* -- formats and filters by suffix --------------------------------------------------- */

/* The known suffix of the first bytes of a name, which must not be the whole name. */
static const struct suffix *suffix_of(const char *name, size_t length)
{
	for (size_t i = 0; i < SUFFIX_COUNT; i++) {
		size_t bytes = strlen(suffixes[i].text);
		const char *end = name + length - bytes;

		if (length <= bytes)
			continue;
		/* .Z and .z are not the same. */
		if (bytes == 2 ? memcmp(end, suffixes[i].text, bytes) == 0
			       : strncasecmp(end, suffixes[i].text, bytes) == 0)
			return &suffixes[i];
	}
	return NULL;
}

static int put_in_front(struct buffer *list, const char *filter, dwarfs_error **err)
{
	size_t bytes = strlen(filter), before = list->size;
	int ret = dw_buffer_reserve(list, bytes + 1, err);

	if (ret < 0)
		return ret;
	if (before > 0) {
		memmove(list->data + bytes + 1, list->data, before);
		list->data[bytes] = ',';
		list->size++;
	}
	memcpy(list->data, filter, bytes);
	list->size += bytes;
	return 0;
}

int dw_export_format_by_path(const char *path, const struct export_format **format_out,
			     char **filters_out, dwarfs_error **err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	auto_buffer struct buffer filters = { 0 };
	const struct suffix *suffix = NULL;
	size_t length = strlen(name);
	int ret;

	do {
		suffix = suffix_of(name, length);
		if (!suffix)
			return dw_fail(err, DWARFS_ERR_INVALID,
				       "No such format: no archive has a name like '%s'",
				       name);
		if (suffix->filter &&
		    (ret = put_in_front(&filters, suffix->filter, err)) < 0)
			return ret;
		length -= strlen(suffix->text);
	} while (!suffix->format);
	if (filters.size > 0 && (ret = dw_buffer_append(&filters, "", 1, err)) < 0)
		return ret;
	*format_out = dw_export_format_find(suffix->format);
	*filters_out = (char *)dw_steal(filters.data);
	return 0;
}

/* -- libarchive ---------------------------------------------------------------------- */

/* One of a list of options: "[module:]name[=value]", or "!name" for none. */
static uint32_t joliet_units(const char *option, size_t length, uint32_t before)
{
	bool is_off = memchr(option, '!', length);
	size_t start = 0;

	for (size_t i = 0; i < length && option[i] != '='; i++)
		if (option[i] == ':' || option[i] == '!')
			start = i + 1;
	option += start;
	length -= start;
	if (length >= 11 && memcmp(option, "joliet=long", 11) == 0)
		return JOLIET_LONG;
	if (length < 6 || memcmp(option, "joliet", 6) != 0)
		return before;
	return is_off ? 0 : JOLIET;
}

uint32_t dw_export_joliet_units(const char *options)
{
	uint32_t units = JOLIET;

	while (options && *options) {
		size_t length = strcspn(options, ",");

		units = joliet_units(options, length, units);
		options += length + (options[length] == ',');
	}
	return units;
}

int dw_export_fail_text(const struct libarchive *la, struct archive *archive,
			dwarfs_error **err)
{
	const char *text = la->error_string(archive);
	int errnum = la->error_code(archive), code = DWARFS_ERR_UNSUPPORTED;

	if (errnum == ENOMEM)
		return dw_fail_nomem(err);
	if (errnum > 0 && errnum != EINVAL && errnum != EILSEQ)
		code = dw_code_of_errno(errnum);
	/* zstd says nothing else if it cannot start the threads of its option. */
	if (text && strstr(text, "Allocation error"))
		return dw_fail(err, code,
			       "%s, or no thread could be started: without the option "
			       "threads none is needed",
			       text);
	return dw_fail(err, code, "%s", text ? text : "libarchive says no");
}

int dw_export_filters_apply(const struct libarchive *la, struct archive *archive,
			    const char *filters, dwarfs_error **err)
{
	while (filters && *filters) {
		size_t length = strcspn(filters, ",");
		char name[32];

		if (length >= sizeof(name))
			return dw_fail(err, DWARFS_ERR_INVALID, "No such filter");
		memcpy(name, filters, length);
		name[length] = '\0';
		/* A warning says that a program does it. */
		if (strcmp(name, "none") != 0 &&
		    la->write_add_filter_by_name(archive, name) < ARCHIVE_WARN)
			return dw_explain(err, dw_export_fail_text(la, archive, err),
					  "filter '%s'", name);
		filters += length + (filters[length] == ',');
	}
	return 0;
}

/* Options with which a format loses less than by default. */
static int apply_defaults(const struct libarchive *la, struct archive *archive,
			  const struct export_format *format, bool odd_xattrs,
			  dwarfs_error **err)
{
	const char *xattrs = odd_xattrs ? "ALL" : "SCHILY";

	if (format->options &&
	    la->write_set_options(archive, format->options) != ARCHIVE_OK)
		return dw_export_fail_text(la, archive, err);
	/* Once is enough, in the way that most programs read, as long as that holds all
	 * names. An old libarchive writes both. */
	if (format->acls && la->write_set_format_option(archive, NULL, "xattrheader",
							xattrs) == ARCHIVE_FATAL)
		return dw_export_fail_text(la, archive, err);
	return 0;
}

int dw_export_format_apply(const struct libarchive *la, struct archive *archive,
			   const struct export_format *format, const char *filters,
			   const char *options, bool odd_xattrs, dwarfs_error **err)
{
	size_t length = dw_export_format_name_bytes(format);
	char name[32] = "";
	int ret;

	memcpy(name, format->help, length < sizeof(name) ? length : sizeof(name) - 1);
	if (la->write_set_format_by_name(archive, name) != ARCHIVE_OK)
		return dw_explain(err, dw_export_fail_text(la, archive, err),
				  "format '%s'", name);
	if ((ret = dw_export_filters_apply(la, archive, filters, err)) < 0 ||
	    (ret = apply_defaults(la, archive, format, odd_xattrs, err)) < 0)
		return ret;
	if (options && la->write_set_options(archive, options) != ARCHIVE_OK) {
		ret = dw_export_fail_text(la, archive, err);
		if (ret != DWARFS_ERR_NOMEM)
			ret = dw_error_as(err, DWARFS_ERR_INVALID);
		return dw_explain(err, ret ? ret : DWARFS_ERR_INVALID, "options '%s'",
				  options);
	}
	return 0;
}
