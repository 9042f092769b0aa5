/* SPDX-License-Identifier: MIT */
/*
 * extract/write_xattrs: set extended attributes.
 */
#include <errno.h>
#include <string.h>

#include "base/context.h"
#include "extract/write_xattrs.h"
#include "os/file_xattr.h"

static const char acl_access[] = "system.posix_acl_access";
static const char acl_default[] = "system.posix_acl_default";

static const char *const space_names[XATTR_SPACE_COUNT] = {
	[XATTR_SPACE_USER] = "user",	     [XATTR_SPACE_TRUSTED] = "trusted",
	[XATTR_SPACE_SECURITY] = "security", [XATTR_SPACE_ACL] = "system",
	[XATTR_SPACE_OTHER] = "other",
};

static enum xattr_space space_of(const char *attribute)
{
	for (int space = 0; space < XATTR_SPACE_OTHER; space++) {
		size_t length = strlen(space_names[space]);

		if (strncmp(attribute, space_names[space], length) == 0 &&
		    attribute[length] == '.')
			return space;
	}
	return XATTR_SPACE_OTHER;
}

/* Whether an attribute is not to be had here, as opposed to a disk that fails. */
static bool is_refused(int errnum)
{
	switch (errnum) {
	case EPERM:
	case EACCES:
	case ENOTSUP:
	case EINVAL:
	case E2BIG:
	case ERANGE:
	case ENODATA:
		return true;
	default:
		return false;
	}
}

static void lose_xattr(const dwarfs_image *image, const char *name, const char *attribute,
		       int errnum, struct xattr_losses *losses)
{
	enum xattr_space space = space_of(attribute);
	char reason[128];

	if (atomic_fetch_add(&losses->count[space], 1) != 0)
		return;
	dw_describe_errno(errnum, reason, sizeof(reason));
	dw_log(dwarfs_image_context(image), DWARFS_LOG_WARN,
	       "cannot set extended attribute '%s'%s%s%s: %s", attribute,
	       *name ? " of '" : "", name, *name ? "'" : "", reason);
}

static int set(int dir, const char *name, const char *attribute, struct span value,
	       struct owned *owned)
{
	int ret = dw_xattr_set_at(dir, name, attribute, value);

	/* Setting attributes needs write permission; the final mode is set later. */
	if (ret == -EACCES && owned &&
	    dw_xattr_make_writable_at(dir, name, &owned->mode) == 0)
		ret = dw_xattr_set_at(dir, name, attribute, value);
	return ret;
}

int dw_xattrs_restore(const dwarfs_image *image, dwarfs_inode inode, int dir,
		      const char *name, struct owned *owned, struct xattr_losses *losses,
		      dwarfs_error **err)
{
	const char *attribute;
	struct span value;
	const void *data;
	size_t bytes;
	int ret;

	if (!dwarfs_image_has_xattrs(image))
		return 0;
	for (size_t i = 0;
	     (ret = dwarfs_xattr_at(image, inode, i, &attribute, &data, &bytes, err)) > 0;
	     i++) {
		value = (struct span){ data, bytes };
		ret = set(dir, name, attribute, value, owned);
		if (ret < 0 && !is_refused(-ret))
			return dw_fail_errno(err, -ret,
					     "cannot set extended attribute '%s'",
					     attribute);
		if (ret < 0)
			lose_xattr(image, name, attribute, -ret, losses);
	}
	return ret;
}

bool dw_dir_has_default_acl(int dir, const char *name)
{
	auto_buffer struct buffer value = { 0 };

	return dw_xattr_get_at(dir, name, acl_default, &value) == 0;
}

static int remove_acl(int dir, const char *name, const char *attribute,
		      dwarfs_error **err)
{
	int ret = dw_xattr_remove_at(dir, name, attribute);

	if (ret == 0 || ret == -ENODATA || ret == -ENOTSUP)
		return 0;
	return dw_fail_errno(err, -ret,
			     "cannot remove the inherited access control list");
}

/* The mode stays, as far as the list allowed it. */
int dw_xattrs_remove_inherited(int dir, const char *name, bool is_dir, dwarfs_error **err)
{
	int ret = is_dir ? remove_acl(dir, name, acl_default, err) : 0;

	return ret < 0 ? ret : remove_acl(dir, name, acl_access, err);
}

uint64_t dw_xattr_losses_tell(const struct xattr_losses *losses,
			      const dwarfs_image *image)
{
	uint64_t total = 0;

	for (int space = 0; space < XATTR_SPACE_COUNT; space++) {
		uint64_t count = atomic_load(&losses->count[space]);

		total += count;
		if (count > 1)
			dw_log(dwarfs_image_context(image), DWARFS_LOG_WARN,
			       "%" PRIu64 " extended attributes of the namespace '%s' "
			       "could not be set",
			       count, space_names[space]);
	}
	return total;
}
