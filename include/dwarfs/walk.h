/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Look up, list and stat the entries of an image.
 *
 * An image numbers its directory entries and its inodes. An entry is a name in a
 * directory, and refers to an inode; entries with the same inode are hard links. The
 * entries of a directory are consecutive and sorted by name, so listing one is counting:
 *
 *     dwarfs_dir_range(image, dir, &entry, &count, &err);
 *     for (; count > 0; count--, entry.number++)
 *             dwarfs_entry_name(image, entry, name, sizeof(name), NULL, &err);
 *
 * Numbers are valid as long as the image and need not be freed. Some functions need a table
 * for the whole image, such as that of parents or of link counts. The first call that needs it
 * allocates and fills it, and threads that need the same table wait for that; such a call can
 * also return DWARFS_ERR_NOMEM. Other calls take no lock, and allocate only errors and the
 * objects that they return. With DWARFS_VERIFY_LAZY all functions that return an error code
 * can also return DWARFS_ERR_CHECKSUM.
 */
#ifndef DWARFS_WALK_H
#define DWARFS_WALK_H

#include <dwarfs/image.h>

DWARFS_BEGIN_DECLS

/** A directory entry, by its number: 0 to dwarfs_image_entry_count() - 1. Passed by value. */
typedef struct dwarfs_entry {
	uint32_t number;
} dwarfs_entry;

/** An inode, by its number: 0 to dwarfs_image_inode_count() - 1. Passed by value. */
typedef struct dwarfs_inode {
	uint32_t number;
} dwarfs_inode;

/** @return the entry with this number, which is not checked. Threads: any. Since 0.1. */
static inline dwarfs_entry dwarfs_entry_at(uint32_t number)
{
	dwarfs_entry entry;

	entry.number = number;
	return entry;
}

/** @return the inode with this number, which is not checked. Threads: any. Since 0.1. */
static inline dwarfs_inode dwarfs_inode_at(uint32_t number)
{
	dwarfs_inode inode;

	inode.number = number;
	return inode;
}

/** The entry of the root directory. */
#define DWARFS_ROOT_ENTRY dwarfs_entry_at(0)

/** The inode of the root directory. */
#define DWARFS_ROOT_INODE dwarfs_inode_at(0)

/** Buffer size that holds any name, with its NUL. */
#define DWARFS_NAME_BUFFER_BYTES 256

/** Buffer size that holds any target of a link, with its NUL. */
#define DWARFS_LINK_BUFFER_BYTES 4097

/* -- looking up ---------------------------------------------------------------------- */

/**
 * Find the entry of a path.
 *
 * @param image      an image
 * @param path       names separated by "/"; leading, trailing and doubled slashes and "."
 *                   are ignored; ".." is the parent directory, and in the root the root;
 *                   symbolic links are not followed: a path through one fails with
 *                   DWARFS_ERR_NOT_DIR; "" is the root
 * @param entry_out  receives the entry
 * @param err        receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_NOT_FOUND, DWARFS_ERR_NOT_DIR or DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_find(const dwarfs_image *image, const char *path,
			   dwarfs_entry *entry_out, dwarfs_error **err);

/**
 * Find the entry of a path and follow symbolic links, as with the image as root file
 * system: absolute links start at the root of the image, and no link leads out of it. A
 * target that ends in a slash must be a directory.
 *
 * @param image      an image
 * @param path       as for dwarfs_find()
 * @param entry_out  receives the entry, which is not a symbolic link
 * @param err        receives the details on failure; may be NULL
 * @return as dwarfs_find(); DWARFS_ERR_INVALID when more than 40 links would have to be
 *         followed; or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_find_followed(const dwarfs_image *image, const char *path,
				    dwarfs_entry *entry_out, dwarfs_error **err);

/**
 * Find a name in a directory.
 *
 * @param image      an image
 * @param dir        inode of the directory
 * @param name       the name, not necessarily NUL-terminated
 * @param bytes      its length
 * @param entry_out  receives the entry
 * @param err        receives the details on failure; may be NULL, and then a look-up that
 *                   finds nothing does not allocate
 * @return 0, DWARFS_ERR_NOT_FOUND, DWARFS_ERR_NOT_DIR, DWARFS_ERR_RANGE or DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_dir_find(const dwarfs_image *image, dwarfs_inode dir,
			       const char *name, size_t bytes, dwarfs_entry *entry_out,
			       dwarfs_error **err);

/**
 * The range of entries of a directory, which are sorted by the bytes of their names.
 *
 * @param image      an image
 * @param dir        inode of the directory
 * @param first_out  receives the first entry
 * @param count_out  receives how many there are
 * @param err        receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_NOT_DIR, DWARFS_ERR_RANGE or DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_dir_range(const dwarfs_image *image, dwarfs_inode dir,
				dwarfs_entry *first_out, uint32_t *count_out,
				dwarfs_error **err);

/**
 * The parent of a directory; the root is its own parent.
 *
 * @param image       an image
 * @param dir         inode of the directory
 * @param parent_out  receives the inode of its parent
 * @param err         receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_NOT_DIR, DWARFS_ERR_RANGE, DWARFS_ERR_CORRUPT or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_dir_parent(const dwarfs_image *image, dwarfs_inode dir,
				 dwarfs_inode *parent_out, dwarfs_error **err);

/**
 * The directory that contains an entry; the root for the root's own entry.
 *
 * @param image    an image
 * @param entry    an entry
 * @param dir_out  receives the inode of the directory
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, DWARFS_ERR_CORRUPT or DWARFS_ERR_NOMEM
 *
 * This is a binary search over all directories. Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_entry_dir(const dwarfs_image *image, dwarfs_entry entry,
				dwarfs_inode *dir_out, dwarfs_error **err);

/**
 * The inode of an entry.
 *
 * @param image      an image
 * @param entry      an entry
 * @param inode_out  receives the inode
 * @param err        receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE or DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_entry_inode(const dwarfs_image *image, dwarfs_entry entry,
				  dwarfs_inode *inode_out, dwarfs_error **err);

/**
 * The name of an entry: 1 to 255 bytes without "/" and NUL; "" for the root.
 *
 * @param image      an image
 * @param entry      an entry
 * @param buffer     receives the name and a NUL; DWARFS_NAME_BUFFER_BYTES bytes always suffice
 * @param room       size of buffer in bytes
 * @param bytes_out  receives the length without the NUL; may be NULL
 * @param err        receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE (also when room is too small) or DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_entry_name(const dwarfs_image *image, dwarfs_entry entry,
				 char *buffer, size_t room, size_t *bytes_out,
				 dwarfs_error **err);

/**
 * The target of a symbolic link, with "/" as separator, whatever system the image was
 * made on.
 *
 * @param image      an image
 * @param inode      inode of a link
 * @param buffer     receives the target and a NUL; DWARFS_LINK_BUFFER_BYTES bytes always suffice
 * @param room       size of buffer in bytes
 * @param bytes_out  receives the length without the NUL; may be NULL
 * @param err        receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID when it is not a symbolic link, DWARFS_ERR_RANGE or
 *         DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_link_read(const dwarfs_image *image, dwarfs_inode inode,
				char *buffer, size_t room, size_t *bytes_out,
				dwarfs_error **err);

/** As dwarfs_link_read(), but without conversion of separators. Threads: any. Since 0.1. */
DWARFS_API int dwarfs_link_read_raw(const dwarfs_image *image, dwarfs_inode inode,
				    char *buffer, size_t room, size_t *bytes_out,
				    dwarfs_error **err);

