/* SPDX-License-Identifier: MIT */
/*
 * build: what is found out about the bytes of files, for any number of workers.
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

#include "support/write_run.h"
#include "write/inspect/sparse_hash.h"

/* -- hashes ------------------------------------------------------------------------- */

static uint64_t duplicates_with(const struct place *place, const char *hash)
{
	dwarfs_builder *builder = new_builder(place, 2);
	uint64_t duplicates;
	dwarfs_image *image;

	assert_int_equal(dwarfs_builder_set_file_hash(builder, hash, NULL), 0);
	assert_int_equal(build(builder, place), 0);
	duplicates = dwarfs_builder_count(builder, DWARFS_COUNT_DUPLICATES);
	dwarfs_builder_free(builder);
	image = open_image(place);
	expect_text(image, "a", "same");
	expect_text(image, "b", "same");
	expect_text(image, "c", "diff");
	dwarfs_image_free(image);
	assert_int_equal(unlink(place->image), 0);
	return duplicates;
}

static void every_hash_finds_duplicates(void **state)
{
	const char *name;

	put_text(*state, "a", "same");
	put_text(*state, "b", "same");
	put_text(*state, "c", "diff");
	for (size_t i = 0; (name = dwarfs_digest_name(i)) != NULL; i++)
		assert_int_equal(duplicates_with(*state, name), 1);
	assert_int_equal(duplicates_with(*state, "none"), 0);
}

static void unknown_hashes_are_refused(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 0);
	dwarfs_error *err = NULL;

	assert_int_equal(dwarfs_builder_set_file_hash(builder, "crc7", &err),
			 DWARFS_ERR_INVALID);
	assert_non_null(
		strstr(dwarfs_error_message(err), "unknown file hash function: crc7"));
	dwarfs_error_free(err);
	dwarfs_builder_free(builder);
}

/* By pieces of any size, and all at once. */
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

/* A run of zeros at another place is another file. */
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

/* -- small files -------------------------------------------------------------------- */

static void fill(uint8_t *data, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = (uint8_t)(seed >> 24);
	}
}

/* More than are kept in memory, with duplicates among them. */
static void more_small_files_than_are_kept(void **state)
{
	enum { COUNT = 700, SIZE = 60000 };
	const struct place *place = *state;
	uint8_t *data = malloc(SIZE);
	dwarfs_image *image;
	dwarfs_builder *builder;

	assert_non_null(data);
	for (unsigned i = 0; i < COUNT; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		fill(data, SIZE, i % 650);
		put_file(place, name, data, SIZE);
	}
	for (uint32_t workers = 0; workers < 4; workers += 3) {
		builder = new_builder(place, workers);
		assert_int_equal(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
							  "null", NULL),
				 0);
		assert_int_equal(build(builder, place), 0);
		assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_DUPLICATES),
				 50);
		dwarfs_builder_free(builder);
		image = open_image(place);
		for (unsigned i = 0; i < COUNT; i++) {
			char name[16];

			snprintf(name, sizeof(name), "%u", i);
			fill(data, SIZE, i % 650);
			expect_bytes(image, name, data, SIZE);
		}
		dwarfs_image_free(image);
		assert_int_equal(unlink(place->image), 0);
	}
	free(data);
}

/* A hole in a small file is one in the image, although the file was read for its hash. */
static void small_files_keep_their_holes(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);
	dwarfs_image *image;
	static char zeros[32768];
	struct stat st;

	for (int i = 0; i < 2; i++) {
		const char *name = i ? "a" : "b";

		put_text(place, name, i ? "one" : "two");
		assert_int_equal(truncate(in(place, name), 32768), 0);
	}
	assert_int_equal(stat(in(place, "a"), &st), 0);
	if (st.st_blocks * 512 >= st.st_size)
		skip(); /* this file system knows no holes */
	assert_int_equal(build(builder, place), 0);
	dwarfs_builder_free(builder);
	image = open_image(place);
	memcpy(zeros, "one", 3);
	{
		uint32_t inode = expect_bytes(image, "a", zeros, sizeof(zeros));
		dwarfs_stat *stat = NULL;

		assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
		assert_int_equal(dwarfs_inode_stat(image, inode, stat, NULL), 0);
		assert_true(dwarfs_stat_allocated_bytes(stat) < 32768);
		dwarfs_stat_free(stat);
	}
	dwarfs_image_free(image);
}

