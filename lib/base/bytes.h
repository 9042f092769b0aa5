/* SPDX-License-Identifier: MIT */
/*
 * base/bytes: numbers in memory, little-endian on every host, at any alignment.
 */
#ifndef DW_BASE_BYTES_H
#define DW_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define dw_le16(x) __builtin_bswap16(x)
#define dw_le32(x) __builtin_bswap32(x)
#define dw_le64(x) __builtin_bswap64(x)
#else
#define dw_le16(x) (x)
#define dw_le32(x) (x)
#define dw_le64(x) (x)
#endif

#define DW_DEFINE_LE(bits)                                                               \
	static inline uint##bits##_t dw_load##bits(const void *from)                     \
	{                                                                                \
		uint##bits##_t value;                                                    \
		memcpy(&value, from, sizeof(value));                                     \
		return dw_le##bits(value);                                               \
	}                                                                                \
	static inline void dw_store##bits(void *to, uint##bits##_t value)                \
	{                                                                                \
		value = dw_le##bits(value);                                              \
		memcpy(to, &value, sizeof(value));                                       \
	}
DW_DEFINE_LE(16)
DW_DEFINE_LE(32)
DW_DEFINE_LE(64)

/* Bits of the shortest binary form: 0 for 0, 8 for 255. */
static inline unsigned dw_bit_length(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

#endif
