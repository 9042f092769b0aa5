/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Open an image, query its properties, check it.
 *
 * An open image never changes: any number of threads may use it at once without locking.
 * Opening reads only the section index and the metadata. Sections are read into memory,
 * so that a file that shrinks causes errors, not signals; see
 * dwarfs_image_options_set_mapped() for the alternative.
 */
#ifndef DWARFS_IMAGE_H
#define DWARFS_IMAGE_H

#include <dwarfs/context.h>
#include <dwarfs/io.h>
#include <dwarfs/progress.h>

DWARFS_BEGIN_DECLS

typedef struct dwarfs_image dwarfs_image;

/** Options for opening an image. NULL means the defaults. */
typedef struct dwarfs_image_options dwarfs_image_options;

/** An offset that means: search for the image after any image header. */
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
DWARFS_API int dwarfs_image_options_new(dwarfs_image_options **options_out,
					dwarfs_error **err);

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
DWARFS_API void dwarfs_image_options_set_offset(dwarfs_image_options *options,
						uint64_t offset);

/**
 * Set where the image ends.
 *
 * @param options  the options
 * @param bytes    size of the image in bytes, from its start; or DWARFS_SIZE_AUTO, the default
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_options_set_bytes(dwarfs_image_options *options,
					       uint64_t bytes);

/** When the hashes of an image's sections are verified. */
enum dwarfs_verify {
	DWARFS_VERIFY_EAGER, /**< before the first byte of a section is used; the default */
	DWARFS_VERIFY_LAZY,	 /**< later, see dwarfs_image_options_set_verify() */
	DWARFS_VERIFY_NO_BLOCKS, /**< as EAGER, but never for blocks */
};

