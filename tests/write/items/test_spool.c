/* SPDX-License-Identifier: MIT */
/*
 * write/items/spool: contents that are written once and read at any offset.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include "write/items/spool.h"

#define MIB ((size_t)1 << 20)

static struct spool *new_spool(const char *directory, uint64_t memory_bytes)
{
	struct spool *spool = NULL;

	assert_int_equal(dw_spool_new(directory, memory_bytes, &spool, NULL), 0);
	return spool;
}

static uint8_t *noise(size_t size, uint64_t seed)
{
	uint8_t *data = dw_malloc(size);

	assert_non_null(data);
	for (size_t i = 0; i < size; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		data[i] = (uint8_t)(seed >> 56) | 1; /* never 0 */
	}
	return data;
}

static uint32_t add_all(struct spool *spool, const void *data, size_t size)
{
	uint32_t number;

	dw_spool_begin(spool);
	assert_int_equal(dw_spool_add(spool, data, size, 0, NULL), 0);
	assert_int_equal(dw_spool_end(spool, size, &number, NULL), 0);
	return number;
}

/* At once, and in parts that are not aligned. */
static void expect(struct spool *spool, uint32_t number, const uint8_t *data, size_t size)
{
	uint8_t *got = dw_malloc(size + 1);
	size_t at = 0, part = 1;

	assert_non_null(got);
	assert_int_equal(dw_spool_size(spool, number), size);
	assert_int_equal(dw_spool_read_at(spool, number, got, size + 1, 0), size);
	assert_memory_equal(got, data, size);
	memset(got, 0xee, size);
	for (; at < size; at += part, part = part * 3 + 1) {
		part = part < size - at ? part : size - at;
		assert_int_equal(dw_spool_read_at(spool, number, got + at, part, at),
				 part);
	}
	assert_memory_equal(got, data, size);
	assert_int_equal(dw_spool_read_at(spool, number, got, 1, size), 0);
	dw_free(got);
}

static void contents_are_in_memory_then_in_a_file(void **state)
{
	const size_t sizes[] = { 1, 100, 3 * MIB / 2, 70000, 2 * MIB, 5, 300000, 262144 };
	const size_t count = sizeof(sizes) / sizeof(sizes[0]);
	struct spool *spool = new_spool("/tmp", 2 * MIB);
	uint32_t numbers[8];
	uint8_t *data[8];
	size_t i;

	(void)state;
	for (i = 0; i < count; i++) {
		data[i] = noise(sizes[i], i);
		numbers[i] = add_all(spool, data[i], sizes[i]);
	}
	assert_int_equal(dw_spool_memory_bytes(spool), 2 * MIB);
	assert_true(dw_spool_file_bytes(spool) > 3 * MIB / 2);
	assert_int_equal(dw_spool_finish(spool, NULL), 0);
	for (i = 0; i < count; i++) {
		expect(spool, numbers[i], data[i], sizes[i]);
		dw_free(data[i]);
	}
	dw_spool_free(spool);
}

static void without_memory_all_is_in_the_file(void **state)
{
	struct spool *spool = new_spool("/tmp", 4096); /* less than a slab */
	uint8_t *data = noise(100000, 1);
	uint32_t number = add_all(spool, data, 100000);

	(void)state;
	assert_int_equal(dw_spool_memory_bytes(spool), 0);
	assert_int_equal(dw_spool_file_bytes(spool), 100000);
	assert_int_equal(dw_spool_finish(spool, NULL), 0);
	expect(spool, number, data, 100000);
	dw_free(data);
	dw_spool_free(spool);
}

static void holes_stay_holes_and_zeros_data(void **state)
{
	struct spool *spool = new_spool("/tmp", MIB);
	uint8_t *expected = dw_calloc(1, 300000);
	uint64_t from, to;
	uint32_t number;

	(void)state;
	assert_non_null(expected);
	memset(expected + 10000, 'a', 100);
	memset(expected + 10100, 'b', 5000);
	memset(expected + 200000, 'c', 10000);
	dw_spool_begin(spool);
	assert_int_equal(dw_spool_add(spool, expected + 10000, 100, 10000, NULL), 0);
	assert_int_equal(dw_spool_add(spool, expected + 10100, 40000, 10100, NULL), 0);
	assert_int_equal(dw_spool_add(spool, expected + 200000, 10000, 200000, NULL), 0);
	assert_int_equal(dw_spool_reached(spool), 210000);
	assert_int_equal(dw_spool_end(spool, 300000, &number, NULL), 0);
	assert_int_equal(dw_spool_finish(spool, NULL), 0);
	expect(spool, number, expected, 300000);
	assert_int_equal(dw_spool_data_bytes(spool, number), 100 + 40000 + 10000);
	assert_true(dw_spool_memory_bytes(spool) < 5100 + 2 * 4096 + 10000);
	dw_spool_next_data(spool, number, 0, 300000, &from, &to);
	assert_int_equal(from, 10000);
	assert_int_equal(to, 50100);
	dw_spool_next_data(spool, number, 20000, 30000, &from, &to);
	assert_int_equal(from, 20000);
	assert_int_equal(to, 30000);
	dw_spool_next_data(spool, number, 50100, 300000, &from, &to);
	assert_int_equal(from, 200000);
	assert_int_equal(to, 210000);
	dw_spool_next_data(spool, number, 50100, 100000, &from, &to);
	assert_int_equal(from, 100000);
	assert_int_equal(to, 100000);
	dw_spool_next_data(spool, number, 210000, 300000, &from, &to);
	assert_int_equal(from, 300000);
	dw_free(expected);
	dw_spool_free(spool);
}

