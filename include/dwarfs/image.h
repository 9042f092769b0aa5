/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Open an image, ask what it is, check it.
 *
 * An open image never changes: any number of threads may use it at once, without locks of
 * their own. Opening reads the section index and the metadata, nothing else. What is read is kept,
 * so a file that shrinks gives errors; see dwarfs_image_options_set_mapped() for another way.
 */
#ifndef DWARFS_IMAGE_H
#define DWARFS_IMAGE_H

#include <dwarfs/context.h>
#include <dwarfs/io.h>
#include <dwarfs/progress.h>

DWARFS_BEGIN_DECLS

typedef struct dwarfs_image dwarfs_image;

/** How to open an image. NULL means the defaults. */
typedef struct dwarfs_image_options dwarfs_image_options;

/** An offset that means: find the image behind whatever stands in front of it. */
#define DWARFS_OFFSET_AUTO UINT64_MAX

/** A size that means: up to the end of the source. */
#define DWARFS_SIZE_AUTO UINT64_MAX

/**
 * Make a set of options with their defaults.
 *
 * @param options_out  receives the options; free them with dwarfs_image_options_free()
 * @param err          receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_options_new(dwarfs_image_options **options_out, dwarfs_error **err);

/** Free options; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_image_options_free(dwarfs_image_options *options);

/**
 * Set where the image starts within its source.
 *
 * @param options  the options
 * @param offset   in bytes, or DWARFS_OFFSET_AUTO, the default
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_options_set_offset(dwarfs_image_options *options, uint64_t offset);

/**
 * Set where the image ends.
 *
 * @param options  the options
 * @param bytes    size from the start of the image, or DWARFS_SIZE_AUTO, the default
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_options_set_bytes(dwarfs_image_options *options, uint64_t bytes);

/** When the hashes of an image's sections are looked at. */
enum dwarfs_verify {
	DWARFS_VERIFY_EAGER, /**< before the first byte of a section is used; the default */
	DWARFS_VERIFY_LAZY,  /**< later, see dwarfs_image_options_set_verify() */
	DWARFS_VERIFY_NO_BLOCKS, /**< as EAGER, but those of blocks never */
};

/**
 * Set when the hashes of an image's sections are looked at. Meant for images on slow or remote
 * sources that are known to be good.
 *
 * With DWARFS_VERIFY_EAGER whoever gets a byte of the image can rely on it. With
 * DWARFS_VERIFY_LAZY, opening does not wait for the hash of the metadata: where this is stored
 * uncompressed, a thread of the image computes the hash meanwhile (and where it can be used in
 * place, see dwarfs_image_options_set_mapped(), only what is asked for is read). Until it is known to match (dwarfs_image_verify() finds out), names
 * and attributes may be wrong; once it is known not to match, all that look at the metadata fail
 * with DWARFS_ERR_CHECKSUM. A block is hashed when its last byte was decoded: until then, what
 * was read of it may be wrong, and of a block that is never decoded to its end nobody will know.
 * If the hash does not match, readers of the block get DWARFS_ERR_CHECKSUM from then on. Blocks
 * that are stored uncompressed are hashed before they are used all the same. In no mode can
 * damaged metadata make a reader look outside the image's bytes.
 *
 * With DWARFS_VERIFY_NO_BLOCKS the hashes of blocks are not looked at: what is read of a damaged
 * block is whatever its decoder makes of it, which may be wrong, or an error. Meant for saving
 * what can be saved.
 *
 * @param options  the options
 * @param mode     a dwarfs_verify; whatever else counts as DWARFS_VERIFY_EAGER
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_options_set_verify(dwarfs_image_options *options, int mode);

/**
 * Set whether the image may be used in place, through a mapping of its file.
 *
 * Without a mapping, sections are read into memory of the library: bytes are verified there and
 * used there, and a file that shrinks, or that a device or network no longer delivers, gives
 * DWARFS_ERR_IO or _CHECKSUM. With a mapping, metadata and blocks that are stored uncompressed
 * are used where they are, shared with all processes that map the file, and take no memory of
 * this one. But then the file has to stay as it is for as long as the image and bytes borrowed
 * from it are in use: touching a page of a file that has become shorter, or that cannot be read,
 * raises SIGBUS, which by default ends the process, and bytes that change after they were
 * verified are not verified again.
 *
 * A file that cannot be mapped is read. Without effect on images in memory (which are always
 * used in place) and behind callbacks (which are always read).
 *
 * @param options    the options
 * @param is_mapped  the default is false
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_options_set_mapped(dwarfs_image_options *options, bool is_mapped);

/**
 * Open the image in a file.
 *
 * @param context    the shared context; NULL for a private one
 * @param path       the file
 * @param options    NULL for the defaults
 * @param image_out  receives the image; free it with dwarfs_image_free()
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOT_IMAGE when there is none; DWARFS_ERR_UNSUPPORTED for a version or
 *         feature that is not known (named in the message); DWARFS_ERR_CORRUPT or _CHECKSUM
 *         for a damaged one; or what dwarfs_io_open() returns
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_open(dwarfs_context *context, const char *path,
				 const dwarfs_image_options *options, dwarfs_image **image_out,
				 dwarfs_error **err);

/**
 * Open the image in any source.
 *
 * @param context    the shared context; NULL for a private one
 * @param io         the source; the image holds it for as long as it needs it
 * @param options    NULL for the defaults
 * @param image_out  receives the image; free it with dwarfs_image_free()
 * @param err        receives the details on failure; may be NULL
 * @return as dwarfs_image_open()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_open_io(dwarfs_context *context, dwarfs_io *io,
				    const dwarfs_image_options *options,
				    dwarfs_image **image_out, dwarfs_error **err);

/**
 * Give up an image. Walks and files keep it alive until they are freed.
 *
 * @param image  an image, or NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_free(dwarfs_image *image);

/**
 * Hold an image a second time.
 *
 * @param image  an image
 * @return the same image; free it once more with dwarfs_image_free()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API dwarfs_image *dwarfs_image_ref(const dwarfs_image *image);

/** @return the context that the image uses, borrowed from the image. Threads: any. Since 0.1. */
DWARFS_API dwarfs_context *dwarfs_image_context(const dwarfs_image *image);

