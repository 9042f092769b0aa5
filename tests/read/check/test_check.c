/* SPDX-License-Identifier: MIT */
/*
 * read/check/check: findings in the sections of an image, in their order.
 */
#include <stdio.h>
#include <stdlib.h>

#include <dwarfs/salvage.h>
#include <dwarfs/walk.h>

#include "read/known.h"
#include "support/task.h"

static int stop_at_once(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	return 1;
}

static void its_check(void **state)
{
	auto_test_image dwarfs_image *image = open_one_file();
	auto_error dwarfs_error *err = NULL;
	struct findings findings = { 0 };
	auto_test_task dwarfs_task *task = new_task(stop_at_once, NULL);
	uint64_t errors = 9;

	for (int level = DWARFS_CHECK_METADATA; level <= DWARFS_CHECK_INTEGRITY; level++)
		assert_int_equal(dwarfs_image_check(image, level, find, &findings, NULL,
						    &errors, &err),
				 0);
	assert_int_equal(errors, 0);
	assert_int_equal(findings.errors + findings.warnings, 0);
	assert_int_equal(dwarfs_image_check(image, 0, NULL, NULL, NULL, NULL, NULL), 0);
	assert_int_equal(dwarfs_image_check(image, 3, NULL, NULL, NULL, NULL, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_image_check(image, 0, NULL, NULL, task, &errors, &err),
			 DWARFS_ERR_CANCELLED);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_CANCELLED);
}

/*
 * Damage in sections that no file needs is found, in each byte of header and payload,
 * with and without an index; files can still be read.
 */
static void damage_is_found_whatever_the_section(void **state)
{
	dwarfs_context *context = quiet_context();

	(void)state;
	for (int with_index = 0; with_index < 2; with_index++) {
		auto_craft struct craft craft = { 0 };
		size_t from, opened = 0;

		for (int part = 0; part < 3; part++)
			add_part(&craft, part);
		from = craft.bytes.size;
		add_history(&craft, 2, 5);
		craft_section(&craft, 99, 1234, "unknown", 7);
		if (with_index)
			craft_index(&craft, 0);
		for (size_t at = from; at < craft.bytes.size; at++) {
			auto_test_image dwarfs_image *image = NULL;

			craft.bytes.data[at] ^= 0x21;
			if (craft_try(craft.bytes.data, craft.bytes.size, context, &image,
				      NULL) == 0) {
				assert_true(dwarfs_image_check(
						    image, DWARFS_CHECK_INTEGRITY, NULL,
						    NULL, NULL, NULL, NULL) < 0);
				assert_reads_hi(image);
				opened++;
			}
			craft.bytes.data[at] ^= 0x21;
		}
		assert_true(opened > 100);
	}
	dwarfs_context_free(context);
}

/* An allocator that refuses more than MOST_BYTES at once. */
#define MOST_BYTES ((size_t)2 << 20)

static void *allocate_little(size_t bytes, void *user)
{
	(void)user;
	return bytes > MOST_BYTES ? NULL : malloc(bytes);
}

static void release(void *block, size_t bytes, void *user)
{
	(void)bytes;
	(void)user;
	free(block);
}

static int read_craft(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		      dwarfs_error **err, void *user)
{
	const struct craft *craft = user;

	(void)err;
	memcpy(buffer, craft->bytes.data + offset, bytes);
	*bytes_out = bytes;
	return 0;
}

/* A section that no memory is large enough for has its hashes compared, too. */
static void sections_of_any_size_are_hashed(void **state)
{
	static const dwarfs_allocator allocator = { sizeof(allocator), NULL,
						    allocate_little, NULL, release };
	const size_t bytes = 3 * MOST_BYTES + 12345;
	auto_craft struct craft craft = { 0 };
	auto_free uint8_t *zeros = dw_calloc(bytes, 1);
	dwarfs_context *context = NULL;
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;

	(void)state;
	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	craft_section(&craft, 99, 0, zeros, bytes);
	assert_int_equal(dwarfs_context_new_with_allocator(&allocator, &context, NULL),
			 0);
	assert_int_equal(
		dwarfs_io_new(read_craft, craft.bytes.size, NULL, &craft, &io, NULL), 0);
	assert_int_equal(dwarfs_image_open_io(context, io, NULL, &image, NULL), 0);
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL,
					    NULL, NULL, NULL),
			 0);
	for (size_t back = 1; back <= bytes; back += bytes / 3) {
		craft.bytes.data[craft.bytes.size - back] ^= 1;
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, NULL,
						    NULL, NULL, NULL, NULL),
				 DWARFS_ERR_CHECKSUM);
		craft.bytes.data[craft.bytes.size - back] ^= 1;
	}
	dwarfs_io_free(io);
	dwarfs_context_free(context);
}