static void zeros_take_no_room(void **state)
{
	struct spool *spool = new_spool("/nowhere/at/all", 0);
	uint8_t *zeros = dw_calloc(1, 10 * MIB);
	uint32_t number;

	(void)state;
	assert_non_null(zeros);
	number = add_all(spool, zeros, 10 * MIB);
	assert_int_equal(dw_spool_memory_bytes(spool) + dw_spool_file_bytes(spool), 0);
	assert_int_equal(dw_spool_data_bytes(spool, number), 10 * MIB);
	expect(spool, number, zeros, 10 * MIB);
	dw_free(zeros);
	dw_spool_free(spool);
}

static void what_was_begun_can_be_forgotten(void **state)
{
	struct spool *spool = new_spool("/tmp", MIB);
	uint8_t *first = noise(MIB / 2, 1), *second = noise(2 * MIB, 2);
	uint8_t *third = noise(MIB, 3);
	uint32_t a, b;

	(void)state;
	a = add_all(spool, first, MIB / 2);
	dw_spool_begin(spool);
	assert_int_equal(dw_spool_add(spool, second, 2 * MIB, 0, NULL), 0);
	b = add_all(spool, third, MIB); /* begins again */
	assert_int_equal(dw_spool_memory_bytes(spool) + dw_spool_file_bytes(spool),
			 3 * MIB / 2);
	dw_spool_begin(spool);
	assert_int_equal(dw_spool_add(spool, second, 2 * MIB, 0, NULL), 0);
	assert_int_equal(dw_spool_finish(spool, NULL), 0);
	expect(spool, a, first, MIB / 2);
	expect(spool, b, third, MIB);
	dw_free(first);
	dw_free(second);
	dw_free(third);
	dw_spool_free(spool);
}

static void dropped_contents_make_room(void **state)
{
	struct spool *spool = new_spool("/tmp", MIB);
	uint8_t *data = noise(2 * MIB, 4), *other = noise(3 * MIB / 2, 5);
	uint32_t kept, last, middle;

	(void)state;
	for (int i = 0; i < 20; i++) {
		last = add_all(spool, data, 2 * MIB);
		dw_spool_drop(spool, last);
	}
	assert_int_equal(dw_spool_memory_bytes(spool) + dw_spool_file_bytes(spool), 0);
	kept = add_all(spool, data, 2 * MIB);
	middle = add_all(spool, data, 2 * MIB);
	last = add_all(spool, other, 3 * MIB / 2);
	dw_spool_drop(spool, middle);
	assert_int_equal(dw_spool_finish(spool, NULL), 0);
	expect(spool, kept, data, 2 * MIB);
	expect(spool, last, other, 3 * MIB / 2);
	dw_free(data);
	dw_free(other);
	dw_spool_free(spool);
}

static void a_full_disk_is_an_error_that_leaves_the_rest(void **state)
{
	char directory[] = "/tmp/dwarfs-spool-XXXXXX";
	uint8_t *small = noise(100000, 6), *large = noise(4 * MIB, 7);
	dwarfs_error *err = NULL;
	struct spool *spool;
	uint32_t a, b;
	int code;

	(void)state;
	assert_non_null(mkdtemp(directory));
	if (mount("none", directory, "tmpfs", 0, "size=1m") != 0) {
		rmdir(directory);
		dw_free(small);
		dw_free(large);
		skip(); /* mounting a small disk needs root */
	}
	spool = new_spool(directory, 0);
	a = add_all(spool, small, 100000);
	dw_spool_begin(spool);
	code = dw_spool_add(spool, large, 4 * MIB, 0, &err);
	assert_int_equal(code, DWARFS_ERR_NO_SPACE);
	assert_non_null(strstr(dwarfs_error_message(err), directory));
	dwarfs_error_free(err);
	b = add_all(spool, small, 100000);
	assert_int_equal(dw_spool_finish(spool, NULL), 0);
	expect(spool, a, small, 100000);
	expect(spool, b, small, 100000);
	dw_spool_free(spool);
	assert_int_equal(umount(directory), 0);
	rmdir(directory);
	dw_free(small);
	dw_free(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents_are_in_memory_then_in_a_file),
		cmocka_unit_test(without_memory_all_is_in_the_file),
		cmocka_unit_test(holes_stay_holes_and_zeros_data),
		cmocka_unit_test(zeros_take_no_room),
		cmocka_unit_test(what_was_begun_can_be_forgotten),
		cmocka_unit_test(dropped_contents_make_room),
		cmocka_unit_test(a_full_disk_is_an_error_that_leaves_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
