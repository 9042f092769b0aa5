/* SPDX-License-Identifier: MIT */
/*
 * os/generated_xattr: extended attributes that a file system makes up, which are not
 * copied.
 */
#include <string.h>

#include "os/file_xattr.h"

bool dw_xattr_is_generated(const char *attribute)
{
	return strncmp(attribute, "user.dwarfs.", 12) == 0 ||
	       strcmp(attribute, "trusted.SGI_ACL_FILE") == 0 ||
	       strcmp(attribute, "trusted.SGI_ACL_DEFAULT") == 0;
}
