/* SPDX-License-Identifier: MIT */
/*
 * write/tree/acl_mode: access control lists, which Linux has in extended attributes.
 */
#ifndef DW_WRITE_TREE_ACL_MODE_H
#define DW_WRITE_TREE_ACL_MODE_H

#include <stddef.h>
#include <stdint.h>

#define DW_ACL_ACCESS "system.posix_acl_access"

/*
 * Change the permissions of an access control list to those of a mode, as chmod(2) does: those of the
 * owner, of the mask, or of the group if there is no mask, and of others. A value that is no such
 * list stays as it is. See acl(5).
 */
void dw_acl_set_mode(uint8_t *value, size_t size, uint32_t mode);

#endif
