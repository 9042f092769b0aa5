/* SPDX-License-Identifier: MIT */
/*
 * archive/export/unsafe_names: find entries with the path of another entry, which must
 * not be written.
 *
 * A program that unpacks an archive lets later entries replace earlier ones: with a
 * symbolic link and a directory of the same name, it would write files outside of the
 * target. In a valid image the names of a directory are sorted and unique, so one
 * comparison for each name is enough. Directories that are not sorted are sorted here, by
 * hashes of their names: 16 bytes of memory for each entry.
 */
#include <string.h>

#include "archive/export/export.h"

/* Names that are compared between two checks for cancellation. */
#define NAMES_PER_TICK 4096

/* An entry of a directory that is not sorted. */
struct hashed_name {
	uint64_t hash;
	dwarfs_entry entry;
};

static bool has_bit(const uint8_t *bits, dwarfs_entry entry)
{
	return bits[entry.number / 8] & 1u << entry.number % 8;
}

static void set_bit(uint8_t *bits, dwarfs_entry entry)
{
	bits[entry.number / 8] |= (uint8_t)(1u << entry.number % 8);
}

/* Damaged names are skipped: the walk reports them. */
static bool get_name(const dwarfs_image *image, dwarfs_entry entry,
		     char name[DWARFS_NAME_BUFFER_BYTES], size_t *bytes_out)
{
	return dwarfs_entry_name(image, entry, name, DWARFS_NAME_BUFFER_BYTES, bytes_out,
				 NULL) == 0;
}

static int compare_hashed_names(const void *left, const void *right, void *user)
{
	const struct hashed_name *a = left, *b = right;
	char names[2][DWARFS_NAME_BUFFER_BYTES];
	size_t bytes;
	int order;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (!get_name(user, a->entry, names[0], &bytes) ||
	    !get_name(user, b->entry, names[1], &bytes))
		return 0; /* both could be read before */
	order = strcmp(names[0], names[1]);
	return order != 0 ? order
			  : (a->entry.number > b->entry.number) -
				    (a->entry.number < b->entry.number);
}

static bool is_same_name(const dwarfs_image *image, const struct hashed_name *a,
			 const struct hashed_name *b)
{
	char names[2][DWARFS_NAME_BUFFER_BYTES];
	size_t bytes;

	return a->hash == b->hash && get_name(image, a->entry, names[0], &bytes) &&
	       get_name(image, b->entry, names[1], &bytes) &&
	       strcmp(names[0], names[1]) == 0;
}

static int mark(struct selection *selection, dwarfs_entry entry, size_t entries,
		dwarfs_error **err)
{
	if (!selection->repeated &&
	    !(selection->repeated = dw_calloc(entries / 8 + 1, 1)))
		return dw_fail_nomem(err);
	set_bit(selection->repeated, entry);
	return 0;
}

/* Any order: of entries with the same name the first one stays. */
static int find_in_any_order(struct export_run *run, dwarfs_entry entry, uint32_t count,
			     dwarfs_error **err)
{
	auto_free struct hashed_name *list = dw_calloc(count, sizeof(*list));
	const size_t entries = dwarfs_image_entry_count(run->image);
	char name[DWARFS_NAME_BUFFER_BYTES];
	size_t known = 0, bytes;
	int ret = 0;

	if (!list)
		return dw_fail_nomem(err);
	for (uint32_t i = 0; i < count && ret == 0; i++, entry.number++) {
		if (get_name(run->image, entry, name, &bytes))
			list[known++] = (struct hashed_name){
				dw_fnv1a(DW_FNV1A_START, name, bytes), entry
			};
		if (i % NAMES_PER_TICK == 0)
			ret = dw_progress_tick(&run->progress, err);
	}
	if (ret == 0 && known > 1)
		qsort_r(list, known, sizeof(*list), compare_hashed_names,
			(void *)run->image);
	for (size_t i = 1; i < known && ret == 0; i++)
		if (is_same_name(run->image, &list[i - 1], &list[i]))
			ret = mark(&run->selection, list[i].entry, entries, err);
	return ret;
}

/* Whether names are strictly ascending: 1, 0, or DWARFS_ERR_CANCELLED. */
static int is_sorted(struct export_run *run, dwarfs_entry entry, uint32_t count,
		     dwarfs_error **err)
{
	char names[2][DWARFS_NAME_BUFFER_BYTES] = { "", "" };
	int ret = 0, turn = 0;

	for (uint32_t i = 0; i < count && ret == 0; i++, entry.number++) {
		size_t bytes;

		if (i % NAMES_PER_TICK == 0)
			ret = dw_progress_tick(&run->progress, err);
		if (!get_name(run->image, entry, names[turn], &bytes))
			continue;
		if (strcmp(names[!turn], names[turn]) >= 0)
			return 0;
		turn = !turn;
	}
	return ret < 0 ? ret : 1;
}

/* Of an entry that names no directory nothing is claimed. */
int dw_export_claim(struct export_run *run, dwarfs_entry entry, dwarfs_error **err)
{
	const uint32_t entries = dwarfs_image_entry_count(run->image);
	struct selection *selection = &run->selection;
	dwarfs_entry first;
	dwarfs_inode inode;
	uint32_t count;
	int ret;

	if (dwarfs_entry_inode(run->image, entry, &inode, NULL) < 0 ||
	    dwarfs_dir_range(run->image, inode, &first, &count, NULL) < 0)
		return 0;
	if (first.number > entries || count > entries - first.number)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "it reaches past the last entry of the image");
	for (uint32_t i = 0; i < count; i++) {
		const dwarfs_entry inner = dwarfs_entry_at(first.number + i);

		if (has_bit(selection->claimed, inner))
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "what is in it is also in another directory: "
				       "the directories are not a tree");
		set_bit(selection->claimed, inner);
	}
	if ((ret = is_sorted(run, first, count, err)) != 0)
		return ret < 0 ? ret : 0;
	return find_in_any_order(run, first, count, err);
}

bool dw_export_is_repeated(const struct selection *selection, dwarfs_entry entry)
{
	return selection->repeated && has_bit(selection->repeated, entry);
}
