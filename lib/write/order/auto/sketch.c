/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/sketch: which short runs of bytes the files of a stream have in common.
 */
#include <string.h>

#include "base/bytes.h"
#include "hash/hash.h"
#include "write/order/auto/fragment_reader.h"
#include "write/order/auto/sketch.h"
#include "write/order/sort.h"
#include "write/segment/anchors.h"

#define MIN_SHIFT    6
#define MAX_SHIFT    16
#define MAX_THINNING 24

/* Of larger inputs, only the beginnings of files are read; then only files of some names,
 * since files of the same name in several directories are mostly versions of one. */
#define MAX_READ_BYTES ((uint64_t)4 << 30)
#define MIN_HEAD_BYTES ((uint64_t)1 << 20)
#define MAX_HEAD_BYTES ((uint64_t)1 << 40)

static const size_t lengths[SHINGLE_LENGTHS] = {
	[SHINGLE_SHORT] = 12,
	[SHINGLE_MEDIUM] = 32,
	[SHINGLE_LONG] = 128,
};

void dw_sketch_free(struct sketch *sketch)
{
	dw_free(sketch->shingles);
	dw_free(sketch->pieces);
	*sketch = (struct sketch){ 0 };
}

/* -- reading ------------------------------------------------------------------------ */

struct sketch_reader {
	struct fragment_reader reader;
	struct sketch *sketch;
	const uint32_t *numbers; /* of the fragments, in reading order */
	size_t max_shingles;
	unsigned shift;
	uint32_t thinning; /* one in 2^thinning shingles is kept */
	uint32_t names;	   /* files of one in `names` names are read */
	uint32_t *places;  /* of triggers */
};

static void free_sketch_reader(struct sketch_reader *state)
{
	dw_fragment_reader_free(&state->reader);
	dw_free(state->places);
}

static uint32_t hash_short(const uint8_t *at)
{
	uint64_t product = (dw_load64(at) ^ UINT64_C(0xA0761D6478BD642F)) *
			   UINT64_C(0x9E3779B97F4A7C15);

	product ^= dw_load32(at + 8) * UINT64_C(0xE7037ED1A0B428DB);
	return (uint32_t)((product ^ product >> 29) * UINT64_C(0x8EBC6AF09C88C6E3) >> 32);
}

static uint32_t hash_medium(const uint8_t *at)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < 32; i += 8) {
		hash = (hash ^ dw_load64(at + i)) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 31;
	}
	return (uint32_t)(hash * UINT64_C(0x589965CC75374CC3) >> 32);
}

static uint32_t hash_long(const uint8_t *at)
{
	uint64_t first = dw_anchor_hash(at), second = dw_anchor_hash(at + ANCHOR_WINDOW);

	return (uint32_t)((first ^ (second << 1 | second >> 63)) *
				  UINT64_C(0xD6E8FEB86659FD93) >>
			  32);
}

/* Until they are numbered, ids are hashes, of which DW_NONE is left out. */
static uint32_t hash_at(enum shingle_length length, const uint8_t *at, size_t size)
{
	uint32_t hash;

	if (size < lengths[length])
		return DW_NONE;
	hash = length == SHINGLE_SHORT	  ? hash_short(at)
	       : length == SHINGLE_MEDIUM ? hash_medium(at)
					  : hash_long(at);
	return hash == DW_NONE ? 0 : hash;
}

static bool is_shingle_kept(const struct sketch_reader *state,
			    const struct shingle *shingle)
{
	return (shingle->ids[SHINGLE_SHORT] & ((UINT32_C(1) << state->thinning) - 1)) ==
	       0;
}

/* Keep half of the shingles of the first pieces, either all or none of those with equal bytes. */
static void thin_out(struct sketch_reader *state, size_t piece_count)
{
	struct sketch *sketch = state->sketch;
	size_t kept = 0;

	state->thinning++;
	for (size_t i = 0; i < piece_count; i++) {
		struct sketch_piece *piece = &sketch->pieces[state->numbers[i]];
		size_t first = kept;

		for (uint32_t j = 0; j < piece->count; j++) {
			struct shingle shingle = sketch->shingles[piece->first + j];

			if (is_shingle_kept(state, &shingle))
				sketch->shingles[kept++] = shingle;
		}
		piece->first = (uint32_t)first;
		piece->count = (uint32_t)(kept - first);
	}
	sketch->count = kept;
}

static int add_shingles(struct sketch_reader *state, size_t size, dwarfs_error **err)
{
	struct sketch *sketch = state->sketch;
	uint64_t from = state->reader.data_bytes - size;
	size_t count;
	int ret;

	/* For data made on purpose, thinning out may not help. */
	if (state->thinning == MAX_THINNING && sketch->count >= state->max_shingles)
		return 0;
	count = dw_triggers_find(state->reader.bytes, size, state->shift, state->places);
	ret = dw_grow(&sketch->shingles, &sketch->room, sketch->count + count, err);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < count; i++) {
		const uint8_t *at = state->reader.bytes + state->places[i];
		size_t left = size - state->places[i];
		struct shingle *shingle = &sketch->shingles[sketch->count];

		for (enum shingle_length j = 0; j < SHINGLE_LENGTHS; j++)
			shingle->ids[j] = hash_at(j, at, left);
		shingle->at = (uint32_t)(from + state->places[i]);
		sketch->count += shingle->ids[SHINGLE_SHORT] != DW_NONE &&
				 is_shingle_kept(state, shingle);
	}
	return 0;
}

