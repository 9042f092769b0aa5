/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Look up, list and describe what an image holds.
 *
 * An image numbers its directory entries and its inodes. An entry is a name in a directory,
 * an inode is what it names; entries with the same inode are hard links. The entries of a
 * directory are consecutive and sorted by name, so listing one is counting:
 *
 *     dwarfs_dir_range(image, dir, &first, &count, err);
 *     for (entry = first; entry < first + count; entry++)
 *             dwarfs_entry_name(image, entry, name, sizeof(name), NULL, err);
 *
 * Numbers stay valid for as long as the image, cost nothing to keep, and need not be freed.
 * Nothing here allocates, except walks; nothing takes a lock.
 */
#ifndef DWARFS_WALK_H
#define DWARFS_WALK_H

#include <dwarfs/image.h>

DWARFS_BEGIN_DECLS

/** Number of a directory entry, 0 to dwarfs_image_entry_count() - 1. */
typedef uint32_t dwarfs_entry;

/** Number of an inode, 0 to dwarfs_image_inode_count() - 1. */
typedef uint32_t dwarfs_inode;

/** The entry and the inode of the root directory. */
#define DWARFS_ROOT 0

/** Room for any name, with its NUL. */
#define DWARFS_NAME_ROOM 256

/** Room for any target of a link, with its NUL. */
#define DWARFS_LINK_ROOM 4097

/* -- looking up ---------------------------------------------------------------------- */

/**
 * Find the entry of a path.
 *
 * @param image      an image
 * @param path       names separated by "/"; leading, trailing and doubled slashes and "."
 *                   do not matter; ".." is the parent, that of the root is the root; links
 *                   are not followed; "" is the root
 * @param entry_out  receives the entry
 * @param err        receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_NOT_FOUND, DWARFS_ERR_NOT_DIR or DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_find(const dwarfs_image *image, const char *path, dwarfs_entry *entry_out,
			   dwarfs_error **err);

/**
 * Find the entry of a path as a system would that has the image as its root: symbolic links in
 * it are followed, absolute ones from the root of the image, and never out of it.
 *
 * @param image      an image
 * @param path       as for dwarfs_find()
 * @param entry_out  receives the entry; it is no symbolic link
 * @param err        receives the details on failure; may be NULL
 * @return as dwarfs_find(); DWARFS_ERR_INVALID when more than 40 links lead to each other; or
 *         DWARFS_ERR_NOMEM
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
 * @param name       the name, not necessarily terminated
 * @param bytes      its length
 * @param entry_out  receives the entry
 * @param err        receives the details on failure; may be NULL: a look-up that finds nothing
 *                   then costs no allocation
 * @return 0, DWARFS_ERR_NOT_FOUND, DWARFS_ERR_NOT_DIR, DWARFS_ERR_RANGE or DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_dir_find(const dwarfs_image *image, dwarfs_inode dir, const char *name,
			       size_t bytes, dwarfs_entry *entry_out, dwarfs_error **err);

/**
 * The entries of a directory: count of them from first on, sorted by the bytes of their names.
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
 * The directory that a directory stands in; that of the root is the root.
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
 * The directory that an entry stands in; that of the root's entry is the root.
 *
 * @param image    an image
 * @param entry    an entry
 * @param dir_out  receives the inode of the directory
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, DWARFS_ERR_CORRUPT or DWARFS_ERR_NOMEM
 *
 * A search by halves among all directories. Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_entry_dir(const dwarfs_image *image, dwarfs_entry entry,
				dwarfs_inode *dir_out, dwarfs_error **err);

/**
 * What an entry names.
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
 * @param buffer     receives the name and a NUL; DWARFS_NAME_ROOM bytes always suffice
 * @param room       size of buffer
 * @param bytes_out  receives the length without the NUL; may be NULL
 * @param err        receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE (also when room is too small) or DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_entry_name(const dwarfs_image *image, dwarfs_entry entry, char *buffer,
				 size_t room, size_t *bytes_out, dwarfs_error **err);

/**
 * The target of a symbolic link, with "/" between names whatever system made it.
 *
 * @param image      an image
 * @param inode      inode of a link
 * @param buffer     receives the target and a NUL; DWARFS_LINK_ROOM bytes always suffice
 * @param room       size of buffer
 * @param bytes_out  receives the length without the NUL; may be NULL
 * @param err        receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID when it is no link, DWARFS_ERR_RANGE or DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_link_read(const dwarfs_image *image, dwarfs_inode inode, char *buffer,
				size_t room, size_t *bytes_out, dwarfs_error **err);

/** As dwarfs_link_read(), but the bytes as they are stored. Since 0.1. */
DWARFS_API int dwarfs_link_read_raw(const dwarfs_image *image, dwarfs_inode inode, char *buffer,
				    size_t room, size_t *bytes_out, dwarfs_error **err);

/* -- attributes ---------------------------------------------------------------------- */

/** The attributes of one entry or inode; made once, filled as often as needed. */
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
 * @param stat   is filled; unchanged on failure
 * @param err    receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE or DWARFS_ERR_CORRUPT
 *
 * Threads: any, each with a dwarfs_stat of its own. Since 0.1.
 */
DWARFS_API int dwarfs_entry_stat(const dwarfs_image *image, dwarfs_entry entry,
				 dwarfs_stat *stat, dwarfs_error **err);

