/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/metadata_export: the tables of the metadata as JSON, as they are stored.
 *
 * Written value by value, so that memory does not grow with the image. A regular file
 * appears complete or not at all; other outputs are written directly.
 */
#include "dwarfsck/dwarfsck.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- JSON ---------------------------------------------------------------------------- */

static void write_hex(FILE *out, const unsigned char *bytes, size_t count)
{
	fputs("{\"hex\": \"", out);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%02x", bytes[i]);
	fputs("\"}", out);
}

static void write_text(FILE *out, const unsigned char *bytes, size_t count)
{
	putc('"', out);
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '"' || bytes[i] == '\\')
			fprintf(out, "\\%c", bytes[i]);
		else if (bytes[i] < ' ' || bytes[i] == 127)
			fprintf(out, "\\u%04x", bytes[i]);
		else if (bytes[i] == 0xc2 && bytes[i + 1] < 0xa0) /* U+0080 to U+009F */
			fprintf(out, "\\u%04x", bytes[++i]);
		else
			putc(bytes[i], out);
	}
	putc('"', out);
}

static void write_string(FILE *out, const dwarfs_metadata *metadata)
{
	size_t count;
	const unsigned char *bytes = dwarfs_metadata_bytes(metadata, &count);

	if (tool_is_utf8(bytes, count))
		write_text(out, bytes, count);
	else
		write_hex(out, bytes, count);
}

/* Between the values of a struct, list or map: each table has a line of its own, and so
 * has each struct and string in one. */
static void write_gap(FILE *out, const dwarfs_metadata *metadata,
		      enum dwarfs_metadata_kind kind, bool is_first)
{
	const uint32_t depth = dwarfs_metadata_depth(metadata);
	const bool is_line =
		depth == 1 ||
		(depth == 2 && !dwarfs_metadata_name(metadata) &&
		 (kind == DWARFS_METADATA_STRUCT || kind == DWARFS_METADATA_STRING));

	if (!is_first)
		putc(',', out);
	if (is_line)
		fprintf(out, "\n%*s", (int)(2 * depth), "");
	else if (!is_first)
		putc(' ', out);
}

static int write_value(FILE *out, dwarfs_metadata *metadata,
		       enum dwarfs_metadata_kind kind, dwarfs_error **err);

/* The fields of a struct that are set, or the items of a list; nests no deeper than the
 * types of the metadata do. */
static int write_values(FILE *out, dwarfs_metadata *metadata, dwarfs_error **err)
{
	bool is_first = true;
	enum dwarfs_metadata_kind kind;
	int ret;

	while ((ret = dwarfs_metadata_next(metadata, &kind, err)) > 0 &&
	       kind != DWARFS_METADATA_END) {
		if (kind == DWARFS_METADATA_UNSET)
			continue;
		write_gap(out, metadata, kind, is_first);
		is_first = false;
		if (dwarfs_metadata_name(metadata))
			fprintf(out, "\"%s\": ", dwarfs_metadata_name(metadata));
		if ((ret = write_value(out, metadata, kind, err)) < 0)
			return ret;
	}
	return ret;
}

/* Each is a struct of two numbers. */
static int write_pairs(FILE *out, dwarfs_metadata *metadata, dwarfs_error **err)
{
	bool is_first = true;
	enum dwarfs_metadata_kind kind;
	int ret;

	while ((ret = dwarfs_metadata_next(metadata, &kind, err)) > 0 &&
	       kind == DWARFS_METADATA_STRUCT) {
		if ((ret = dwarfs_metadata_next(metadata, &kind, err)) < 0)
			return ret;
		fprintf(out, "%s\"%" PRIu64 "\": ", is_first ? "" : ", ",
			dwarfs_metadata_number(metadata));
		if ((ret = dwarfs_metadata_next(metadata, &kind, err)) < 0)
			return ret;
		fprintf(out, "%" PRIu64, dwarfs_metadata_number(metadata));
		is_first = false;
		if ((ret = dwarfs_metadata_next(metadata, &kind, err)) < 0)
			return ret;
	}
	return ret;
}

