/* SPDX-License-Identifier: MIT */
/*
 * format/thrift: the subset of the Thrift compact protocol used by schemas, histories
 * and the headers of FLAC and RICEPP blocks.
 *
 * The reader never accesses bytes outside its input. It stores the first error: check
 * dw_thrift_ok() once at the end of a struct rather than after each value; after an error
 * all values are 0 and all containers empty.
 */
#ifndef DW_FORMAT_THRIFT_H
#define DW_FORMAT_THRIFT_H

#include "base/memory.h"

enum thrift_type {
	THRIFT_STOP = 0,
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_BYTE = 3,
	THRIFT_I16 = 4,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_DOUBLE = 7,
	THRIFT_STRING = 8,
	THRIFT_LIST = 9,
	THRIFT_SET = 10,
	THRIFT_MAP = 11,
	THRIFT_STRUCT = 12,
};

/* -- reading ------------------------------------------------------------------------- */

struct thrift_reader {
	const uint8_t *at, *end;
	const char *error; /* the first error, or NULL */
};

/* A struct being read: start with { 0 }, call dw_thrift_field() until it is false. */
struct thrift_field {
	int32_t id;
	enum thrift_type type;
};

void dw_thrift_start(struct thrift_reader *reader, struct span bytes);
static inline bool dw_thrift_ok(const struct thrift_reader *reader)
{
	return !reader->error;
}
static inline size_t dw_thrift_left(const struct thrift_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

/* The next field of a struct; false at its end and after an error. */
bool dw_thrift_field(struct thrift_reader *reader, struct thrift_field *field);

/* The value of a field; an error if its type is another one. */
bool dw_thrift_bool(struct thrift_reader *reader, const struct thrift_field *field);
uint8_t dw_thrift_byte(struct thrift_reader *reader, const struct thrift_field *field);
int64_t dw_thrift_int(struct thrift_reader *reader, const struct thrift_field *field,
		      enum thrift_type type);
struct span dw_thrift_string(struct thrift_reader *reader,
			     const struct thrift_field *field);
void dw_thrift_struct(struct thrift_reader *reader, const struct thrift_field *field);

/* Start of a list or set with elements of this type; gives their number. */
uint64_t dw_thrift_list(struct thrift_reader *reader, const struct thrift_field *field,
			enum thrift_type element);
/* Start of a map; gives the number of pairs. */
uint64_t dw_thrift_map(struct thrift_reader *reader, const struct thrift_field *field,
		       enum thrift_type key, enum thrift_type value);

/* Elements of containers. */
int64_t dw_thrift_element_int(struct thrift_reader *reader);
struct span dw_thrift_element_string(struct thrift_reader *reader);

/* Skip the value of an unknown field. */
void dw_thrift_skip(struct thrift_reader *reader, const struct thrift_field *field);

/* An unsigned LEB128 number, as before brotli, FLAC and RICEPP payloads. */
uint64_t dw_thrift_varint(struct thrift_reader *reader);

/* -- writing ------------------------------------------------------------------------- */

/* Appends to a buffer; stores whether memory ran out. Nested structs need their own
 * last_id: save and restore it, or use dw_thrift_put_begin/end. */
struct thrift_writer {
	struct buffer *out;
	int32_t last_id;
	bool nomem;
};

void dw_thrift_put_start(struct thrift_writer *writer, struct buffer *out);
void dw_thrift_put_bool(struct thrift_writer *writer, int32_t id, bool value);
void dw_thrift_put_byte(struct thrift_writer *writer, int32_t id, uint8_t value);
void dw_thrift_put_int(struct thrift_writer *writer, int32_t id, enum thrift_type type,
		       int64_t value);
void dw_thrift_put_string(struct thrift_writer *writer, int32_t id, const void *data,
			  size_t size);
void dw_thrift_put_list(struct thrift_writer *writer, int32_t id, enum thrift_type type,
			enum thrift_type element, uint64_t count);
void dw_thrift_put_map(struct thrift_writer *writer, int32_t id, enum thrift_type key,
		       enum thrift_type value, uint64_t count);
/* A nested struct as field (id > 0) or as element of a container (id 0): returns the
 * state for dw_thrift_put_end(). */
int32_t dw_thrift_put_begin(struct thrift_writer *writer, int32_t id);
void dw_thrift_put_end(struct thrift_writer *writer, int32_t saved);
void dw_thrift_put_element_int(struct thrift_writer *writer, int64_t value);
void dw_thrift_put_element_string(struct thrift_writer *writer, const void *data,
				  size_t size);
/* An unsigned LEB128 number, as dw_thrift_varint() reads it. */
void dw_thrift_put_varint(struct thrift_writer *writer, uint64_t value);
/* The stop byte of the outermost struct. */
int dw_thrift_put_stop(struct thrift_writer *writer, dwarfs_error **err);

#endif
