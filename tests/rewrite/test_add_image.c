/* SPDX-License-Identifier: MIT */
/*
 * rewrite/add_image: entries of an image with all their attributes, below a prefix, before and
 * after other inputs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <dwarfs/xattr.h>

#include "read/image/image.h"
#include "support/made_image.h"

#define BIG_BYTES 10000

static uint8_t big[BIG_BYTES];

static dwarfs_item *new_item(uint32_t mode)
{
	dwarfs_item *item = NULL;

	assert_int_equal(dwarfs_item_new(mode, &item, NULL), 0);
	dwarfs_item_set_owner(item, 7, 8);
	dwarfs_item_set_time(item, DWARFS_MTIME, 1000, 5);
	dwarfs_item_set_time(item, DWARFS_ATIME, 2000, 6);
	dwarfs_item_set_time(item, DWARFS_CTIME, 3000, 7);
	return item;
}

static void add(dwarfs_builder *builder, const char *path, dwarfs_item *item)
{
	assert_int_equal(dwarfs_builder_add_item(builder, path, strlen(path), item, NULL),
			 0);
	dwarfs_item_free(item);
}

/* An entry of each kind, with times in nanoseconds. */
static void add_everything(dwarfs_builder *builder)
{
	dwarfs_item *item = new_item(0040750);

	for (size_t i = 0; i < BIG_BYTES; i++)
		big[i] = (uint8_t)(i * 7 + i / 256);
	add(builder, "d", item);
	item = new_item(0120777);
	assert_int_equal(dwarfs_item_set_target(item, "d/big", 5, NULL), 0);
	add(builder, "link", item);
	item = new_item(0020600);
	dwarfs_item_set_device(item, 300, 70000);
	add(builder, "device", item);
	add(builder, "fifo", new_item(0010600));
	add(builder, "empty", new_item(0100600));
	item = new_item(0104711);
	assert_int_equal(dwarfs_item_set_memory(item, big, BIG_BYTES, NULL), 0);
	assert_int_equal(dwarfs_item_add_xattr(item, "user.a", "1", 1, NULL), 0);
	assert_int_equal(dwarfs_item_add_xattr(item, "user.b", "", 0, NULL), 0);
	add(builder, "d/big", item);
	item = new_item(0100600);
	assert_int_equal(dwarfs_item_set_hard_link(item, "d/big", 5, NULL), 0);
	add(builder, "d/hard", item);
}

static void make_everything(struct made_image *made)
{
	auto_made_builder dwarfs_builder *builder = made_builder();

	assert_int_equal(dwarfs_builder_set_time_resolution(builder, 1, NULL), 0);
	dwarfs_builder_set_keep_all_times(builder, true);
	add_everything(builder);
	made_finish(builder, made);
}

static void make_text(struct made_image *made, const char *path, const char *text)
{
	auto_made_builder dwarfs_builder *builder = made_builder();

	made_add_text(builder, path, text);
	made_finish(builder, made);
}

static int add_image(dwarfs_builder *builder, const struct made_image *made,
		     const char *prefix, enum dwarfs_image_use use)
{
	return dwarfs_builder_add_image(builder, made->image, prefix, strlen(prefix), use,
					NULL);
}

static dwarfs_stat *stat_of(const struct made_image *made, const char *path)
{
	dwarfs_stat *stat = NULL;
	dwarfs_entry entry;

	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_find(made->image, path, &entry, NULL), 0);
	assert_int_equal(dwarfs_entry_stat(made->image, entry, stat, NULL), 0);
	return stat;
}

static void expect_attributes(const struct made_image *made, const char *path,
			      uint32_t mode)
{
	dwarfs_stat *stat = stat_of(made, path);

	assert_int_equal(dwarfs_stat_mode(stat), mode);
	assert_int_equal(dwarfs_stat_uid(stat), 7);
	assert_int_equal(dwarfs_stat_gid(stat), 8);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_MTIME), 1000);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_ATIME), 2000);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_CTIME), 3000);
	assert_int_equal(dwarfs_stat_nanoseconds(stat, DWARFS_MTIME), 5);
	assert_int_equal(dwarfs_stat_nanoseconds(stat, DWARFS_ATIME), 6);
	assert_int_equal(dwarfs_stat_nanoseconds(stat, DWARFS_CTIME), 7);
	dwarfs_stat_free(stat);
}

