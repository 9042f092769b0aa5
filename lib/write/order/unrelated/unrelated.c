/* SPDX-License-Identifier: MIT */
/*
 * write/order/unrelated/unrelated: directories that have nothing in common, so that each may have
 * its own order.
 *
 * 24 releases of a program and 32 days of logs, in two directories: the releases are smallest in an
 * order that brings versions of a file together, the logs in the order of their paths, and one order
 * for both costs 7 % at level 3. Most directories of a tree are related: versions of one thing have
 * files with the same names, or similar contents. So directories are separated only if no
 * noticeable part of them has either.
 */
#include <string.h>

#include "base/bytes.h"
#include "hash/hash.h"
#include "write/order/sort.h"
#include "write/order/unrelated/part_samples.h"
#include "write/order/unrelated/unrelated.h"

/* Directories are related if at least 1/16 of the bytes of the smaller one are in files whose names or
 * contents resemble those of the other one. */
#define RELATED_SHARE 16

/* They are also related if at least 1/32 of the short runs of bytes in the smaller sample are in the
 * other sample. Two days of logs have 1/8 in common, two kinds of mail 1/21, unlike sets 1/110 at
 * most. */
#define RELATED_RUNS 32

/* Slots that two fingerprints have in common at the same place. Contents with half of their bytes in
 * common have them at two of the eight places. */
#define BAND	     2
#define FULL_MATCHES 2

#define NO_PART UINT32_MAX

/* Of a name, as many are compared. */
#define MAX_NAME_BYTES 256

/* A directory, or what is together what one is. */
struct part {
	uint64_t bytes;
	uint32_t group; /* another part of its group before it, or itself */
};

struct separation {
	const struct order_input *input;
	const uint32_t *numbers;
	size_t count;
	uint32_t *part_of; /* each place of numbers */
	struct part *parts;
	size_t part_count;
	uint64_t *common; /* bytes that two parts have in common, row by row */
	struct part_sample samples[UNRELATED_MAX_PARTS];
	struct dw_keyed *keyed, *spare;
};

static void free_separation(struct separation *separation)
{
	dw_part_samples_free(separation->samples, separation->part_count);
	dw_free(separation->part_of);
	dw_free(separation->parts);
	dw_free(separation->common);
	dw_free(separation->keyed);
	dw_free(separation->spare);
}

static uint64_t size_at(const struct separation *separation, uint32_t place)
{
	return separation->input->contents->fragments[separation->numbers[place]].size;
}

/* -- parts --------------------------------------------------------------------------- */

/* The lowest directory that has all fragments below it. */
static int find_top(const struct separation *separation, uint32_t *top_out,
		    dwarfs_error **err)
{
	const struct order_input *input = separation->input;
	const struct tree *tree = input->tree;
	auto_free uint32_t *below = dw_calloc(tree->entry_count, sizeof(*below));
	uint32_t top = 0;

	if (!below)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < separation->count; i++) {
		uint32_t entry = dw_order_entry(input, separation->numbers[i]);

		below[tree->entries[entry].parent]++;
	}
	/* A directory precedes the entries below it. */
	for (size_t i = tree->entry_count; i-- > 1;)
		below[tree->entries[i].parent] += below[i];
	for (uint32_t i = 1; i < tree->entry_count; i++)
		if (below[i] == separation->count)
			top = i;
	*top_out = top;
	return 0;
}

/* The entry in `top` that is, or has below it, each entry; DW_NONE where there is none, which no
 * fragment is at. */
static uint32_t *find_branches(const struct tree *tree, uint32_t top)
{
	uint32_t *branches = dw_calloc(tree->entry_count, sizeof(*branches));

	if (!branches)
		return NULL;
	branches[0] = DW_NONE;
	for (uint32_t i = 1; i < tree->entry_count; i++) {
		uint32_t parent = tree->entries[i].parent;

		branches[i] = parent == top ? i : branches[parent];
	}
	return branches;
}

/* Number the branches in the order in which they occur. Part 0 is for the files in the directory
 * itself, and those of the smallest branches if there are too many. */
