/* SPDX-License-Identifier: MIT */
/*
 * write/order/nilsimsa: each file is followed by the most similar one, by nilsimsa codes.
 *
 * Finding the nearest of all codes takes quadratic time. So codes that differ in few bits
 * form clusters, large clusters are split again by fewer bits, and the nearest code is
 * searched within a cluster. Options bound the number of subclusters and the cluster
 * size; with very many files both bounds are lowered, so that time grows linearly.
 */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "write/order/order.h"
#include "write/order/sort.h"

#define DEFAULT_BOUND 16384
#define FIRST_RADIUS  128 /* bits; half as many on each level */

/* Comparisons of all files on one level, about, and what is allowed in any case. */
#define COMPARISONS ((size_t)1 << 26)
#define LEAST_BOUND 32

/* -- options ------------------------------------------------------------------------ */

static int parse_number(const char *text, const char *name, const char *value,
			size_t length, uint32_t *out, dwarfs_error **err)
{
	uint64_t number = 0;

	for (size_t i = 0; i < length && number <= INT32_MAX; i++) {
		if (value[i] < '0' || value[i] > '9')
			number = UINT64_MAX;
		else
			number = 10 * number + (uint64_t)(value[i] - '0');
	}
	if (number == 0 || number > INT32_MAX)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "invalid inode order mode: nilsimsa:%s: %s is not a "
			       "positive number",
			       text, name);
	if (*out != 0)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "invalid inode order mode: nilsimsa:%s: %s is given twice",
			       text, name);
	*out = (uint32_t)number;
	return 0;
}

static int parse_nilsimsa(const char *options, struct order_spec *spec,
			  dwarfs_error **err)
{
	static const char children[] = "max-children=", size[] = "max-cluster-size=";
	const char *at = options;
	int ret = 0;

	while (at) {
		size_t length = strcspn(at, ":");

		if (strncmp(at, children, strlen(children)) == 0)
			ret = parse_number(options, "max-children", at + strlen(children),
					   length - strlen(children), &spec->max_children,
					   err);
		else if (strncmp(at, size, strlen(size)) == 0)
			ret = parse_number(options, "max-cluster-size", at + strlen(size),
					   length - strlen(size), &spec->max_cluster_size,
					   err);
		else
			ret = dw_fail(err, DWARFS_ERR_INVALID,
				      "invalid inode order mode: nilsimsa:%s: unknown "
				      "option '%.*s'",
				      options, (int)length, at);
		if (ret < 0)
			return ret;
		at = at[length] ? at + length + 1 : NULL;
	}
	if (!spec->max_children)
		spec->max_children = DEFAULT_BOUND;
	if (!spec->max_cluster_size)
		spec->max_cluster_size = DEFAULT_BOUND;
	return 0;
}

/* -- codes -------------------------------------------------------------------------- */

#define CODE_WORDS (FINGERPRINT_BYTES / 8)

/* Different codes; places of those that have one follow each other by next. */
struct code {
	uint64_t words[CODE_WORDS];
	uint32_t position;
};

/* The bits that differ: counted in pairs of bits, in fours, and in the bytes of all words at once, as
 * without an instruction for it a compiler calls a function for each word. */
static unsigned distance(const struct code *a, const struct code *b)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < CODE_WORDS; i++) {
		uint64_t bits = a->words[i] ^ b->words[i];

		bits -= bits >> 1 & UINT64_C(0x5555555555555555);
		bits = (bits & UINT64_C(0x3333333333333333)) +
		       (bits >> 2 & UINT64_C(0x3333333333333333));
		bytes += (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	}
	bytes = (bytes & UINT64_C(0x00ff00ff00ff00ff)) +
		(bytes >> 8 & UINT64_C(0x00ff00ff00ff00ff));
	return (unsigned)(bytes * UINT64_C(0x0001000100010001) >> 48);
}

struct clustering {
	size_t max_children, max_size;
	struct code *codes, *spare;
	uint32_t *cluster_of; /* of each code of the cluster that is being split */
};