/** As dwarfs_entry_stat(), for an inode. Since 0.1. */
DWARFS_API int dwarfs_inode_stat(const dwarfs_image *image, dwarfs_inode inode,
				 dwarfs_stat *stat, dwarfs_error **err);

/** @return the inode. Threads: any. Since 0.1. */
DWARFS_API dwarfs_inode dwarfs_stat_inode(const dwarfs_stat *stat);

/** @return type and permission bits as in st_mode of POSIX (S_IFDIR is 0040000). Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_mode(const dwarfs_stat *stat);

/** @return the owner's number. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_uid(const dwarfs_stat *stat);

/** @return the group's number. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_gid(const dwarfs_stat *stat);

/** @return bytes of a file or of a link's target; entries of a directory; else 0. Since 0.1. */
DWARFS_API uint64_t dwarfs_stat_bytes(const dwarfs_stat *stat);

/** @return bytes of a file without its holes; for the rest as dwarfs_stat_bytes(). Since 0.1. */
DWARFS_API uint64_t dwarfs_stat_allocated_bytes(const dwarfs_stat *stat);

/** @return for a file how many entries name it, else 1. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_nlink(const dwarfs_stat *stat);

/** @return major number of a device, else 0. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_rdev_major(const dwarfs_stat *stat);

/** @return minor number of a device, else 0. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_rdev_minor(const dwarfs_stat *stat);

/** @return seconds since 1970 of a dwarfs_time, negative before it; an access or change time that
 * is not stored is the mtime, a birth time that is not stored is 0. Threads: any. Since 0.1. */
DWARFS_API int64_t dwarfs_stat_seconds(const dwarfs_stat *stat, int time);

/** @return nanoseconds of a dwarfs_time, 0 to 999999999, to be added to its seconds, also when
 * these are negative. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_stat_nanoseconds(const dwarfs_stat *stat, int time);

/**
 * Attributes that damaged metadata may hold no valid value for: bits of dwarfs_stat_invalid().
 *
 * An invalid attribute has a default, so that contents can be read all the same: a mode is that
 * of the entry's type with permissions for the owner only (files 0600, directories 0700, links
 * 0777), owner and group are 65534, "nobody", a number of links is 1, and a time has no
 * fraction of a second. Only a device or special without a valid mode is an error, as nothing
 * else says what it is. dwarfs_image_check() reports the first of each kind.
 */
enum dwarfs_attribute {
	DWARFS_ATTRIBUTE_MODE = 1 << 0,	 /**< of another type, or missing */
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
 * Which attributes have no valid value in the image.
 *
 * @param stat  a dwarfs_stat that was filled
 * @return bits of dwarfs_attribute; 0 when all are as they are stored. Where access and change
 *         times are not stored they are invalid when the modification time is
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint32_t dwarfs_stat_invalid(const dwarfs_stat *stat);

/** @return the name of one dwarfs_attribute for messages, as "modification time"; a static
 * string, NULL for anything else. Threads: any. Since 0.1. */
DWARFS_API const char *dwarfs_attribute_name(uint32_t attribute);

/* -- walking ------------------------------------------------------------------------- */

/** A walk over a tree, from entry to entry. */
typedef struct dwarfs_walk dwarfs_walk;

/** In which order a walk visits entries. */
enum dwarfs_walk_order {
	DWARFS_WALK_TREE, /**< a directory, then what is in it, by name */
	DWARFS_WALK_DATA, /**< files by the place of their contents, after everything else in
			       tree order: reading them decodes blocks in their order */
};

/**
 * Start a walk.
 *
 * @param image     an image; kept alive by the walk
 * @param start     the entry to start at, visited first; DWARFS_ROOT for everything
 * @param order     a dwarfs_walk_order
 * @param walk_out  receives the walk; free it with dwarfs_walk_free()
 * @param err       receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, DWARFS_ERR_CORRUPT or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_walk_new(const dwarfs_image *image, dwarfs_entry start, int order,
			       dwarfs_walk **walk_out, dwarfs_error **err);

/**
 * Go to the next entry.
 *
 * @param walk       a walk
 * @param entry_out  receives the entry
 * @param err        receives the details on failure; may be NULL
 * @return 1 when there is an entry, 0 at the end, DWARFS_ERR_CORRUPT or DWARFS_ERR_NOMEM
 *
 * A walk in tree order that has given one entry at least can be gone on with after
 * DWARFS_ERR_CORRUPT: the next call passes over what is damaged. Until then dwarfs_walk_path()
 * is the path of that, with "?" for a name that cannot be one. Only a tree without end is an
 * error at every step that is left: count them.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_walk_next(dwarfs_walk *walk, dwarfs_entry *entry_out, dwarfs_error **err);

/**
 * The path of the entry the walk is at, from where it started: names joined by "/", "" for
 * the start itself. Valid until the walk goes on.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API const char *dwarfs_walk_path(const dwarfs_walk *walk);

/** @return how deep the entry is: 0 for the start, 1 for what is in it. Threads: one. Since 0.1. */
DWARFS_API uint32_t dwarfs_walk_depth(const dwarfs_walk *walk);

/**
 * Do not go into the directory the walk is at. Without effect on other entries and in data
 * order.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_walk_skip(dwarfs_walk *walk);

/** End a walk; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_walk_free(dwarfs_walk *walk);

DWARFS_END_DECLS

#endif