/* -- attributes ---------------------------------------------------------------------- */

/** The attributes of one entry or inode: a copy, which does not depend on the image. One object
 * can be filled many times. */
typedef struct dwarfs_stat dwarfs_stat;

/** The times of an entry: of its last access, of the last change of its contents and of its
 * attributes, and of its birth. */
enum dwarfs_time { DWARFS_ATIME, DWARFS_MTIME, DWARFS_CTIME, DWARFS_BTIME };

/**
 * @param stat_out  receives an empty dwarfs_stat; free it with dwarfs_stat_free()
 * @param err       receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_stat_new(dwarfs_stat **stat_out, dwarfs_error **err);

/** Free a dwarfs_stat; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_stat_free(dwarfs_stat *stat);

/**
 * The attributes of an entry. They are those of its inode, except in formats up to 2.2, where
 * files with equal contents share an inode but keep attributes of their own.
 *
 * @param image  an image
 * @param entry  an entry
 * @param stat   receives the attributes; unchanged on failure
 * @param err    receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE or DWARFS_ERR_CORRUPT
 *
 * Threads: any, each with a dwarfs_stat of its own. Since 0.1.
 */
DWARFS_API int dwarfs_entry_stat(const dwarfs_image *image, dwarfs_entry entry,
				 dwarfs_stat *stat, dwarfs_error **err);

/** As dwarfs_entry_stat(), for an inode. Threads: any. Since 0.1. */
DWARFS_API int dwarfs_inode_stat(const dwarfs_image *image, dwarfs_inode inode,
				 dwarfs_stat *stat, dwarfs_error **err);

/** @return the inode. Threads: any. Since 0.1. */
DWARFS_API dwarfs_inode dwarfs_stat_inode(const dwarfs_stat *stat);

/**
 * @return type and permission bits as in st_mode of POSIX (S_IFDIR is 0040000).
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint32_t dwarfs_stat_mode(const dwarfs_stat *stat);

/** @return the owner's number. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_uid(const dwarfs_stat *stat);

/** @return the group's number. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_gid(const dwarfs_stat *stat);

/**
 * @return bytes of a file or of a link's target; entries of a directory; else 0.
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_stat_bytes(const dwarfs_stat *stat);

/**
 * @return bytes of a file without its holes; for the rest as dwarfs_stat_bytes().
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_stat_allocated_bytes(const dwarfs_stat *stat);

/** @return for a file how many entries name it, else 1. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_nlink(const dwarfs_stat *stat);

/** @return major number of a device, else 0. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_rdev_major(const dwarfs_stat *stat);

/** @return minor number of a device, else 0. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_rdev_minor(const dwarfs_stat *stat);

/** @return seconds since 1970 of a dwarfs_time, negative before it; an access or change time that
 * is not stored is the mtime, a birth time that is not stored is 0. Threads: any. Since 0.1. */