/* -- files that change -------------------------------------------------------------- */

struct mischief {
	const struct place *place;
	int phase;
	void (*act)(const struct place *place);
	bool done;
};

static int watch(const dwarfs_progress *progress, void *user)
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

/* Between the scan and the first look. */
static void files_that_change_after_the_scan(void **state)
{
	for (uint32_t workers = 0; workers < 3; workers++) {
		const struct place *place = *state;
		struct mischief mischief = { place, DWARFS_PHASE_HASH, change_all,
					     false };
		dwarfs_builder *builder;
		dwarfs_image *image;

		unlink(in(place, "d"));
		for (const char *name = "a\0b\0c\0d\0e\0f\0"; *name; name += 2)
			put_text(place, name, "same");
		builder = new_builder(place, workers);
		dwarfs_builder_set_progress(builder, watch, &mischief);
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

/* -- hollow ------------------------------------------------------------------------- */

static void remove_big(const struct place *place)
{
	assert_int_equal(unlink(in(place, "big")), 0);
}

static void hollow_images_have_sizes_only(void **state)
{
	struct mischief mischief = { *state, DWARFS_PHASE_HASH, remove_big, false };
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 2);
	static char data[200000], zeros[200000];
	dwarfs_image *image;

	memset(data, 'x', sizeof(data));
	put_file(place, "big", data, sizeof(data));
	put_text(place, "a", "same");
	put_text(place, "b", "same");
	put_text(place, "empty", "");
	dwarfs_builder_set_hollow(builder, true);
	dwarfs_builder_set_progress(builder, watch, &mischief);
	assert_int_equal(build(builder, place), 0);
	assert_true(mischief.done);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS), 0);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_BLOCKS), 0);
	dwarfs_builder_free(builder);
	image = open_image(place);
	expect_bytes(image, "big", zeros, sizeof(zeros));
	expect_bytes(image, "a", zeros, 4);
	expect_bytes(image, "empty", zeros, 0);
	dwarfs_image_free(image);
}

/* -- categories of equal files ------------------------------------------------------ */

static const char *by_name(const dwarfs_input *input, void *user)
{
	const char *path = dwarfs_input_path(input);

	return *path == 'n' ? NULL : *path == 'x' ? "ex" : "other";
}

static void the_first_of_equal_files_has_the_category(void **state)
{
	const struct place *place = *state;

	put_text(place, "n1", "neither here");
	put_text(place, "n2", "nor there");
	put_text(place, "x1", "twins");
	put_text(place, "y1", "twins");
	put_text(place, "y2", "something");
	for (uint32_t workers = 0; workers < 4; workers++) {
		dwarfs_builder *builder = new_builder(place, workers);
		uint64_t in_bytes[3] = { 0 };

		assert_int_equal(dwarfs_builder_add_category(builder, "ex", NULL), 0);
		assert_int_equal(dwarfs_builder_add_category(builder, "other", NULL), 0);
		dwarfs_builder_set_category_callback(builder, by_name, NULL);
		assert_int_equal(build(builder, place), 0);
		for (size_t i = 0; i < dwarfs_builder_category_count(builder); i++) {
			const char *name = dwarfs_builder_category_name(builder, i);
			uint64_t bytes, stored, packed;
			int at = strcmp(name, "ex") == 0      ? 1
				 : strcmp(name, "other") == 0 ? 2
							      : 0;

			assert_int_equal(dwarfs_builder_category_bytes(builder, i, &bytes,
								       &stored, &packed),
					 0);
			in_bytes[at] += bytes;
		}
		assert_int_equal(in_bytes[0], 21);
		assert_int_equal(in_bytes[1], 5);
		assert_int_equal(in_bytes[2], 9);
		dwarfs_builder_free(builder);
		dwarfs_image_free(open_image(place));
		assert_int_equal(unlink(place->image), 0);
	}
}

