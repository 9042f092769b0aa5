/* SPDX-License-Identifier: MIT */
/*
 * format/thrift: the Thrift compact protocol, as far as images use it.
 *
 * Takes bytes, gives fields and values; and the reverse. Knows types, not meanings. The
 * reader allocates nothing: strings are borrowed from its input.
 */
#include "format/thrift.h"

#define MAX_NESTING	 64
#define MAX_VARINT_BYTES 10
#define SHORT_COUNT_MAX	 14 /* longer lists have their count after the header */
#define LONG_COUNT	 15
#define MAX_DELTA	 15
#define DOUBLE_BYTES	 8

/* -- reading ------------------------------------------------------------------------- */

/* Store the first error, and skip the rest of the input. */
static uint64_t fail_thrift(struct thrift_reader *reader, const char *error)
{
	if (!reader->error)
		reader->error = error;
	reader->at = reader->end;
	return 0;
}

static uint8_t take_raw_byte(struct thrift_reader *reader)
{
	if (reader->at == reader->end)
		return (uint8_t)fail_thrift(reader, "ends in the middle of a value");
	return *reader->at++;
}

static struct span take_raw_bytes(struct thrift_reader *reader, uint64_t size)
{
	struct span taken = { reader->at, 0 };

	if (size > dw_thrift_left(reader)) {
		fail_thrift(reader, "a string runs past the end");
		return taken;
	}
	taken.size = (size_t)size;
	reader->at += taken.size;
	return taken;
}

static int64_t take_int(struct thrift_reader *reader)
{
	uint64_t raw = dw_thrift_varint(reader);

	return (int64_t)((raw >> 1) ^ -(raw & 1));
}

static bool fits_type(int64_t value, enum thrift_type type)
{
	switch (type) {
	case THRIFT_I16:
		return value >= INT16_MIN && value <= INT16_MAX;
	case THRIFT_I32:
		return value >= INT32_MIN && value <= INT32_MAX;
	default:
		return true;
	}
}

static bool type_is(struct thrift_reader *reader, const struct thrift_field *field,
		    enum thrift_type type)
{
	if (reader->error)
		return false;
	if (field->type == type)
		return true;
	fail_thrift(reader, "a field has an unexpected type");
	return false;
}

/* Each item of a container takes at least item_bytes. */
static uint64_t checked_count(struct thrift_reader *reader, uint64_t count,
			      size_t item_bytes)
{
	if (count > dw_thrift_left(reader) / item_bytes)
		return fail_thrift(reader, "a container runs past the end");
	return count;
}

static uint64_t take_list(struct thrift_reader *reader, enum thrift_type *element)
{
	uint8_t header = take_raw_byte(reader);
	uint64_t count = header >> 4;

	*element = (enum thrift_type)(header & 0x0F);
	if (count == LONG_COUNT)
		count = dw_thrift_varint(reader);
	return checked_count(reader, count, 1);
}

static uint64_t take_map(struct thrift_reader *reader, enum thrift_type *key,
			 enum thrift_type *value)
{
	uint64_t count = dw_thrift_varint(reader);
	uint8_t types;

	*key = *value = THRIFT_STOP;
	if (!count)
		return 0;
	types = take_raw_byte(reader);
	*key = (enum thrift_type)(types >> 4);
	*value = (enum thrift_type)(types & 0x0F);
	return checked_count(reader, count, 2);
}

void dw_thrift_start(struct thrift_reader *reader, struct span bytes)
{
	static const uint8_t nothing[1];
	const uint8_t *data = bytes.data ? bytes.data : nothing;

	*reader = (struct thrift_reader){ data, data + bytes.size, NULL };
}

bool dw_thrift_field(struct thrift_reader *reader, struct thrift_field *field)
{
	uint8_t header = take_raw_byte(reader);
	int64_t id;

	field->type = (enum thrift_type)(header & 0x0F);
	if (reader->error || header == THRIFT_STOP) {
		field->type = THRIFT_STOP;
		return false;
	}
	id = header >> 4 ? field->id + (header >> 4) : take_int(reader);
	if (!fits_type(id, THRIFT_I16) || field->type == THRIFT_STOP ||
	    field->type > THRIFT_STRUCT)
		fail_thrift(reader, "a field has an impossible header");
	if (reader->error) {
		field->type = THRIFT_STOP;
		return false;
	}
	field->id = (int32_t)id;
	return true;
}