/* The shingles of the fragment at a place of numbers. */
static int sketch_fragment(struct sketch_reader *state, size_t place, dwarfs_error **err)
{
	struct sketch *sketch = state->sketch;
	struct sketch_piece *piece = &sketch->pieces[state->numbers[place]];
	size_t size;
	int ret;

	piece->first = (uint32_t)sketch->count;
	dw_fragment_reader_begin(&state->reader, state->numbers[place]);
	while ((ret = dw_fragment_reader_next(&state->reader, &size, err)) == 0 &&
	       size > 0) {
		if (state->reader.zero_pieces > 0)
			continue;
		if ((ret = add_shingles(state, size, err)) < 0)
			return ret;
		piece->count = (uint32_t)sketch->count - piece->first;
		/* Data made on purpose may have more triggers than other data. */
		while (sketch->count > state->max_shingles &&
		       state->thinning < MAX_THINNING)
			thin_out(state, place + 1);
	}
	piece->bytes = dw_fragment_reader_data_bytes(&state->reader);
	piece->read_bytes = state->reader.data_bytes;
	return ret;
}

static void plan_reading(struct sketch_reader *state, size_t count)
{
	struct fragment_reader *reader = &state->reader;
	uint64_t total;

	reader->head_bytes = MAX_HEAD_BYTES;
	while ((total = dw_fragment_reader_total(reader, state->numbers, count)) >
		       MAX_READ_BYTES &&
	       reader->head_bytes > MIN_HEAD_BYTES)
		reader->head_bytes /= 2;
	state->names = (uint32_t)(total / MAX_READ_BYTES) + 1;
	total /= state->names;
	state->shift = MIN_SHIFT;
	while (state->shift < MAX_SHIFT && total >> state->shift > state->max_shingles)
		state->shift++;
}

static bool is_read(const struct sketch_reader *state, uint32_t number)
{
	const struct order_input *input = state->reader.input;
	const struct tree *tree = input->tree;
	uint32_t entry = dw_order_entry(input, number);
	struct span name = dw_string_set_at(&tree->names, tree->entries[entry].name);

	return state->names == 1 || dw_xxh3_64(name.data, name.size) % state->names == 0;
}

/* -- numbers ------------------------------------------------------------------------- */

/* The end of the entries with the key of the first one. */
static size_t end_of_equal(const struct dw_keyed *keyed, size_t first, size_t count)
{
	size_t end = first + 1;

	while (end < count && keyed[end].key == keyed[first].key)
		end++;
	return end;
}

/* Replace the hashes of one length by numbers from 0 on; of a longer shingle that occurs once,
 * which is never found again, by none. */
static void number_length(struct sketch *sketch, enum shingle_length length,
			  struct dw_keyed *keyed, struct dw_keyed *spare)
{
	size_t used = 0;
	uint32_t id = 0;

	for (size_t i = 0; i < sketch->count; i++)
		if (sketch->shingles[i].ids[length] != DW_NONE)
			keyed[used++] =
				(struct dw_keyed){ sketch->shingles[i].ids[length],
						   (uint32_t)i };
	dw_sort_keyed(keyed, spare, used);
	for (size_t i = 0, end; i < used; i = end) {
		bool counts;

		end = end_of_equal(keyed, i, used);
		counts = length == SHINGLE_SHORT || end - i > 1;
		for (size_t j = i; j < end; j++)
			sketch->shingles[keyed[j].number].ids[length] =
				counts ? id : DW_NONE;
		id += counts;
	}
	sketch->id_counts[length] = id;
}

static int number_shingles(struct sketch *sketch, dwarfs_error **err)
{
	auto_free struct dw_keyed *keyed = dw_calloc(sketch->count, sizeof(*keyed));
	auto_free struct dw_keyed *spare = dw_calloc(sketch->count, sizeof(*spare));

	if (!keyed || !spare)
		return dw_fail_nomem(err);
	for (enum shingle_length i = 0; i < SHINGLE_LENGTHS; i++)
		number_length(sketch, i, keyed, spare);
	return 0;
}

int dw_sketch_make(const struct order_input *input, const uint32_t *numbers, size_t count,
		   size_t max_shingles, struct sketch *sketch, dwarfs_error **err)
{
	__attribute__((cleanup(free_sketch_reader))) struct sketch_reader state = {
		.sketch = sketch,
		.numbers = numbers,
		.max_shingles = max_shingles,
		.places = dw_calloc(dw_anchors_room(FRAGMENT_PIECE_BYTES),
				    sizeof(uint32_t)),
	};
	int ret;

	*sketch = (struct sketch){ 0 };
	sketch->pieces =
		dw_calloc(input->contents->fragment_count, sizeof(*sketch->pieces));
	if (!state.places || !sketch->pieces)
		return dw_fail_nomem(err);
	if ((ret = dw_fragment_reader_init(&state.reader, input, err)) < 0)
		return ret;
	plan_reading(&state, count);
	for (size_t i = 0; i < count; i++) {
		sketch->pieces[numbers[i]].bytes =
			input->contents->fragments[numbers[i]].size;
		if (!is_read(&state, numbers[i]))
			continue;
		if ((ret = sketch_fragment(&state, i, err)) < 0)
			return ret;
	}
	return number_shingles(sketch, err);
}
