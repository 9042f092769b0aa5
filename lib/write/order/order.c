/* SPDX-License-Identifier: MIT */
/*
 * write/order/order: the table of orders, and helpers they share.
 *
 * An order sorts an array of fragment numbers in place. Ties are broken by path or by
 * fragment number, so the result is deterministic. Orders with fingerprints read those
 * that inspect made. All run on the calling thread.
 */
#include <string.h>

#include "write/order/order.h"
#include "write/order/sort.h"

static const struct order_ops *const orders[] = {
	&dw_order_none,	      &dw_order_path,	  &dw_order_revpath,  &dw_order_auto,
	&dw_order_similarity, &dw_order_nilsimsa, &dw_order_explicit,
};

int dw_order_parse(const char *text, struct order_spec *spec_out, dwarfs_error **err)
{
	size_t length = strcspn(text, ":");
	const char *options = text[length] ? text + length + 1 : NULL;
	struct order_spec spec = { 0 };
	int ret;

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (strlen(orders[i]->name) == length &&
		    memcmp(orders[i]->name, text, length) == 0)
			spec.ops = orders[i];
	if (!spec.ops)
		return dw_fail(err, DWARFS_ERR_INVALID, "invalid inode order mode: %s",
			       text);
	if (options && !spec.ops->parse)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "invalid inode order mode: %s: '%s' takes no options",
			       text, spec.ops->name);
	if (spec.ops->parse && (ret = spec.ops->parse(options, &spec, err)) < 0) {
		dw_order_spec_free(&spec);
		return ret;
	}
	*spec_out = spec;
	return 0;
}

void dw_order_spec_free(struct order_spec *spec)
{
	for (size_t i = 0; i < spec->path_count; i++)
		dw_free(spec->paths[i]);
	dw_free(spec->paths);
	*spec = (struct order_spec){ 0 };
}

/* Fragments larger than the similarity limit come first, by descending size. */
struct large {
	uint64_t size;
	uint32_t position, number;
};

static int compare_large(const void *left, const void *right)
{
	const struct large *a = left, *b = right;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

static int move_large_first(const struct order_input *input, uint32_t *numbers,
			    size_t count, size_t *large_count, dwarfs_error **err)
{
	uint64_t most = input->run->options->max_similarity_bytes;
	auto_free struct large *large = dw_calloc(count, sizeof(*large));
	auto_free uint32_t *rest = dw_calloc(count, sizeof(*rest));
	size_t rest_count = 0;
	int ret;

	if (!large || !rest)
		return dw_fail_nomem(err);
	*large_count = 0;
	if ((ret = dw_order_path.sort(input, numbers, count, err)) < 0)
		return ret;
	for (size_t i = 0; i < count; i++) {
		uint64_t size = input->contents->fragments[numbers[i]].size;

		if (size > most)
			large[(*large_count)++] =
				(struct large){ size, (uint32_t)i, numbers[i] };
		else
			rest[rest_count++] = numbers[i];
	}
	if (*large_count > 1)
		qsort(large, *large_count, sizeof(large[0]), compare_large);
	for (size_t i = 0; i < *large_count; i++)
		numbers[i] = large[i].number;
	memcpy(numbers + *large_count, rest, rest_count * sizeof(*rest));
	return 0;
}

int dw_order_sort(const struct order_input *input, uint32_t *numbers, size_t count,
		  dwarfs_error **err)
{
	const struct build_options *options = input->run->options;
	const struct order_ops *ops = input->spec->ops;
	size_t large = 0;
	int ret;

	if (ops->fingerprint != FINGERPRINT_NONE &&
	    options->max_similarity_bytes != UINT64_MAX &&
	    (ret = move_large_first(input, numbers, count, &large, err)) < 0)
		return ret;
	if ((ret = ops->sort(input, numbers + large, count - large, err)) < 0)
		return ret;
	return options->order_callback ? dw_order_by_callback(input, numbers, count, err)
				       : 0;
}

int dw_order_divide(const struct order_input *input, struct fragment_list *list,
		    dwarfs_error **err)
{
	const struct order_ops *ops = input->spec->ops;

	if (!ops->divide || input->run->options->order_callback)
		return 0;
	return ops->divide(input, list, err);
}

uint32_t dw_order_entry(const struct order_input *input, uint32_t number)
{
	const struct contents *contents = input->contents;
	uint32_t content = contents->fragments[number].content;

	return input->tree->inodes[contents->list[content].inode].entry;
}

int dw_order_by_rank(const struct order_input *input, const uint32_t *rank_of_entry,
		     uint32_t *numbers, size_t count, dwarfs_error **err)
{
	auto_free struct dw_keyed *keyed = dw_calloc(count, sizeof(*keyed));
	auto_free struct dw_keyed *spare = dw_calloc(count, sizeof(*spare));

	if (!keyed || !spare)
		return dw_fail_nomem(err);
	/* The fragments of one file are in ascending order already. */
	for (size_t i = 0; i < count; i++)
		keyed[i] = (struct dw_keyed){
			.key = rank_of_entry[dw_order_entry(input, numbers[i])],
			.number = numbers[i],
		};
	dw_sort_keyed(keyed, spare, count);
	for (size_t i = 0; i < count; i++)
		numbers[i] = keyed[i].number;
	return 0;
}