/* WAV: a description, four samples. */
static const uint8_t sound[] = "RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x44\xac\0\0"
			       "\x88\x58\1\0\2\0\x10\0data\x08\0\0\0\1\0\2\0\3\0\4";

static const char *default_for_b(const dwarfs_input *input, void *user)
{
	return *dwarfs_input_path(input) == *(const char *)user ? "<default>" : NULL;
}

/* Of the sound in files a and b: how many bytes are of the default category. */
static uint64_t default_bytes(const struct place *place, uint32_t workers, char decided)
{
	dwarfs_builder *builder = new_builder(place, workers);
	uint64_t bytes = 0, stored, packed;

	assert_int_equal(dwarfs_builder_set_categorizers(builder, "pcmaudio", NULL), 0);
	dwarfs_builder_set_category_callback(builder, default_for_b, &decided);
	assert_int_equal(build(builder, place), 0);
	for (size_t i = 0; i < dwarfs_builder_category_count(builder); i++)
		if (strcmp(dwarfs_builder_category_name(builder, i), "<default>") == 0)
			assert_int_equal(dwarfs_builder_category_bytes(builder, i, &bytes,
								       &stored, &packed),
					 0);
	dwarfs_builder_free(builder);
	dwarfs_image_free(open_image(place));
	assert_int_equal(unlink(place->image), 0);
	return bytes;
}

static void default_is_an_answer_too(void **state)
{
	uint8_t other[sizeof(sound)];

	memcpy(other, sound, sizeof(sound));
	other[44] ^= 1;
	put_file(*state, "a", sound, sizeof(sound));
	put_file(*state, "b", other, sizeof(other));
	put_file(*state, "c", other, sizeof(other)); /* as the first of them */
	for (uint32_t workers = 0; workers < 4; workers++) {
		assert_int_equal(default_bytes(*state, workers, '-'), 0);
		assert_int_equal(default_bytes(*state, workers, 'a'), sizeof(sound));
		assert_int_equal(default_bytes(*state, workers, 'b'), sizeof(sound));
		assert_int_equal(default_bytes(*state, workers, 'c'), 0);
	}
}

static const char *unknown(const dwarfs_input *input, void *user)
{
	return "nobody knows it";
}

static void unknown_categories_end_the_run(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 1);

	put_text(*state, "a", "a");
	dwarfs_builder_set_category_callback(builder, unknown, NULL);
	assert_int_equal(build(builder, *state), DWARFS_ERR_INVALID);
	assert_non_null(strstr(all_messages(), "unknown category: nobody knows it"));
	dwarfs_builder_free(builder);
}

static const char *waveform(const dwarfs_input *input, void *user)
{
	return "pcmaudio/waveform";
}

/* Nobody would know the layout of the samples. */
static void categories_of_samples_are_not_for_callbacks(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 1);

	put_text(*state, "a", "a");
	dwarfs_builder_set_category_callback(builder, waveform, NULL);
	assert_int_equal(build(builder, *state), DWARFS_ERR_INVALID);
	assert_non_null(strstr(all_messages(), "'pcmaudio/waveform'"));
	dwarfs_builder_free(builder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_hash_finds_duplicates),
		TEST(unknown_hashes_are_refused),
		TEST(a_hash_does_not_depend_on_pieces),
		TEST(at_once_is_the_same_as_in_pieces),
		TEST(zeros_count_by_their_place),
		TEST(more_small_files_than_are_kept),
		TEST(small_files_keep_their_holes),
		TEST(files_that_change_after_the_scan),
		TEST(hollow_images_have_sizes_only),
		TEST(the_first_of_equal_files_has_the_category),
		TEST(default_is_an_answer_too),
		TEST(unknown_categories_end_the_run),
		TEST(categories_of_samples_are_not_for_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
