/* SPDX-License-Identifier: MIT */
/*
 * write/input/entry_details: birth time and extended attributes of an entry.
 */
#include <errno.h>
#include <string.h>

#include "os/file_xattr.h"
#include "write/input/entry_details.h"
#include "write/tree/xattr_sets.h"

/* Whether the attribute vanished, or the file system has no attributes. */
static bool is_gone(int errnum)
{
	return errnum == ENODATA || errnum == ENOTSUP;
}

static int collect_one(int dir, const char *name, const char *attribute,
		       struct buffer *value, struct buffer *xattrs, int *errnum_out)
{
	int ret = dw_xattr_get_at(dir, name, attribute, value);

	if (ret == -ENOMEM)
		return ret;
	if (ret < 0) {
		if (!is_gone(-ret))
			*errnum_out = -ret;
		return 0;
	}
	ret = dw_xattr_list_append(
		xattrs, (struct span){ (const uint8_t *)attribute, strlen(attribute) },
		dw_buffer_span(value), NULL);
	return ret < 0 ? -ENOMEM : 0;
}

static int collect_xattrs(const struct xattr_rules *rules, int dir, const char *name,
			  struct buffer *xattrs, int *errnum_out)
{
	auto_buffer struct buffer names = { 0 }, value = { 0 };
	int ret = dw_xattr_list_at(dir, name, &names);

	if (ret == -ENOMEM)
		return ret;
	if (ret < 0 && !is_gone(-ret))
		*errnum_out = -ret;
	for (size_t at = 0; ret == 0 && at < names.size;) {
		const char *attribute = (const char *)names.data + at;

		at += strlen(attribute) + 1;
		if (dw_xattr_rules_include(rules, attribute))
			ret = collect_one(dir, name, attribute, &value, xattrs,
					  errnum_out);
	}
	return ret == -ENOMEM ? ret : 0;
}

int dw_entry_details(const struct build_options *options, int dir, const char *name,
		     struct os_stat *stat, struct buffer *xattrs, int *errnum_out)
{
	*errnum_out = 0;
	if (options->keep_birth_times)
		(void)dw_birth_at(dir, name, &stat->btime);
	if (options->xattrs.drop)
		return 0;
	return collect_xattrs(&options->xattrs, dir, name, xattrs, errnum_out);
}
