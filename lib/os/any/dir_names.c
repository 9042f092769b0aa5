/* SPDX-License-Identifier: MIT */
/*
 * os/dir: the list of names that dw_dir_list() fills, the same on all platforms.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/dir.h"

void dw_os_names_free(struct os_names *names)
{
	dw_buffer_free(&names->text);
	dw_free(names->offsets);
	*names = (struct os_names){ 0 };
}

int dw_os_names_append(struct os_names *names, enum os_kind kind, const char *name)
{
	const uint8_t stored_kind = (uint8_t)kind;

	if (dw_grow(&names->offsets, &names->room, names->count + 1, NULL) < 0 ||
	    dw_buffer_append(&names->text, &stored_kind, 1, NULL) < 0)
		return -ENOMEM;
	names->offsets[names->count++] = names->text.size;
	if (dw_buffer_append(&names->text, name, strlen(name) + 1, NULL) < 0)
		return -ENOMEM;
	return 0;
}

static int compare_entry_names(const void *left, const void *right, void *text)
{
	const char *a = (const char *)text + *(const uint64_t *)left;
	const char *b = (const char *)text + *(const uint64_t *)right;

	return strcmp(a, b);
}

void dw_os_names_sort(struct os_names *names)
{
	if (names->count > 1)
		qsort_r(names->offsets, names->count, sizeof(names->offsets[0]),
			compare_entry_names, names->text.data);
}