static int number_branches(struct separation *separation, const uint32_t *branches,
			   const uint64_t *bytes, uint64_t least, dwarfs_error **err)
{
	const struct order_input *input = separation->input;
	size_t entry_count = input->tree->entry_count;
	auto_free uint32_t *part_of_branch =
		dw_calloc(entry_count, sizeof(*part_of_branch));

	if (!part_of_branch)
		return dw_fail_nomem(err);
	separation->part_count = 1;
	for (size_t i = 0; i < separation->count; i++) {
		uint32_t entry = dw_order_entry(input, separation->numbers[i]);
		uint32_t branch = branches[entry], part = 0;

		if (branch != entry && bytes[branch] >= least) {
			if (part_of_branch[branch] == 0 &&
			    separation->part_count < UNRELATED_MAX_PARTS)
				part_of_branch[branch] =
					(uint32_t)separation->part_count++;
			part = part_of_branch[branch];
		}
		separation->part_of[i] = part;
		separation->parts[part].bytes += size_at(separation, (uint32_t)i);
	}
	return 0;
}

static int compare_sizes(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? 1 : -(a > b);
}

/* The size from which on there are not more branches than parts: 0 if all are. */
static int find_least_bytes(const uint64_t *bytes, size_t entry_count,
			    uint64_t *least_out, dwarfs_error **err)
{
	auto_free uint64_t *sizes = dw_calloc(entry_count, sizeof(*sizes));
	size_t used = 0;

	if (!sizes)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < entry_count; i++)
		if (bytes[i] > 0)
			sizes[used++] = bytes[i];
	*least_out = 0;
	if (used < UNRELATED_MAX_PARTS)
		return 0;
	qsort(sizes, used, sizeof(sizes[0]), compare_sizes);
	*least_out = sizes[UNRELATED_MAX_PARTS - 2];
	return 0;
}

static int find_parts(struct separation *separation, dwarfs_error **err)
{
	const struct order_input *input = separation->input;
	const struct tree *tree = input->tree;
	auto_free uint64_t *bytes = dw_calloc(tree->entry_count, sizeof(*bytes));
	auto_free uint32_t *branches = NULL;
	uint64_t least;
	uint32_t top;
	int ret = find_top(separation, &top, err);

	if (ret < 0)
		return ret;
	if (!bytes || !(branches = find_branches(tree, top)))
		return dw_fail_nomem(err);
	for (size_t i = 0; i < separation->count; i++) {
		uint32_t entry = dw_order_entry(input, separation->numbers[i]);

		if (branches[entry] != entry)
			bytes[branches[entry]] += size_at(separation, (uint32_t)i);
	}
	if ((ret = find_least_bytes(bytes, tree->entry_count, &least, err)) < 0)
		return ret;
	return number_branches(separation, branches, bytes, least, err);
}

/* -- what they have in common ---------------------------------------------------------- */

static void add_common(struct separation *separation, uint32_t a, uint32_t b,
		       uint64_t bytes)
{
	separation->common[a * separation->part_count + b] += bytes;
	separation->common[b * separation->part_count + a] += bytes;
}

/* What the parts of a run of equal keys have in common, each with the part before it and with the first
 * one: related parts are in a row. Keys are sorted, and of equal ones the places. */
static void count_run(struct separation *separation, const struct dw_keyed *run,
		      size_t count, unsigned share)
{
	uint32_t parts[UNRELATED_MAX_PARTS];
	uint64_t bytes[UNRELATED_MAX_PARTS] = { 0 };
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t part = separation->part_of[run[i].number];

		if (bytes[part] == 0)
			parts[used++] = part;
		/* An empty fragment must not make a part occur twice. */
		bytes[part] += size_at(separation, run[i].number) + 1;
	}
	for (size_t i = 1; i < used; i++) {
		uint64_t own = bytes[parts[i]], before = bytes[parts[i - 1]];
		uint64_t first = bytes[parts[0]];

		add_common(separation, parts[i - 1], parts[i],
			   (own < before ? own : before) / share);
		if (i > 1)
			add_common(separation, parts[0], parts[i],
				   (own < first ? own : first) / share);
	}
}

static void count_runs(struct separation *separation, size_t count, unsigned share)
{
	const struct dw_keyed *keyed = separation->keyed;

	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && keyed[end].key == keyed[i].key;)
			end++;
		if (end - i > 1)
			count_run(separation, keyed + i, end - i, share);
	}
}

static const struct fingerprint *print_at(const struct separation *separation,
					  size_t place)
{
	const struct contents *contents = separation->input->contents;
	uint32_t number = separation->numbers[place];

	return &contents->fingerprints[contents->fragments[number].content];
}

