/* SPDX-License-Identifier: MIT */
/*
 * archive/import/acl: access control lists of an archive, as extended attributes of
 * Linux.
 *
 * POSIX.1e lists are converted. NFSv4 lists cannot be stored in a Linux file system, and
 * are reported.
 */
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "archive/import/import.h"
#include "base/bytes.h"

/* The attribute: a version, then entries sorted by tag and number, little-endian. */
#define ACL_VERSION    2
#define ACL_HEAD_BYTES 4
#define ACL_NOBODY     UINT32_MAX /* the number of entries that are about no one person */
#define NAME_ROOM      4096	  /* for the user and group database */

enum acl_tag {
	TAG_OWNER = 0x01,
	TAG_USER = 0x02,
	TAG_OWNING_GROUP = 0x04,
	TAG_GROUP = 0x08,
	TAG_MASK = 0x10,
	TAG_OTHERS = 0x20,
};

struct acl_entry {
	uint16_t tag, permissions;
	uint32_t id;
};

struct acl {
	struct acl_entry *entries;
	size_t count, room;
	unsigned tags; /* the entries present */
};

static void free_acl(struct acl *acl)
{
	dw_free(acl->entries);
}
#define auto_acl __attribute__((cleanup(free_acl))) struct acl

/* -- owners by name -------------------------------------------------------------- */

static bool find_user(const struct import_job *job, const char *name, uint32_t *id_out)
{
	const char *owner = job->la->entry_uname(job->entry);
	struct passwd found, *result = NULL;
	char room[NAME_ROOM];

	if (owner && strcmp(owner, name) == 0) {
		*id_out = (uint32_t)job->la->entry_uid(job->entry);
		return true;
	}
	if (getpwnam_r(name, &found, room, sizeof(room), &result) != 0 || !result)
		return false;
	*id_out = result->pw_uid;
	return true;
}

static bool find_group(const struct import_job *job, const char *name, uint32_t *id_out)
{
	const char *group = job->la->entry_gname(job->entry);
	struct group found, *result = NULL;
	char room[NAME_ROOM];

	if (group && strcmp(group, name) == 0) {
		*id_out = (uint32_t)job->la->entry_gid(job->entry);
		return true;
	}
	if (getgrnam_r(name, &found, room, sizeof(room), &result) != 0 || !result)
		return false;
	*id_out = result->gr_gid;
	return true;
}

/* -- one entry ------------------------------------------------------------------- */

static uint16_t posix_tag(int tag)
{
	switch (tag) {
	case ARCHIVE_ENTRY_ACL_USER_OBJ:
		return TAG_OWNER;
	case ARCHIVE_ENTRY_ACL_USER:
		return TAG_USER;
	case ARCHIVE_ENTRY_ACL_GROUP_OBJ:
		return TAG_OWNING_GROUP;
	case ARCHIVE_ENTRY_ACL_GROUP:
		return TAG_GROUP;
	case ARCHIVE_ENTRY_ACL_MASK:
		return TAG_MASK;
	case ARCHIVE_ENTRY_ACL_OTHER:
		return TAG_OTHERS;
	default:
		return 0;
	}
}

/* The ID of the user or group of the entry; false if it is unknown. */
static bool identify(struct import_job *job, struct acl_entry *made, int id,
		     const char *name)
{
	made->id = ACL_NOBODY;
	if (made->tag != TAG_USER && made->tag != TAG_GROUP)
		return true;
	made->id = (uint32_t)id;
	if (id != -1)
		return true;
	if (name && made->tag == TAG_USER && find_user(job, name, &made->id))
		return true;
	if (name && made->tag == TAG_GROUP && find_group(job, name, &made->id))
		return true;
	dw_import_warn(job, "an access control list has an unknown %s '%s'",
		       made->tag == TAG_USER ? "user" : "group", name ? name : "");
	return false;
}

static int add_acl_entry(struct acl *acl, const struct acl_entry *made,
			 dwarfs_error **err)
{
	int ret = dw_grow(&acl->entries, &acl->room, acl->count + 1, err);

	if (ret < 0)
		return ret;
	acl->entries[acl->count++] = *made;
	acl->tags |= made->tag;
	return 0;
}

/* -- a list ---------------------------------------------------------------------- */

static int read_acl(struct import_job *job, int type, struct acl *acl, dwarfs_error **err)
{
	int kind, permissions, tag, id, ret;
	const char *name;

	if (job->la->entry_acl_reset(job->entry, type) == 0)
		return 0;
	while (job->la->entry_acl_next(job->entry, type, &kind, &permissions, &tag, &id,
				       &name) == ARCHIVE_OK) {
		struct acl_entry made = { posix_tag(tag), permissions & 7, ACL_NOBODY };

		if (made.tag == 0 || !identify(job, &made, id, name))
			continue;
		if ((ret = add_acl_entry(acl, &made, err)) < 0)
			return ret;
	}
	return 0;
}