static void expect_xattrs(const struct made_image *made, const char *path)
{
	dwarfs_inode inode = made_inode(made, path);
	const char *name;
	const void *value;
	size_t bytes;

	assert_int_equal(
		dwarfs_xattr_at(made->image, inode, 0, &name, &value, &bytes, NULL), 1);
	assert_string_equal(name, "user.a");
	assert_int_equal(bytes, 1);
	assert_memory_equal(value, "1", 1);
	assert_int_equal(
		dwarfs_xattr_at(made->image, inode, 1, &name, &value, &bytes, NULL), 1);
	assert_string_equal(name, "user.b");
	assert_int_equal(bytes, 0);
	assert_int_equal(
		dwarfs_xattr_at(made->image, inode, 2, &name, &value, &bytes, NULL), 0);
}

static void expect_everything(const struct made_image *made)
{
	dwarfs_stat *stat = stat_of(made, "device");
	char target[20];
	size_t bytes;

	assert_int_equal(dwarfs_stat_rdev_major(stat), 300);
	assert_int_equal(dwarfs_stat_rdev_minor(stat), 70000);
	dwarfs_stat_free(stat);
	expect_attributes(made, "d", 0040750);
	expect_attributes(made, "link", 0120777);
	expect_attributes(made, "device", 0020600);
	expect_attributes(made, "fifo", 0010600);
	expect_attributes(made, "empty", 0100600);
	expect_attributes(made, "d/big", 0104711);
	expect_attributes(made, "d/hard", 0104711);
	made_expect(made, "d/big", big, BIG_BYTES);
	assert_int_equal(made_inode(made, "d/big").number,
			 made_inode(made, "d/hard").number);
	assert_int_equal(dwarfs_link_read(made->image, made_inode(made, "link"), target,
					  sizeof(target), &bytes, NULL),
			 0);
	assert_int_equal(bytes, 5);
	assert_memory_equal(target, "d/big", 5);
	expect_xattrs(made, "d/big");
}

static void entries_keep_their_attributes(void **state)
{
	static const enum dwarfs_image_use uses[] = { DWARFS_KEEP_BLOCKS, DWARFS_REPACK };
	auto_made struct made_image from = { 0 };

	make_everything(&from);
	expect_everything(&from);
	for (size_t i = 0; i < 2; i++) {
		auto_made struct made_image to = { 0 };
		auto_made_builder dwarfs_builder *builder = made_builder();

		/* An image has its devices, whatever these options say. */
		dwarfs_builder_set_devices(builder, false);
		dwarfs_builder_set_specials(builder, false);
		assert_int_equal(add_image(builder, &from, "", uses[i]), 0);
		made_finish(builder, &to);
		expect_everything(&to);
	}
}

static void options_for_attributes_apply(void **state)
{
	auto_made struct made_image from = { 0 }, to = { 0 };
	auto_made_builder dwarfs_builder *builder = made_builder();
	dwarfs_stat *stat;

	make_everything(&from);
	dwarfs_builder_set_owner(builder, 99);
	dwarfs_builder_set_xattrs(builder, false);
	assert_int_equal(dwarfs_builder_set_time_resolution(builder, 60000000000, NULL),
			 0);
	assert_int_equal(add_image(builder, &from, "", DWARFS_KEEP_BLOCKS), 0);
	made_finish(builder, &to);
	stat = stat_of(&to, "d/big");
	assert_int_equal(dwarfs_stat_uid(stat), 99);
	assert_int_equal(dwarfs_stat_gid(stat), 8);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_MTIME), 960);
	assert_int_equal(dwarfs_stat_nanoseconds(stat, DWARFS_MTIME), 0);
	dwarfs_stat_free(stat);
	assert_int_equal(made_section(&to, DWARFS_SECTION_XATTRS, 0).size, 0);
}

