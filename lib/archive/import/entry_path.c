/* SPDX-License-Identifier: MIT */
/*
 * archive/import/entry_path: convert paths of an archive to paths of an image.
 *
 * Takes arbitrary bytes, returns names joined by single slashes. The builder checks their
 * lengths.
 */
#include <string.h>

#include "archive/import/import.h"

static int append_path_component(struct buffer *out, const char *name, size_t bytes,
				 dwarfs_error **err)
{
	int ret;

	if (out->size > 0 && (ret = dw_buffer_append(out, "/", 1, err)) < 0)
		return ret;
	return dw_buffer_append(out, name, bytes, err);
}

int64_t dw_import_append_names(const char *text, uint32_t skip, struct buffer *out,
			       dwarfs_error **err)
{
	int64_t count = 0;
	int ret;

	while (*text) {
		const size_t bytes = strcspn(text, "/");

		if (bytes == 2 && memcmp(text, "..", 2) == 0)
			return dw_fail(err, DWARFS_ERR_INVALID, "has '..' in its path");
		if (bytes > 0 && !(bytes == 1 && *text == '.') && count++ >= skip &&
		    (ret = append_path_component(out, text, bytes, err)) < 0)
			return ret;
		text += bytes;
		text += *text == '/';
	}
	/* The NUL does not count. */
	if ((ret = dw_buffer_reserve(out, 1, err)) < 0)
		return ret;
	out->data[out->size] = '\0';
	return count;
}

int dw_import_path(const dwarfs_archive_import *import, const char *text,
		   struct buffer *out, dwarfs_error **err)
{
	int64_t count;
	int ret;

	if (!*text)
		return dw_fail(err, DWARFS_ERR_INVALID, "has no name");
	out->size = 0;
	if ((ret = dw_buffer_append(out, import->prefix.data, import->prefix.size, err)) <
	    0)
		return ret;
	count = dw_import_append_names(text, import->strip, out, err);
	if (count < 0)
		return (int)count;
	return import->strip == 0 || count > import->strip;
}
