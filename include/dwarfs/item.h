/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Make an image of entries given one by one, from wherever their contents are.
 *
 *     dwarfs_item_new(0100644, &item, &err);
 *     dwarfs_item_set_memory(item, "hello\n", 6, &err);
 *     dwarfs_builder_add_item(builder, "doc/hello", 9, item, &err);
 *     dwarfs_item_free(item);
 *     dwarfs_builder_write_path(builder, "hello.dwarfs", false, &err);
 *
 * An item says what an entry is to be: its type, its attributes, its contents. It may be used
 * for several entries, and changed in between. Entries come in any order; directories that
 * lead to them are made as needed. What stands in an image follows from its paths alone, so
 * the order of adding makes no difference to it, except where an entry replaces another.
 *
 * Threads: an item, like a builder, belongs to one thread at a time.
 */
#ifndef DWARFS_ITEM_H
#define DWARFS_ITEM_H

#include <dwarfs/builder.h>
#include <dwarfs/walk.h>

DWARFS_BEGIN_DECLS

/** What is to become an entry of an image. */
typedef struct dwarfs_item dwarfs_item;

/* -- attributes ---------------------------------------------------------------------- */

/**
 * Make an item, owned by user and group 0, with all times 0. A regular file is empty until
 * it gets contents.
 *
 * @param mode      type and permissions, as st_mode: 0100644 is a regular file, 0040755 a
 *                  directory, 0120777 a symbolic link
 * @param item_out  receives the item; free it with dwarfs_item_free()
 * @param err       receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a type that does not exist, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_item_new(uint32_t mode, dwarfs_item **item_out, dwarfs_error **err);

/** Free an item; NULL is accepted. What was added stays. Since 0.1. */
DWARFS_API void dwarfs_item_free(dwarfs_item *item);

/** Set owner and group; both 0 by default. Since 0.1. */
DWARFS_API void dwarfs_item_set_owner(dwarfs_item *item, uint32_t uid, uint32_t gid);

/**
 * Set a time. Those of access and change are stored if dwarfs_builder_set_keep_all_times()
 * asks for them, that of birth if dwarfs_builder_set_keep_birth_times() does. Access and change
 * are the modification time unless they are set, and birth is not known.
 *
 * @param item         an item
 * @param which        a dwarfs_time; an unknown one changes nothing
 * @param seconds      since 1970, negative before it
 * @param nanoseconds  0..999999999, to be added, also to negative seconds; more counts as
 *                     999999999
 *
 * Since 0.1.
 */
DWARFS_API void dwarfs_item_set_time(dwarfs_item *item, int which, int64_t seconds,
				     uint32_t nanoseconds);

/** Set the number of a block or character device; other types have none. Since 0.1. */
DWARFS_API void dwarfs_item_set_device(dwarfs_item *item, uint32_t major, uint32_t minor);

/**
 * Set where a symbolic link leads.
 *
 * @param item    an item
 * @param target  is copied
 * @param bytes   its length, 1..4096, without a NUL
 * @param err     receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for an item of another type or a NUL inside, DWARFS_ERR_RANGE
 *         for the length, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_item_set_target(dwarfs_item *item, const char *target, size_t bytes,
				      dwarfs_error **err);

/**
 * Make the item a further name of an entry, which has the attributes and the contents; what
 * else was set of this item counts for nothing.
 *
 * If the other entry was added before, the new name is one of what it is at that time, and
 * stays that when the other one is replaced or removed. Otherwise it is a name of what will
 * stand there when the builder runs: if nothing does, or only links that lead to each other,
 * or a directory, the name is left out, which is logged and counted (DWARFS_COUNT_ERRORS).
 *
 * @param item   an item
 * @param path   of the other entry, as for dwarfs_builder_add_item(); is copied
 * @param bytes  its length
 * @param err    receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a path that cannot be, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_item_set_hard_link(dwarfs_item *item, const char *path, size_t bytes,
					 dwarfs_error **err);

/**
 * Add an extended attribute; one of the same name is replaced.
 *
 * @param item   an item
 * @param name   with its namespace, as "user.comment"; 1..255 bytes; is copied
 * @param value  is copied; NULL is accepted for 0 bytes
 * @param bytes  the length of the value, up to 16 MiB
 * @param err    receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE for a length, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_item_add_xattr(dwarfs_item *item, const char *name, const void *value,
				     size_t bytes, dwarfs_error **err);

/* -- contents of a regular file: the last one that is set counts ---------------------- */