/* Put codes in a chain: after each the nearest of those left, of equals the first. */
static void chain(struct code *codes, size_t count)
{
	for (size_t i = 1; i + 1 < count; i++) {
		unsigned least = UINT32_MAX;
		struct code nearest;
		size_t best = i;

		for (size_t j = i; j < count; j++) {
			unsigned bits = distance(&codes[i - 1], &codes[j]);

			if (bits < least) {
				least = bits;
				best = j;
			}
		}
		/* Swapping is not stable, but always the same. */
		nearest = codes[best];
		codes[best] = codes[i];
		codes[i] = nearest;
	}
}

/* Codes of one cluster, from here to there. */
struct cluster_part {
	size_t begin, end;
	struct code center;
	uint32_t number;
};

/* Find the cluster of a code: the first that is near enough, a new one, or the nearest.
 */
static size_t find_part(const struct clustering *clustering, struct cluster_part *parts,
			size_t *part_count, const struct code *code, unsigned radius)
{
	unsigned least = UINT32_MAX;
	size_t nearest = 0;

	for (size_t i = 0; i < *part_count; i++) {
		unsigned bits = distance(&parts[i].center, code);

		if (bits <= radius)
			return i;
		if (bits < least) {
			least = bits;
			nearest = i;
		}
	}
	if (*part_count == clustering->max_children)
		return nearest;
	parts[*part_count] = (struct cluster_part){ .center = *code };
	return (*part_count)++;
}

/* Put the centers in a chain, as chain() does with codes. */
static void chain_parts(struct cluster_part *parts, size_t count)
{
	for (size_t i = 1; i + 1 < count; i++) {
		unsigned least = UINT32_MAX;
		struct cluster_part nearest;
		size_t best = i;

		for (size_t j = i; j < count; j++) {
			unsigned bits = distance(&parts[i - 1].center, &parts[j].center);

			if (bits < least) {
				least = bits;
				best = j;
			}
		}
		nearest = parts[best];
		parts[best] = parts[i];
		parts[i] = nearest;
	}
}

/* Split codes [begin, end) into parts that follow each other. */
static int split_cluster(struct clustering *clustering, size_t begin, size_t end,
			 unsigned radius, struct cluster_part **parts_out,
			 size_t *part_count_out, dwarfs_error **err)
{
	size_t most = end - begin < clustering->max_children ? end - begin
							     : clustering->max_children;
	auto_free struct cluster_part *parts = dw_calloc(most, sizeof(*parts));
	auto_free uint32_t *offsets = dw_calloc(most, sizeof(*offsets));
	size_t count = 0, at = begin;

	if (!parts || !offsets)
		return dw_fail_nomem(err);
	for (size_t i = begin; i < end; i++) {
		size_t part = find_part(clustering, parts, &count, &clustering->codes[i],
					radius);

		clustering->cluster_of[i] = (uint32_t)part;
		parts[part].end++;
	}
	for (size_t i = 0; i < count; i++)
		parts[i].number = (uint32_t)i;
	chain_parts(parts, count);
	for (size_t i = 0; i < count; i++) {
		size_t size = parts[i].end;

		parts[i].begin = at;
		offsets[parts[i].number] = (uint32_t)at;
		parts[i].end = at += size;
	}
	for (size_t i = begin; i < end; i++)
		clustering->spare[offsets[clustering->cluster_of[i]]++] =
			clustering->codes[i];
	memcpy(clustering->codes + begin, clustering->spare + begin,
	       (end - begin) * sizeof(*clustering->codes));
	*parts_out = dw_steal(parts);
	*part_count_out = count;
	return 0;
}

/* No deeper than log2 of FIRST_RADIUS. */
static int cluster(struct clustering *clustering, size_t begin, size_t end,
		   unsigned radius, dwarfs_error **err)
{
	auto_free struct cluster_part *parts = NULL;
	size_t count = 0;
	int ret;

	if (end - begin <= clustering->max_size) {
		chain(clustering->codes + begin, end - begin);
		return 0;
	}
	if (radius == 0) {
		for (; begin < end; begin += clustering->max_size)
			chain(clustering->codes + begin,
			      end - begin < clustering->max_size ? end - begin
								 : clustering->max_size);
		return 0;
	}
	if ((ret = split_cluster(clustering, begin, end, radius, &parts, &count, err)) <
	    0)
		return ret;
	for (size_t i = 0; i < count; i++)
		if ((ret = cluster(clustering, parts[i].begin, parts[i].end, radius / 2,
				   err)) < 0)
			return ret;
	return 0;
}

