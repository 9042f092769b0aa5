/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/case_folding: look up names ignoring case.
 *
 * Names are UTF-8; other bytes are compared unchanged. Each letter is folded to the lower
 * case of its upper case. The entries of each directory are sorted once by their folded
 * names: 4 bytes for each entry.
 */
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "dwarfs/mount.h"

#define FOLDED_ROOM (4 * DWARFS_NAME_BUFFER_BYTES)

struct folded {
	const dwarfs_image *image;
	locale_t locale; /* 0: only the letters of ASCII */
	dwarfs_entry *entries;
};

/* -- one name ------------------------------------------------------------------------ */

/* The character at text and its size in bytes; 0 bytes if it is not a valid character. */
static size_t decode(const unsigned char *text, uint32_t *out)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t size = *text < 0x80   ? 1
		      : *text < 0xc2 ? 0
		      : *text < 0xe0 ? 2
		      : *text < 0xf0 ? 3
		      : *text < 0xf5 ? 4
				     : 0;
	uint32_t value = size == 1 ? *text : *text & (0x7fu >> size);

	for (size_t i = 1; i < size; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (size > 1 && value < smallest[size])
		return 0;
	*out = value;
	return size;
}

static size_t encode(uint32_t value, char *out)
{
	if (value < 0x80) {
		out[0] = (char)value;
		return 1;
	}
	if (value < 0x800) {
		out[0] = (char)(0xc0 | value >> 6);
		out[1] = (char)(0x80 | (value & 0x3f));
		return 2;
	}
	if (value < 0x10000) {
		out[0] = (char)(0xe0 | value >> 12);
		out[1] = (char)(0x80 | (value >> 6 & 0x3f));
		out[2] = (char)(0x80 | (value & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | value >> 18);
	out[1] = (char)(0x80 | (value >> 12 & 0x3f));
	out[2] = (char)(0x80 | (value >> 6 & 0x3f));
	out[3] = (char)(0x80 | (value & 0x3f));
	return 4;
}

static uint32_t fold_letter(const struct folded *folded, uint32_t letter)
{
	if (letter < 0x80 || !folded->locale)
		return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
	return (uint32_t)towlower_l(towupper_l((wint_t)letter, folded->locale),
				    folded->locale);
}

/* A name of at most 255 bytes. */
static void fold(const struct folded *folded, const char *name, char out[FOLDED_ROOM])
{
	while (*name) {
		uint32_t letter;
		size_t size = decode((const unsigned char *)name, &letter);

		if (size == 0) {
			*out++ = *name++;
			continue;
		}
		out += encode(fold_letter(folded, letter), out);
		name += size;
	}
	*out = '\0';
}

static int fold_entry(const struct folded *folded, dwarfs_entry entry,
		      char out[FOLDED_ROOM], dwarfs_error **err)
{
	char name[DWARFS_NAME_BUFFER_BYTES];
	int ret = dwarfs_entry_name(folded->image, entry, name, sizeof(name), NULL, err);

	if (ret == 0)
		fold(folded, name, out);
	return ret;
}

/* -- all names ----------------------------------------------------------------------- */

struct item {
	char *name;
	dwarfs_entry entry;
};

static int compare_items(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

static int report_clash(const struct folded *folded, dwarfs_entry a, dwarfs_entry b)
{
	char first[DWARFS_NAME_BUFFER_BYTES] = "", second[DWARFS_NAME_BUFFER_BYTES] = "";

	dwarfs_entry_name(folded->image, a, first, sizeof(first), NULL, NULL);
	dwarfs_entry_name(folded->image, b, second, sizeof(second), NULL, NULL);
	return tool_error(
		"-o case_insensitive: '%s' and '%s' in the same directory differ "
		"only in case",
		first, second);
}

/* Sort items by name and store their entries in this order: 0, or 1 after printing a
 * clash. */
static int sort_items(struct folded *folded, struct item *items, uint32_t count,
		      dwarfs_entry *out)
{
	qsort(items, count, sizeof(*items), compare_items);
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && strcmp(items[i - 1].name, items[i].name) == 0)
			return report_clash(folded, items[i - 1].entry, items[i].entry);
		out[i] = items[i].entry;
	}
	return 0;
}

static int sort_directory(struct folded *folded, dwarfs_entry first, uint32_t count)
{
	auto_handle(dwarfs_error) *err = NULL;
	struct item *items = calloc(count ? count : 1, sizeof(*items));
	int code = 0;

	if (!items)
		return tool_error("out of memory");
	for (uint32_t i = 0; i < count && code == 0; i++) {
		char name[FOLDED_ROOM];

		items[i].entry = dwarfs_entry_at(first.number + i);
		if (fold_entry(folded, items[i].entry, name, &err) < 0)
			code = tool_fail(err, "case_insensitive");
		else if (!(items[i].name = strdup(name)))
			code = tool_error("out of memory");
	}
	if (code == 0)
		code = sort_items(folded, items, count, folded->entries + first.number);
	for (uint32_t i = 0; i < count; i++)
		free(items[i].name);
	free(items);
	return code;
}

/* Directories have the first inodes. */
static int sort_all(struct folded *folded)
{
	uint32_t inodes = dwarfs_image_inode_count(folded->image);
	uint32_t entries = dwarfs_image_entry_count(folded->image);

	for (dwarfs_inode inode = DWARFS_ROOT_INODE; inode.number < inodes;
	     inode.number++) {
		auto_handle(dwarfs_error) *err = NULL;
		dwarfs_entry first;
		uint32_t count;
		int ret = dwarfs_dir_range(folded->image, inode, &first, &count, &err);

		if (ret == DWARFS_ERR_NOT_DIR)
			return 0;
		if (ret < 0)
			return tool_fail(err, "case_insensitive");
		if (first.number > entries || count > entries - first.number)
			return tool_error("-o case_insensitive: directory %" PRIu32
					  " has impossible entries",
					  inode.number);
		if (sort_directory(folded, first, count) != 0)
			return 1;
	}
	return 0;
}

int folded_new(const dwarfs_image *image, struct folded **folded_out)
{
	struct folded *folded = calloc(1, sizeof(*folded));
	int code;

	if (!folded)
		return tool_error("out of memory");
	folded->image = image;
	folded->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (!folded->locale)
		tool_log(DWARFS_LOG_WARN, "case_insensitive: there is no locale C.UTF-8; "
					  "only A to Z are compared without case");
	folded->entries = calloc((size_t)dwarfs_image_entry_count(image) + 1,
				 sizeof(*folded->entries));
	code = folded->entries ? sort_all(folded) : tool_error("out of memory");
	if (code != 0)
		folded_free(folded);
	else
		*folded_out = folded;
	return code;
}

void folded_free(struct folded *folded)
{
	if (!folded)
		return;
	if (folded->locale)
		freelocale(folded->locale);
	free(folded->entries);
	free(folded);
}

int folded_find(const struct folded *folded, dwarfs_inode dir, const char *name,
		dwarfs_entry *entry_out, dwarfs_error **err)
{
	char wanted[FOLDED_ROOM], found[FOLDED_ROOM];
	dwarfs_entry low;
	uint32_t count;
	int ret = dwarfs_dir_range(folded->image, dir, &low, &count, err);

	if (ret < 0)
		return ret;
	fold(folded, name, wanted);
	while (count > 0) {
		const uint32_t middle = low.number + count / 2;
		int order;

		ret = fold_entry(folded, folded->entries[middle], found, err);
		if (ret < 0)
			return ret;
		order = strcmp(wanted, found);
		if (order == 0) {
			*entry_out = folded->entries[middle];
			return 0;
		}
		if (order > 0) {
			count -= count / 2 + 1;
			low = dwarfs_entry_at(middle + 1);
		} else {
			count /= 2;
		}
	}
	return DWARFS_ERR_NOT_FOUND;
}
