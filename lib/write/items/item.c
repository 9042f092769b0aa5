/* SPDX-License-Identifier: MIT */
/*
 * write/items/item: setters of an item. See <dwarfs/item.h>.
 *
 * Each setter checks its own value; combinations are checked when the item is added.
 */
#include <string.h>

#include "format/metadata.h"
#include "write/options/build_options.h"
#include "write/items/item.h"
#include "write/tree/xattr_sets.h"

#define MAX_NAME_BYTES	 255
#define MAX_TARGET_BYTES 4095 /* maximum of symlink() */
#define MAX_VALUE_BYTES	 ((size_t)16 << 20)

/* -- paths --------------------------------------------------------------------------- */

struct span dw_item_next_name(struct span *path)
{
	const uint8_t *slash = path->size ? memchr(path->data, '/', path->size) : NULL;
	size_t length = slash ? (size_t)(slash - path->data) : path->size;
	struct span name = { path->data, length };

	path->data += length + (slash != NULL);
	path->size -= length + (slash != NULL);
	return name;
}

static int fail_path(struct span path, int code, const char *what, dwarfs_error **err)
{
	int shown = path.size < 256 ? (int)path.size : 256;

	return dw_fail(err, code, "'%.*s%s' cannot be the path of an entry: %s", shown,
		       path.size ? (const char *)path.data : "",
		       path.size > 256 ? "..." : "", what);
}

int dw_item_check_path(struct span path, dwarfs_error **err)
{
	struct span rest = path, name;

	if (path.size == 0)
		return 0;
	if (memchr(path.data, '\0', path.size))
		return fail_path(path, DWARFS_ERR_INVALID, "it contains a NUL", err);
	if (path.data[0] == '/')
		return fail_path(path, DWARFS_ERR_INVALID, "it is absolute", err);
	if (path.data[path.size - 1] == '/')
		return fail_path(path, DWARFS_ERR_INVALID, "it ends with '/'", err);
	while (rest.size > 0) {
		name = dw_item_next_name(&rest);
		if (name.size == 0)
			return fail_path(path, DWARFS_ERR_INVALID,
					 "there is an empty name in it", err);
		if (name.data[0] == '.' &&
		    (name.size == 1 || (name.size == 2 && name.data[1] == '.')))
			return fail_path(path, DWARFS_ERR_INVALID,
					 "there is '.' or '..' in it", err);
		if (name.size > MAX_NAME_BYTES)
			return fail_path(path, DWARFS_ERR_RANGE,
					 "a name is longer than 255 bytes", err);
	}
	return 0;
}

/* -- create and free ----------------------------------------------------------------- */

int dwarfs_item_new(uint32_t mode, dwarfs_item **item_out, dwarfs_error **err)
{
	if (!item_out)
		return dw_fail_null(err, "item_out");

	dwarfs_item *item;

	if (dw_class_of_mode(mode) < 0 || mode > (DW_S_IFMT | 07777))
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "mode %" PRIo32 " has no valid file type", mode);
	if (!(item = dw_calloc(1, sizeof(*item))))
		return dw_fail_nomem(err);
	item->mode = mode;
	*item_out = item;
	return 0;
}

void dwarfs_item_free(dwarfs_item *item)
{
	if (!item)
		return;
	dw_buffer_free(&item->text);
	dw_buffer_free(&item->xattrs);
	dw_free(item->path);
	dwarfs_io_free(item->io);
	dw_free(item);
}

/* -- attributes ---------------------------------------------------------------------- */

void dwarfs_item_set_owner(dwarfs_item *item, uint32_t uid, uint32_t gid)
{
	if (!item)
		return;
	item->uid = uid;
	item->gid = gid;
}

void dwarfs_item_set_time(dwarfs_item *item, enum dwarfs_time which, int64_t seconds,
			  uint32_t nanoseconds)
{
	if (!item)
		return;

	struct os_time time = { seconds, nanoseconds };

	if (nanoseconds >= DW_NS_PER_SECOND)
		time.nanoseconds = DW_NS_PER_SECOND - 1;
	if (which == DWARFS_MTIME) {
		item->mtime = time;
	} else if (which == DWARFS_ATIME) {
		item->atime = time;
		item->has_atime = true;
	} else if (which == DWARFS_CTIME) {
		item->ctime = time;
		item->has_ctime = true;
	} else if (which == DWARFS_BTIME) {
		item->btime = time;
		item->has_btime = true;
	}
}

/* As os/dir encodes the number of a device. */
void dwarfs_item_set_device(dwarfs_item *item, uint32_t major, uint32_t minor)
{
	if (!item)
		return;

	item->device = dw_device_number(major, minor);
}

static int set_item_text(dwarfs_item *item, const char *text, size_t bytes,
			 dwarfs_error **err)
{
	auto_buffer struct buffer copy = { 0 };
	int ret = dw_buffer_append(&copy, text, bytes, err);

	if (ret < 0)
		return ret;
	dw_buffer_free(&item->text);
	item->text = copy;
	copy = (struct buffer){ 0 };
	return 0;
}

