/* SPDX-License-Identifier: MIT */
/*
 * write/order/fingerprint: fingerprints of contents, by which orders find similar files.
 *
 * Takes bytes as they are read, gives 32 bytes for each contents. Similar contents have
 * similar fingerprints; how they are compared depends on the kind. Pure functions of the
 * bytes, the same on every processor.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/multiply.h"
#include "write/order/order.h"
#include "write/segment/anchors.h"

/* -- minhash ------------------------------------------------------------------------ */

/*
 * Of the shingles that begin at triggers, each falls into one of 16 slots by its hash,
 * and each slot keeps the smallest. Two contents agree in a slot about as likely as a
 * shingle of one is also in the other. Contents with few shingles leave slots empty:
 * these borrow from the next one that is not.
 */
#define SLOTS	       DW_MINHASH_SLOTS
#define SHINGLE_BYTES  32
#define TRIGGER_SHIFT  5 /* one in 2^5 places, when they are not too close */
#define WINDOW_BYTES   ((size_t)16 << 10)
#define WINDOW_OVERLAP (SHINGLE_BYTES - 1)

/* Contents shorter than this have all their shingles taken. */
#define DENSE_BYTES 512

struct minhash {
	uint64_t slots[SLOTS];
	size_t filled; /* of the buffer */
	bool is_past_first;
	uint32_t places[WINDOW_BYTES / ANCHOR_GAP + 2];
	uint8_t buffer[WINDOW_BYTES + WINDOW_OVERLAP];
};

static uint64_t hash_shingle(const uint8_t *at)
{
	uint64_t a = dw_multiply_fold(dw_load64(at) ^ UINT64_C(0xA0761D6478BD642F),
				      dw_load64(at + 8) ^ UINT64_C(0xE7037ED1A0B428DB));
	uint64_t b = dw_multiply_fold(dw_load64(at + 16) ^ UINT64_C(0x8EBC6AF09C88C6E3),
				      dw_load64(at + 24) ^ UINT64_C(0x589965CC75374CC3));

	return dw_multiply_fold(a ^ UINT64_C(0x9E3779B97F4A7C15),
				b ^ UINT64_C(0xD6E8FEB86659FD93));
}

static void take_shingle(struct minhash *minhash, const uint8_t *at)
{
	uint64_t hash = hash_shingle(at);
	uint64_t *slot = &minhash->slots[hash % SLOTS];

	/* UINT64_MAX: an empty slot. */
	hash >>= 4;
	if (hash < *slot)
		*slot = hash;
}

/* Shingles that begin in the window and end in the buffer. */
static void take_window(struct minhash *minhash)
{
	size_t size = minhash->filled, count;

	if (size < SHINGLE_BYTES)
		return;
	if (!minhash->is_past_first && size < DENSE_BYTES) {
		for (size_t at = 0; at + SHINGLE_BYTES <= size; at++)
			take_shingle(minhash, minhash->buffer + at);
		return;
	}
	count = dw_triggers_find(minhash->buffer, size, TRIGGER_SHIFT, minhash->places);
	for (size_t i = 0; i < count; i++)
		if (minhash->places[i] + SHINGLE_BYTES <= size)
			take_shingle(minhash, minhash->buffer + minhash->places[i]);
}

static void begin_minhash(struct minhash *minhash)
{
	memset(minhash->slots, 0xFF, sizeof(minhash->slots));
	minhash->filled = 0;
	minhash->is_past_first = false;
}

static void update_minhash(struct minhash *minhash, const uint8_t *data, size_t size)
{
	while (size > 0) {
		size_t room = sizeof(minhash->buffer) - minhash->filled;
		size_t taken = size < room ? size : room;

		memcpy(minhash->buffer + minhash->filled, data, taken);
		minhash->filled += taken;
		data += taken;
		size -= taken;
		if (minhash->filled < sizeof(minhash->buffer))
			return;
		take_window(minhash);
		memmove(minhash->buffer, minhash->buffer + WINDOW_BYTES, WINDOW_OVERLAP);
		minhash->filled = WINDOW_OVERLAP;
		minhash->is_past_first = true;
	}
}

