/* SPDX-License-Identifier: MIT */
/*
 * os/generated_xattr: extended attributes that are not for copying.
 */
#include <string.h>

#include "os/file_xattr.h"

bool dw_xattr_is_generated(const char *attribute)
{
	return strncmp(attribute, "user.dwarfs.", 12) == 0 ||
	       strcmp(attribute, "trusted.SGI_ACL_FILE") == 0 ||
	       strcmp(attribute, "trusted.SGI_ACL_DEFAULT") == 0;
}
