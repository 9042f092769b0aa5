/* SPDX-License-Identifier: MIT */
/*
 * os/file_xattr where extended attributes are not supported by this library.
 */
#include <errno.h>

#include "os/file_xattr.h"

int dw_xattr_list_at(int dir, const char *name, struct buffer *names)
{
	return -ENOTSUP;
}

int dw_xattr_get_at(int dir, const char *name, const char *attribute,
		    struct buffer *value)
{
	return -ENOTSUP;
}

int dw_xattr_set_at(int dir, const char *name, const char *attribute, struct span value)
{
	return -ENOTSUP;
}

int dw_xattr_remove_at(int dir, const char *name, const char *attribute)
{
	return -ENOTSUP;
}

int dw_xattr_make_writable_at(int dir, const char *name, uint32_t *mode_out)
{
	return -EACCES;
}