static void finish_minhash(struct minhash *minhash, struct fingerprint *out)
{
	bool is_empty = true;

	take_window(minhash);
	for (size_t i = 0; i < SLOTS; i++)
		is_empty &= minhash->slots[i] == UINT64_MAX;
	for (size_t i = 0; i < SLOTS && !is_empty; i++) {
		size_t from = i;
		uint64_t value;

		while (minhash->slots[from] == UINT64_MAX)
			from = (from + 1) % SLOTS;
		/* What was borrowed from another distance is another value. */
		value = dw_multiply_fold(
			minhash->slots[from] ^ UINT64_C(0x589965CC75374CC3),
			UINT64_C(0x9E3779B97F4A7C15) + 2 * ((from - i) % SLOTS));
		/* All zero means no fingerprint. */
		dw_store16(out->bytes + 2 * i, (uint16_t)(value >> 24) | 1);
	}
}

unsigned dw_minhash_common(const struct fingerprint *a, const struct fingerprint *b)
{
	unsigned common = 0;

	for (size_t i = 0; i < SLOTS; i++) {
		uint16_t value = dw_load16(a->bytes + 2 * i);

		common += value != 0 && value == dw_load16(b->bytes + 2 * i);
	}
	return common;
}

/* -- runs --------------------------------------------------------------------------- */

/*
 * Pieces of this size are counted at once if all of their bytes are equal, as those of holes. Of
 * 512 MiB of zeros, which level 7 reads of a file of 2 GiB that is a hole, counting each byte took
 * 3.2 s of processor time.
 */
#define RUN_BYTES 4096

static bool is_run(const uint8_t *from, const uint8_t *to)
{
	return memcmp(from, from + 1, (size_t)(to - from) - 1) == 0;
}

/* -- similarity --------------------------------------------------------------------- */

/* The numbers of the fullest bins of a histogram of hashes of four bytes, from the
 * fullest on. Two histograms are filled in turn, as runs would wait for one. */
#define BINS 256

struct hash_histogram {
	uint64_t total;
	uint32_t last; /* the four bytes before */
	uint64_t bins[2][BINS];
};

static inline uint32_t bin_of(uint32_t bytes)
{
	return bytes * UINT32_C(0x9E3779B1) >> 24;
}

static void update_histogram(struct hash_histogram *histogram, const uint8_t *data,
			     size_t size)
{
	uint32_t last = histogram->last;
	size_t i = 0;

	for (; i < size && histogram->total + i < 3; i++)
		last = last >> 8 | (uint32_t)data[i] << 24;
	for (; i < size && i < 3; i++) {
		last = last >> 8 | (uint32_t)data[i] << 24;
		histogram->bins[0][bin_of(last)]++;
	}
	while (i < size) {
		size_t end = size - i < RUN_BYTES ? size : i + RUN_BYTES;

		if (is_run(data + i - 3, data + end)) {
			histogram->bins[0][bin_of(dw_load32(data + i - 3))] += end - i;
			i = end;
		}
		for (; i < end; i++)
			histogram->bins[i & 1][bin_of(dw_load32(data + i - 3))]++;
	}
	for (size_t j = size < 4 ? size : 4; j > 0; j--)
		histogram->last = histogram->last >> 8 | (uint32_t)data[size - j] << 24;
	histogram->total += size;
}

/* Insert a value into those that were greatest, from the greatest on. Returns their number. */
static size_t insert_fullest(uint64_t fullest[FINGERPRINT_BYTES], size_t count,
			     uint64_t value)
{
	size_t at = count;

	if (count == FINGERPRINT_BYTES && value < fullest[--at])
		return count;
	for (; at > 0 && fullest[at - 1] < value; at--)
		fullest[at] = fullest[at - 1];
	fullest[at] = value;
	return count < FINGERPRINT_BYTES ? count + 1 : count;
}