/* Lists with named users or groups need a mask: the union of their permissions. */
static int add_mask(struct acl *acl, dwarfs_error **err)
{
	struct acl_entry mask = { TAG_MASK, 0, ACL_NOBODY };
	size_t i;

	if ((acl->tags & TAG_MASK) || !(acl->tags & (TAG_USER | TAG_GROUP)))
		return 0;
	for (i = 0; i < acl->count; i++) {
		if (acl->entries[i].tag & (TAG_USER | TAG_GROUP | TAG_OWNING_GROUP))
			mask.permissions |= acl->entries[i].permissions;
	}
	return add_acl_entry(acl, &mask, err);
}

static int compare(const void *a, const void *b)
{
	const struct acl_entry *x = a;
	const struct acl_entry *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Sorted, and as the system would take it: the parts that must be there, none twice. */
static bool is_sound(struct acl *acl)
{
	const unsigned needed = TAG_OWNER | TAG_OWNING_GROUP | TAG_OTHERS;
	size_t i;

	qsort(acl->entries, acl->count, sizeof(*acl->entries), compare);
	for (i = 1; i < acl->count; i++) {
		if (compare(&acl->entries[i - 1], &acl->entries[i]) == 0)
			return false;
	}
	return (acl->tags & needed) == needed;
}

static int store(const struct acl *acl, struct buffer *value, dwarfs_error **err)
{
	const size_t bytes = ACL_HEAD_BYTES + acl->count * 8;
	uint8_t *at;
	size_t i;
	int ret;

	if ((ret = dw_buffer_reserve(value, bytes, err)) < 0)
		return ret;
	dw_store32(value->data, ACL_VERSION);
	for (i = 0, at = value->data + ACL_HEAD_BYTES; i < acl->count; i++, at += 8) {
		dw_store16(at, acl->entries[i].tag);
		dw_store16(at + 2, acl->entries[i].permissions);
		dw_store32(at + 4, acl->entries[i].id);
	}
	value->size = bytes;
	return 0;
}

int dw_import_acl_value(struct import_job *job, int type, struct buffer *value,
			dwarfs_error **err)
{
	auto_acl acl = { 0 };
	int ret;

	value->size = 0;
	if ((ret = read_acl(job, type, &acl, err)) < 0 || acl.count == 0)
		return ret;
	if ((ret = add_mask(&acl, err)) < 0)
		return ret;
	if (!is_sound(&acl)) {
		dw_import_warn(job, "an access control list is invalid");
		return 0;
	}
	return store(&acl, value, err);
}

static int take_acl(struct import_job *job, int type, const char *name, dwarfs_item *item,
		    dwarfs_error **err)
{
	auto_buffer struct buffer value = { 0 };
	int ret = dw_import_acl_value(job, type, &value, err);

	if (ret < 0 || value.size == 0)
		return ret;
	return dwarfs_item_add_xattr(item, name, value.data, value.size, err);
}

int dw_import_acls(struct import_job *job, dwarfs_item *item, dwarfs_error **err)
{
	const int types = job->la->entry_acl_types(job->entry);
	int ret = 0;

	if (types & ARCHIVE_ENTRY_ACL_TYPE_NFS4) {
		dw_import_warn(job, "an NFSv4 access control list is left out");
		return 0;
	}
	if (types & ARCHIVE_ENTRY_ACL_TYPE_ACCESS)
		ret = take_acl(job, ARCHIVE_ENTRY_ACL_TYPE_ACCESS,
			       "system.posix_acl_access", item, err);
	if (ret == 0 && (types & ARCHIVE_ENTRY_ACL_TYPE_DEFAULT))
		ret = take_acl(job, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT,
			       "system.posix_acl_default", item, err);
	return ret;
}

uint32_t dw_import_mode(struct import_job *job)
{
	const int type = ARCHIVE_ENTRY_ACL_TYPE_ACCESS;
	const uint32_t mode = job->la->entry_perm(job->entry) & 07777;
	int kind, permissions, tag, id, mask = -1, any = 0;
	const char *name;

	/* The group bits of libarchive are those of the group, those of a file system the
	 * mask. */
	if (job->la->entry_acl_reset(job->entry, type) == 0)
		return mode;
	while (job->la->entry_acl_next(job->entry, type, &kind, &permissions, &tag, &id,
				       &name) == ARCHIVE_OK) {
		if (tag == ARCHIVE_ENTRY_ACL_MASK)
			mask = permissions & 7;
		else if (posix_tag(tag) & (TAG_USER | TAG_GROUP | TAG_OWNING_GROUP))
			any |= permissions & 7;
	}
	return (mode & ~070u) | (uint32_t)(mask < 0 ? any : mask) << 3;
}