int dwarfs_item_set_target(dwarfs_item *item, const char *target, size_t bytes,
			   dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(item);

	if (!item || !target)
		return dw_fail_null(err, "item and target");

	int ret;

	if (dw_class_of_mode(item->mode) != CLASS_LNK)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "only a symbolic link has a target");
	if (bytes == 0 || bytes > MAX_TARGET_BYTES)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "the target of a symbolic link has 1 to %d bytes, not %zu",
			       MAX_TARGET_BYTES, bytes);
	if (memchr(target, '\0', bytes))
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "the target of a symbolic link contains a NUL");
	if ((ret = set_item_text(item, target, bytes, err)) == 0)
		item->is_hard_link = false;
	return ret;
}

int dwarfs_item_set_hard_link(dwarfs_item *item, const char *path, size_t bytes,
			      dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(item);

	if (!item || !path)
		return dw_fail_null(err, "item and path");

	struct span span = { (const uint8_t *)path, bytes };
	int ret;

	if ((ret = dw_item_check_path(span, err)) < 0 ||
	    (ret = set_item_text(item, path, bytes, err)) < 0)
		return ret;
	item->is_hard_link = true;
	return 0;
}

/* The next pair of a list as by dw_xattr_list_append(): the sizes, then name and
 * value. */
static struct span next_xattr(struct span *list, struct span *name_out)
{
	uint32_t sizes[2];
	struct span whole = { list->data, sizeof(sizes) };

	memcpy(sizes, list->data, sizeof(sizes));
	*name_out = (struct span){ list->data + sizeof(sizes), sizes[0] };
	whole.size += (size_t)sizes[0] + sizes[1];
	list->data += whole.size;
	list->size -= whole.size;
	return whole;
}

/* Copy the attributes, without that of a name. */
static int copy_other_xattrs(const dwarfs_item *item, struct span name,
			     struct buffer *copy, dwarfs_error **err)
{
	struct span list = dw_buffer_span(&item->xattrs), other;
	int ret;

	while (list.size > 0) {
		struct span pair = next_xattr(&list, &other);

		if (other.size == name.size &&
		    memcmp(other.data, name.data, name.size) == 0)
			continue;
		if ((ret = dw_buffer_append(copy, pair.data, pair.size, err)) < 0)
			return ret;
	}
	return 0;
}

int dwarfs_item_add_xattr(dwarfs_item *item, const char *name, const void *value,
			  size_t bytes, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(item);

	if (!item || !name || (!value && bytes > 0))
		return dw_fail_null(err, "item, name and value");

	struct span key = { (const uint8_t *)name, strlen(name) };
	auto_buffer struct buffer list = { 0 };
	int ret;

	if (key.size == 0 || key.size > MAX_NAME_BYTES)
		return dw_fail(
			err, DWARFS_ERR_RANGE,
			"the name of an extended attribute has 1 to %d bytes, not %zu",
			MAX_NAME_BYTES, key.size);
	if (bytes > MAX_VALUE_BYTES)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "an extended attribute of %zu bytes is too long", bytes);
	if ((ret = copy_other_xattrs(item, key, &list, err)) < 0 ||
	    (ret = dw_xattr_list_append(&list, key, (struct span){ value, bytes }, err)) <
		    0)
		return ret;
	dw_buffer_free(&item->xattrs);
	item->xattrs = list;
	list = (struct buffer){ 0 };
	return 0;
}

/* -- contents ------------------------------------------------------------------------ */

static int set_contents_kind(dwarfs_item *item, enum item_kind kind, dwarfs_error **err)
{
	if (dw_class_of_mode(item->mode) != CLASS_REG)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "only a regular file has contents");
	item->kind = kind;
	item->is_hard_link = false;
	return 0;
}

int dwarfs_item_set_path(dwarfs_item *item, const char *path, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(item);

	if (!item || !path)
		return dw_fail_null(err, "item and path");

	auto_free char *copy = dw_strdup(path);
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if ((ret = set_contents_kind(item, ITEM_PATH, err)) < 0)
		return ret;
	dw_free(item->path);
	item->path = dw_steal(copy);
	return 0;
}

int dwarfs_item_set_io(dwarfs_item *item, dwarfs_io *io, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(item);

	int ret;

	if (!item || !io)
		return dw_fail_null(err, "item and source");
	if ((ret = set_contents_kind(item, ITEM_IO, err)) < 0)
		return ret;
	dw_io_ref(io);
	dwarfs_io_free(item->io);
	item->io = io;
	return 0;
}

int dwarfs_item_set_memory(dwarfs_item *item, const void *data, size_t bytes,
			   dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(item);

	if (!item)
		return dw_fail_null(err, "item");

	int ret;

	if (!data && bytes > 0)
		return dw_fail_null(err, "data");
	if ((ret = set_contents_kind(item, ITEM_MEMORY, err)) < 0)
		return ret;
	item->memory = (struct span){ data, bytes };
	return 0;
}

int dwarfs_item_set_reader(dwarfs_item *item, uint64_t bytes, dwarfs_item_read_fn read,
			   void *user, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(item);

	if (!item)
		return dw_fail_null(err, "item");

	int ret;

	if (bytes > INT64_MAX && bytes != UINT64_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "file size of %" PRIu64 " bytes is too large", bytes);
	if (!read)
		return dw_fail_null(err, "read");
	if ((ret = set_contents_kind(item, ITEM_READER, err)) < 0)
		return ret;
	item->bytes = bytes;
	item->read = read;
	item->user = user;
	return 0;
}
