/* SPDX-License-Identifier: MIT */
/*
 * compare/side_listing: the entries of one side, sorted by path.
 *
 * Accepts entries in any order and sorts them. Accesses no image and no disk.
 */
#include <string.h>

#include "compare/side_listing.h"

void dw_side_free(struct side_listing *listing)
{
	dw_buffer_free(&listing->text);
	dw_free(listing->paths);
	dw_free(listing->path_heads);
	dw_free(listing->list);
	dw_free(listing->files);
	*listing = (struct side_listing){ 0 };
}

int dw_side_text(struct side_listing *listing, const void *data, size_t bytes,
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

/* -- paths --------------------------------------------------------------------------- */

#define FEWEST_HEADS 64

/* FNV-1a of the parent and the name. */
static size_t head_of(const struct side_listing *listing, uint32_t parent,
		      const char *name, size_t bytes)
{
	const uint64_t start = (DW_FNV1A_START ^ parent) * DW_FNV1A_PRIME;
	const uint64_t hash = dw_fnv1a(start, name, bytes);

	return (size_t)(hash ^ hash >> 32) & (listing->path_head_count - 1);
}

static void link_path(struct side_listing *listing, uint32_t path)
{
	struct path_node *node = &listing->paths[path];
	const char *name = dw_side_at(listing, node->name);
	uint32_t *head =
		&listing->path_heads[head_of(listing, node->parent, name, strlen(name))];

	node->next = *head;
	*head = path;
}

/* Make room for one more path. */
static int grow_paths(struct side_listing *listing, dwarfs_error **err)
{
	size_t count =
		listing->path_head_count ? 2 * listing->path_head_count : FEWEST_HEADS;
	uint32_t *heads;
	int ret;

	if (listing->path_count == UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "these are too many entries");
	ret = dw_grow(&listing->paths, &listing->path_room, listing->path_count + 1, err);
	if (ret < 0 || listing->path_count < listing->path_head_count)
		return ret;
	if (!(heads = dw_calloc(count, sizeof(*heads))))
		return dw_fail_nomem(err);
	memset(heads, 0xff, count * sizeof(*heads));
	dw_free(listing->path_heads);
	listing->path_heads = heads;
	listing->path_head_count = count;
	for (uint32_t i = 0; i < listing->path_count; i++)
		link_path(listing, i);
	return 0;
}

static int add_path(struct side_listing *listing, uint32_t parent, const char *name,
		    size_t bytes, uint32_t *path_out, dwarfs_error **err)
{
	struct path_node node = { .parent = parent };
	int ret;

	if ((ret = grow_paths(listing, err)) < 0 ||
	    (ret = dw_side_text(listing, name, bytes, &node.name, err)) < 0)
		return ret;
	if (parent != NO_PATH)
		node.depth = listing->paths[parent].depth + 1;
	*path_out = (uint32_t)listing->path_count++;
	listing->paths[*path_out] = node;
	link_path(listing, *path_out);
	return 0;
}

static int need_root(struct side_listing *listing, dwarfs_error **err)
{
	uint32_t root;

	return listing->path_count ? 0 : add_path(listing, NO_PATH, "", 0, &root, err);
}

static uint32_t find_in(const struct side_listing *listing, uint32_t parent,
			const char *name, size_t bytes)
{
	uint32_t path = listing->path_heads[head_of(listing, parent, name, bytes)];

	for (; path != NO_PATH; path = listing->paths[path].next) {
		const struct path_node *node = &listing->paths[path];
		const char *text = dw_side_at(listing, node->name);

		if (node->parent == parent && strlen(text) == bytes &&
		    memcmp(text, name, bytes) == 0)
			break;
	}
	return path;
}

int dw_side_path_in(struct side_listing *listing, uint32_t parent, const char *name,
		    size_t bytes, uint32_t *path_out, dwarfs_error **err)
{
	int ret = need_root(listing, err);

	if (ret < 0)
		return ret;
	*path_out = find_in(listing, parent, name, bytes);
	return *path_out != NO_PATH
		       ? 0
		       : add_path(listing, parent, name, bytes, path_out, err);
}

int dw_side_path(struct side_listing *listing, const char *text, size_t bytes,
		 uint32_t *path_out, dwarfs_error **err)
{
	uint32_t path = ROOT_PATH;
	int ret = need_root(listing, err);

	for (size_t at = 0, end; ret == 0 && at < bytes; at = end + 1) {
		const char *slash = memchr(text + at, '/', bytes - at);

		end = slash ? (size_t)(slash - text) : bytes;
		ret = dw_side_path_in(listing, path, text + at, end - at, &path, err);
	}
	*path_out = path;
	return ret;
}

uint32_t dw_side_find_path(const struct side_listing *listing, const char *text)
{
	uint32_t path = listing->path_count ? ROOT_PATH : NO_PATH;

	while (*text && path != NO_PATH) {
		const size_t bytes = strcspn(text, "/");

		path = find_in(listing, path, text, bytes);
		text += bytes + (text[bytes] == '/');
	}
	return path;
}

int dw_side_path_text(const struct side_listing *listing, uint32_t path,
		      struct buffer *to, dwarfs_error **err)
{
	size_t bytes = 0;
	uint8_t *at;
	int ret;

	for (uint32_t i = path; i != ROOT_PATH; i = listing->paths[i].parent)
		bytes += strlen(dw_side_at(listing, listing->paths[i].name)) +
			 (listing->paths[i].depth > 1);
	to->size = 0;
	if ((ret = dw_buffer_reserve(to, bytes + 1, err)) < 0)
		return ret;
	to->size = bytes;
	at = to->data + bytes;
	*at = '\0';
	for (uint32_t i = path; i != ROOT_PATH; i = listing->paths[i].parent) {
		const char *name = dw_side_at(listing, listing->paths[i].name);
		const size_t name_bytes = strlen(name);

		at -= name_bytes;
		memcpy(at, name, name_bytes);
		if (listing->paths[i].depth > 1)
			*--at = '/';
	}
	return 0;
}

/* -- entries ------------------------------------------------------------------------- */

int dw_side_add(struct side_listing *listing, uint32_t path,
		const struct side_entry *entry, struct side_entry **listed_out,
		dwarfs_error **err)
{
	struct side_entry *listed;
	int ret;

	if (listing->count == UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "these are too many entries");
	ret = dw_grow(&listing->list, &listing->room, listing->count + 1, err);
	if (ret < 0)
		return ret;
	listed = &listing->list[listing->count];
	*listed = *entry;
	listed->path = path;
	listed->number = (uint32_t)listing->count++;
	*listed_out = listed;
	return 0;
}

int dw_side_add_file(struct side_listing *listing, uint64_t size, uint64_t id,
		     uint32_t *file_out, dwarfs_error **err)
{
	int ret = dw_grow(&listing->files, &listing->file_room, listing->file_count + 1,
			  err);

	if (ret < 0)
		return ret;
	listing->files[listing->file_count] = (struct side_contents){
		.size = size,
		.id = id,
		.trouble = NO_TEXT,
		.first = UINT64_MAX,
	};
	*file_out = (uint32_t)listing->file_count++;
	return 0;
}

int dw_side_trouble(struct side_listing *listing, uint32_t file, const char *why,
		    dwarfs_error **err)
{
	return dw_side_text(listing, why, strlen(why), &listing->files[file].trouble,
			    err);
}

/* -- extended attributes ------------------------------------------------------------- */

/* The layout in the text: the size of the value, name, NUL, value, NUL. */

int dw_side_add_xattr(struct side_listing *listing, const char *name, const void *value,
		      size_t bytes, dwarfs_error **err)
{
	struct side_entry *entry = &listing->list[listing->count - 1];
	const uint32_t size = (uint32_t)bytes;
	uint64_t offset, ignored;
	int ret;

	if (bytes > UINT32_MAX / 4)
		return dw_fail(err, DWARFS_ERR_RANGE, "an attribute of %zu bytes", bytes);
	offset = listing->text.size;
	if ((ret = dw_buffer_append(&listing->text, &size, sizeof(size), err)) < 0 ||
	    (ret = dw_side_text(listing, name, strlen(name), &ignored, err)) < 0 ||
	    (ret = dw_side_text(listing, value, bytes, &ignored, err)) < 0)
		return ret;
	if (entry->xattrs == NO_TEXT) {
		entry->xattrs = offset;
		entry->xattr_bytes = 0;
	}
	entry->xattr_bytes = (uint32_t)(listing->text.size - entry->xattrs);
	return 0;
}

int dw_side_lose(struct side_listing *listing, enum known how, const char *why,
		 dwarfs_error **err)
{
	struct side_entry *entry = &listing->list[listing->count - 1];

	entry->known &= ~(uint32_t)(how == KNOWN_LOST ? KNOWN_ALL : KNOWN_XATTRS);
	entry->known |= how;
	entry->xattr_bytes = 0;
	return dw_side_text(listing, why, strlen(why), &entry->xattrs, err);
}

bool dw_side_xattr(const struct side_listing *listing, const struct side_entry *entry,
		   uint32_t *at_inout, struct side_xattr *xattr_out)
{
	const char *at;

	if (entry->xattrs == NO_TEXT || *at_inout >= entry->xattr_bytes)
		return false;
	at = dw_side_at(listing, entry->xattrs) + *at_inout;
	memcpy(&xattr_out->bytes, at, sizeof(xattr_out->bytes));
	xattr_out->name = at + sizeof(xattr_out->bytes);
	xattr_out->value = xattr_out->name + strlen(xattr_out->name) + 1;
	*at_inout +=
		(uint32_t)((const char *)xattr_out->value - at) + xattr_out->bytes + 1;
	return true;
}

static int compare_listed_xattrs(const void *left, const void *right)
{
	const struct side_xattr *a = left, *b = right;

	return strcmp(a->name, b->name);
}

/* By name; they are few. */
static int sort_xattrs(struct side_listing *listing, struct side_entry *entry,
		       dwarfs_error **err)
{
	auto_free struct side_xattr *all = NULL;
	auto_free char *copy = NULL;
	size_t count = 0, room = 0;
	uint32_t at = 0;
	struct side_xattr one;
	char *to;
	int ret;

	for (; dw_side_xattr(listing, entry, &at, &one); all[count++] = one)
		if ((ret = dw_grow(&all, &room, count + 1, err)) < 0)
			return ret;
	if (count < 2)
		return 0;
	qsort(all, count, sizeof(*all), compare_listed_xattrs);
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

int dw_side_compare(const struct side_listing *const sides[2], const struct side_entry *a,
		    const struct side_entry *b)
{
	const struct path_node *left = &sides[0]->paths[a->path];
	const struct path_node *right = &sides[1]->paths[b->path];

	if (left->depth != right->depth)
		return left->depth > right->depth ? -1 : 1;
	return strcmp(dw_side_at(sides[0], left->name),
		      dw_side_at(sides[1], right->name));
}

/* By parent, then by name. */
static int compare_nodes(const void *left, const void *right, void *user)
{
	const struct side_listing *listing = user;
	const struct path_node *a = &listing->paths[*(const uint32_t *)left];
	const struct path_node *b = &listing->paths[*(const uint32_t *)right];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return strcmp(dw_side_at(listing, a->name), dw_side_at(listing, b->name));
}

/* Rank paths: a directory, then its names in order, each followed by what is below it. The
 * list has all but the root, by parent and name; the children of a path are its entries
 * [first[path], first[path + 1]). */
static void rank_paths(struct side_listing *listing, const uint32_t *sorted,
		       const uint32_t *first, uint32_t *stack)
{
	size_t waiting = 1;
	uint32_t rank = 0;

	stack[0] = ROOT_PATH;
	while (waiting > 0) {
		const uint32_t path = stack[--waiting];

		listing->paths[path].rank = rank++;
		for (uint32_t i = first[path + 1]; i-- > first[path];)
			stack[waiting++] = sorted[i];
	}
}

static int sort_paths(struct side_listing *listing, dwarfs_error **err)
{
	const size_t count = listing->path_count;
	auto_free uint32_t *sorted = dw_calloc(count + 1, sizeof(*sorted));
	auto_free uint32_t *first = dw_calloc(count + 1, sizeof(*first));
	auto_free uint32_t *stack = dw_calloc(count + 1, sizeof(*stack));

	if (!sorted || !first || !stack)
		return dw_fail_nomem(err);
	if (count == 0)
		return 0;
	for (uint32_t i = 1; i < count; i++) {
		sorted[i - 1] = i;
		first[listing->paths[i].parent + 1]++;
	}
	for (size_t i = 1; i <= count; i++)
		first[i] += first[i - 1];
	if (count > 2)
		qsort_r(sorted, count - 1, sizeof(*sorted), compare_nodes, listing);
	rank_paths(listing, sorted, first, stack);
	return 0;
}

static int compare_entries(const void *left, const void *right, void *user)
{
	const struct path_node *paths = user;
	const struct side_entry *a = left, *b = right;

	if (a->path != b->path)
		return paths[a->path].rank < paths[b->path].rank ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

int dw_side_sort(struct side_listing *listing, dwarfs_error **err)
{
	struct side_entry *list = listing->list;
	size_t kept = 0;
	int ret = sort_paths(listing, err);

	if (ret < 0)
		return ret;
	if (listing->count > 1)
		qsort_r(list, listing->count, sizeof(*list), compare_entries,
			listing->paths);
	for (size_t i = 0; i < listing->count; i++) {
		if (i + 1 < listing->count && list[i].path == list[i + 1].path) {
			if (listing->is_unique)
				list[i + 1].known |= KNOWN_TWICE;
			continue;
		}
		list[kept++] = list[i];
	}
	listing->count = kept;
	for (size_t i = 0; i < kept && ret == 0; i++)
		ret = sort_xattrs(listing, &list[i], err);
	return ret;
}
