/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Make an image of entries that a program adds one by one.
 *
 *     dwarfs_item_new(0100644, &item, &err);
 *     dwarfs_item_set_memory(item, "hello\n", 6, &err);
 *     dwarfs_builder_add_item(builder, "doc/hello", 9, item, &err);
 *     dwarfs_item_free(item);
 *     dwarfs_builder_write_path(builder, "hello.dwarfs", false, &err);
 *
 * An item describes an entry: its type, attributes and contents. It may be used for
 * several entries, and changed in between. Entries may be added in any order; parent
 * directories are created as needed. The image depends on the paths only, not on the
 * order of adding, except where an entry replaces another.
 *
 * Threads: an item, like a builder, belongs to one thread at a time.
 */
#ifndef DWARFS_ITEM_H
#define DWARFS_ITEM_H

#include <dwarfs/builder.h>
#include <dwarfs/walk.h>

DWARFS_BEGIN_DECLS

/** The description of an entry to be added to an image. */
typedef struct dwarfs_item dwarfs_item;

/* -- attributes ---------------------------------------------------------------------- */

/**
 * Make an item, owned by user and group 0, with all times 0. A regular file is empty
 * until contents are set.
 *
 * @param mode      type and permissions, as st_mode: 0100644 is a regular file, 0040755 a
 *                  directory, 0120777 a symbolic link
 * @param item_out  receives the item; free it with dwarfs_item_free()
 * @param err       receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a type that does not exist, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_item_new(uint32_t mode, dwarfs_item **item_out, dwarfs_error **err);

/**
 * Free an item; NULL is accepted. Entries that were added from it remain.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_item_free(dwarfs_item *item);

/** Set owner and group; both 0 by default. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_item_set_owner(dwarfs_item *item, uint32_t uid, uint32_t gid);

/**
 * Set a time. Access and change times are stored with
 * dwarfs_builder_set_keep_all_times(), the birth time with
 * dwarfs_builder_set_keep_birth_times(). Access and change times default to the
 * modification time; without a birth time none is stored. Times are rounded down to
 * dwarfs_builder_set_time_resolution(), by default to seconds.
 *
 * @param item         an item
 * @param which        a dwarfs_time; an unknown one changes nothing
 * @param seconds      since 1970, negative before it
 * @param nanoseconds  0..999999999, added to the seconds, also to negative ones; larger
 *                     values count as 999999999
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_item_set_time(dwarfs_item *item, enum dwarfs_time which,
				     int64_t seconds, uint32_t nanoseconds);

/**
 * Set the number of a block or character device; other types have none. A major number
 * has at most 12 bits, a minor one 20; adding an item with larger ones fails with
 * DWARFS_ERR_RANGE.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_item_set_device(dwarfs_item *item, uint32_t major, uint32_t minor);

/**
 * Set the target of a symbolic link.
 *
 * @param item    an item
 * @param target  is copied
 * @param bytes   its length, 1..4095, without a NUL
 * @param err     receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for an item of another type or a NUL inside, DWARFS_ERR_RANGE
 *         for the length, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_item_set_target(dwarfs_item *item, const char *target, size_t bytes,
				      dwarfs_error **err);

/**
 * Make the item a hard link to another entry, which determines its attributes and
 * contents; all other settings of the item are ignored.
 *
 * If the other entry exists already, the link refers to the inode that the entry has now,
 * also if the entry is replaced or removed later. With DWARFS_CONFLICT_FIRST and
 * DWARFS_CONFLICT_RENAME, the path is searched first among the entries of the same input,
 * with the paths by which they were added even if they are left out or renamed; other
 * paths are resolved when the input ends. Otherwise the path is resolved when the builder
 * runs: if it does not exist then, is a directory, or leads only to links in a loop, the
 * link is left out, which is logged and counted (DWARFS_COUNT_ERRORS). Contents or a
 * target that are set later make the item a file or a symbolic link again.
 *
 * @param item   an item
 * @param path   of the other entry, as for dwarfs_builder_add_item(); is copied
 * @param bytes  its length
 * @param err    receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for an invalid path, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_item_set_hard_link(dwarfs_item *item, const char *path,
					 size_t bytes, dwarfs_error **err);

/**
 * Add an extended attribute; one of the same name is replaced, and kept on failure.
 *
 * @param item   an item
 * @param name   with its namespace, as "user.comment"; 1..255 bytes; is copied
 * @param value  is copied; NULL is accepted for 0 bytes
 * @param bytes  the length of the value, up to 16 MiB
 * @param err    receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE for a length, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_item_add_xattr(dwarfs_item *item, const char *name,
				     const void *value, size_t bytes, dwarfs_error **err);

/* -- contents of a regular file: the last setting applies ---------------------------- */

