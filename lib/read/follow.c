/* SPDX-License-Identifier: MIT */
/*
 * read/follow: look up a path as a system whose root is the image, following symbolic
 * links.
 *
 * Takes a path; gives an entry. The rest of the path is kept as text; the target of a
 * link is inserted before it.
 */
#include <dwarfs/walk.h>

#include "read/image/image.h"

#define MOST_LINKS 40 /* as in Linux */

struct follow {
	const dwarfs_image *image;
	dwarfs_entry entry; /* reached so far */
	dwarfs_entry dir;   /* directory that contains it */
	struct buffer rest; /* remaining path, with a NUL */
	unsigned links;
};

static int set_remaining_path(struct follow *follow, const char *target,
			      const char *remaining, dwarfs_error **err)
{
	auto_buffer struct buffer rest = { 0 };
	const size_t bytes = strlen(target);
	/* A slash at the end of a target, unlike that of a path, asks for a directory. */
	const char *separator = bytes > 0 && target[bytes - 1] == '/' ? "./" : "/";
	int ret;

	if ((ret = dw_buffer_append(&rest, target, bytes, err)) < 0 ||
	    (ret = dw_buffer_append(&rest, separator, strlen(separator), err)) < 0 ||
	    (ret = dw_buffer_append(&rest, remaining, strlen(remaining) + 1, err)) < 0)
		return ret;
	dw_buffer_free(&follow->rest);
	follow->rest = rest;
	rest = (struct buffer){ 0 };
	return 0;
}

static int follow_link(struct follow *follow, dwarfs_inode inode, const char *remaining,
		       dwarfs_error **err)
{
	char target[DWARFS_LINK_BUFFER_BYTES];
	int ret;

	if (++follow->links > MOST_LINKS)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "more than %d symbolic links lead to each other",
			       MOST_LINKS);
	ret = dwarfs_link_read(follow->image, inode, target, sizeof(target), NULL, err);
	if (ret < 0)
		return ret;
	follow->entry = target[0] == '/' ? DWARFS_ROOT_ENTRY : follow->dir;
	return set_remaining_path(follow, target, remaining, err);
}

/* The next name of the rest; removes it and what precedes it. */
static int take_name(struct follow *follow, size_t skip, size_t bytes, dwarfs_error **err)
{
	char *rest = (char *)follow->rest.data;
	const char *remaining = rest + skip + bytes;
	dwarfs_inode inode;
	int ret;

	follow->dir = follow->entry;
	if ((ret = dw_find_step(follow->image, rest + skip, bytes, &follow->entry, err)) <
		    0 ||
	    (ret = dwarfs_entry_inode(follow->image, follow->entry, &inode, err)) < 0)
		return ret;
	if (dw_view_class(follow->image->view, inode.number) == CLASS_LNK)
		return follow_link(follow, inode, remaining, err);
	memmove(rest, remaining, strlen(remaining) + 1);
	return 0;
}

static int follow_path(struct follow *follow, dwarfs_error **err)
{
	for (;;) {
		const char *rest = (const char *)follow->rest.data;
		const size_t skip = strspn(rest, "/");
		const size_t bytes = strcspn(rest + skip, "/");
		int ret;

		if (bytes == 0)
			return 0;
		if ((ret = take_name(follow, skip, bytes, err)) < 0)
			return ret;
	}
}

int dwarfs_find_followed(const dwarfs_image *image, const char *path,
			 dwarfs_entry *entry_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !path || !entry_out)
		return dw_fail_null(err, "image, path and entry_out");

	struct follow follow = { .image = image, .entry = DWARFS_ROOT_ENTRY };
	int ret = dw_buffer_append(&follow.rest, path, strlen(path) + 1, err);

	if (ret == 0 && (ret = follow_path(&follow, err)) < 0)
		dw_find_failed(path, follow.links > 0, ret, err);
	dw_buffer_free(&follow.rest);
	if (ret == 0)
		*entry_out = follow.entry;
	return ret;
}