static void blocks_are_kept_byte_for_byte(void **state)
{
	auto_made struct made_image from = { 0 }, to = { 0 };
	auto_made_builder dwarfs_builder *builder = made_builder();
	struct span old, new;
	uint32_t i;

	make_everything(&from);
	assert_int_equal(add_image(builder, &from, "", DWARFS_KEEP_BLOCKS), 0);
	made_add_text(builder, "new", "more text");
	made_finish(builder, &to);
	for (i = 0; (old = made_section(&from, DWARFS_SECTION_BLOCK, i)).size > 0; i++) {
		new = made_section(&to, DWARFS_SECTION_BLOCK, i);
		assert_int_equal(old.size, new.size);
		assert_memory_equal(old.data, new.data, old.size);
		assert_int_equal(old.data - from.bytes.data, new.data - to.bytes.data);
	}
	assert_int_equal(i, 3); /* 10000 bytes in blocks of 4096 */
	made_expect_text(&to, "new", "more text");
	made_expect(&to, "d/big", big, BIG_BYTES);
}

static void equal_files_are_stored_once(void **state)
{
	auto_made struct made_image from = { 0 }, to = { 0 };
	auto_made_builder dwarfs_builder *builder = made_builder();

	make_everything(&from);
	assert_int_equal(add_image(builder, &from, "a", DWARFS_KEEP_BLOCKS), 0);
	assert_int_equal(add_image(builder, &from, "b", DWARFS_KEEP_BLOCKS), 0);
	made_add(builder, "c", big, BIG_BYTES);
	made_finish(builder, &to);
	assert_int_equal(made_section(&to, DWARFS_SECTION_BLOCK, 3).size, 0);
	made_expect(&to, "a/d/big", big, BIG_BYTES);
	made_expect(&to, "b/d/hard", big, BIG_BYTES);
	made_expect(&to, "c", big, BIG_BYTES);
}

#define PIECES	    200
#define PIECE_BYTES 128
#define BETWEEN	    16

/* Letters in no order. */
static void fill(uint8_t *bytes, size_t size, uint64_t *random)
{
	for (size_t i = 0; i < size; i++) {
		*random = *random * 6364136223846793005u + 1;
		bytes[i] = (uint8_t)(' ' + (*random >> 58));
	}
}

/*
 * The image's bytes, and then again in pieces in the opposite order, with new bytes between
 * them. The codec does not see the blocks of the image, so also short matches with them are
 * used; in blocks of which the image lists few anchors, as soon as a long one is found.
 */
static void expect_short_matches(enum dwarfs_digests_use use)
{
	auto_made struct made_image from = { 0 }, to = { 0 };
	auto_made_builder dwarfs_builder *first = made_builder();
	auto_made_builder dwarfs_builder *builder = made_builder();
	static uint8_t old[PIECES * PIECE_BYTES];
	static uint8_t new[1 + sizeof(old) + PIECES * (PIECE_BYTES + BETWEEN)];
	uint64_t random = 1;
	uint8_t *at = new + 1 + sizeof(old);

	fill(old, sizeof(old), &random);
	fill(new, sizeof(new), &random);
	memcpy(new + 1, old, sizeof(old));
	for (size_t piece = PIECES; piece-- > 0; at += PIECE_BYTES + BETWEEN)
		memcpy(at, old + piece * PIECE_BYTES, PIECE_BYTES);
	assert_int_equal(dwarfs_builder_set_digests(first, use, NULL), 0);
	made_add(first, "old", old, sizeof(old));
	made_finish(first, &from);
	assert_int_equal(dwarfs_builder_set_level(builder, 7, NULL), 0);
	assert_int_equal(add_image(builder, &from, "", DWARFS_KEEP_BLOCKS), 0);
	made_add(builder, "new", new, sizeof(new));
	made_finish(builder, &to);
	made_expect(&to, "new", new, sizeof(new));
	assert_in_range(dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_SEGMENTS),
			sizeof(old) + sizeof(old) / 5, 2 * sizeof(old) + PIECES);
}

static void short_matches_with_kept_blocks_are_used(void **state)
{
	expect_short_matches(DWARFS_DIGESTS_NEVER);
	expect_short_matches(DWARFS_DIGESTS_ALWAYS);
}

static void a_prefix_is_made_with_its_parents(void **state)
{
	auto_made struct made_image from = { 0 }, to = { 0 };
	auto_made_builder dwarfs_builder *builder = made_builder();

	make_everything(&from);
	assert_int_equal(add_image(builder, &from, "x/y z", DWARFS_KEEP_BLOCKS), 0);
	made_finish(builder, &to);
	assert_true(made_has(&to, "x/y z/link"));
	assert_false(made_has(&to, "link"));
	made_expect(&to, "x/y z/d/big", big, BIG_BYTES);
}

