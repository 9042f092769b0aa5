/* SPDX-License-Identifier: MIT */
/*
 * compare/side_listing: the entries of one side, sorted by path.
 *
 * Accepts entries in any order and sorts them. Accesses no image and no disk.
 */
#include <string.h>

#include "compare/side_listing.h"

void dw_listed_free(struct listing *listing)
{
	dw_buffer_free(&listing->text);
	dw_free(listing->list);
	dw_free(listing->files);
	*listing = (struct listing){ 0 };
}

int dw_listed_text(struct listing *listing, const void *data, size_t bytes,
		   uint64_t *offset_out, dwarfs_error **err)
{
	const uint64_t offset = listing->text.size;
	int ret;

	if ((ret = dw_buffer_reserve(&listing->text, bytes + 1, err)) < 0 ||
	    (ret = dw_buffer_append(&listing->text, data, bytes, err)) < 0 ||
	    (ret = dw_buffer_append(&listing->text, "", 1, err)) < 0)
		return ret;
	*offset_out = offset;
	return 0;
}

int dw_listed_add(struct listing *listing, const char *path, size_t bytes,
		  const struct listed *entry, struct listed **listed_out,
		  dwarfs_error **err)
{
	struct listed *listed;
	uint64_t offset;
	int ret;

	if (listing->count == UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "these are too many entries");
	if ((ret = dw_grow(&listing->list, &listing->room, listing->count + 1, err)) <
		    0 ||
	    (ret = dw_listed_text(listing, path, bytes, &offset, err)) < 0)
		return ret;
	listed = &listing->list[listing->count];
	*listed = *entry;
	listed->path = offset;
	listed->number = (uint32_t)listing->count++;
	*listed_out = listed;
	return 0;
}

int dw_listed_add_file(struct listing *listing, uint64_t size, uint64_t id,
		       uint32_t *file_out, dwarfs_error **err)
{
	int ret = dw_grow(&listing->files, &listing->file_room, listing->file_count + 1,
			  err);

	if (ret < 0)
		return ret;
	listing->files[listing->file_count] = (struct contents){
		.size = size,
		.id = id,
		.trouble = NO_TEXT,
		.first = UINT64_MAX,
	};
	*file_out = (uint32_t)listing->file_count++;
	return 0;
}

int dw_listed_trouble(struct listing *listing, uint32_t file, const char *why,
		      dwarfs_error **err)
{
	return dw_listed_text(listing, why, strlen(why), &listing->files[file].trouble,
			      err);
}

/* -- extended attributes ------------------------------------------------------------- */

/* The layout in the text: the size of the value, name, NUL, value, NUL. */

int dw_listed_add_xattr(struct listing *listing, const char *name, const void *value,
			size_t bytes, dwarfs_error **err)
{
	struct listed *entry = &listing->list[listing->count - 1];
	const uint32_t size = (uint32_t)bytes;
	uint64_t offset, ignored;
	int ret;

	if (bytes > UINT32_MAX / 4)
		return dw_fail(err, DWARFS_ERR_RANGE, "an attribute of %zu bytes", bytes);
	offset = listing->text.size;
	if ((ret = dw_buffer_append(&listing->text, &size, sizeof(size), err)) < 0 ||
	    (ret = dw_listed_text(listing, name, strlen(name), &ignored, err)) < 0 ||
	    (ret = dw_listed_text(listing, value, bytes, &ignored, err)) < 0)
		return ret;
	if (entry->xattrs == NO_TEXT) {
		entry->xattrs = offset;
		entry->xattr_bytes = 0;
	}
	entry->xattr_bytes = (uint32_t)(listing->text.size - entry->xattrs);
	return 0;
}

int dw_listed_lose(struct listing *listing, enum known how, const char *why,
		   dwarfs_error **err)
{
	struct listed *entry = &listing->list[listing->count - 1];

	entry->known &= ~(uint32_t)(how == KNOWN_LOST ? KNOWN_ALL : KNOWN_XATTRS);
	entry->known |= how;
	entry->xattr_bytes = 0;
	return dw_listed_text(listing, why, strlen(why), &entry->xattrs, err);
}

