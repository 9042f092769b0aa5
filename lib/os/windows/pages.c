/* SPDX-License-Identifier: MIT */
/*
 * os/pages for Windows: VirtualAlloc(). Files are read, not mapped: an I/O error of a mapped
 * page would be an exception.
 */
#include "os/pages.h"
#include "os/windows/wide_path.h"

void *dw_system_pages_new(size_t bytes)
{
	return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void *dw_pages_new_wiped_by_fork(size_t bytes)
{
	return NULL;
}

void dw_pages_use_huge(void *from, size_t bytes)
{
}

void *dw_pages_new_block(size_t bytes, size_t prepared_bytes)
{
	return dw_malloc(bytes);
}

void dw_pages_prepare(void *from, size_t bytes)
{
}

/* Whether all pages of the allocation that begins at base were returned. */
static bool is_unused(char *base)
{
	MEMORY_BASIC_INFORMATION found;

	return VirtualQuery(base, &found, sizeof(found)) != 0 &&
	       found.State == MEM_RESERVE &&
	       (VirtualQuery(base + found.RegionSize, &found, sizeof(found)) == 0 ||
		found.AllocationBase != base);
}

/* An allocation may be freed in parts; its addresses are released with the last of them. */
void dw_system_pages_free(void *pages, size_t bytes)
{
	MEMORY_BASIC_INFORMATION found;

	if (!pages || bytes == 0 || VirtualQuery(pages, &found, sizeof(found)) == 0)
		return;
	VirtualFree(pages, bytes, MEM_DECOMMIT);
	if (is_unused(found.AllocationBase))
		VirtualFree(found.AllocationBase, 0, MEM_RELEASE);
}

const uint8_t *dw_pages_map(int fd, uint64_t bytes)
{
	return NULL;
}

void dw_pages_unmap(const uint8_t *pages, uint64_t bytes)
{
}

bool dw_pages_populate(const uint8_t *from, size_t bytes)
{
	return false;
}

void dw_pages_drop(const uint8_t *from, size_t bytes)
{
}

int dw_pages_lock(const void *from, size_t bytes)
{
	return bytes > 0 && !VirtualLock((void *)(uintptr_t)from, bytes)
		       ? -dw_windows_errno()
		       : 0;
}