static void later_inputs_replace_earlier_ones(void **state)
{
	auto_made struct made_image old = { 0 }, new = { 0 }, to = { 0 };
	auto_made_builder dwarfs_builder *builder = made_builder();

	make_everything(&old);
	make_text(&new, "d/big", "not big");
	made_add_text(builder, "empty", "not empty");
	made_add_text(builder, "first", "stays");
	assert_int_equal(add_image(builder, &old, "", DWARFS_KEEP_BLOCKS), 0);
	assert_int_equal(add_image(builder, &new, "", DWARFS_KEEP_BLOCKS), 0);
	made_add_text(builder, "link", "last");
	made_finish(builder, &to);
	made_expect_text(&to, "empty", "");
	made_expect_text(&to, "first", "stays");
	made_expect_text(&to, "d/big", "not big");
	made_expect(&to, "d/hard", big, BIG_BYTES);
	made_expect_text(&to, "link", "last");
}

static void the_finest_resolution_is_kept(void **state)
{
	auto_made struct made_image fine = { 0 }, coarse = { 0 }, to = { 0 };
	auto_made_builder dwarfs_builder *builder = made_builder();

	make_everything(&fine);
	make_text(&coarse, "x", "text");
	assert_int_equal(dwarfs_image_time_resolution_ns(coarse.image), 1000000000);
	assert_int_equal(add_image(builder, &coarse, "1", DWARFS_KEEP_BLOCKS), 0);
	assert_int_equal(add_image(builder, &fine, "2", DWARFS_KEEP_BLOCKS), 0);
	assert_int_equal(add_image(builder, &coarse, "3", DWARFS_KEEP_BLOCKS), 0);
	made_finish(builder, &to);
	assert_int_equal(dwarfs_image_time_resolution_ns(to.image), 1);
	expect_attributes(&to, "2/d/big", 0104711);
}

static void the_largest_block_size_is_used(void **state)
{
	auto_made struct made_image small = { 0 }, large = { 0 }, to = { 0 };
	auto_made_builder dwarfs_builder *builder = made_builder(),
					 *other = made_builder();

	make_everything(&small);
	assert_int_equal(dwarfs_builder_set_block_bits(other, 14, NULL), 0);
	made_add_text(other, "x", "text");
	made_finish(other, &large);
	assert_int_equal(add_image(builder, &small, "", DWARFS_KEEP_BLOCKS), 0);
	assert_int_equal(add_image(builder, &large, "", DWARFS_KEEP_BLOCKS), 0);
	made_finish(builder, &to);
	assert_int_equal(dwarfs_image_block_bytes(to.image), 1 << 14);
	made_expect(&to, "d/big", big, BIG_BYTES);
	made_expect_text(&to, "x", "text");
}

