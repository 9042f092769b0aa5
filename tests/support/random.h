/* SPDX-License-Identifier: MIT */
/*
 * Random numbers for data of tests: xorshift, from any seed but 0.
 */
#ifndef TESTS_SUPPORT_RANDOM_H
#define TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

/* The same numbers on every machine. */
static inline uint32_t next_random(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

#endif