bool dw_listed_xattr(const struct listing *listing, const struct listed *entry,
		     uint32_t *at_inout, struct listed_xattr *xattr_out)
{
	const char *at;

	if (entry->xattrs == NO_TEXT || *at_inout >= entry->xattr_bytes)
		return false;
	at = dw_listed_at(listing, entry->xattrs) + *at_inout;
	memcpy(&xattr_out->bytes, at, sizeof(xattr_out->bytes));
	xattr_out->name = at + sizeof(xattr_out->bytes);
	xattr_out->value = xattr_out->name + strlen(xattr_out->name) + 1;
	*at_inout +=
		(uint32_t)((const char *)xattr_out->value - at) + xattr_out->bytes + 1;
	return true;
}

static int compare_xattr_names(const void *left, const void *right)
{
	const struct listed_xattr *a = left, *b = right;

	return strcmp(a->name, b->name);
}

/* By name; they are few. */
static int sort_xattrs(struct listing *listing, struct listed *entry, dwarfs_error **err)
{
	auto_free struct listed_xattr *all = NULL;
	auto_free char *copy = NULL;
	size_t count = 0, room = 0;
	uint32_t at = 0;
	struct listed_xattr one;
	char *to;
	int ret;

	for (; dw_listed_xattr(listing, entry, &at, &one); all[count++] = one)
		if ((ret = dw_grow(&all, &room, count + 1, err)) < 0)
			return ret;
	if (count < 2)
		return 0;
	qsort(all, count, sizeof(*all), compare_xattr_names);
	to = copy = dw_malloc(entry->xattr_bytes);
	if (!copy)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const size_t name_bytes = strlen(all[i].name) + 1;

		memcpy(to, &all[i].bytes, sizeof(all[i].bytes));
		to += sizeof(all[i].bytes);
		memcpy(to, all[i].name, name_bytes + all[i].bytes + 1);
		to += name_bytes + all[i].bytes + 1;
	}
	memcpy(listing->text.data + entry->xattrs, copy, entry->xattr_bytes);
	return 0;
}

/* -- order --------------------------------------------------------------------------- */

int dw_listed_compare_paths(const char *a, const char *b)
{
	int left, right;

	for (; *a && *a == *b; a++)
		b++;
	if (*a == *b)
		return 0;
	left = *a == '/' ? 1 : (unsigned char)*a + (*a ? 1 : 0);
	right = *b == '/' ? 1 : (unsigned char)*b + (*b ? 1 : 0);
	return left < right ? -1 : 1;
}

static int compare_entries(const void *left, const void *right, void *text)
{
	const struct listed *a = left, *b = right;
	int order = dw_listed_compare_paths((const char *)text + a->path,
					    (const char *)text + b->path);

	if (order != 0)
		return order;
	return (a->number > b->number) - (a->number < b->number);
}

int dw_listed_sort(struct listing *listing, dwarfs_error **err)
{
	struct listed *list = listing->list;
	size_t kept = 0;

	if (listing->count > 1)
		qsort_r(list, listing->count, sizeof(*list), compare_entries,
			listing->text.data);
	for (size_t i = 0; i < listing->count; i++) {
		if (i + 1 < listing->count &&
		    strcmp(dw_listed_at(listing, list[i].path),
			   dw_listed_at(listing, list[i + 1].path)) == 0) {
			if (listing->is_unique)
				list[i + 1].known |= KNOWN_TWICE;
			continue;
		}
		list[kept++] = list[i];
	}
	listing->count = kept;
	for (size_t i = 0; i < kept; i++) {
		int ret = sort_xattrs(listing, &list[i], err);

		if (ret < 0)
			return ret;
	}
	return 0;
}