/**
 * Take the contents from a file on disk. It is read when the builder runs and should not
 * change until then: as with a directory, a file that changed is reported and counted.
 *
 * @param item  a regular file
 * @param path  is copied; a relative path refers to the working directory at the time when the
 *              item is added; symbolic links are followed
 * @param err   receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for an item of another type, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_item_set_path(dwarfs_item *item, const char *path,
				    dwarfs_error **err);

/**
 * Take the contents from a source. If it is a file that is read from its first byte on, its holes
 * are kept. A stream is read to its end when the item is added, so such an item can be added only
 * once.
 *
 * @param item  a regular file
 * @param io    the source; the item keeps it alive
 * @param err   receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID for an item of another type
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_item_set_io(dwarfs_item *item, dwarfs_io *io, dwarfs_error **err);

/**
 * Take the contents from memory.
 *
 * @param item   a regular file
 * @param data   owned by the caller; must be valid when the item is added, not later
 * @param bytes  how many
 * @param err    receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID for an item of another type
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_item_set_memory(dwarfs_item *item, const void *data, size_t bytes,
				      dwarfs_error **err);

/**
 * Returns the next piece of the contents. Pieces have ascending offsets and do not
 * overlap; the ranges between them, before the first and after the last one are holes.
 *
 * @param data_out    receives the bytes; they must be valid until the next call
 * @param bytes_out   receives how many; with 0, the file reaches at least to the offset, so that
 *                    it can end with a hole
 * @param offset_out  receives their offset in the file, in bytes; if not set, they follow
 *                    the previous piece
 * @param err         receives the reason of a failure; may be NULL
 * @param user        as given to dwarfs_item_set_reader()
 * @return 1 for a piece, 0 at the end, or a negative DWARFS_ERR_*, which
 *         dwarfs_builder_add_item() returns; it returns DWARFS_ERR_INVALID for a piece before
 *         the end of the last one or beyond the announced size, and for bytes at NULL
 *
 * Threads: called by the thread that adds the item, during that call.
 */
typedef int (*dwarfs_item_read_fn)(const void **data_out, size_t *bytes_out,
				   uint64_t *offset_out, dwarfs_error **err, void *user);

/**
 * Take the contents from a callback, which is called until it returns 0.
 *
 * @param item   a regular file
 * @param bytes  size of the file, up to 2^63 - 1; UINT64_MAX: the end of the last piece
 * @param read   returns the pieces; all are read each time that the item is added
 * @param user   passed to read
 * @param err    receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for an item of another type, or DWARFS_ERR_RANGE
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_item_set_reader(dwarfs_item *item, uint64_t bytes,
				      dwarfs_item_read_fn read, void *user,
				      dwarfs_error **err);

/* -- conflicts ----------------------------------------------------------------------- */

/** What happens to a new entry if an earlier input has an entry with the same path, unless
 * both are directories. */
enum dwarfs_conflict {
	DWARFS_CONFLICT_LAST, /**< it replaces the earlier one; the default */
	DWARFS_CONFLICT_FIRST, /**< it is left out, with everything below it; of two directories,
				  the attributes are those of the first */
	DWARFS_CONFLICT_RENAME, /**< it gets a number: "name.2" and so on; a directory is an
				   error */
	DWARFS_CONFLICT_ERROR, /**< adding it fails with DWARFS_ERR_EXISTS */
};

