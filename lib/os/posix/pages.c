/* SPDX-License-Identifier: MIT */
/*
 * os/pages for POSIX: anonymous and mapped pages.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/pages.h"

/* Not in the headers of musl. Older kernels refuse them. */
#if defined(__linux__) && !defined(MADV_POPULATE_READ)
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* For fewer bytes, a system call costs about as much as the page faults. */
#define MIN_PREPARED_BYTES ((size_t)64 << 10)

#define HUGE_BYTES ((size_t)2 << 20)

void *dw_system_pages_new(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

#ifdef MADV_WIPEONFORK
void *dw_pages_new_wiped_by_fork(size_t bytes)
{
	void *pages = dw_system_pages_new(bytes);

	if (pages && madvise(pages, bytes, MADV_WIPEONFORK) != 0) {
		dw_system_pages_free(pages, bytes);
		return NULL;
	}
	return pages;
}
#else
void *dw_pages_new_wiped_by_fork(size_t bytes)
{
	return NULL;
}
#endif

void dw_pages_use_huge(void *from, size_t bytes)
{
#ifdef MADV_HUGEPAGE
	const uintptr_t huge = HUGE_BYTES;
	uintptr_t start = ((uintptr_t)from + huge - 1) / huge * huge;
	uintptr_t end = ((uintptr_t)from + bytes) / huge * huge;
	int saved = errno;

	/* start is 0 after an address in the last huge page. */
	if (!dw_current_allocator && start >= (uintptr_t)from && start < end)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
	errno = saved;
#endif
}

void dw_pages_prepare(void *from, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)from / page * page;
	int saved = errno;

	if (bytes >= MIN_PREPARED_BYTES)
		madvise((void *)start, (uintptr_t)from + bytes - start,
			MADV_POPULATE_WRITE);
	errno = saved;
#endif
}

#ifdef MADV_HUGEPAGE
/* A block of which each huge page is at least half used. It begins with its header in the first
 * one; NULL if there is no such page, or no memory. */
static void *new_huge_block(size_t bytes)
{
	size_t whole = bytes + sizeof(union block_header);
	void *memory;

	if (dw_current_allocator || bytes < HUGE_BYTES / 2 || bytes > SIZE_MAX / 4)
		return NULL;
	if (whole % HUGE_BYTES >= HUGE_BYTES / 2)
		whole = (whole / HUGE_BYTES + 1) * HUGE_BYTES;
	if (posix_memalign(&memory, HUGE_BYTES, whole) != 0)
		return NULL;
	dw_pages_use_huge(memory, whole);
	return dw_block_in(memory, whole);
}
#else
static void *new_huge_block(size_t bytes)
{
	return NULL;
}
#endif

void *dw_pages_new_block(size_t bytes, size_t prepared_bytes)
{
	void *block = new_huge_block(bytes);

	if (!block && !(block = dw_malloc(bytes)))
		return NULL;
	dw_pages_prepare(block, bytes < prepared_bytes ? bytes : prepared_bytes);
	return block;
}

void dw_system_pages_free(void *pages, size_t bytes)
{
	if (pages)
		munmap(pages, bytes);
}

const uint8_t *dw_pages_map(int fd, uint64_t bytes)
{
	void *pages;

	if (bytes == 0 || bytes > SIZE_MAX / 4)
		return NULL;
	pages = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
	return pages == MAP_FAILED ? NULL : pages;
}

void dw_pages_unmap(const uint8_t *pages, uint64_t bytes)
{
	if (pages)
		munmap((void *)pages, (size_t)bytes);
}

#ifdef MADV_POPULATE_READ
bool dw_pages_populate(const uint8_t *from, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)from / page * page;

	return madvise((void *)start, (uintptr_t)from + bytes - start,
		       MADV_POPULATE_READ) == 0;
}
#else
bool dw_pages_populate(const uint8_t *from, size_t bytes)
{
	return false;
}
#endif

void dw_pages_drop(const uint8_t *from, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = ((uintptr_t)from + page - 1) / page * page;
	uintptr_t end = ((uintptr_t)from + bytes) / page * page;

	if (start < end)
		madvise((void *)start, end - start, MADV_DONTNEED);
}

int dw_pages_lock(const void *from, size_t bytes)
{
	return bytes > 0 && mlock(from, bytes) != 0 ? errno : 0;
}