bool dw_thrift_bool(struct thrift_reader *reader, const struct thrift_field *field)
{
	if (!reader->error && field->type == THRIFT_TRUE)
		return true;
	type_is(reader, field, THRIFT_FALSE);
	return false;
}

uint8_t dw_thrift_byte(struct thrift_reader *reader, const struct thrift_field *field)
{
	return type_is(reader, field, THRIFT_BYTE) ? take_raw_byte(reader) : 0;
}

int64_t dw_thrift_int(struct thrift_reader *reader, const struct thrift_field *field,
		      enum thrift_type type)
{
	int64_t value;

	if (!type_is(reader, field, type))
		return 0;
	value = take_int(reader);
	if (!fits_type(value, type))
		return (int64_t)fail_thrift(reader, "a number is too large for its type");
	return value;
}

struct span dw_thrift_string(struct thrift_reader *reader,
			     const struct thrift_field *field)
{
	if (!type_is(reader, field, THRIFT_STRING))
		return (struct span){ reader->end, 0 };
	return dw_thrift_element_string(reader);
}

void dw_thrift_struct(struct thrift_reader *reader, const struct thrift_field *field)
{
	type_is(reader, field, THRIFT_STRUCT);
}

uint64_t dw_thrift_list(struct thrift_reader *reader, const struct thrift_field *field,
			enum thrift_type element)
{
	enum thrift_type found;
	uint64_t count;

	if (reader->error ||
	    (field->type != THRIFT_SET && !type_is(reader, field, THRIFT_LIST)))
		return 0;
	count = take_list(reader, &found);
	if (count && found != element)
		return fail_thrift(reader,
				   "the elements of a list have an unexpected type");
	return count;
}

uint64_t dw_thrift_map(struct thrift_reader *reader, const struct thrift_field *field,
		       enum thrift_type key, enum thrift_type value)
{
	enum thrift_type found_key, found_value;
	uint64_t count;

	if (!type_is(reader, field, THRIFT_MAP))
		return 0;
	count = take_map(reader, &found_key, &found_value);
	if (count && (found_key != key || found_value != value))
		return fail_thrift(reader, "the pairs of a map have unexpected types");
	return count;
}

int64_t dw_thrift_element_int(struct thrift_reader *reader)
{
	return take_int(reader);
}

struct span dw_thrift_element_string(struct thrift_reader *reader)
{
	uint64_t size = dw_thrift_varint(reader);

	return take_raw_bytes(reader, size);
}

static void skip(struct thrift_reader *reader, enum thrift_type type, bool in_container,
		 unsigned depth);

static void skip_struct(struct thrift_reader *reader, unsigned depth)
{
	struct thrift_field field = { 0 };

	while (dw_thrift_field(reader, &field))
		skip(reader, field.type, false, depth);
}

/* Counts are bounded by the bytes left, as each element takes at least one. */
static void skip_list(struct thrift_reader *reader, unsigned depth)
{
	enum thrift_type element;
	uint64_t count = take_list(reader, &element);

	for (uint64_t i = 0; i < count && !reader->error; i++)
		skip(reader, element, true, depth);
}

static void skip_map(struct thrift_reader *reader, unsigned depth)
{
	enum thrift_type key, value;
	uint64_t count = take_map(reader, &key, &value);

	for (uint64_t i = 0; i < count && !reader->error; i++) {
		skip(reader, key, true, depth);
		skip(reader, value, true, depth);
	}
}

static void skip(struct thrift_reader *reader, enum thrift_type type, bool in_container,
		 unsigned depth)
{
	if (reader->error)
		return;
	if (depth > MAX_NESTING) {
		fail_thrift(reader, "values are nested too deeply");
		return;
	}
	switch (type) {
	case THRIFT_TRUE:
	case THRIFT_FALSE:
		if (in_container)
			take_raw_byte(reader);
		return;
	case THRIFT_BYTE:
		take_raw_byte(reader);
		return;
	case THRIFT_I16:
	case THRIFT_I32:
	case THRIFT_I64:
		dw_thrift_varint(reader);
		return;
	case THRIFT_DOUBLE:
		take_raw_bytes(reader, DOUBLE_BYTES);
		return;
	case THRIFT_STRING:
		dw_thrift_element_string(reader);
		return;
	case THRIFT_LIST:
	case THRIFT_SET:
		skip_list(reader, depth + 1);
		return;
	case THRIFT_MAP:
		skip_map(reader, depth + 1);
		return;
	case THRIFT_STRUCT:
		skip_struct(reader, depth + 1);
		return;
	default:
		fail_thrift(reader, "a value has an unknown type");
	}
}

