/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/inspect: hashes and categories of files, for any number of workers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/task.h"
#include "support/write_run.h"
#include "write/inspect/sparse_hash.h"

/* -- hashes ------------------------------------------------------------------------- */

/* In pieces of any size, and at once. */
static void hash_as(const char *algorithm, const uint8_t *data, size_t size, size_t piece,
		    uint8_t *out)
{
	struct sparse_hash *hasher = NULL;

	assert_int_equal(dw_sparse_hash_new(algorithm, &hasher, NULL), 0);
	dw_sparse_hash_begin(hasher);
	for (size_t at = 0; at < size; at += piece) {
		size_t part = size - at < piece ? size - at : piece, from, to;

		for (size_t done = 0; done < part; done = to) {
			dw_sparse_hash_next_run(data + at, part, done, &from, &to);
			dw_sparse_hash_add_zeros(hasher, at + done, at + from);
			if (from < to)
				dw_sparse_hash_add(hasher, data + at + from, to - from);
		}
	}
	memset(out, 0, DW_DIGEST_BYTES_MAX);
	dw_sparse_hash_finish(hasher, out);
	dw_sparse_hash_free(hasher);
}

static void a_hash_does_not_depend_on_pieces(void **state)
{
	static uint8_t data[100000];
	uint8_t expected[DW_DIGEST_BYTES_MAX], got[DW_DIGEST_BYTES_MAX];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = i % 20000 < 9000 ? 0 : (uint8_t)(i * 31);
	hash_as("xxh3-128", data, sizeof(data), 4096, expected);
	for (size_t piece = 8192; piece < 200000; piece *= 2) {
		hash_as("xxh3-128", data, sizeof(data), piece, got);
		assert_memory_equal(expected, got, sizeof(got));
	}
	data[50000] ^= 1;
	hash_as("xxh3-128", data, sizeof(data), 4096, got);
	assert_memory_not_equal(expected, got, sizeof(got));
}

static void at_once_is_the_same_as_in_pieces(void **state)
{
	static const char *const algorithms[] = { "xxh3-128", "xxh3-64", "sha256" };
	uint8_t data[5000], pieces[DW_DIGEST_BYTES_MAX], once[DW_DIGEST_BYTES_MAX];

	memset(data, 7, sizeof(data));
	for (size_t i = 0; i < 3; i++) {
		struct sparse_hash *hasher = NULL;

		hash_as(algorithms[i], data, sizeof(data), 4096, pieces);
		assert_int_equal(dw_sparse_hash_new(algorithms[i], &hasher, NULL), 0);
		memset(once, 0, sizeof(once));
		dw_sparse_hash_once(hasher, data, sizeof(data), once);
		assert_memory_equal(pieces, once, sizeof(once));
		dw_sparse_hash_free(hasher);
	}
}

/* Files with a run of zeros at different offsets are different. */
static void zeros_count_by_their_place(void **state)
{
	static uint8_t a[16384], b[16384];
	uint8_t of_a[DW_DIGEST_BYTES_MAX], of_b[DW_DIGEST_BYTES_MAX];

	memset(a, 1, 4096);
	memset(b + 8192, 1, 4096);
	hash_as("xxh3-128", a, sizeof(a), 4096, of_a);
	hash_as("xxh3-128", b, sizeof(b), 4096, of_b);
	assert_memory_not_equal(of_a, of_b, sizeof(of_a));
}

/* -- files that change -------------------------------------------------------------- */

struct mischief {
	const struct place *place;
	enum dwarfs_phase phase;
	void (*act)(const struct place *place);
	bool done;
};

static int watch(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct mischief *mischief = user;

	if (dwarfs_progress_phase(progress) == mischief->phase && !mischief->done) {
		mischief->done = true;
		mischief->act(mischief->place);
	}
	return 0;
}

static void change_all(const struct place *place)
{
	put_text(place, "a", "SAME AS NEVER");
	assert_int_equal(unlink(in(place, "b")), 0);
	assert_int_equal(unlink(in(place, "d")), 0);
	assert_int_equal(mkfifo(in(place, "d"), 0644), 0);
	put_text(place, "e", "sh");
}

/* Between the scan and the first read. */
static void files_that_change_after_the_scan(void **state)
{
	for (uint32_t workers = 0; workers < 3; workers++) {
		const struct place *place = *state;
		struct mischief mischief = { place, DWARFS_PHASE_HASH, change_all,
					     false };
		auto_test_task dwarfs_task *task = new_task(watch, &mischief);
		dwarfs_builder *builder;
		dwarfs_image *image;

		unlink(in(place, "d"));
		for (const char *name = "a\0b\0c\0d\0e\0f\0"; *name; name += 2)
			put_text(place, name, "same");
		builder = new_builder(place, workers);
		dwarfs_builder_set_task(builder, task);
		assert_int_equal(build(builder, place), 0);
		assert_true(mischief.done);
		assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS), 4);
		dwarfs_builder_free(builder);
		image = open_image(place);
		expect_text(image, "a", "SAME");
		expect_text(image, "b", "");
		expect_text(image, "c", "same");
		expect_text(image, "d", "");
		expect_text(image, "e", "sh");
		expect_text(image, "f", "same");
		dwarfs_image_free(image);
		assert_int_equal(unlink(place->image), 0);
	}
}

/* -- categories of equal files ------------------------------------------------------ */

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_hash_does_not_depend_on_pieces),
		TEST(at_once_is_the_same_as_in_pieces),
		TEST(zeros_count_by_their_place),
		TEST(files_that_change_after_the_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