/**
 * Take the contents of a file on disk. It is read by the run, so it should not change until
 * then: as with a directory, a file that did is reported and counted.
 *
 * @param item  a regular file
 * @param path  is copied; relative to the working directory of the time when it is added;
 *              symbolic links are followed
 * @param err   receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for an item of another type, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_item_set_path(dwarfs_item *item, const char *path, dwarfs_error **err);

/**
 * Take the contents of a descriptor: all of a regular file or block device, holes as holes;
 * from anything else, such as a pipe, what can be read until its end.
 *
 * @param item  a regular file
 * @param fd    stays the caller's, and must be open when the item is added; where it stands
 *              in a regular file does not matter and does not change
 * @param err   receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID for an item of another type or a negative descriptor
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_item_set_fd(dwarfs_item *item, int fd, dwarfs_error **err);

/**
 * Take contents that are in memory.
 *
 * @param item   a regular file
 * @param data   stays the caller's, and must be there when the item is added, not later
 * @param bytes  how many
 * @param err    receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID for an item of another type
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_item_set_memory(dwarfs_item *item, const void *data, size_t bytes,
				      dwarfs_error **err);

/**
 * Gives the next piece of some contents. Pieces come by ascending offset, and do not overlap;
 * what is between them, in front of the first and behind the last one, is a hole.
 *
 * @param user        as given to dwarfs_item_set_reader()
 * @param data_out    receives the bytes; they must be there until the next call
 * @param bytes_out   receives how many; 0 is accepted
 * @param offset_out  receives where they stand in the file; unless it is set, they follow
 *                    those of the piece before
 * @param err         receives the details on failure; may be NULL
 * @return 1 for a piece, 0 at the end, or a negative DWARFS_ERR_*, which
 *         dwarfs_builder_add_item() returns
 *
 * Threads: called by the thread that adds the item, during that call.
 */
typedef int (*dwarfs_item_read_fn)(void *user, const void **data_out, size_t *bytes_out,
				   uint64_t *offset_out, dwarfs_error **err);

/**
 * Take contents from a callback, which is called until it gives no more.
 *
 * @param item   a regular file
 * @param bytes  size of the file, up to 2^63 - 1; UINT64_MAX: as far as its last piece goes
 * @param read   gives the pieces; it is used once for each time that the item is added
 * @param user   handed to read
 * @param err    receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for an item of another type, or DWARFS_ERR_RANGE
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_item_set_reader(dwarfs_item *item, uint64_t bytes,
				      dwarfs_item_read_fn read, void *user, dwarfs_error **err);

/* -- adding -------------------------------------------------------------------------- */

/**
 * Add an entry to the image.
 *
 * Contents that cannot be read when the builder runs (all but those of
 * dwarfs_item_set_path()) are copied now: see dwarfs_builder_set_spool(). Directories on the
 * way are made (mode 0755, owner, group and times 0) and stay so unless they are added
 * themselves, before or later. An entry that exists is replaced, and with a directory all
 * that is in it, unless both are directories: then only its attributes are; see
 * dwarfs_builder_count_below(). A path that leads
 * through something else than a directory is refused.
 *
 * Filter rules, callbacks and options of the builder are applied by the run, as to the
 * entries of a directory. A builder has a directory or items, not both; see
 * dwarfs_builder_add_tree().
 *
 * @param builder  a builder that has not run yet and has no directory
 * @param path     relative to the root; "" is the root, which must be a directory. Names are
 *                 separated by one "/" and are 1..255 bytes long, neither "." nor ".."
 * @param bytes    length of the path
 * @param item     stays the caller's
 * @param err      receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_INVALID for a path that cannot be, a builder that cannot take it, a
 *         symbolic link without target, a hard link to a directory or to itself, or pieces
 *         that are out of order or do not fit the size; DWARFS_ERR_NOT_DIR; DWARFS_ERR_RANGE
 *         for a name that is too long; DWARFS_ERR_NO_SPACE when the disk is full; what
 *         opening a file or reading it gives; DWARFS_ERR_LIMIT when names and attributes take
 *         more than half of the memory limit; DWARFS_ERR_CANCELLED; DWARFS_ERR_NOMEM. After a
 *         failure the entries are as they were before, but for directories that were made
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_item(dwarfs_builder *builder, const char *path, size_t bytes,
				       const dwarfs_item *item, dwarfs_error **err);

/**
 * Take an entry back, and with a directory all that is in it. Further names of a file stay.
 *
 * @param builder        a builder that has not run yet
 * @param path           as for dwarfs_builder_add_item()
 * @param bytes          length of the path
 * @param contents_only  leave the entry itself, a directory, which is always so for the root
 * @param err            receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_NOT_FOUND, DWARFS_ERR_INVALID, or DWARFS_ERR_NOT_DIR where the
 *         contents of something else are to be removed
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_remove_item(dwarfs_builder *builder, const char *path,
					  size_t bytes, bool contents_only, dwarfs_error **err);

/**
 * Whether there is an entry of this path, or a hard link to something that is yet to come.
 *
 * @param builder  a builder
 * @param path     as for dwarfs_builder_add_item()
 * @param bytes    length of the path
 * @return whether; false for a path that cannot be
 *
 * Since 0.1.
 */