DWARFS_API int64_t dwarfs_stat_seconds(const dwarfs_stat *stat, enum dwarfs_time time);

/** @return nanoseconds of a dwarfs_time, 0 to 999999999, to be added to its seconds, also when
 * these are negative. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_nanoseconds(const dwarfs_stat *stat,
					    enum dwarfs_time time);

/**
 * Attributes whose value in damaged metadata may be invalid: bits of
 * dwarfs_stat_invalid().
 *
 * An invalid attribute is replaced by a default, so that contents can still be read: a
 * mode is that of the entry's type with permissions for the owner only (files 0600,
 * directories 0700, links 0777), owner and group are 65534 (also for 4294967295, which no
 * user has), a number of links is 1, and a time has no fraction of a second. Only a
 * device or special without a valid mode is an error, as its type is stored nowhere else.
 * dwarfs_image_check() reports the first of each kind.
 */
enum dwarfs_attribute {
	DWARFS_ATTRIBUTE_MODE = 1 << 0,	 /**< missing, or not of the entry's type */
	DWARFS_ATTRIBUTE_UID = 1 << 1,	 /**< the owner */
	DWARFS_ATTRIBUTE_GID = 1 << 2,	 /**< the group */
	DWARFS_ATTRIBUTE_NLINK = 1 << 3, /**< how many entries name the file */
	DWARFS_ATTRIBUTE_ATIME = 1 << 4, /**< the times, in the order of dwarfs_time */
	DWARFS_ATTRIBUTE_MTIME = 1 << 5,
	DWARFS_ATTRIBUTE_CTIME = 1 << 6,
	DWARFS_ATTRIBUTE_BTIME = 1 << 7,
	DWARFS_ATTRIBUTE_TIMES = 15 << 4 /**< the last four */
};

/**
 * The attributes whose value in the image is invalid.
 *
 * @param stat  a dwarfs_stat that was filled
 * @return bits of dwarfs_attribute; 0 when all are valid. Access and change times that
 *         are not stored are invalid when the modification time is
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint32_t dwarfs_stat_invalid(const dwarfs_stat *stat);

/** @return the name of one dwarfs_attribute for messages, as "modification time"; a static
 * string, NULL for anything else. Threads: any. Since 0.1. */
DWARFS_API const char *dwarfs_attribute_name(enum dwarfs_attribute attribute);

/* -- walking ------------------------------------------------------------------------- */

/** A walk over a tree, from entry to entry. */
typedef struct dwarfs_walk dwarfs_walk;

/** The order in which a walk visits entries. */
enum dwarfs_walk_order {
	DWARFS_WALK_TREE, /**< a directory, then its entries, by name */
	DWARFS_WALK_DATA, /**< all entries but files in tree order, then the files by the
			       position of their data in the image: reading them
			       decompresses blocks in order */
};

/**
 * Start a walk.
 *
 * @param image     an image; kept alive by the walk
 * @param start     the entry to start at, visited first; DWARFS_ROOT_ENTRY for everything
 * @param order     a dwarfs_walk_order
 * @param walk_out  receives the walk; free it with dwarfs_walk_free()
 * @param err       receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, DWARFS_ERR_CORRUPT or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_walk_new(const dwarfs_image *image, dwarfs_entry start,
			       enum dwarfs_walk_order order, dwarfs_walk **walk_out,
			       dwarfs_error **err);

/**
 * Go to the next entry.
 *
 * @param walk       a walk
 * @param entry_out  receives the entry
 * @param err        receives the details on failure; may be NULL
 * @return 1 when there is an entry, 0 at the end, DWARFS_ERR_CORRUPT or DWARFS_ERR_NOMEM
 *
 * A walk that has returned at least one entry can be continued after
 * DWARFS_ERR_CORRUPT: the next call skips the damaged entry. Until then
 * dwarfs_walk_path() is the path of that entry, with "?" for an invalid name. A directory
 * loop may return this error without end: limit the number of calls.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_walk_next(dwarfs_walk *walk, dwarfs_entry *entry_out,
				dwarfs_error **err);

/**
 * The path of the current entry, relative to the start: names joined by "/", "" for the
 * start itself.
 *
 * @param walk  a walk that is at an entry
 * @return the path, borrowed from the walk until the next step
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API const char *dwarfs_walk_path(const dwarfs_walk *walk);

/** @return the depth of the entry: 0 for the start, 1 for its children. Threads: one.
 *         Since 0.1. */
DWARFS_API uint32_t dwarfs_walk_depth(const dwarfs_walk *walk);

/**
 * Do not descend into the current directory. Without effect on other entries and in data
 * order.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_walk_skip(dwarfs_walk *walk);

/** End a walk; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_walk_free(dwarfs_walk *walk);

DWARFS_END_DECLS

#endif
