/* SPDX-License-Identifier: MIT */
/*
 * base/memory: ownership of locals, growable memory, arithmetic with overflow checks.
 */
#ifndef DW_BASE_MEMORY_H
#define DW_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "base/error.h"

/* A local that releases itself: auto_free char *text = NULL; */
#define auto_free __attribute__((cleanup(dw_cleanup_free)))
static inline void dw_cleanup_free(void *pointer)
{
	dw_free(*(void **)pointer);
}

/* Define dw_cleanup_NAME for DW_AUTO(NAME): calls the destructor, which accepts NULL. */
#define DW_DEFINE_AUTO(name, type, destructor)                                           \
	static inline void dw_cleanup_##name(type *pointer)                              \
	{                                                                                \
		destructor(*pointer);                                                    \
	}
#define DW_AUTO(name) __attribute__((cleanup(dw_cleanup_##name)))

/* Take the value of a pointer and leave NULL. */
#define dw_steal(pointer)                                                                \
	__extension__({                                                                  \
		__typeof__(pointer) dw_stolen = (pointer);                               \
		(pointer) = NULL;                                                        \
		dw_stolen;                                                               \
	})

DW_DEFINE_AUTO(error, dwarfs_error *, dwarfs_error_free)
#define auto_error DW_AUTO(error)

/* All three store the result and return false when it does not fit. */
#define dw_add(a, b, result) (!__builtin_add_overflow(a, b, result))
#define dw_sub(a, b, result) (!__builtin_sub_overflow(a, b, result))
#define dw_mul(a, b, result) (!__builtin_mul_overflow(a, b, result))

/* Grow an array to at least `need` items: *data is reallocated and *capacity (in
 * items) raised by half or more. Nothing changes on failure. */
int dw_grow_bytes(void **data, size_t *capacity, size_t need, size_t item_bytes,
		  dwarfs_error **err);
#define dw_grow(data, capacity, need, err)                                               \
	dw_grow_bytes((void **)(data), (capacity), (need), sizeof(**(data)), (err))

/* Borrowed bytes. */
struct span {
	const uint8_t *data;
	size_t size;
};

/* Fields that threads write all the time are at least so many bytes apart from others: a
 * processor that writes takes the whole cache line from the others. */
#define DW_APART_BYTES 128

/* Owned bytes that grow. Zero-initialized, it is empty. */
struct buffer {
	uint8_t *data;
	size_t size;
	size_t capacity;
};

void dw_buffer_free(struct buffer *buffer); /* frees the bytes, leaves an empty buffer */
static inline void dw_cleanup_buffer(struct buffer *buffer)
{
	dw_buffer_free(buffer);
}
#define auto_buffer __attribute__((cleanup(dw_cleanup_buffer)))

/* Reserve capacity for more bytes after the current ones; the size does not change. */
int dw_buffer_reserve(struct buffer *buffer, size_t more, dwarfs_error **err);
int dw_buffer_append(struct buffer *buffer, const void *data, size_t size,
		     dwarfs_error **err);

static inline struct span dw_buffer_span(const struct buffer *buffer)
{
	return (struct span){ buffer->data, buffer->size };
}

/* As memcmp(); of two spans with a common beginning, the shorter one is less. */
static inline int dw_span_compare(struct span a, struct span b)
{
	size_t common = a.size < b.size ? a.size : b.size;
	int order = common ? memcmp(a.data, b.data, common) : 0;

	if (order != 0)
		return order;
	return a.size < b.size ? -1 : a.size > b.size;
}

/* Bring the items of a list, each of this size, into the opposite order. */
void dw_reverse(void *list, size_t count, size_t item_bytes);

/* FNV-1a of 64 bits, for short texts and tables in memory: the hash of no bytes. */
#define DW_FNV1A_START UINT64_C(0xCBF29CE484222325)
#define DW_FNV1A_PRIME UINT64_C(0x100000001B3)

/* Continue a hash with more bytes. */
static inline uint64_t dw_fnv1a(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * DW_FNV1A_PRIME;
	return hash;
}

/* Whether all of at least one byte are zero. */
static inline bool dw_is_zero(const uint8_t *data, size_t bytes)
{
	return data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0;
}

#endif