/* -- identity ------------------------------------------------------------------------ */

/**
 * See that the hash of the metadata matches, if that is not known yet. With DWARFS_VERIFY_EAGER
 * it is known since the image was opened.
 *
 * @param image  an image
 * @param err    receives the details on failure; may be NULL
 * @return 0, also in format version 1, which has no hashes; or DWARFS_ERR_CHECKSUM, and then all
 *         that look at the metadata fail so from now on
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_verify(const dwarfs_image *image, dwarfs_error **err);

/** @return the minor format version, 0 to 6; the major one is 2. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_image_format_minor(const dwarfs_image *image);

/** @return where the image starts in its source, in bytes. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_image_offset(const dwarfs_image *image);

/** @return the bytes from the start of the image to its end. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_image_bytes(const dwarfs_image *image);

/**
 * Read what stands in front of the image, such as a script.
 *
 * @param image   an image
 * @param buffer  room for bytes
 * @param bytes   how many; offset + bytes at most dwarfs_image_offset()
 * @param offset  from the start of the source
 * @param err     receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE or DWARFS_ERR_IO
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_read_header(const dwarfs_image *image, void *buffer, size_t bytes,
					uint64_t offset, dwarfs_error **err);

/** @return the largest size of a block in bytes, a power of two. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_image_block_bytes(const dwarfs_image *image);

/** @return how many blocks there are. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_image_block_count(const dwarfs_image *image);

/** @return how many inodes there are; they are numbered from 0, the root. Since 0.1. */
DWARFS_API uint32_t dwarfs_image_inode_count(const dwarfs_image *image);

/** @return how many directory entries there are, the root included. Since 0.1. */
DWARFS_API uint32_t dwarfs_image_entry_count(const dwarfs_image *image);

/** @return bytes of all files and links, as the image states them. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_image_original_bytes(const dwarfs_image *image);

/** @return bytes that further hard links to files stand for, as stated. Since 0.1. */
DWARFS_API uint64_t dwarfs_image_hardlink_bytes(const dwarfs_image *image);

/** @return the program that wrote the image, or NULL if it does not say. Since 0.1. */
DWARFS_API const char *dwarfs_image_created_by(const dwarfs_image *image);

