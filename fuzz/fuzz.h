/* SPDX-License-Identifier: MIT */
/*
 * fuzz: declarations shared by the harnesses, libFuzzer and replay.c.
 */
#ifndef DWARFS_FUZZ_H
#define DWARFS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The harness: one input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A harness may have a mutator for its format, instead of the one of libFuzzer.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

/* The general mutator: of libFuzzer, or the one in replay.c. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* A guarantee of the API that must hold for any input. */
#define fuzz_require(condition) ((condition) ? (void)0 : abort())

/* Read every byte, so that the sanitizers check it. */
static inline void fuzz_use(const void *data, size_t size)
{
	const volatile uint8_t *bytes = data;

	while (size-- > 0)
		(void)*bytes++;
}

#endif
