/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/name_lookup: find a name among the entries of a directory.
 *
 * Names are sorted, but each comparison of a binary search costs three cache misses: the
 * entry, the offset of its name, and the name. Two mechanisms avoid them.
 *
 * Guessing: in images by our writer all names of an image are sorted as well. So the
 * name is searched among all names, and the entry by the number of the name. A match is
 * certain; a miss is accepted if the entries on both sides confirm it. If they do not,
 * guessing is given up for the image. See name_pivots.h.
 *
 * Prints: where names are looked up repeatedly, one byte of a hash of each name (its
 * print) is kept. Prints are computed for groups of entries, once a group was searched
 * often enough. A name found by its print is compared before it is returned.
 *
 * Otherwise names are searched by binary search. While a thread computes the prints of a
 * group, no other thread uses them.
 *
 * In damaged metadata the names of a directory may not be sorted, and then these searches
 * miss names that exist. At the first name that a directory does not have, all its names
 * are compared once; in a directory that is not sorted, the entries are searched one by
 * one from then on. Names that are found cost nothing more.
 */
#include "read/metadata/name_pivots.h"
#include "read/metadata/view.h"

#define GROUP_BITS    6
#define GROUP_ENTRIES (1u << GROUP_BITS)
#define NEAR_ENTRIES  256 /* maximum number of prints to search */
#define FEW_ENTRIES   8	  /* directories up to this size need none */
#define STORED_BYTES  510 /* maximum stored size of a name: two for each byte */
#define LINE_BITS     512 /* size of a cache line */
#define UNKNOWN	      2	  /* it is not known whether the name exists */

/* Smaller states count searches of the group. */
enum group_state {
	GROUP_SEARCHED = 16, /* computing its prints costs as much */
	GROUP_TAKEN,	     /* a thread computes its prints */
	GROUP_READY,
	GROUP_BROKEN, /* it has an unreadable name */
};

/* One state per group, then one print per entry. */
static size_t group_count(const struct view *view)
{
	return ((size_t)view->entry_count + GROUP_ENTRIES - 1) >> GROUP_BITS;
}

static int make_name_prints(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	size_t groups = group_count(owner);

	*items_out = dw_calloc(groups, 1 + GROUP_ENTRIES);
	return *items_out ? 0 : dw_fail_nomem(err);
}

static inline uint32_t index_of_name(const struct view *view, uint32_t entry)
{
	if (view->has_dir_entries)
		return dw_column_get32(&view->dir_entries, view->de_name, entry);
	return dw_column_get32(&view->inodes, view->inode.name_index, entry);
}

static bool is_compressed(const struct view *view)
{
	return view->names.decoder != NULL;
}

/* The name of an entry, in place or decoded into room. */
static int read_entry_name(const struct view *view, uint32_t entry, char room[256],
			   struct span *name_out, dwarfs_error **err)
{
	size_t size;
	int ret;

	if (!is_compressed(view))
		return dw_strings_stored(&view->names, index_of_name(view, entry),
					 name_out, err);
	ret = dw_strings_get(&view->names, index_of_name(view, entry), room, 256, &size,
			     err);
	if (ret == DWARFS_ERR_RANGE)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "metadata: the name of entry %" PRIu32 " is too long",
			       entry);
	*name_out = (struct span){ (const uint8_t *)room, size };
	return ret;
}

static int compare_entry_name(const struct view *view, uint32_t entry,
			      const struct key *key, int *order_out, dwarfs_error **err)
{
	return dw_strings_compare(&view->names, index_of_name(view, entry), key,
				  order_out, err);
}

/* Halve [*low, *high) until at most `few` are left, or the name is found: 1. */
static int halve(const struct view *view, const struct key *key, uint32_t few,
		 uint32_t *low, uint32_t *high, dwarfs_error **err)
{
	while (*high - *low > few) {
		uint32_t middle = *low + (*high - *low) / 2;
		int order, ret = compare_entry_name(view, middle, key, &order, err);

		if (ret < 0)
			return ret;
		if (order == 0) {
			*low = middle;
			return 1;
		}
		if (order < 0)
			*high = middle;
		else
			*low = middle + 1;
	}
	return 0;
}

