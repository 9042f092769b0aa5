/* SPDX-License-Identifier: MIT */
/*
 * write/tree/acl_mode: access control lists, which Linux has in extended attributes.
 *
 * A version of 32 bits, then for each entry its kind and permissions, of 16 bits, and the number of
 * a user or group, of 32 bits. All are little-endian.
 */
#include <stdbool.h>

#include "base/bytes.h"
#include "write/tree/acl_mode.h"

#define ACL_VERSION	2
#define ACL_HEAD_BYTES	4
#define ACL_ENTRY_BYTES 8
#define AT_PERMISSIONS	2

enum acl_kind {
	ACL_OWNER = 0x01,
	ACL_OWN_GROUP = 0x04,
	ACL_MASK = 0x10,
	ACL_OTHERS = 0x20
};

static bool is_list(const uint8_t *value, size_t size)
{
	return size >= ACL_HEAD_BYTES && (size - ACL_HEAD_BYTES) % ACL_ENTRY_BYTES == 0 &&
	       dw_load32(value) == ACL_VERSION;
}

void dw_acl_set_mode(uint8_t *value, size_t size, uint32_t mode)
{
	uint8_t *group = NULL, *mask = NULL;

	if (!is_list(value, size))
		return;
	for (size_t at = ACL_HEAD_BYTES; at < size; at += ACL_ENTRY_BYTES) {
		uint8_t *permissions = value + at + AT_PERMISSIONS;

		switch (dw_load16(value + at)) {
		case ACL_OWNER:
			dw_store16(permissions, mode >> 6 & 7);
			break;
		case ACL_OWN_GROUP:
			group = permissions;
			break;
		case ACL_MASK:
			mask = permissions;
			break;
		case ACL_OTHERS:
			dw_store16(permissions, mode & 7);
			break;
		default:
			break;
		}
	}
	if (mask || group)
		dw_store16(mask ? mask : group, mode >> 3 & 7);
}