/**
 * Set what happens to entries of different inputs with the same path. An input is what is
 * added between two calls of dwarfs_builder_begin_layer(); within one, the last entry of a
 * path stays in any case.
 *
 * @param builder   a builder; applies to entries that are added from now on
 * @param conflict  a dwarfs_conflict
 * @param err       receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE for another value
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_on_conflict(dwarfs_builder *builder,
					      enum dwarfs_conflict conflict,
					      dwarfs_error **err);

/* -- adding -------------------------------------------------------------------------- */

/**
 * Add an entry to the image.
 *
 * Contents other than those of dwarfs_item_set_path() are copied now: see
 * dwarfs_builder_set_spool(). The root and missing parent directories are created with mode
 * 0755 and owner, group and times 0, and keep these unless they are added themselves. An existing
 * entry is replaced, a directory with everything below it; if both are directories, only
 * the attributes are replaced; see dwarfs_builder_count_below(). A path through an entry
 * that is not a directory is refused.
 *
 * Filter rules, callbacks and options of the builder are applied when it runs, as to the
 * entries of a directory. A builder has either a directory or items as input; to combine
 * them, see dwarfs_builder_add_tree().
 *
 * @param builder  a builder that has not run yet and has no directory
 * @param path     relative to the root; "" is the root, which must be a directory. Names are
 *                 separated by one "/" and are 1..255 bytes long, neither "." nor ".."
 * @param bytes    length of the path
 * @param item     owned by the caller
 * @param err      receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_INVALID for an invalid path, a builder that has run or has a
 *         directory, a symbolic link without target, a hard link to a directory or to
 *         itself, or pieces that are out of order or do not fit the size;
 *         DWARFS_ERR_NOT_DIR; DWARFS_ERR_RANGE for a name that is too long;
 *         DWARFS_ERR_NO_SPACE when the disk is full; the error of opening or reading a
 *         file; DWARFS_ERR_LIMIT when names and attributes take more than half of the
 *         memory limit; DWARFS_ERR_CANCELLED; DWARFS_ERR_NOMEM. A failure leaves the
 *         entries as they were, except for parent directories that were created
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_item(dwarfs_builder *builder, const char *path,
				       size_t bytes, const dwarfs_item *item,
				       dwarfs_error **err);

/**
 * Remove an entry, a directory with everything below it. Other hard links to a file
 * remain.
 *
 * @param builder        a builder that has not run yet
 * @param path           as for dwarfs_builder_add_item()
 * @param bytes          length of the path
 * @param contents_only  whether to keep the entry itself, which must be a directory, and remove
 *                       only everything below it; the root itself is never removed
 * @param err            receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_NOT_FOUND, DWARFS_ERR_INVALID, or DWARFS_ERR_NOT_DIR for
 *         contents_only and an entry that is not a directory
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_remove_item(dwarfs_builder *builder, const char *path,
					  size_t bytes, bool contents_only,
					  dwarfs_error **err);

/**
 * Whether an entry with this path exists, including a hard link whose target was not
 * added yet.
 *
 * @param builder  a builder
 * @param path     as for dwarfs_builder_add_item()
 * @param bytes    length of the path
 * @return whether it exists; false for an invalid path, and once the builder has run
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API bool dwarfs_builder_has_item(const dwarfs_builder *builder, const char *path,
					size_t bytes);

/**
 * Begin a layer: until the next layer begins, dwarfs_builder_remove_older() does not remove
 * entries that are added after this call. This call also makes items the input of the builder,
 * as adding an item does: without any, the image has only a root.
 *
 * @param builder  a builder that has not run yet and has no directory
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_begin_layer(dwarfs_builder *builder, dwarfs_error **err);

/**
 * Remove an entry that was added before the current layer began, and everything below it.
 * Entries that the layer has added remain, and so do their parent directories.
 *
 * @param builder        a builder that has not run yet
 * @param path           as for dwarfs_builder_add_item()
 * @param bytes          length of the path
 * @param contents_only  whether to keep the entry itself, which must be a directory, and remove
 *                       only everything below it; the root itself is never removed
 * @param err            receives the details on failure; may be NULL
 * @return as dwarfs_builder_remove_item()
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_remove_older(dwarfs_builder *builder, const char *path,
					   size_t bytes, bool contents_only,
					   dwarfs_error **err);

/**
 * Check that the targets of all hard links exist by now; the run would leave out links without
 * a target.
 *
 * @param builder  a builder
 * @param err      receives the details on failure; may be NULL
 * @return 0; for the first invalid link, DWARFS_ERR_NOT_FOUND, or DWARFS_ERR_INVALID when
 *         its target is a directory; DWARFS_ERR_INVALID once the builder has run;
 *         DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_check_links(const dwarfs_builder *builder,
					  dwarfs_error **err);

/**
 * Called for each hard link without a valid target.
 *
 * @param path  of the link, relative to the root; valid during the call
 * @param why   a static string without a newline
 * @param user  as given to dwarfs_builder_resolve_links()
 *
 * Must not use the builder.
 *
 * Threads: the thread that called dwarfs_builder_resolve_links().
 */