void dw_thrift_skip(struct thrift_reader *reader, const struct thrift_field *field)
{
	skip(reader, field->type, false, 1);
}

uint64_t dw_thrift_varint(struct thrift_reader *reader)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < MAX_VARINT_BYTES; i++) {
		uint8_t byte = take_raw_byte(reader);

		if (reader->error)
			return 0;
		if (i == MAX_VARINT_BYTES - 1 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7F) << (7 * i);
		if (!(byte & 0x80))
			return value;
	}
	return fail_thrift(reader, "a number does not fit into 64 bits");
}

/* -- writing ------------------------------------------------------------------------- */

static void put_raw(struct thrift_writer *writer, const void *data, size_t size)
{
	if (!writer->nomem && dw_buffer_append(writer->out, data, size, NULL) < 0)
		writer->nomem = true;
}

static void put_byte(struct thrift_writer *writer, uint8_t byte)
{
	put_raw(writer, &byte, 1);
}

void dw_thrift_put_varint(struct thrift_writer *writer, uint64_t value)
{
	uint8_t bytes[MAX_VARINT_BYTES];
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (uint8_t)(value | 0x80);
	bytes[size++] = (uint8_t)value;
	put_raw(writer, bytes, size);
}

static void put_field(struct thrift_writer *writer, int32_t id, enum thrift_type type)
{
	int32_t delta = id - writer->last_id;

	writer->last_id = id;
	if (delta >= 1 && delta <= MAX_DELTA) {
		put_byte(writer, (uint8_t)(delta << 4 | (int)type));
		return;
	}
	put_byte(writer, (uint8_t)type);
	dw_thrift_put_element_int(writer, id);
}

void dw_thrift_put_start(struct thrift_writer *writer, struct buffer *out)
{
	*writer = (struct thrift_writer){ .out = out };
}

void dw_thrift_put_bool(struct thrift_writer *writer, int32_t id, bool value)
{
	put_field(writer, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void dw_thrift_put_byte(struct thrift_writer *writer, int32_t id, uint8_t value)
{
	put_field(writer, id, THRIFT_BYTE);
	put_byte(writer, value);
}

void dw_thrift_put_int(struct thrift_writer *writer, int32_t id, enum thrift_type type,
		       int64_t value)
{
	put_field(writer, id, type);
	dw_thrift_put_element_int(writer, value);
}

void dw_thrift_put_string(struct thrift_writer *writer, int32_t id, const void *data,
			  size_t size)
{
	put_field(writer, id, THRIFT_STRING);
	dw_thrift_put_element_string(writer, data, size);
}

void dw_thrift_put_list(struct thrift_writer *writer, int32_t id, enum thrift_type type,
			enum thrift_type element, uint64_t count)
{
	put_field(writer, id, type);
	if (count <= SHORT_COUNT_MAX) {
		put_byte(writer, (uint8_t)(count << 4 | element));
		return;
	}
	put_byte(writer, (uint8_t)(LONG_COUNT << 4 | (int)element));
	dw_thrift_put_varint(writer, count);
}

void dw_thrift_put_map(struct thrift_writer *writer, int32_t id, enum thrift_type key,
		       enum thrift_type value, uint64_t count)
{
	put_field(writer, id, THRIFT_MAP);
	dw_thrift_put_varint(writer, count);
	if (count)
		put_byte(writer, (uint8_t)((int)key << 4 | (int)value));
}

int32_t dw_thrift_put_begin(struct thrift_writer *writer, int32_t id)
{
	int32_t saved;

	if (id > 0)
		put_field(writer, id, THRIFT_STRUCT);
	saved = writer->last_id;
	writer->last_id = 0;
	return saved;
}

void dw_thrift_put_end(struct thrift_writer *writer, int32_t saved)
{
	put_byte(writer, THRIFT_STOP);
	writer->last_id = saved;
}

void dw_thrift_put_element_int(struct thrift_writer *writer, int64_t value)
{
	dw_thrift_put_varint(writer, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

void dw_thrift_put_element_string(struct thrift_writer *writer, const void *data,
				  size_t size)
{
	dw_thrift_put_varint(writer, size);
	put_raw(writer, data, size);
}

int dw_thrift_put_stop(struct thrift_writer *writer, dwarfs_error **err)
{
	put_byte(writer, THRIFT_STOP);
	return writer->nomem ? dw_fail_nomem(err) : 0;
}