static void compare_band(struct separation *separation, unsigned first)
{
	struct dw_keyed *keyed = separation->keyed;
	size_t used = 0;

	for (size_t i = 0; i < separation->count; i++) {
		const uint8_t *slots = print_at(separation, i)->bytes;

		if (dw_load16(slots) != 0) /* else there is none */
			keyed[used++] = (struct dw_keyed){
				dw_load32(slots + (size_t)2 * first),
				(uint32_t)i,
			};
	}
	dw_sort_keyed(keyed, separation->spare, used);
	count_runs(separation, used, FULL_MATCHES);
}

/* Digits are equal to each other: they are the numbers of versions, and days. */
static uint32_t hash_name(struct span name)
{
	uint8_t text[MAX_NAME_BYTES];
	size_t length = 0;

	for (size_t i = 0; i < name.size && length < sizeof(text); i++) {
		bool is_digit = name.data[i] >= '0' && name.data[i] <= '9';

		if (!is_digit || length == 0 || text[length - 1] != '0')
			text[length++] = is_digit ? '0' : name.data[i];
	}
	return (uint32_t)dw_xxh3_64(text, length);
}

static void compare_names(struct separation *separation)
{
	const struct tree *tree = separation->input->tree;
	struct dw_keyed *keyed = separation->keyed;

	for (size_t i = 0; i < separation->count; i++) {
		uint32_t entry =
			dw_order_entry(separation->input, separation->numbers[i]);
		struct span name =
			dw_string_set_at(&tree->names, tree->entries[entry].name);

		keyed[i] = (struct dw_keyed){ hash_name(name), (uint32_t)i };
	}
	dw_sort_keyed(keyed, separation->spare, separation->count);
	count_runs(separation, separation->count, 1);
}

static int take_samples(struct separation *separation, dwarfs_error **err)
{
	uint64_t bytes[UNRELATED_MAX_PARTS];

	for (size_t i = 0; i < separation->part_count; i++)
		bytes[i] = separation->parts[i].bytes;
	return dw_part_samples_take(separation->input, separation->numbers,
				    separation->part_of, separation->count, bytes,
				    separation->samples, separation->part_count, err);
}

/* -- groups -------------------------------------------------------------------------- */

static uint32_t group_of(struct separation *separation, uint32_t part)
{
	while (separation->parts[part].group != part)
		part = separation->parts[part].group;
	return part;
}

static void join(struct separation *separation, uint32_t a, uint32_t b)
{
	a = group_of(separation, a);
	b = group_of(separation, b);
	if (a < b)
		separation->parts[b].group = a;
	else
		separation->parts[a].group = b;
}

static bool have_common_runs(const struct separation *separation, uint32_t a, uint32_t b)
{
	const struct part_sample *first = &separation->samples[a];
	const struct part_sample *second = &separation->samples[b];
	size_t fewer = first->count < second->count ? first->count : second->count;
	size_t common = dw_part_samples_common(first, second);

	return common > 0 && common >= fewer / RELATED_RUNS;
}

static bool have_common_bytes(const struct separation *separation, uint32_t a, uint32_t b)
{
	uint64_t first = separation->parts[a].bytes, second = separation->parts[b].bytes;
	uint64_t common = separation->common[a * separation->part_count + b];

	return common > 0 && common >= (first < second ? first : second) / RELATED_SHARE;
}

