/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The tables of an image's metadata as they are stored: for tools that show, export or
 * compare them. Programs that want files and directories use <dwarfs/walk.h>.
 *
 * The metadata is one struct of numbers, bools, strings, lists, maps and structs; the
 * names of its fields and their meaning are those of dwarfs-format(5). A dwarfs_metadata
 * iterates over all values, depth first and in the order of the fields' numbers. Nothing
 * is decoded: a delta-encoded table returns differences, compressed names are compressed
 * bytes.
 *
 * Every position is checked before it is read, so that no metadata can cause a read
 * outside the image's bytes, and the number of values is bounded by the size of the
 * metadata. Fields that this version does not know are skipped.
 */
#ifndef DWARFS_METADATA_H
#define DWARFS_METADATA_H

#include <dwarfs/image.h>

DWARFS_BEGIN_DECLS

/** An iterator over the values of the metadata. */
typedef struct dwarfs_metadata dwarfs_metadata;

/** The kind of the current value. */
enum dwarfs_metadata_kind {
	DWARFS_METADATA_NUMBER, /**< see dwarfs_metadata_number() */
	DWARFS_METADATA_BOOL,	/**< its number is 0 or 1 */
	DWARFS_METADATA_STRING, /**< see dwarfs_metadata_bytes() */
	DWARFS_METADATA_UNSET,	/**< an optional field without a value */
	DWARFS_METADATA_STRUCT, /**< its fields follow, then an END */
	DWARFS_METADATA_LIST,	/**< its items follow, then an END; a set, too */
	DWARFS_METADATA_MAP, /**< its pairs follow, structs of "first" and "second"; then an END */
	DWARFS_METADATA_END, /**< of the struct, list or map that began last */
};

/**
 * Make an iterator. Its first value is the struct that holds all metadata.
 *
 * @param image         an image; kept alive by the iterator
 * @param metadata_out  receives the iterator; free it with dwarfs_metadata_free()
 * @param err           receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_metadata_new(const dwarfs_image *image,
				   dwarfs_metadata **metadata_out, dwarfs_error **err);

/** Free an iterator; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_metadata_free(dwarfs_metadata *metadata);

/**
 * Advance to the next value.
 *
 * @param metadata  an iterator
 * @param kind_out  receives a dwarfs_metadata_kind; not set at the end
 * @param err       receives the details on failure; may be NULL
 * @return 1; 0 after the END of the whole metadata; DWARFS_ERR_CORRUPT where a value lies
 *         outside the data, which ends the iteration; or DWARFS_ERR_CHECKSUM for an image
 *         with DWARFS_VERIFY_LAZY
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_metadata_next(dwarfs_metadata *metadata,
				    enum dwarfs_metadata_kind *kind_out,
				    dwarfs_error **err);

/**
 * Skip the contents of the struct, list or map that is the current value: the next value
 * is the one after its END. Without effect on other values.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_metadata_skip(dwarfs_metadata *metadata);

/**
 * Skip the rest of the struct, list or map that contains the current value: the next
 * value is its END. Meant for reading one item of a list, as all items have the same
 * fields.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_metadata_leave(dwarfs_metadata *metadata);

/** @return how many structs, lists and maps enclose the value. Threads: one. Since 0.1.
 */
DWARFS_API uint32_t dwarfs_metadata_depth(const dwarfs_metadata *metadata);

/** @return the name of the field, a static string; NULL for an item, for the struct that holds all
 * metadata, and at an END. Threads: one. Since 0.1. */
DWARFS_API const char *dwarfs_metadata_name(const dwarfs_metadata *metadata);

/** @return the number of the field in its struct; 0 where there is no name. Threads: one. Since
 * 0.1. */
DWARFS_API int dwarfs_metadata_field(const dwarfs_metadata *metadata);

/** @return the type of the value, a static string, such as "u32", "list<chunk>" or "chunk"; for
 * an optional field without a value, the type that its value would have. Threads: one.
 * Since 0.1. */
DWARFS_API const char *dwarfs_metadata_type(const dwarfs_metadata *metadata);

/** @return the value of a number or bool; else 0. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_metadata_number(const dwarfs_metadata *metadata);

/** @return how many bytes a string has, items a list, or pairs a map; else 0. Threads: one.
 * Since 0.1. */
DWARFS_API uint64_t dwarfs_metadata_count(const dwarfs_metadata *metadata);

/**
 * The bytes of a string.
 *
 * @param metadata   an iterator
 * @param bytes_out  receives how many there are; 0 for a value of another kind
 * @return the bytes, valid as long as the image and not followed by a NUL; never NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API const void *dwarfs_metadata_bytes(const dwarfs_metadata *metadata,
					     size_t *bytes_out);

/**
 * The stored size of a value, in bits.
 *
 * @return for a number, bool or struct, its own bits, also when it is part of a larger
 *         struct; for a string, list or map, the bits of its bytes or items, without
 *         those of strings in it; 0 for a value that is not stored because all its bits
 *         are zero
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_metadata_bits(const dwarfs_metadata *metadata);

/** @return the offset of the value, in bits from the start of the metadata; for a string,
 *         list or map, that of its distance and count. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_metadata_position(const dwarfs_metadata *metadata);

/** @return the number of the value's layout in the schema; -1 for a value that is not
 *         set, or not stored because all its bits are zero. Threads: one. Since 0.1. */
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
 * @param offset_out   receives the offset of the value in the layout: bytes, or the
 *                     negated number of bits
 * @param err          receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_schema_field(const dwarfs_image *image, uint32_t layout,
				   uint32_t index, int32_t *id_out, uint32_t *layout_out,
				   int32_t *offset_out, dwarfs_error **err);

/** @return how many bytes the metadata has, decompressed. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_metadata_total_bytes(const dwarfs_image *image);

DWARFS_END_DECLS

#endif
