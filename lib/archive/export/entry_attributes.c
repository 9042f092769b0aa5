/* SPDX-License-Identifier: MIT */
/*
 * archive/export/entry_attributes: extended attributes and access control lists of an
 * entry.
 *
 * An image stores access control lists as the extended attributes of Linux: a version,
 * then eight bytes for each entry of the list. Formats that have access control lists get
 * them as such, the others as attributes.
 */
#include <string.h>
#include <sys/stat.h>

#include <dwarfs/xattr.h>

#include "archive/export/export.h"
#include "base/bytes.h"

#define ACL_VERSION    2
#define ACL_HEAD_BYTES 4
#define ACL_LINE_BYTES 8

/* The tag of libarchive for a type of ACL entry; 0 for an unknown type. */
static int libarchive_tag(uint16_t kind)
{
	switch (kind) {
	case 0x01:
		return ARCHIVE_ENTRY_ACL_USER_OBJ;
	case 0x02:
		return ARCHIVE_ENTRY_ACL_USER;
	case 0x04:
		return ARCHIVE_ENTRY_ACL_GROUP_OBJ;
	case 0x08:
		return ARCHIVE_ENTRY_ACL_GROUP;
	case 0x10:
		return ARCHIVE_ENTRY_ACL_MASK;
	case 0x20:
		return ARCHIVE_ENTRY_ACL_OTHER;
	}
	return 0;
}

static bool is_list(const uint8_t *bytes, size_t size)
{
	if (size < ACL_HEAD_BYTES + ACL_LINE_BYTES ||
	    (size - ACL_HEAD_BYTES) % ACL_LINE_BYTES != 0 ||
	    dw_load32(bytes) != ACL_VERSION)
		return false;
	for (size_t at = ACL_HEAD_BYTES; at < size; at += ACL_LINE_BYTES)
		if (libarchive_tag(dw_load16(bytes + at)) == 0 ||
		    dw_load16(bytes + at + 2) > 7)
			return false;
	return true;
}

/* The permission bits of libarchive are those of Linux. */
static int add_acl_entries(struct export_run *run, int type, const uint8_t *bytes,
			   size_t size, dwarfs_error **err)
{
	for (size_t at = ACL_HEAD_BYTES; at < size; at += ACL_LINE_BYTES) {
		int tag = libarchive_tag(dw_load16(bytes + at));
		bool has_id =
			tag == ARCHIVE_ENTRY_ACL_USER || tag == ARCHIVE_ENTRY_ACL_GROUP;
		int id = has_id ? (int)dw_load32(bytes + at + 4) : -1;

		if (run->la->entry_acl_add_entry(run->entry, type,
						 dw_load16(bytes + at + 2), tag, id,
						 NULL) < ARCHIVE_WARN)
			return dw_fail_nomem(err);
	}
	return 0;
}

/* 0 for an attribute that is not an access control list. */
static int type_of(const char *name)
{
	if (strcmp(name, "system.posix_acl_access") == 0)
		return ARCHIVE_ENTRY_ACL_TYPE_ACCESS;
	if (strcmp(name, "system.posix_acl_default") == 0)
		return ARCHIVE_ENTRY_ACL_TYPE_DEFAULT;
	return 0;
}

static int add_xattr(struct export_run *run, const char *name, const void *value,
		     size_t size, const char **reduced_out, dwarfs_error **err)
{
	int type = type_of(name);

	if (type != 0 && run->format->acls && is_list(value, size))
		return add_acl_entries(run, type, value, size, err);
	if (!run->format->xattrs) {
		*reduced_out = "without its extended attributes: the format has none";
		return 0;
	}
	run->la->entry_xattr_add_entry(run->entry, name, value, size);
	return 0;
}

/* libarchive encodes such a name even where no reader decodes it. */
static bool is_odd_name(const char *name)
{
	for (; *name; name++)
		if (*name <= ' ' || *name >= 0x7f || *name == '%' || *name == '=')
			return true;
	return false;
}

bool dw_export_has_odd_xattrs(const struct export_run *run)
{
	dwarfs_inode inode = dwarfs_stat_inode(run->stat);
	const char *name;
	const void *value;
	size_t size;

	if (run->export->no_xattrs || !dwarfs_image_has_xattrs(run->image))
		return false;
	for (size_t i = 0;
	     dwarfs_xattr_at(run->image, inode, i, &name, &value, &size, NULL) > 0; i++)
		if (is_odd_name(name))
			return true;
	return false;
}

int dw_export_attributes(struct export_run *run, const char **reduced_out,
			 dwarfs_error **err)
{
	dwarfs_inode inode = dwarfs_stat_inode(run->stat);
	const char *name;
	const void *value;
	size_t size;
	int ret;

	if (run->export->no_xattrs || !dwarfs_image_has_xattrs(run->image))
		return 0;
	for (size_t i = 0;
	     (ret = dwarfs_xattr_at(run->image, inode, i, &name, &value, &size, err)) > 0;
	     i++)
		if ((ret = add_xattr(run, name, value, size, reduced_out, err)) < 0)
			break;
	return ret < 0 ? dw_explain(err, ret, "extended attributes") : 0;
}
