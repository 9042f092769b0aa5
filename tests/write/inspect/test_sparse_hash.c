/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/sparse_hash: the hash does not depend on the pieces in which contents are
 * given, and differs for contents that differ only in the offset or length of zeros.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "write/inspect/sparse_hash.h"

#define PAGE  HASHER_PAGE_BYTES
#define PAGES 6u

static uint8_t data[PAGES * PAGE];

static void fill(unsigned pages_with_data)
{
	for (unsigned page = 0; page < PAGES; page++)
		for (unsigned i = 0; i < PAGE; i++)
			data[page * PAGE + i] = pages_with_data >> page & 1
							? (uint8_t)(i % 251 + page)
							: 0;
}

/* The hash of size bytes of data: pages of zeros as holes, each run of pages at once or
 * page by page. */
static void hash(struct sparse_hash *hasher, size_t size, bool page_by_page, uint8_t *out)
{
	size_t from, to, end;

	memset(out, 0, DW_DIGEST_BYTES_MAX);
	dw_sparse_hash_begin(hasher);
	for (size_t at = 0; at < size; at = to) {
		dw_sparse_hash_next_run(data, size, at, &from, &to);
		for (; at < from; at = end) {
			end = page_by_page && from - at > PAGE ? at + PAGE : from;
			dw_sparse_hash_add_zeros(hasher, at, end);
		}
		for (; at < to; at = end) {
			end = page_by_page && to - at > PAGE ? at + PAGE : to;
			dw_sparse_hash_add(hasher, data + at, end - at);
		}
	}
	dw_sparse_hash_finish(hasher, out);
}

static struct sparse_hash *new_hasher(void)
{
	struct sparse_hash *hasher = NULL;

	assert_int_equal(dw_sparse_hash_new("xxh3-128", &hasher, NULL), 0);
	assert_int_equal(dw_sparse_hash_bytes(hasher), 16);
	return hasher;
}

static void pieces_make_no_difference(void **state)
{
	struct sparse_hash *hasher = new_hasher();
	uint8_t wanted[DW_DIGEST_BYTES_MAX], got[DW_DIGEST_BYTES_MAX];

	(void)state;
	for (unsigned pages = 0; pages < 1u << PAGES; pages++) {
		fill(pages);
		hash(hasher, sizeof(data), false, wanted);
		hash(hasher, sizeof(data), true, got);
		assert_memory_equal(got, wanted, sizeof(got));
	}
	dw_sparse_hash_free(hasher);
}

static void all_contents_differ(void **state)
{
	static uint8_t hashes[1u << PAGES][DW_DIGEST_BYTES_MAX];
	struct sparse_hash *hasher = new_hasher();
	uint8_t shorter[DW_DIGEST_BYTES_MAX];

	(void)state;
	for (unsigned pages = 0; pages < 1u << PAGES; pages++) {
		fill(pages);
		hash(hasher, sizeof(data), false, hashes[pages]);
		hash(hasher, sizeof(data) - PAGE, false, shorter);
		assert_memory_not_equal(shorter, hashes[pages], sizeof(shorter));
		for (unsigned other = 0; other < pages; other++)
			assert_memory_not_equal(hashes[pages], hashes[other],
						DW_DIGEST_BYTES_MAX);
	}
	dw_sparse_hash_free(hasher);
}

static void at_once_is_the_same(void **state)
{
	struct sparse_hash *hasher = new_hasher();
	uint8_t wanted[DW_DIGEST_BYTES_MAX], got[DW_DIGEST_BYTES_MAX] = { 0 };

	(void)state;
	fill(~0u);
	hash(hasher, 2 * PAGE + 5, false, wanted);
	dw_sparse_hash_once(hasher, data, 2 * PAGE + 5, got);
	assert_memory_equal(got, wanted, sizeof(got));
	dw_sparse_hash_free(hasher);
}

static void runs_are_found(void **state)
{
	size_t from, to;

	(void)state;
	fill(0x16); /* pages 1, 2 and 4 */
	dw_sparse_hash_next_run(data, sizeof(data), 0, &from, &to);
	assert_int_equal(from, PAGE);
	assert_int_equal(to, 3 * PAGE);
	dw_sparse_hash_next_run(data, sizeof(data), to, &from, &to);
	assert_int_equal(from, 4 * PAGE);
	assert_int_equal(to, 5 * PAGE);
	dw_sparse_hash_next_run(data, sizeof(data), to, &from, &to);
	assert_int_equal(from, sizeof(data));
	assert_int_equal(to, sizeof(data));
}

static void unknown_names_are_refused(void **state)
{
	struct sparse_hash *hasher = NULL;

	(void)state;
	assert_true(dw_sparse_hash_new("no-such-hash", &hasher, NULL) < 0);
	assert_null(hasher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_make_no_difference),
		cmocka_unit_test(all_contents_differ),
		cmocka_unit_test(at_once_is_the_same),
		cmocka_unit_test(runs_are_found),
		cmocka_unit_test(unknown_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
