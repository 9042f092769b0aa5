/* SPDX-License-Identifier: MIT */
/*
 * os/missing: qsort_r() and memrchr() where the C library has none, or another qsort_r().
 * The sort is a heapsort.
 */
#include <stdint.h>
#include <string.h>

void *dw_memrchr(const void *data, int byte, size_t bytes)
{
	const unsigned char *from = data;

	while (bytes > 0)
		if (from[--bytes] == (unsigned char)byte)
			return (void *)(uintptr_t)(from + bytes);
	return NULL;
}

struct sorting {
	char *items;
	size_t bytes;
	int (*compare)(const void *, const void *, void *);
	void *context;
};

static void swap(const struct sorting *sorting, size_t a, size_t b)
{
	char *left = sorting->items + a * sorting->bytes;
	char *right = sorting->items + b * sorting->bytes;

	for (size_t i = 0; i < sorting->bytes; i++) {
		char byte = left[i];

		left[i] = right[i];
		right[i] = byte;
	}
}

static int order(const struct sorting *sorting, size_t a, size_t b)
{
	return sorting->compare(sorting->items + a * sorting->bytes,
				sorting->items + b * sorting->bytes, sorting->context);
}

/* Move an item down until no child of it is larger. */
static void sift_down(const struct sorting *sorting, size_t at, size_t count)
{
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= count)
			return;
		if (child + 1 < count && order(sorting, child, child + 1) < 0)
			child++;
		if (order(sorting, at, child) >= 0)
			return;
		swap(sorting, at, child);
		at = child;
	}
}

void dw_qsort_r(void *items, size_t count, size_t bytes,
		int (*compare)(const void *, const void *, void *), void *context)
{
	const struct sorting sorting = { items, bytes, compare, context };

	for (size_t i = count / 2; i > 0; i--)
		sift_down(&sorting, i - 1, count);
	for (size_t left = count; left > 1; left--) {
		swap(&sorting, 0, left - 1);
		sift_down(&sorting, 0, left - 1);
	}
}
