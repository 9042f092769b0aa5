/* SPDX-License-Identifier: MIT */
/*
 * os/pages for POSIX.
 */
#include <sys/mman.h>

#include "os/pages.h"

void *dw_pages_new(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

void dw_pages_free(void *pages, size_t bytes)
{
	if (pages)
		munmap(pages, bytes);
}
