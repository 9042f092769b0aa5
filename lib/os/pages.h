/* SPDX-License-Identifier: MIT */
/*
 * os/pages: large memory: pages of the system, to which they are returned at once when freed, or
 * memory of the allocator of the program.
 */
#ifndef DW_OS_PAGES_H
#define DW_OS_PAGES_H

#include "base/memory.h"

/* Zeroed pages of the system, or NULL. */
void *dw_system_pages_new(size_t bytes);
void dw_system_pages_free(void *pages, size_t bytes);

/* Memory of an allocator begins here in each line of twice this many bytes, where pages of the
 * system never begin; before it is the pointer to its block. */
#define DW_PAGES_OFFSET ((size_t)64)

/* Zeroed memory, or NULL: of the current allocator if there is one, otherwise pages. */
static inline void *dw_pages_new(size_t bytes)
{
	const size_t line = 2 * DW_PAGES_OFFSET;
	uint8_t *block, *pages;

	if (!dw_current_allocator)
		return dw_system_pages_new(bytes);
	if (bytes > SIZE_MAX - 2 * line || !(block = dw_calloc(1, bytes + 2 * line)))
		return NULL;
	pages = block + line - (uintptr_t)block % line + DW_PAGES_OFFSET;
	memcpy(pages - sizeof(block), &block, sizeof(block));
	return pages;
}

/* Whether they are of the system, which takes parts of them back, and of which those that were
 * not used take no memory. */
static inline bool dw_pages_are_system(const void *pages)
{
	return (uintptr_t)pages % (2 * DW_PAGES_OFFSET) != DW_PAGES_OFFSET;
}

/* The same, always of the system, for pages that are zero again in a child process; NULL if
 * the system lacks that. */
void *dw_pages_new_wiped_by_fork(size_t bytes);

/* A range that will be accessed at random or filled at once: where it covers whole huge pages,
 * they may be used. Only advice, which stays with the addresses until they are unmapped. Does
 * nothing for memory of an allocator of the program. */
void dw_pages_use_huge(void *from, size_t bytes);

/* The same for memory that may stay partly unused: only from four huge pages on, so that what is
 * touched in vain is a part of it. */
static inline void dw_pages_use_huge_if_large(void *from, size_t bytes)
{
	if (bytes >= (size_t)8 << 20)
		dw_pages_use_huge(from, bytes);
}

/* A block for dw_free() that is about to be filled, or NULL. Huge pages are used where the block
 * takes at least half of one. This many bytes from its beginning are populated at once. */
void *dw_pages_new_block(size_t bytes, size_t prepared_bytes);

/* A range is about to be written: if it is large, populate it at once instead of page
 * by page, also in memory of an allocator of the program. */
void dw_pages_prepare(void *from, size_t bytes);

/* Free all, with the same size, or whole pages of the system. NULL is accepted. */
static inline void dw_pages_free(void *pages, size_t bytes)
{
	void *block;

	if (dw_pages_are_system(pages)) {
		dw_system_pages_free(pages, bytes);
		return;
	}
	memcpy(&block, (uint8_t *)pages - sizeof(block), sizeof(block));
	dw_free(block);
}

/* Map a file for reading, or NULL if that is not possible. */
const uint8_t *dw_pages_map(int fd, uint64_t bytes);
void dw_pages_unmap(const uint8_t *pages, uint64_t bytes);

/* Read a range of a mapped file into memory, so that an I/O error is returned here
 * instead of raising a signal later. False if that fails or is not supported. */
bool dw_pages_populate(const uint8_t *from, size_t bytes);

/* The range is no longer needed; pages that it shares with others are kept. */
void dw_pages_drop(const uint8_t *from, size_t bytes);

/* Lock pages in memory until they are unmapped: 0 or an errno. */
int dw_pages_lock(const void *from, size_t bytes);

#endif