static void join_related(struct separation *separation,
			 bool (*are_related)(const struct separation *, uint32_t,
					     uint32_t))
{
	for (uint32_t i = 1; i < separation->part_count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (group_of(separation, i) != group_of(separation, j) &&
			    are_related(separation, i, j))
				join(separation, i, j);
}

/* Of a group. Within the reach of a codec no order is bad. */
static uint64_t least_group(const struct order_input *input)
{
	uint64_t least = 2 * input->reach_bytes;

	return least < UNRELATED_LEAST_BYTES ? UNRELATED_LEAST_BYTES : least;
}

static void sum_groups(struct separation *separation, uint64_t bytes[UNRELATED_MAX_PARTS])
{
	memset(bytes, 0, UNRELATED_MAX_PARTS * sizeof(*bytes));
	for (uint32_t i = 0; i < separation->part_count; i++)
		bytes[group_of(separation, i)] += separation->parts[i].bytes;
}

/* The number of groups that join_small() would leave. */
static size_t count_groups(struct separation *separation)
{
	uint64_t least = least_group(separation->input), rest = 0;
	uint64_t bytes[UNRELATED_MAX_PARTS];
	size_t count = 0;

	sum_groups(separation, bytes);
	for (uint32_t i = 0; i < separation->part_count; i++) {
		count += bytes[i] >= least;
		rest += bytes[i] < least ? bytes[i] : 0;
	}
	return count + (rest >= least);
}

/* Join small groups; where all of them together are still small, to the largest one. */
static void join_small(struct separation *separation)
{
	uint64_t least = least_group(separation->input), rest = 0;
	uint64_t bytes[UNRELATED_MAX_PARTS];
	uint32_t first = NO_PART, largest = 0;

	sum_groups(separation, bytes);
	for (uint32_t i = 0; i < separation->part_count; i++) {
		if (bytes[i] > bytes[largest])
			largest = i;
		if (separation->parts[i].group != i || bytes[i] >= least)
			continue;
		rest += bytes[i];
		if (first == NO_PART)
			first = i;
		else
			separation->parts[i].group = first;
	}
	if (first != NO_PART && rest < least)
		join(separation, first, largest);
}

/* Put the places of each group one after the other. */
static int collect(struct separation *separation, uint32_t *numbers, size_t **ends_out,
		   size_t *group_count_out, dwarfs_error **err)
{
	auto_free size_t *ends = dw_calloc(separation->part_count, sizeof(*ends));
	auto_free uint32_t *sorted = dw_calloc(separation->count, sizeof(*sorted));
	uint32_t rank[UNRELATED_MAX_PARTS];
	size_t groups = 0;

	if (!ends || !sorted)
		return dw_fail_nomem(err);
	memset(rank, 0xff, sizeof(rank));
	for (size_t i = 0; i < separation->count; i++) {
		uint32_t group = group_of(separation, separation->part_of[i]);

		if (rank[group] == NO_PART)
			rank[group] = (uint32_t)groups++;
		separation->keyed[i] =
			(struct dw_keyed){ rank[group], separation->numbers[i] };
		ends[rank[group]]++;
		separation->input->contents->fragments[separation->numbers[i]].group =
			rank[group];
	}
	dw_sort_keyed(separation->keyed, separation->spare, separation->count);
	for (size_t i = 0; i < separation->count; i++)
		sorted[i] = separation->keyed[i].number;
	for (size_t i = 1; i < groups; i++)
		ends[i] += ends[i - 1];
	memcpy(numbers, sorted, separation->count * sizeof(*sorted));
	*ends_out = dw_steal(ends);
	*group_count_out = groups;
	return 0;
}

int dw_order_unrelated(const struct order_input *input, uint32_t *numbers, size_t count,
		       size_t **ends_out, size_t *group_count_out, dwarfs_error **err)
{
	__attribute__((cleanup(free_separation))) struct separation separation = {
		.input = input,
		.numbers = numbers,
		.count = count,
		.part_of = dw_calloc(count, sizeof(*separation.part_of)),
		.parts = dw_calloc(UNRELATED_MAX_PARTS, sizeof(*separation.parts)),
		.keyed = dw_calloc(count, sizeof(*separation.keyed)),
		.spare = dw_calloc(count, sizeof(*separation.spare)),
	};
	int ret;

	if (!separation.part_of || !separation.parts || !separation.keyed ||
	    !separation.spare)
		return dw_fail_nomem(err);
	separation.part_count = 1;
	if (dw_fragments_bytes(input->contents, numbers, count) < 2 * least_group(input))
		return collect(&separation, numbers, ends_out, group_count_out, err);
	if ((ret = find_parts(&separation, err)) < 0)
		return ret;
	separation.common = dw_calloc(separation.part_count * separation.part_count,
				      sizeof(*separation.common));
	if (!separation.common)
		return dw_fail_nomem(err);
	for (uint32_t i = 0; i < separation.part_count; i++)
		separation.parts[i].group = i;
	if (count_groups(&separation) > 1) {
		compare_names(&separation);
		for (unsigned i = 0;
		     input->contents->fingerprints && i < DW_MINHASH_SLOTS; i += BAND)
			compare_band(&separation, i);
		join_related(&separation, have_common_bytes);
	}
	/* Samples are read from files. */
	if (count_groups(&separation) > 1) {
		if ((ret = take_samples(&separation, err)) < 0)
			return ret;
		join_related(&separation, have_common_runs);
	}
	join_small(&separation);
	return collect(&separation, numbers, ends_out, group_count_out, err);
}