static void what_is_wrong_is_refused(void **state)
{
	auto_made struct made_image made = { 0 }, to = { 0 };
	auto_made_builder dwarfs_builder *builder = made_builder();

	make_text(&made, "a/b", "text");
	assert_int_equal(dwarfs_builder_add_image(NULL, made.image, "", 0,
						  DWARFS_KEEP_BLOCKS, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(
		dwarfs_builder_add_image(builder, NULL, "", 0, DWARFS_KEEP_BLOCKS, NULL),
		DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_add_image(builder, made.image, NULL, 0,
						  DWARFS_KEEP_BLOCKS, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(add_image(builder, &made, "", (enum dwarfs_image_use)2),
			 DWARFS_ERR_RANGE);
	assert_int_equal(add_image(builder, &made, "..", DWARFS_KEEP_BLOCKS),
			 DWARFS_ERR_INVALID);
	assert_int_equal(add_image(builder, &made, "x/", DWARFS_KEEP_BLOCKS),
			 DWARFS_ERR_INVALID);
	made_add_text(builder, "file", "a file");
	assert_int_equal(add_image(builder, &made, "file/x", DWARFS_KEEP_BLOCKS),
			 DWARFS_ERR_NOT_DIR);
	made_finish(builder, &to);
	assert_false(made_has(&to, "a"));
	assert_int_equal(add_image(builder, &made, "", DWARFS_KEEP_BLOCKS),
			 DWARFS_ERR_INVALID);
}

static void a_builder_with_a_directory_takes_none(void **state)
{
	auto_made struct made_image made = { 0 };
	auto_made_builder dwarfs_builder *builder = made_builder();

	make_text(&made, "a/b", "text");
	assert_int_equal(dwarfs_builder_add_directory(builder, "/tmp", NULL), 0);
	assert_int_equal(add_image(builder, &made, "", DWARFS_KEEP_BLOCKS),
			 DWARFS_ERR_INVALID);
}

/* The builder keeps the image after its owner has freed it. */
static void the_builder_keeps_a_reference(void **state)
{
	auto_made struct made_image made = { 0 }, to = { 0 };
	auto_made_builder dwarfs_builder *builder = made_builder();

	make_everything(&made);
	assert_int_equal(add_image(builder, &made, "", DWARFS_REPACK), 0);
	dwarfs_image_free(made.image);
	made.image = NULL;
	made_finish(builder, &to);
	expect_everything(&to);
}

static void a_damaged_block_is_an_error(void **state)
{
	static const enum dwarfs_image_use uses[] = { DWARFS_KEEP_BLOCKS, DWARFS_REPACK };
	auto_made struct made_image made = { 0 };

	make_everything(&made);
	made_damage(&made, 1, 100);
	for (size_t i = 0; i < 2; i++) {
		auto_made_builder dwarfs_builder *builder = made_builder();
		dwarfs_sink *sink = NULL;
		int ret;

		made_open(&made, DWARFS_VERIFY_EAGER);
		assert_int_equal(add_image(builder, &made, "", uses[i]), 0);
		assert_int_equal(dwarfs_sink_open("/dev/null", true, &sink, NULL), 0);
		ret = dwarfs_builder_write(builder, sink, NULL);
		dwarfs_sink_free(sink);
		assert_int_equal(ret, DWARFS_ERR_CHECKSUM);
		assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS), 0);
	}
}

/* The table of owners has that of the root only. */
static void an_invalid_attribute_is_an_error(void **state)
{
	auto_made struct made_image made = { 0 }, to = { 0 };
	auto_made_builder dwarfs_builder *builder = made_builder();
	auto_made_builder dwarfs_builder *lenient = made_builder();
	dwarfs_error *err = NULL;

	make_everything(&made);
	made.image->view->uids.count = 1;
	for (int use = DWARFS_KEEP_BLOCKS; use <= DWARFS_REPACK; use++) {
		assert_int_equal(dwarfs_builder_add_image(builder, made.image, "", 0,
							  (enum dwarfs_image_use)use,
							  &err),
				 DWARFS_ERR_CORRUPT);
		assert_non_null(strstr(dwarfs_error_message(err), "owner"));
		dwarfs_error_free(err);
		err = NULL;
	}
	assert_int_equal(dwarfs_builder_add_base(builder, made.image,
						 DWARFS_BASE_TRUST_TIMES, NULL),
			 DWARFS_ERR_CORRUPT);
	made_open(&made, DWARFS_VERIFY_NO_BLOCKS);
	made.image->view->uids.count = 1;
	assert_int_equal(add_image(lenient, &made, "", DWARFS_KEEP_BLOCKS), 0);
	assert_int_equal(dwarfs_builder_count(lenient, DWARFS_COUNT_ERRORS),
			 dwarfs_image_entry_count(made.image) - 1); /* the root */
	made_finish(lenient, &to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_keep_their_attributes),
		cmocka_unit_test(options_for_attributes_apply),
		cmocka_unit_test(blocks_are_kept_byte_for_byte),
		cmocka_unit_test(equal_files_are_stored_once),
		cmocka_unit_test(short_matches_with_kept_blocks_are_used),
		cmocka_unit_test(a_prefix_is_made_with_its_parents),
		cmocka_unit_test(later_inputs_replace_earlier_ones),
		cmocka_unit_test(the_finest_resolution_is_kept),
		cmocka_unit_test(the_largest_block_size_is_used),
		cmocka_unit_test(what_is_wrong_is_refused),
		cmocka_unit_test(a_builder_with_a_directory_takes_none),
		cmocka_unit_test(the_builder_keeps_a_reference),
		cmocka_unit_test(a_damaged_block_is_an_error),
		cmocka_unit_test(an_invalid_attribute_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
