/* SPDX-License-Identifier: MIT */
/*
 * compare/difference: one difference, and how it is reported.
 */
#include <string.h>
#include <sys/stat.h>

#include "compare/difference.h"

enum dwarfs_compare_kind dwarfs_difference_kind(const dwarfs_difference *difference)
{
	if (!difference)
		return 0;
	return difference->kind;
}

const char *dwarfs_difference_path(const dwarfs_difference *difference)
{
	if (!difference)
		return NULL;
	return difference->path;
}

const char *dwarfs_difference_name(const dwarfs_difference *difference)
{
	if (!difference)
		return NULL;
	return difference->name;
}

const char *dwarfs_difference_value(const dwarfs_difference *difference,
				    enum dwarfs_compare_side side, size_t *bytes_out)
{
	if (!difference)
		return NULL;
	if (side != DWARFS_COMPARE_A && side != DWARFS_COMPARE_B)
		return NULL;
	if (bytes_out)
		*bytes_out = difference->bytes[side];
	return difference->values[side];
}

const char *dwarfs_difference_word(enum dwarfs_compare_kind kind)
{
	static const char *const words[] = {
		[DWARFS_DIFFERENCE_ONLY_A] = "only-a",
		[DWARFS_DIFFERENCE_ONLY_B] = "only-b",
		[DWARFS_DIFFERENCE_TYPE] = "type",
		[DWARFS_DIFFERENCE_MODE] = "mode",
		[DWARFS_DIFFERENCE_OWNER] = "owner",
		[DWARFS_DIFFERENCE_GROUP] = "group",
		[DWARFS_DIFFERENCE_MTIME] = "mtime",
		[DWARFS_DIFFERENCE_SIZE] = "size",
		[DWARFS_DIFFERENCE_CONTENTS] = "contents",
		[DWARFS_DIFFERENCE_TARGET] = "target",
		[DWARFS_DIFFERENCE_DEVICE] = "device",
		[DWARFS_DIFFERENCE_LINKS] = "links",
		[DWARFS_DIFFERENCE_XATTR] = "xattr",
		[DWARFS_DIFFERENCE_TROUBLE] = "trouble",
	};

	if (kind < 0 || kind >= DWARFS_DIFFERENCE_KINDS)
		return NULL;
	return words[kind];
}

/* -- reporting ----------------------------------------------------------------------- */

int dw_differ_tell(struct differ *differ, dwarfs_difference difference,
		   dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret;

	if (differ->ignored & 1u << difference.kind)
		return 0;
	differ->counts[difference.kind]++;
	if (!differ->call)
		return 0;
	ret = dw_side_path_text(differ->current_side, differ->current_path, &differ->path,
				err);
	if (ret < 0)
		return ret;
	difference.path = (const char *)differ->path.data;
	ret = differ->call(&difference, &why, differ->user);
	return ret == 0 ? 0 : dw_callback_fail(ret, &why, err);
}

int dw_differ_tell_texts(struct differ *differ, int kind, const char *a, const char *b,
			 dwarfs_error **err)
{
	const dwarfs_difference difference = {
		.kind = kind,
		.values = { a, b },
		.bytes = { a ? strlen(a) : 0, b ? strlen(b) : 0 },
	};

	return dw_differ_tell(differ, difference, err);
}

const char *dw_difference_type_name(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "directory";
	case S_IFREG:
		return "file";
	case S_IFLNK:
		return "symbolic link";
	case S_IFBLK:
		return "block device";
	case S_IFCHR:
		return "character device";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	default:
		return "unknown";
	}
}