/**
 * @param image        an image
 * @param seconds_out  receives seconds since 1970, UTC
 * @return whether the image says when it was made
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_image_created_on(const dwarfs_image *image, uint64_t *seconds_out);

/** @return whether a valid section index was found. Threads: any. Since 0.1. */
DWARFS_API bool dwarfs_image_has_index(const dwarfs_image *image);

/** @return whether only modification times are stored. Threads: any. Since 0.1. */
DWARFS_API bool dwarfs_image_is_mtime_only(const dwarfs_image *image);

/** @return the step of stored times in nanoseconds, at least 1. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_image_time_resolution_ns(const dwarfs_image *image);

/** @return the character that the system on which the image was made puts between the names of a
 * path, as in its link targets: 47 (/) or 92 (\); 0 if the image does not say. Link targets are
 * given with / all the same. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_image_path_separator(const dwarfs_image *image);

/**
 * The names of the features that the image needs.
 *
 * @param index  0 and up
 * @return a name; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_image_feature(const dwarfs_image *image, size_t index);

/**
 * The names of the categories that blocks belong to.
 *
 * @param index  0 and up
 * @return a name; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_image_category(const dwarfs_image *image, size_t index);

/**
 * How the tables of the metadata are stored, as words such as "packed_chunk_table".
 *
 * @param index  0 and up
 * @return a word; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_image_packing(const dwarfs_image *image, size_t index);

/* -- sections ------------------------------------------------------------------------ */

/** Types of sections; images may hold others, too. */
enum dwarfs_section_type {
	DWARFS_SECTION_BLOCK = 0,
	DWARFS_SECTION_SCHEMA = 7,
	DWARFS_SECTION_METADATA = 8,
	DWARFS_SECTION_INDEX = 9,
	DWARFS_SECTION_HISTORY = 10,
	DWARFS_SECTION_XATTRS = 0xD000, /**< extended attributes; see dwarfs-format(5) */
};

/** What to ask of a section. */
enum dwarfs_section_field {
	DWARFS_SECTION_FIELD_TYPE,         /**< a dwarfs_section_type or an unknown number */
	DWARFS_SECTION_FIELD_COMPRESSION,  /**< the number of the codec */
	DWARFS_SECTION_FIELD_OFFSET,       /**< of its header, from the start of the image */
	DWARFS_SECTION_FIELD_STORED_BYTES, /**< as stored, without the header */
	DWARFS_SECTION_FIELD_BYTES,        /**< as announced after decompression */
	DWARFS_SECTION_FIELD_NUMBER,       /**< as its header says; its index if it says nothing */
};

/** @return how many sections there are, with those that the index leaves out. Threads: any.
 * Since 0.1. */
DWARFS_API uint32_t dwarfs_image_section_count(const dwarfs_image *image);

/**
 * Ask a fact of a section.
 *
 * @param image      an image
 * @param section    0 to dwarfs_image_section_count() - 1
 * @param field      a dwarfs_section_field
 * @param value_out  receives the fact
 * @param err        receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or why the header or the announced size cannot be read
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_section(const dwarfs_image *image, uint32_t section, int field,
				    uint64_t *value_out, dwarfs_error **err);

/**
 * The category of a block.
 *
 * @param image  an image
 * @param block  0 to dwarfs_image_block_count() - 1
 * @return an index for dwarfs_image_category(), or -1 if blocks have no categories here
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int64_t dwarfs_image_block_category(const dwarfs_image *image, uint32_t block);

/** @return the format's name of a section type, such as "BLOCK"; "UNKNOWN". Since 0.1. */
DWARFS_API const char *dwarfs_section_type_name(uint32_t type);

/** @return the format's name of a codec, such as "ZSTD"; "UNKNOWN". Since 0.1. */
DWARFS_API const char *dwarfs_compression_name(uint32_t compression);

/* -- memory -------------------------------------------------------------------------- */

/**
 * Decode a whole block, so that reading it later finds it in the cache of the context. Of one
 * that does not fit there nothing is kept.
 *
 * @param image  an image
 * @param block  0 to dwarfs_image_block_count() - 1
 * @param err    receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or why the block cannot be decoded
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_preload_block(const dwarfs_image *image, uint32_t block,
					  dwarfs_error **err);

/**
 * Have the metadata in memory, and keep the system from swapping it out or dropping it for as
 * long as the image is open.
 *
 * @param image  an image
 * @param err    receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOMEM or DWARFS_ERR_ACCESS where the limits of the process are too low
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_lock_metadata(const dwarfs_image *image, dwarfs_error **err);

/* -- checks -------------------------------------------------------------------------- */