/**
 * Set when the hashes of an image's sections are verified.
 *
 * With DWARFS_VERIFY_EAGER every byte that is returned has been verified.
 * DWARFS_VERIFY_LAZY is meant for images that are known to be good, on slow or remote
 * sources. Opening then does not wait for the hash of the metadata: if the metadata is
 * stored uncompressed, a thread of the image computes the hash in the background (and if
 * it is mapped, see dwarfs_image_options_set_mapped(), only the pages that are used are
 * read); with a context without workers no thread is started, and opening waits for the hash.
 * Until the hash is verified (dwarfs_image_verify() waits for that), names and
 * attributes may be wrong; if it does not match, all functions that use the metadata fail
 * with DWARFS_ERR_CHECKSUM from then on. A compressed block is verified when its last
 * byte has been decompressed: until then data read from it may be wrong, and a block that
 * is never decompressed to its end is never verified. If the hash does not match, later
 * reads of the block fail with DWARFS_ERR_CHECKSUM. Blocks that are stored uncompressed
 * are always verified before use. In no mode can damaged metadata cause a read outside
 * the image's bytes.
 *
 * With DWARFS_VERIFY_NO_BLOCKS the hashes of blocks are not verified: reading a damaged
 * block returns whatever the decoder produces, which may be wrong data or an error. Meant
 * for data recovery.
 *
 * @param options  the options
 * @param mode     a dwarfs_verify; any other value counts as DWARFS_VERIFY_EAGER
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_options_set_verify(dwarfs_image_options *options,
						enum dwarfs_verify mode);

/**
 * Set whether the image file may be memory-mapped.
 *
 * Without a mapping, sections are read into memory, verified there and used from there; a
 * file that shrinks or becomes unreadable causes DWARFS_ERR_IO or _CHECKSUM. With a
 * mapping, uncompressed metadata and blocks are used in place, in memory that is shared
 * by all processes that map the file. The file must then remain unchanged as long as the
 * image and bytes borrowed from it are in use: accessing a page that was truncated away
 * or cannot be read raises SIGBUS, which by default terminates the process, and bytes
 * that change after they were verified are not verified again.
 *
 * A file that cannot be mapped is read. Without effect on images in memory, which are
 * always used in place, and on images read by callbacks.
 *
 * @param options    the options
 * @param is_mapped  whether to map it; default false
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_options_set_mapped(dwarfs_image_options *options,
						bool is_mapped);

/**
 * Set the task that reports the progress of dwarfs_image_open() and cancels it, while it
 * searches for the image, reads the metadata and verifies its hash. The task is not used
 * after that call. It also cancels dwarfs_salvage_blocks() and dwarfs_salvage_blocks_io().
 *
 * @param options  the options
 * @param task     a task, or NULL for none, the default
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_options_set_task(dwarfs_image_options *options,
					      const dwarfs_task *task);

/**
 * Open the image in a file.
 *
 * @param context    the shared context; NULL for a private one
 * @param path       the file
 * @param options    NULL for the defaults
 * @param image_out  receives the image; free it with dwarfs_image_free()
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOT_IMAGE when no image is found; DWARFS_ERR_UNSUPPORTED for an
 *         unknown version or feature (named in the message); DWARFS_ERR_CORRUPT or
 *         _CHECKSUM for a damaged one; or what dwarfs_io_open() returns
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_open(dwarfs_context *context, const char *path,
				 const dwarfs_image_options *options,
				 dwarfs_image **image_out, dwarfs_error **err);

/**
 * Open the image in a source.
 *
 * With an index at the end of the image and an offset that is known, this takes two rounds
 * of reads (see dwarfs_io_set_read_many()): both ends of the image, then schema and metadata.
 * Beyond index, schema and metadata at most 64 KiB are read; in an image without history also
 * the digests, which follow the metadata. Further small reads follow only if the index takes
 * more than 52 KiB, or history and extended attributes together more than 8 KiB. With
 * DWARFS_OFFSET_AUTO the start is searched for first, in the first 4 KiB, then in pieces of
 * 1 MiB; without an index the headers of all sections are read one by one.
 *
 * @param context    the shared context; NULL for a private one
 * @param io         the source, not a stream; kept alive by the image
 * @param options    NULL for the defaults
 * @param image_out  receives the image; free it with dwarfs_image_free()
 * @param err        receives the details on failure; may be NULL
 * @return as dwarfs_image_open(); DWARFS_ERR_INVALID for a stream; or the code of the callbacks
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_open_io(dwarfs_context *context, dwarfs_io *io,
				    const dwarfs_image_options *options,
				    dwarfs_image **image_out, dwarfs_error **err);

/**
 * Release an image. Walks and files keep it alive until they are freed.
 *
 * @param image  an image, or NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_free(dwarfs_image *image);

/**
 * Add a reference to an image.
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
 * Verify the hash of the metadata, if that has not been done yet. With
 * DWARFS_VERIFY_EAGER it is done when the image is opened.
 *
 * @param image  an image
 * @param err    receives the details on failure; may be NULL
 * @return 0, also for section headers of version 1, which have no hashes; or
 *         DWARFS_ERR_CHECKSUM, which all functions that use the metadata return from now
 *         on
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
 * Read the image header: the data that precedes the image, such as a script.
 *
 * @param image   an image
 * @param buffer  destination of the bytes
 * @param bytes   how many; offset + bytes at most dwarfs_image_offset()
 * @param offset  in bytes from the start of the source
 * @param err     receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE or DWARFS_ERR_IO
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_read_header(const dwarfs_image *image, void *buffer,
					size_t bytes, uint64_t offset,
					dwarfs_error **err);

/** @return the largest size of a block in bytes, a power of two. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_image_block_bytes(const dwarfs_image *image);

/** @return how many blocks there are. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_image_block_count(const dwarfs_image *image);

/**
 * @return how many inodes there are; they are numbered from 0, the root.
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint32_t dwarfs_image_inode_count(const dwarfs_image *image);

/** @return how many directory entries there are, the root included. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_image_entry_count(const dwarfs_image *image);

/** @return the total size of all files and symbolic links, as stated in the image.
 *         Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_image_original_bytes(const dwarfs_image *image);

/**
 * @return the total size of additional hard links, as stated in the image.
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_image_hardlink_bytes(const dwarfs_image *image);

/** @return the program that wrote the image, or NULL if not recorded. Threads: any. Since 0.1. */
DWARFS_API const char *dwarfs_image_created_by(const dwarfs_image *image);

/**
 * @param image        an image
 * @param seconds_out  receives seconds since 1970, UTC
 * @return whether the time of creation is recorded
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_image_created_on(const dwarfs_image *image, int64_t *seconds_out);

/** @return whether a valid section index was found. Threads: any. Since 0.1. */
DWARFS_API bool dwarfs_image_has_index(const dwarfs_image *image);

/** @return whether only modification times are stored. Threads: any. Since 0.1. */
DWARFS_API bool dwarfs_image_is_mtime_only(const dwarfs_image *image);

