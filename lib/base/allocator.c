/* SPDX-License-Identifier: MIT */
/*
 * base/allocator: all memory of the library, in blocks that know their size.
 *
 * What is written past the end of a block is found by sanitizers and valgrind as with plain
 * malloc(): the header is in front. It is poisoned, so the address sanitizer also finds what is
 * written before the beginning; valgrind finds only what is more than 16 bytes before it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"

/* In front of each block. */
struct block_header {
	size_t bytes; /* with the header */
} __attribute__((aligned(16)));

#define HEADER_BYTES sizeof(struct block_header)

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(from, bytes)	 ((void)(from))
#define ASAN_UNPOISON_MEMORY_REGION(from, bytes) ((void)(from))
#endif

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

/* The sum of a size and the header: 0 if there are no such objects. */
static size_t with_header(size_t bytes)
{
	return bytes <= PTRDIFF_MAX - HEADER_BYTES ? bytes + HEADER_BYTES : 0;
}

/* The block of this header, or NULL. */
static void *finish_block(struct block_header *header, size_t bytes)
{
	if (!header)
		return no_memory();
	header->bytes = bytes;
	ASAN_POISON_MEMORY_REGION(header, HEADER_BYTES);
	return header + 1;
}

static struct block_header *header_of(void *block)
{
	struct block_header *header = (struct block_header *)block - 1;

	ASAN_UNPOISON_MEMORY_REGION(header, HEADER_BYTES);
	return header;
}

void *dw_malloc(size_t bytes)
{
	const size_t whole = with_header(bytes);

	return finish_block(whole ? malloc(whole) : NULL, whole);
}

void *dw_calloc(size_t count, size_t bytes)
{
	size_t whole;

	if (__builtin_mul_overflow(count ? count : 1, bytes, &whole))
		return no_memory();
	whole = with_header(whole);
	return finish_block(whole ? calloc(1, whole) : NULL, whole);
}

void *dw_realloc(void *block, size_t bytes)
{
	const size_t whole = with_header(bytes);
	struct block_header *header, *moved;

	if (!block)
		return dw_malloc(bytes);
	if (!whole)
		return no_memory();
	header = header_of(block);
	moved = realloc(header, whole);
	if (!moved)
		ASAN_POISON_MEMORY_REGION(header, HEADER_BYTES);
	return finish_block(moved, whole);
}

void dw_free(void *block)
{
	if (block)
		free(header_of(block));
}

static char *duplicate(const char *text, size_t length)
{
	char *copy = dw_malloc(length + 1);

	if (copy) {
		memcpy(copy, text, length);
		copy[length] = '\0';
	}
	return copy;
}

char *dw_strndup(const char *text, size_t most)
{
	return duplicate(text, strnlen(text, most));
}

char *dw_strdup(const char *text)
{
	return duplicate(text, strlen(text));
}
