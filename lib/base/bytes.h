/* SPDX-License-Identifier: MIT */
/*
 * base/bytes: numbers in memory, little- or big-endian on every host, at any alignment.
 *
 * The only file that depends on the byte order of the host, except
 * write/segment/anchors.c, which tests DW_LITTLE_ENDIAN_HOST for its vectors. Stored
 * numbers are little-endian unless the name says "be".
 */
#ifndef DW_BASE_BYTES_H
#define DW_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

#define dw_swap16(x) __builtin_bswap16(x)
#define dw_swap32(x) __builtin_bswap32(x)
#define dw_swap64(x) __builtin_bswap64(x)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define DW_LITTLE_ENDIAN_HOST 1
#define dw_le16(x)	      (x)
#define dw_le32(x)	      (x)
#define dw_le64(x)	      (x)
#define dw_be16(x)	      dw_swap16(x)
#define dw_be32(x)	      dw_swap32(x)
#define dw_be64(x)	      dw_swap64(x)
#else
#define DW_LITTLE_ENDIAN_HOST 0
#define dw_le16(x)	      dw_swap16(x)
#define dw_le32(x)	      dw_swap32(x)
#define dw_le64(x)	      dw_swap64(x)
#define dw_be16(x)	      (x)
#define dw_be32(x)	      (x)
#define dw_be64(x)	      (x)
#endif

#define DW_DEFINE_ACCESS(name, order, bits)                                              \
	static inline uint##bits##_t dw_load##name##bits(const void *from)               \
	{                                                                                \
		uint##bits##_t value;                                                    \
		memcpy(&value, from, sizeof(value));                                     \
		return order##bits(value);                                               \
	}                                                                                \
	static inline void dw_store##name##bits(void *to, uint##bits##_t value)          \
	{                                                                                \
		value = order##bits(value);                                              \
		memcpy(to, &value, sizeof(value));                                       \
	}
DW_DEFINE_ACCESS(, dw_le, 16)
DW_DEFINE_ACCESS(, dw_le, 32)
DW_DEFINE_ACCESS(, dw_le, 64)
DW_DEFINE_ACCESS(_be, dw_be, 16)
DW_DEFINE_ACCESS(_be, dw_be, 32)
DW_DEFINE_ACCESS(_be, dw_be, 64)

/* Bits of the shortest binary form: 0 for 0, 8 for 255. */
static inline unsigned dw_bit_length(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

#endif
