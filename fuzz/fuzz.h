/* SPDX-License-Identifier: MIT */
/*
 * fuzz: what the harnesses share, and the functions that libFuzzer and replay.c know.
 */
#ifndef DWARFS_FUZZ_H
#define DWARFS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The harness: one input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A harness may bring a mutator that knows its format, in place of the one of libFuzzer.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

/* The general mutator: of libFuzzer, or the one in replay.c. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* A promise of the API that must hold whatever the input. */
#define fuzz_require(condition) ((condition) ? (void)0 : abort())

/* Look at every byte, so that the sanitizers do. */
static inline void fuzz_use(const void *data, size_t size)
{
	const volatile uint8_t *bytes = data;

	while (size-- > 0)
		(void)*bytes++;
}

#endif