/* A history with matching hashes whose contents are invalid. */
static void a_history_that_cannot_be_decoded_is_found(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		uint32_t compression;
	} bad[] = { { "\x19", 1, 0 },
		    { "\x19\x1c\x18", 3, 0 },
		    { "history", 7, 2 },
		    { "", 0, 0 },
		    { "history", 7, 77 } };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;

		for (int part = 0; part < 3; part++)
			add_part(&craft, part);
		craft_section(&craft, DWARFS_SECTION_HISTORY, bad[i].compression,
			      bad[i].bytes, bad[i].size);
		craft_index(&craft, 0);
		image = craft_open(&craft, NULL);
		assert_reads_hi(image);
		assert_true(dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, NULL, NULL,
					       NULL, NULL, NULL) < 0);
		assert_true(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL,
					       NULL, NULL, NULL) < 0);
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_METADATA, NULL,
						    NULL, NULL, NULL, NULL),
				 0);
	}
}

struct told {
	char text[512];
	int64_t section;
	int count;
};

static void tell(enum dwarfs_finding severity, int code, int64_t section,
		 const char *message, void *user)
{
	struct told *told = user;

	snprintf(told->text, sizeof(told->text), "%s", message);
	told->section = section;
	told->count += severity == DWARFS_FINDING_ERROR;
}

static void expect_finding(const struct craft *craft, int64_t section,
			   const char *message)
{
	auto_test_image dwarfs_image *image = craft_open(craft, NULL);
	struct told told = { .section = -2 };
	uint64_t errors = 0;

	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, tell, &told,
					    NULL, &errors, NULL),
			 DWARFS_ERR_CORRUPT);
	assert_int_equal(told.section, section);
	assert_non_null(strstr(told.text, message));
	assert_int_equal(told.count, 1);
	assert_int_equal(errors, 1);
}

static void a_block_has_the_bytes_that_files_need(void **state)
{
	static const struct craft_chunk chunks[] = { { 0, 0, 10 }, { 0, 5, 60 } };
	static const uint32_t table[] = { 0, 1, 2 };
	static const uint8_t block[2048];
	static const struct {
		size_t bytes;
		const char *message; /* NULL: the block is right */
	} cases[] = {
		{ 65, NULL },
		{ 64, "files need 65" },
		{ 1024, NULL },
		{ 1025, "1024 are the limit" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;

		craft_section(&craft, DWARFS_SECTION_BLOCK, 0, block, cases[i].bytes);
		craft_files(&craft, chunks, table, 2, 1024, 0);
		if (cases[i].message) {
			expect_finding(&craft, 0, cases[i].message);
			continue;
		}
		image = craft_open(&craft, NULL);
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, NULL,
						    NULL, NULL, NULL, NULL),
				 0);
	}
}

/* A large block is hashed in pieces: no worker needs memory for all of it. */
static void large_blocks_are_hashed_in_pieces(void **state)
{
	static const dwarfs_allocator allocator = { sizeof(allocator), NULL,
						    allocate_little, NULL, release };
	static const uint32_t table[] = { 0, 1 };
	const size_t bytes = 3 * MOST_BYTES + 12345;
	auto_free uint8_t *zeros = dw_calloc(bytes, 1);

	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		const struct craft_chunk chunk = { 0, 0, (uint32_t)bytes + more };
		auto_craft struct craft craft = { 0 };
		dwarfs_context *context = NULL;
		auto_test_image dwarfs_image *image = NULL;
		dwarfs_io *io = NULL;

		craft_section(&craft, DWARFS_SECTION_BLOCK, 0, zeros, bytes);
		craft_files(&craft, &chunk, table, 1, 1u << 30, 0);
		if (more) {
			expect_finding(&craft, 0, "and files need");
			continue;
		}
		assert_int_equal(
			dwarfs_context_new_with_allocator(&allocator, &context, NULL), 0);
		assert_int_equal(dwarfs_io_new(read_craft, craft.bytes.size, NULL, &craft,
					       &io, NULL),
				 0);
		assert_int_equal(dwarfs_image_open_io(context, io, NULL, &image, NULL),
				 0);
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, NULL,
						    NULL, NULL, NULL, NULL),
				 0);
		craft.bytes.data[100 + bytes / 2] ^= 1;
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, NULL,
						    NULL, NULL, NULL, NULL),
				 DWARFS_ERR_CHECKSUM);
		dwarfs_io_free(io);
		dwarfs_context_free(context);
	}
}