/** @return the step of stored times in nanoseconds, at least 1. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_image_time_resolution_ns(const dwarfs_image *image);

/** @return the path separator of the system on which the image was made, as stored in
 *         link targets: 47 (/) or 92 (\); 0 if not recorded. dwarfs_link_read() always
 *         returns targets with /. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_image_path_separator(const dwarfs_image *image);

/**
 * The names of the features that a reader of the image must support.
 *
 * @param image  an image
 * @param index  0 and up
 * @return a name; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_image_feature(const dwarfs_image *image, size_t index);

/**
 * The names of the categories that blocks belong to.
 *
 * @param image  an image
 * @param index  0 and up
 * @return a name; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_image_category(const dwarfs_image *image, size_t index);

/**
 * The packings of the metadata tables, as words such as "packed_chunk_table".
 *
 * @param image  an image
 * @param index  0 and up
 * @return a word; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_image_packing(const dwarfs_image *image, size_t index);

/* -- sections ------------------------------------------------------------------------ */

/** Types of sections; images may contain others, too. */
enum dwarfs_section_type {
	DWARFS_SECTION_BLOCK = 0,
	DWARFS_SECTION_SCHEMA = 7,
	DWARFS_SECTION_METADATA = 8,
	DWARFS_SECTION_INDEX = 9,
	DWARFS_SECTION_HISTORY = 10,
	DWARFS_SECTION_XATTRS = 0xD000,	 /**< extended attributes; see dwarfs-format(5) */
	DWARFS_SECTION_DIGESTS = 0xD001, /**< digests of contents, anchors of blocks */
};

/** Properties of a section. */
enum dwarfs_section_field {
	DWARFS_SECTION_FIELD_TYPE, /**< a dwarfs_section_type or an unknown number */
	DWARFS_SECTION_FIELD_COMPRESSION, /**< the number of the codec */
	DWARFS_SECTION_FIELD_OFFSET, /**< of its header, from the start of the image */
	DWARFS_SECTION_FIELD_STORED_BYTES, /**< as stored, without the header */
	DWARFS_SECTION_FIELD_BYTES,	   /**< uncompressed, as announced */
	DWARFS_SECTION_FIELD_NUMBER,	   /**< from its header; its index if the header
						has none */
};

/** @return the number of sections, including those missing in the index. Threads: any.
 * Since 0.1. */
DWARFS_API uint32_t dwarfs_image_section_count(const dwarfs_image *image);

/**
 * Get a property of a section.
 *
 * @param image      an image
 * @param section    0 to dwarfs_image_section_count() - 1
 * @param field      a dwarfs_section_field
 * @param value_out  receives the value; offsets and sizes are in bytes
 * @param err        receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or the error for a header or size that cannot be read
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_section(const dwarfs_image *image, uint32_t section,
				    enum dwarfs_section_field field, uint64_t *value_out,
				    dwarfs_error **err);

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

/**
 * Count the bytes of each block that no chunk refers to. An image has such bytes if its
 * blocks were copied from another image and files in them were removed or replaced
 * (<dwarfs/rewrite.h>).
 *
 * Takes 16 bytes of memory for each chunk of the image while it runs.
 *
 * @param image       an image
 * @param unused_out  an array that receives the unused bytes of each block, before
 *                    compression; 0 for a block whose size is not known, because its codec
 *                    is not built in or the block is damaged
 * @param count       the number of elements of the array: dwarfs_image_block_count()
 * @param err         receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_RANGE for another count; DWARFS_ERR_CORRUPT, _IO or _NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_unused_bytes(const dwarfs_image *image, uint64_t *unused_out,
					 uint32_t count, dwarfs_error **err);

/**
 * @return the format's name of a section type, such as "BLOCK"; "UNKNOWN"; a static string.
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_section_type_name(uint32_t type);

/**
 * @param compression  a number of the format; codecs are numbered from 0 without gaps
 * @return the format's name of a codec, such as "ZSTD", also if it is not built in; "UNKNOWN"
 *         past the last one; a static string
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_compression_name(uint32_t compression);

/**
 * Whether the library can read what a codec has compressed. For writing see
 * dwarfs_codec_help().
 *
 * @param name  such as "zstd", "lzma" or "flac", in any case of letters; may be NULL
 * @return whether it was built with the codec, and where that loads a library (libFLAC) that
 *         can be loaded; false for one that does not exist
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_has_codec(const char *name);

/* -- memory -------------------------------------------------------------------------- */

/**
 * Decompress a whole block into the cache of the context. A block that does not fit into
 * the cache is not kept.
 *
 * @param image  an image
 * @param block  0 to dwarfs_image_block_count() - 1
 * @param err    receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or the error if the block cannot be decompressed
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_preload_block(const dwarfs_image *image, uint32_t block,
					  dwarfs_error **err);

/**
 * Lock the metadata in memory as long as the image is open, as mlock(2).
 *
 * @param image  an image
 * @param err    receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOMEM or DWARFS_ERR_ACCESS if the limits of the process are too
 *         low
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_lock_metadata(const dwarfs_image *image, dwarfs_error **err);

/* -- checks -------------------------------------------------------------------------- */