static void finish_histogram(struct hash_histogram *histogram, struct fingerprint *out)
{
	uint64_t fullest[FINGERPRINT_BYTES]; /* in order */
	size_t count = 0;

	for (size_t i = 0; i < BINS; i++) {
		uint64_t bin = histogram->bins[0][i] + histogram->bins[1][i];

		/* Of equally full ones, the first. */
		if (bin > 0)
			count = insert_fullest(fullest, count, bin << 8 | (BINS - 1 - i));
	}
	for (size_t i = 0; i < count; i++)
		out->bytes[i] = (uint8_t)(BINS - 1 - (fullest[i] & 0xff));
}

/* -- nilsimsa ----------------------------------------------------------------------- */

/*
 * A locality-sensitive code: each byte makes eight triples with the four before it, each
 * triple is counted in one of 256 counters, and a bit of the code says whether its
 * counter is above the mean. Similar contents differ in few bits.
 *
 * The counter of a triple (a, b, c) is (f(a) ^ g(b)) + h(c), where f, g and h depend on
 * which of the eight it is. The eight are the bytes of one word, so a byte looks up what
 * it adds to all of them at once: by its distance, to the sides of the xor and of the
 * sum.
 */
#define TRIPLES	 8
#define DISTANCE 5 /* a byte and the four before it */

struct nilsimsa {
	uint64_t total;
	uint8_t last[DISTANCE - 1]; /* the latest first */
	uint64_t counters[BINS];
	uint64_t mixed[DISTANCE][256], added[DISTANCE][256];
};

/* The distances of a, b and c, and from which byte on there is such a triple. */
static const uint8_t triples[TRIPLES][3] = {
	{ 0, 1, 2 }, { 0, 1, 3 }, { 0, 2, 3 }, { 0, 1, 4 },
	{ 0, 2, 4 }, { 0, 3, 4 }, { 4, 1, 0 }, { 4, 3, 0 },
};
static const uint8_t triples_known[DISTANCE] = { 0, 0, 1, 3, TRIPLES };

/* A permutation of the bytes, shuffled by a linear generator. */
static void shuffle(uint8_t permutation[256])
{
	uint64_t random = UINT64_C(0x2545F4914F6CDD1D);

	for (size_t i = 0; i < 256; i++)
		permutation[i] = (uint8_t)i;
	for (size_t i = 255; i > 0; i--) {
		uint8_t other = permutation[i];
		size_t j;

		random = random * UINT64_C(6364136223846793005) + 1;
		j = (random >> 33) % (i + 1);
		permutation[i] = permutation[j];
		permutation[j] = other;
	}
}

static void make_tables(struct nilsimsa *nilsimsa)
{
	uint8_t permutation[256];

	shuffle(permutation);
	for (unsigned n = 0; n < TRIPLES; n++) {
		uint64_t *first = nilsimsa->mixed[triples[n][0]];
		uint64_t *second = nilsimsa->mixed[triples[n][1]];
		uint64_t *third = nilsimsa->added[triples[n][2]];

		for (unsigned i = 0; i < 256; i++) {
			uint8_t odd = (uint8_t)(permutation[i] * (2 * n + 1));

			first[i] |= (uint64_t)permutation[(i + n) % 256] << 8 * n;
			second[i] |= (uint64_t)odd << 8 * n;
			third[i] |= (uint64_t)permutation[i ^ permutation[n]] << 8 * n;
		}
	}
}

/* Count the first triples of bytes by their distance, which occur so many times. */
static inline void count_triples(struct nilsimsa *nilsimsa, const uint8_t *bytes,
				 ptrdiff_t step, unsigned count, uint64_t times)
{
	const uint64_t low_bits = UINT64_C(0x7F7F7F7F7F7F7F7F);
	uint64_t mixed = 0, added = 0, bins;

#pragma GCC unroll 5
	for (int i = 0; i < DISTANCE; i++) {
		mixed ^= nilsimsa->mixed[i][bytes[i * step]];
		added |= nilsimsa->added[i][bytes[i * step]];
	}
	/* Eight sums of a byte each. */
	bins = ((mixed & low_bits) + (added & low_bits)) ^ ((mixed ^ added) & ~low_bits);
#pragma GCC unroll 8
	for (unsigned n = 0; n < count; n++, bins >>= 8)
		nilsimsa->counters[bins & 0xFF] += times;
}