/* -- files -------------------------------------------------------------------------- */

static size_t bound(uint32_t option, size_t count)
{
	size_t most = COMPARISONS / count;

	if (most < LEAST_BOUND)
		most = LEAST_BOUND;
	return option < most ? option : most;
}

static void load_code(const struct order_input *input, uint32_t number, struct code *code)
{
	const struct contents *contents = input->contents;
	uint32_t content = contents->fragments[number].content;

	for (size_t i = 0; i < CODE_WORDS; i++)
		code->words[i] = dw_load64(contents->fingerprints[content].bytes + 8 * i);
}

/* Gather equal codes. Different ones come in the order of their first file. */
static size_t collect_codes(const struct order_input *input, const uint32_t *numbers,
			    size_t count, struct clustering *clustering, uint32_t *next,
			    struct dw_keyed *keyed, struct dw_keyed *spare)
{
	struct code *codes = clustering->spare;
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t hash = 0;

		load_code(input, numbers[i], &codes[i]);
		codes[i].position = (uint32_t)i;
		for (size_t j = 0; j < CODE_WORDS; j++)
			hash = (hash ^ codes[i].words[j]) * UINT64_C(0x9E3779B97F4A7C15);
		keyed[i] = (struct dw_keyed){ (uint32_t)(hash >> 32), (uint32_t)i };
	}
	dw_sort_keyed(keyed, spare, count);
	for (size_t i = count; i-- > 1;) {
		uint32_t before = keyed[i - 1].number, position = keyed[i].number;

		if (keyed[i - 1].key != keyed[i].key ||
		    distance(&codes[before], &codes[position]) != 0)
			continue;
		next[before] = position;
		codes[position].position = DW_NONE;
	}
	for (size_t i = 0; i < count; i++)
		if (codes[i].position != DW_NONE)
			clustering->codes[used++] = codes[i];
	return used;
}

static int sort_nilsimsa(const struct order_input *input, uint32_t *numbers, size_t count,
			 dwarfs_error **err)
{
	auto_free struct code *codes = dw_calloc(count, sizeof(*codes));
	auto_free struct code *spare_codes = dw_calloc(count, sizeof(*codes));
	auto_free struct dw_keyed *keyed = dw_calloc(count, sizeof(*keyed));
	auto_free struct dw_keyed *spare = dw_calloc(count, sizeof(*spare));
	auto_free uint32_t *next = dw_calloc(count, sizeof(*next));
	struct clustering clustering = { .codes = codes, .spare = spare_codes };
	uint32_t *out;
	size_t used, at = 0;
	int ret;

	if (!codes || !spare_codes || !keyed || !spare || !next)
		return dw_fail_nomem(err);
	if ((ret = dw_order_path.sort(input, numbers, count, err)) < 0)
		return ret;
	if (!input->contents->fingerprints || count < 2)
		return 0;
	memset(next, 0xff, count * sizeof(*next));
	used = collect_codes(input, numbers, count, &clustering, next, keyed, spare);
	clustering.max_children = bound(input->spec->max_children, used);
	clustering.max_size = bound(input->spec->max_cluster_size, used);
	clustering.cluster_of = (uint32_t *)(void *)keyed;
	if ((ret = cluster(&clustering, 0, used, FIRST_RADIUS, err)) < 0)
		return ret;

	out = (uint32_t *)(void *)spare;
	for (size_t i = 0; i < used; i++)
		for (uint32_t j = codes[i].position; j != DW_NONE; j = next[j])
			out[at++] = numbers[j];
	memcpy(numbers, out, count * sizeof(*numbers));
	return 0;
}

const struct order_ops dw_order_nilsimsa = {
	.name = "nilsimsa",
	.fingerprint = FINGERPRINT_NILSIMSA,
	.parse = parse_nilsimsa,
	.sort = sort_nilsimsa,
};