/* -- guessing ------------------------------------------------------------------------ */

/* The first entry whose name has this number or a larger one. */
static uint32_t first_from(const struct view *view, uint64_t number, uint32_t low,
			   uint32_t high)
{
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (index_of_name(view, middle) < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void prefetch_entries(const struct view *view, uint32_t low, uint32_t high)
{
	const struct table *table =
		view->has_dir_entries ? &view->dir_entries : &view->inodes;
	uint32_t step = table->stride ? LINE_BITS / table->stride + 1 : 1;

	for (uint32_t entry = low; entry < high; entry += step)
		dw_table_prefetch(table, entry);
}

/* 0 if the name is between two adjacent entries, 1 if it is one of them. */
static int look_around(const struct view *view, const struct key *key, uint32_t entry,
		       uint32_t low, uint32_t high, uint32_t *entry_out)
{
	int before = 1, after = -1;

	if ((entry > low &&
	     compare_entry_name(view, entry - 1, key, &before, NULL) < 0) ||
	    (entry < high && compare_entry_name(view, entry, key, &after, NULL) < 0))
		return UNKNOWN;
	if (before > 0 && after < 0)
		return 0;
	if (before != 0 && after != 0)
		return UNKNOWN;
	*entry_out = after == 0 ? entry : entry - 1;
	return 1;
}

/* 1: found; 0: no such name; or UNKNOWN. */
static int guess(const struct view *view, const struct key *key, uint32_t low,
		 uint32_t high, uint32_t *entry_out)
{
	uint64_t number;
	uint32_t entry;
	int found;

	if (!dw_pivots_are_usable(view))
		return UNKNOWN;
	if (high - low <= NEAR_ENTRIES)
		prefetch_entries(view, low, high);
	found = dw_pivots_find(view, key, &number);
	if (found < 0)
		return UNKNOWN;
	entry = first_from(view, number, low, high);
	if (found && entry < high && index_of_name(view, entry) == number) {
		*entry_out = entry;
		return 1;
	}
	found = look_around(view, key, entry, low, high, entry_out);
	if (found == UNKNOWN)
		dw_pivots_give_up(view);
	return found;
}

/* -- prints -------------------------------------------------------------------------- */

static uint8_t print_of(struct span name)
{
	const uint64_t factor = UINT64_C(0x9E3779B97F4A7C15);
	uint64_t hash = name.size * factor;
	size_t i = 0;

	for (; i + 8 <= name.size; i += 8) {
		hash = (hash ^ dw_load64(name.data + i)) * factor;
		hash ^= hash >> 32;
	}
	for (; i < name.size; i++)
		hash = (hash ^ name.data[i]) * factor;
	return (uint8_t)(hash >> 56);
}

struct prints {
	_Atomic(uint8_t) *states;
	uint8_t *prints;
};

static struct prints prints_of(const struct view *view)
{
	uint8_t *bytes = (uint8_t *)dw_lazy_items(&view->prints);

	return (struct prints){ (_Atomic(uint8_t) *)bytes, bytes + group_count(view) };
}

static bool fill_group(const struct view *view, size_t group, uint8_t *prints)
{
	uint32_t first = (uint32_t)(group << GROUP_BITS);
	uint32_t end = view->entry_count - first < GROUP_ENTRIES ? view->entry_count
								 : first + GROUP_ENTRIES;
	struct span stored[GROUP_ENTRIES] = { 0 };

	/* The root has no name. Prefetch all names first. */
	for (uint32_t entry = first + !first; entry < end; entry++) {
		struct span *span = &stored[entry - first];

		if (dw_strings_stored(&view->names, index_of_name(view, entry), span,
				      NULL) < 0 ||
		    span->size > STORED_BYTES)
			return false;
		__builtin_prefetch(span->data);
	}
	for (uint32_t entry = first + !first; entry < end; entry++) {
		struct span name = stored[entry - first];
		char room[256];

		if (is_compressed(view) &&
		    read_entry_name(view, entry, room, &name, NULL) < 0)
			return false;
		prints[entry] = print_of(name);
	}
	return true;
}

/* Whether the prints of a group are computed, or could be now. */
static bool group_is_ready(const struct view *view, struct prints *prints, size_t group)
{
	_Atomic(uint8_t) *state = &prints->states[group];
	uint8_t now = atomic_load_explicit(state, memory_order_acquire);

	if (__builtin_expect(now == GROUP_READY, 1))
		return true;
	if (now < (dw_pivots_are_usable(view) ? GROUP_SEARCHED : 1)) {
		atomic_compare_exchange_strong(state, &now, (uint8_t)(now + 1));
		return false;
	}
	if (now > GROUP_SEARCHED ||
	    !atomic_compare_exchange_strong(state, &now, GROUP_TAKEN))
		return false;
	if (!fill_group(view, group, prints->prints)) {
		atomic_store(state, GROUP_BROKEN);
		return false;
	}
	atomic_store_explicit(state, GROUP_READY, memory_order_release);
	return true;
}

/* All groups are visited, so that each is counted. */
static bool are_ready(const struct view *view, struct prints *prints, uint32_t low,
		      uint32_t high)
{
	bool all = true;

	for (size_t group = low >> GROUP_BITS; group <= (high - 1) >> GROUP_BITS; group++)
		all = group_is_ready(view, prints, group) && all;
	return all;
}

static int look_through(const struct view *view, const struct prints *prints,
			const struct key *key, uint32_t low, uint32_t high,
			uint32_t *entry_out, dwarfs_error **err)
{
	const uint8_t *at = prints->prints + low, *end = prints->prints + high;
	uint8_t print = print_of((struct span){ key->bytes, key->size });

	while ((at = memchr(at, print, (size_t)(end - at)))) {
		uint32_t entry = (uint32_t)(at - prints->prints);
		int order, ret = compare_entry_name(view, entry, key, &order, err);

		if (ret < 0)
			return ret;
		if (order == 0) {
			*entry_out = entry;
			return 1;
		}
		at++;
	}
	return 0;
}

/* 1: found; 0: no such name; or UNKNOWN. */
static int search_prints(const struct view *view, const struct key *key, uint32_t low,
			 uint32_t high, uint32_t *entry_out, dwarfs_error **err)
{
	struct prints prints;

	if (high - low <= FEW_ENTRIES || high - low > NEAR_ENTRIES ||
	    dw_lazy_need(&view->prints, make_name_prints, view, NULL) < 0)
		return UNKNOWN;
	prints = prints_of(view);
	if (!are_ready(view, &prints, low, high))
		return UNKNOWN;
	return look_through(view, &prints, key, low, high, entry_out, err);
}

/* -- search -------------------------------------------------------------------------- */

/* 1: found, as *entry_out; 0: no such name. */
static int search(const struct view *view, const struct key *key, uint32_t low,
		  uint32_t high, uint32_t *entry_out, dwarfs_error **err)
{
	int ret = search_prints(view, key, low, high, entry_out, err);

	if (ret == UNKNOWN && high - low > FEW_ENTRIES)
		ret = guess(view, key, low, high, entry_out);
	if (ret != UNKNOWN)
		return ret;
	if (high - low > NEAR_ENTRIES) {
		ret = halve(view, key, NEAR_ENTRIES, &low, &high, err);
		if (ret == 0)
			ret = search_prints(view, key, low, high, entry_out, err);
		else if (ret == 1)
			*entry_out = low;
		if (ret != UNKNOWN)
			return ret;
	}
	ret = halve(view, key, 0, &low, &high, err);
	if (ret == 1)
		*entry_out = low;
	return ret;
}

int dw_view_find_name(const struct view *view, uint32_t first, uint32_t count,
		      const char *name, size_t bytes, uint32_t *entry_out,
		      dwarfs_error **err)
{
	struct key key;
	int ret = 0;

	/* An invalid name does not exist, whatever the metadata says. */
	if (dw_is_name(name, bytes)) {
		dw_key_init(&key, (struct span){ (const uint8_t *)name, bytes });
		ret = search(view, &key, first, first + count, entry_out, err);
	}
	if (ret < 0)
		return ret;
	if (ret == 1)
		return 0;
	return dw_fail(err, DWARFS_ERR_NOT_FOUND, "'%.*s' does not exist",
		       bytes > 255 ? 255 : (int)bytes, name);
}

/* -- directories that are not sorted -------------------------------------------------- */

enum dir_order { ORDER_UNKNOWN, ORDER_SORTED, ORDER_UNSORTED };

/* A dir_order for each directory. */
static int make_orders(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	const struct view *view = owner;

	*items_out = dw_calloc((size_t)view->directory_count + 1, 1);
	return *items_out ? 0 : dw_fail_nomem(err);
}

/* Whether the names are all readable, and ascend. */
static bool are_sorted(const struct view *view, uint32_t first, uint32_t count)
{
	struct span names[2];
	char rooms[2][256];

	for (uint32_t i = 0; i < count; i++) {
		struct span *name = &names[i & 1], *last = &names[~i & 1];
		size_t shorter;
		int order;

		if (read_entry_name(view, first + i, rooms[i & 1], name, NULL) < 0)
			return false;
		if (i == 0)
			continue;
		shorter = name->size < last->size ? name->size : last->size;
		order = memcmp(last->data, name->data, shorter);
		if (order > 0 || (order == 0 && last->size >= name->size))
			return false;
	}
	return true;
}

static bool is_unsorted(const struct view *view, uint32_t dir, uint32_t first,
			uint32_t count)
{
	_Atomic(uint8_t) *order;
	uint8_t found;

	if (dw_lazy_need(&view->orders, make_orders, view, NULL) < 0)
		return !are_sorted(view, first, count);
	order = (_Atomic(uint8_t) *)dw_lazy_items(&view->orders) + dir;
	found = atomic_load_explicit(order, memory_order_relaxed);
	if (found == ORDER_UNKNOWN) {
		found = are_sorted(view, first, count) ? ORDER_SORTED : ORDER_UNSORTED;
		atomic_store_explicit(order, found, memory_order_relaxed);
	}
	return found == ORDER_UNSORTED;
}

/* Unreadable names are passed over. */
static bool search_each(const struct view *view, const char *name, size_t bytes,
			uint32_t first, uint32_t count, uint32_t *entry_out)
{
	struct key key;

	dw_key_init(&key, (struct span){ (const uint8_t *)name, bytes });
	for (uint32_t entry = first; entry < first + count; entry++) {
		int order;

		if (compare_entry_name(view, entry, &key, &order, NULL) == 0 &&
		    order == 0) {
			*entry_out = entry;
			return true;
		}
	}
	return false;
}

int dw_view_find_in_dir(const struct view *view, uint32_t dir, const char *name,
			size_t bytes, uint32_t *entry_out, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	uint32_t first, count;
	int ret = dw_view_dir_range(view, dir, &first, &count, err);

	if (ret < 0)
		return ret;
	ret = dw_view_find_name(view, first, count, name, bytes, entry_out,
				err ? &why : NULL);
	if (ret == 0)
		return 0;
	if (count > 1 && ret != DWARFS_ERR_NOMEM && dw_is_name(name, bytes) &&
	    is_unsorted(view, dir, first, count) &&
	    search_each(view, name, bytes, first, count, entry_out))
		return 0;
	return dw_error_copy(err, ret, why);
}