/** Levels of a check; each includes those before it. */
enum dwarfs_check_level {
	DWARFS_CHECK_METADATA,	/**< the tables: every rule of the format */
	DWARFS_CHECK_CHECKSUMS, /**< and XXH3 of every section; the history is parsed */
	DWARFS_CHECK_INTEGRITY, /**< and SHA-512/256 of every section; blocks are decompressed */
};

/** Severity of a finding. */
enum dwarfs_finding {
	DWARFS_FINDING_WARNING, /**< unusual, but everything can be read */
	DWARFS_FINDING_ERROR,	/**< data is lost or inconsistent */
};

/**
 * Receives the findings of a check, in order.
 *
 * @param severity  a dwarfs_finding
 * @param code      the DWARFS_ERR_* code of the finding, also of a warning; 0 for none
 * @param section   index of the section concerned, or -1
 * @param message   text without a newline, valid during the call
 * @param user      as given to dwarfs_image_check()
 *
 * Threads: called by the thread that runs the check.
 */
typedef void (*dwarfs_finding_fn)(enum dwarfs_finding severity, int code, int64_t section,
				  const char *message, void *user);

/**
 * Check an image. The check does not stop at findings. It stops where the source of the image
 * fails for a reason that says nothing of the image: with any code but DWARFS_ERR_CORRUPT,
 * _CHECKSUM, _NOT_IMAGE, _UNSUPPORTED, or _IO of a file or descriptor, which are findings.
 *
 * A library that was built without nettle (see dwarfs_digest_name(): "sha512-256" is not
 * listed) has no SHA-512/256. DWARFS_CHECK_INTEGRITY then verifies XXH3 and decompresses every
 * block, reports a warning with DWARFS_ERR_UNSUPPORTED, and returns that code if there is no
 * error.
 *
 * @param image       an image
 * @param level       a dwarfs_check_level
 * @param finding     called for each finding; may be NULL
 * @param user        passed to finding
 * @param task        reports the progress, and cancels; may be NULL
 * @param errors_out  receives the number of findings that are errors, also when there are
 *                    some, but not where the source or the task ends the check; may be NULL
 * @param err         receives the error whose code is returned; may be NULL
 * @return 0 when there are no errors (there may be warnings); the code of the first
 *         error; the code of the source where that ends the check, whatever was found
 *         before; DWARFS_ERR_UNSUPPORTED if hashes could not be verified, see above;
 *         DWARFS_ERR_RANGE for an unknown level; DWARFS_ERR_CANCELLED; or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_check(const dwarfs_image *image,
				  enum dwarfs_check_level level,
				  dwarfs_finding_fn finding, void *user,
				  const dwarfs_task *task, uint64_t *errors_out,
				  dwarfs_error **err);

/* -- history ------------------------------------------------------------------------- */

/** The programs that wrote and rewrote an image. */
typedef struct dwarfs_history dwarfs_history;

/** Texts of an entry of the history. */
enum dwarfs_history_text_kind {
	DWARFS_HISTORY_VERSION,	 /**< of the program, such as "v0.9.10" */
	DWARFS_HISTORY_SYSTEM,	 /**< operating system that it ran on */
	DWARFS_HISTORY_COMPILER, /**< compiler that it was built with */
};

/** Lists of texts of an entry of the history. */
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

/** @return the number of entries, which are ordered from the oldest on. Threads: any. Since
 *         0.1. */
DWARFS_API size_t dwarfs_history_count(const dwarfs_history *history);

/** @return a dwarfs_history_text_kind of an entry; "" if there is none. Threads: any.
 *         Since 0.1. */
DWARFS_API const char *dwarfs_history_text(const dwarfs_history *history, size_t step,
					   enum dwarfs_history_text_kind text);

/**
 * @return item of a dwarfs_history_list_kind of an entry; NULL past the last one.
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_history_item(const dwarfs_history *history, size_t step,
					   enum dwarfs_history_list_kind list,
					   size_t item);

/**
 * @param history      a history
 * @param step         number of the entry: 0 to dwarfs_history_count() - 1
 * @param seconds_out  receives seconds since 1970, UTC
 * @return whether the time of the entry is recorded
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_history_time(const dwarfs_history *history, size_t step,
				    int64_t *seconds_out);

/** Free a history; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_history_free(dwarfs_history *history);

DWARFS_END_DECLS

#endif
