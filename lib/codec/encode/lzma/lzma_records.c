/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma/lzma_records: how lzma packs each of several tables of records.
 *
 * Numbers that increase from record to record, as offsets and indexes do, become small as
 * differences at the distance of a record. Each table is packed in a few ways, a part of it
 * if it is large: as it is and as differences, and then with other contexts.
 */
#include "config.h"

#if HAVE_LZMA

#include "codec/encode/lzma/lzma_records.h"
#include "codec/lzma/lzma_block.h"

/* Smaller tables are packed as the one after them. */
#define LEAST_BYTES ((size_t)256)

/* What is packed of a table, from its middle. */
#define PART_BYTES ((size_t)1 << 20)

/* What differences save at least: they need a Block, and another one for what follows. */
#define LEAST_SAVED ((uint64_t)128)

/* What other contexts save at least, in bytes: the size of a chunk that changes them. */
#define CONTEXTS_COST ((uint64_t)16)

/* Differences are tried at distances of 1 to this number of records. */
#define MAX_RECORDS 4
#define FAST_LEVEL  1

_Static_assert(DW_MAX_RECORD_RANGES <= DW_LZMA_MAX_RANGES,
	       "each may be packed differently");

struct chooser {
	const struct lzma_probe *probe;
	const lzma_options_lzma *options;
	struct span part; /* of the table */
	uint32_t record_bytes;
};

/* The size by these options with the contexts and the distance of a choice, or more than limit. */
static int count(const struct chooser *chooser, lzma_options_lzma options,
		 struct lzma_choice choice, uint64_t limit, uint64_t *bytes_out,
		 dwarfs_error **err)
{
	const uint32_t enough = dw_lzma_dictionary_for(chooser->part.size);
	lzma_options_delta delta = { .type = LZMA_DELTA_TYPE_BYTE,
				     .dist = choice.distance };
	const lzma_filter filters[] = { { LZMA_FILTER_DELTA, &delta },
					{ LZMA_FILTER_LZMA2, &options },
					{ LZMA_VLI_UNKNOWN, NULL } };

	if (options.dict_size > enough)
		options.dict_size = enough;
	dw_lzma_set_contexts(&options, choice.contexts);
	return dw_lzma_count(chooser->probe, choice.distance ? filters : filters + 1,
			     chooser->part, limit, bytes_out, err);
}

/* Pack in another way; make it the best if it saves more than this cost. */
static int try_choice(const struct chooser *chooser, struct lzma_choice other,
		      uint64_t cost, struct lzma_choice *best, dwarfs_error **err)
{
	int ret =
		count(chooser, *chooser->options, other, best->bytes, &other.bytes, err);

	if (ret == 0 && other.bytes + cost < best->bytes)
		*best = other;
	return ret;
}

/* The multiple of a record at which fast packing makes the differences smallest; 0: bytes have no
 * records. A directory of several files resembles the next one. */
static int find_distance(const struct chooser *chooser, unsigned *distance_out,
			 dwarfs_error **err)
{
	struct lzma_choice choice = dw_lzma_usual_choice(0);
	lzma_options_lzma fast;
	uint64_t least = UINT64_MAX, bytes;
	int ret = 0;

	*distance_out = 0;
	lzma_lzma_preset(&fast, FAST_LEVEL);
	if (chooser->record_bytes == 1)
		return 0;
	for (unsigned i = 1; ret == 0 && i <= MAX_RECORDS; i++) {
		choice.distance = i * chooser->record_bytes;
		if (choice.distance > LZMA_DELTA_DIST_MAX)
			break;
		ret = count(chooser, fast, choice, least, &bytes, err);
		if (ret == 0 && bytes < least) {
			least = bytes;
			*distance_out = choice.distance;
		}
	}
	return ret;
}

/* Log2 of the alignment of records of this size, at most 4. */
static uint8_t alignment_bits(uint32_t record_bytes)
{
	uint8_t bits = 0;

	while (bits < 4 && (record_bytes >> bits & 1) == 0)
		bits++;
	return bits;
}

static int choose(const struct chooser *chooser, struct lzma_choice *choice_out,
		  dwarfs_error **err)
{
	const uint8_t bits = alignment_bits(chooser->record_bytes);
	const struct lzma_contexts contexts[] = { { 0, 0, 0 },
						  { 3, 0, 0 },
						  { 0, bits, bits } };
	struct lzma_choice best = dw_lzma_usual_choice(chooser->options->nice_len);
	struct lzma_choice other = best;
	int ret;

	best.bytes = UINT64_MAX;
	ret = try_choice(chooser, other, 0, &best, err);
	if (ret == 0)
		ret = find_distance(chooser, &other.distance, err);
	if (ret == 0 && other.distance)
		ret = try_choice(chooser, other, LEAST_SAVED, &best, err);
	for (size_t i = 0; ret == 0 && i < (bits ? 3 : 2); i++) {
		other = best;
		other.contexts = contexts[i];
		ret = try_choice(chooser, other, CONTEXTS_COST, &best, err);
	}
	*choice_out = best;
	return ret;
}

/* All of a table, or as many bytes from its middle. */
static struct span part_of(struct span block, size_t from,
			   const struct record_range *range)
{
	size_t size = range->upto - from;

	if (size > PART_BYTES) {
		size_t half = (size - PART_BYTES) / 2;

		from += half - half % range->record_bytes;
		size = PART_BYTES;
	}
	return (struct span){ block.data + from, size };
}

int dw_lzma_find_records(const struct lzma_probe *probe, const lzma_options_lzma *options,
			 struct span block, const struct record_ranges *records,
			 struct lzma_ranges *ranges_out, dwarfs_error **err)
{
	struct chooser chooser = { .probe = probe, .options = options };
	size_t from = 0;

	ranges_out->undivided = dw_lzma_usual_choice(options->nice_len);
	ranges_out->count = 0;
	for (size_t i = 0; i < records->count; i++) {
		const struct record_range *range = records->list + i;
		struct lzma_choice choice;
		int ret;

		if (range->upto - from < LEAST_BYTES && i + 1 < records->count)
			continue;
		if (range->upto - from < LEAST_BYTES && ranges_out->count > 0) {
			ranges_out->list[ranges_out->count - 1].upto = range->upto;
			break;
		}
		chooser.part = part_of(block, from, range);
		chooser.record_bytes = range->record_bytes;
		ret = choose(&chooser, &choice, err);
		if (ret < 0)
			return ret;
		dw_lzma_add_range(ranges_out, range->upto, &choice);
		from = range->upto;
	}
	return 0;
}

#endif
