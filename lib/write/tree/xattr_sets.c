/* SPDX-License-Identifier: MIT */
/*
 * write/tree/xattr_sets: distinct sets of extended attributes.
 *
 * Names, values and sets are interned. A set is the list of the numbers of its names and
 * values, sorted by name, so that equal sets have equal bytes.
 */
#include <string.h>

#include "write/tree/acl_mode.h"
#include "write/tree/xattr_sets.h"

#define MAX_NAME_BYTES 255
#define FEW	       16 /* attributes that fit on the stack */

void dw_xattrs_free(struct xattr_sets *sets)
{
	dw_string_set_free(&sets->names);
	dw_string_set_free(&sets->values);
	dw_string_set_free(&sets->sets);
}

static uint64_t string_set_bytes(const struct string_set *strings)
{
	return strings->text.capacity + strings->room * sizeof(strings->offsets[0]) +
	       strings->slot_count * sizeof(strings->slots[0]);
}

uint64_t dw_xattrs_bytes(const struct xattr_sets *sets)
{
	return string_set_bytes(&sets->names) + string_set_bytes(&sets->values) +
	       string_set_bytes(&sets->sets);
}

static int check_xattr_name(struct span name, dwarfs_error **err)
{
	if (name.size == 0 || name.size > MAX_NAME_BYTES)
		return dw_fail(
			err, DWARFS_ERR_INVALID,
			"the name of an extended attribute has %zu bytes, not 1 to %d",
			name.size, MAX_NAME_BYTES);
	if (memchr(name.data, '\0', name.size))
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "the name of an extended attribute holds a NUL");
	return 0;
}

static int compare_name_numbers(const void *left, const void *right)
{
	const struct xattr_numbers *a = left, *b = right;

	return a->name < b->name ? -1 : a->name > b->name;
}

static int intern(struct xattr_sets *sets, const struct xattr_pair *list, size_t count,
		  struct xattr_numbers *numbers, dwarfs_error **err)
{
	for (size_t i = 0; i < count; i++) {
		int ret;

		if ((ret = check_xattr_name(list[i].name, err)) < 0 ||
		    (ret = dw_string_set_add(&sets->names, list[i].name, &numbers[i].name,
					     err)) < 0 ||
		    (ret = dw_string_set_add(&sets->values, list[i].value,
					     &numbers[i].value, err)) < 0)
			return ret;
	}
	qsort(numbers, count, sizeof(numbers[0]), compare_name_numbers);
	for (size_t i = 1; i < count; i++) {
		struct span name = dw_string_set_at(&sets->names, numbers[i].name);

		if (numbers[i].name == numbers[i - 1].name)
			return dw_fail(err, DWARFS_ERR_INVALID,
				       "the extended attribute '%.*s' is there twice",
				       (int)name.size, (const char *)name.data);
	}
	return 0;
}

int dw_xattrs_add(struct xattr_sets *sets, const struct xattr_pair *list, size_t count,
		  uint32_t *set_out, dwarfs_error **err)
{
	struct xattr_numbers few[FEW], *numbers = few;
	auto_free struct xattr_numbers *many = NULL;
	uint32_t set;
	int ret;

	*set_out = DW_NO_XATTRS;
	if (count == 0)
		return 0;
	if (count > FEW && !(numbers = many = dw_calloc(count, sizeof(*many))))
		return dw_fail_nomem(err);
	if ((ret = intern(sets, list, count, numbers, err)) < 0)
		return ret;
	ret = dw_string_set_add(
		&sets->sets,
		(struct span){ (const uint8_t *)numbers, count * sizeof(numbers[0]) },
		&set, err);
	if (ret == 0)
		*set_out = set + 1;
	return ret;
}

/* -- lists --------------------------------------------------------------------------- */

int dw_xattr_list_append(struct buffer *list, struct span name, struct span value,
			 dwarfs_error **err)
{
	uint32_t sizes[2] = { (uint32_t)name.size, (uint32_t)value.size };
	size_t before = list->size;
	int ret;

	if (name.size > UINT32_MAX || value.size > UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "an extended attribute is too large");
	if ((ret = dw_buffer_append(list, sizes, sizeof(sizes), err)) < 0 ||
	    (ret = dw_buffer_append(list, name.data, name.size, err)) < 0 ||
	    (ret = dw_buffer_append(list, value.data, value.size, err)) < 0)
		list->size = before;
	return ret;
}

/* Read the pair at an offset and advance it. */
static struct xattr_pair read_pair(struct span list, size_t *at)
{
	struct xattr_pair pair;
	uint32_t sizes[2];

	memcpy(sizes, list.data + *at, sizeof(sizes));
	*at += sizeof(sizes);
	pair.name = (struct span){ list.data + *at, sizes[0] };
	*at += sizes[0];
	pair.value = (struct span){ list.data + *at, sizes[1] };
	*at += sizes[1];
	return pair;
}

void dw_xattr_list_set_mode(struct buffer *list, uint32_t mode)
{
	static const char name[] = DW_ACL_ACCESS;

	for (size_t at = 0; at < list->size;) {
		struct xattr_pair pair = read_pair(dw_buffer_span(list), &at);

		if (pair.name.size == strlen(name) &&
		    memcmp(pair.name.data, name, pair.name.size) == 0)
			dw_acl_set_mode(list->data + (at - pair.value.size),
					pair.value.size, mode);
	}
}

static bool rules_include(const struct xattr_rules *rules, struct span name)
{
	char text[MAX_NAME_BYTES + 1];

	/* dw_xattrs_add() refuses longer names. */
	if (!rules || name.size > MAX_NAME_BYTES)
		return true;
	memcpy(text, name.data, name.size);
	text[name.size] = '\0';
	return dw_xattr_rules_include(rules, text);
}

int dw_xattrs_add_list(struct xattr_sets *sets, struct span list,
		       const struct xattr_rules *rules, uint32_t *set_out,
		       dwarfs_error **err)
{
	struct xattr_pair few[FEW], *pairs = few;
	auto_free struct xattr_pair *many = NULL;
	size_t count = 0;

	for (size_t at = 0; at < list.size; count++)
		(void)read_pair(list, &at);
	if (count > FEW && !(pairs = many = dw_calloc(count, sizeof(*many))))
		return dw_fail_nomem(err);
	count = 0;
	for (size_t at = 0; at < list.size;) {
		struct xattr_pair pair = read_pair(list, &at);

		if (rules_include(rules, pair.name))
			pairs[count++] = pair;
	}
	return dw_xattrs_add(sets, pairs, count, set_out, err);
}
