/* SPDX-License-Identifier: MIT */
/*
 * write/segment/anchors: offsets in data that are chosen by the data alone.
 *
 * The trigger hash at an offset is the sum of the four 16-bit words there, each times a
 * constant, modulo 2^16: it needs 16-bit lanes only, so that a vector tests as many
 * offsets as it has bytes.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/multiply.h"
#include "write/segment/anchors.h"

#define TRIGGER_BYTES 8
#define TRIGGER_START 0x6C45 /* keeps zeros from being a trigger */
#define TRIGGER_K0    0x9E37
#define TRIGGER_K1    0x79B9
#define TRIGGER_K2    0x7F4B
#define TRIGGER_K3    0xC2B3

/* -- triggers, one place at a time -------------------------------------------------- */

static bool is_trigger(const uint8_t *at, uint16_t mask)
{
	uint16_t hash = (uint16_t)(TRIGGER_START + (uint32_t)dw_load16(at) * TRIGGER_K0 +
				   (uint32_t)dw_load16(at + 2) * TRIGGER_K1 +
				   (uint32_t)dw_load16(at + 4) * TRIGGER_K2 +
				   (uint32_t)dw_load16(at + 6) * TRIGGER_K3);

	return (hash & mask) == 0;
}

/* From a place on, none before `next`; appends to out[count...]. */
static size_t scan_from(const uint8_t *data, size_t size, size_t from, size_t next,
			uint16_t mask, uint32_t *out, size_t count)
{
	for (size_t at = from < next ? next : from; at + TRIGGER_BYTES <= size; at++) {
		if (is_trigger(data + at, mask)) {
			out[count++] = (uint32_t)at;
			at += ANCHOR_GAP - 1;
		}
	}
	return count;
}

static size_t scan_plain(const uint8_t *data, size_t size, uint16_t mask, uint32_t *out)
{
	return scan_from(data, size, 0, 0, mask, out, 0);
}

/* -- triggers, as many at a time as a vector has bytes ------------------------------ */

/*
 * The hashes of the even and of the odd places, compared with zero, give a mask of one
 * byte for each place. Lanes are read in memory order, so this is for little-endian
 * processors only.
 */
#define TRIGGERS(vector, data, wide_mask)                                                \
	__extension__({                                                                  \
		vector even = (wide_mask), odd = (wide_mask), words;                     \
		vector even_sum = { 0 }, odd_sum = { 0 };                                \
                                                                                         \
		even_sum += TRIGGER_START;                                               \
		odd_sum += TRIGGER_START;                                                \
		memcpy(&words, (data) + 0, sizeof(words));                               \
		even_sum += words * TRIGGER_K0;                                          \
		memcpy(&words, (data) + 1, sizeof(words));                               \
		odd_sum += words * TRIGGER_K0;                                           \
		memcpy(&words, (data) + 2, sizeof(words));                               \
		even_sum += words * TRIGGER_K1;                                          \
		memcpy(&words, (data) + 3, sizeof(words));                               \
		odd_sum += words * TRIGGER_K1;                                           \
		memcpy(&words, (data) + 4, sizeof(words));                               \
		even_sum += words * TRIGGER_K2;                                          \
		memcpy(&words, (data) + 5, sizeof(words));                               \
		odd_sum += words * TRIGGER_K2;                                           \
		memcpy(&words, (data) + 6, sizeof(words));                               \
		even_sum += words * TRIGGER_K3;                                          \
		memcpy(&words, (data) + 7, sizeof(words));                               \
		odd_sum += words * TRIGGER_K3;                                           \
		even = (vector)((even_sum & even) == 0) & 0x00FF;                        \
		odd = (vector)((odd_sum & odd) == 0) & 0xFF00;                           \
		even | odd;                                                              \
	})

#if DW_LITTLE_ENDIAN_HOST
#define HAVE_VECTORS

/* The thread sanitizer would check each byte of each of eight loads, which takes 25 times as
 * long, and finds nothing: what is read and written is used by the calling thread alone. */
#define NO_RACE_CHECKS __attribute__((no_sanitize("thread")))

typedef uint16_t vector16 __attribute__((vector_size(16)));

/* With a vector of 16 bytes, which most processors have, and none needs. */
NO_RACE_CHECKS static size_t scan_16(const uint8_t *data, size_t size, uint16_t mask,
				     uint32_t *out)
{
	vector16 wide_mask = { 0 };
	size_t at = 0, next = 0, count = 0;

	wide_mask += mask;
	for (; at + sizeof(vector16) + TRIGGER_BYTES <= size; at += sizeof(vector16)) {
		vector16 hits = TRIGGERS(vector16, data + at, wide_mask);
		uint64_t halves[2];

		memcpy(halves, &hits, sizeof(halves));
		if ((halves[0] | halves[1]) == 0)
			continue;
		for (size_t half = 0; half < 2; half++) {
			while (halves[half] != 0) {
				unsigned bit = (unsigned)__builtin_ctzll(halves[half]);
				size_t place = at + half * 8 + bit / 8;

				halves[half] &= ~(UINT64_C(0xFF) << bit);
				if (place < next)
					continue;
				out[count++] = (uint32_t)place;
				next = place + ANCHOR_GAP;
			}
		}
	}
	return scan_from(data, size, at, next, mask, out, count);
}
#endif

#if defined(HAVE_VECTORS) && defined(__x86_64__)
#define HAVE_AVX2
#include <immintrin.h>

typedef uint16_t vector32 __attribute__((vector_size(32)));