static void update_nilsimsa(struct nilsimsa *nilsimsa, const uint8_t *data, size_t size)
{
	uint8_t *last = nilsimsa->last;
	size_t i = 0;

	for (; i < size && i < DISTANCE - 1; i++) {
		const uint8_t bytes[] = { data[i], last[0], last[1], last[2], last[3] };
		unsigned known = nilsimsa->total < DISTANCE - 1
					 ? (unsigned)nilsimsa->total
					 : DISTANCE - 1;

		count_triples(nilsimsa, bytes, 1, triples_known[known], 1);
		memmove(last + 1, last, DISTANCE - 2);
		last[0] = data[i];
		nilsimsa->total++;
	}
	if (i == size)
		return;
	nilsimsa->total += size - i;
	while (i < size) {
		size_t end = size - i < RUN_BYTES ? size : i + RUN_BYTES;

		if (is_run(data + i - (DISTANCE - 1), data + end)) {
			count_triples(nilsimsa, data + i, -1, TRIPLES, end - i);
			i = end;
		}
		for (; i < end; i++)
			count_triples(nilsimsa, data + i, -1, TRIPLES, 1);
	}
	for (size_t j = 0; j < DISTANCE - 1; j++)
		last[j] = data[size - 1 - j];
}

static void finish_nilsimsa(const struct nilsimsa *nilsimsa, struct fingerprint *out)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < BINS; i++)
		sum += nilsimsa->counters[i];
	for (size_t i = 0; i < BINS; i++)
		if (nilsimsa->counters[i] > sum / BINS)
			out->bytes[i / 8] |= (uint8_t)(1 << i % 8);
}

/* -- any of them -------------------------------------------------------------------- */

struct fingerprinter {
	enum fingerprint_kind kind;
	struct minhash minhash;
	struct hash_histogram histogram;
	struct nilsimsa nilsimsa;
};

int dw_fingerprinter_new(struct fingerprinter **maker_out, dwarfs_error **err)
{
	struct fingerprinter *maker = dw_calloc(1, sizeof(*maker));

	if (!maker)
		return dw_fail_nomem(err);
	make_tables(&maker->nilsimsa);
	*maker_out = maker;
	return 0;
}

void dw_fingerprinter_free(struct fingerprinter *maker)
{
	dw_free(maker);
}

void dw_fingerprint_begin(struct fingerprinter *maker, enum fingerprint_kind kind)
{
	maker->kind = kind;
	switch (kind) {
	case FINGERPRINT_NONE:
		return;
	case FINGERPRINT_MINHASH:
		begin_minhash(&maker->minhash);
		return;
	case FINGERPRINT_SIMILARITY:
		memset(&maker->histogram, 0, sizeof(maker->histogram));
		return;
	case FINGERPRINT_NILSIMSA:
		maker->nilsimsa.total = 0;
		memset(maker->nilsimsa.counters, 0, sizeof(maker->nilsimsa.counters));
		return;
	}
}

void dw_fingerprint_update(struct fingerprinter *maker, const uint8_t *data, size_t size)
{
	switch (maker->kind) {
	case FINGERPRINT_NONE:
		return;
	case FINGERPRINT_MINHASH:
		update_minhash(&maker->minhash, data, size);
		return;
	case FINGERPRINT_SIMILARITY:
		update_histogram(&maker->histogram, data, size);
		return;
	case FINGERPRINT_NILSIMSA:
		update_nilsimsa(&maker->nilsimsa, data, size);
		return;
	}
}

void dw_fingerprint_finish(struct fingerprinter *maker, struct fingerprint *out)
{
	*out = (struct fingerprint){ 0 };
	switch (maker->kind) {
	case FINGERPRINT_NONE:
		return;
	case FINGERPRINT_MINHASH:
		finish_minhash(&maker->minhash, out);
		return;
	case FINGERPRINT_SIMILARITY:
		finish_histogram(&maker->histogram, out);
		return;
	case FINGERPRINT_NILSIMSA:
		finish_nilsimsa(&maker->nilsimsa, out);
		return;
	}
}
