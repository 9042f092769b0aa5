/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The tables of an image's metadata as they are stored: for tools that show, export or
 * compare them. Programs that want files and directories use <dwarfs/walk.h>.
 *
 * The metadata is one struct of numbers, bools, strings, lists, maps and structs; the names of
 * its fields and their meaning are those of dwarfs-format(5). A dwarfs_metadata goes through
 * all values, depth first and in the order of the fields' numbers. Nothing is unpacked: a table
 * of differences gives differences, compressed names are compressed bytes.
 *
 * Every position is checked when it is read, so that no metadata can make a reader look outside
 * the image's bytes; and there are never many more values than bytes. Fields that this version
 * does not know are passed over.
 */
#ifndef DWARFS_METADATA_H
#define DWARFS_METADATA_H

#include <dwarfs/image.h>

DWARFS_BEGIN_DECLS

/** A pass through the values of the metadata. */
typedef struct dwarfs_metadata dwarfs_metadata;

/** What a step of a pass has come to. */
enum dwarfs_metadata_kind {
	DWARFS_METADATA_NUMBER, /**< see dwarfs_metadata_number() */
	DWARFS_METADATA_BOOL,   /**< its number is 0 or 1 */
	DWARFS_METADATA_STRING, /**< see dwarfs_metadata_bytes() */
	DWARFS_METADATA_UNSET,  /**< an optional field that has no value */
	DWARFS_METADATA_STRUCT, /**< its fields follow, then an END */
	DWARFS_METADATA_LIST,   /**< its items follow, then an END; a set, too */
	DWARFS_METADATA_MAP,    /**< its pairs follow, structs of "first" and "second"; then an END */
	DWARFS_METADATA_END,    /**< of the struct, list or map that began last */
};

/**
 * Begin a pass. Its first step is to the struct that is the whole metadata.
 *
 * @param image         an image; kept alive by the pass
 * @param metadata_out  receives the pass; free it with dwarfs_metadata_free()
 * @param err           receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_metadata_new(const dwarfs_image *image, dwarfs_metadata **metadata_out,
				   dwarfs_error **err);

/** End a pass; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_metadata_free(dwarfs_metadata *metadata);

/**
 * Go on to the next value.
 *
 * @param metadata  a pass
 * @param kind_out  receives a dwarfs_metadata_kind; not set at the end
 * @param err       receives the details on failure; may be NULL
 * @return 1; 0 after the END of the whole metadata; or DWARFS_ERR_CORRUPT where a value lies
 *         outside the data, which ends the pass, or DWARFS_ERR_CHECKSUM for an image that is
 *         verified late
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_metadata_next(dwarfs_metadata *metadata, int *kind_out,
				    dwarfs_error **err);

/**
 * Pass over what is in the struct, list or map that the last step has begun: the next step is
 * what comes after its END. Without effect on other values.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_metadata_skip(dwarfs_metadata *metadata);

/**
 * Pass over what is left in the struct, list or map that the last value is in: the next step is
 * its END. Meant for looking at one item of a list, as all have the same columns.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_metadata_leave(dwarfs_metadata *metadata);

/** @return how many structs, lists and maps the value is in. Threads: one. Since 0.1. */
DWARFS_API uint32_t dwarfs_metadata_depth(const dwarfs_metadata *metadata);

/** @return the name of the field, static; NULL for an item, the whole, and at an END. Threads:
 * one. Since 0.1. */
DWARFS_API const char *dwarfs_metadata_name(const dwarfs_metadata *metadata);

/** @return the number of the field in its struct; 0 where there is no name. Threads: one. Since
 * 0.1. */
DWARFS_API int dwarfs_metadata_field(const dwarfs_metadata *metadata);

/** @return the type of the value, static, such as "u32", "list<chunk>" or "chunk"; that of the
 * value also for one that is not set. Threads: one. Since 0.1. */
DWARFS_API const char *dwarfs_metadata_type(const dwarfs_metadata *metadata);

/** @return the value of a number or bool; else 0. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_metadata_number(const dwarfs_metadata *metadata);

/** @return how many bytes a string has, items a list, or pairs a map; else 0. Threads: one.
 * Since 0.1. */
DWARFS_API uint64_t dwarfs_metadata_count(const dwarfs_metadata *metadata);

/**
 * The bytes of a string.
 *
 * @param metadata   a pass
 * @param bytes_out  receives how many there are; 0 for a value of another kind
 * @return the bytes, which stay as long as the image, and are followed by no NUL; never NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API const void *dwarfs_metadata_bytes(const dwarfs_metadata *metadata, size_t *bytes_out);

/**
 * How much room a value takes.
 *
 * @return of a number, bool or struct, its bits, also when they are part of a larger struct; of
 *         a string, list or map the bits that its bytes or items take elsewhere, without those
 *         of strings within; 0 for what is not stored, as all its bits are zero
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_metadata_bits(const dwarfs_metadata *metadata);

/** @return where the value is, in bits from the start of the metadata: of a string, list or map,
 * where its distance and count are. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_metadata_position(const dwarfs_metadata *metadata);

/** @return the number of the value's layout in the schema; -1 for what is not stored, as all its
 * bits are zero, or not set. Threads: one. Since 0.1. */
DWARFS_API int32_t dwarfs_metadata_layout(const dwarfs_metadata *metadata);

/* -- the schema ---------------------------------------------------------------------- */

/** @return how many layouts the schema has; they are numbered from 0. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_schema_count(const dwarfs_image *image);

/** @return the layout of the whole metadata. Threads: any. Since 0.1. */
DWARFS_API uint32_t dwarfs_schema_root(const dwarfs_image *image);

/**
 * A layout.
 *
 * @param image       an image
 * @param layout      0 to dwarfs_schema_count() - 1
 * @param bytes_out   receives its size if it is laid out in bytes, else 0
 * @param bits_out    receives its size in bits
 * @param fields_out  receives how many fields it has
 * @param err         receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_schema_layout(const dwarfs_image *image, uint32_t layout,
				    uint32_t *bytes_out, uint32_t *bits_out,
				    uint32_t *fields_out, dwarfs_error **err);

/**
 * A field of a layout.
 *
 * @param image        an image
 * @param layout       0 to dwarfs_schema_count() - 1
 * @param index        0 to the layout's number of fields - 1
 * @param id_out       receives the number of the field
 * @param layout_out   receives the layout of its value
 * @param offset_out   receives where that is in the layout: bytes, or minus the bits
 * @param err          receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_schema_field(const dwarfs_image *image, uint32_t layout, uint32_t index,
				   int32_t *id_out, uint32_t *layout_out, int32_t *offset_out,
				   dwarfs_error **err);

/** @return how many bytes the metadata has, decompressed. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_metadata_total_bytes(const dwarfs_image *image);

DWARFS_END_DECLS

#endif