static void sections_have_their_numbers(void **state)
{
	auto_craft struct craft craft = { 0 };

	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	craft_index(&craft, 0);
	craft.bytes.data[ONE_FILE_METADATA + 0x30] = 7;
	craft_rehash(craft.bytes.data, craft.bytes.size);
	expect_finding(&craft, 2, "has the number 7");
}

/* -- sections that are lost ---------------------------------------------------------- */

struct in_order {
	int64_t last, count;
	bool is_sorted;
};

static void note_order(enum dwarfs_finding severity, int code, int64_t section,
		       const char *message, void *user)
{
	struct in_order *order = user;

	(void)code;
	(void)message;
	if (severity != DWARFS_FINDING_ERROR)
		return;
	order->is_sorted &= section > order->last;
	order->last = section;
	order->count++;
}

/* Between sections that are found, the numbers say how many are lost. */
static void each_lost_section_is_a_finding_in_its_place(void **state)
{
	static const uint8_t number[4] = { 3 + 100, 0, 1, 0 }; /* 65,636 are missing */
	auto_craft struct craft craft = { 0 };
	struct in_order order = { .last = -1, .is_sorted = true };
	dwarfs_image *image;
	uint64_t errors = 0;
	size_t last;

	(void)state;
	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	last = craft.bytes.size;
	add_history(&craft, 2, 5);
	memcpy(craft.bytes.data + last + 0x30, number, sizeof(number));
	craft_rehash(craft.bytes.data, craft.bytes.size);
	image = open_for_salvage(craft.bytes.data, craft.bytes.size,
				 DWARFS_SALVAGE_INTACT);
	assert_true(dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, note_order, &order,
				       NULL, &errors, NULL) < 0);
	assert_true(order.is_sorted);
	assert_int_equal(order.count, errors);
	assert_true(errors >= 65636);
	dwarfs_image_free(image);
}

/* -- sources that fail --------------------------------------------------------------- */

struct failing_source {
	const struct craft *craft;
	int code; /* of all reads; 0 for none */
};

static int read_or_fail(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
			dwarfs_error **err, void *user)
{
	const struct failing_source *source = user;

	if (source->code < 0)
		return dwarfs_error_set(err, source->code, 0, "the source is gone");
	memcpy(buffer, source->craft->bytes.data + offset, bytes);
	*bytes_out = bytes;
	return 0;
}

/* Whatever the source fails with, but for damage, ends the check and is no finding. */
static void a_source_that_fails_is_no_damage(void **state)
{
	static const int ends[] = { DWARFS_ERR_CANCELLED, DWARFS_ERR_ACCESS,
				    DWARFS_ERR_IO,	  DWARFS_ERR_NO_SPACE,
				    DWARFS_ERR_NOMEM,	  DWARFS_ERR_NOT_FOUND };
	auto_craft struct craft craft = { 0 };
	struct failing_source source = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	struct findings findings = { 0 };
	dwarfs_io *io = NULL;
	uint64_t errors;

	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	add_history(&craft, 2, 5);
	craft_index(&craft, 0);
	source.craft = &craft;
	assert_int_equal(
		dwarfs_io_new(read_or_fail, craft.bytes.size, NULL, &source, &io, NULL),
		0);
	assert_int_equal(dwarfs_image_open_io(NULL, io, NULL, &image, NULL), 0);
	for (int level = DWARFS_CHECK_CHECKSUMS; level <= DWARFS_CHECK_INTEGRITY; level++)
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
			auto_error dwarfs_error *err = NULL;

			source.code = ends[i];
			assert_int_equal(dwarfs_image_check(image, level, find, &findings,
							    NULL, NULL, &err),
					 ends[i]);
			assert_int_equal(dwarfs_error_code(err), ends[i]);
		}
	assert_int_equal(findings.errors + findings.warnings, 0);
	source.code = DWARFS_ERR_CORRUPT;
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, find,
					    &findings, NULL, &errors, NULL),
			 DWARFS_ERR_CORRUPT);
	assert_true(errors > 1);
	dwarfs_io_free(io);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_check),
		cmocka_unit_test(damage_is_found_whatever_the_section),
		cmocka_unit_test(sections_of_any_size_are_hashed),
		cmocka_unit_test(a_history_that_cannot_be_decoded_is_found),
		cmocka_unit_test(a_block_has_the_bytes_that_files_need),
		cmocka_unit_test(large_blocks_are_hashed_in_pieces),
		cmocka_unit_test(sections_have_their_numbers),
		cmocka_unit_test(each_lost_section_is_a_finding_in_its_place),
		cmocka_unit_test(a_source_that_fails_is_no_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