static int write_enclosed(FILE *out, dwarfs_metadata *metadata,
			  enum dwarfs_metadata_kind kind, dwarfs_error **err)
{
	const bool is_whole = dwarfs_metadata_depth(metadata) == 0;
	int ret;

	putc(kind == DWARFS_METADATA_LIST ? '[' : '{', out);
	ret = kind == DWARFS_METADATA_MAP ? write_pairs(out, metadata, err)
					  : write_values(out, metadata, err);
	if (is_whole)
		putc('\n', out);
	putc(kind == DWARFS_METADATA_LIST ? ']' : '}', out);
	return ret;
}

static int write_value(FILE *out, dwarfs_metadata *metadata,
		       enum dwarfs_metadata_kind kind, dwarfs_error **err)
{
	switch (kind) {
	case DWARFS_METADATA_NUMBER:
		fprintf(out, "%" PRIu64, dwarfs_metadata_number(metadata));
		return 0;
	case DWARFS_METADATA_BOOL:
		fputs(dwarfs_metadata_number(metadata) ? "true" : "false", out);
		return 0;
	case DWARFS_METADATA_STRING:
		write_string(out, metadata);
		return 0;
	default:
		return write_enclosed(out, metadata, kind, err);
	}
}

int print_tables(const dwarfs_image *image, FILE *out)
{
	auto_handle(dwarfs_metadata) *metadata = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	enum dwarfs_metadata_kind kind;

	if (dwarfs_metadata_new(image, &metadata, &err) < 0 ||
	    dwarfs_metadata_next(metadata, &kind, &err) < 0 ||
	    write_value(out, metadata, kind, &err) < 0)
		return tool_fail(err, NULL);
	putc('\n', out);
	return 0;
}

/* -- a file -------------------------------------------------------------------------- */

static int fail_system(const char *what, const char *path)
{
	return tool_error("cannot %s '%s': %s", what, path, strerror(errno));
}

/* Write to an open file, and close it. */
static int write_tables(const dwarfs_image *image, FILE *out, const char *path,
			bool is_synced)
{
	int ret = print_tables(image, out);

	if (ret == 0 &&
	    (fflush(out) != 0 || ferror(out) || (is_synced && fsync(fileno(out)) != 0)))
		ret = fail_system("write", path);
	if (fclose(out) != 0 && ret == 0)
		ret = fail_system("close", path);
	return ret;
}

static int write_in_place(const dwarfs_image *image, const char *path)
{
	FILE *out = fopen(path, "we");

	return out ? write_tables(image, out, path, false) : fail_system("open", path);
}

/* The mode that open(2) would give a new file; fchmod() ignores the umask. */
static mode_t new_file_mode(void)
{
	const mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* To another name in the same directory, which then becomes that of the file. */
static int write_new(const dwarfs_image *image, const char *path, mode_t mode)
{
	auto_free char *other = malloc(strlen(path) + sizeof(".XXXXXX"));
	FILE *out = NULL;
	int fd, ret;

	if (!other)
		return tool_error("out of memory");
	sprintf(other, "%s.XXXXXX", path);
	fd = mkostemp(other, O_CLOEXEC);
	if (fd < 0)
		return fail_system("open", path);
	if (fchmod(fd, mode) == 0)
		out = fdopen(fd, "w");
	if (!out) {
		ret = fail_system("open", path);
		close(fd);
	} else {
		ret = write_tables(image, out, path, true);
	}
	if (ret == 0 && rename(other, path) != 0)
		ret = fail_system("replace", path);
	if (ret != 0)
		unlink(other);
	return ret;
}

int export_metadata(const dwarfs_image *image, const char *input, const char *path)
{
	struct stat stat;

	if (strcmp(path, "-") == 0)
		return print_tables(image, stdout);
	if (tool_is_same_file(input, path))
		return tool_error("'%s' is the image itself", path);
	if (lstat(path, &stat) == 0)
		return S_ISREG(stat.st_mode) ? write_new(image, path, stat.st_mode & 0777)
					     : write_in_place(image, path);
	return write_new(image, path, new_file_mode());
}