DWARFS_API bool dwarfs_builder_has_item(const dwarfs_builder *builder, const char *path,
					size_t bytes);

/**
 * Begin a layer: dwarfs_builder_remove_older() spares what is added from now on, until the next
 * one. The builder has items from then on, be it none but the root.
 *
 * @param builder  a builder that has not run yet and has no directory
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_begin_layer(dwarfs_builder *builder, dwarfs_error **err);

/**
 * Take back an entry that was there before the present layer began, and all that is in it. What
 * the layer has added stays, and so do the directories that lead to it.
 *
 * @param builder        a builder that has not run yet
 * @param path           as for dwarfs_builder_add_item()
 * @param bytes          length of the path
 * @param contents_only  leave the entry itself, a directory, which is always so for the root
 * @param err            receives the details on failure; may be NULL
 * @return as dwarfs_builder_remove_item()
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_remove_older(dwarfs_builder *builder, const char *path,
					   size_t bytes, bool contents_only,
					   dwarfs_error **err);

/**
 * See whether all hard links lead to something that is there by now; otherwise the run would
 * leave them out.
 *
 * @param builder  a builder
 * @param err      receives the details on failure; may be NULL
 * @return 0; for the first that does not, DWARFS_ERR_NOT_FOUND, or DWARFS_ERR_INVALID when it
 *         leads to a directory; DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_check_links(const dwarfs_builder *builder, dwarfs_error **err);

/**
 * Is told about a hard link that leads nowhere.
 *
 * @param path  of the link, relative to the root; valid during the call
 * @param why   text without a newline; lives for ever
 * @param user  as given to dwarfs_builder_resolve_links()
 *
 * Must not use the builder.
 */
typedef void (*dwarfs_lost_link_fn)(const char *path, const char *why, void *user);

/**
 * Let all hard links be names of what they lead to, as the run does; what they lead to may be
 * replaced or removed from then on. Those that lead nowhere, to a directory or to themselves are
 * taken back.
 *
 * @param builder  a builder that has not run yet and has no directory
 * @param lost     is told each link that is taken back; may be NULL
 * @param user     for the callback
 * @param err      receives the details on failure; may be NULL
 * @return 0, also when links were lost; DWARFS_ERR_INVALID or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_resolve_links(dwarfs_builder *builder, dwarfs_lost_link_fn lost,
					    void *user, dwarfs_error **err);

/**
 * How many entries go when this one is replaced by something that is no directory, or removed.
 *
 * @param builder   a builder
 * @param path      as for dwarfs_builder_add_item()
 * @param bytes     length of the path
 * @param of_layer  count only what was added, or led to what was added, since the present layer
 *                  began: see dwarfs_builder_begin_layer()
 * @return the number of entries below a directory; 0 for what is none, or is not there
 *
 * Since 0.1.
 */
DWARFS_API uint64_t dwarfs_builder_count_below(const dwarfs_builder *builder, const char *path,
					       size_t bytes, bool of_layer);

/**
 * Add a directory of the system and everything below it, as if each entry were added by
 * dwarfs_builder_add_item() with its attributes. Names are read now, contents when the
 * builder runs. Hard links within the directory stay so. What cannot be read is logged,
 * counted (DWARFS_COUNT_ERRORS) and left out. An entry that comes in place of a directory with
 * something in it is named in the log, as a warning. Times of birth and extended attributes are read as
 * far as the options of the builder want them by now.
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
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_tree(dwarfs_builder *builder, const char *directory,
				       const char *prefix, size_t bytes, dwarfs_error **err);

/**
 * Set where contents are kept that cannot be read twice: in memory as long as there is room,
 * all others in one temporary file, which has no name and goes with the builder. Long runs of
 * zeros take no room in either.
 *
 * @param builder       a builder that has no such contents yet
 * @param directory     for the temporary file; is copied; NULL for the default, "/tmp"
 * @param memory_bytes  how much of them stays in memory; UINT64_MAX for the default, which is
 *                      an eighth of the memory limit, or 64 MiB where none was set
 * @param err           receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID when there are contents already, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_spool(dwarfs_builder *builder, const char *directory,
					uint64_t memory_bytes, dwarfs_error **err);

DWARFS_END_DECLS

#endif
