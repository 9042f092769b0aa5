/* SPDX-License-Identifier: MIT */
/*
 * base/allocator: blocks of memory with a header: their allocator and size.
 *
 * Sanitizers and valgrind detect writes past the end of a block as with plain malloc(),
 * since the header precedes the block. The header is poisoned, so the address sanitizer
 * also detects writes before the beginning; valgrind detects only those more than 16
 * bytes before it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "base/error.h"

#define HEADER_BYTES sizeof(union block_header)

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(from, bytes)	 ((void)(from))
#define ASAN_UNPOISON_MEMORY_REGION(from, bytes) ((void)(from))
#endif

_Static_assert(sizeof(union block_header) == 16, "the header keeps the alignment");

_Thread_local const dwarfs_allocator *dw_current_allocator;

/* -- the allocator ------------------------------------------------------------------- */

int dw_allocator_check(const dwarfs_allocator *allocator, dwarfs_error **err)
{
	if (!allocator)
		return 0;
	if (allocator->struct_bytes < sizeof(*allocator))
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "an allocator of %zu bytes: at least %zu are needed",
			       allocator->struct_bytes, sizeof(*allocator));
	if (!allocator->allocate || !allocator->release)
		return dw_fail_null(err, "allocate and release of an allocator");
	return 0;
}

int dwarfs_allocator_use(const dwarfs_allocator *allocator,
			 const dwarfs_allocator **previous_out, dwarfs_error **err)
{
	int ret = dw_allocator_check(allocator, err);

	if (ret < 0)
		return ret;
	if (previous_out)
		*previous_out = dw_current_allocator;
	dw_current_allocator = allocator;
	return 0;
}

/* -- blocks -------------------------------------------------------------------------- */

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
static void *finish_block(union block_header *header, const dwarfs_allocator *allocator,
			  size_t bytes)
{
	if (!header)
		return no_memory();
	*header = (union block_header){ { allocator, bytes } };
	ASAN_POISON_MEMORY_REGION(header, HEADER_BYTES);
	return header + 1;
}

static union block_header *header_of(void *block)
{
	union block_header *header = (union block_header *)block - 1;

	ASAN_UNPOISON_MEMORY_REGION(header, HEADER_BYTES);
	return header;
}

void *dw_malloc(size_t bytes)
{
	const dwarfs_allocator *allocator = dw_current_allocator;
	const size_t whole = with_header(bytes);

	if (!whole)
		return no_memory();
	return finish_block(allocator ? allocator->allocate(whole, allocator->user)
				      : malloc(whole),
			    allocator, whole);
}

void *dw_block_in(void *memory, size_t bytes)
{
	return finish_block(memory, NULL, bytes);
}

void *dw_calloc(size_t count, size_t bytes)
{
	size_t whole;
	void *block;

	if (__builtin_mul_overflow(count ? count : 1, bytes, &bytes))
		return no_memory();
	if (!dw_current_allocator) {
		whole = with_header(bytes);
		return finish_block(whole ? calloc(1, whole) : NULL, NULL, whole);
	}
	block = dw_malloc(bytes);
	if (block)
		memset(block, 0, bytes);
	return block;
}

/* As realloc(), of the memory with the header. */
static void *resize(union block_header *header, size_t bytes)
{
	const dwarfs_allocator *allocator = header->allocator;
	const size_t old_bytes = header->bytes;
	void *moved;

	if (!allocator)
		return realloc(header, bytes);
	if (allocator->resize)
		return allocator->resize(header, old_bytes, bytes, allocator->user);
	moved = allocator->allocate(bytes, allocator->user);
	if (moved) {
		memcpy(moved, header, old_bytes < bytes ? old_bytes : bytes);
		allocator->release(header, old_bytes, allocator->user);
	}
	return moved;
}

void *dw_realloc(void *block, size_t bytes)
{
	const size_t whole = with_header(bytes);
	const dwarfs_allocator *allocator;
	union block_header *header, *moved;

	if (!block)
		return dw_malloc(bytes);
	if (!whole)
		return no_memory();
	header = header_of(block);
	allocator = header->allocator;
	moved = resize(header, whole);
	if (!moved)
		ASAN_POISON_MEMORY_REGION(header, HEADER_BYTES);
	return finish_block(moved, allocator, whole);
}

void dw_free(void *block)
{
	union block_header *header;

	if (!block)
		return;
	header = header_of(block);
	if (header->allocator)
		header->allocator->release(header, header->bytes,
					   header->allocator->user);
	else
		free(header);
}

/* -- text ---------------------------------------------------------------------------- */

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