typedef void (*dwarfs_lost_link_fn)(const char *path, const char *why, void *user);

/**
 * Resolve all hard links now, as the run does. Afterwards the links stay as they are even if
 * their targets are replaced or removed. Links to missing entries, to directories or to
 * themselves are removed.
 *
 * @param builder  a builder that has not run yet and has no directory
 * @param lost     called for each link that is removed; may be NULL
 * @param user     for the callback
 * @param err      receives the details on failure; may be NULL
 * @return 0, also when links were lost; DWARFS_ERR_INVALID or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_resolve_links(dwarfs_builder *builder,
					    dwarfs_lost_link_fn lost, void *user,
					    dwarfs_error **err);

/**
 * How many entries are removed together with this one when it is removed, or replaced by
 * something other than a directory.
 *
 * @param builder   a builder
 * @param path      as for dwarfs_builder_add_item()
 * @param bytes     length of the path
 * @param of_layer  count only entries added since the current layer began, and their
 *                  parent directories: see dwarfs_builder_begin_layer()
 * @return the number of entries below a directory; 0 for anything else, and for a path
 *         that does not exist, and once the builder has run
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_builder_count_below(const dwarfs_builder *builder,
					       const char *path, size_t bytes,
					       bool of_layer);

/**
 * Add a directory of the system and everything below it, as if each entry were added by
 * dwarfs_builder_add_item() with its attributes. Names and attributes are read now,
 * contents when the builder runs. Hard links within the directory are kept. Entries that
 * cannot be read are logged, counted (DWARFS_COUNT_ERRORS) and left out. An entry that
 * replaces a directory that is not empty is logged as a warning. Birth times and extended
 * attributes are read according to the current options of the builder.
 *
 * @param builder    a builder that has not run yet and has no directory
 * @param directory  of the system; a symbolic link to one is followed
 * @param prefix     the directory of the image that it becomes, as for
 *                   dwarfs_builder_add_item(); "" for the root
 * @param bytes      length of the prefix
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOT_FOUND, _NOT_DIR or _ACCESS for the directory; otherwise as
 *         dwarfs_builder_add_item()
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_tree(dwarfs_builder *builder, const char *directory,
				       const char *prefix, size_t bytes,
				       dwarfs_error **err);

/**
 * Set where the builder keeps contents that are copied when an item is added: in memory up to
 * a limit, then in one unnamed temporary file, which is deleted with the builder. Long runs
 * of zeros take no space in memory or in the file.
 *
 * With images that the new one keeps blocks of (<dwarfs/rewrite.h>), the directory is also that of
 * another such file, for decompressed blocks. Its default is the directory of the file that
 * dwarfs_sink_open() creates, or "/tmp" for another sink.
 *
 * @param builder       a builder that has no such contents yet
 * @param directory     for the temporary files; is copied; NULL for the default, "/tmp"
 * @param memory_bytes  how much to keep in memory; UINT64_MAX for the default: an eighth
 *                      of the memory limit, or 64 MiB without one
 * @param err           receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID when contents were copied already, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_spool(dwarfs_builder *builder, const char *directory,
					uint64_t memory_bytes, dwarfs_error **err);

DWARFS_END_DECLS

#endif
