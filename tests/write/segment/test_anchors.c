/* SPDX-License-Identifier: MIT */
/* Content-defined anchors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "write/segment/anchors.h"

#define SIZE ((size_t)200000)

static uint32_t next(uint32_t *state)
{
	return *state = *state * 1664525u + 1013904223u;
}

/* Data of several kinds, by number. */
static void fill(uint8_t *data, size_t size, int kind)
{
	static const uint8_t letters[] = "ACGT";
	uint32_t state = (uint32_t)kind * 77 + 1;

	for (size_t i = 0; i < size; i++) {
		uint32_t random = next(&state) >> 16;

		switch (kind) {
		case 0:
			data[i] = (uint8_t)random;
			break;
		case 1:
			data[i] = 0;
			break;
		case 2:
			data[i] = i % 2 ? 0xff : 'G';
			break;
		case 3:
			data[i] = (uint8_t)(i % 251);
			break;
		case 4:
			data[i] = letters[random % 4];
			break;
		case 5:
			data[i] = random % 16 ? 0 : (uint8_t)random;
			break;
		default:
			data[i] = (uint8_t)(i / 997 * 13 + i % 31);
			break;
		}
	}
}
#define KINDS 7

static void all_scanners_find_the_same(void **state)
{
	uint8_t *data = dw_malloc(SIZE);
	uint32_t *plain = dw_malloc(dw_anchors_room(SIZE) * sizeof(*plain));
	uint32_t *other = dw_malloc(dw_anchors_room(SIZE) * sizeof(*other));
	const char *name;

	(void)state;
	assert_true(data && plain && other);
	for (int kind = 0; kind < KINDS; kind++) {
		fill(data, SIZE, kind);
		for (size_t size = 0; size < 300; size++) {
			size_t used = size < 200 ? size : SIZE - size;
			uint16_t mask = (uint16_t)(UINT32_C(0xFFFF0000) >> (size % 12));
			size_t count = dw_trigger_scanner(0, &name)(data + size % 7, used,
								    mask, plain);

			if (used > SIZE - 7)
				continue;
			for (size_t i = 1; dw_trigger_scanner(i, &name); i++) {
				size_t found = dw_trigger_scanner(i, &name)(
					data + size % 7, used, mask, other);

				assert_int_equal(found, count);
				assert_memory_equal(plain, other, count * sizeof(*plain));
			}
		}
	}
	dw_free(data);
	dw_free(plain);
	dw_free(other);
}

static void anchors_ascend_with_gaps(void **state)
{
	uint8_t *data = dw_malloc(SIZE);
	struct anchor *anchors = dw_malloc(dw_anchors_room(SIZE) * sizeof(*anchors));

	(void)state;
	assert_true(data && anchors);
	for (int kind = 0; kind < KINDS; kind++) {
		fill(data, SIZE, kind);
		for (unsigned shift = 0; shift <= 12; shift += 4) {
			size_t count = dw_anchors_find(data, SIZE, shift, anchors);

			assert_true(count <= dw_anchors_room(SIZE));
			for (size_t i = 0; i < count; i++) {
				assert_true(anchors[i].at + ANCHOR_WINDOW <= SIZE);
				assert_true(i == 0 ||
					    anchors[i].at >=
						    anchors[i - 1].at + ANCHOR_GAP);
				assert_int_equal(anchors[i].hash,
						 dw_anchor_hash(data + anchors[i].at));
			}
		}
	}
	dw_free(data);
	dw_free(anchors);
}

static void anchors_move_with_their_data(void **state)
{
	enum { SHIFTED = 1237, COMMON = 100000 };
	uint8_t *one = dw_malloc(SIZE), *two = dw_malloc(SIZE);
	struct anchor *in_one = dw_malloc(dw_anchors_room(SIZE) * sizeof(*in_one));
	struct anchor *in_two = dw_malloc(dw_anchors_room(SIZE) * sizeof(*in_two));
	size_t ones, twos, common = 0;

	(void)state;
	assert_true(one && two && in_one && in_two);
	fill(one, SIZE, 0);
	fill(two, SIZE, 6);
	memcpy(two + SHIFTED, one, COMMON);
	ones = dw_anchors_find(one, COMMON, 8, in_one);
	twos = dw_anchors_find(two, SIZE, 8, in_two);
	for (size_t i = 0; i < ones; i++)
		for (size_t j = 0; j < twos; j++)
			common += in_two[j].at == in_one[i].at + SHIFTED &&
				  in_two[j].hash == in_one[i].hash;
	assert_true(ones > COMMON / 512);
	assert_true(common + 2 >= ones); /* but for the edges */
	dw_free(one);
	dw_free(two);
	dw_free(in_one);
	dw_free(in_two);
}

/* Data with the same bytes at every trigger must not fill the index. */
static void runs_have_few_anchors(void **state)
{
	uint8_t *data = dw_malloc(SIZE);
	struct anchor *anchors = dw_malloc(dw_anchors_room(SIZE) * sizeof(*anchors));

	(void)state;
	assert_true(data && anchors);
	for (int byte = 0; byte < 256; byte++) {
		memset(data, byte, SIZE);
		assert_true(dw_anchors_find(data, SIZE, 6, anchors) <= 2);
	}
	fill(data, SIZE, 2);
	assert_true(dw_anchors_find(data, SIZE, 6, anchors) <= 4);
	dw_free(data);
	dw_free(anchors);
}

/* If a long range has no anchors, some are added; for short periods always at the same
 * phase. */
static void a_long_lull_has_anchors(void **state)
{
	size_t size = 8 * ANCHOR_LULL;
	uint8_t *data = dw_malloc(size);
	struct anchor *anchors = dw_malloc(dw_anchors_room(size) * sizeof(*anchors));

	(void)state;
	assert_true(data && anchors);
	for (size_t period = 1; period <= ANCHOR_LULL_PLACES; period++) {
		size_t count;

		for (size_t i = 0; i < size; i++)
			data[i] = (uint8_t)(i % period * 37 + (i % period) / 7);
		count = dw_anchors_find(data, size, 16, anchors);
		assert_in_range(count, 7, 7 + period);
		for (size_t i = count - 5; i < count; i++)
			assert_int_equal(anchors[i].hash, anchors[i - 1].hash);
		for (size_t i = 0; i < count; i++) {
			assert_true(anchors[i].at + ANCHOR_WINDOW <= size);
			assert_true(i == 0 || anchors[i].at > anchors[i - 1].at);
		}
	}
	dw_free(data);
	dw_free(anchors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_scanners_find_the_same),
		cmocka_unit_test(anchors_ascend_with_gaps),
		cmocka_unit_test(anchors_move_with_their_data),
		cmocka_unit_test(runs_have_few_anchors),
		cmocka_unit_test(a_long_lull_has_anchors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
