/* SPDX-License-Identifier: MIT */
/*
 * archive/import/item_xattrs: the extended attributes of an entry of an archive, each once.
 *
 * A tar may have each of them twice, in two kinds of headers. One of them encodes some
 * bytes of names as %XX, which libarchive does not decode: if the other kind has the
 * plain name with the same value, the encoded one is left out.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/import/import.h"
#include "base/memory.h"

static bool is_odd_byte(unsigned char byte)
{
	return byte <= ' ' || byte > '~' || byte == '%' || byte == '=';
}

static int compare_import_xattrs(const void *a, const void *b)
{
	const struct import_xattr *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order
		     : (left->number > right->number) - (left->number < right->number);
}

static int compare_name(const void *name, const void *xattr)
{
	return strcmp(name, ((const struct import_xattr *)xattr)->name);
}

/* The last of those with the same name counts. */
static size_t drop_repeated(struct import_xattr *list, size_t count)
{
	size_t kept = 0;

	qsort(list, count, sizeof(*list), compare_import_xattrs);
	for (size_t i = 0; i < count; i++)
		if (i + 1 == count || strcmp(list[i].name, list[i + 1].name) != 0)
			list[kept++] = list[i];
	return kept;
}

/* Mark the encoded form of a name, if present; false if out of memory. */
static bool mark_encoded(struct import_xattr *list, size_t count,
			 const struct import_xattr *plain)
{
	static const char digits[] = "0123456789ABCDEF";
	auto_free char *name = dw_malloc(3 * strlen(plain->name) + 1);
	struct import_xattr *encoded;
	char *to = name;

	if (!name)
		return false;
	for (const char *from = plain->name; *from; from++) {
		const unsigned char byte = (unsigned char)*from;

		if (is_odd_byte(byte)) {
			*to++ = '%';
			*to++ = digits[byte >> 4];
			*to++ = digits[byte & 15];
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	encoded = strcmp(name, plain->name) == 0
			  ? NULL
			  : bsearch(name, list, count, sizeof(*list), compare_name);
	if (encoded && encoded->bytes == plain->bytes &&
	    (plain->bytes == 0 ||
	     memcmp(encoded->value, plain->value, plain->bytes) == 0))
		encoded->is_encoded = true;
	return true;
}

static int drop_encoded(struct import_xattr *list, size_t *count, dwarfs_error **err)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++)
		if (!mark_encoded(list, *count, &list[i]))
			return dw_fail_nomem(err);
	for (size_t i = 0; i < *count; i++)
		if (!list[i].is_encoded)
			list[kept++] = list[i];
	*count = kept;
	return 0;
}

int dw_import_xattrs(const struct import_job *job, struct import_xattr **list_out,
		     size_t *count_out, size_t *nameless_out, dwarfs_error **err)
{
	auto_free struct import_xattr *list = NULL;
	size_t count = 0, room = 0, nameless = 0;
	struct import_xattr one = { 0 };
	int ret;

	job->la->entry_xattr_reset(job->entry);
	while (job->la->entry_xattr_next(job->entry, &one.name, &one.value, &one.bytes) ==
	       ARCHIVE_OK) {
		if (!one.name) {
			nameless++;
			continue;
		}
		if ((ret = dw_grow(&list, &room, count + 1, err)) < 0)
			return ret;
		one.number = count;
		list[count++] = one;
	}
	if (count > 0) {
		count = drop_repeated(list, count);
		if ((ret = drop_encoded(list, &count, err)) < 0)
			return ret;
	}
	*list_out = dw_steal(list);
	*count_out = count;
	*nameless_out = nameless;
	return 0;
}
