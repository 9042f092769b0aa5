/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/list: the entries of an image, one line each.
 */
#include "dwarfsck/dwarfsck.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* How names are written, and the end of a line. */
static struct {
	bool is_raw;
	char end;
} names = { .end = '\n' };

void set_names(bool is_raw, char end)
{
	names.is_raw = is_raw;
	names.end = end;
}

void print_name(const char *name)
{
	if (names.is_raw)
		fputs(name, stdout);
	else
		tool_print_name(stdout, name);
}

void end_line(void)
{
	putchar(names.end);
}

bool are_names_raw(void)
{
	return names.is_raw;
}

/* Widths of columns: how the longest value is written. */
struct widths {
	int owner;
	int size;
};

static int format_size(const dwarfs_stat *stat, char text[TOOL_TEXT_ROOM])
{
	const uint32_t mode = dwarfs_stat_mode(stat);

	if (S_ISCHR(mode) || S_ISBLK(mode))
		return snprintf(text, TOOL_TEXT_ROOM, "%" PRIu32 ",%" PRIu32,
				dwarfs_stat_rdev_major(stat),
				dwarfs_stat_rdev_minor(stat));
	return snprintf(text, TOOL_TEXT_ROOM, "%" PRIu64,
			S_ISREG(mode) ? dwarfs_stat_bytes(stat) : 0);
}

static int format_owner(const dwarfs_stat *stat, char text[TOOL_TEXT_ROOM])
{
	return snprintf(text, TOOL_TEXT_ROOM, "%" PRIu32 "/%" PRIu32,
			dwarfs_stat_uid(stat), dwarfs_stat_gid(stat));
}

static void format_local_time(int64_t seconds, char text[TOOL_TEXT_ROOM])
{
	const time_t time = (time_t)seconds;
	struct tm parts;

	if (!localtime_r(&time, &parts) ||
	    strftime(text, TOOL_TEXT_ROOM, "%Y-%m-%d %H:%M", &parts) == 0)
		snprintf(text, TOOL_TEXT_ROOM, "%" PRId64, seconds);
}

/* Damaged inodes are not measured. */
static void measure_entries(const dwarfs_image *image, dwarfs_stat *stat,
			    struct widths *widths)
{
	char text[TOOL_TEXT_ROOM];
	uint32_t inode;
	int width;

	for (inode = 0; inode < dwarfs_image_inode_count(image); inode++) {
		if (dwarfs_inode_stat(image, dwarfs_inode_at(inode), stat, NULL) < 0)
			continue;
		if ((width = format_owner(stat, text)) > widths->owner)
			widths->owner = width;
		if ((width = format_size(stat, text)) > widths->size)
			widths->size = width;
	}
}

static int print_attributes(const dwarfs_stat *stat, const struct widths *widths)
{
	char mode[TOOL_TEXT_ROOM];
	char owner[TOOL_TEXT_ROOM];
	char size[TOOL_TEXT_ROOM];
	char time[TOOL_TEXT_ROOM];

	format_owner(stat, owner);
	format_size(stat, size);
	format_local_time(dwarfs_stat_seconds(stat, DWARFS_MTIME), time);
	return printf("%s %-*s %*s %s ", tool_format_mode(dwarfs_stat_mode(stat), mode),
		      widths->owner, owner, widths->size, size, time);
}

static int print_target(const dwarfs_image *image, const dwarfs_stat *stat,
			dwarfs_error **err)
{
	char target[DWARFS_LINK_BUFFER_BYTES];
	int ret;

	if (!S_ISLNK(dwarfs_stat_mode(stat)))
		return 0;
	ret = dwarfs_link_read(image, dwarfs_stat_inode(stat), target, sizeof(target),
			       NULL, err);
	if (ret < 0)
		return ret;
	fputs(" -> ", stdout);
	print_name(target);
	return 0;
}

/* As getfattr(1) does: text in quotes, other bytes in hexadecimal. */
static void print_xattr_value(const unsigned char *value, size_t bytes)
{
	bool is_text = true;

	for (size_t i = 0; i < bytes; i++)
		is_text = is_text && value[i] >= ' ' && value[i] < 127;
	fputs(is_text ? "\"" : "0x", stdout);
	for (size_t i = 0; i < bytes; i++) {
		if (!is_text)
			printf("%02x", value[i]);
		else if (value[i] == '"' || value[i] == '\\')
			printf("\\%c", value[i]);
		else
			putchar(value[i]);
	}
	if (is_text)
		putchar('"');
}

/* Properties on separate lines. A section of attributes that cannot be read was reported
 * as a finding. */
static void print_more(const dwarfs_image *image, const dwarfs_stat *stat)
{
	int64_t born = dwarfs_stat_seconds(stat, DWARFS_BTIME);
	char time[TOOL_TEXT_ROOM];
	const void *value;
	const char *name;
	size_t bytes;

	if (born || dwarfs_stat_nanoseconds(stat, DWARFS_BTIME)) {
		format_local_time(born, time);
		printf("    born %s", time);
		end_line();
	}
	for (size_t i = 0; dwarfs_xattr_at(image, dwarfs_stat_inode(stat), i, &name,
					   &value, &bytes, NULL) > 0;
	     i++) {
		fputs("    ", stdout);
		print_name(name);
		putchar('=');
		print_xattr_value(value, bytes);
		end_line();
	}
}

/* Returns 0, or 1 after printing that the target of a link cannot be read. */
static int print_list_entry(const dwarfs_image *image, const char *path,
			    const dwarfs_stat *stat, const struct widths *widths)
{
	auto_handle(dwarfs_error) *err = NULL;
	int ret;

	print_attributes(stat, widths);
	print_name(path);
	ret = print_target(image, stat, &err);
	end_line();
	print_more(image, stat);
	return ret < 0 ? tool_fail(err, "%s", path) : 0;
}

int print_list(const dwarfs_image *image, bool verbose)
{
	auto_handle(dwarfs_walk) *walk = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	struct widths widths = { 0 };
	uint64_t lost = 0;
	dwarfs_entry entry;
	int ret;

	if (begin_walk(image, DWARFS_WALK_TREE, &walk, &stat))
		return 1;
	if (verbose)
		measure_entries(image, stat, &widths);
	while ((ret = next_intact(image, walk, &entry, verbose ? stat : NULL, &lost)) >
	       0) {
		const char *path = dwarfs_walk_path(walk);

		/* The root has no name. */
		if (!*path)
			continue;
		if (verbose) {
			lost += (uint64_t)print_list_entry(image, path, stat, &widths);
			continue;
		}
		print_name(path);
		end_line();
	}
	return ret < 0 || lost > 0;
}
