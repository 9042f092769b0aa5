/* SPDX-License-Identifier: MIT */
/*
 * base/multiply: the product of two 64-bit numbers in 128 bits.
 */
#ifndef DW_BASE_MULTIPLY_H
#define DW_BASE_MULTIPLY_H

#include <stdint.h>

/* The high half of the product xor the low half, by 32-bit multiplications. */
static inline uint64_t dw_multiply_fold_portable(uint64_t a, uint64_t b)
{
	uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
	uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32);
	uint64_t carried = a0 * b1 + (uint32_t)middle;
	uint64_t high = a1 * b1 + (middle >> 32) + (carried >> 32);

	return high ^ (carried << 32 | (uint32_t)low);
}

/* The same, on machines of 64 bits by one instruction. */
#ifdef __SIZEOF_INT128__
static inline uint64_t dw_multiply_fold(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}
#else
#define dw_multiply_fold dw_multiply_fold_portable
#endif

#endif