NO_RACE_CHECKS __attribute__((target("avx2"))) static size_t
scan_avx2(const uint8_t *data, size_t size, uint16_t mask, uint32_t *out)
{
	vector32 wide_mask = { 0 };
	size_t at = 0, next = 0, count = 0;

	wide_mask += mask;
	for (; at + sizeof(vector32) + TRIGGER_BYTES <= size; at += sizeof(vector32)) {
		vector32 hits = TRIGGERS(vector32, data + at, wide_mask);
		uint32_t bits = (uint32_t)_mm256_movemask_epi8((__m256i)hits);

		while (bits != 0) {
			size_t place = at + (unsigned)__builtin_ctz(bits);

			bits &= bits - 1;
			if (place < next)
				continue;
			out[count++] = (uint32_t)place;
			next = place + ANCHOR_GAP;
		}
	}
	return scan_from(data, size, at, next, mask, out, count);
}
#endif

/* From the plainest to the fastest. */
dw_trigger_scan dw_trigger_scanner(size_t index, const char **name_out)
{
	switch (index) {
	case 0:
		*name_out = "plain";
		return scan_plain;
#ifdef HAVE_VECTORS
	case 1:
		*name_out = "vectors of 16 bytes";
		return scan_16;
#endif
#ifdef HAVE_AVX2
	case 2:
		if (!__builtin_cpu_supports("avx2"))
			return NULL;
		*name_out = "AVX2";
		return scan_avx2;
#endif
	default:
		return NULL;
	}
}

static dw_trigger_scan best_scanner(void)
{
#ifdef HAVE_AVX2
	if (__builtin_cpu_supports("avx2"))
		return scan_avx2;
#endif
#ifdef HAVE_VECTORS
	return scan_16;
#else
	return scan_plain;
#endif
}

size_t dw_triggers_find(const uint8_t *data, size_t size, unsigned shift, uint32_t *out)
{
	return best_scanner()(data, size, (uint16_t)(UINT32_C(0xFFFF0000) >> shift), out);
}

/* -- anchors ------------------------------------------------------------------------ */

/* Widening multiplications of pairs of words, as in wyhash by Wang Yi. */
uint64_t dw_anchor_hash(const uint8_t *window)
{
	uint64_t a =
		dw_multiply_fold(dw_load64(window) ^ UINT64_C(0xA0761D6478BD642F),
				 dw_load64(window + 8) ^ UINT64_C(0xE7037ED1A0B428DB));
	uint64_t b =
		dw_multiply_fold(dw_load64(window + 16) ^ UINT64_C(0x8EBC6AF09C88C6E3),
				 dw_load64(window + 24) ^ UINT64_C(0x589965CC75374CC3));
	uint64_t c =
		dw_multiply_fold(dw_load64(window + 32) ^ UINT64_C(0x1D8E4E27C47D124F),
				 dw_load64(window + 40) ^ UINT64_C(0xEB44ACCAB455D165));
	uint64_t d =
		dw_multiply_fold(dw_load64(window + 48) ^ UINT64_C(0x9C1B8E1E9628323F),
				 dw_load64(window + 56) ^ UINT64_C(0xD6E8FEB86659FD93));

	return dw_multiply_fold(a ^ c ^ UINT64_C(0x9E3779B97F4A7C15),
				b ^ (d << 1 | d >> 63));
}

#define RECENT_HASHES 4

struct finder {
	const uint8_t *data;
	struct anchor *out;
	size_t count;
	size_t last; /* where the last anchor is, or the data begins */
};

/*
 * Of the places that follow, the one whose window has the smallest hash: where data has a
 * short period, that is the same window everywhere.
 */
static struct anchor smallest_hash(const uint8_t *data, size_t at)
{
	struct anchor smallest = { (uint32_t)at, dw_anchor_hash(data + at) };

	for (size_t i = at + 1; i < at + ANCHOR_LULL_PLACES; i++) {
		uint64_t hash = dw_anchor_hash(data + i);

		if (hash < smallest.hash)
			smallest = (struct anchor){ (uint32_t)i, hash };
	}
	return smallest;
}

/* Put anchors into a stretch that has none. */
static void fill_lull(struct finder *finder, size_t end)
{
	while (end - finder->last >= ANCHOR_LULL + ANCHOR_LULL_PLACES + ANCHOR_WINDOW) {
		struct anchor anchor =
			smallest_hash(finder->data, finder->last + ANCHOR_LULL);

		finder->out[finder->count++] = anchor;
		finder->last = anchor.at;
	}
}

size_t dw_anchors_find(const uint8_t *data, size_t size, unsigned shift,
		       struct anchor *out)
{
	uint16_t mask = (uint16_t)(UINT32_C(0xFFFF0000) >> shift);
	/* The offsets are at the end of out, and each is read before its anchor is
	 * written. */
	size_t most = dw_anchors_room(size);
	uint32_t *places = (uint32_t *)(void *)(out + most) - most;
	uint64_t recent[RECENT_HASHES] = { 0 };
	struct finder finder = { .data = data, .out = out };
	size_t triggers;

	if (size < ANCHOR_WINDOW)
		return 0;
	triggers = best_scanner()(data, size, mask, places);
	for (size_t i = 0; i < triggers; i++) {
		uint32_t at = places[i];
		bool is_recent = false;
		uint64_t hash;

		if (at + ANCHOR_WINDOW > size)
			break;
		hash = dw_anchor_hash(data + at);
		for (size_t j = 0; j < RECENT_HASHES; j++)
			is_recent |= recent[j] == hash;
		recent[i % RECENT_HASHES] = hash;
		if (is_recent)
			continue;
		if (at - finder.last > ANCHOR_LULL)
			fill_lull(&finder, at);
		finder.out[finder.count++] = (struct anchor){ at, hash };
		finder.last = at;
	}
	fill_lull(&finder, size);
	return finder.count;
}