/** How much to check; each level includes those before it. */
enum dwarfs_check_level {
	DWARFS_CHECK_METADATA,  /**< the tables: every rule of the format */
	DWARFS_CHECK_CHECKSUMS, /**< and the fast hash of every section, and decode the history */
	DWARFS_CHECK_INTEGRITY, /**< and SHA-512/256 of every section, and decode every block */
};

/** How bad a finding is. */
enum dwarfs_finding {
	DWARFS_FINDING_WARNING, /**< odd, but everything can be read */
	DWARFS_FINDING_ERROR,   /**< something is lost or contradicts itself */
};

/**
 * Receives the findings of a check, in order.
 *
 * @param severity  a dwarfs_finding
 * @param code      the DWARFS_ERR_* code that fits it, also of a warning; 0 when none does
 * @param section   index of the section it is about, or -1
 * @param message   text without a newline, valid during the call
 * @param user      as given to dwarfs_image_check()
 *
 * Threads: called by the thread that runs the check.
 */
typedef void (*dwarfs_finding_fn)(int severity, int code, int64_t section,
				  const char *message, void *user);

/**
 * Check an image, to the end, whatever is found.
 *
 * @param image       an image
 * @param level       a dwarfs_check_level
 * @param finding     called for each finding; may be NULL
 * @param progress    called now and then; may be NULL
 * @param user        handed to both
 * @param errors_out  receives the number of findings that are errors; may be NULL
 * @param err         receives the first error on failure; may be NULL
 * @return 0 when the image is good (warnings or not); the code of the first error; or
 *         DWARFS_ERR_CANCELLED
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_check(const dwarfs_image *image, int level,
				  dwarfs_finding_fn finding, dwarfs_progress_fn progress,
				  void *user, uint64_t *errors_out, dwarfs_error **err);

/* -- history ------------------------------------------------------------------------- */

/** Who wrote and rewrote an image. */
typedef struct dwarfs_history dwarfs_history;

/** Texts of a step of the history. */
enum dwarfs_history_text_kind {
	DWARFS_HISTORY_VERSION,  /**< of the program, such as "v0.9.10" */
	DWARFS_HISTORY_SYSTEM,   /**< that it ran on */
	DWARFS_HISTORY_COMPILER, /**< that it was built with */
};

/** Lists of texts of a step of the history. */
enum dwarfs_history_list_kind {
	DWARFS_HISTORY_ARGUMENTS, /**< its command line */
	DWARFS_HISTORY_LIBRARIES, /**< with their versions */
};

/**
 * Read the history.
 *
 * @param image        an image; not needed afterwards
 * @param history_out  receives the history (empty if there is none); free it with
 *                     dwarfs_history_free()
 * @param err          receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_CORRUPT, _CHECKSUM, _IO, _UNSUPPORTED or _NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_history_new(const dwarfs_image *image, dwarfs_history **history_out,
				  dwarfs_error **err);

/** @return how many steps there are, oldest first. Threads: any. Since 0.1. */
DWARFS_API size_t dwarfs_history_count(const dwarfs_history *history);

/** @return a dwarfs_history_text_kind of a step; "" if there is none. Threads: any. Since 0.1. */
DWARFS_API const char *dwarfs_history_text(const dwarfs_history *history, size_t step, int text);

/** @return item of a dwarfs_history_list_kind of a step; NULL past the last one. Since 0.1. */
DWARFS_API const char *dwarfs_history_item(const dwarfs_history *history, size_t step, int list,
					   size_t item);

/**
 * @param history      a history
 * @param step         0 to dwarfs_history_count() - 1
 * @param seconds_out  receives seconds since 1970, UTC
 * @return whether the step says when it happened
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_history_time(const dwarfs_history *history, size_t step,
				    uint64_t *seconds_out);

/** Free a history; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_history_free(dwarfs_history *history);

DWARFS_END_DECLS

#endif
