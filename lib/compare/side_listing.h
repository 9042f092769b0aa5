/* SPDX-License-Identifier: MIT */
/*
 * compare/side_listing: the entries of one side, sorted by path.
 *
 * Filled by one of from_image, from_directory and from_archive, which also hash the
 * contents of files. Strings are offsets into one text. A path is the number of a name,
 * which has the number of its parent, so that deep trees store each name once.
 */
#ifndef DW_COMPARE_SIDE_LISTING_H
#define DW_COMPARE_SIDE_LISTING_H

#include "base/memory.h"

#define NO_TEXT UINT64_MAX
#define NO_FILE UINT32_MAX
#define NO_PATH UINT32_MAX

/* The path of the root, "", in each listing. */
#define ROOT_PATH 0u

/* An entry. */
enum known {
	KNOWN_MODE = 1 << 0,
	KNOWN_OWNER = 1 << 1,
	KNOWN_GROUP = 1 << 2,
	KNOWN_TIME = 1 << 3,
	KNOWN_XATTRS = 1 << 4,
	KNOWN_ALL = (1 << 5) - 1,
	KNOWN_TWICE = 1 << 5, /* another entry has this path, and nothing is compared */
	KNOWN_LOST = 1 << 6,  /* xattrs: why nothing is known but the path */
	KNOWN_NO_XATTRS = 1 << 7, /* xattrs: why they cannot be read */
};

/* Of the first four above: the image has an invalid value. */
#define KNOWN_INVALID(what) ((uint32_t)(what) << 8)

struct side_entry {
	uint64_t target; /* of a symbolic link, with a NUL */
	uint64_t xattrs; /* see dw_side_xattr(); a text where known says so */
	uint64_t size;
	int64_t seconds;
	uint32_t nanoseconds;
	uint32_t mode, uid, gid;
	uint32_t major, minor;
	uint32_t xattr_bytes;
	uint32_t target_bytes;
	uint32_t file;	 /* of listing->files, for regular files; hard links share it */
	uint32_t path;	 /* of listing->paths */
	uint32_t number; /* in the order of listing */
	uint32_t known;
};

/* The contents of a file. */
struct side_contents {
	uint64_t sum[2];
	uint64_t size;
	uint64_t id;	  /* private to the side: an inode, or an offset in the text */
	uint64_t trouble; /* in the text: why it cannot be read, or NO_TEXT */
	uint64_t first;	  /* lowest entry that both sides have, for hard links */
	bool is_wanted, has_sum;
};

/* A path: a name in a directory. Equal paths of a listing have one number. */
struct path_node {
	uint64_t name;	 /* in the text, with a NUL */
	uint32_t parent; /* that of the root is NO_PATH */
	uint32_t depth;	 /* 0 for the root */
	uint32_t next;	 /* with the same hash */
	uint32_t rank;	 /* after dw_side_sort(): in the order of paths */
};

struct side_listing {
	struct buffer text;
	struct path_node *paths;
	size_t path_count, path_room;
	uint32_t *path_heads; /* by hash: the last path, or NO_PATH */
	size_t path_head_count;
	struct side_entry *list;
	size_t count, room;
	struct side_contents *files;
	size_t file_count, file_room;
	uint64_t resolution_ns; /* of the times, at least 1 */
	bool has_links;		/* whether hard links are known */
	bool is_unique;		/* duplicate paths are errors */
};

void dw_side_free(struct side_listing *listing);

static inline const char *dw_side_at(const struct side_listing *listing, uint64_t offset)
{
	return (const char *)listing->text.data + offset;
}

/* Append bytes and a NUL to the text. */
int dw_side_text(struct side_listing *listing, const void *data, size_t bytes,
		 uint64_t *offset_out, dwarfs_error **err);

/* -- paths --------------------------------------------------------------------------- */

/* The path of a name in a directory, made if there is none; ROOT_PATH needs no parent. */
int dw_side_path_in(struct side_listing *listing, uint32_t parent, const char *name,
		    size_t bytes, uint32_t *path_out, dwarfs_error **err);

/* The same for names joined by "/"; "" is the root. */
int dw_side_path(struct side_listing *listing, const char *text, size_t bytes,
		 uint32_t *path_out, dwarfs_error **err);

/* The number of a path, or NO_PATH if there is none. */
uint32_t dw_side_find_path(const struct side_listing *listing, const char *text);

/* Replace a buffer by the names joined by "/", and a NUL that does not count. */
int dw_side_path_text(const struct side_listing *listing, uint32_t path,
		      struct buffer *to, dwarfs_error **err);

/* -- entries ------------------------------------------------------------------------- */

/* Add an entry; path and number are filled in, NO_FILE and NO_TEXT are the caller's. The
 * pointer is good until the next one. */
int dw_side_add(struct side_listing *listing, uint32_t path,
		const struct side_entry *entry, struct side_entry **listed_out,
		dwarfs_error **err);

/* A new file with contents of its own. */
int dw_side_add_file(struct side_listing *listing, uint64_t size, uint64_t id,
		     uint32_t *file_out, dwarfs_error **err);

/* Note why the contents cannot be had; takes nothing. */
int dw_side_trouble(struct side_listing *listing, uint32_t file, const char *why,
		    dwarfs_error **err);

/* Add one attribute of the entry that was added last; sorted by dw_side_sort(). */
int dw_side_add_xattr(struct side_listing *listing, const char *name, const void *value,
		      size_t bytes, dwarfs_error **err);

/* Note of the entry that was added last that it cannot be read: how is KNOWN_LOST or
 * KNOWN_NO_XATTRS. Takes nothing. */
int dw_side_lose(struct side_listing *listing, enum known how, const char *why,
		 dwarfs_error **err);

struct side_xattr {
	const char *name;
	const void *value; /* NUL-terminated */
	uint32_t bytes;
};

/* The attribute at *at_inout, 0 at first, which is moved on; false at the end. */
bool dw_side_xattr(const struct side_listing *listing, const struct side_entry *entry,
		   uint32_t *at_inout, struct side_xattr *xattr_out);

/* By path; of several entries with the same one the last stays, as KNOWN_TWICE if that is
 * a fault. */
int dw_side_sort(struct side_listing *listing, dwarfs_error **err);

/*
 * The order of the next entries of two sorted listings, in which all parents of an entry are
 * entries: a directory precedes its entries, and these precede the entries after it.
 *
 * The entries before these two have been passed on both sides. So a deeper one is below an
 * entry that was passed, and precedes the other; at the same depth both have the same parent.
 */
int dw_side_compare(const struct side_listing *const sides[2], const struct side_entry *a,
		    const struct side_entry *b);

#endif
